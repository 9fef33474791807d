"""Makes the videos of many orders, and continues where an earlier run of it was killed.

Arguments: sync or async, the folder of the files, and the numbers of the first and last order.
"""

from __future__ import annotations

import asyncio
import os
import pathlib
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from framewright_client import AsyncFramewright, Framewright

KEYS = os.environ["FRAMEWRIGHT_TEST_KEYS"].split(",")
PICTURE = pathlib.Path(os.environ["FRAMEWRIGHT_TEST_MEDIA"], "picture.png")
AT_ONCE = 12

kind, folder, first, last = sys.argv[1], pathlib.Path(sys.argv[2]), *map(int, sys.argv[3:])


def file_of(order: int) -> pathlib.Path:
    return folder / f"{order}.mp4"


def request_of(order: int) -> dict[str, Any]:
    return {
        "prompt": f"The boat of order {order}",
        "model": "video-2.0-mini",
        "resolution": "480p",
        "duration": 4,
        "idempotency_key": f"order-{order}",
    }


def has_picture(order: int) -> bool:
    return order % 50 == 1  # an account may begin 60 uploads in ten minutes


def address_file(order: int) -> pathlib.Path:
    """Keeps the address of the uploaded picture, so that the request is the same in each run."""
    return folder / f"{order}.url"


def with_picture(order: int) -> dict[str, Any]:
    address = address_file(order).read_text()
    return {**request_of(order), "mode": "image-to-video", "image_url": address}


def keep(order: int, address: str) -> None:
    part = folder / f"{order}.url.part"
    part.write_text(address)
    part.replace(address_file(order))


def make(order: int) -> None:
    with Framewright(KEYS[order % len(KEYS)]) as client:
        request = request_of(order)
        if has_picture(order):
            if not address_file(order).exists():
                keep(order, client.uploads.create(PICTURE).url)
            request = with_picture(order)
        client.generate(**request).download(file_of(order))


async def make_async(order: int, places: asyncio.Semaphore) -> None:
    async with places, AsyncFramewright(KEYS[order % len(KEYS)]) as client:
        request = request_of(order)
        if has_picture(order):
            if not address_file(order).exists():
                keep(order, (await client.uploads.create(PICTURE)).url)
            request = with_picture(order)
        video = await client.generate(**request)
        await video.download(file_of(order))


async def make_all(orders: list[int]) -> None:
    places = asyncio.Semaphore(AT_ONCE)
    await asyncio.gather(*(make_async(order, places) for order in orders))


missing = [order for order in range(first, last + 1) if not file_of(order).exists()]
if kind == "sync":
    with ThreadPoolExecutor(AT_ONCE) as pool:
        list(pool.map(make, missing))
else:
    asyncio.run(make_all(missing))
