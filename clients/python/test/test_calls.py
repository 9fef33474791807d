"""Each call, against the real service."""

from __future__ import annotations

import datetime
import os
import pathlib
from collections.abc import Callable

import pytest
from conftest import MEDIA, Face

from framewright_client import (
    ApiError,
    FramewrightError,
    InvalidRequestError,
    NotFoundError,
    TaskFailedError,
    VideoTask,
)

SMALL = {"duration": 4, "resolution": "480p", "model": "video-2.0-mini"}
PRICE = 60
PICTURE = MEDIA / "picture.png"
CLIP = MEDIA / "clip.mp4"


def test_generate_returns_a_finished_video_whose_file_is_whole(
    face: Face, tmp_path: pathlib.Path
) -> None:
    seen: list[VideoTask] = []
    video = face("generate", "A paper boat", **SMALL, on_progress=seen.append)
    assert [task.status for task in seen] == ["processing", "completed"]
    assert (video.id, video.credits_used) == (seen[0].id, PRICE)
    assert video.url.startswith("http")
    target = tmp_path / "boat.mp4"
    face.resolved(video.download(target))
    assert target.read_bytes() == face.streamed(video.id)
    assert target.read_bytes()[4:8] == b"ftyp"
    assert os.listdir(tmp_path) == ["boat.mp4"]


def test_files_in_media_fields_are_uploaded_first(face: Face) -> None:
    fields = {**SMALL, "mode": "image-to-video"}
    assert face("videos.quote", "It begins to snow", **fields, image_url=PICTURE).credits == PRICE
    with open(PICTURE, "rb") as opened:
        task = face(
            "videos.create",
            "It begins to snow",
            **fields,
            image_url=PICTURE.read_bytes(),
            end_image_url=opened,
        )
    assert task.status == "processing"
    assert face("videos.wait", task).mode == "image-to-video"


def test_the_durations_of_uploaded_clips_are_filled_in(face: Face) -> None:
    upload = face("uploads.create", CLIP)
    assert (upload.kind, upload.media_type) == ("video", "video/mp4")
    assert round(upload.duration_seconds) == 2
    quote = face(
        "videos.quote",
        "As in the clip",
        **SMALL,
        mode="media-to-video",
        reference_video_urls=[CLIP],
    )
    assert (quote.reference_seconds, quote.credits) == (2, (4 + 2) * 10)
    with pytest.raises(ApiError) as caught:
        face("videos.quote", "A", **SMALL, mode="media-to-video", reference_video_urls=[upload.url])
    assert caught.value.details["field"] == "prompt"


def test_a_list_has_all_pages_and_takes_filters(face: Face) -> None:
    began = datetime.datetime.now(datetime.timezone.utc)
    made = [face("videos.create", f"Boat {n}", **SMALL).id for n in range(3)]
    found = face("videos.list", limit=2, created_after=began, model="video-2.0-mini")
    assert set(made) <= {task.id for task in found}
    assert face("videos.list", created_before=began - datetime.timedelta(days=9)) == []


def test_models_and_credits_are_typed(face: Face) -> None:
    rules = face("models.list")
    assert rules.data[2].credits_per_second.standard["480p"] * 4 == PRICE
    assert rules.media.reference_video_seconds.max == 15
    credits = face("credits.get")
    assert credits.balance_type == "paid" and credits.request_id.startswith("req_")


def test_a_cancelled_task_is_refunded(face: Face) -> None:
    task = face("videos.create", "A boat, test-slow", **SMALL)
    cancellation = face("videos.cancel", task)
    assert cancellation.cancel in ("cancelled", "pending")
    with pytest.raises(TaskFailedError) as caught:
        face("videos.wait", task.id)
    assert (caught.value.code, caught.value.charged) == ("cancelled", "refunded")
    assert caught.value.task.credits_refunded == PRICE


def test_bad_calls_are_errors_that_say_why(open_face: Callable[..., Face]) -> None:
    face = open_face()
    with pytest.raises(ApiError) as caught:
        face("videos.create", "A boat", **SMALL, idempotency_key="not\u00fcallowed")
    assert (caught.value.status, caught.value.details["field"]) == (400, "Idempotency-Key")
    with pytest.raises(FileNotFoundError):
        face("videos.create", "A boat", mode="image-to-video", image_url="/no/such/file.png")
    with pytest.raises(ApiError) as caught:
        open_face(api_key="fw_test_\u00fc")("credits.get")
    assert caught.value.code == "unauthorized"
    with pytest.raises(FramewrightError, match="Illegal header.*nothing was sent"):
        face("videos.create", "A boat", **SMALL, idempotency_key="a\r\nx: y")
    with pytest.raises(FramewrightError, match="line break"):
        open_face(api_key="fw\r\nx: y")


def test_the_ledger_of_a_task_has_its_charge(face: Face) -> None:
    task = face("videos.create", "A paper boat", **SMALL)
    moved = face("videos.ledger", task).data
    assert [(each.reason, each.credits) for each in moved[:1]] == [("reserve", PRICE)]


def test_test_credits_are_filled_up(face: Face) -> None:
    assert face("credits.refill_test").available_credits > 0


def test_an_upload_is_deleted(face: Face) -> None:
    upload = face("uploads.create", PICTURE)
    assert face("uploads.delete", upload.id) is None
    with pytest.raises(InvalidRequestError):
        face("videos.quote", "A", **SMALL, mode="image-to-video", image_url=upload.url)
    with pytest.raises(ApiError) as caught:  # the service of the tests has no bucket
        face("uploads.presign", "image/png", 4)
    assert caught.value.details["reason"] == "no_bucket"


def test_a_webhook_endpoint_is_made_changed_tested_and_deleted(face: Face) -> None:
    made = face("webhooks.create", events=["task.completed"], description="mine")
    assert made.secret.startswith("whsec_") and made.secret not in repr(made)
    assert face("webhooks.get", made.id).description == "mine"
    changed = face("webhooks.update", made.id, events=["task.failed"], enabled=False)
    assert (changed.events, changed.disabled_because) == (["task.failed"], "owner")
    face("webhooks.update", made.id, enabled=True)
    assert face("webhooks.replace_secret", made.id).secret != made.secret
    events = {face("webhooks.test", made.id).event_id for _ in range(2)}
    logged = face("webhooks.deliveries", made.id, limit=1)
    assert events <= {each.event_id for each in logged}  # of other tasks of the account, too
    for event_id in events:
        assert face("webhooks.send_again", made.id, event_id).event_id == event_id
    assert made.id in [each.id for each in face("webhooks.list").data]
    face("webhooks.delete", made.id)
    with pytest.raises(NotFoundError):
        face("webhooks.get", made.id)


def test_any_operation_can_be_called_by_its_path(face: Face) -> None:
    assert face("request", "GET", "/credits")["balance_type"] == "paid"
    task = face("videos.create", "A paper boat", **SMALL)
    assert face("request", "GET", "/tasks", query={"limit": "1"})["data"][0]["id"] == task.id
