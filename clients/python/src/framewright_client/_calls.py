"""What each call of the client does, for both clients."""

from __future__ import annotations

import json
import math
import random
import time
import uuid
from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any
from urllib.parse import quote as quoted

import httpx

from ._errors import ApiError, ConnectionError, TaskFailedError, WaitTimeoutError
from ._exchange import Blocking, Call, OnProgress, Pause, Progress, Request, Steps, exchange
from ._media import File, Media, is_url, media_type, read_file
from ._models import (
    MEDIA_FIELDS,
    CancelResult,
    CreditBalance,
    ListFilter,
    ModelCatalog,
    Quote,
    TaskList,
    Upload,
    VideoFields,
    VideoTask,
)

WAIT_SECONDS = 25
"""How long a read asks the service to wait. Some proxies end a request after 30 seconds."""

WAIT_RETRIES = 40
"""Tries of what is safe and already paid: some four minutes, while the service is restarted."""


def patient(call: Call) -> Call:
    """A call that outlasts a restart of the service."""
    return replace(call, max_retries=max(call.max_retries, WAIT_RETRIES))


def key_of(given: str | None) -> str:
    """The Idempotency-Key of a call: made before the first try, if the caller has none."""
    return f"fw-{uuid.uuid4()}" if given is None else given


def post(path: str, body: Mapping[str, object], key: str | None = None) -> Request:
    headers = {"content-type": "application/json"}
    if key is not None:
        headers["idempotency-key"] = key
    return Request("POST", path, json.dumps(body).encode(), headers)


def create(call: Call, prompt: str, fields: VideoFields) -> Steps[VideoTask]:
    body = yield from _body(call, prompt, fields)
    request = post("/video/generations", body, call.key)
    return (yield from exchange(replace(call, charged="reserved"), request, VideoTask))


def quote(call: Call, prompt: str, fields: VideoFields) -> Steps[Quote]:
    body = yield from _body(call, prompt, fields)
    return (yield from exchange(call, post("/video/quotes", body), Quote))


def _body(call: Call, prompt: str, fields: VideoFields) -> Steps[dict[str, Any]]:
    """The body of a create. Files are uploaded first, once for all tries."""
    body: dict[str, Any] = {k: value for k, value in fields.items() if value is not None}
    uploads: dict[int, Upload] = {}
    for name in MEDIA_FIELDS:
        if name not in body:
            continue
        is_list = name.endswith("_urls")
        urls: list[str] = []
        for media in body[name] if is_list else [body[name]]:
            urls.append((yield from _url_of(call, media, uploads)))
        body[name] = urls if is_list else urls[0]
    lengths = {each.url: each.duration_seconds or 0 for each in uploads.values()}
    videos = body.get("reference_video_urls", [])
    if videos and "reference_video_durations" not in body and lengths.keys() >= set(videos):
        body["reference_video_durations"] = [math.floor(lengths[url] + 0.5) for url in videos]
    return {"prompt": prompt, **body}


def _url_of(call: Call, media: Media, uploads: dict[int, Upload]) -> Steps[str]:
    """The URL of a medium. `uploads` has those of this call, by the identity of the file."""
    if isinstance(media, httpx.URL) or is_url(media):
        return str(media)
    if id(media) not in uploads:
        uploads[id(media)] = yield from create_upload(call, media)
    return uploads[id(media)].url


def create_upload(call: Call, file: File, content_type: str | None = None) -> Steps[Upload]:
    data: bytes = yield Blocking(partial(read_file, file))
    headers = {"content-type": content_type or media_type(data)}
    return (yield from exchange(call, Request("POST", "/uploads", data, headers), Upload))


def get(call: Call, task_id: str) -> Steps[VideoTask]:
    return (yield from exchange(call, Request("GET", _task_path(task_id)), VideoTask))


def _task_path(task_id: str) -> str:
    return f"/tasks/{quoted(task_id, safe='')}"


def wait(
    call: Call, task_id: str, *, timeout: float | None, on_progress: OnProgress | None
) -> Steps[VideoTask]:
    """Reads a task until it is completed.

    A connection that is lost and a service that is restarted only delay it. Raises TaskFailedError,
    WaitTimeoutError.
    """
    call = replace(call, task_id=task_id)
    deadline = time.monotonic() + (math.inf if timeout is None else timeout)
    while True:
        began = time.monotonic()
        seconds = max(1, math.ceil(min(WAIT_SECONDS, deadline - began)))
        read = Request(
            "GET",
            _task_path(task_id),
            headers={"prefer": f"wait={seconds}"},
            timeout=seconds + min(call.timeout, 15),
        )
        task = yield from exchange(patient(call), read, VideoTask)
        if on_progress:
            yield Progress(on_progress, task)
        if task.status != "processing":
            return ended(call, task)
        now = time.monotonic()
        if now >= deadline:
            error = WaitTimeoutError(
                f"{task_id} is still processing.",
                code="wait_timeout",
                idempotency_key=call.key,
                task_id=task_id,
                charged="reserved",
                retry="same_key",
            )
            error.task = task
            raise error
        if now - began < seconds / 2:  # too many requests wait, or a proxy drops the preference
            yield Pause(min(2.0, deadline - now) * random.uniform(0.8, 1.0))


def ended(call: Call, task: VideoTask) -> VideoTask:
    """The completed task. Raises TaskFailedError."""
    if task.output:
        return task
    error = TaskFailedError(
        task.error.message if task.error else "The task failed.",
        code=task.error.code if task.error else "unknown",
        idempotency_key=call.key,
        task_id=task.id,
        charged="refunded",
        retry="new_key",
    )
    error.task = task
    raise error


def generate(
    call: Call,
    prompt: str,
    fields: VideoFields,
    *,
    timeout: float | None,
    on_progress: OnProgress | None,
) -> Steps[VideoTask]:
    began = time.monotonic()
    task = yield from create(call, prompt, fields)
    if on_progress:
        yield Progress(on_progress, task)
    if task.status != "processing":
        return ended(call, task)
    left = None if timeout is None else timeout - (time.monotonic() - began)
    try:
        return (yield from wait(call, task.id, timeout=left, on_progress=on_progress))
    except (ApiError, ConnectionError) as error:  # of a read, which does not know of the create
        error.charged, error.retry = "reserved", "same_key"
        raise


def page(call: Call, filters: ListFilter, cursor: str | None) -> Steps[TaskList]:
    given = {**filters, "cursor": cursor}
    query = {name: _query(value) for name, value in given.items() if value is not None}
    return (yield from exchange(call, Request("GET", "/tasks", query=query), TaskList))


def _query(value: object) -> str:
    return value.astimezone().isoformat() if isinstance(value, datetime) else str(value)


def cancel(call: Call, task_id: str) -> Steps[CancelResult]:
    request = Request("POST", f"{_task_path(task_id)}/cancel")
    return (yield from exchange(call, request, CancelResult))


def get_credits(call: Call) -> Steps[CreditBalance]:
    return (yield from exchange(call, Request("GET", "/credits"), CreditBalance))


def list_models(call: Call) -> Steps[ModelCatalog]:
    return (yield from exchange(call, Request("GET", "/models"), ModelCatalog))
