"""The client for code that blocks, written by sync-client.ts."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Coroutine, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from . import _calls
from ._call import Call, Request, Settings
from ._calls import json_request, path_of
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
from ._transport import Listener, Stream, Transport
from ._webhooks import sign_webhook, verify_webhook

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._models import ListFilter, VideoFields

T = TypeVar("T")
TaskOrId = VideoTask | str


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
        self._settings = Settings(api_key, base_url, max_retries, timeout)
        self._transport = Transport(http_client)
        self.videos = Videos(self)
        self.uploads = Uploads(self)
        self.credits = Credits(self)
        self.models = Models(self)
        self.webhooks = Webhooks(self)

    def with_options(
        self, *, max_retries: int | None = None, timeout: float | None = None
    ) -> Framewright:
        """This client with other options, for one call or more. Both have the same connections."""
        other = Framewright(
            self._settings.api_key,
            self._settings.base_url,
            self._settings.max_retries if max_retries is None else max_retries,
            self._settings.timeout if timeout is None else timeout,
            self._transport.http,
        )
        other._settings.sent_keys = self._settings.sent_keys
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
        """Makes a video, and waits until it is finished.

        on_progress: called with the task after each read.
        idempotency_key: your name for this video, such as an order number. With it, the call may be
            made again after a crash; without it, the client makes one for this call.
        timeout: seconds for all of it, with the download of the video.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        call = self._call(timeout, key=_calls.key_of(idempotency_key))
        return self._video(call, _calls.generate(call, prompt, fields, on_progress))

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
        """Any operation of the API by its path below the base URL: the JSON of the response.

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
        result: dict[str, Any] = self._run(self._call(key=key).send(dict, request))
        return result

    def close(self) -> None:
        self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _call(
        self,
        timeout: float | None = None,
        *,
        key: str | None = None,
        task: TaskOrId | None = None,
    ) -> Call:
        call = Call(self._settings, self._transport, self._settings.max_retries, key)
        if task is not None:
            call.task_id, call.in_doubt = id_of(task), True
            call.task = None if isinstance(task, str) else task
        if isinstance(task, Video):
            call.key, call.deadline = task._key, task._deadline
        if timeout is not None:
            call.deadline = time.monotonic() + timeout
        return call

    def _run(self, call: Coroutine[Any, Any, T]) -> T:
        return self._transport.run(call)

    def _send(self, kind: type[T], request: Request) -> T:
        return self._run(self._call().send(kind, request))

    def _send_of(self, task: TaskOrId, kind: type[T], method: str, path: str = "") -> T:
        """A request about a task."""
        request = Request(method, path_of("tasks", id_of(task)) + path)
        return self._run(self._call(task=task).send(kind, request))

    def _video(self, call: Call, work: Coroutine[Any, Any, VideoTask]) -> Video:
        task = self._run(work)
        return Video(**vars(task), _client=self, _key=call.key, _deadline=call.deadline)


class Resource:
    def __init__(self, client: Framewright) -> None:
        self._client = client


class Videos(Resource):
    """The tasks that make videos."""

    def create(
        self,
        prompt: str,
        *,
        idempotency_key: str | None = None,
        timeout: float | None = None,
        **fields: Unpack[VideoFields],
    ) -> VideoTask:
        """Begins a video, and does not wait for it. Files in media fields are uploaded first."""
        call = self._client._call(timeout, key=_calls.key_of(idempotency_key))
        return self._client._run(_calls.create(call, prompt, fields))

    def quote(self, prompt: str, **fields: Unpack[VideoFields]) -> Quote:
        """What a create would cost. Nothing is reserved; files in media fields are uploaded."""
        call = self._client._call()
        body = self._client._run(_calls.video_body(call, prompt, fields))
        return self._client._send(Quote, json_request("POST", "/video/quotes", body))

    def get(self, task: TaskOrId) -> VideoTask:
        return self._client._send_of(task, VideoTask, "GET")

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
        call = self._client._call(timeout, task=task)
        return self._client._video(call, _calls.wait(call, on_progress))

    def list(self, **filters: Unpack[ListFilter]) -> Stream[VideoTask]:
        """All tasks, the newest first. `limit` is how many are read at once."""
        pages = _calls.pages(self._client._call(), TaskList, "/tasks", filters)
        return self._client._transport.iterate(pages)

    def cancel(self, task: TaskOrId) -> CancelResult:
        """Asks to end a task. What became of it is in the result."""
        return self._client._send_of(task, CancelResult, "POST", "/cancel")

    def ledger(self, task: TaskOrId) -> TaskLedger:
        """How the credits of a task moved."""
        return self._client._send_of(task, TaskLedger, "GET", "/ledger")

    def delete(self, task: TaskOrId) -> None:
        """Deletes the video of a task. The task stays, and its credits stay spent."""
        self._client._send_of(task, dict, "DELETE", "/output")

    def download(
        self, task: TaskOrId, path: str | os.PathLike[str], *, timeout: float | None = None
    ) -> None:
        """Writes the video of a completed task to a file, which gets its name when it is whole."""
        with self.stream_download(task, timeout=timeout) as chunks:
            with whole_file(path) as file:
                for chunk in chunks:
                    file.write(chunk)

    @contextmanager
    def stream_download(
        self, task: TaskOrId, *, timeout: float | None = None
    ) -> Iterator[Iterator[bytes]]:
        """The bytes of a finished video: `with client.videos.stream_download(id) as chunks:`.

        A lost connection is continued where it broke. Raises WaitTimeoutError after `timeout`
        seconds.
        """
        call = self._client._call(timeout, task=task)
        chunks: Stream[bytes] = self._client._transport.iterate(download(call))
        try:
            yield chunks
        finally:
            chunks.close()


@dataclass(frozen=True)
class Video(VideoTask):
    """A completed task."""

    _client: Framewright = field(repr=False, compare=False)
    _key: str | None = field(repr=False, compare=False)
    _deadline: float = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """A link to the video. It expires; a download takes a fresh one."""
        return self.output.video_url if self.output else ""

    def download(self, path: str | os.PathLike[str], *, timeout: float | None = None) -> None:
        """Writes the video to a file, which gets its name when it is whole.

        timeout: seconds until the call ends; else what is left of the timeout of `generate`.
        """
        self._client.videos.download(self, path, timeout=timeout)


class Uploads(Resource):
    """Files for media fields."""

    def create(self, file: File, *, content_type: str | None = None) -> Upload:
        """Uploads an image or a video: a path, its bytes, or an open file. It costs no credits."""
        call = self._client._call()
        return self._client._run(_calls.upload(call, file, content_type))

    def delete(self, upload_id: str) -> None:
        """Deletes an upload, unless a task needs it."""
        self._client._send(dict, Request("DELETE", path_of("uploads", upload_id)))

    def presign(self, content_type: str, size_bytes: int) -> PresignedUpload:
        """An address that takes the bytes of a file by itself, such as from a browser."""
        body = {"content_type": content_type, "size_bytes": size_bytes}
        request = json_request("POST", "/uploads/presigned", body)
        return self._client._send(PresignedUpload, request)


class Credits(Resource):
    """The credits of the account."""

    def get(self) -> CreditBalance:
        return self._client._send(CreditBalance, Request("GET", "/credits"))

    def refill_test(self) -> CreditBalance:
        """Fills up the test credits. Needs a test key."""
        return self._client._send(CreditBalance, Request("POST", "/test-credits"))


class Models(Resource):
    """What can be generated."""

    def list(self) -> ModelCatalog:
        """The models, their prices and the limits of media."""
        return self._client._send(ModelCatalog, Request("GET", "/models"))


class Webhooks(Resource):
    """Endpoints that hear of events, and what arrives at them."""

    verify = staticmethod(verify_webhook)
    sign = staticmethod(sign_webhook)

    def list(self) -> WebhookEndpointList:
        return self._client._send(WebhookEndpointList, Request("GET", "/webhooks"))

    def create(
        self, *, events: Sequence[Event], url: str | None = None, description: str | None = None
    ) -> WebhookEndpointWithSecret:
        """Makes an endpoint. Keep its secret: no other response has it."""
        body = _calls.given({"events": events, "url": url, "description": description})
        request = json_request("POST", "/webhooks", body, repeats=False)
        return self._client._send(WebhookEndpointWithSecret, request)

    def get(self, endpoint_id: str) -> WebhookEndpoint:
        path = path_of("webhooks", endpoint_id)
        return self._client._send(WebhookEndpoint, Request("GET", path))

    def update(
        self,
        endpoint_id: str,
        *,
        events: Sequence[Event] | None = None,
        url: str | None = None,
        description: str | None = None,
        enabled: bool | None = None,
    ) -> WebhookEndpoint:
        """Changes what is given. `enabled=True` also forgets the failures of before."""
        changes = {
            "events": events,
            "url": url,
            "description": description,
            "enabled": enabled,
        }
        path = path_of("webhooks", endpoint_id)
        request = json_request("PATCH", path, _calls.given(changes))
        return self._client._send(WebhookEndpoint, request)

    def delete(self, endpoint_id: str) -> None:
        self._client._send(dict, Request("DELETE", path_of("webhooks", endpoint_id)))

    def replace_secret(self, endpoint_id: str) -> WebhookEndpointWithSecret:
        """A new secret. The one before it signs too, until `earlier_secret_until`."""
        path = path_of("webhooks", endpoint_id, "secret")
        request = Request("POST", path, repeats=False)
        return self._client._send(WebhookEndpointWithSecret, request)

    def deliveries(
        self, endpoint_id: str, *, limit: int | None = None
    ) -> Stream[WebhookDelivery]:
        """The log of an endpoint, the newest event first. `limit` is how many are read at once."""
        call = self._client._call()
        path = path_of("webhooks", endpoint_id, "deliveries")
        pages = _calls.pages(call, WebhookDeliveryList, path, {"limit": limit})
        return self._client._transport.iterate(pages)

    def send_again(self, endpoint_id: str, event_id: str) -> WebhookEventId:
        """Sends an event of the log once more."""
        path = path_of("webhooks", endpoint_id, "deliveries", event_id, "send")
        return self._client._send(WebhookEventId, Request("POST", path))

    def test(self, endpoint_id: str) -> WebhookEventId:
        """Sends an event `webhook.test`."""
        path = path_of("webhooks", endpoint_id, "test")
        return self._client._send(WebhookEventId, Request("POST", path))


def id_of(task: TaskOrId) -> str:
    return task if isinstance(task, str) else task.id
