"""How requests are sent and time passes: all in which the two clients differ.

The calls are coroutines. Those of the blocking client never wait for an event loop, because its
transport blocks instead.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any, Protocol, TypeVar

import httpx

from ._models import VideoTask

T = TypeVar("T")

AsyncListener = Callable[[VideoTask], Awaitable[None] | None]
AsyncStream = AsyncGenerator[T, None]
Listener = Callable[[VideoTask], None]
Stream = Generator[T, None, None]


class AnyTransport(Protocol):
    """What the calls need."""

    def open(self, **request: Any) -> AbstractAsyncContextManager[httpx.Response]: ...
    def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]: ...
    async def sleep(self, seconds: float) -> None: ...
    async def read(self, work: Callable[[], T]) -> T: ...
    async def tell(self, listener: Callable[[VideoTask], Any], task: VideoTask) -> None: ...


class AsyncTransport:
    """For asyncio."""

    def __init__(self, http: httpx.AsyncClient | None) -> None:
        self._owns_http = http is None
        self.http = http or httpx.AsyncClient()

    def open(self, **request: Any) -> AbstractAsyncContextManager[httpx.Response]:
        return self.http.stream(**request)

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

    async def run(self, call: Coroutine[Any, Any, T]) -> T:
        return await call

    def iterate(self, values: AsyncGenerator[T, None]) -> AsyncStream[T]:
        return values

    async def close(self) -> None:
        if self._owns_http:
            await self.http.aclose()


class Transport:
    """For code that blocks."""

    def __init__(self, http: httpx.Client | None) -> None:
        self._owns_http = http is None
        self.http = http or httpx.Client()

    @asynccontextmanager
    async def open(self, **request: Any) -> AsyncIterator[httpx.Response]:
        with self.http.stream(**request) as response:
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

    def run(self, call: Awaitable[T]) -> T:
        try:
            call.__await__().send(None)
        except StopIteration as end:
            result: T = end.value
            return result
        raise RuntimeError("a call of the blocking client waits for an event loop")

    def iterate(self, values: AsyncGenerator[T, None]) -> Stream[T]:
        try:
            while True:
                try:
                    value = self.run(anext(values))
                except StopAsyncIteration:
                    return
                yield value
        finally:
            self.run(values.aclose())

    def close(self) -> None:
        if self._owns_http:
            self.http.close()
