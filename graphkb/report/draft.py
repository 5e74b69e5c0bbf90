"""What a model says in a report, before its references are checked."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from graphkb.llm.structured import json_parser
from graphkb.report.rows import one_line

_TITLE_LENGTH = 200


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


_TEXT = {"type": "string"}
_NUMBERS = {"type": "array", "items": {"type": "integer"}}
_FINDING = _object({"summary": _TEXT, "explanation": _TEXT, "sources": _NUMBERS})

# The findings stand last: of a reply that was cut, all else is there.
SCHEMA: Mapping[str, Any] = _object(
    {
        "title": _TEXT,
        "summary": _TEXT,
        "rating": {"type": "number", "minimum": 0, "maximum": 10},
        "rating_explanation": _TEXT,
        "findings": {"type": "array", "items": _FINDING},
    }
)

# What is taken of a reply: references in any writing, and a rating or not.
_TAKEN: Mapping[str, Any] = {
    **SCHEMA,
    "properties": {
        **SCHEMA["properties"],
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"summary": _TEXT, "explanation": _TEXT, "sources": {}},
                "required": ["explanation"],
            },
        },
    },
    "required": ["title", "summary", "findings"],
}

# References inside text: [1, 2], [Data: Entities (1); Sources (2, +more)], (Sources 3), 【资料 4】.
_WORD = r"(?:data|sources?|entit(?:y|ies)|relationships?|reports?|rows?|ids?|资料|数据|来源|编号)"
_LISTED = rf"(?:{_WORD}|more|[\s\d,，、;；:：()（）+–-])+"
_REFERENCE = re.compile(
    rf"\s*(?:\[\s*Data\s*[:：][^\[\]]*\]|[\[【](?=[^\[\]【】]*\d){_LISTED}[\]】]"
    rf"|[(（]\s*{_WORD}\s*[:：]?(?=[^()（）]*\d)[\s\d,，、;；]+[)）])",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"\d{1,9}")


@dataclass(frozen=True)
class DraftFinding:
    """A finding without marks in its texts, and the numbers of rows that it refers to."""

    summary: str
    explanation: str
    sources: tuple[int, ...]


@dataclass(frozen=True)
class Draft:
    """A report as the model gave it; ``rating`` is None where it gave none."""

    title: str
    summary: str
    rating: float | None
    rating_explanation: str
    findings: tuple[DraftFinding, ...]


def parse_report(text: str) -> Draft:
    """A reply as a report. Of one that was cut, the complete findings.

    Raises ValueError when there is no title, no summary or no finding.
    """
    reply = json_parser(_TAKEN)(text)
    findings = tuple(filter(None, map(_finding, reply["findings"])))
    draft = Draft(
        _prose(reply["title"])[:_TITLE_LENGTH],
        _prose(reply["summary"]),
        reply.get("rating"),
        _prose(reply.get("rating_explanation") or ""),
        findings,
    )
    for key, value in (("title", draft.title), ("summary", draft.summary), ("findings", findings)):
        if not value:
            raise ValueError(f"{key} must not be empty")
    return draft


def _finding(given: Mapping[str, Any]) -> DraftFinding | None:
    said = f"{given['summary']}\n{given['explanation']}"
    explanation = _prose(given["explanation"])
    summary = _prose(given["summary"]) or explanation
    numbers = [*_numbers(given.get("sources")), *_numbers(_REFERENCE.findall(said))]
    sources = tuple(dict.fromkeys(numbers))
    return DraftFinding(summary, explanation, sources) if explanation else None


def _numbers(value: Any) -> list[int]:
    """The numbers in whatever a model gives as references: 3, "S3", [1, "2, 4"], {"id": 5}."""
    if isinstance(value, bool) or value is None:
        return []
    if isinstance(value, int | float):
        return [int(value)] if math.isfinite(value) else []
    if isinstance(value, str):
        return [int(number) for number in _NUMBER.findall(value)]
    parts = value.values() if isinstance(value, Mapping) else value
    return [number for part in parts for number in _numbers(part)]


def _prose(text: str) -> str:
    return one_line(_REFERENCE.sub("", text))
