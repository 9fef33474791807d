"""What the calls of both clients do."""

from __future__ import annotations

import copy
import json
import math
import random
import time
import uuid
from collections.abc import AsyncGenerator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from urllib.parse import quote as quoted

import httpx

from ._call import Call, Request, Settings
from ._errors import ConflictError, TaskFailedError
from ._media import File, Media, is_url, media_type, read_file
from ._models import MEDIA_FIELDS, TaskList, Upload, VideoFields, VideoTask, WebhookDeliveryList
from ._transport import AsyncListener, Transport

T = TypeVar("T")
Page = TypeVar("Page", TaskList, WebhookDeliveryList)

WAIT_SECONDS = 25
"""How long a read asks the service to wait. Some proxies end a request after 30 seconds."""

CREATE = "/video/generations"

TaskOrId = VideoTask | str


@dataclass(frozen=True)
class CompletedTask(VideoTask):
    """What the videos of both clients have."""

    _key: str | None = field(repr=False, compare=False)
    _deadline: float = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """A link to the video. It expires; a download takes a fresh one."""
        return self.output.video_url if self.output else ""


class Core:
    """The options and connections of a client."""

    def __init__(self, settings: Settings, transport: Transport) -> None:
        self.settings = settings
        self.transport = transport

    def with_options(self, max_retries: int | None, timeout: float | None) -> Core:
        """With the same connections, and the same memory of sent Idempotency-Keys."""
        settings = copy.copy(self.settings)
        if max_retries is not None:
            settings.max_retries = max_retries
        if timeout is not None:
            settings.timeout = timeout
        return Core(settings, self.transport.shared())

    def call(
        self,
        timeout: float | None = None,
        *,
        key: str | None = None,
        task: TaskOrId | None = None,
    ) -> Call:
        call = Call(self.settings, self.transport, self.settings.max_retries, key)
        if task is not None:
            call.task_id, call.in_doubt = id_of(task), True
            call.task = None if isinstance(task, str) else task
        if isinstance(task, CompletedTask):
            call.key, call.deadline = task._key, task._deadline
        if timeout is not None:
            call.deadline = time.monotonic() + timeout
        return call

    async def send(self, kind: type[T], request: Request) -> T:
        return await self.call().send(kind, request)

    async def send_for(self, task: TaskOrId, kind: type[T], method: str, path: str = "") -> T:
        """A request about a task."""
        request = Request(method, path_of("tasks", id_of(task)) + path)
        return await self.call(task=task).send(kind, request)


def id_of(task: TaskOrId) -> str:
    return task if isinstance(task, str) else task.id


def key_of(given: str | None) -> str:
    """The Idempotency-Key of a call: made before the first try, if the caller has none."""
    return f"fw-{uuid.uuid4()}" if given is None else given


def path_of(*parts: str) -> str:
    return "".join(f"/{quoted(part, safe='')}" for part in parts)


def json_request(method: str, path: str, body: object = None, **options: Any) -> Request:
    """A request with a JSON body, if there is one."""
    if body is None:
        return Request(method, path, **options)
    headers = {"content-type": "application/json", **options.pop("headers", {})}
    return Request(method, path, json.dumps(body).encode(), headers, **options)


def given(fields: Mapping[str, object]) -> dict[str, Any]:
    """The fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


async def create(call: Call, prompt: str, fields: VideoFields) -> VideoTask:
    body = await video_body(call, prompt, fields)
    try:
        task = await call.send(VideoTask, json_request("POST", CREATE, body, creates=True))
    except ConflictError as error:
        if body != {"prompt": prompt, **given(fields)}:
            # Files were uploaded again, to new addresses. A new key would pay for a second video.
            error.charged, error.retry = "reserved", "never"
        raise
    call.task, call.task_id, call.in_doubt = task, task.id, True
    return task


async def video_body(call: Call, prompt: str, fields: VideoFields) -> dict[str, Any]:
    """The body of a create. Files are uploaded first, once for all tries."""
    body = given(fields)
    uploads: dict[int, Upload] = {}

    async def url_of(media: Media) -> str:
        if isinstance(media, httpx.URL) or is_url(media):
            return str(media)
        if id(media) not in uploads:
            uploads[id(media)] = await upload(call, media)
        return uploads[id(media)].url

    for name in MEDIA_FIELDS:
        if name.endswith("_urls") and name in body:
            body[name] = [await url_of(media) for media in body[name]]
        elif name in body:
            body[name] = await url_of(body[name])
    lengths = {each.url: each.duration_seconds or 0 for each in uploads.values()}
    videos = body.get("reference_video_urls", [])
    if videos and "reference_video_durations" not in body and lengths.keys() >= set(videos):
        body["reference_video_durations"] = [math.floor(lengths[url] + 0.5) for url in videos]
    return {"prompt": prompt, **body}


async def upload(call: Call, file: File, content_type: str | None = None) -> Upload:
    data = await call.transport.read(partial(read_file, file))
    headers = {"content-type": content_type or media_type(data)}
    return await call.send(Upload, Request("POST", "/uploads", data, headers))


async def wait(call: Call, on_progress: AsyncListener | None) -> VideoTask:
    """Reads the task of the call until it is completed.

    A connection that is lost and a service that is restarted only delay it. Raises TaskFailedError,
    WaitTimeoutError.
    """
    call.be_patient()
    while True:
        began = time.monotonic()
        seconds = math.floor(max(0, min(WAIT_SECONDS, call.deadline - began)))
        read = Request(
            "GET",
            path_of("tasks", call.task_id or ""),
            headers={"prefer": f"wait={seconds}"} if seconds else {},
            timeout=seconds + min(call.settings.timeout, 15),
        )
        call.task = await call.send(VideoTask, read)
        if on_progress:
            await call.transport.tell(on_progress, call.task)
        if call.task.status != "processing":
            return require_completed(call, call.task)
        now = time.monotonic()
        if now - began < seconds / 2 or seconds == 0:
            # Too many requests wait, or a proxy drops the preference.
            pause = 2 * random.uniform(0.8, 1.0)
            await call.transport.sleep(max(0, min(pause, call.deadline - now)))


def require_completed(call: Call, task: VideoTask) -> VideoTask:
    """Returns the task, which has ended. Raises TaskFailedError unless it is completed."""
    if task.output:
        return task
    error = TaskFailedError(
        task.error.message if task.error else "The task failed.",
        code=task.error.code if task.error else "unknown",
        request_id=task.request_id,
        idempotency_key=call.key,
        task_id=task.id,
        charged="refunded",
        retry="new_key",
    )
    error.task = task
    raise error


async def generate(
    call: Call, prompt: str, fields: VideoFields, on_progress: AsyncListener | None
) -> VideoTask:
    task = await create(call, prompt, fields)
    if on_progress:
        await call.transport.tell(on_progress, task)
    if task.status != "processing":
        return require_completed(call, task)
    return await wait(call, on_progress)


async def pages(
    call: Call, kind: type[Page], path: str, filters: Mapping[str, object]
) -> AsyncGenerator[Any, None]:
    """The entries of all pages."""
    query = {name: _text(value) for name, value in given(filters).items()}
    while True:
        page = await call.send(kind, Request("GET", path, query=query))
        for each in page.data:
            yield each
        if page.next_cursor is None:
            return
        query["cursor"] = page.next_cursor


def _text(value: object) -> str:
    return value.astimezone().isoformat() if isinstance(value, datetime) else str(value)
