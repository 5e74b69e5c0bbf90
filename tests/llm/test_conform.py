"""Values made to fit a schema where that is unambiguous."""

from __future__ import annotations

from typing import Any

import pytest

from graphkb.llm.conform import conform


@pytest.mark.parametrize(
    ("value", "schema", "expected"),
    [
        ("7", {"type": "integer"}, 7),
        ("85/100", {"type": "integer", "maximum": 100}, 85),
        ("8/10", {"type": "integer", "maximum": 100}, 80),
        ("85%", {"type": "number", "maximum": 10}, 8.5),
        ("约 80 分", {"type": "integer"}, 80),
        ("８５", {"type": "integer"}, 85),
        ("score: 6.5", {"type": "number"}, 6.5),
        ("1,200", {"type": "integer"}, 1200),
        (250, {"type": "integer", "maximum": 100}, 100),
        (-3, {"type": "number", "minimum": 0}, 0),
        (6.6, {"type": "integer"}, 7),
        ([9], {"type": "integer"}, 9),
        (12, {"type": "string"}, "12"),
        (["a", "b"], {"type": "string"}, "a\nb"),
        ("是", {"type": "boolean"}, True),
        ("No", {"type": "boolean"}, False),
        ("Person", {"type": "string", "enum": ["person", "place"]}, "person"),
        (None, {"type": ["string", "null"]}, None),
        ("7", {"anyOf": [{"type": "integer"}, {"type": "null"}]}, 7),
        ("one", {"type": "array", "items": {"type": "string"}}, ["one"]),
        (None, {"type": "array"}, []),
    ],
)
def test_values_that_can_only_mean_one_thing(
    value: Any, schema: dict[str, Any], expected: Any
) -> None:
    assert conform({"a": value}, {"properties": {"a": schema}, "required": ["a"]}) == {
        "a": expected
    }


@pytest.mark.parametrize(
    ("value", "schema"),
    [
        ("high", {"type": "integer"}),
        ("3 or 4", {"type": "integer"}),
        (True, {"type": "integer"}),
        (float("nan"), {"type": "number"}),
        ({"b": 1}, {"type": "string"}),
        ("maybe", {"type": "boolean"}),
        ("animal", {"enum": ["person", "place"]}),
        ([{"x": 1}], {"type": "array", "items": {"type": "object", "properties": {"y": {}},
                                                 "required": ["y"]}}),
    ],
)  # fmt: skip
def test_values_that_cannot_be_read_are_dropped_or_told(value: Any, schema: dict[str, Any]) -> None:
    optional = conform({"a": value, "b": 1}, {"properties": {"a": schema}})
    assert optional.get("a") in (None, "", [])
    default = conform({"a": value}, {"properties": {"a": {**schema, "default": 5}}})
    assert default == {"a": 5}
    with pytest.raises(ValueError, match="a"):
        conform({"a": value}, {"properties": {"a": schema}, "required": ["a"]})


def test_missing_keys_get_a_default_or_are_told() -> None:
    schema = {
        "properties": {
            "name": {"type": "string"}, "notes": {"type": "string"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "score": {"type": "integer"}, "level": {"type": "integer", "default": 3},
        },
        "required": ["name"],
    }  # fmt: skip
    found = conform({"name": "a", "more": 1}, schema)
    assert found == {"name": "a", "notes": "", "tags": [], "level": 3, "more": 1}
    assert "more" not in conform(
        {"name": "a", "more": 1}, {**schema, "additionalProperties": False}
    )
    with pytest.raises(ValueError, match="name is missing"):
        conform({"notes": "b"}, schema)


def test_a_default_is_never_shared() -> None:
    schema = {"properties": {"tags": {"type": "array", "default": []}}}
    conform({}, schema)["tags"].append("x")
    assert conform({}, schema) == {"tags": []}


def test_schemas_may_refer_to_their_definitions() -> None:
    schema = {
        "$defs": {"Point": {"type": "object", "properties": {"score": {"type": "integer"}}}},
        "type": "object",
        "properties": {"points": {"type": "array", "items": {"$ref": "#/$defs/Point"}}},
    }
    assert conform({"points": [{"score": "7"}]}, schema) == {"points": [{"score": 7}]}
