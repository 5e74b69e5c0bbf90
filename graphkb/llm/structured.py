"""JSON out of a model's reply, and made to fit the schema that was asked for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from graphkb.llm.characters import whole_characters
from graphkb.llm.conform import conform
from graphkb.llm.lenient import TooDeepError, read_lenient
from graphkb.llm.prompt import Parse
from graphkb.llm.thoughts import without_thoughts

# Where an object or a list may begin; {project} and [1] in prose are none.
_START = re.compile(
    r"[{｛]\s*(?:[\"'“‘”`＂}{｛｝]|\\\"|[\w-]{1,60}\s*[:：])|[\[［]\s*[\[\]{｛［\"'“‘＂]|\A\s*\[\s*-?[\d\]]"
)
_MOST_CANDIDATES = 20
_ESCAPE = re.compile(
    r"\\(u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.|\Z)",
    re.DOTALL,
)
_HALF = re.compile(r"u[dD][89a-fA-F]..\Z")
# LaTeX words whose backslash JSON would read as an escape: \frac is no form feed, \beta no
# backspace. No text has a form feed or backspace before a letter; for the others, the words.
_LATEX = re.compile(
    r"f[a-zA-Z]|b[a-zA-Z]"
    r"|t(?:imes|heta|au|an|anh|o|op|ilde|riangle\w*|herefore|ext(?:bf|it|rm)?)(?![a-zA-Z])"
    r"|r(?:ho|ight\w*|angle|ceil|floor|m|brace|vert)(?![a-zA-Z])"
    r"|n(?:u|abla|eq|e|ot|otin|i|eg|leq|geq|mid|subseteq|exists|parallel)(?![a-zA-Z])"
)
_THOUGHT_BLOCK = re.compile(r"<(think|thinking|thought)>.*?</\1>", re.DOTALL | re.IGNORECASE)


def json_parser(schema: Mapping[str, Any]) -> Parse[dict[str, Any]]:
    """The :data:`Parse` of replies that are one JSON object of this schema.

    >>> json_parser({"properties": {"score": {"type": "integer", "maximum": 100}}})(
    ...     "Sure: ```json\\n{'score': '85/100',}\\n```")
    {'score': 85}
    """

    def parse(text: str) -> dict[str, Any]:
        value = conform(parse_json(text, schema), schema)
        if not isinstance(value, dict):
            raise ValueError(f"a JSON object is needed, found a {type(value).__name__}")
        return value

    return parse


def parse_json(text: str, schema: Mapping[str, Any] | None = None) -> Any:
    """The first complete object (or list) of a reply; with a schema, the first that fits it.

    Thoughts, byte order marks, code fences and prose around it are left out, and what
    :func:`read_lenient` takes is taken. Raises ValueError saying what is wrong.
    """
    spoken, ended = without_thoughts(whole_characters(text).lstrip("\ufeff"))
    if not ended:
        raise ValueError("the reply ends inside its thoughts, before any JSON")
    spoken = _THOUGHT_BLOCK.sub("", spoken) if not spoken.lstrip().startswith("{") else spoken
    spoken = _mended(spoken.strip().lstrip("\ufeff"))
    if not spoken:
        raise ValueError("the reply is empty")
    found: list[Any] = []
    problem = ""
    for value in _candidates(spoken):
        if isinstance(value, ValueError):
            problem = problem or str(value)
            continue
        if schema is None or _fits(value, schema):
            return value
        found.append(value)
    if found:
        return next((value for value in found if isinstance(value, dict) and value), found[0])
    seen = " ".join(spoken.split())[:60]
    raise ValueError(f"no JSON in the reply ({problem or f'it begins {seen!r}'})")


def plain_json(text: str) -> Any:
    """The value of a text that is JSON and nothing else, without anything to be mended; None for
    any other."""
    if _mended(text) != text:
        return None
    try:
        return json.loads(whole_characters(text))
    except (ValueError, RecursionError):
        return None


def _fits(value: Any, schema: Mapping[str, Any]) -> bool:
    try:
        conform(value, schema)
    except ValueError:
        return False
    return True


def _candidates(text: str) -> Iterator[Any]:
    """Objects and lists in their order, or the ValueError of one that cannot be read."""
    if text.startswith('"'):
        text = _unquoted(text)
    elif text.startswith('{\\"'):
        text = _unquoted(f'"{text}"')
    end = 0
    count = 0
    for start in _START.finditer(text):
        if start.start() < end:
            continue
        count += 1
        if count > _MOST_CANDIDATES:
            return
        try:
            value, end = _read(text, start.start())
        except ValueError as error:
            yield error
        else:
            yield value


def _unquoted(text: str) -> str:
    """JSON that was sent as a JSON string."""
    try:
        inner = json.loads(text, strict=False)
    except ValueError:
        return text
    return _mended(inner) if isinstance(inner, str) else text


def _read(text: str, start: int) -> tuple[Any, int]:
    start = next(i for i in range(start, len(text)) if not text[i].isspace())
    try:
        return json.JSONDecoder(strict=False).raw_decode(text, start)
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    except ValueError:
        pass
    try:
        return read_lenient(text, start)
    except TooDeepError:
        raise  # json-repair takes seconds for it.
    except RecursionError:
        raise ValueError("the JSON is nested too deep") from None
    except ValueError as error:
        value = _repaired(text[start:])
        if value is None:
            raise error from None
        return value, len(text)


def _repaired(text: str) -> Any:
    """What json-repair makes of it; None when that is nothing."""
    import json_repair

    try:
        value = json_repair.loads(text)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict | list) and value else None


def _mended(text: str) -> str:
    """Backslashes that JSON does not know, or would misread, made literal; half characters that
    nothing completes (``\\ud83d``) made U+FFFD."""
    return _ESCAPE.sub(_mend, text) if "\\" in text else text


def _mend(found: re.Match[str]) -> str:
    code = found.group(1)
    if _HALF.match(code):
        return r"\ufffd"
    if len(code) > 1 or code in ('"', "\\", "/"):
        return found.group()
    if code and code in "bfnrt" and not _LATEX.match(found.string, found.start(1)):
        return found.group()
    return code if code == "'" else f"\\\\{code}"
