"""A download that continues where its connection was lost."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import AsyncGenerator, Iterator
from contextlib import contextmanager
from typing import BinaryIO

import httpx

from ._call import Call, Request
from ._calls import path_of, require_completed
from ._errors import ApiError, ConnectionError, DownloadError
from ._models import VideoTask

READABLE = {"", "identity", "gzip", "deflate"}
"""The codings that httpx always decodes. It passes on others as they are."""


async def download(call: Call) -> AsyncGenerator[bytes, None]:
    """The bytes of a video, over as many connections as it takes, each with a fresh link.

    Raises ApiError, ConnectionError, DownloadError, TaskFailedError, WaitTimeoutError.
    """
    call.be_patient()
    position = Position(call)
    tries = 0
    while True:
        link = await _fresh_link(call)
        call.check_time()
        try:
            async with call.open(
                f"GET video of {call.task_id}",
                timeout=call.settings.timeout,
                method="GET",
                url=link,
                headers=position.headers(),
                follow_redirects=True,
            ) as response:
                if response.status_code not in (200, 206, 416):
                    body = b"".join([chunk async for chunk in call.chunks(response)])
                    raise call.api_error(response, body)
                position.begin(response)
                async for chunk in call.chunks(response):
                    if new := position.take(chunk):
                        tries = 0
                        yield new
            position.end(response)
            return
        except httpx.RequestError as error:
            if position.is_whole:  # the last byte had come
                return
            failure: ApiError | ConnectionError = call.no_response(error, httpx.URL(link).host)
        except ApiError as error:
            failure = error
        await call.pause_after(failure, tries)
        tries += 1


async def _fresh_link(call: Call) -> str:
    task = await call.send(VideoTask, Request("GET", path_of("tasks", call.task_id or "")))
    call.task = task
    if task.status == "processing":
        raise refusal(call, "is not there yet")
    link = require_completed(call, task).output
    return link.video_url if link else ""


def refusal(call: Call, words: str) -> DownloadError:
    message = f"the video of {call.task_id} {words}"
    return call.new_error(DownloadError, message, code="download_failed")


class Position:
    """How much of a file has come."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._done = 0
        self._skip = 0
        self._size: int | None = None
        """Bytes of the whole file, once a response has told them."""
        self._has_ranges = True
        """Whether ranges of responses count bytes of the file, not compressed ones."""
        self._tag = ""
        self._unframed: int | None = None
        """Where a response without a length ended, perhaps because its connection was lost."""

    @property
    def is_whole(self) -> bool:
        return self._done == self._size

    def headers(self) -> dict[str, str]:
        headers = {"accept-encoding": "identity"}
        if self._done and self._has_ranges:
            headers["range"] = f"bytes={self._done}-"
            if self._tag:
                headers["if-range"] = self._tag
        return headers

    def begin(self, response: httpx.Response) -> None:
        """Looks at the head of a response. Raises DownloadError, httpx.ReadError."""
        status, headers = response.status_code, response.headers
        coding = headers.get("content-encoding", "").lower()
        if coding not in READABLE:
            raise refusal(self._call, f"came as {coding}, which was not asked for")
        is_coded = coding not in ("", "identity")
        if is_coded:
            self._has_ranges = False
        start, total = 0, headers.get("content-length", "")
        if status != 200:
            span = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("content-range", ""))
            if is_coded or not span or int(span[1]) > self._done:
                self._has_ranges = False
                raise httpx.ReadError("the range can't be used")
            start, total = int(span[1]), span[2]
        if total.isdecimal() and not is_coded:
            if self._size not in (None, int(total)):
                raise refusal(self._call, "has changed: download it again")
            self._size = int(total)
        self._skip = self._done - start
        self._tag = headers.get("etag", "")

    def take(self, chunk: bytes) -> bytes:
        """The bytes of a chunk that are new."""
        new = chunk[self._skip :]
        self._skip -= len(chunk) - len(new)
        self._done += len(new)
        return new

    def end(self, response: httpx.Response) -> None:
        """Raises httpx.ReadError if the file may go on."""
        is_framed = {"content-length", "transfer-encoding"} & response.headers.keys()
        if self.is_whole or (self._size is None and (is_framed or self._unframed == self._done)):
            return
        self._unframed = self._done
        raise httpx.ReadError("the response ended early")


@contextmanager
def whole_file(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """A file that gets its name only when all of it is written."""
    folder, name = os.path.split(os.fspath(path))
    part = os.path.join(folder, f".{name}.{uuid.uuid4().hex}.part")
    try:
        with open(part, "xb") as file:
            yield file
        os.replace(part, path)
    except BaseException:
        if os.path.exists(part):
            os.unlink(part)
        raise
