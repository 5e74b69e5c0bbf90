"""Values made to fit a JSON schema where that is unambiguous."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

_MISSING: Any = object()
_SCORE = re.compile(
    r"\s*[~≈约]?\s*([-+]?\d[\d,]*(?:\.\d+)?)\s*"
    r"(?:(?:/|／|of|out of)\s*(\d+(?:\.\d+)?))?\s*(%|％|分)?"
)
_TRUE = {"true", "yes", "y", "1", "是", "真", "对"}
_FALSE = {"false", "no", "n", "0", "否", "假", "不", "错"}
_EMPTY: dict[str, Any] = {"string": "", "array": [], "object": {}}


def conform(value: Any, schema: Mapping[str, Any]) -> Any:
    """``value`` in the types of the schema. Raises ValueError naming the key that cannot be.

    Numbers are read out of text ("85/100", "7", "80%") and clamped to minimum and maximum; a
    missing optional key gets its ``default``, or an empty string or list; one without either is
    left out, as is an optional value that cannot be read. Items of a list that do not fit are
    left out, unless none fits. An object may come inside a list or under one other key, a list
    in place of the object that has one list.

    >>> schema = {"properties": {"points": {"type": "array", "items": {
    ...     "properties": {"text": {"type": "string"}, "score": {"type": "integer", "maximum": 9}},
    ...     "required": ["text"]}}}, "required": ["points"]}
    >>> conform([{"text": "a", "score": "12"}, {"score": 1}], schema)
    {'points': [{'text': 'a', 'score': 9}]}
    """
    return _conform(value, schema, schema, "the reply")


def _conform(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    schema = _resolved(schema, root)
    for combined in ("anyOf", "oneOf"):
        if combined in schema:
            return _first_fitting(value, schema[combined], root, name)
    kind = schema.get("type") or ("object" if "properties" in schema else None)
    if isinstance(kind, list):
        kinds = [{**schema, "type": one} for one in kind]
        return _first_fitting(value, kinds, root, name)
    value = _typed(value, kind, schema, root, name)
    if "enum" in schema:
        return _one_of(value, schema["enum"], name)
    if "const" in schema and value != schema["const"]:
        raise ValueError(f"{name}: {schema['const']!r} is needed, found {value!r}")
    return value


def _typed(
    value: Any, kind: str | None, schema: Mapping[str, Any], root: Mapping[str, Any], name: str
) -> Any:
    if kind == "object":
        return _object(value, schema, root, name)
    if kind == "array":
        return _array(value, schema, root, name)
    if kind == "string":
        return _string(value, name)
    if kind in ("number", "integer"):
        return _number(value, kind, schema, name)
    if kind == "boolean":
        return _boolean(value, name)
    if kind == "null" and value is not None:
        raise ValueError(f"{name}: null is needed, found {value!r}")
    return value


def _resolved(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """A schema behind its local reference (``#/$defs/Name``)."""
    reference = schema.get("$ref")
    if not isinstance(reference, str):
        return schema
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found[part]
    return _resolved(found, root)


def _first_fitting(value: Any, schemas: Any, root: Mapping[str, Any], name: str) -> Any:
    if value is None and any(one.get("type") == "null" for one in schemas):
        return None
    problem = ValueError(f"{name}: nothing fits {value!r}")
    for one in schemas:
        try:
            return _conform(value, one, root, name)
        except ValueError as error:
            problem = error
    raise problem


def _object(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    properties: Mapping[str, Any] = schema.get("properties", {})
    given = _unwrapped(value, schema, root)
    if not isinstance(given, Mapping):
        raise ValueError(f"{name}: an object is needed, found {_shown(value)}")
    known = _by_known_name(given, properties)
    required = schema.get("required", ())
    result: dict[str, Any] = {}
    for key, inner in properties.items():
        inner = _resolved(inner, root)
        where = key if name == "the reply" else f"{name}.{key}"
        found = _property(known.get(key, _MISSING), inner, root, where, key in required)
        if found is not _MISSING:
            result[key] = found
    if schema.get("additionalProperties", True) is not False:
        result.update({key: item for key, item in known.items() if key not in properties})
    return result


def _property(
    value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str, required: bool
) -> Any:
    absent = value is None and required and schema.get("type") != "array"
    if value is not _MISSING and not absent:
        try:
            return _conform(value, schema, root, name)
        except ValueError:
            if required and "default" not in schema:
                raise
    if "default" in schema:
        return deepcopy(schema["default"])
    if required and not _nullable(schema):
        raise ValueError(f"{name} is missing")
    if required:
        return None
    empty = _EMPTY.get(str(schema.get("type")), _MISSING)
    return _MISSING if empty is _MISSING or schema.get("enum") else type(empty)()


def _nullable(schema: Mapping[str, Any]) -> bool:
    kind = schema.get("type")
    options = [*schema.get("anyOf", ()), *schema.get("oneOf", ())]
    return (
        kind == "null" or (isinstance(kind, list) and "null" in kind)
        or any(one.get("type") == "null" for one in options)
    )  # fmt: skip


def _by_known_name(given: Mapping[str, Any], properties: Mapping[str, Any]) -> dict[str, Any]:
    """Keys as the schema spells them, whatever their case, spaces and hyphens."""
    plain = {_plain(key): key for key in properties}
    result: dict[str, Any] = {}
    for key, item in given.items():
        name = key if key in properties else plain.get(_plain(str(key)), str(key))
        if name not in result or key in properties:
            result[name] = item
    return result


def _plain(key: str) -> str:
    return re.sub(r"[\s_\-]+", "", key).lower()


def _unwrapped(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any]) -> Any:
    """The object itself where it came wrapped, or bare as its only list."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    lists = [key for key, inner in properties.items() if _is_list(inner, root)]
    required = schema.get("required", properties)
    bare = lists[0] if len(lists) == 1 and set(required) <= set(lists) else ""
    if isinstance(value, list):
        if bare and not (len(value) == 1 and _knows(value[0], properties)):
            return {bare: value}
        return next((item for item in value if isinstance(item, Mapping)), value)
    if isinstance(value, Mapping) and properties and not _knows(value, properties):
        inner = list(value.values())
        if len(inner) == 1 and (_knows(inner[0], properties) or isinstance(inner[0], list)):
            return _unwrapped(inner[0], schema, root)
        if bare and _knows(value, _items_of(properties[bare], root)):
            return {bare: [value]}
    if isinstance(value, str) and properties:
        # A bare text in place of an object: the one key that takes it.
        texts = [
            key for key, inner in properties.items()
            if _resolved(inner, root).get("type") == "string"
        ]  # fmt: skip
        if len(texts) == 1:
            return {texts[0]: value}
    return value


def _is_list(schema: Mapping[str, Any], root: Mapping[str, Any]) -> bool:
    return _resolved(schema, root).get("type") == "array"


def _items_of(schema: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    items = _resolved(_resolved(schema, root).get("items", {}), root)
    found: Mapping[str, Any] = items.get("properties", {})
    return found


def _knows(value: Any, properties: Mapping[str, Any]) -> bool:
    if not isinstance(value, Mapping):
        return False
    plain = {_plain(key) for key in properties}
    return any(_plain(str(key)) in plain for key in value)


def _array(value: Any, schema: Mapping[str, Any], root: Mapping[str, Any], name: str) -> Any:
    if value is None:
        return []
    items = value if isinstance(value, list) else [value]
    if not isinstance(value, list) and value == "":
        return []
    inner = schema.get("items", {})
    result: list[Any] = []
    problem = ""
    for place, item in enumerate(items):
        try:
            result.append(_conform(item, inner, root, f"{name}[{place}]"))
        except ValueError as error:
            problem = problem or str(error)
    if problem and not result:
        raise ValueError(problem)
    return result


def _string(value: Any, name: str) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return "\n".join(value)
    raise ValueError(f"{name}: text is needed, found {_shown(value)}")


def _number(value: Any, kind: str, schema: Mapping[str, Any], name: str) -> int | float:
    most = schema.get("maximum")
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = value
    elif isinstance(value, str):
        number = _number_in(value, most)
    elif isinstance(value, list) and len(value) == 1:
        return _number(value[0], kind, schema, name)
    if number is None or not math.isfinite(number):
        raise ValueError(f"{name}: a number is needed, found {_shown(value)}")
    number = min(number, most) if most is not None else number
    number = max(number, schema["minimum"]) if schema.get("minimum") is not None else number
    return round(number) if kind == "integer" else number


def _number_in(text: str, most: float | None) -> float | None:
    """The number that a text is about; a fraction or percentage on the scale up to ``most``."""
    found = _SCORE.match(text)
    if found is None:
        lone = re.findall(r"[-+]?\d+(?:\.\d+)?", text)
        return float(lone[0]) if len(lone) == 1 else None
    number = float(found.group(1).replace(",", ""))
    scale = float(found.group(2)) if found.group(2) else None
    if scale is None and re.search(r"\d", text[found.end() :]):
        return None
    if scale is None and found.group(3) in ("%", "％"):
        scale = 100.0
    if scale and most and scale != most:
        number = number * most / scale
    return number if scale is not None or number % 1 else int(number)


def _boolean(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise ValueError(f"{name}: true or false is needed, found {_shown(value)}")


def _one_of(value: Any, options: list[Any], name: str) -> Any:
    if value in options:
        return value
    for option in options:
        if isinstance(option, str) and _plain(str(value)) == _plain(option):
            return option
    raise ValueError(f"{name}: one of {options} is needed, found {_shown(value)}")


def _shown(value: Any) -> str:
    return repr(value)[:60]
