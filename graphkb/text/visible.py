"""Characters that nobody sees: format and control characters, and the halves of broken UTF-8."""

from __future__ import annotations

import unicodedata

_UNSEEN = frozenset({"Cf", "Cc", "Cs", "Zl", "Zp"})
_SPACE = "\t\n\r"


def first_unseen(text: str) -> str:
    """The first character of a text that nobody sees; empty where there is none.

    >>> first_unseen("Ada Lin"), first_unseen("陈\\x00明")
    ('', '\\x00')
    """
    return next(filter(_is_unseen, text), "")


def visible(text: str) -> str:
    """The text without what nobody sees; tabs and line ends stay.

    >>> visible("who\\u200b?\\n陈\\udcff明")
    'who?\\n陈明'
    """
    if text.isprintable():
        return text
    return "".join(char for char in text if char in _SPACE or not _is_unseen(char))


def _is_unseen(char: str) -> bool:
    return unicodedata.category(char) in _UNSEEN
