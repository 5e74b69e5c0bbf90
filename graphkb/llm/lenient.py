"""A reader of JSON as weak models write it.

Taken besides correct JSON: single, curly and missing quotes, full-width punctuation between
values, Python's literals, comments, doubled braces, missing and trailing commas, quotation marks
and line breaks inside strings, and a text that ends too early, of which the complete pairs are
kept.
"""

from __future__ import annotations

import re
from typing import Any

from graphkb.llm.characters import whole_characters

_DEEPEST = 200
_SPACE = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_CLOSERS = {'"': '"', "'": "'", "“": '”“"', "”": '”“"', "‘": "’‘'", "`": "`", "＂": '＂"'}
_COLON = "::：="
_COMMA = ",，;；、"
_WORD = re.compile(r"[^\s,，:：;{}\[\]\"“”｛｝［］]+")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*)?\.?\d+(?:[eE][-+]?\d+)?")
_LITERALS = {
    "true": True, "false": False, "null": None, "none": None, "nan": None, "undefined": None,
    "infinity": None, "-infinity": None,
}  # fmt: skip
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_CLOSING = "}]｝］"
_OPENING = {"{": "}", "｛": "}", "[": "]", "［": "]"}
# What may stand after the comma that ends a pair: the next key with its colon (or cut), or the end.
_NEXT_KEY = re.compile(
    r"\s*(?:[\"'“‘”`＂]?[^\"'“”‘’`,，:：{}\[\]]{1,80}[\"'”’“‘`＂]?\s*[:：]"
    r"|[\"'“‘`＂][^\"'“”‘’`,，:：]{0,80}[\"'”’“‘`＂]?\s*\Z|[}\]]|\Z)"
)
_NEXT_ITEM = re.compile(r"\s*(?:[\"'“‘”`＂{\[\]}]|-?\d|[TFNtfn](?:rue|alse|one|ull)\b|\Z)")
_QUOTED_KEY = re.compile(r"([\"'“‘`＂])[^\"'“”‘’`＂,，:：{}\[\]\n]{1,60}[\"'”’“`＂]\s*[:：]")


class TooDeepError(ValueError):
    """More levels than any reply means."""


class _Cut(Exception):
    """The text ended inside a value; ``value`` is what was complete, or nothing."""

    def __init__(self, *value: Any) -> None:
        super().__init__()
        self.value = value


def read_lenient(text: str, start: int = 0) -> tuple[Any, int]:
    """The object or list that begins at ``start``, and where it ends.

    Of a text that ends too early, the complete pairs and items are kept; a value that was cut
    goes with its key. Raises ValueError saying where it cannot be read.

    >>> read_lenient("{'a': 1, “b”： [True, None,], c: 'it's'} and more")
    ({'a': 1, 'b': [True, None], 'c': "it's"}, 39)
    >>> read_lenient('{"a": 1, "b": ["x", "y')[0]
    {'a': 1, 'b': ['x']}
    """
    reader = _Reader(text, start)
    try:
        return reader.container(0), reader.place
    except _Cut as cut:
        return cut.value[0], len(text)


class _Reader:
    def __init__(self, text: str, place: int) -> None:
        self.text = text
        self.place = place

    def peek(self) -> str:
        """The next character that is neither space nor comment; raises _Cut at the end."""
        found = _SPACE.match(self.text, self.place)
        self.place = found.end() if found else self.place
        if self.place >= len(self.text):
            raise _Cut
        return self.text[self.place]

    def wrong(self, expected: str) -> ValueError:
        seen = self.text[self.place : self.place + 20]
        return ValueError(f"{expected} expected at character {self.place}, found {seen!r}")

    def check(self, depth: int) -> None:
        if depth > _DEEPEST:
            raise TooDeepError(f"nested deeper than {_DEEPEST} levels")

    def container(self, depth: int) -> Any:
        self.check(depth)
        mark = self.peek()
        if mark not in _OPENING:
            raise self.wrong("{ or [")
        self.place += 1
        return self.pairs(depth) if _OPENING[mark] == "}" else self.items(depth)

    def pairs(self, depth: int) -> dict[str, Any]:
        pairs: dict[str, Any] = {}
        try:
            if self.peek() in "{｛":
                return self.doubled(depth)
            while (mark := self.peek()) not in _CLOSING:
                if mark in _COMMA:
                    self.place += 1
                    continue
                key = self.key()
                pairs[key] = self.value(depth, pairs, key)
        except _Cut:
            raise _Cut(pairs) from None
        # A closing mark of the wrong kind ends this one too: models mix them up.
        self.place += 1
        return pairs

    def doubled(self, depth: int) -> dict[str, Any]:
        """``{{ … }}``, as it stands in the template that the model has seen."""
        self.check(depth)
        self.place += 1
        pairs = self.pairs(depth + 1)
        found = _SPACE.match(self.text, self.place)
        after = found.end() if found else self.place
        if self.text[after : after + 1] in ("}", "｝"):
            self.place = after + 1
        return pairs

    def key(self) -> str:
        mark = self.peek()
        if mark in _CLOSERS:
            key = self.string(_COLON, None)
        else:
            found = _WORD.match(self.text, self.place)
            if found is None:
                raise self.wrong("a key")
            key, self.place = found.group(), found.end()
        if self.peek() not in _COLON:
            raise self.wrong("':' after a key")
        self.place += 1
        return key

    def items(self, depth: int) -> list[Any]:
        items: list[Any] = []
        try:
            while (mark := self.peek()) not in "]］":
                if mark in _COMMA:
                    self.place += 1
                elif mark in "}｝":
                    return items
                else:
                    items.append(self.item(depth, items))
        except _Cut:
            raise _Cut(items) from None
        self.place += 1
        return items

    def value(self, depth: int, pairs: dict[str, Any], key: str) -> Any:
        try:
            return self.any(depth, _NEXT_KEY)
        except _Cut as cut:
            if cut.value and cut.value[0]:
                pairs[key] = cut.value[0]
            raise

    def item(self, depth: int, items: list[Any]) -> Any:
        try:
            return self.any(depth, _NEXT_ITEM)
        except _Cut as cut:
            if cut.value and cut.value[0]:
                items.append(cut.value[0])
            raise

    def any(self, depth: int, following: re.Pattern[str]) -> Any:
        mark = self.peek()
        if mark in _OPENING:
            return self.container(depth + 1)
        if mark in _CLOSERS:
            return self.string(_COMMA + _CLOSING, following)
        found = _WORD.match(self.text, self.place)
        if found is None:
            raise self.wrong("a value")
        word = found.group()
        if found.end() >= len(self.text):
            raise _Cut
        if word.lower() in _LITERALS:
            self.place = found.end()
            return _LITERALS[word.lower()]
        if _NUMBER.fullmatch(word):
            self.place = found.end()
            digits = word.replace("_", "")
            return int(digits) if re.fullmatch(r"[-+]?\d+", digits) else float(digits)
        return self.bare()

    def bare(self) -> str:
        """A string without quotes: up to the comma or the end of its line or container."""
        found = re.compile(r"[^\n,，{}\[\]｛｝［］]+").match(self.text, self.place)
        if found is None or found.end() >= len(self.text):
            raise _Cut
        self.place = found.end()
        return found.group().strip().strip("\"'“”")

    def string(self, ends: str, following: re.Pattern[str] | None) -> str:
        """A quoted string. A quotation mark ends it only where what follows can follow a value;
        others belong to the text."""
        closers = _CLOSERS[self.text[self.place]]
        self.place += 1
        parts: list[str] = []
        while self.place < len(self.text):
            character = self.text[self.place]
            if character == "\\":
                parts.append(self.escape())
                continue
            if character in closers and self.ends_here(ends, following):
                self.place += 1
                return whole_characters("".join(parts))
            parts.append(character)
            self.place += 1
        raise _Cut

    def ends_here(self, ends: str, following: re.Pattern[str] | None) -> bool:
        found = _SPACE.match(self.text, self.place + 1)
        after = found.end() if found else self.place + 1
        if after >= len(self.text):
            return True
        mark = self.text[after]
        if mark not in ends:
            # A comma is missing where the next key stands.
            return following is _NEXT_KEY and _QUOTED_KEY.match(self.text, after) is not None
        if mark in _COMMA and following is not None:
            return following.match(self.text, after + 1) is not None
        return True

    def escape(self) -> str:
        code = self.text[self.place + 1 : self.place + 2]
        self.place += 2
        if code == "u":
            digits = self.text[self.place : self.place + 4]
            if re.fullmatch(r"[0-9a-fA-F]{4}", digits):
                self.place += 4
                return chr(int(digits, 16))
            return "\\u"
        if code in "\"'\\/“”‘’\n":
            return code
        return _ESCAPES.get(code, f"\\{code}")
