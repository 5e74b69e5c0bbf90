"""Second names that the text itself gives: ``X (Y)``, ``X，简称Y``, ``X, also known as Y``."""

from __future__ import annotations

import re

from graphkb.text.language import HAN

_CUE = (
    r"(?:以下)?(?:统称|简称|又称|也称|亦称|俗称|别名|又名|别称|原名|曾用名|缩写|英文名|英文简称|英文缩写)"
    r"(?:为|是|作|[:：])?\s*"
)
_ZH_CUED = re.compile(
    rf"[（(，,]\s*{_CUE}[“\"「《‘]?\s*([^”\"」》’，,。；;（）()\s][^”\"」》’，,。；;（）()]{{0,24}})"
)
_ZH_BRACKET = re.compile(rf"(?<=[{HAN}])\s*[（(]([A-Za-z][A-Za-z0-9 .&\-]{{1,40}})[）)]")
_EN_BRACKET = re.compile(r"\s\(([A-Z][A-Za-z&.\-]{1,9})\)")
_EN_CUED = re.compile(
    r",?\s\(?(?:also|formerly|previously|better|commonly|originally|professionally|sometimes)?\s?"
    r"(?:known|called|referred to|abbreviated)\s(?:professionally\s|simply\s|commonly\s)?(?:as\s)?"
    r"(?:the\s)?[\"“]?(?=[A-Z])"
)

_GENERIC = frozenset(
    "公司 本公司 集团 本集团 大会 会议 平台 项目 办法 规则 条例 规定 通知 本行 银行 学校 甲方 乙方 "
    "我们 company group plan project".split()
)

Pair = tuple[tuple[int, int], tuple[int, int]]
"""Span of the name, span of its second name."""


def alias_pairs(sentence: str, spans: list[tuple[int, int]]) -> list[Pair]:
    """Name and second-name spans of one sentence; ``spans`` are the names already found in it.

    Words that every text uses for its own subject (公司, 大会) are not second names.

    >>> text = "世界卫生组织（简称“世卫组织”）"
    >>> [(text[slice(*x)], text[slice(*y)]) for x, y in alias_pairs(text, [(0, 6)])]
    [('世界卫生组织', '世卫组织')]
    >>> text = "The World Health Organization (WHO) met."
    >>> [(text[slice(*x)], text[slice(*y)]) for x, y in alias_pairs(text, [(4, 29), (31, 34)])]
    [('World Health Organization', 'WHO')]
    """
    pairs: list[Pair] = []
    for pattern in (_ZH_CUED, _ZH_BRACKET):
        for match in pattern.finditer(sentence):
            name = _name_before(sentence, match.start(), spans)
            if name is not None:
                pairs.append((name, match.span(1)))
    for match in _EN_BRACKET.finditer(sentence):
        name = _name_before(sentence, match.start(), spans)
        if name is not None and _is_acronym(match.group(1), sentence[slice(*name)]):
            pairs.append((name, match.span(1)))
    for match in _EN_CUED.finditer(sentence):
        name = _name_before(sentence, match.start(), spans)
        second = max((s for s in spans if s[0] == match.end()), key=lambda s: s[1], default=None)
        if name is not None and second is not None:
            pairs.append((name, second))
    return [
        (name, second)
        for name, second in pairs
        if sentence[slice(*name)] != sentence[slice(*second)]
        and sentence[slice(*second)].strip().lower() not in _GENERIC
        and any(map(str.isalpha, sentence[slice(*second)]))
    ]


def _name_before(sentence: str, end: int, spans: list[tuple[int, int]]) -> tuple[int, int] | None:
    """The longest name that ends just before ``end``, marks and spaces aside."""
    while end > 0 and sentence[end - 1] in ' ”"」》’,':
        end -= 1
    return min((span for span in spans if span[1] == end), default=None)


def _is_acronym(short: str, name: str) -> bool:
    """True when the capitals of ``short`` are initials of ``name``, in order."""
    wanted = [c for c in short if c.isupper()]
    initials = iter(c.upper() for c in re.findall(r"\b\w", name))
    return len(wanted) >= 2 and all(c in initials for c in wanted)
