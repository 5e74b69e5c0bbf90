"""The kind of thing a question asks for: a date, a number, a place, a person."""

from __future__ import annotations

import re
from collections.abc import Set

from graphkb.text.language import has_han
from graphkb.text.segment import tag

_ASKS = {
    "date": re.compile(
        r"\b(?:when|what (?:date|year|day|time)|which year)\b|何时|什么时候|哪年|哪天|日期|几月"
    ),
    "number": re.compile(
        r"\bhow (?:many|much|long|often|old|tall|far)\b|多少|几[个人名家次天年]|多久|多大|价格|费用"
    ),
    "place": re.compile(
        r"\bwhere\b|\b(?:which|what) (?:city|town|country|state|province|place|village)\b"
        r"|哪里|哪儿|何处|在哪|什么地方|哪[个座]?(?:城市|地方|国家|省|县)"
    ),
    "person": re.compile(r"\bwho(?:m|se)?\b|谁|哪[位个]人|何人|哪位"),
}
_HOLDS = {
    "date": re.compile(r"\b(?:1[5-9]|20)\d\d\b|\d{1,2}\s*月|\d{4}\s*年"),
    "number": re.compile(r"\d"),
    "place": re.compile(r"\b(?:in|at|near|from|to)\s+(?:the\s+)?[A-Z]|位于|坐落|地处"),
    "person": re.compile(r"\b[A-Z][\w'’.-]*(?: [A-Z][\w'’.-]*)+"),
}
# jieba's flags for names of places and of people.
_WORD = re.compile(r"[A-Za-z]+")
_FLAGS = {"place": ("ns",), "person": ("nr", "nrfg", "nrt")}


def asked_kinds(question: str) -> tuple[str, ...]:
    """The kinds of things that a question asks for, in a fixed order.

    >>> asked_kinds("Where and when was Ada Lin born?"), asked_kinds("青石公司在哪里？")
    (('date', 'place'), ('place',))
    """
    asked = question.lower()
    return tuple(kind for kind, pattern in _ASKS.items() if pattern.search(asked))


def words_of(text: str) -> frozenset[str]:
    """The Latin words of a text in small letters."""
    return frozenset(word.lower() for word in _WORD.findall(text))


def holds_new(text: str, kind: str, known: Set[str]) -> bool:
    """Whether a sentence may name something of that kind that is not made of ``known`` words, in
    small letters: those of the question, and of the title of the document.

    >>> holds_new("Lumora Oy made a loss.", "person", {"lumora"})
    False
    >>> holds_new("Lumora Oy is led by Ada Lin.", "person", {"lumora"})
    True
    """
    if not holds_kind(text, kind):
        return False
    new = _WORD.sub(lambda word: "·" if word.group().lower() in known else word.group(), text)
    return new == text or holds_kind(new, kind)


def holds_kind(text: str, kind: str) -> bool:
    """Whether a sentence may name something of that kind.

    >>> holds_kind("青石公司在杭州。", "place"), holds_kind("陈明是工程师。", "place")
    (True, False)
    """
    if _HOLDS[kind].search(text):
        return True
    flags = _FLAGS.get(kind, ())
    return bool(flags) and has_han(text) and any(flag in flags for _, flag, *_ in tag(text))
