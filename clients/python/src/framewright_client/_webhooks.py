"""Webhooks, by Standard Webhooks."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ._errors import WebhookError
from ._models import VideoTask
from ._parsing import parse


@dataclass(frozen=True)
class WebhookEvent:
    """An event of the service, as it was sent."""

    id: str
    """The same in each try: ignore an event whose id you have handled."""
    type: str
    """Such as `task.completed`."""
    timestamp: str
    mode: str
    """`live`, or `test` for what a test key did."""
    data: dict[str, Any]

    @property
    def task(self) -> VideoTask:
        """The task of an event `task.*`. Raises ValueError for others."""
        return parse(VideoTask, self.data if self.type.startswith("task.") else None)


def verify_webhook(
    raw_body: bytes | str, headers: Mapping[str, str], secret: str, *, tolerance: float = 300
) -> WebhookEvent:
    """The event of a genuine delivery. Needs no API key.

    raw_body: the body as it came, before anything parses it.
    headers: those of the request, in any case.
    tolerance: how many seconds a delivery may be old, or ahead of your clock.

    Raises WebhookError.
    """
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    given = {name.lower(): value for name, value in headers.items()}
    event_id, timestamp = given.get("webhook-id", ""), given.get("webhook-timestamp", "")
    if not event_id or not timestamp.isdecimal() or len(timestamp) > 12:
        raise _refusal("The headers of a webhook are missing.")
    if abs(time.time() - int(timestamp)) > tolerance:
        raise _refusal("The delivery is too old, or a clock is wrong.")
    wanted = _signature(event_id, timestamp, body, secret)
    signatures = given.get("webhook-signature", "").encode().split()
    if not any([hmac.compare_digest(each, wanted) for each in signatures]):
        raise _refusal("The signature is not of this secret.")
    event = json.loads(body)
    return WebhookEvent(event_id, event["type"], event["timestamp"], event["mode"], event["data"])


def sign_webhook(
    raw_body: bytes | str, secret: str, *, event_id: str = "evt_test", timestamp: int | None = None
) -> dict[str, str]:
    """The headers with which the service would send a body: for tests of your endpoint.

    timestamp: seconds since 1970; now if it is not given.
    """
    body = raw_body.encode() if isinstance(raw_body, str) else bytes(raw_body)
    at = str(int(time.time()) if timestamp is None else timestamp)
    return {
        "content-type": "application/json",
        "webhook-id": event_id,
        "webhook-timestamp": at,
        "webhook-signature": _signature(event_id, at, body, secret).decode(),
    }


def _signature(event_id: str, timestamp: str, body: bytes, secret: str) -> bytes:
    signed = f"{event_id}.{timestamp}.".encode() + body
    return b"v1," + base64.b64encode(hmac.digest(_key_of(secret), signed, hashlib.sha256))


def _key_of(secret: str) -> bytes:
    try:
        key = base64.b64decode(secret.removeprefix("whsec_"), validate=True)
    except ValueError:
        key = b""
    if not key:  # with an empty key anybody could sign
        raise _refusal("The secret is not one of a webhook: whsec_...")
    return key


def _refusal(message: str) -> WebhookError:
    return WebhookError(message, code="invalid_signature")
