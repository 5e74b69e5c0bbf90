"""Verdicts on numbered things: how a model is asked for them, and how its reply is read."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from graphkb.llm.thoughts import without_thoughts


def verdict_schema(of: str, verdicts: Sequence[str]) -> dict[str, Any]:
    """JSON schema of ``{"verdicts": [{of: 1, "verdict": "…"}]}``."""
    return {
        "type": "object",
        "properties": {
            "verdicts": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        of: {"type": "integer"},
                        "verdict": {"type": "string", "enum": list(verdicts)},
                    },
                    "required": [of, "verdict"],
                    "additionalProperties": False,
                },
            }
        },
        "required": ["verdicts"],
        "additionalProperties": False,
    }


def read_numbered_verdicts(
    text: str, pattern: re.Pattern[str], words: Mapping[str, str], example: Mapping[str, Any]
) -> dict[int, str]:
    """Verdicts by number; the first one given to a number holds.

    ``pattern`` finds a number and the verdict behind it, in JSON or any other writing. ``words``
    maps other wordings of a verdict, in lower case, to it. Raises ValueError, with ``example`` of
    a verdict, for a reply without any.
    """
    plain = without_thoughts(text)[0]
    found: dict[int, str] = {}
    for match in pattern.finditer(plain):
        word = match.group(2).lower()
        found.setdefault(int(match.group(1)), words.get(word, word))
    if not found:
        wanted = json.dumps({"verdicts": [example]})
        start = " ".join(plain[:80].split())
        raise ValueError(f"no verdicts: reply with JSON such as {wanted}, not {start!r}")
    return found
