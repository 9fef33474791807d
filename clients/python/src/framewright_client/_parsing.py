"""From the JSON of a response to a dataclass."""

from __future__ import annotations

import dataclasses
import functools
import types
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")

_hints: Any = functools.cache(get_type_hints)


def parse(kind: type[T], value: object) -> T:
    """Builds a dataclass of _models.py. Members that it does not have are left out.

    Raises ValueError if a member that can't be None is missing.
    """
    result: T = _parse(kind, value)
    return result


def _parse(kind: Any, value: Any) -> Any:
    if get_origin(kind) in (Union, types.UnionType):
        return None if value is None else _parse(get_args(kind)[0], value)
    if value is None:
        raise ValueError(f"a {kind} is missing")
    if get_origin(kind) is list:
        return [_parse(get_args(kind)[0], each) for each in value]
    if not dataclasses.is_dataclass(kind):
        return value
    if not isinstance(value, dict):
        raise ValueError(f"not a {kind}")
    members = {name: _parse(hint, value.get(name)) for name, hint in _hints(kind).items()}
    build: Any = kind
    return build(**members)
