"""The client of Framewright's video API: one call, one video, one charge."""

from ._async_client import AsyncFramewright, AsyncVideo
from ._client import Framewright, Video
from ._errors import (
    ApiError,
    ConnectionError,
    FramewrightError,
    TaskFailedError,
    WaitTimeoutError,
    WebhookError,
)
from ._models import (
    CancelResult,
    CreditBalance,
    ListFilter,
    Model,
    ModelCatalog,
    Quote,
    TaskError,
    Upload,
    VideoFields,
    VideoTask,
)
from ._webhooks import WebhookEvent

__all__ = [
    "ApiError",
    "AsyncFramewright",
    "AsyncVideo",
    "CancelResult",
    "ConnectionError",
    "CreditBalance",
    "Framewright",
    "FramewrightError",
    "ListFilter",
    "Model",
    "ModelCatalog",
    "Quote",
    "TaskError",
    "TaskFailedError",
    "Upload",
    "Video",
    "VideoFields",
    "VideoTask",
    "WaitTimeoutError",
    "WebhookError",
    "WebhookEvent",
]
