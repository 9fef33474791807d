"""The client for code that blocks, written by write.ts."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

import httpx

from . import _calls
from ._doing import Chunks, Listener, read, sleep, tell
from ._download import Transfer, whole_file
from ._exchange import Blocking, Effect, Pause, Progress, Reply, Steps
from ._media import File
from ._models import CancelResult, CreditBalance, ModelCatalog, Quote, Upload, VideoTask
from ._settings import MAX_RETRIES, TIMEOUT, Settings, TaskOrId, id_of
from ._webhooks import Webhooks

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ._models import ListFilter, VideoFields

T = TypeVar("T")


class Framewright:
    """A client for one API key. Threads may share it.

    Close it, or use it with `with`.

    api_key: also FRAMEWRIGHT_API_KEY.
    base_url: ends with /api/v1; also FRAMEWRIGHT_BASE_URL.
    max_retries: how often a request is sent again, always with the same Idempotency-Key.
    timeout: how many seconds a response may be silent.
    http_client: sends the requests. It is not closed with this client.
    """

    webhooks = Webhooks()

    def __init__(
        self,
        api_key: str | None = None,
        base_url: str | None = None,
        max_retries: int = MAX_RETRIES,
        timeout: float = TIMEOUT,
        http_client: httpx.Client | None = None,
    ) -> None:
        self._settings = Settings(api_key, base_url, max_retries, timeout)
        self._owns_http = http_client is None
        self._http = http_client or httpx.Client()
        self.videos = Videos(self)
        self.uploads = Uploads(self)
        self.credits = Credits(self)
        self.models = Models(self)

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
        timeout: seconds to wait for the end.

        Raises TaskFailedError, ApiError, ConnectionError, WaitTimeoutError.
        """
        call = self._settings.call(_calls.key_of(idempotency_key))
        task = self._run(
            _calls.generate(call, prompt, fields, timeout=timeout, on_progress=on_progress)
        )
        return Video(**vars(task), _client=self)

    def close(self) -> None:
        if self._owns_http:
            self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        """Does what the steps ask for, and returns their result."""
        try:
            effect = next(steps)
            while True:
                try:
                    outcome = self._do(effect)
                except Exception as error:
                    effect = steps.throw(error)
                else:
                    effect = steps.send(outcome)
        except StopIteration as end:
            result: T = end.value
            return result

    def _do(self, effect: Effect) -> Any:
        if isinstance(effect, Pause):
            return sleep(effect.seconds)
        if isinstance(effect, Blocking):
            return read(effect.work)
        if isinstance(effect, Progress):
            return tell(effect.listener, effect.task)
        response = self._http.request(**self._settings.arguments(effect))
        return Reply(response.status_code, response.headers, response.content)

    def _chunks(self, transfer: Transfer) -> Chunks:
        while not transfer.is_whole:
            link = self._run(transfer.next_link())
            try:
                with self._http.stream("GET", link, **transfer.arguments) as response:
                    if not transfer.begins(response):
                        response.read()
                        transfer.refused(response)
                        continue
                    for chunk in response.iter_raw():
                        yield transfer.take(chunk)
                    transfer.ends()
            except httpx.RequestError as error:
                transfer.breaks(error)


class Videos:
    """The tasks that make videos."""

    def __init__(self, client: Framewright) -> None:
        self._client = client
        self._settings = client._settings

    def create(
        self,
        prompt: str,
        *,
        idempotency_key: str | None = None,
        **fields: Unpack[VideoFields],
    ) -> VideoTask:
        """Begins a video, and does not wait for it. Files in media fields are uploaded first."""
        call = self._settings.call(_calls.key_of(idempotency_key))
        return self._client._run(_calls.create(call, prompt, fields))

    def quote(self, prompt: str, **fields: Unpack[VideoFields]) -> Quote:
        """What a create would cost. Nothing is reserved; files in media fields are uploaded."""
        return self._client._run(_calls.quote(self._settings.call(), prompt, fields))

    def get(self, task: TaskOrId) -> VideoTask:
        return self._client._run(_calls.get(self._settings.call(), id_of(task)))

    def wait(
        self,
        task: TaskOrId,
        *,
        on_progress: Listener | None = None,
        timeout: float | None = None,
    ) -> Video:
        """Waits until a task is completed. Raises TaskFailedError, WaitTimeoutError."""
        steps = _calls.wait(
            self._settings.call(), id_of(task), timeout=timeout, on_progress=on_progress
        )
        return Video(**vars(self._client._run(steps)), _client=self._client)

    def list(self, **filters: Unpack[ListFilter]) -> Iterator[VideoTask]:
        """All tasks, the newest first. `limit` is how many are read at once."""
        cursor: str | None = None
        while True:
            page = self._client._run(_calls.page(self._settings.call(), filters, cursor))
            for task in page.data:
                yield task
            cursor = page.next_cursor
            if cursor is None:
                return

    def cancel(self, task: TaskOrId) -> CancelResult:
        """Asks to end a task. What became of it is in the result."""
        return self._client._run(_calls.cancel(self._settings.call(), id_of(task)))

    def download(self, task: TaskOrId, path: str | os.PathLike[str]) -> None:
        """Writes the video of a completed task to a file, as `video.download` does."""
        with whole_file(path) as file:
            for chunk in self._client._chunks(self._transfer(task)):
                file.write(chunk)

    def stream_download(self, task: TaskOrId) -> AbstractContextManager[Iterator[bytes]]:
        """The bytes of a finished video: `with client.videos.stream_download(id) as chunks:`.

        A lost connection is continued where it broke.
        """
        return self._stream(self._transfer(task))

    def _transfer(self, task: TaskOrId) -> Transfer:
        output = None if isinstance(task, str) else task.output
        return Transfer(self._settings.call(), id_of(task), output.video_url if output else None)

    @contextmanager
    def _stream(self, transfer: Transfer) -> Iterator[Iterator[bytes]]:
        chunks = self._client._chunks(transfer)
        try:
            yield chunks
        finally:
            chunks.close()


@dataclass(frozen=True)
class Video(VideoTask):
    """A completed task."""

    _client: Framewright = field(repr=False, compare=False)

    @property
    def url(self) -> str:
        """A link to the video. It expires; a download takes a fresh one."""
        return self.output.video_url if self.output else ""

    def download(self, path: str | os.PathLike[str]) -> None:
        """Writes the video to a file, which gets its name only when it is whole."""
        self._client.videos.download(self, path)


class Uploads:
    """Files for media fields."""

    def __init__(self, client: Framewright) -> None:
        self._client = client

    def create(self, file: File, *, content_type: str | None = None) -> Upload:
        """Uploads an image or a video: a path, its bytes, or an open file. It costs no credits."""
        call = self._client._settings.call()
        return self._client._run(_calls.create_upload(call, file, content_type))


class Credits:
    """The credits of the account."""

    def __init__(self, client: Framewright) -> None:
        self._client = client

    def get(self) -> CreditBalance:
        return self._client._run(_calls.get_credits(self._client._settings.call()))


class Models:
    """What can be generated."""

    def __init__(self, client: Framewright) -> None:
        self._client = client

    def list(self) -> ModelCatalog:
        """The models, their prices and the limits of media."""
        return self._client._run(_calls.list_models(self._client._settings.call()))
