"""Calls that end early, and what their errors say."""

from __future__ import annotations

import asyncio
import os
import pathlib
import signal
import time
from typing import Any

import httpx
import pytest
from conftest import Face

from framewright_client import (
    ApiError,
    AsyncFramewright,
    Framewright,
    FramewrightError,
    SettingsError,
    VideoTask,
)

SLOW = {"prompt": "A boat, test-slow", "duration": 4, "resolution": "480p"}


def test_a_cancelled_wait_ends_at_once(key: str) -> None:
    async def run() -> float:
        async with AsyncFramewright(key) as client:
            created = asyncio.Event()
            making = asyncio.create_task(
                client.generate(**SLOW, on_progress=lambda task: created.set())  # type: ignore[arg-type]
            )
            await created.wait()
            began = time.monotonic()
            making.cancel()
            with pytest.raises(asyncio.CancelledError):
                await making
            return time.monotonic() - began

    assert asyncio.run(run()) < 1


def test_ctrl_c_ends_a_wait_at_once(key: str) -> None:
    with Framewright(key) as client:
        task = client.videos.create(**SLOW)  # type: ignore[arg-type]
        signal.signal(signal.SIGALRM, signal.default_int_handler)
        signal.setitimer(signal.ITIMER_REAL, 0.5)
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            client.videos.wait(task)
        assert time.monotonic() - began < 2


def test_a_listener_may_be_asynchronous_and_its_error_reaches_the_caller(key: str) -> None:
    async def refuse(task: VideoTask) -> None:
        raise LookupError(task.id)

    async def run() -> None:
        async with AsyncFramewright(key) as client:
            with pytest.raises(LookupError, match="task_"):
                await client.generate(**SLOW, on_progress=refuse)  # type: ignore[arg-type]

    asyncio.run(run())


def test_a_deleted_video_leaves_no_file(face: Face, tmp_path: pathlib.Path) -> None:
    fields: dict[str, Any] = {"duration": 4, "resolution": "480p"}
    video = face("generate", "A paper boat", **fields)
    assert face("videos.delete", video) is None
    for source in (video, video.id):
        with pytest.raises(ApiError) as caught:
            face("videos.download", source, tmp_path / "boat.mp4")
        assert (caught.value.status, caught.value.code) == (410, "output_deleted")
    assert os.listdir(tmp_path) == []
    with pytest.raises(FramewrightError, match="is not there yet"):
        face("videos.download", face("videos.create", **SLOW).id, tmp_path / "boat.mp4")


def test_a_client_without_a_key_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FRAMEWRIGHT_API_KEY", raising=False)
    with pytest.raises(SettingsError, match="FRAMEWRIGHT_API_KEY"):
        Framewright()


def test_the_caller_keeps_its_http_client(key: str) -> None:
    with httpx.Client() as own:
        with Framewright(key, http_client=own) as client:
            assert client.credits.get().available_credits > 0
        assert not own.is_closed
