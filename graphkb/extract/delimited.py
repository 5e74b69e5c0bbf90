"""Records of models that reply in GraphRAG's old form: ``("entity"<|>NAME<|>TYPE<|>text)##``.

Models trained on it fall back to it whatever they are asked for. Read with all its known
faults: no brackets, other delimiters, full-width signs, records parted by lines or numbered,
placeholders left standing, prose around it, too few or too many fields, a cut end.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphkb.extract.records import (
    NO_WEIGHT,
    NOTHING,
    ClaimRecord,
    EntityRecord,
    Record,
    Records,
    RelationshipRecord,
    cleaned,
    cleaned_name,
    cleaned_phrase,
    number_in,
    weight_in,
)

_DELIMITER = "<|>"
_COMPLETE = "<|COMPLETE|>"
_PLACEHOLDERS = {
    "{tuple_delimiter}": _DELIMITER,
    "{record_delimiter}": "##",
    "{completion_delimiter}": _COMPLETE,
}
_ODD_DELIMITER = re.compile(r"[<＜]\s*[|｜][|｜#\s]*[>＞]")
_TAGS = {
    "entity": "entity", "实体": "entity",
    "relationship": "relationship", "relation": "relationship", "关系": "relationship",
    "claim": "claim", "covariate": "claim", "声明": "claim", "主张": "claim",
}  # fmt: skip
_OPEN_QUOTE, _CLOSE_QUOTE = "\"'“”‘’「『＂", "\"'“”‘’」』＂"
_TAG = rf"(?P<tag>{'|'.join(_TAGS)})"
# A tag opens a record behind a bracket, or where a line or the record before it ends.
_START = re.compile(
    rf"(?:(?P<open>[(（])\s{{0,4}}|(?:^|##)[ \t\d.)*•-]{{0,12}}\n?)"
    rf"[{_OPEN_QUOTE}]?[ \t]{{0,4}}{_TAG}[ \t]{{0,4}}[{_CLOSE_QUOTE}]?\s{{0,4}}<\|>",
    re.IGNORECASE | re.MULTILINE,
)
_START_WITH_BAR = re.compile(
    rf"(?P<open>[(（])\s{{0,4}}[{_OPEN_QUOTE}]{_TAG}[{_CLOSE_QUOTE}]\s{{0,4}}\|(?!>)",
    re.IGNORECASE,
)
_CLOSE = re.compile(rf"[)）](?=[ \t]{{0,8}}(?:\*\*)?\s{{0,8}}(?:\#\#|\n|$|{re.escape(_COMPLETE)}))")
_WEIGHT_WORD = re.compile(r"(?:very )?\w{0,10}\Z")


@dataclass(frozen=True)
class _Written:
    """A record as it stands in the reply; ``whole`` when its end is marked."""

    tag: str
    fields: list[str]
    whole: bool
    last: bool
    raw: str


def parse_delimited(text: str, cut: bool = False) -> Records:
    """Every record of a reply in delimiter style, in order.

    ``cut``: the reply was ended by a length limit, so that its last record may be half; else a
    last record counts when it has all fields, also without its closing bracket. Raises
    ValueError when there is neither a record nor the mark of an empty reply.
    """
    plain = text
    for placeholder, sign in _PLACEHOLDERS.items():
        plain = plain.replace(placeholder, sign)
    straight = _ODD_DELIMITER.sub(_DELIMITER, plain)
    mended = straight != text
    records: list[Record] = []
    repaired = dropped = 0
    for written in _written(straight):
        record = None if written.last and not _complete(written, cut) else _record(written)
        if record is None:
            dropped += 1
            continue
        records.append(record)
        repaired += mended or not written.whole or not _regular(written)
    if not records and not dropped:
        if _COMPLETE in plain:
            return NOTHING
        raise ValueError("the reply holds no records")
    return Records(
        tuple(r for r in records if isinstance(r, EntityRecord)),
        tuple(r for r in records if isinstance(r, RelationshipRecord)),
        tuple(r for r in records if isinstance(r, ClaimRecord)),
        repaired,
        dropped,
    )


def _written(text: str) -> Iterator[_Written]:
    found = [(match, _DELIMITER) for match in _START.finditer(text)]
    found += [(match, "|") for match in _START_WITH_BAR.finditer(text)]
    found.sort(key=lambda item: item[0].start())
    for place, (start, delimiter) in enumerate(found):
        last = place + 1 == len(found)
        body = text[start.end() : len(text) if last else found[place + 1][0].start()]
        end = _end(body, bool(start["open"]), last)
        body, whole = (body, False) if end is None else (body[:end], True)
        raw = text[start.start() : start.end() + len(body)].strip()
        fields = [_unquoted(field) for field in _trimmed(body).split(delimiter)]
        yield _Written(_TAGS[start["tag"].lower()], fields, whole, last, raw)


def _end(body: str, opened: bool, last: bool) -> int | None:
    """Where a record's text ends by a mark; None when it just stops."""
    if opened:
        ends = [match.start() for match in _CLOSE.finditer(body)]
        return next((end for end in ends if _balanced(body[:end])), ends[0] if ends else None)
    marks = [end for mark in ("##", "\n") if (end := body.find(mark)) >= 0]
    return min(marks, default=None if last else len(body))


def _balanced(text: str) -> bool:
    return text.count("(") + text.count("（") == text.count(")") + text.count("）")


def _trimmed(body: str) -> str:
    """A record's text without the marks that end it."""
    while True:
        shorter = body.strip().removesuffix(_COMPLETE).removesuffix("##").removesuffix("**")
        if shorter == body:
            return body
        body = shorter


def _unquoted(field: str) -> str:
    field = field.strip()
    quoted = len(field) > 1 and field[0] in _OPEN_QUOTE and field[-1] in _CLOSE_QUOTE
    return field[1:-1].strip() if quoted else field


def _complete(written: _Written, cut: bool) -> bool:
    """Whether the last record of a reply can be taken for whole."""
    if written.whole:
        return True
    needed = {"entity": 3, "relationship": 4, "claim": 7}[written.tag]
    return not cut and len(written.fields) >= needed


def _regular(written: _Written) -> bool:
    fields = written.fields
    if written.tag == "entity":
        return len(fields) == 3
    if written.tag == "relationship":
        return len(fields) == 4 and number_in(fields[3]) is not None
    return len(fields) in (7, 8)


def _record(written: _Written) -> Record | None:
    """The record; None when its names are missing. Fields too many belong to the description."""
    fields, raw = written.fields, written.raw
    names = [cleaned_name(field) for field in fields[: 1 if written.tag == "entity" else 2]]
    if written.tag == "entity":
        if not names[0]:
            return None
        kind = cleaned_phrase(fields[1]) if len(fields) > 1 else ""
        return EntityRecord(names[0], kind, cleaned(" ".join(fields[2:])), raw)
    if written.tag == "relationship":
        if len(names) < 2 or not all(names):
            return None
        words, weight = _weighed(fields[2:])
        return RelationshipRecord(names[0], names[1], "", cleaned(" ".join(words)), weight, raw)
    if not names[0] or len(fields) < 7:
        return None
    kind, status, start, end = (cleaned_phrase(field) for field in fields[2:6])
    target = names[1] if len(names) > 1 else ""
    words_said = cleaned(" ".join(fields[6:7]))
    return ClaimRecord(names[0], kind, words_said, status, start, end, target, raw)


def _weighed(fields: list[str]) -> tuple[list[str], float]:
    """Description and weight of a relationship's last fields."""
    if not fields:
        return [], NO_WEIGHT
    if number_in(fields[-1]) is not None:
        return fields[:-1], weight_in(fields[-1])
    if len(fields) > 1 and _WEIGHT_WORD.match(fields[-1]):
        return fields[:-1], 1.0
    return fields, NO_WEIGHT
