"""How the client that blocks does what the steps of a call ask for."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from typing import Any

from ._models import VideoTask

Chunks = Generator[bytes, None, None]
Listener = Callable[[VideoTask], None]

sleep = time.sleep


def read(work: Callable[[], Any]) -> Any:
    return work()


def tell(listener: Any, task: VideoTask) -> None:
    listener(task)
