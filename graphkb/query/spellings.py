"""How a name may be written in texts: patterns of codes, numerals in digits and in Chinese."""

from __future__ import annotations

import re

from graphkb.query.scan import EDGE
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold_script
from graphkb.text.segment import is_word

_HAN_NAME = re.compile(f"[{HAN}]{{3,4}}")
_DIGITS = {c: str(n) for n, c in enumerate("零一二三四五六七八九")} | {"〇": "0"}
_NUMERALS = re.compile(r"[零〇一二三四五六七八九十]+|\d+")
_RUNS = re.compile(r"[A-Za-z]+|\d+")
# From so many digits on a number without separators may be one that is written with them.
_JOINED_DIGITS = 5


def text_pattern(spelling: str) -> str:
    """A regular expression for a spelling as a word of its own, spaces and hyphens alike."""
    edge = EDGE if spelling[0].isascii() and spelling[0].isalnum() else ""
    last = spelling[-1]
    end = "" if not last.isascii() else r"(?!\d)" if last.isdecimal() else r"(?![A-Za-z0-9])"
    return edge + r"[ \-]?".join(re.escape(part) for part in re.split(r"[ \-]", spelling)) + end


def code_pattern(code: str) -> str:
    """A pattern for a code with and without separators.

    >>> bool(re.search(code_pattern("qs20251112"), "QS-2025-1112", re.I))
    True
    >>> bool(re.search(code_pattern("e-12"), "the 12 E-123", re.I))
    False
    """
    runs = _RUNS.findall(code)
    spelled = [
        r"[\-/._]?".join(run) if run.isdecimal() and len(run) >= _JOINED_DIGITS else run
        for run in runs
    ]
    return rf"{EDGE}{'[-/._ ]?'.join(spelled)}(?![A-Za-z0-9])"


def spellings(name: str) -> list[str]:
    """A name as it is written and folded, with its numerals in digits and in Chinese."""
    plain = fold_script(name)
    found = [name, plain]
    if has_han(plain):
        found.append(_NUMERALS.sub(lambda m: _digits(m.group()), plain))
        found.append(_NUMERALS.sub(lambda m: _han_number(m.group()), plain))
        if len(plain) > 2 and _HAN_NAME.fullmatch(plain) and not is_word(plain):
            # What the segmenter took in from beside it: 云启/给, 替/万塑.
            found += [plain[:-1], plain[1:]]
    return found


def _digits(numeral: str) -> str:
    """
    >>> _digits("三十一"), _digits("十"), _digits("12")
    ('31', '10', '12')
    """
    if numeral.isdecimal() and numeral.isascii():
        return numeral
    tens, ten, ones = numeral.partition("十")
    if not ten:
        return "".join(_DIGITS.get(c, c) for c in numeral)
    return str(10 * int(_DIGITS.get(tens, "1")) + int(_DIGITS.get(ones, "0")))


def _han_number(numeral: str) -> str:
    """
    >>> _han_number("31"), _han_number("10"), _han_number("2")
    ('三十一', '十', '二')
    """
    if not (numeral.isascii() and numeral.isdecimal()) or not 0 < int(numeral) < 100:
        return numeral
    names = "零一二三四五六七八九"
    tens, ones = divmod(int(numeral), 10)
    return (names[tens] if tens > 1 else "") + "十" * (tens > 0) + (names[ones] if ones else "")
