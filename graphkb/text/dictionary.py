"""The user's words as a text file holds them: one a line, or in jieba's format."""

from __future__ import annotations

import re

from graphkb.text.language import has_han

# jieba's format puts frequency and tag behind the word.
_ENTRY = re.compile(r"(?P<word>.+?)(?P<frequency>\s+\d+)?(?P<tag>\s+[a-z]{1,3})?")


def dictionary_word(line: str) -> str:
    """The word of one line; empty for a blank line or a comment.

    >>> [dictionary_word(line) for line in ("云计算 5 n", "凱特琳 nz", "zeta api", "# 注释")]
    ['云计算', '凱特琳', 'zeta api', '']
    """
    line = " ".join(line.split())
    if not line or line.startswith("#"):
        return ""
    entry = _ENTRY.fullmatch(line)
    if entry is None or not (entry["frequency"] or (entry["tag"] and has_han(entry["word"]))):
        return line
    return entry["word"]


def dictionary_words(text: str) -> list[str]:
    """The words of a file, in order."""
    return [word for line in text.splitlines() if (word := dictionary_word(line))]
