"""How requests are sent and time passes: the only difference between the two clients.

The calls are coroutines. Those of the blocking client never wait for an event loop, because its
transport blocks instead: `run` takes them to their end.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

import httpx

from ._models import VideoTask

T = TypeVar("T")

AsyncListener = Callable[[VideoTask], Awaitable[None] | None]
AsyncStream = AsyncGenerator[T, None]
Listener = Callable[[VideoTask], None]
Stream = Generator[T, None, None]


class Transport(Protocol):
    """What the calls need."""

    def shared(self) -> Transport:
        """A transport over the same connections, which it does not close."""

    def open(self, **request: Any) -> AbstractAsyncContextManager[httpx.Response]: ...
    def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]: ...
    async def sleep(self, seconds: float) -> None: ...
    async def read(self, work: Callable[[], T]) -> T: ...
    async def tell(self, listener: Callable[[VideoTask], Any], task: VideoTask) -> None: ...
    async def close(self) -> None: ...


class AsyncTransport:
    """For asyncio."""

    def __init__(self, http: httpx.AsyncClient | None) -> None:
        self._owns_http = http is None
        self._http = http or httpx.AsyncClient()

    def shared(self) -> AsyncTransport:
        return AsyncTransport(self._http)

    def open(self, **request: Any) -> AbstractAsyncContextManager[httpx.Response]:
        return self._http.stream(**request)

    def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        return response.aiter_bytes()

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def read(self, work: Callable[[], T]) -> T:
        return await asyncio.to_thread(work)

    async def tell(self, listener: AsyncListener, task: VideoTask) -> None:
        answer = listener(task)
        if inspect.isawaitable(answer):
            await answer

    async def close(self) -> None:
        if self._owns_http:
            await self._http.aclose()


class BlockingTransport:
    """For code that blocks."""

    def __init__(self, http: httpx.Client | None) -> None:
        self._owns_http = http is None
        self._http = http or httpx.Client()

    def shared(self) -> BlockingTransport:
        return BlockingTransport(self._http)

    @asynccontextmanager
    async def open(self, **request: Any) -> AsyncIterator[httpx.Response]:
        with self._http.stream(**request) as response:
            yield response

    async def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        for chunk in response.iter_bytes():
            yield chunk

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)

    async def read(self, work: Callable[[], T]) -> T:
        return work()

    async def tell(self, listener: Listener, task: VideoTask) -> None:
        listener(task)

    async def close(self) -> None:
        if self._owns_http:
            self._http.close()


def run(call: Awaitable[T]) -> T:
    """The result of a call over a transport that blocks."""
    try:
        call.__await__().send(None)
    except StopIteration as end:
        result: T = end.value
        return result
    raise RuntimeError("a call of the blocking client waits for an event loop")


def iterate(values: AsyncGenerator[T, None]) -> Stream[T]:
    """The values of calls over a transport that blocks."""
    try:
        while True:
            try:
                value = run(anext(values))
            except StopAsyncIteration:
                return
            yield value
    finally:
        run(values.aclose())
