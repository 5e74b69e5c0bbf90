"""Which language a text is written in, by script."""

from __future__ import annotations

import re

_SCRIPTS: dict[str, re.Pattern[str]] = {
    "ja": re.compile(r"[\u3040-\u30ff]"),
    "ko": re.compile(r"[\uac00-\ud7af\u1100-\u11ff]"),
    "zh": re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0002ebef]"),
    "ru": re.compile(r"[\u0400-\u04ff]"),
    "ar": re.compile(r"[\u0600-\u06ff]"),
    "en": re.compile(r"[A-Za-z\u00c0-\u024f]"),
}

HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0002ebef"
_HAN = re.compile(f"[{HAN}]")

# Words that a question in one of the two languages can hardly do without.
_ENGLISH = re.compile(
    r"\b(?:the|an?|is|are|was|were|do|does|did|has|have|can|what|who|whom|whose|which|when|where|"
    r"why|how|of|in|to|for|and|about)\b",
    re.IGNORECASE,
)
_CHINESE = re.compile(r"[的了是在谁哪吗呢吧几何]|什么|怎[么样]|多少|如何|请")

# A Latin word carries about as much as two Chinese characters; counting letters alone would
# call a Chinese manual with many product names English.
_LETTERS_PER_HAN = 4.0


def detect_language(text: str) -> str:
    """ISO 639-1 code by the main script: ``zh``, ``en``, ``ja``, ``ko``, ``ru``, ``ar``, ``und``.

    Latin script is reported as ``en``. Japanese wins over Chinese when kana make up at least
    a tenth of the CJK characters. Only the first 20,000 characters are looked at.

    >>> [detect_language(t) for t in ("陈明是 Bluestone 的工程师", "Ada Lin leads.", "42")]
    ['zh', 'en', 'und']
    """
    sample = text[:20_000]
    if sample.isascii():
        return "en" if _SCRIPTS["en"].search(sample) else "und"
    counts = {code: len(pattern.findall(sample)) for code, pattern in _SCRIPTS.items()}
    if counts["ja"] and counts["ja"] * 9 >= counts["zh"]:
        return "ja"
    weighted = {
        code: count / (_LETTERS_PER_HAN if code in {"en", "ru", "ar"} else 1.0)
        for code, count in counts.items()
    }
    best = max(weighted, key=lambda code: (weighted[code], code))
    return best if weighted[best] > 0 else "und"


def question_language(question: str) -> str:
    """The language a question is asked in: as :func:`detect_language`, but where Chinese and
    Latin words meet, grammar decides and not the length of names and codes.

    >>> question_language("rate_limit_check怎么用？"), question_language("Who is 陈明?")
    ('zh', 'en')
    """
    detected = detect_language(question)
    if detected not in ("en", "zh") or not has_han(question):
        return detected
    english, chinese = _ENGLISH.search(question), _CHINESE.search(question)
    if (english is None) == (chinese is None):
        return detected
    return "en" if english else "zh"


def has_han(text: str) -> bool:
    """True when the text holds at least one Chinese character.

    >>> has_han("E1043 错误"), has_han("error E1043")
    (True, False)
    """
    return _HAN.search(text) is not None
