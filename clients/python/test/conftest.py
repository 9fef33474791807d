"""One facade for both clients, against the real service of the run."""

from __future__ import annotations

import asyncio
import inspect
import os
import pathlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest

from framewright_client import AsyncFramewright, Framewright

MEDIA = pathlib.Path(os.environ["FRAMEWRIGHT_TEST_MEDIA"])
KEYS = iter(os.environ["FRAMEWRIGHT_TEST_KEYS"].split(","))


class Face:
    """Calls a client's method by its name. Returns the result, awaited or collected."""

    def __init__(self, kind: type[Framewright] | type[AsyncFramewright], options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.client: Any = kind(**options)

    def __call__(self, name: str, *args: Any, **kwargs: Any) -> Any:
        target = self.client
        for part in name.split("."):
            target = getattr(target, part)
        return self.resolved(target(*args, **kwargs))

    def resolved(self, value: Any) -> Any:
        if inspect.isawaitable(value):
            return self.loop.run_until_complete(_awaited(value))
        if isinstance(value, AsyncIterator):
            return self.loop.run_until_complete(_collected(value))
        return list(value) if isinstance(value, Iterator) else value

    def streamed(self, task: Any) -> bytes:
        """The bytes of `stream_download`."""
        context = self.client.videos.stream_download(task)
        if hasattr(context, "__aenter__"):
            return self.loop.run_until_complete(_streamed(context))
        with context as chunks:
            return b"".join(chunks)

    def __enter__(self) -> Face:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        self.resolved(self.client.close())
        self.loop.close()


async def _awaited(value: Any) -> Any:
    return await value


async def _collected(values: AsyncIterator[Any]) -> list[Any]:
    return [each async for each in values]


async def _streamed(context: Any) -> bytes:
    async with context as chunks:
        return b"".join([each async for each in chunks])


@pytest.fixture
def key() -> str:
    """An API key that has not been used: its rate window is empty."""
    return next(KEYS)


@pytest.fixture(params=[Framewright, AsyncFramewright])
def open_face(request: pytest.FixtureRequest, key: str) -> Iterator[Callable[..., Face]]:
    """Opens a client, once for each kind."""
    opened: list[Face] = []

    def open_one(**options: Any) -> Face:
        opened.append(Face(request.param, {"api_key": key, **options}))
        return opened[-1]

    yield open_one
    for each in opened:
        each.close()


@pytest.fixture
def face(open_face: Callable[..., Face]) -> Face:
    return open_face()
