"""The client for code that blocks. It runs the asynchronous one over a transport that blocks."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any

import httpx

from ._async_client import (
    AsyncCredits,
    AsyncFramewright,
    AsyncModels,
    AsyncUploads,
    AsyncVideo,
    AsyncVideos,
    AsyncWebhooks,
)
from ._call import Settings
from ._calls import CompletedTask, Core, TaskOrId
from ._media import File
from ._models import (
    CancelResult,
    CreditBalance,
    Event,
    ModelCatalog,
    PresignedUpload,
    Quote,
    TaskLedger,
    Upload,
    VideoTask,
    WebhookDelivery,
    WebhookEndpoint,
    WebhookEndpointList,
    WebhookEndpointWithSecret,
    WebhookEventId,
)
from ._transport import BlockingTransport, Listener, Stream, iterate, run
from ._webhooks import sign_webhook, verify_webhook

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._models import ListFilter, VideoFields


class Framewright:
    """A client for one API key. Threads may share it.

    Close it, or use it with `with`.

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
        http_client: httpx.Client | None = None,
    ) -> None:
        settings = Settings(api_key, base_url, max_retries, timeout)
        self._use(AsyncFramewright._over(Core(settings, BlockingTransport(http_client))))

    def _use(self, client: AsyncFramewright) -> None:
        self._async = client
        self.videos = Videos(client.videos)
        self.uploads = Uploads(client.uploads)
        self.credits = Credits(client.credits)
        self.models = Models(client.models)
        self.webhooks = Webhooks(client.webhooks)

    def with_options(self, *, max_retries: int | None = None, timeout: float | None = None) -> Self:
        """A copy of this client with other options, sharing its connections."""
        other = copy.copy(self)
        other._use(self._async.with_options(max_retries=max_retries, timeout=timeout))
        return other

    def generate(
        self,
        prompt: str,
        *,
        on_progress: Listener | None = None,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **fields: Unpack[VideoFields],
    ) -> Video:
        """Creates a video and waits until it is completed.

        on_progress: called with the task after each read.
        idempotency_key: your name for this video, such as an order number. With it, the call may be
            made again after a crash; without it, the client makes one for this call.
        timeout: seconds for this call and the download of the video together.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        work = self._async.generate(
            prompt,
            on_progress=on_progress,
            idempotency_key=idempotency_key,
            timeout=timeout,
            **fields,
        )
        return self.videos._video(run(work))

    def request(
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
        return run(
            self._async.request(
                method,
                path,
                body=body,
                query=query,
                headers=headers,
                idempotency_key=idempotency_key,
            )
        )

    def close(self) -> None:
        run(self._async.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


class Videos:
    """The tasks that make videos."""

    def __init__(self, resource: AsyncVideos) -> None:
        self._async = resource

    def create(
        self,
        prompt: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **fields: Unpack[VideoFields],
    ) -> VideoTask:
        """Creates a task without waiting for it. Files in media fields are uploaded first."""
        return run(
            self._async.create(prompt, idempotency_key=idempotency_key, timeout=timeout, **fields)
        )

    def quote(self, prompt: str, **fields: Unpack[VideoFields]) -> Quote:
        """The price of a create. Nothing is reserved; files in media fields are uploaded."""
        return run(self._async.quote(prompt, **fields))

    def get(self, task: TaskOrId) -> VideoTask:
        return run(self._async.get(task))

    def wait(
        self,
        task: TaskOrId,
        *,
        on_progress: Listener | None = None,
        timeout: float | None = None,
    ) -> Video:
        """Waits until a task is completed, for `timeout` seconds at most.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        return self._video(run(self._async.wait(task, on_progress=on_progress, timeout=timeout)))

    def list(self, **filters: Unpack[ListFilter]) -> Stream[VideoTask]:
        """Lists all tasks, newest first. `limit` is the page size."""
        return iterate(self._async.list(**filters))

    def cancel(self, task: TaskOrId) -> CancelResult:
        """Asks to cancel a task. The result says whether it was cancelled."""
        return run(self._async.cancel(task))

    def ledger(self, task: TaskOrId) -> TaskLedger:
        """The credit movements of a task."""
        return run(self._async.ledger(task))

    def delete(self, task: TaskOrId) -> None:
        """Deletes a task's video. The task remains, and its credits stay spent."""
        run(self._async.delete(task))

    def download(
        self, task: TaskOrId, path: str | os.PathLike[str], *, timeout: float | None = None
    ) -> None:
        """Writes a completed task's video to a file, which appears once it is complete."""
        run(self._async.download(task, path, timeout=timeout))

    @contextmanager
    def stream_download(
        self, task: TaskOrId, *, timeout: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        """Streams a completed video: `with client.videos.stream_download(id) as chunks:`.

        A lost connection is continued where it broke. Raises WaitTimeoutError after `timeout`
        seconds.
        """
        chunks = iterate(self._async._chunks(task, timeout))
        try:
            yield chunks
        finally:
            chunks.close()

    def _video(self, video: AsyncVideo) -> Video:
        return Video(**{**vars(video), "_videos": self})


@dataclass(frozen=True)
class Video(CompletedTask):
    """A completed task."""

    _videos: Videos = field(repr=False, compare=False)

    def download(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        """Writes the video to a file, which appears once it is complete.

        timeout: seconds until the call ends; else what is left of the timeout of `generate`.
        """
        self._videos.download(self, path, timeout=timeout)


class Uploads:
    """Files for media fields."""

    def __init__(self, resource: AsyncUploads) -> None:
        self._async = resource

    def create(self, file: File, *, content_type: str | None = None) -> Upload:
        """Uploads an image or video (a path, bytes, or an open file) at no cost."""
        return run(self._async.create(file, content_type=content_type))

    def delete(self, upload_id: str) -> None:
        """Deletes an upload, unless a task needs it."""
        run(self._async.delete(upload_id))

    def presign(self, content_type: str, size_bytes: int) -> PresignedUpload:
        """Returns a URL that accepts a file's bytes directly, such as from a browser."""
        return run(self._async.presign(content_type, size_bytes))


class Credits:
    """The credits of the account."""

    def __init__(self, resource: AsyncCredits) -> None:
        self._async = resource

    def get(self) -> CreditBalance:
        return run(self._async.get())

    def refill_test(self) -> CreditBalance:
        """Resets the test credits. Needs a test key."""
        return run(self._async.refill_test())


class Models:
    """What can be generated."""

    def __init__(self, resource: AsyncModels) -> None:
        self._async = resource

    def list(self) -> ModelCatalog:
        """The models, their prices and the limits of media."""
        return run(self._async.list())


class Webhooks:
    """Webhook endpoints and their deliveries."""

    def __init__(self, resource: AsyncWebhooks) -> None:
        self._async = resource

    verify = staticmethod(verify_webhook)
    sign = staticmethod(sign_webhook)

    def list(self) -> WebhookEndpointList:
        return run(self._async.list())

    def create(
        self, *, events: Sequence[Event], url: str | None = None, description: str | None = None
    ) -> WebhookEndpointWithSecret:
        """Creates an endpoint. Keep its secret: it is returned only once."""
        return run(self._async.create(events=events, url=url, description=description))

    def get(self, endpoint_id: str) -> WebhookEndpoint:
        return run(self._async.get(endpoint_id))

    def update(
        self,
        endpoint_id: str,
        *,
        events: Sequence[Event] | None = None,
        url: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> WebhookEndpoint:
        """Changes the given fields. `enabled=True` also clears past failures."""
        return run(
            self._async.update(
                endpoint_id, events=events, url=url, description=description, enabled=enabled
            )
        )

    def delete(self, endpoint_id: str) -> None:
        run(self._async.delete(endpoint_id))

    def replace_secret(self, endpoint_id: str) -> WebhookEndpointWithSecret:
        """Creates a new secret. The previous one also signs until `earlier_secret_until`."""
        return run(self._async.replace_secret(endpoint_id))

    def deliveries(self, endpoint_id: str, *, limit: int | None = None) -> Stream[WebhookDelivery]:
        """Lists an endpoint's deliveries, newest event first. `limit` is the page size."""
        return iterate(self._async.deliveries(endpoint_id, limit=limit))

    def send_again(self, endpoint_id: str, event_id: str) -> WebhookEventId:
        """Sends a logged event again."""
        return run(self._async.send_again(endpoint_id, event_id))

    def test(self, endpoint_id: str) -> WebhookEventId:
        """Sends a `webhook.test` event."""
        return run(self._async.test(endpoint_id))
