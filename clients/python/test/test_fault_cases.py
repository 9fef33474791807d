"""The cases of clients/fault-cases.json, which the TypeScript client passes too."""

from __future__ import annotations

import json
import os
import pathlib
import re
import time
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from conftest import MEDIA, Face

from framewright_client import AsyncFramewright, Framewright, FramewrightError

TABLE = pathlib.Path(__file__).parents[2] / "fault-cases.json"
ALL: list[dict[str, Any]] = json.loads(TABLE.read_text())
ROWS = [row for row in ALL if "python" in row.get("only", ["python"])]
KINDS = (Framewright, AsyncFramewright)

Kind = type[Framewright] | type[AsyncFramewright]


class Case:
    """A row, done by one client behind a fault proxy of its own."""

    def __init__(self, kind: Kind, row: dict[str, Any], folder: pathlib.Path) -> None:
        self.row = row
        self.folder = folder
        service = httpx.Client(base_url=os.environ["FRAMEWRIGHT_TEST_CASES"], timeout=60)
        self.opened = service.post("/", json={"faults": row.get("faults", [])}).json()
        own = {"idempotency_key": row["idempotencyKey"]} if "idempotencyKey" in row else {}
        api_key = self.opened["apiKey"]
        if "before" in row:
            with Framewright(api_key, self.opened["directUrl"]) as direct:
                direct.videos.create(**row["before"], **own)
        options = {"api_key": row.get("apiKey", api_key), "base_url": self.opened["baseUrl"]}
        if "maxRetries" in row:
            options["max_retries"] = row["maxRetries"]
        if "timeoutMs" in row:
            options["timeout"] = row["timeoutMs"] / 1000
        self.face = Face(kind, options)
        self.result: dict[str, Any] = {}
        self.error: FramewrightError | None = None
        began = time.monotonic()
        try:
            self.result = self.call(own)
        except FramewrightError as error:
            self.error = error
        self.seconds = time.monotonic() - began
        self.face.close()
        self.report = service.get(f"/{self.opened['number']}").json()
        service.close()

    def call(self, own: dict[str, str]) -> dict[str, Any]:
        request = {"prompt": "A paper boat", **self.row.get("request", {})}
        if "image_url" in request:
            request["image_url"] = os.fspath(MEDIA / request["image_url"]["file"])
        name = self.row["call"]
        if name == "generate":
            return vars(self.face("generate", **request, **own))
        if name == "create":
            return vars(self.face("videos.create", **request, **own))
        if name == "get":
            return vars(self.face("videos.get", "task_unknown"))
        if name == "credits":
            return vars(self.face("credits.get"))
        assert name == "download"
        return self.download(self.face("generate", **request))

    def download(self, video: Any) -> dict[str, Any]:
        """Compares the file with what the service sends without faults."""
        target = self.folder / f"{video.id}.mp4"
        self.face.settled(video.download(target))
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
    assert case.seconds >= expected.get("seconds", 0)
    report = case.report
    assert {call: report["tries"].get(call) for call in expected["tries"]} == expected["tries"]
    assert (report["tasks"], report["charge"]) == (expected["tasks"], expected["charge"])
    assert len(report["keys"]) <= 1
    if case.error and report["keys"]:
        assert case.error.idempotency_key == report["keys"][0]


def check_error(error: FramewrightError | None, expected: dict[str, Any]) -> None:
    assert type(error).__name__ == expected["kind"]
    for name, value in expected.items():
        actual = getattr(error, re.sub("([A-Z])", r"_\1", name).lower(), None)
        if name != "kind":
            assert actual if value is True else actual == value, name
