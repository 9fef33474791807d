"""The types are those of openapi.json."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import types
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import pytest

from framewright_client import _models

OPENAPI = json.loads((pathlib.Path(__file__).parents[3] / "openapi.json").read_text())
SCHEMAS: dict[str, Any] = OPENAPI["components"]["schemas"]
# Members of a model that the contract's models do not have.
OF_OTHER_MODELS = {
    "title",
    "modes",
    "durations",
    "aspect_ratios",
    "audio",
    "seed",
    "next_price",
}
SCALARS: dict[str, Any] = {"string": str, "integer": int, "number": float, "boolean": bool}


def without_none(hint: Any) -> Any:
    kinds = [kind for kind in get_args(hint) if kind is not types.NoneType]
    return kinds[0] if get_origin(hint) in (Union, types.UnionType) else hint


def compare(hint: Any, schema: dict[str, Any], where: str) -> None:
    """Asserts that a type takes exactly what a schema allows."""
    if "$ref" in schema:
        schema = SCHEMAS[schema["$ref"].split("/")[-1]]
    named = schema.get("type", "object")
    kinds = [named] if isinstance(named, str) else named
    assert (type(None) in get_args(hint)) == ("null" in kinds), where
    kind = without_none(hint)
    if "enum" in schema:
        assert get_origin(kind) is Literal and set(get_args(kind)) == set(schema["enum"]), where
    elif "items" in schema:
        assert get_origin(kind) is list, where
        compare(get_args(kind)[0], schema["items"], f"{where}[]")
    elif dataclasses.is_dataclass(kind):
        members = get_type_hints(kind)
        members.pop("request_id", None)
        if kind is _models.Model:
            members = {name: members[name] for name in members.keys() - OF_OTHER_MODELS}
        assert members.keys() == schema["properties"].keys(), where
        for name, each in members.items():
            compare(each, schema["properties"][name], f"{where}.{name}")
    elif "object" in kinds:
        assert get_origin(kind) is dict, where
    else:
        assert kind is SCALARS[next(each for each in kinds if each != "null")], where


RESULTS = [kind for kind in vars(_models).values() if dataclasses.is_dataclass(kind)]


@pytest.mark.parametrize("name", [kind.__name__ for kind in RESULTS if kind.__name__ in SCHEMAS])
def test_results_have_the_members_of_their_schema(name: str) -> None:
    compare(getattr(_models, name), SCHEMAS[name], name)


def test_arguments_are_the_fields_of_a_create_and_the_filters_of_a_list() -> None:
    fields: dict[str, Any] = SCHEMAS["VideoRequest"]["properties"]
    hints = get_type_hints(_models.VideoFields)
    assert hints.keys() | {"prompt"} == fields.keys()
    assert set(_models.MEDIA_FIELDS) == {
        name
        for name, schema in fields.items()
        if "uri" in (schema.get("format"), schema.get("items", {}).get("format"))
    }
    listed = OPENAPI["paths"]["/api/v1/tasks"]["get"]["parameters"]
    filters = {each["name"]: each["schema"] for each in listed if each.get("in") == "query"}
    known = get_type_hints(_models.ListFilter)
    assert known.keys() | {"cursor"} == filters.keys()
    for name, schema in {**fields, **filters}.items():
        if "enum" in schema:
            hint = without_none({**hints, **known}[name])
            assert set(get_args(hint)) == set(schema["enum"]), name
