"""Deliveries that the service signed."""

from __future__ import annotations

import json

import pytest
from conftest import MEDIA

from framewright_client import WebhookError, sign_webhook, verify_webhook

GIVEN = json.loads((MEDIA / "webhook.json").read_text())
BODY: bytes = GIVEN["body"].encode()
SECRET: str = GIVEN["secret"]
HEADERS: dict[str, str] = GIVEN["headers"]
OLD: dict[str, str] = GIVEN["old_headers"]
EMPTY: dict[str, str] = GIVEN["empty_key_headers"]

verify = verify_webhook


def test_a_genuine_delivery_is_an_event() -> None:
    titled = {name.title(): value for name, value in HEADERS.items()}
    for headers in (HEADERS, titled):
        event = verify(BODY, headers, SECRET)
        assert (event.id, event.type, event.data["id"]) == ("evt_1", "task.completed", "task_1")
    assert verify(BODY, OLD, SECRET, tolerance=100_000) == event


WRONG = [
    {"webhook-id": "evt_2"},
    {"webhook-timestamp": str(int(HEADERS["webhook-timestamp"]) + 1)},
    {"webhook-timestamp": "now"},
    {"webhook-signature": ""},
    {"webhook-signature": "v1,\u00fc"},
    {"webhook-signature": HEADERS["webhook-signature"].replace("v1,", "v2,")},
]


@pytest.mark.parametrize("change", WRONG)
def test_changed_headers_are_refused(change: dict[str, str]) -> None:
    with pytest.raises(WebhookError):
        verify(BODY, {**HEADERS, **change}, SECRET)


@pytest.mark.parametrize(
    "body,headers,secret",
    [
        (BODY + b" ", HEADERS, SECRET),
        (BODY, OLD, SECRET),
        (BODY, {}, SECRET),
        (BODY, HEADERS, "whsec_b3RoZXI="),
        (BODY, HEADERS, "not a secret"),
        (BODY, EMPTY, ""),
    ],
)
def test_a_delivery_of_somebody_else_is_refused(
    body: bytes, headers: dict[str, str], secret: str
) -> None:
    with pytest.raises(WebhookError):
        verify(body, headers, secret)


def test_a_signed_body_is_a_delivery_as_the_service_sends_it() -> None:
    at = int(HEADERS["webhook-timestamp"])
    signed = sign_webhook(BODY, SECRET, event_id="evt_1", timestamp=at)
    assert signed["webhook-signature"] in HEADERS["webhook-signature"].split()
    assert verify(BODY, sign_webhook(BODY, SECRET), SECRET).type == "task.completed"
