"""Markdown with optional YAML frontmatter."""

from __future__ import annotations

import re
from typing import Any

import yaml

from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date
from graphkb.settings_input import Input

_FRONTMATTER = re.compile(
    r"\A---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)
_EMBEDDED = re.compile(r"(!\[[^\]\n]{0,500}\])\(\s*<?data:[^()\[\]\s>]*>?[^()\[\]\n]{0,500}\)")
_LONGEST_FRONTMATTER = 64_000


def read_markdown(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The file without its frontmatter and the bytes of embedded images as one document.

    Title: the frontmatter's, else the first heading of level 1, else the file name.
    Frontmatter that is not a YAML mapping stays in the text, with a note.
    """
    decoded = decode_bytes(data, options.encoding)
    notes = [decoded.note] if decoded.note else []
    text, metadata = decoded.text, {}
    match = _FRONTMATTER.match(text)
    if match is not None:
        values, problem = _parse(match.group(1))
        if problem:
            notes.append(f"frontmatter kept as text: {problem}")
        else:
            text, metadata = text[match.end() :], values
    text = without_embedded_images(text)
    title = str(metadata.pop("title", "") or "").strip()
    record = Record(
        own_id=None,
        title=title or first_title(text) or source.stem,
        text=text,
        media_type="text/markdown",
        metadata=metadata,
        creation_date=creation_date(metadata),
    )
    return FileReading((record,), (), tuple(f"{source.path}: {note}" for note in notes))


def fenced(code: str, language: str = "") -> str:
    """The code in a fence that is longer than any run of backticks in it.

    >>> fenced("x = 1\\n", "python")
    '```python\\nx = 1\\n```'
    """
    longest = max((len(run) for run in re.findall(r"`+", code)), default=0)
    fence = "`" * max(3, longest + 1)
    stripped = code.strip("\n")
    return f"{fence}{language}\n{stripped}\n{fence}"


def without_embedded_images(text: str) -> str:
    """The text without the bytes of images that are written into it; their names stay.

    >>> without_embedded_images("![flow](data:image/png;base64,iVBORw0KGgo=) shows")
    '![flow]() shows'
    """
    return _EMBEDDED.sub(r"\1()", text)


def _parse(block: str) -> tuple[dict[str, Any], str | None]:
    """The frontmatter's mapping, or why it is none.

    Scalars stay as written (dates, versions and leading zeros keep their form); aliases are
    refused because a few lines of them can stand for gigabytes.
    """
    if len(block) > _LONGEST_FRONTMATTER:
        return {}, f"it is longer than {_LONGEST_FRONTMATTER} characters"
    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        if "*" in block and any(
            isinstance(event, yaml.AliasEvent) for event in yaml.parse(block, Loader=loader)
        ):
            return {}, "it uses YAML aliases"
        values = yaml.load(block, Loader=loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        where = f"line {mark.line + 2}: " if mark else ""
        return {}, where + str(getattr(error, "problem", None) or "not valid YAML")
    except (ValueError, RecursionError) as error:
        return {}, str(error)
    if values is None or values == "":
        return {}, None
    if not isinstance(values, dict):
        return {}, "it is not a list of 'key: value' lines"
    return {str(key): value for key, value in values.items()}, None
