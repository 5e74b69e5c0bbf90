"""Conversations as users have them: pairs, turns, or chat messages; from Python or a file."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from graphkb.errors import UsageError
from graphkb.query.ask import Turn
from graphkb.text.visible import visible

History = Sequence[Turn | tuple[str, str] | Mapping[str, Any]]
"""Turns, oldest first: ``Turn``, (question, answer), {"question": …, "answer": …}, or chat
messages {"role": "user" | "assistant", "content": …}; other roles are left out."""

_SHAPE = '[{"question": "…", "answer": "…"}] or chat messages [{"role": "user", "content": "…"}]'


def read_turns(history: History) -> tuple[Turn, ...]:
    """A conversation as turns, without what nobody sees, as questions are. Raises UsageError
    naming the item that is none, or what was given instead of a list.

    >>> read_turns([("Who leads it?", "Ada.")])
    (Turn(question='Who leads it?', answer='Ada.'),)
    >>> read_turns([{"role": "user", "content": "Who?"}, {"role": "assistant", "content": "Ada"}])
    (Turn(question='Who?', answer='Ada'),)
    """
    if isinstance(history, str | Mapping) or not isinstance(history, Sequence):
        raise UsageError(f"history: expected a list of turns, got {_seen(history)}; give {_SHAPE}")
    turns: list[Turn] = []
    asked: list[str] = []
    for place, item in enumerate(history, 1):
        if isinstance(item, Turn):
            turns.append(item)
        elif isinstance(item, Mapping) and "role" in item:
            text = _content(item.get("content"))
            if item["role"] == "user":
                asked.append(text)
            elif item["role"] == "assistant":
                turns.append(Turn("\n".join(asked), text))
                asked = []
        else:
            turns.append(Turn(*_pair(item, place)))
    if asked:
        turns.append(Turn("\n".join(asked), ""))
    seen = (Turn(visible(turn.question), visible(turn.answer)) for turn in turns)
    return tuple(turn for turn in seen if turn.question.strip())


def _pair(item: Any, place: int) -> tuple[str, str]:
    if isinstance(item, Mapping):
        pair = [item.get("question"), item.get("answer", "")]
    else:
        pair = list(item) if isinstance(item, list | tuple) else []
    if len(pair) != 2 or not all(isinstance(text, str) for text in pair):
        raise UsageError(f"history: item {place} is {_seen(item)}; give {_SHAPE}")
    return str(pair[0]), str(pair[1])


def _seen(value: Any) -> str:
    """The beginning of what was given, on one line."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str)[:80]
    except (RecursionError, TypeError, ValueError):
        return f"a {type(value).__name__} that is no JSON, or nested too deeply"


def _content(content: Any) -> str:
    """The text of a chat message, also where it is a list of parts."""
    if isinstance(content, list):
        texts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "\n".join(text for text in texts if isinstance(text, str))
    return content if isinstance(content, str) else ""


def read_history(path: Path) -> tuple[Turn, ...]:
    """The conversation in a JSON file: a list, or an object with ``messages``.

    Raises UsageError naming the file and what is wrong with it.
    """
    try:
        value = json.loads(path.read_text("utf-8-sig"))
    except FileNotFoundError:
        raise UsageError(f"{path}: no such file; give a conversation as JSON: {_SHAPE}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    except json.JSONDecodeError as error:
        raise UsageError(f"{path}:{error.lineno}: no JSON ({error.msg}); give {_SHAPE}") from None
    except RecursionError:
        raise UsageError(f"{path}: nested too deeply; give {_SHAPE}") from None
    if isinstance(value, Mapping):
        value = value.get("messages")
    if not isinstance(value, list):
        raise UsageError(f"{path}: expected a list of turns; give {_SHAPE}")
    try:
        return read_turns(value)
    except UsageError as error:
        raise UsageError(f"{path}: {error}") from None
