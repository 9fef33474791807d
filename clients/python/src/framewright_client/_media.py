"""Files that callers name in media fields."""

from __future__ import annotations

import os
import re
from typing import BinaryIO

import httpx

from ._errors import FramewrightError

File = str | os.PathLike[str] | bytes | BinaryIO
"""A path, the bytes, or a file that is open for reading."""

Media = File | httpx.URL
"""A file, or its URL. Pass an untrusted URL as an httpx.URL: it is never read as a path."""

MAX_BYTES = 104_857_600

_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
_IMAGES = {b"\x89PNG": "image/png", b"\xff\xd8\xff": "image/jpeg", b"RIFF": "image/webp"}


def is_url(media: File) -> bool:
    """Whether it is a URL. One letter before a colon is a drive of Windows."""
    return isinstance(media, str) and _URL.match(media) is not None


def read_file(file: File) -> bytes:
    """The bytes of a file, which are sent again after a lost response.

    Raises OSError if it can't be read, FramewrightError if it is too large to be uploaded.
    """
    if isinstance(file, bytes):
        data = file
    elif isinstance(file, (str, os.PathLike)):
        with open(file, "rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    else:
        data = file.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise FramewrightError(f"The file has more than {MAX_BYTES} bytes.", code="too_large")
    return data


def media_type(data: bytes) -> str:
    """The type by the first bytes. The service looks closer."""
    return next((kind for start, kind in _IMAGES.items() if data.startswith(start)), "video/mp4")
