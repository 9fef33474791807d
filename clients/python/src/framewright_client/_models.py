"""The types of openapi.json, written by write.ts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, TypedDict

from ._media import Media


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
class VideoTask:
    id: str
    """At most 120 characters."""
    status: Literal["processing", "completed", "failed"]
    """completed and failed are final."""
    model: Literal["video-2.0", "video-2.0-fast", "video-2.0-mini"]
    """Of the request."""
    mode: Literal["text-to-video", "image-to-video", "media-to-video"]
    """Of the request."""
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
class TaskList:
    data: list[VideoTask]
    """The newest task first."""
    next_cursor: str | None
    """Opaque. Send it as cursor, with the same filters, for the next page. null: there are
    no more tasks. With a filter, a page may have fewer tasks than limit, or none, and still
    a next page."""


@dataclass(frozen=True)
class Quote:
    credits: int
    """What a create with this body reserves."""
    credits_per_second: int
    """Of the output and of the reference videos."""
    output_seconds: int
    """Of the video."""
    reference_seconds: int
    """Of all reference videos together, as declared."""
    available_credits: int
    """Paid credits that the API can spend now."""
    enough: bool
    """Whether they, and the monthly cap of the API key, suffice for a create now."""


@dataclass(frozen=True)
class CancelResult:
    cancel: Literal["cancelled", "pending", "refused"]
    """cancelled: the task failed and its credits are refunded. pending: the provider was
    asked; read the task to see how it ends. refused: the task goes on."""
    refusal: str | None
    """Why it was refused. video_is_finished: the video is there already, or is being
    copied. provider_cannot: the provider does not cancel this job."""
    task: VideoTask
    """The task as it is now."""


@dataclass(frozen=True)
class CreditBalance:
    available_credits: int
    """Paid credits that the API can spend."""
    balance_type: Literal["paid"]
    """Always paid."""


@dataclass(frozen=True)
class Upload:
    id: str
    """The id of the upload."""
    url: str
    """For the media fields of a create of the same account. Nobody can fetch it."""
    expires_at: str
    """When the file is deleted. Each use makes it a day from then."""
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
    """Of a video, not rounded. reference_video_durations takes it rounded."""


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
    """That it offers."""
    credits_per_second: CreditsPerSecond
    """Of the output. `referenced`: with reference videos, whose seconds count as well."""


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
    """Of all files together."""
    max_reference_images: int
    """Images."""
    max_reference_videos: int
    """Videos."""
    reference_video_seconds: Bounds
    """Of each reference video."""
    max_total_reference_seconds: int
    """Of all reference videos together."""
    reference_video_short_side: Bounds
    """Pixels of the shorter side, as displayed."""
    max_image_pixels: int
    """Width by height."""
    max_video_pixels: int
    """Width by height."""


@dataclass(frozen=True)
class ModelCatalog:
    data: list[Model]
    """Each model."""
    price_version: int
    """Grows whenever a price changes. A task keeps the price of its create."""
    modes: list[ModeRules]
    """What a request can be made from."""
    aspect_ratios: list[str]
    """Width to height."""
    prompt_characters: Bounds
    """Of a prompt. All bounds are included."""
    duration_seconds: Bounds
    """Of the video."""
    media: MediaRules
    """Of the files of a request."""


class VideoFields(TypedDict, total=False):
    """What a video is made of, beside its prompt. A field that is None is not sent."""

    mode: Literal["text-to-video", "image-to-video", "media-to-video"] | None
    """image-to-video takes image_url (required) and end_image_url; media-to-video takes the
    reference fields, at least one image or video; text-to-video takes none of them."""
    model: Literal["video-2.0", "video-2.0-fast", "video-2.0-mini"] | None
    """GET /models has their prices."""
    aspect_ratio: Literal["1:1", "21:9", "4:3", "3:4", "16:9", "9:16", "adaptive"] | None
    """Width to height. adaptive: the ratio nearest to the first image or video, else 16:9."""
    duration: int | None
    """Seconds."""
    resolution: Literal["480p", "720p", "1080p", "4k"] | None
    """Not every model offers each."""
    image_url: Media | None
    """The first frame: HTTPS, or an upload."""
    end_image_url: Media | None
    """The last frame: HTTPS, or an upload."""
    reference_image_urls: Sequence[Media] | None
    """Images that the video refers to."""
    reference_video_urls: Sequence[Media] | None
    """Videos that the video refers to; their seconds are added, and all have a lower rate."""
    reference_video_durations: Sequence[int] | None
    """Whole seconds of each reference video, in order."""
    generate_audio: bool | None
    """Whether the video has sound."""
    seed: int | None
    """-1: the service draws one."""


class ListFilter(TypedDict, total=False):
    """Which tasks a list has."""

    status: Literal["processing", "completed", "failed"] | None
    """Only tasks with it."""
    model: Literal["video-2.0", "video-2.0-fast", "video-2.0-mini"] | None
    """Only tasks of this model."""
    created_after: datetime | str | None
    """Only tasks created at this time or later."""
    created_before: datetime | str | None
    """Only tasks created before this time."""
    limit: int | None
    """Tasks of a page."""


MEDIA_FIELDS = ("image_url", "end_image_url", "reference_image_urls", "reference_video_urls")
