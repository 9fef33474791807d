"""One call of the client: its requests, sent until a response counts."""

from __future__ import annotations

import json
import logging
import math
import os
import random
import re
import ssl
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx

from ._errors import (
    BY_STATUS,
    ApiError,
    ConnectionError,
    FramewrightError,
    Retry,
    ServerError,
    SettingsError,
    WaitTimeoutError,
)
from ._models import VideoTask
from ._parsing import parse
from ._transport import Transport

T = TypeVar("T")
E = TypeVar("E", bound=FramewrightError)

VERSION = "1.0.0"

LONGEST_PAUSE = 600.0
"""Seconds. After a longer Retry-After the caller decides."""

NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout, httpx.ProxyError)
"""The errors of httpx that come before the first byte of a request is sent."""

log = logging.getLogger("framewright_client")


class Settings:
    """The options of both clients, with the environment behind them."""

    def __init__(
        self, api_key: str | None, base_url: str | None, max_retries: int, timeout: float
    ) -> None:
        self.api_key = _given(api_key, "FRAMEWRIGHT_API_KEY")
        if not self.api_key:
            raise SettingsError("no API key: pass api_key, or set FRAMEWRIGHT_API_KEY")
        if re.search(r"[\x00-\x20\x7f]", self.api_key):
            raise SettingsError("the API key has a space or a line break")
        given = _given(base_url, "FRAMEWRIGHT_BASE_URL")
        if not given:
            raise SettingsError("no base URL: pass base_url, or set FRAMEWRIGHT_BASE_URL")
        self.base_url = given.rstrip("/")
        if not is_base_url(self.base_url):
            usual = "https://video.example.com/api/v1"
            raise SettingsError(f"the base URL must be an address such as {usual}, not {given}")
        self.max_retries = max_retries
        self.timeout = timeout
        self.sent_keys: dict[str, None] = {}
        """The Idempotency-Keys of creates that may have arrived, the latest 1000."""

    def remember(self, key: str, may_have_arrived: bool) -> None:
        self.sent_keys.pop(key, None)
        if may_have_arrived:
            self.sent_keys[key] = None
        while len(self.sent_keys) > 1000:
            self.sent_keys.pop(next(iter(self.sent_keys)), None)


def _given(option: str | None, variable: str) -> str:
    return (os.environ.get(variable, "") if option is None else option).strip()


def is_base_url(text: str) -> bool:
    try:
        return bool(httpx.URL(text).host and re.fullmatch(r"https?://\S*/api/v1", text))
    except httpx.InvalidURL:
        return False


@dataclass(frozen=True)
class Request:
    """A request; `path` is relative to the base URL."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """How many seconds the response may be silent. None: the timeout of the client."""
    creates: bool = False
    """Whether it may reserve credits."""
    repeats: bool = True
    """Whether it may be sent again although an earlier try may have arrived."""


@dataclass
class Call:
    """What the requests of a call have in common."""

    settings: Settings
    transport: Transport
    max_retries: int
    key: str | None = None
    """The Idempotency-Key of a call that creates a task."""
    task_id: str | None = None
    task: VideoTask | None = None
    """The task as it was read last."""
    in_doubt: bool = False
    """Whether a create may have arrived: errors say `reserved` until a response is certain."""
    deadline: float = math.inf

    def be_patient(self) -> None:
        """Lets the call outlast a restart of the service: some four minutes of tries."""
        self.max_retries = max(self.max_retries, 40)

    async def send(self, kind: type[T], request: Request) -> T:
        """Sends a request until a response counts: 2xx, or an error that is not transient.

        Raises ApiError, ConnectionError, WaitTimeoutError.
        """
        tries = 0
        while True:
            try:
                return await self._send_once(kind, request)
            except (ApiError, ConnectionError) as error:
                if not request.repeats and not did_nothing(error):
                    raise
                await self.pause_after(error, tries)
            tries += 1

    async def _send_once(self, kind: type[T], request: Request) -> T:
        """Sends a request once, and keeps the key of a create that may have arrived."""
        key = self.key if request.creates else None
        if key is None:
            return await self._try(kind, request)
        self.in_doubt = self.in_doubt or key in self.settings.sent_keys
        try:
            return await self._try(kind, request)
        finally:
            self.settings.remember(key, self.in_doubt)

    async def _try(self, kind: type[T], request: Request) -> T:
        self.check_time()
        was_in_doubt = self.in_doubt
        self.in_doubt |= request.creates
        name = f"{request.method} {request.path}"
        try:
            async with self.open(name, **self._arguments(request)) as response:
                body = b"".join([chunk async for chunk in self.chunks(response)])
        except (httpx.LocalProtocolError, httpx.InvalidURL) as error:
            self.in_doubt = was_in_doubt
            raise self.new_error(FramewrightError, f"{error}; nothing was sent") from error
        except httpx.RequestError as error:
            if isinstance(error, NOT_SENT):
                self.in_doubt = was_in_doubt
            raise self.no_response(error) from error
        if response.status_code < 400 and not response.is_success:
            self.in_doubt = was_in_doubt
            raise self._redirected(response, request)
        if not response.is_success:
            raise self.api_error(response, body, request.creates, was_in_doubt)
        try:
            content = {**json.loads(body or b"{}")}
            if kind is not dict:
                content["request_id"] = response.headers.get("x-request-id")
            return parse(kind, content)
        except (ValueError, TypeError) as error:
            raise self.no_response(error) from error

    def _arguments(self, request: Request) -> dict[str, Any]:
        headers = {
            "authorization": f"Bearer {self.settings.api_key}",
            "accept": "application/json",
            "user-agent": f"framewright_client/{VERSION}",
            **({"idempotency-key": self.key} if self.key and request.creates else {}),
            **request.headers,
        }
        return {
            "method": request.method,
            "url": self.settings.base_url + request.path,
            "params": dict(request.query) or None,
            "content": request.body,
            "headers": {name.encode(): value.encode() for name, value in headers.items()},
            "timeout": request.timeout or self.settings.timeout,
            "follow_redirects": False,  # the API key would go elsewhere
        }

    @asynccontextmanager
    async def open(
        self, name: str, timeout: float, **arguments: Any
    ) -> AsyncIterator[httpx.Response]:
        """The response to one request. Its bytes are read with `chunks`."""
        began = time.monotonic()
        left = max(0.001, self.deadline - began)
        try:
            async with self.transport.open(timeout=min(timeout, left), **arguments) as response:
                log.debug(
                    "%s: HTTP %d after %.3f s (request_id=%s, idempotency_key=%s)",
                    name,
                    response.status_code,
                    time.monotonic() - began,
                    response.headers.get("x-request-id"),
                    self.key,
                )
                yield response
        except httpx.RequestError as error:
            log.debug("%s: %r after %.3f s", name, error, time.monotonic() - began)
            raise

    async def chunks(self, response: httpx.Response) -> AsyncIterator[bytes]:
        async for chunk in self.transport.chunks(response):
            self.check_time()
            yield chunk

    def check_time(self, cause: BaseException | None = None) -> None:
        """Raises WaitTimeoutError if the time of the call is over."""
        if time.monotonic() >= self.deadline:
            raise self.timed_out() from cause

    def timed_out(self) -> WaitTimeoutError:
        state = f"{self.task_id} is not finished" if self.task_id else "there is no task yet"
        error = self.new_error(
            WaitTimeoutError, f"The time is over: {state}.", code="wait_timeout", retry="same_key"
        )
        error.task = self.task
        return error

    async def pause_after(self, failure: ApiError | ConnectionError, tries: int) -> None:
        """Waits before the next try. Raises the failure if there is no next try."""
        delay = min(8.0, 0.5 * 2.0**tries) * random.uniform(0.5, 1.0)
        if failure.code == "redirected":
            raise failure
        if isinstance(failure, ApiError):
            if failure.status != 429 and failure.status < 500:
                raise failure
            if failure.retry_after is not None:
                delay = failure.retry_after + random.uniform(0, 0.5)
        if tries >= self.max_retries or delay > LONGEST_PAUSE:
            raise failure
        if time.monotonic() + delay >= self.deadline:
            raise self.timed_out() from failure
        log.debug("again in %.1f s: %s", delay, failure)
        await self.transport.sleep(delay)

    def new_error(
        self, kind: type[E], message: str, *, code: str = "invalid_call", retry: Retry = "never"
    ) -> E:
        """Builds an error of this call, by what is known about its credits."""
        return kind(
            message,
            code=code,
            idempotency_key=self.key,
            task_id=self.task_id,
            charged="reserved" if self.in_doubt else "no",
            retry="same_key" if self.in_doubt else retry,
        )

    def no_response(self, cause: Exception, address: str | None = None) -> ConnectionError:
        """The error for a response that was lost. The request may have arrived."""
        self.check_time(cause)
        address, reason = address or self.settings.base_url, reason_of(cause)
        if not isinstance(cause, NOT_SENT):
            return self._connection_error(f"no whole response from {address}: {reason}")
        return self._connection_error(f"no connection to {address}: {reason}", is_sent=False)

    def _connection_error(
        self, message: str, *, code: str = "no_response", is_sent: bool = True
    ) -> ConnectionError:
        end = "" if is_sent or self.in_doubt else "; nothing was sent"
        return self.new_error(ConnectionError, message + end, code=code, retry="same_key")

    def api_error(
        self,
        response: httpx.Response,
        body: bytes,
        creates: bool = False,
        was_in_doubt: bool = True,
    ) -> ApiError:
        """The error of a response. The page of a proxy has no envelope."""
        status = response.status_code
        try:
            envelope = _member(json.loads(body), "error")
        except ValueError:
            envelope = {}
        details, code = _member(envelope, "details"), str(envelope.get("code", "unknown"))
        known = dict(details)
        if code == "idempotency_conflict":
            known = {"charged": "no", "retry": "new_key", **details}
        is_certain = "credits" in details or (creates and status in LOOKED_UP)
        if was_in_doubt and not is_certain:
            known = {}
        if "charged" in known:
            self.in_doubt = known["charged"] == "reserved"
        elif status < 500:
            self.in_doubt = was_in_doubt
        if self.in_doubt:
            self.task_id = details.get("task_id", self.task_id)
        may_repeat = status in (401, 402, 429) or status >= 500
        kind = BY_STATUS.get(status, ServerError if status >= 500 else ApiError)
        message = envelope.get("message", f"HTTP status {status}")
        retry: Retry = "same_key" if may_repeat else "never"
        error = self.new_error(kind, message, code=code, retry=retry)
        error.charged = known.get("charged", error.charged)
        error.retry = known.get("retry", error.retry)
        error.task_id = details.get("task_id", self.task_id)
        error.request_id = response.headers.get("x-request-id")
        error.status, error.details = status, details
        error.retry_after = seconds_of(response.headers)
        return error

    def _redirected(self, response: httpx.Response, request: Request) -> ConnectionError:
        target = response.headers.get("location", "another address")
        base = target.split("?")[0].removesuffix(request.path)
        message = f"{self.settings.base_url} redirects to {target}: make {base} the base URL"
        return self._connection_error(message, code="redirected", is_sent=False)


def reason_of(error: Exception) -> str:
    """The text of the innermost error: those around it are vague."""
    group: Sequence[Exception] = getattr(error, "exceptions", ())
    inner = error.__cause__ or error.__context__ or next(iter(group), None)
    if isinstance(inner, Exception):
        return reason_of(inner)
    if isinstance(error, ssl.SSLError):  # its errno is a number of OpenSSL
        is_plain = error.reason in ("WRONG_VERSION_NUMBER", "PACKET_LENGTH_TOO_LONG")
        return "the server doesn't speak TLS: try http://" if is_plain else str(error)
    if isinstance(error, OSError) and error.errno and error.errno > 0:
        return os.strerror(error.errno)
    return str(error) or type(error).__name__


LOOKED_UP = (400, 402, 409, 413, 503)
"""Statuses that come after the look-up of the Idempotency-Key; 401 and 429 come before it."""


def did_nothing(failure: ApiError | ConnectionError) -> bool:
    """Whether the request certainly had no effect, so that a retry is safe and useful."""
    if isinstance(failure, ApiError):
        return failure.status == 429
    return isinstance(failure.__cause__, NOT_SENT)


def seconds_of(headers: Mapping[str, str]) -> float | None:
    """Seconds of Retry-After, which may be a time."""
    after = headers.get("retry-after", "")
    if after.isdecimal():
        return float(after)
    at, now = _time(after), _time(headers.get("date", ""))
    return max(0.0, (at - (now or datetime.now(timezone.utc))).total_seconds()) if at else None


def _time(text: str) -> datetime | None:
    try:
        time = parsedate_to_datetime(text)
    except (ValueError, OverflowError):
        return None
    return time if time.tzinfo else time.replace(tzinfo=timezone.utc)


def _member(content: object, name: str) -> dict[str, Any]:
    found = content.get(name) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
