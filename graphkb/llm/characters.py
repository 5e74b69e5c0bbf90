"""Half characters (lone surrogates) in what models say: JSON can hold them, UTF-8 cannot."""

from __future__ import annotations

import re

_HALF = re.compile("[\ud800-\udfff]")


def whole_characters(text: str, lone: str = "\ufffd") -> str:
    """``text`` with two halves that belong together joined, and ``lone`` for each other half.

    >>> whole_characters("陈明 \\ud83d\\ude00 \\ud83d!") == "陈明 \\U0001f600 \\ufffd!"
    True
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        joined = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
        return _HALF.sub(lone, joined)
    return text


class WholeCharacters:
    """A text that comes in pieces, where a cut may go through a character. Lone halves become
    ``lone``."""

    def __init__(self, lone: str) -> None:
        self._lone = lone
        self._held = ""

    def feed(self, piece: str) -> str:
        """What is whole so far; a first half at the end waits for the second."""
        text = self._held + piece
        self._held = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return whole_characters(text[: len(text) - len(self._held)], self._lone)

    def finish(self) -> str:
        """What still waits."""
        return whole_characters(self._held, self._lone)
