"""The blocking client has each call of the asynchronous one."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from typing import Any

import pytest

from framewright_client import _async_client, _client

NAMES = ["Framewright", "Video", "Videos", "Uploads", "Credits", "Models", "Webhooks"]


def shown(call: Callable[..., Any]) -> str:
    """The signature and the text of a call, without what is asynchronous."""
    return re.sub(r"Async(?=[A-Z])|async ", "", f"{inspect.signature(call)} {call.__doc__}")


def calls_of(kind: type) -> dict[str, str]:
    calls = {name: call for name, call in vars(kind).items() if callable(call)}
    return {name: shown(call) for name, call in calls.items() if not name.startswith("_")}


@pytest.mark.parametrize("name", NAMES)
def test_both_clients_have_the_same_calls(name: str) -> None:
    blocking = calls_of(getattr(_client, name))
    assert blocking and blocking == calls_of(getattr(_async_client, f"Async{name}"))


def test_both_clients_have_the_same_options() -> None:
    blocking = shown(_client.Framewright.__init__)
    assert blocking == shown(_async_client.AsyncFramewright.__init__)
