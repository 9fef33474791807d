"""One request, sent until there is a response that counts.

What the SDK does is said once, as generators that yield what is to be done and receive its outcome.
The two clients differ in how they do it (`_doing.py`, `_async_doing.py`).
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import httpx

from ._errors import ApiError, Charged, ConnectionError, FramewrightError
from ._models import VideoTask
from ._parsing import parse

T = TypeVar("T")

LONGEST_PAUSE = 61.0
"""Seconds. After a longer Retry-After the caller decides; the rate window of a key is a minute."""


@dataclass(frozen=True)
class Request:
    """To send. Its outcome is a `Reply`, or one of the exceptions of httpx is thrown."""

    method: str
    path: str
    body: bytes | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds without a byte, if not those of the client."""


@dataclass(frozen=True)
class Reply:
    """A response that was read to its end."""

    status: int
    headers: Mapping[str, str]
    body: bytes


@dataclass(frozen=True)
class Pause:
    """To wait for so many seconds."""

    seconds: float


@dataclass(frozen=True)
class Blocking:
    """To call a function that reads files. Its outcome is the result."""

    work: Callable[[], Any]


OnProgress = Callable[[VideoTask], Any]


@dataclass(frozen=True)
class Progress:
    """To tell the caller how the task is."""

    listener: OnProgress
    task: VideoTask


Effect = Request | Pause | Blocking | Progress
Steps = Generator[Effect, Any, T]


@dataclass(frozen=True)
class Call:
    """What all requests of one logical call have in common."""

    max_retries: int
    timeout: float
    key: str | None = None
    """The Idempotency-Key of a call that creates a task."""
    task_id: str | None = None
    """The task of the call, when it is known."""
    charged: Charged = "no"
    """What a request without a response may have cost."""


def exchange(call: Call, request: Request, kind: type[T]) -> Steps[T]:
    """Sends a request until a response counts.

    Again only after no response, a half-read one, 429 and 5xx, and not before Retry-After.
    Raises ApiError, ConnectionError.
    """
    in_doubt = False
    tries = 0
    while True:
        try:
            return read_reply((yield request), call, kind)
        except (httpx.UnsupportedProtocol, httpx.LocalProtocolError) as error:
            raise FramewrightError(str(error), idempotency_key=call.key) from error
        except httpx.RequestError as error:
            failure: Failure = no_response(call, error)
        except (ApiError, ConnectionError) as error:
            failure = error
        if in_doubt and not _tells_of_earlier_tries(failure):
            failure.charged, failure.retry = "reserved", "same_key"
        in_doubt = failure.charged == "reserved"
        pause = delay_after(failure, tries)
        if not may_pass(failure) or tries >= call.max_retries or pause > LONGEST_PAUSE:
            raise failure
        yield Pause(pause)
        tries += 1


Failure = ApiError | ConnectionError


def may_pass(failure: Failure) -> bool:
    """Whether the same request may still succeed, with the same key."""
    return not isinstance(failure, ApiError) or failure.status == 429 or failure.status >= 500


def _tells_of_earlier_tries(failure: Failure) -> bool:
    """Whether the service has looked up the key. It looks at the API key and its rate before."""
    looked_up = (400, 402, 409, 413, 503)
    return isinstance(failure, ApiError) and (
        failure.status in looked_up and "charged" in failure.details
    )


def delay_after(failure: Failure, tries: int) -> float:
    """Seconds until the next try: what the service says, or a jittered backoff."""
    after = failure.retry_after if isinstance(failure, ApiError) else None
    if after is not None:
        return after + random.uniform(0, 0.5)
    return min(8.0, 0.5 * 2.0**tries) * random.uniform(0.5, 1.0)


def no_response(call: Call, cause: Exception) -> ConnectionError:
    """The error for a response that was lost. The request may have arrived."""
    error = ConnectionError(
        f"No whole response: {cause!r}",
        code="no_response",
        idempotency_key=call.key,
        task_id=call.task_id,
        charged=call.charged,
        retry="same_key",
    )
    error.__cause__ = cause
    return error


def read_reply(reply: Reply, call: Call, kind: type[T]) -> T:
    """The result of a response. Raises its error."""
    if not 200 <= reply.status < 300:
        raise api_error(reply, call)
    try:
        return parse(kind, json.loads(reply.body))
    except (ValueError, TypeError) as error:
        raise no_response(call, error) from error


def api_error(reply: Reply, call: Call) -> ApiError:
    """The error of a response. The page of a proxy has no envelope."""
    try:
        content = json.loads(reply.body)
    except ValueError:
        content = None
    envelope = _member(content, "error")
    details = _member(envelope, "details")
    may_send = reply.status in (401, 402, 429) or reply.status >= 500
    error = ApiError(
        envelope.get("message", f"HTTP status {reply.status}"),
        code=envelope.get("code", "unknown"),
        request_id=reply.headers.get("x-request-id"),
        idempotency_key=call.key,
        task_id=details.get("task_id", call.task_id),
        charged=details.get("charged", call.charged if reply.status >= 500 else "no"),
        retry=details.get("retry", "same_key" if may_send else "never"),
    )
    error.status, error.details = reply.status, details
    after = reply.headers.get("retry-after", "")
    error.retry_after = float(after) if after.isdecimal() else None
    return error


def _member(content: object, name: str) -> dict[str, Any]:
    found = content.get(name) if isinstance(content, dict) else None
    return found if isinstance(found, dict) else {}
