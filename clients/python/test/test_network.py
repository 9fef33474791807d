"""Services, proxies and networks that misbehave, played by a server of the test."""

from __future__ import annotations

import gzip
import importlib.metadata
import json
import logging
import os
import pathlib
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Any

import pytest
from conftest import Face

from framewright_client import (
    ConnectionError,
    DownloadError,
    FramewrightError,
    ServerError,
    WaitTimeoutError,
)

VIDEO = os.urandom(100_000)
TASK = {
    "id": "task_1",
    "status": "processing",
    "model": "video-2.0",
    "mode": "text-to-video",
    "credits_used": 250,
    "credits_refunded": 0,
}


class Stub:
    """Answers `METHOD /path` by a function, and keeps the requests that arrive."""

    def __init__(self) -> None:
        self.requests: list[BaseHTTPRequestHandler] = []
        self.answers: dict[str, Callable[[BaseHTTPRequestHandler], None]] = {}
        self.ends = Event()
        stub = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                self.body = self.rfile.read(int(self.headers.get("content-length", 0)))
                stub.requests.append(self)
                self.close_connection = True
                path = self.path.split("?")[0].replace("/api/v1", "")
                stub.answers[f"{self.command} {path}"](self)

            do_POST = do_GET

            def log_message(self, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        Thread(target=self.server.serve_forever, args=[0.01], daemon=True).start()
        done = {**TASK, "status": "completed", "output": {"video_url": f"{self.url}/video"}}
        self.answers["POST /video/generations"] = lambda request: send(request, TASK)
        self.answers["GET /tasks/task_1"] = lambda request: send(request, done)
        self.answers["GET /video"] = lambda request: send(request, VIDEO)
        self.answers["GET /credits"] = lambda request: send(
            request, {"available_credits": 5, "balance_type": "paid"}
        )

    def hang(self, request: BaseHTTPRequestHandler) -> None:
        self.ends.wait(30)

    def trickle(self, request: BaseHTTPRequestHandler) -> None:
        """A byte now and then: the connection is never silent."""
        head(request, {"content-length": "1000"})
        while not self.ends.wait(0.1):
            request.wfile.write(b" ")

    def close(self) -> None:
        self.ends.set()
        self.server.shutdown()
        self.server.server_close()


def head(request: BaseHTTPRequestHandler, headers: dict[str, str], status: int = 200) -> None:
    request.send_response(status)
    for name, value in headers.items():
        request.send_header(name, value)
    request.end_headers()


def send(
    request: BaseHTTPRequestHandler,
    body: bytes | dict[str, Any],
    headers: dict[str, str] | None = None,
    status: int = 200,
) -> None:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    head(request, {"content-length": str(len(data)), **(headers or {})}, status)
    request.wfile.write(data)


@pytest.fixture
def stub() -> Iterator[Stub]:
    stub = Stub()
    yield stub
    stub.close()


@pytest.fixture
def client(open_face: Callable[..., Face], stub: Stub) -> Face:
    return open_face(base_url=f"{stub.url}/api/v1")


@pytest.mark.parametrize("place", ["POST /video/generations", "GET /tasks/task_1", "GET /video"])
def test_the_timeout_of_a_call_ends_responses_that_never_end(
    client: Face, stub: Stub, tmp_path: pathlib.Path, place: str
) -> None:
    stub.answers[place] = stub.trickle
    began = time.monotonic()
    with pytest.raises(WaitTimeoutError) as caught:
        video = client("generate", "A boat", idempotency_key="order-1", timeout=1)
        client.resolved(video.download(tmp_path / "boat.mp4"))
    assert time.monotonic() - began < 3
    error = caught.value
    assert (error.charged, error.retry) == ("reserved", "same_key")
    assert error.idempotency_key == "order-1"
    assert (error.task.id if error.task else None) == error.task_id
    assert (error.task is None) == (place == "POST /video/generations")
    assert os.listdir(tmp_path) == []


def test_a_compressed_video_is_written_as_it_was(
    client: Face, stub: Stub, tmp_path: pathlib.Path
) -> None:
    stub.answers["GET /video"] = lambda request: send(
        request, gzip.compress(VIDEO), {"content-encoding": "gzip"}
    )
    client("videos.download", "task_1", tmp_path / "boat.mp4")
    assert (tmp_path / "boat.mp4").read_bytes() == VIDEO
    assert stub.requests[-1].headers["accept-encoding"] == "identity"
    stub.answers["GET /video"] = lambda request: send(request, b"?", {"content-encoding": "br"})
    with pytest.raises(DownloadError, match="br"):
        client("videos.download", "task_1", tmp_path / "ship.mp4")
    assert os.listdir(tmp_path) == ["boat.mp4"]


def compressed_whole(request: BaseHTTPRequestHandler, done: int) -> None:
    send(request, gzip.compress(VIDEO), {"content-encoding": "gzip"})


def compressed_part(request: BaseHTTPRequestHandler, done: int) -> None:
    """The range is taken from the compressed bytes."""
    packed = gzip.compress(VIDEO)
    span = f"bytes {done}-{len(packed) - 1}/{len(packed)}"
    headers = {"content-encoding": "gzip", "content-range": span}
    send(request, packed[done:], headers, 206)


def plain_part(request: BaseHTTPRequestHandler, done: int) -> None:
    span = f"bytes {done}-{len(VIDEO) - 1}/{len(VIDEO)}"
    send(request, VIDEO[done:], {"content-range": span}, 206)


def plain_whole(request: BaseHTTPRequestHandler, done: int) -> None:
    send(request, VIDEO)


@pytest.mark.parametrize("first", ["plain", "compressed", "without length"])
@pytest.mark.parametrize("then", [compressed_whole, compressed_part, plain_part, plain_whole])
def test_a_download_that_breaks_is_continued_right_whoever_compresses_it(
    client: Face,
    stub: Stub,
    tmp_path: pathlib.Path,
    first: str,
    then: Callable[[BaseHTTPRequestHandler, int], None],
) -> None:
    def answer(request: BaseHTTPRequestHandler) -> None:
        wanted = request.headers.get("range")
        if wanted:
            then(request, int(wanted[6:-1]))
        elif sum(each.path == "/video" for each in stub.requests) > 1:
            (compressed_whole if then in (compressed_whole, compressed_part) else plain_whole)(
                request, 0
            )
        else:
            data = gzip.compress(VIDEO) if first == "compressed" else VIDEO
            headers = {"content-encoding": "gzip"} if first == "compressed" else {}
            if first != "without length":
                headers["content-length"] = str(len(data))
            head(request, headers)
            request.wfile.write(data[: len(data) // 2])

    stub.answers["GET /video"] = answer
    client("videos.download", "task_1", tmp_path / "boat.mp4")
    assert (tmp_path / "boat.mp4").read_bytes() == VIDEO


def test_https_to_a_server_that_speaks_http_is_named(
    open_face: Callable[..., Face], stub: Stub
) -> None:
    face = open_face(base_url=f"{stub.url.replace('http:', 'https:')}/api/v1", max_retries=0)
    with pytest.raises(ConnectionError, match="doesn't speak TLS: try http://; nothing was sent"):
        face("credits.get")


def test_a_retry_after_that_is_no_time_is_ignored(client: Face, stub: Stub) -> None:
    after = "Tue, 24 Nov 99999999999999999999 00:00:00 GMT"
    stub.answers["GET /credits"] = lambda request: send(request, {}, {"retry-after": after}, 503)
    with pytest.raises(ServerError) as caught:
        client.resolved(client("with_options", max_retries=0).credits.get())
    assert caught.value.retry_after is None


def test_a_call_may_have_its_own_retries_and_timeout(client: Face, stub: Stub) -> None:
    stub.answers["GET /credits"] = lambda request: send(request, {}, status=503)
    with pytest.raises(ServerError):
        client.resolved(client("with_options", max_retries=0).credits.get())
    assert len(stub.requests) == 1
    stub.answers["GET /credits"] = stub.hang
    began = time.monotonic()
    with pytest.raises(ConnectionError):
        client.resolved(client("with_options", max_retries=0, timeout=0.3).credits.get())
    assert time.monotonic() - began < 2


def test_a_request_names_the_client_and_its_version(client: Face, stub: Stub) -> None:
    client("credits.get")
    version = importlib.metadata.version("framewright_client")
    assert stub.requests[-1].headers["user-agent"] == f"framewright_client/{version}"


def test_the_log_tells_each_request_and_never_the_key_or_a_link(
    client: Face, stub: Stub, tmp_path: pathlib.Path, caplog: pytest.LogCaptureFixture
) -> None:
    def busy_once(request: BaseHTTPRequestHandler) -> None:
        stub.answers["GET /credits"] = lambda request: send(
            request, {"available_credits": 5, "balance_type": "paid"}, {"x-request-id": "req_2"}
        )
        send(request, {}, {"x-request-id": "req_1"}, 503)

    stub.answers["GET /credits"] = busy_once
    with caplog.at_level(logging.DEBUG, logger="framewright_client"):
        assert client("credits.get").request_id == "req_2"
        client("videos.download", "task_1", tmp_path / "boat.mp4")
    lines = [each.getMessage() for each in caplog.records if each.name == "framewright_client"]
    assert [line.split(" ", 3)[:3] for line in lines[:1]] == [["GET", "/credits:", "HTTP"]]
    assert "503" in lines[0] and "req_1" in lines[0]
    assert "again in" in lines[1]
    assert "200" in lines[2] and "req_2" in lines[2]
    assert any("GET video of task_1: HTTP 200" in line for line in lines)
    assert "fw_test_" not in "".join(lines) and "/video" not in "".join(lines)


def test_a_proxy_of_the_environment_is_used(
    open_face: Callable[..., Face], stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", stub.url)
    monkeypatch.setenv("http_proxy", stub.url)
    stub.answers["GET http://video.invalid/credits"] = stub.answers["GET /credits"]
    face = open_face(base_url="http://video.invalid/api/v1")
    assert face("credits.get").available_credits == 5


def test_only_what_may_be_repeated_is_sent_again_after_a_lost_response(
    client: Face, stub: Stub
) -> None:
    def lose(request: BaseHTTPRequestHandler) -> None:
        pass

    stub.answers["POST /webhooks"] = lose
    for call in (
        lambda: client("webhooks.create", events=["task.failed"]),
        lambda: client("request", "POST", "/webhooks", body={"events": ["task.failed"]}),
    ):
        with pytest.raises(ConnectionError) as caught:
            call()
        assert caught.value.charged == "no"
    assert len(stub.requests) == 2

    def lose_once(request: BaseHTTPRequestHandler) -> None:
        stub.answers["POST /video/generations"] = lambda request: send(request, TASK)

    stub.answers["POST /video/generations"] = lose_once
    made = client("request", "POST", "/video/generations", body={"prompt": "A boat"})
    assert made["id"] == "task_1"
    first, second = (each.headers["idempotency-key"] for each in stub.requests[2:])
    assert first and first == second
    own = {"Idempotency-Key": "order-1"}
    client("request", "POST", "/video/generations", body={"prompt": "A boat"}, headers=own)
    assert stub.requests[-1].headers.get_all("idempotency-key") == ["order-1"]


def test_a_timeout_before_the_create_is_sent_charges_nothing(client: Face, stub: Stub) -> None:
    stub.answers["POST /uploads"] = stub.hang
    fields = {"mode": "image-to-video", "image_url": b"\x89PNG"}
    with pytest.raises(WaitTimeoutError) as caught:
        client("generate", "It snows", timeout=0.3, **fields)
    assert (caught.value.charged, caught.value.retry) == ("no", "same_key")


def test_a_file_under_a_used_key_is_never_paid_with_a_new_key(
    client: Face, stub: Stub, tmp_path: pathlib.Path
) -> None:
    upload = {
        "id": "obj_1",
        "url": "https://video.example.com/uploads/obj_1",
        "expires_at": "2026-12-01T00:00:00.000Z",
        "kind": "image",
        "media_type": "image/png",
        "size_bytes": 4,
    }
    stub.answers["POST /uploads"] = lambda request: send(request, upload, status=201)
    conflict = {"code": "idempotency_conflict", "message": "Another body."}
    stub.answers["POST /video/generations"] = lambda request: send(
        request, {"error": conflict}, status=409
    )
    with pytest.raises(FramewrightError) as caught:
        client("videos.create", "It snows", idempotency_key="order-1", image_url=b"\x89PNG")
    assert (caught.value.charged, caught.value.retry) == ("reserved", "never")
    with pytest.raises(FramewrightError) as caught:
        client("videos.create", "It snows", idempotency_key="order-2", image_url=upload["url"])
    assert (caught.value.charged, caught.value.retry) == ("no", "new_key")
