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
    counts = {code: len(pattern.findall(sample)) for code, pattern in _SCRIPTS.items()}
    if counts["ja"] and counts["ja"] * 9 >= counts["zh"]:
        return "ja"
    weighted = {
        code: count / (_LETTERS_PER_HAN if code in {"en", "ru", "ar"} else 1.0)
        for code, count in counts.items()
    }
    best = max(weighted, key=lambda code: (weighted[code], code))
    return best if weighted[best] > 0 else "und"


def has_han(text: str) -> bool:
    """True when the text holds at least one Chinese character.

    >>> has_han("E1043 错误"), has_han("error E1043")
    (True, False)
    """
    return _HAN.search(text) is not None
