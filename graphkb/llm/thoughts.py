"""What a reasoning model thinks aloud inside its reply is not part of the reply."""

from __future__ import annotations

import re

_TAGS = "think|thinking|thought|thoughts|reasoning"
_OPEN = re.compile(rf"\s*<({_TAGS})>", re.IGNORECASE)
_CLOSE = re.compile(rf"</({_TAGS})>\s*", re.IGNORECASE)
_LONGEST_MARK = len("</reasoning>")


def without_thoughts(text: str) -> tuple[str, bool]:
    """The reply without the thoughts before it, and whether the thoughts end.

    Thoughts stand first, between ``<think>`` and ``</think>``; some servers leave the opening
    mark out. Thoughts without an end were cut off: nothing in them is a reply. A mark inside a
    reply that begins as JSON is text.

    >>> without_thoughts("<think>a draft</think>\\n42"), without_thoughts("a draft</think>42")
    (('42', True), ('42', True))
    >>> without_thoughts("<think>a draft"), without_thoughts("plain")
    (('', False), ('plain', True))
    """
    while opened := _OPEN.match(text):
        closed = _CLOSE.search(text, opened.end())
        if closed is None:
            return "", False
        text = text[closed.end() :]
    if not text.lstrip("\ufeff \t\r\n").startswith(("{", "[", "```")):
        closed = _CLOSE.search(text)
        if closed and not _OPEN.search(text, 0, closed.start()):
            text = text[closed.end() :]
    return text, True


def are_late(text: str) -> bool:
    """Whether thoughts come without their opening mark.

    >>> are_late("a draft</think>42"), are_late("<think>a draft</think>42")
    (True, False)
    """
    return "</" in text and not _OPEN.match(text) and without_thoughts(text)[0] != text


class ThoughtFilter:
    """Passes a streamed reply on without the thoughts before it.

    ``late`` is for servers that leave the opening mark out: everything is held back until the
    closing one, or the end.
    """

    def __init__(self, late: bool = False) -> None:
        self._held = ""
        self._late = late
        self._passing = False
        self._thought = False
        self._searched = 0

    def feed(self, piece: str) -> str:
        """What may be passed on now."""
        if self._passing:
            return piece
        self._held += piece
        if self._late or _OPEN.match(self._held):
            closed = _CLOSE.search(self._held, self._searched)
            if closed is None:
                self._searched = max(0, len(self._held) - _LONGEST_MARK)
                return ""
            self._late = False
            self._thought = True
            self._searched = 0
            self._held = self._held[closed.end() :]
        start = self._held.lstrip()
        if not start or (start.startswith("<") and ">" not in start[:_LONGEST_MARK]
                         and len(start) < _LONGEST_MARK):  # fmt: skip
            return ""
        if _OPEN.match(self._held):
            return self.feed("")
        self._passing = True
        rest, self._held = start if self._thought else self._held, ""
        return rest

    def finish(self) -> str:
        """What was held back and is no thought."""
        rest, self._held = self._held, ""
        return "" if self._passing or _OPEN.match(rest) else rest
