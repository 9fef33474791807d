"""The errors. Each says what became of the credits, and which key to send next."""

from __future__ import annotations

import builtins
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from ._models import VideoTask

Charged = Literal["no", "reserved", "refunded"]
Retry = Literal["same_key", "new_key", "never"]


class FramewrightError(Exception):
    """The base of all errors of this package."""

    code: str
    """What happened. The codes of the API are in its ERRORS.md."""
    request_id: str | None
    """The id by which the operator finds the request, if there was a response."""
    idempotency_key: str | None
    """The key of the call. None: the call creates nothing."""
    task_id: str | None
    """The task, if one was created."""
    charged: Charged
    """What became of the credits of this call. `reserved` also if that is unknown."""
    retry: Retry
    """Which Idempotency-Key to make the same call with again."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "invalid_call",
        request_id: str | None = None,
        idempotency_key: str | None = None,
        task_id: str | None = None,
        charged: Charged = "no",
        retry: Retry = "never",
    ) -> None:
        super().__init__(message)
        self.code = code
        self.request_id = request_id
        self.idempotency_key = idempotency_key
        self.task_id = task_id
        self.charged = charged
        self.retry = retry

    def __str__(self) -> str:
        facts = {
            "code": self.code,
            "reason": self._reason(),
            "charged": self.charged,
            "retry": self.retry,
            "request_id": self.request_id,
            "idempotency_key": self.idempotency_key,
            "task_id": self.task_id,
        }
        known = ", ".join(f"{name}={value}" for name, value in facts.items() if value is not None)
        return f"{super().__str__()} ({known})"

    def _reason(self) -> str | None:
        return None


class ApiError(FramewrightError):
    """The service refused the request, or is not able to serve it now."""

    status: int = 0
    """The HTTP status."""
    details: Mapping[str, Any] = {}
    """Facts for programs, such as `field`, `reason` and `task_id`."""
    retry_after: float | None = None
    """Seconds to wait before the next try."""

    def _reason(self) -> str | None:
        return self.details.get("reason")


class InvalidRequestError(ApiError):
    """400, 413: the request can't succeed as it is. `details` has the field and the reason."""


class AuthenticationError(ApiError):
    """401: no valid API key."""


class InsufficientCreditsError(ApiError):
    """402: too few credits, or the monthly cap of the API key."""


class PermissionDeniedError(ApiError):
    """403: not allowed, such as a link that has expired."""


class NotFoundError(ApiError):
    """404, 410: does not exist, or no longer does."""


class ConflictError(ApiError):
    """409: the Idempotency-Key has another request, or the task's state does not allow it."""


class RateLimitError(ApiError):
    """429: too many requests."""


class ServerError(ApiError):
    """5xx: the service is busy, or has a fault."""


BY_STATUS: dict[int, type[ApiError]] = {
    400: InvalidRequestError,
    401: AuthenticationError,
    402: InsufficientCreditsError,
    403: PermissionDeniedError,
    404: NotFoundError,
    409: ConflictError,
    410: NotFoundError,
    413: InvalidRequestError,
    429: RateLimitError,
}


class ConnectionError(FramewrightError, builtins.ConnectionError):
    """No whole response came, or one that redirects elsewhere.

    Unless `charged` is `no`, the request may have arrived: send it again with the same key only.
    """


class SettingsError(FramewrightError):
    """The API key or the base URL can't be used."""

    def __init__(self, message: str) -> None:
        super().__init__(f"{message}; nothing was sent", code="invalid_settings", retry="same_key")


class DownloadError(FramewrightError):
    """The video of a task can't be downloaded as it was asked for; its credits stay spent."""


class TaskFailedError(FramewrightError):
    """The task failed, and its credits were refunded."""

    task: VideoTask


class WaitTimeoutError(FramewrightError, builtins.TimeoutError):
    """The time of the call is over. A task that was created goes on: wait for it again."""

    task: VideoTask | None = None
    """The task as it was read last."""


class WebhookError(FramewrightError):
    """The delivery does not come from the service, or is too old."""
