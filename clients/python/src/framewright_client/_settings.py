"""What a client is configured with, and how a request of it is sent."""

from __future__ import annotations

import os
import re
from typing import Any

import httpx

from ._errors import FramewrightError
from ._exchange import Call, Request
from ._models import VideoTask

DEFAULT_BASE_URL = "http://127.0.0.1:8080/api/v1"
MAX_RETRIES = 5
TIMEOUT = 60.0
USER_AGENT = "framewright-python/1.0.0"

TaskOrId = VideoTask | str


class Settings:
    """The options of both clients, with the environment behind them."""

    def __init__(
        self, api_key: str | None, base_url: str | None, max_retries: int, timeout: float
    ) -> None:
        key = (api_key or os.environ.get("FRAMEWRIGHT_API_KEY", "")).strip()
        if not key:
            raise FramewrightError("No API key: pass api_key or set FRAMEWRIGHT_API_KEY.")
        url = base_url or os.environ.get("FRAMEWRIGHT_BASE_URL") or DEFAULT_BASE_URL
        self.base_url = url.strip().rstrip("/")
        if not re.fullmatch(r"https?://.*/api/v1", self.base_url):
            raise FramewrightError(f"base_url must end with /api/v1, such as {DEFAULT_BASE_URL}.")
        self.max_retries = max_retries
        self.timeout = timeout
        self._authorization = f"Bearer {key}".encode()

    def call(self, key: str | None = None) -> Call:
        return Call(self.max_retries, self.timeout, key)

    def arguments(self, request: Request) -> dict[str, Any]:
        """The request as httpx takes it. Redirects are not followed: they would get the API key."""
        headers = {**request.headers, "accept": "application/json", "user-agent": USER_AGENT}
        encoded = {name.encode(): value.encode() for name, value in headers.items()}
        return {
            "method": request.method,
            "url": self.base_url + request.path,
            "params": dict(request.query),
            "content": request.body,
            "headers": {**encoded, b"authorization": self._authorization},
            "timeout": httpx.Timeout(request.timeout or self.timeout),
            "follow_redirects": False,
        }


def id_of(task: TaskOrId) -> str:
    return task if isinstance(task, str) else task.id
