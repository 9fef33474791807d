"""The types of openapi.json. test_models.py compares them with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypedDict

from ._media import Media

# The contract's models, or another that the service offers.
ModelId = Literal["video-2.0", "video-2.0-fast", "video-2.0-mini"] | str
Mode = Literal["text-to-video", "image-to-video", "media-to-video"]
Status = Literal["processing", "completed", "failed"]
Event = Literal["task.completed", "task.failed", "task.held", "credits.low"]


@dataclass(frozen=True)
class Result:
    """A response of the service."""

    request_id: str | None = field(default=None, kw_only=True, compare=False, repr=False)
    """The id by which the operator finds the request. None inside another result."""


@dataclass(frozen=True)
class VideoOutput:
    video_url: str
    """A link that needs no API key and expires. Each read of the task makes a new one."""


@dataclass(frozen=True)
class TaskError:
    code: Literal[
        "invalid_media",
        "content_refused",
        "invalid_request",
        "provider_unavailable",
        "not_accepted",
        "provider_failed",
        "generation_expired",
        "output_unavailable",
        "cancelled",
    ]
    """Each is explained at /docs/errors#failed-tasks."""
    message: str
    """A sentence for people."""


@dataclass(frozen=True)
class VideoTask(Result):
    id: str
    """At most 120 characters."""
    status: Status
    """completed and failed are final."""
    model: ModelId
    """The model of the request."""
    mode: Mode
    """The mode of the request."""
    credits_used: int
    """Credits charged for the task."""
    credits_refunded: int
    """Credits returned to the balance."""
    output: VideoOutput | None
    """null until the task is completed."""
    error: TaskError | None
    """null unless the task failed; then its credits are refunded."""
    created_at: str | None
    """When the task was created."""
    updated_at: str | None
    """When the task last changed."""


@dataclass(frozen=True)
class TaskList(Result):
    data: list[VideoTask]
    """The newest task first."""
    next_cursor: str | None
    """Opaque. Send it as cursor, with the same filters, for the next page. null: there are
    no more tasks. With a filter, a page may have fewer tasks than limit, or none, and still
    a next page."""


@dataclass(frozen=True)
class Quote(Result):
    credits: int
    """What a create with this body reserves."""
    credits_per_second: int
    """Per second of the output and of the reference videos."""
    output_seconds: int
    """The length of the video."""
    reference_seconds: int
    """The length of all reference videos together, as declared."""
    available_credits: int
    """Paid credits that the API can spend now."""
    enough: bool
    """Whether these and the monthly cap of the API key suffice for a create now."""


@dataclass(frozen=True)
class CancelResult(Result):
    cancel: Literal["cancelled", "pending", "refused"]
    """cancelled: the task failed and its credits are refunded. pending: the provider was
    asked; read the task to see how it ends. refused: the task goes on."""
    refusal: str | None
    """Why it was refused. video_is_finished: the video is there already, or is being
    copied. provider_cannot: the provider does not cancel this job."""
    task: VideoTask
    """The task as it is now."""


@dataclass(frozen=True)
class CreditBalance(Result):
    available_credits: int
    """Paid credits that the API can spend."""
    balance_type: Literal["paid"]
    """Always paid."""


@dataclass(frozen=True)
class Upload(Result):
    id: str
    """The id of the upload."""
    url: str
    """For the media fields of a create of the same account. Nobody can fetch it."""
    expires_at: str
    """When the file is deleted. Each use sets it to a day after that."""
    kind: Literal["image", "video"]
    """What the bytes are."""
    media_type: str
    """Their type, such as video/mp4."""
    size_bytes: int
    """Bytes of the file."""
    width: int | None
    """Pixels as displayed."""
    height: int | None
    """Pixels as displayed."""
    duration_seconds: float | None
    """The length of a video, not rounded. Round it for reference_video_durations."""


@dataclass(frozen=True)
class CreditsPerSecond:
    standard: dict[str, int]
    """By resolution; a resolution that is missing is not offered."""
    referenced: dict[str, int]
    """By resolution; a resolution that is missing is not offered."""


@dataclass(frozen=True)
class Model:
    id: str
    """Its name in a request."""
    resolutions: list[str]
    """The resolutions that it offers."""
    credits_per_second: CreditsPerSecond
    """Per second of the output. `referenced`: with reference videos, whose seconds count too."""
    title: str | None = None
    """The name that people read, if it is not the id."""
    modes: list[str] | None = None
    """If it does not offer all modes."""
    durations: list[int] | None = None
    """The seconds that it makes, if it does not make all of duration_seconds."""
    aspect_ratios: list[str] | None = None
    """If it does not offer all ratios."""
    audio: bool | None = None
    """False: its videos have no sound."""
    seed: bool | None = None
    """False: it takes no seed."""
    next_price: dict[str, Any] | None = None
    """A price that is announced: its credits_per_second, and `from`, when it takes effect."""


@dataclass(frozen=True)
class ModeRules:
    id: str
    """Its name in a request."""
    accepts: list[str]
    """The media fields that the mode takes."""
    requires_one_of: list[str]
    """The mode needs at least one of these fields."""


@dataclass(frozen=True)
class Bounds:
    min: int
    """At least."""
    max: int
    """At most."""


@dataclass(frozen=True)
class MediaRules:
    max_total_bytes: int
    """All files together."""
    max_reference_images: int
    """Images."""
    max_reference_videos: int
    """Videos."""
    reference_video_seconds: Bounds
    """The length of each reference video."""
    max_total_reference_seconds: int
    """All reference videos together."""
    reference_video_short_side: Bounds
    """Pixels of the shorter side, as displayed."""
    max_image_pixels: int
    """Width times height."""
    max_video_pixels: int
    """Width times height."""


@dataclass(frozen=True)
class ModelCatalog(Result):
    data: list[Model]
    """Each model."""
    price_version: int
    """Grows whenever a price changes. A task keeps the price of its create."""
    modes: list[ModeRules]
    """What a request can be made from."""
    aspect_ratios: list[str]
    """Width to height."""
    prompt_characters: Bounds
    """The length of a prompt. All bounds are included."""
    duration_seconds: Bounds
    """The length of the video."""
    media: MediaRules
    """Limits on the files of a request."""


@dataclass(frozen=True)
class CreditMovement:
    created_at: str
    """When they moved."""
    kind: str
    """The kind of credits: paid."""
    reason: str
    """reserve: set aside for the task; capture: spent, because it was completed; refund:
    returned to the balance, because it failed."""
    credits: int
    """How many."""


@dataclass(frozen=True)
class TaskLedger(Result):
    data: list[CreditMovement]
    """The oldest movement first."""


@dataclass(frozen=True)
class PresignedRequest:
    method: Literal["PUT"]
    """The method of the request that sends the bytes."""
    url: str
    """Where to send the bytes, without a key."""
    headers: dict[str, str]
    """Send exactly these."""
    expires_at: str
    """Until when the PUT can begin."""


@dataclass(frozen=True)
class PresignedUpload(Result):
    id: str
    """The id of the upload."""
    url: str
    """For the media fields of a create of the same account. Nobody can fetch it."""
    expires_at: str
    """When the file is deleted if it was not used before."""
    upload: PresignedRequest
    """How to send the bytes."""


@dataclass(frozen=True)
class WebhookEndpoint(Result):
    id: str
    """The id of the endpoint."""
    mode: Literal["live", "test"]
    """Whether it gets live or test events."""
    url: str | None
    """Where events are sent; None: they are only kept in the log."""
    description: str | None
    """What its owner calls it."""
    events: list[Event]
    """The events that it gets."""
    created_at: str | None
    """When it was made."""
    disabled_at: str | None
    """When deliveries to it stopped; None: it is enabled."""
    disabled_because: str | None
    """owner: it was disabled. gone: it responded 410. failing: every delivery failed for five
    days."""
    failing_since: str | None
    """Since when every delivery fails; None: the last one arrived."""
    earlier_secret_until: str | None
    """Until when the previous secret signs too."""


@dataclass(frozen=True)
class WebhookEndpointWithSecret(WebhookEndpoint):
    secret: str = field(repr=False)
    """Signs the deliveries. It is shown only in this response."""


@dataclass(frozen=True)
class WebhookEndpointList(Result):
    data: list[WebhookEndpoint]
    """The oldest first."""


@dataclass(frozen=True)
class WebhookAttempt:
    at: str | None
    """When it began."""
    duration_ms: int
    """Milliseconds until the response."""
    status: int | None
    """The HTTP status; None without a response."""
    cause: str | None
    """Why there was no response."""
    response: str | None
    """The first KiB of the body of the response."""


@dataclass(frozen=True)
class WebhookDelivery:
    event_id: str
    """The same in each try, and in the header webhook-id."""
    type: str
    """The type of the event, such as task.completed."""
    task_id: str | None
    """The task that the event is about."""
    data: dict[str, Any] | None
    """What the event says; None: it is about a task, whose state each try reads anew."""
    created_at: str | None
    """When it happened."""
    state: Literal["waiting", "delivered", "failed", "logged"]
    """failed: no further try is made. logged: the endpoint had no url, so nothing is sent."""
    next_attempt_at: str | None
    """When it is sent next; None: no further tries."""
    attempts: list[WebhookAttempt]
    """The oldest first."""


@dataclass(frozen=True)
class WebhookDeliveryList(Result):
    data: list[WebhookDelivery]
    """The newest event first."""
    next_cursor: str | None
    """Send it as cursor for the next page; None: there are no more."""


@dataclass(frozen=True)
class WebhookEventId(Result):
    event_id: str
    """The event, as in the header webhook-id."""


class VideoFields(TypedDict, total=False):
    """What a video is made of, besides its prompt. A field that is None is not sent."""

    mode: Mode | None
    """image-to-video takes image_url (required) and end_image_url; media-to-video takes the
    reference fields, at least one image or video; text-to-video takes none of them."""
    model: ModelId | None
    """GET /models has their prices."""
    aspect_ratio: Literal["1:1", "21:9", "4:3", "3:4", "16:9", "9:16", "adaptive"] | None
    """Width to height. adaptive: the ratio nearest to the first image or video, else 16:9."""
    duration: int | None
    """Seconds."""
    resolution: Literal["480p", "720p", "1080p", "4k"] | None
    """Not every model offers all."""
    image_url: Media | None
    """The first frame: HTTPS, or an upload."""
    end_image_url: Media | None
    """The last frame: HTTPS, or an upload."""
    reference_image_urls: Sequence[Media] | None
    """Images that the video refers to."""
    reference_video_urls: Sequence[Media] | None
    """Videos that the video refers to.

    Their seconds are billed too, but with them each second of the request costs less.
    """
    reference_video_durations: Sequence[int] | None
    """Whole seconds of each reference video, in order."""
    generate_audio: bool | None
    """Whether the video has sound."""
    seed: int | None
    """-1: the service draws one."""


class ListFilter(TypedDict, total=False):
    """Which tasks a list has."""

    status: Status | None
    """Only tasks in this state."""
    model: ModelId | None
    """Only tasks of this model."""
    created_after: datetime | str | None
    """Only tasks created at this time or later."""
    created_before: datetime | str | None
    """Only tasks created before this time."""
    limit: int | None
    """Tasks per page."""


MEDIA_FIELDS = ("image_url", "end_image_url", "reference_image_urls", "reference_video_urls")
