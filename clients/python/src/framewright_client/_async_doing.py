"""How the asynchronous client does what the steps of a call ask for."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Any

from ._models import VideoTask

Chunks = AsyncGenerator[bytes, None]
Listener = Callable[[VideoTask], Awaitable[None] | None]

sleep = asyncio.sleep


async def read(work: Callable[[], Any]) -> Any:
    return await asyncio.to_thread(work)


async def tell(listener: Any, task: VideoTask) -> None:
    answer = listener(task)
    if inspect.isawaitable(answer):
        await answer
