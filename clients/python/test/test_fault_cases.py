"""The cases of clients/fault-cases.json, which all clients pass."""

from __future__ import annotations

import json
import os
import pathlib
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import httpx
import pytest
from conftest import MEDIA, Face

from framewright_client import AsyncFramewright, Framewright, FramewrightError

TABLE = pathlib.Path(__file__).parents[2] / "fault-cases.json"
ROWS: list[dict[str, Any]] = json.loads(TABLE.read_text())
KINDS = (Framewright, AsyncFramewright)

Kind = type[Framewright] | type[AsyncFramewright]


class Case:
    """A row, done by one client behind a fault proxy of its own."""

    def __init__(self, kind: Kind, row: dict[str, Any], folder: pathlib.Path) -> None:
        self.row = row
        self.folder = folder
        service = httpx.Client(base_url=os.environ["FRAMEWRIGHT_TEST_CASES"], timeout=60)
        self.opened = service.post("/", json={"faults": row.get("faults", [])}).json()
        own: dict[str, Any] = {}
        if "idempotencyKey" in row:
            own["idempotency_key"] = row["idempotencyKey"]
        api_key = self.opened["apiKey"]
        self.task_id = "task_unknown"
        if "before" in row:
            with Framewright(api_key, self.opened["directUrl"]) as direct:
                self.task_id = direct.videos.create(**row["before"], **own).id
        if "totalTimeoutMs" in row:
            own["timeout"] = row["totalTimeoutMs"] / 1000
        base_url = row.get("baseUrl", self.opened["baseUrl"])
        options = {"api_key": row.get("apiKey", api_key), "base_url": base_url or ""}
        if "maxRetries" in row:
            options["max_retries"] = row["maxRetries"]
        if "timeoutMs" in row:
            options["timeout"] = row["timeoutMs"] / 1000
        self.result: dict[str, Any] = {}
        self.error: FramewrightError | None = None
        began = time.monotonic()
        try:
            with Face(kind, options) as self.face:
                self.call_all(own)
        except FramewrightError as error:
            self.error = error
        self.seconds = time.monotonic() - began
        self.report = service.get(f"/{self.opened['number']}").json()
        service.close()

    def call_all(self, own: dict[str, Any]) -> None:
        for _ in range(1, self.row.get("calls", 1)):
            with suppress(FramewrightError):
                self.call(own)
        self.result = self.call(own)

    def call(self, own: dict[str, Any]) -> dict[str, Any]:
        request = {"prompt": "A paper boat", **self.row.get("request", {})}
        if "image_url" in request:
            request["image_url"] = os.fspath(MEDIA / request["image_url"]["file"])
        name = self.row["call"]
        if name == "generate":
            return vars(self.face("generate", **request, **own))
        if name == "create":
            return vars(self.face("videos.create", **request, **own))
        if name in ("get", "wait"):
            return vars(self.face(f"videos.{name}", self.task_id))
        if name == "credits":
            return vars(self.face("credits.get"))
        assert name == "download"
        return self.download(self.face("generate", **request, **own))

    def download(self, video: Any) -> dict[str, Any]:
        """Compares the file with what the service sends without faults."""
        target = self.folder / f"{video.id}.mp4"
        self.face.resolved(video.download(target))
        direct = httpx.URL(self.opened["directUrl"])
        link = httpx.URL(video.url).copy_with(host=direct.host, port=direct.port)
        return {"isWhole": httpx.get(link).content == target.read_bytes()}


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Future[Case]]:
    """All cases, eight at a time: most of them wait."""
    folder = tmp_path_factory.mktemp("videos")
    pool = ThreadPoolExecutor(8)
    return {
        (kind.__name__, row["name"]): pool.submit(Case, kind, row, folder)
        for row in ROWS
        for kind in KINDS
    }


@pytest.mark.parametrize("kind", [kind.__name__ for kind in KINDS])
@pytest.mark.parametrize("name", [row["name"] for row in ROWS])
def test_case(cases: dict[tuple[str, str], Future[Case]], name: str, kind: str) -> None:
    case = cases[kind, name].result()
    expected = case.row["expect"]
    if "error" in expected:
        check_error(case.error, expected["error"])
    else:
        assert case.error is None
    for member, value in expected.get("result", {}).items():
        assert case.result[member] == value
    for text in expected.get("says", []):
        assert text.lower() in str(case.error).lower()
    assert expected.get("seconds", 0) <= case.seconds <= expected.get("mostSeconds", 600)
    report = case.report
    assert {call: report["tries"].get(call, 0) for call in expected["tries"]} == expected["tries"]
    assert (report["tasks"], report["charge"]) == (expected["tasks"], expected["charge"])
    assert len(report["keys"]) <= 1
    if case.error and report["keys"]:
        assert case.error.idempotency_key == report["keys"][0]


def check_error(error: FramewrightError | None, expected: dict[str, Any]) -> None:
    assert expected["kind"] in [kind.__name__ for kind in type(error).__mro__]
    for name, value in expected.items():
        actual = getattr(error, re.sub("([A-Z])", r"_\1", name).lower(), None)
        if name != "kind":
            assert actual if value is True else actual == value, name
