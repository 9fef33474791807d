"""A download that continues where its connection was lost."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

import httpx

from . import _calls
from ._errors import ApiError, ConnectionError, FramewrightError
from ._exchange import Call, Pause, Reply, Steps, api_error, delay_after, may_pass, no_response

STALE_LINK = (403, 410)
"""The link has expired, or the file is gone. A fresh link tells."""


class Transfer:
    """How far a download is, over all its connections."""

    def __init__(self, call: Call, task_id: str, link: str | None = None) -> None:
        self.call = _calls.patient(call)
        self.task_id = task_id
        self.link = link
        self.is_whole = False
        self.size: int | None = None
        """Bytes of the file, known after the first response."""
        self._done = 0
        self._skip = 0
        self._tag = ""
        self._tries = 0
        self._has_fresh_link = False
        self._failure: ApiError | ConnectionError | None = None

    def next_link(self) -> Steps[str]:
        """Waits after a failure, and reads the task if there is no link that works."""
        if self._failure:
            if self._tries >= self.call.max_retries:
                raise self._failure
            yield Pause(delay_after(self._failure, self._tries))
            self._tries += 1
        if self.link is None:
            task = yield from _calls.get(self.call, self.task_id)
            self._has_fresh_link = True
            if task.output is None:
                raise FramewrightError(f"{self.task_id} has no video.", code="no_output")
            self.link = task.output.video_url
        return self.link

    @property
    def arguments(self) -> dict[str, Any]:
        """The next request as httpx takes it. The link is signed: it needs no API key."""
        headers = {"accept-encoding": "identity"}  # compressed bytes could not be counted
        if self._done > 0:
            headers["range"] = f"bytes={self._done}-"
        if self._done > 0 and self._tag:
            headers["if-range"] = self._tag
        return {"headers": headers, "timeout": self.call.timeout, "follow_redirects": True}

    def begins(self, response: httpx.Response) -> bool:
        """Looks at the head of a response: whether the bytes of the file follow."""
        if response.status_code not in (200, 206):
            return False
        length = int(response.headers.get("content-length", -1))
        is_part = response.status_code == 206
        self._skip = 0 if is_part else self._done
        if length >= 0:
            size = length + self._done if is_part else length
            if self.size not in (None, size):
                raise FramewrightError(f"The file of {self.task_id} has changed.", code="changed")
            self.size = size
        self._tag = response.headers.get("etag", "")
        self._has_fresh_link = False
        return True

    def take(self, chunk: bytes) -> bytes:
        """The bytes of a chunk that are new."""
        new = chunk[self._skip :]
        self._skip -= len(chunk) - len(new)
        self._done += len(new)
        if new:
            self._tries = 0
        return new

    def ends(self) -> None:
        """The response has ended."""
        self._failure = None
        self.is_whole = self.size is None or self._done == self.size
        if not self.is_whole:
            self.breaks(httpx.ReadError("the response ended early"))

    def breaks(self, cause: Exception) -> None:
        """The connection was lost, perhaps after the last byte."""
        self._failure = no_response(self.call, cause)
        self.is_whole = self.size is not None and self._done == self.size

    def refused(self, response: httpx.Response) -> None:
        """The response is an error. Raises ApiError if it can't pass."""
        reply = Reply(response.status_code, response.headers, response.content)
        error = api_error(reply, self.call)
        if reply.status in STALE_LINK and not self._has_fresh_link:
            self.link = self._failure = None
            return
        if not may_pass(error):
            raise error
        self._failure = error


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
