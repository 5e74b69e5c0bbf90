"""Asking once more for a reply that could not be used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from graphkb.llm.cache import Request
from graphkb.llm.prompts import data_block, load_prompt
from graphkb.text.language import has_han

# Characters of the bad reply that are shown: its beginning and its end.
_HEAD = 1200
_TAIL = 300


def repaired(root: Path, request: Request, text: str, wrong: str) -> Request:
    """The request again, with the reply that could not be used and what is wrong with it."""
    if len(text) > _HEAD + _TAIL:
        text = f"{text[:_HEAD]} … {text[-_TAIL:]}"
    (_, system), *history, (role, user) = request.messages
    language = "zh" if has_han(system or user) else "en"
    more_system, more_user = load_prompt(
        root, language, "repair", reply=data_block("reply", text), error=wrong
    )
    messages = (
        ("system", f"{system}\n\n{more_system}".strip()),
        *history,
        (role, f"{user}\n\n{more_user}"),
    )
    return replace(request, messages=messages)
