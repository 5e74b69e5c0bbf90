"""Prompts of the methods that gather points: in the question's language, data in its block."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from graphkb.llm.model import Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.query.ask import Ask
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language

# Tokens that a prompt needs beside what it shows.
_INSTRUCTIONS = 600
_LEAST_ROOM = 200


def make_prompt(
    snapshot: Snapshot,
    ask: Ask,
    name: str,
    *,
    step: str,
    schema: Mapping[str, Any],
    max_tokens: int,
    blocks: Mapping[str, str] | None = None,
    **variables: str,
) -> Prompt:
    """The prompt ``name`` for a question. ``blocks`` are texts from documents, or from replies
    to them, by variable; each goes into a data block of that name."""
    language = prompt_language(detect_language(ask.question))
    marked = {key: data_block(key, text) for key, text in (blocks or {}).items()}
    system, user = load_prompt(
        snapshot.root, language, name, question=ask.search, **marked, **variables
    )
    return Prompt(step, system, user, schema=schema, max_tokens=max_tokens)


def room_in_window(snapshot: Snapshot, ask: Ask, wanted: int, max_tokens: int) -> int:
    """Tokens that may be shown in one call: ``wanted``, or less in a small known window."""
    model = ask.model
    window = model.window("answer") if model else snapshot.settings.llm.context_tokens
    if not window:
        return wanted
    return max(min(wanted, window - max_tokens - _INSTRUCTIONS), _LEAST_ROOM)
