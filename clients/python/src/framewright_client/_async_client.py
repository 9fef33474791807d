"""The client for asyncio. The one that blocks (_client.py) calls it, over another transport."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from . import _calls
from ._call import Call, Request, Settings
from ._calls import CompletedTask, Core, TaskOrId, json_request, path_of
from ._download import download, whole_file
from ._media import File
from ._models import (
    CancelResult,
    CreditBalance,
    Event,
    ModelCatalog,
    PresignedUpload,
    Quote,
    TaskLedger,
    TaskList,
    Upload,
    VideoTask,
    WebhookDelivery,
    WebhookDeliveryList,
    WebhookEndpoint,
    WebhookEndpointList,
    WebhookEndpointWithSecret,
    WebhookEventId,
)
from ._transport import AsyncListener, AsyncStream, AsyncTransport
from ._webhooks import sign_webhook, verify_webhook

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._models import ListFilter, VideoFields


class AsyncFramewright:
    """A client for one API key. Its calls may run at the same time.

    Close it, or use it with `async with`.

    api_key: also FRAMEWRIGHT_API_KEY.
    base_url: ends with /api/v1; also FRAMEWRIGHT_BASE_URL.
    max_retries: how often a request is sent again, always with the same Idempotency-Key.
    timeout: how many seconds a response may be silent.
    http_client: sends the requests. It is not closed with this client.
    """

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        max_retries: int = 5,
        timeout: float = 60.0,
        http_client: httpx.AsyncClient | None = None,
    ) -> None:
        settings = Settings(api_key, base_url, max_retries, timeout)
        self._use(Core(settings, AsyncTransport(http_client)))

    @classmethod
    def _over(cls, core: Core) -> Self:
        client = cls.__new__(cls)
        client._use(core)
        return client

    def _use(self, core: Core) -> None:
        self._core = core
        self.videos = AsyncVideos(core)
        self.uploads = AsyncUploads(core)
        self.credits = AsyncCredits(core)
        self.models = AsyncModels(core)
        self.webhooks = AsyncWebhooks(core)

    def with_options(self, *, max_retries: int | None = None, timeout: float | None = None) -> Self:
        """A copy of this client with other options, sharing its connections."""
        return self._over(self._core.with_options(max_retries, timeout))

    async def generate(
        self,
        prompt: str,
        *,
        on_progress: AsyncListener | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **fields: Unpack[VideoFields],
    ) -> AsyncVideo:
        """Creates a video and waits until it is completed.

        on_progress: called with the task after each read.
        idempotency_key: your name for this video, such as an order number. With it, the call may be
            made again after a crash; without it, the client makes one for this call.
        timeout: seconds for this call and the download of the video together.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        call = self._core.call(timeout, key=_calls.key_of(idempotency_key))
        task = await _calls.generate(call, prompt, fields, on_progress)
        return self.videos._video(call, task)

    async def request(
        self,
        method: str,
        path: str,
        *,
        body: object = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> dict[str, Any]:
        """Calls any API operation by its path below the base URL, and returns the JSON.

        A POST that may have arrived is sent again only with an Idempotency-Key. A create always
        has one.
        """
        own = {name.lower(): value for name, value in (headers or {}).items()}
        creates = method == "POST" and path.split("?")[0] == _calls.CREATE
        key = own.pop("idempotency-key", idempotency_key)
        if creates or key is not None:
            key = own["idempotency-key"] = _calls.key_of(key)
        request = json_request(
            method,
            path,
            body,
            headers=own,
            query=query or {},
            creates=creates,
            repeats=method != "POST" or key is not None,
        )
        result: dict[str, Any] = await self._core.call(key=key).send(dict, request)
        return result

    async def close(self) -> None:
        await self._core.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


class AsyncResource:
    def __init__(self, core: Core) -> None:
        self._core = core


class AsyncVideos(AsyncResource):
    """The tasks that make videos."""

    async def create(
        self,
        prompt: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **fields: Unpack[VideoFields],
    ) -> VideoTask:
        """Creates a task without waiting for it. Files in media fields are uploaded first."""
        call = self._core.call(timeout, key=_calls.key_of(idempotency_key))
        return await _calls.create(call, prompt, fields)

    async def quote(self, prompt: str, **fields: Unpack[VideoFields]) -> Quote:
        """The price of a create. Nothing is reserved; files in media fields are uploaded."""
        call = self._core.call()
        body = await _calls.video_body(call, prompt, fields)
        return await self._core.send(Quote, json_request("POST", "/video/quotes", body))

    async def get(self, task: TaskOrId) -> VideoTask:
        return await self._core.send_for(task, VideoTask, "GET")

    async def wait(
        self,
        task: TaskOrId,
        *,
        on_progress: AsyncListener | None = None,
        timeout: float | None = None,
    ) -> AsyncVideo:
        """Waits until a task is completed, for `timeout` seconds at most.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        call = self._core.call(timeout, task=task)
        return self._video(call, await _calls.wait(call, on_progress))

    def list(self, **filters: Unpack[ListFilter]) -> AsyncStream[VideoTask]:
        """Lists all tasks, newest first. `limit` is the page size."""
        return _calls.pages(self._core.call(), TaskList, "/tasks", filters)

    async def cancel(self, task: TaskOrId) -> CancelResult:
        """Asks to cancel a task. The result says whether it was cancelled."""
        return await self._core.send_for(task, CancelResult, "POST", "/cancel")

    async def ledger(self, task: TaskOrId) -> TaskLedger:
        """The credit movements of a task."""
        return await self._core.send_for(task, TaskLedger, "GET", "/ledger")

    async def delete(self, task: TaskOrId) -> None:
        """Deletes a task's video. The task remains, and its credits stay spent."""
        await self._core.send_for(task, dict, "DELETE", "/output")

    async def download(
        self, task: TaskOrId, path: str | os.PathLike[str], *, timeout: float | None = None
    ) -> None:
        """Writes a completed task's video to a file, which appears once it is complete."""
        async with self.stream_download(task, timeout=timeout) as chunks:
            with whole_file(path) as file:
                async for chunk in chunks:
                    file.write(chunk)

    @asynccontextmanager
    async def stream_download(
        self, task: TaskOrId, *, timeout: float | None = None
    ) -> AsyncIterator[AsyncIterator[bytes]]:
        """Streams a completed video: `async with client.videos.stream_download(id) as chunks:`.

        A lost connection is continued where it broke. Raises WaitTimeoutError after `timeout`
        seconds.
        """
        chunks = self._chunks(task, timeout)
        try:
            yield chunks
        finally:
            await chunks.aclose()

    def _chunks(self, task: TaskOrId, timeout: float | None) -> AsyncStream[bytes]:
        return download(self._core.call(timeout, task=task))

    def _video(self, call: Call, task: VideoTask) -> AsyncVideo:
        return AsyncVideo(**vars(task), _key=call.key, _deadline=call.deadline, _videos=self)


@dataclass(frozen=True)
class AsyncVideo(CompletedTask):
    """A completed task."""

    _videos: AsyncVideos = field(repr=False, compare=False)

    async def download(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        """Writes the video to a file, which appears once it is complete.

        timeout: seconds until the call ends; else what is left of the timeout of `generate`.
        """
        await self._videos.download(self, path, timeout=timeout)


class AsyncUploads(AsyncResource):
    """Files for media fields."""

    async def create(self, file: File, *, content_type: str | None = None) -> Upload:
        """Uploads an image or video (a path, bytes, or an open file) at no cost."""
        call = self._core.call()
        return await _calls.upload(call, file, content_type)

    async def delete(self, upload_id: str) -> None:
        """Deletes an upload, unless a task needs it."""
        await self._core.send(dict, Request("DELETE", path_of("uploads", upload_id)))

    async def presign(self, content_type: str, size_bytes: int) -> PresignedUpload:
        """Returns a URL that accepts a file's bytes directly, such as from a browser."""
        body = {"content_type": content_type, "size_bytes": size_bytes}
        request = json_request("POST", "/uploads/presigned", body)
        return await self._core.send(PresignedUpload, request)


class AsyncCredits(AsyncResource):
    """The credits of the account."""

    async def get(self) -> CreditBalance:
        return await self._core.send(CreditBalance, Request("GET", "/credits"))

    async def refill_test(self) -> CreditBalance:
        """Resets the test credits. Needs a test key."""
        return await self._core.send(CreditBalance, Request("POST", "/test-credits"))


class AsyncModels(AsyncResource):
    """What can be generated."""

    async def list(self) -> ModelCatalog:
        """The models, their prices and the limits of media."""
        return await self._core.send(ModelCatalog, Request("GET", "/models"))


class AsyncWebhooks(AsyncResource):
    """Webhook endpoints and their deliveries."""

    verify = staticmethod(verify_webhook)
    sign = staticmethod(sign_webhook)

    async def list(self) -> WebhookEndpointList:
        return await self._core.send(WebhookEndpointList, Request("GET", "/webhooks"))

    async def create(
        self, *, events: Sequence[Event], url: str | None = None, description: str | None = None
    ) -> WebhookEndpointWithSecret:
        """Creates an endpoint. Keep its secret: it is returned only once."""
        body = _calls.given({"events": events, "url": url, "description": description})
        request = json_request("POST", "/webhooks", body, repeats=False)
        return await self._core.send(WebhookEndpointWithSecret, request)

    async def get(self, endpoint_id: str) -> WebhookEndpoint:
        path = path_of("webhooks", endpoint_id)
        return await self._core.send(WebhookEndpoint, Request("GET", path))

    async def update(
        self,
        endpoint_id: str,
        *,
        events: Sequence[Event] | None = None,
        url: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> WebhookEndpoint:
        """Changes the given fields. `enabled=True` also clears past failures."""
        changes = {
            "events": events,
            "url": url,
            "description": description,
            "enabled": enabled,
        }
        path = path_of("webhooks", endpoint_id)
        request = json_request("PATCH", path, _calls.given(changes))
        return await self._core.send(WebhookEndpoint, request)

    async def delete(self, endpoint_id: str) -> None:
        await self._core.send(dict, Request("DELETE", path_of("webhooks", endpoint_id)))

    async def replace_secret(self, endpoint_id: str) -> WebhookEndpointWithSecret:
        """Creates a new secret. The previous one also signs until `earlier_secret_until`."""
        path = path_of("webhooks", endpoint_id, "secret")
        request = Request("POST", path, repeats=False)
        return await self._core.send(WebhookEndpointWithSecret, request)

    def deliveries(
        self, endpoint_id: str, *, limit: int | None = None
    ) -> AsyncStream[WebhookDelivery]:
        """Lists an endpoint's deliveries, newest event first. `limit` is the page size."""
        call = self._core.call()
        path = path_of("webhooks", endpoint_id, "deliveries")
        return _calls.pages(call, WebhookDeliveryList, path, {"limit": limit})

    async def send_again(self, endpoint_id: str, event_id: str) -> WebhookEventId:
        """Sends a logged event again."""
        path = path_of("webhooks", endpoint_id, "deliveries", event_id, "send")
        return await self._core.send(WebhookEventId, Request("POST", path))

    async def test(self, endpoint_id: str) -> WebhookEventId:
        """Sends a `webhook.test` event."""
        path = path_of("webhooks", endpoint_id, "test")
        return await self._core.send(WebhookEventId, Request("POST", path))
