"""Reading a model's JSON while a query gathers points: what can be used is, the rest is left.

Every function here is a :data:`~graphkb.llm.model.Parse`, or makes one. Shapes that weak models
give are taken: a bare list, a string for a list, other key names, "85/100", numbers beyond the
scale. A reply without JSON raises ValueError; one without the key that was asked for is empty.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphkb.llm.structured import parse_json
from graphkb.text.sentences import sentence_spans

_POINTS = ("points", "key_points", "要点")
_TEXT = ("description", "point", "text", "content", "描述", "要点", "内容")
_SCORE = ("score", "rating", "relevance", "分数", "评分")
_SOURCES = ("sources", "source", "reports", "ids", "来源")
_QUESTIONS = ("follow_ups", "questions", "follow_up_queries", "问题")
_RATINGS = ("ratings", "scores", "评分")
_NUMBER = ("id", "number", "编号")

# The score of a point whose own cannot be read.
_MIDDLE = 50.0
# Characters of a question and of a point; a longer one is cut.
_LONGEST_QUESTION = 300
_LONGEST_POINT = 1000

_SCORE_TEXT = re.compile(r"^\s*(-?\d+(?:\.\d+)?)\s*(?:%|(?:/|of|out of)\s*(\d+(?:\.\d+)?))?")
_CITED = re.compile(r"\s*\[(?:Data:[^\]]*|\^?\d+(?:\s*[,，、–-]\s*\d+)*)\]")
_DIGITS = re.compile(r"\d+")


def _object(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _list(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


_POINT_LIST = _list(
    _object(
        description={"type": "string"},
        score={"type": "integer"},
        sources=_list({"type": "integer"}),
    )
)
_STRINGS = _list({"type": "string"})

#: JSON schemas of the replies, as a server that can hold a model to one is given them.
POINTS_SCHEMA: Mapping[str, Any] = _object(points=_POINT_LIST)
STEP_SCHEMA: Mapping[str, Any] = _object(points=_POINT_LIST, follow_ups=_STRINGS)
QUESTIONS_SCHEMA: Mapping[str, Any] = _object(questions=_STRINGS)
RATINGS_SCHEMA: Mapping[str, Any] = _object(
    ratings=_list(_object(id={"type": "integer"}, rating={"type": "integer"}))
)


@dataclass(frozen=True)
class Draft:
    """A point as a model wrote it: its score in (0, 100], and the numbers it cites."""

    text: str
    score: float
    sources: tuple[int, ...] = ()


@dataclass(frozen=True)
class StepReply:
    """What a drift step gives: points, and questions that are still open."""

    points: tuple[Draft, ...]
    follow_ups: tuple[str, ...] = ()


def read_points(text: str) -> tuple[Draft, ...]:
    """Points in their order; those without a description or with score 0 are left out, and one
    of more than 1,000 characters ends with a sentence before.

    >>> read_points('{"points": [{"description": "Ada leads", "score": "85/100"}]}')
    (Draft(text='Ada leads', score=85.0, sources=()),)
    """
    return _drafts(_value(parse_json(text), _POINTS))


def read_step(text: str) -> StepReply:
    """Points and open questions of one reply."""
    value = parse_json(text)
    return StepReply(_drafts(_value(value, _POINTS)), _questions(value))


def read_questions(text: str) -> tuple[str, ...]:
    """Distinct questions in their order, each on one line.

    >>> read_questions('{"questions": ["Who leads?", " ", "Who leads?"]}')
    ('Who leads?',)
    """
    return _questions(parse_json(text))


def read_ratings(text: str) -> dict[int, float]:
    """Ratings from 0 to 10 by the number of what was rated; unreadable ones are left out.

    >>> read_ratings('{"ratings": [{"id": 1, "rating": "7/10"}, {"id": 2, "rating": 30}]}')
    {1: 7.0, 2: 10.0}
    """
    value = parse_json(text)
    rated: dict[int, float] = {}
    for place, item in enumerate(_items(_value(value, _RATINGS)), 1):
        named = isinstance(item, Mapping)
        score = _score(_first(item, _SCORE) if named else item, 10.0)
        numbers = _numbers(_first(item, _NUMBER)) if named else (place,)
        if score is not None and numbers:
            rated[numbers[0]] = score
    if not rated and isinstance(value, Mapping):
        # {"1": 7, "2": 0}, also below the key asked for.
        pairs = _first(value, _RATINGS)
        for key, item in (pairs if isinstance(pairs, Mapping) else value).items():
            score = _score(item, 10.0)
            if score is not None and str(key).isdigit():
                rated[int(key)] = score
    return rated


def _value(value: Any, keys: Sequence[str]) -> Any:
    """What stands under one of the keys; a bare list is what was asked for."""
    return _first(value, keys) if isinstance(value, Mapping) else value


def _first(value: Mapping[str, Any], keys: Sequence[str]) -> Any:
    return next((value[key] for key in keys if key in value), None)


def _items(value: Any) -> list[Any]:
    if isinstance(value, Mapping):
        return [value] if _first(value, _TEXT) is not None else []
    if isinstance(value, str):
        return [value]
    return list(value) if isinstance(value, list) else []


def _drafts(value: Any) -> tuple[Draft, ...]:
    return tuple(_read_drafts(value))


def _read_drafts(value: Any) -> Iterator[Draft]:
    for item in _items(value):
        named = isinstance(item, Mapping)
        text = _first(item, _TEXT) if named else item
        if not isinstance(text, str):
            continue
        score = _score(_first(item, _SCORE), 100.0) if named else None
        plain = _shortened(" ".join(_CITED.sub("", text).split()))
        if plain and score != 0:
            cited = _numbers(_first(item, _SOURCES)) if named else ()
            marks = tuple(n for mark in _CITED.findall(text) for n in _numbers(mark))
            yield Draft(plain, _MIDDLE if score is None else score, cited or marks)


def _shortened(text: str) -> str:
    """A point of bounded length: whole sentences where there are any, else cut at a space."""
    if len(text) <= _LONGEST_POINT:
        return text
    start = text[:_LONGEST_POINT]
    *whole, _ = sentence_spans(start)
    if whole:
        return start[: whole[-1][1]]
    return f"{start[: _LONGEST_POINT - 2].rpartition(' ')[0] or start[: _LONGEST_POINT - 2]} …"


def _questions(value: Any) -> tuple[str, ...]:
    found = _value(value, _QUESTIONS)
    items = [found] if isinstance(found, str) else found if isinstance(found, list) else []
    lines = (" ".join(item.split()) for item in items if isinstance(item, str))
    return tuple(dict.fromkeys(line[:_LONGEST_QUESTION] for line in lines if line))


def _score(value: Any, top: float) -> float | None:
    """A score from 0 to ``top``; None when it says nothing ("high", null)."""
    scale = top
    if isinstance(value, str):
        found = _SCORE_TEXT.match(value)
        if not found:
            return None
        if value[found.end(1) : found.end()].strip() == "%":
            scale = 100.0
        elif found.group(2):
            scale = float(found.group(2))
        value = float(found.group(1))
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    if scale <= 0:
        return None
    return min(max(float(value) * top / scale, 0.0), top)


def _numbers(value: Any) -> tuple[int, ...]:
    """Whole numbers in a number, a text or a list of either, each once."""
    parts = value if isinstance(value, list) else [value]
    found: list[int] = []
    for part in parts:
        if isinstance(part, bool):
            continue
        if isinstance(part, int | float):
            found += [int(part)] if math.isfinite(part) else []
        elif isinstance(part, str):
            found += [int(digits) for digits in _DIGITS.findall(part)[:50] if len(digits) < 9]
    return tuple(dict.fromkeys(found))
