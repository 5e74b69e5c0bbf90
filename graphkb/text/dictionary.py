"""The user's words as a text file holds them: one a line, or in jieba's format."""

from __future__ import annotations

import re

from graphkb.text.language import has_han

# jieba's format puts frequency and tag behind the word.
_ENTRY = re.compile(r"(?P<word>.+?)(?P<frequency>\s+\d+)?(?P<tag>\s+[a-z]{1,3})?")
# As in settings.yaml: C# is a word, what follows white space and # is a comment.
_COMMENT = re.compile(r"(?:^|\s)#.*", re.DOTALL)


def dictionary_word(line: str) -> str:
    """The word of one line, without a comment; empty where there is none.

    >>> lines = ("云计算 5 n", "凱特琳 nz", "zeta api", "青石谷  # 地名", "C#", "# 注释")
    >>> [dictionary_word(line) for line in lines]
    ['云计算', '凱特琳', 'zeta api', '青石谷', 'C#', '']
    """
    line = " ".join(_COMMENT.sub("", line).split())
    entry = _ENTRY.fullmatch(line)
    if entry is None or not (entry["frequency"] or (entry["tag"] and has_han(entry["word"]))):
        return line
    return entry["word"]


def dictionary_line(word: str) -> str:
    """The line that :func:`dictionary_word` reads as this word.

    >>> dictionary_line("云计算"), dictionary_line("ISO 9001")
    ('云计算', 'ISO 9001 1')
    """
    return word if dictionary_word(word) == word else f"{word} 1"


def dictionary_words(text: str) -> list[str]:
    """The words of a file, in order, each once."""
    words = (dictionary_word(line) for line in text.splitlines())
    return list(dict.fromkeys(word for word in words if word))
