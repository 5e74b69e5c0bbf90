"""Source code, as it stands."""

from __future__ import annotations

import re

from graphkb.code.languages import BY_SUFFIX, EXTRA, PLAIN_SUFFIXES, is_installed
from graphkb.errors import InputError
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.records import FileReading, Reader, Record, SourceFile
from graphkb.settings_input import Input

_CPP = re.compile(r"^\s*(?:class|namespace|template\s*<|using\s+namespace)\b|\w::\w", re.MULTILINE)
# Code that people write has short lines.
_LONGEST_MEAN, _LONGEST_LINE = 250, 5_000
_MINIFIED = frozenset({".js", ".mjs", ".cjs"})


def read_code(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The file as one document titled by its path, which its text units are found by.

    Without the extra ``code`` it is plain text, and a note says so. Raises InputError for code
    that a tool has minified: it says nothing that its source does not say better.
    """
    decoded = decode_bytes(data, options.encoding)
    if options.gitignore and source.suffix in _MINIFIED and (width := _minified(decoded.text)):
        raise InputError(
            f"minified code (a line of {width:,} characters); left out, "
            "set input.gitignore: false to read it"
        )
    notes = [f"{source.path}: {decoded.note}"] if decoded.note else []
    media_type = _media_type(source.suffix, decoded.text)
    if source.suffix in BY_SUFFIX and not is_installed(BY_SUFFIX[source.suffix].name):
        media_type = "text/plain"
        notes.append(
            f"{source.path}: read as plain text, without its functions and classes: {EXTRA}"
        )
    record = Record(None, source.path, decoded.text, media_type)
    return FileReading((record,), (), tuple(notes))


def _media_type(suffix: str, text: str) -> str:
    if suffix == ".h" and _CPP.search(text):
        suffix = ".hpp"
    return BY_SUFFIX[suffix].media_type if suffix in BY_SUFFIX else PLAIN_SUFFIXES[suffix]


def _minified(text: str) -> int:
    """Length of the longest line of minified code; 0 for other code."""
    longest = max(map(len, text.split("\n")), default=0)
    mean = len(text) / (text.count("\n") + 1)
    return longest if longest > _LONGEST_LINE and mean > _LONGEST_MEAN else 0


CODE_READERS: dict[str, Reader] = dict.fromkeys([*BY_SUFFIX, *PLAIN_SUFFIXES], read_code)
"""Every suffix of source code."""
