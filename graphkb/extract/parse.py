"""A model's reply to records, whatever form it took.

The form asked for is one JSON object of lists, ``{"entities": [[name, type, description]],
"relationships": [[source, relation, target, weight, detail]], "claims": [[subject, type, claim,
status, start, end, object]]}``. Read as well: objects in place of the inner lists under any of
the usual keys, lists under another name or a level deeper, text around the JSON, JSON that ends
too early, and delimiter style (:mod:`graphkb.extract.delimited`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphkb.extract.delimited import parse_delimited
from graphkb.extract.records import (
    NO_WEIGHT,
    NOTHING,
    ClaimRecord,
    EntityRecord,
    Records,
    RelationshipRecord,
    cleaned,
    cleaned_name,
    cleaned_phrase,
    number_in,
    weight_in,
)
from graphkb.llm.structured import parse_json, plain_json
from graphkb.llm.thoughts import without_thoughts
from graphkb.text.names import name_key

_KINDS = ("entities", "relationships", "claims")
_LISTS = {
    "entities": "entities entity nodes 实体 实体列表",
    "relationships": "relationships relationship relations relation edges triples 关系 关系列表",
    "claims": "claims claim covariates 声明 主张 断言",
}
_FIELDS = {
    "name": "name entity entity_name title label 名称 名字 实体 实体名称",
    "type": "type entity_type category kind claim_type 类型 类别",
    "description": "description desc summary detail claim text 描述 说明 内容",
    "source": "source src subject head from source_entity source_id 源 来源 起点 主语 主体 源实体",
    "target": "target tgt dst object tail to target_entity target_id 目标 终点 宾语 客体 目标实体",
    "relation": "relation relationship predicate phrase type label relationship_type keywords "
    "关系 谓语 关系类型",
    "weight": "weight strength score relationship_strength 权重 强度",
    "status": "status claim_status 状态",
    "start": "start start_date date from 开始 开始日期 起始日期",
    "end": "end end_date to 结束 结束日期",
    "subject": "subject subject_id entity name source 主体 主语 实体",
    "object": "object object_id target 客体 宾语 对象",
}
_LIST_OF = {key: name for name, keys in _LISTS.items() for key in keys.split()}
_KEYS = {name: keys.split() for name, keys in _FIELDS.items()}
_KNOWN_LIST = re.compile(rf"(?:{'|'.join(_LIST_OF)})\W{{0,3}}\s*[:：]", re.IGNORECASE)
_FENCE = re.compile(r"\A\s*```\w*\s|\s```\s*\Z")
_SAMPLE = 200


def reply_schema(claims: bool) -> dict[str, Any]:
    """The JSON schema of a reply: lists of lists of strings, which weak models manage best."""
    lists = {"type": "array", "items": {"type": "array", "items": {"type": "string"}}}
    names = _KINDS if claims else _KINDS[:2]
    return {
        "type": "object",
        "properties": dict.fromkeys(names, lists),
        "required": list(names),
        "additionalProperties": False,
    }


def parse_reply(text: str, cut: bool = False) -> Records:
    """The records of a reply. ``cut``: it was ended by a length limit; what is half is dropped.

    A model's thoughts are no part of its reply. JSON of empty lists and objects says that there
    is nothing to list. Raises ValueError, with a sample, for a reply
    that has no records and does not say that there are none.

    >>> parse_reply('{"entities": [["Ada Lin", "PERSON", "an engineer"]]}').entities[0].name
    'Ada Lin'
    """
    said, ended = without_thoughts(text)
    if not ended or not said.strip():
        raise ValueError("the reply is empty, or ends inside the model's thoughts")
    data = plain_json(said)
    if _lists_nothing(said if data is None else data):
        return NOTHING
    found = None if cut else _plain(data, said)
    found = found or _json(said, cut)
    if found is not None:
        return found
    try:
        return parse_delimited(said, cut)
    except ValueError as error:
        sample = " ".join(said.split())[:_SAMPLE]
        raise ValueError(
            f"{error}; wanted a JSON object with the lists entities and relationships, "
            f"found: {sample}"
        ) from None


def _json(text: str, cut: bool) -> Records | None:
    """Records of the JSON in a reply; None when it holds none of the lists asked for."""
    if not _KNOWN_LIST.search(text):
        return None
    half = 0
    start = text.find("{")
    if cut and start >= 0:
        text, half = _closed(text[start:])
    try:
        found = _records(parse_json(text, reply_schema(claims=False)))
    except (ValueError, RecursionError):
        return None
    if found is None:
        return None
    entities, relationships, claims, mended, dropped = found
    raw = text[text.find("{") : text.rfind("}") + 1]
    repaired = mended + (not _is_json(raw))
    return Records(entities, relationships, claims, repaired, dropped + half, raw)


def _plain(data: Any, text: str) -> Records | None:
    """As :func:`_json` where the whole reply is one object, which is then read once."""
    if not isinstance(data, dict) or not _KNOWN_LIST.search(text):
        return None
    found = _records(data)
    raw = text[text.find("{") : text.rfind("}") + 1]
    return Records(*found, raw) if found else None


def _lists_nothing(reply: Any) -> bool:
    """Whether a reply, or its value, is JSON without a single value, also inside a code fence."""
    if isinstance(reply, str):
        try:
            reply = json.loads(_FENCE.sub("", reply))
        except (ValueError, RecursionError):
            return False
    return isinstance(reply, list | dict) and _is_empty(reply)


def _is_empty(value: Any) -> bool:
    if isinstance(value, list | dict):
        return all(map(_is_empty, value.values() if isinstance(value, dict) else value))
    return value is None or value == ""


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


def _closed(text: str) -> tuple[str, int]:
    """JSON cut after its last whole inner list or object and closed there; 1 when that left out
    the beginning of another one."""
    opened: list[str] = []
    last, pending = 0, ""
    in_string = escaped = False
    for place, sign in enumerate(text):
        if in_string:
            in_string = escaped or sign != '"'
            escaped = not escaped and sign == "\\"
        elif sign == '"':
            in_string = True
        elif sign in "{[":
            opened.append("}" if sign == "{" else "]")
        elif sign in "}]" and opened:
            opened.pop()
            last, pending = place + 1, "".join(reversed(opened))
            if not opened:
                return text[:last], 0
    left = text[last:].strip(" \n\r\t,`[]{}")
    return text[:last] + pending, int(bool(left))


_Found = tuple[
    tuple[EntityRecord, ...],
    tuple[RelationshipRecord, ...],
    tuple[ClaimRecord, ...],
    int,
    int,
]


def _records(data: Any, depth: int = 0) -> _Found | None:
    """Records of parsed JSON; None when it has none of the lists asked for."""
    lists = _lists(data)
    if not lists:
        inner = data.values() if isinstance(data, dict) else data if isinstance(data, list) else ()
        found = [
            records
            for value in inner
            if isinstance(value, dict | list) and depth < 2
            if (records := _records(value, depth + 1)) is not None
        ]
        return found[0] if found else None
    items = {name: list(_items(value)) for name, value in lists.items()}
    entities = [_entity(item) for item in items.get("entities", ())]
    known = {name_key(entity.name) for entity in entities if entity}
    related = [_relationship(item, known) for item in items.get("relationships", ())]
    claims = [_claim(item) for item in items.get("claims", ())]
    kept = (
        tuple(record for record in entities if record),
        tuple(record for record, _ in related if record),
        tuple(record for record in claims if record),
    )
    listed = len(entities) + len(related) + len(claims)
    return *kept, sum(mended for _, mended in related), listed - sum(map(len, kept))


def _lists(data: Any) -> dict[str, Any]:
    """The values of an object's known keys by the name of the list."""
    if not isinstance(data, dict):
        return {}
    found: dict[str, Any] = {}
    for key, value in data.items():
        name = _LIST_OF.get(str(key).strip().lower())
        if name and isinstance(value, list | dict | None):
            found.setdefault(name, value)
    return found


def _items(value: Any) -> Iterator[Any]:
    """Members of a list; an object's members as objects with their key as the name."""
    if isinstance(value, dict):
        for key, item in value.items():
            yield {"name": key, **item} if isinstance(item, dict) else [key, item]
    elif isinstance(value, list):
        yield from value


def _field(item: Mapping[str, Any], name: str) -> Any:
    lowered = {str(key).strip().lower(): value for key, value in item.items()}
    return next((lowered[key] for key in _KEYS[name] if lowered.get(key) is not None), "")


def _entity(item: Any) -> EntityRecord | None:
    if isinstance(item, dict):
        fields = [_field(item, name) for name in ("name", "type", "description")]
    else:
        fields = item if isinstance(item, list) else [item]
    name = cleaned_name(fields[0]) if fields else ""
    if not name:
        return None
    kind = cleaned_phrase(fields[1]) if len(fields) > 1 else ""
    return EntityRecord(name, kind, cleaned(" ".join(map(str, fields[2:]))))


def _relationship(item: Any, known: set[str]) -> tuple[RelationshipRecord | None, bool]:
    """The record, and whether its fields had to be put in order."""
    if isinstance(item, dict):
        names = ("source", "relation", "target", "weight", "description")
        item = [_field(item, name) for name in names]
    if not isinstance(item, list) or len(item) < 3:
        return None, False
    source, relation, target = map(cleaned_name, item[:3])
    mended = False
    if name_key(relation or " ") in known and name_key(target or " ") not in known:
        relation, target, mended = target, relation, True
    if not source or not target:
        return None, False
    rest = item[3:]
    numbers = [number_in(value) for value in rest]
    weights = [v for v, number in zip(rest, numbers, strict=True) if number is not None]
    words = [cleaned(v) for v, number in zip(rest, numbers, strict=True) if number is None]
    weight = weight_in(weights[0]) if weights else 1.0 if words else NO_WEIGHT
    words = [word for word in words if word]
    return RelationshipRecord(
        source, target, cleaned_phrase(relation), " ".join(words), weight
    ), mended


def _claim(item: Any) -> ClaimRecord | None:
    if isinstance(item, dict):
        names = ("subject", "type", "description", "status", "start", "end", "object")
        item = [_field(item, name) for name in names]
    if not isinstance(item, list) or len(item) < 2:
        return None
    fields = [*map(cleaned, item), *[""] * 7]
    subject, words = cleaned_name(item[0]), fields[2] or fields[1]
    if not subject or not words:
        return None
    kind = cleaned_phrase(fields[1]) if fields[2] else ""
    status, start, end = fields[3:6]
    return ClaimRecord(subject, kind, words, status, start, end, cleaned_name(fields[6]))
