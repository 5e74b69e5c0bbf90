"""Numbers and names in a text: what a statement may not hold when its source does not."""

from __future__ import annotations

import re

from graphkb.text.language import HAN
from graphkb.text.names import fold
from graphkb.text.segment import stem, tag

_WORDS = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
).split()
_MONTHS = (
    "january february march april may june july august september october november december".split()
)
_DAYS = "monday tuesday wednesday thursday friday saturday sunday".split()
_WORD_VALUES = {
    **{word: float(value) for value, word in enumerate(_WORDS)},
    **{word: 10.0 * value for value, word in enumerate(
        "thirty forty fifty sixty seventy eighty ninety".split(), 3)},
    **{word: float(value) for value, word in enumerate(_MONTHS, 1)},
    **{word[:3]: float(value) for value, word in enumerate(_MONTHS, 1)},
    "dozen": 12.0, "first": 1.0, "second": 2.0, "third": 3.0,
}  # fmt: skip
_SCALES = {
    "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "billion": 1e9, "bn": 1e9,
    "千": 1e3, "万": 1e4, "百万": 1e6, "千万": 1e7, "亿": 1e8, "万亿": 1e12,
}  # fmt: skip
_HAN_DIGITS = {character: value for value, character in enumerate("零一二三四五六七八九")} | {
    "〇": 0, "两": 2,
}  # fmt: skip
_HAN_UNITS = {"十": 10, "百": 100, "千": 1000}

# Digits that are no part of a code such as E1043 or CT-2023-118; a unit may follow (36months).
_NUMBER = re.compile(
    r"(?<![a-z0-9_.])(?<![a-z]-)(\d{1,3}(?:,\d{3})+(?:\.\d+)?|\d+(?:\.\d+)?)"
    r"(?:\s*(thousand|million|billion|bn|[km](?![a-z])|万亿|百万|千万|亿|万|千))?"
)
_CODE = re.compile(r"\b[a-z]+(?:[._\-][a-z0-9]+)*\d[a-z0-9]*(?:[._\-][a-z0-9]+)*")
_HAN_NUMBER = re.compile(r"[〇零一二三四五六七八九十百千两]+(?:万亿|亿|万)?")
_LATIN_WORD = re.compile(r"[a-z]+")
_CAPITALISED = re.compile(r"\b[A-Z][\w’'\-]+")
_SENTENCE_START = re.compile(r"(?:^|[.!?:;。！？：；•\n]\s*|^\W+)$")
_BEFORE = 40
_ACRONYM = re.compile(r"[A-Z]{2,6}")
# Capitalised words that name nothing of their own.
_NO_NAMES = frozenset([*_MONTHS, *(m[:3] for m in _MONTHS), *_DAYS, "i"])
_NAME_FLAGS = ("nr", "ns", "nt")
_LIST_MARK = re.compile(r"^\s*(?:[-*+•#>]+|\d{1,2}[.)、])\s+")


def numbers_in(text: str) -> list[frozenset[float]]:
    """Numbers written in digits, each with the values it may stand for: as it is, and scaled.

    >>> [sorted(values) for values in numbers_in("49元，1.5 million in 2021; E1043")]
    [[49.0], [1.5, 1500000.0], [2021.0]]
    """
    folded = _CODE.sub(" ", fold(_LIST_MARK.sub("", text)))
    found = []
    for match in _NUMBER.finditer(folded):
        value = float(match.group(1).replace(",", ""))
        found.append(frozenset((value, value * _SCALES.get(match.group(2) or "", 1.0))))
    return found


def values_in(text: str) -> frozenset[float]:
    """Every value a text may state, also in words: ``twelve``, ``十二``, ``July``.

    >>> {7.0, 8.0, 2023.0, 12.0} <= values_in("8 July 2023, 十二个")
    True
    """
    folded = fold(text)
    values = {value for numbers in numbers_in(text) for value in numbers}
    values.update(
        _WORD_VALUES[word] for word in _LATIN_WORD.findall(folded) if word in _WORD_VALUES
    )
    for match in _HAN_NUMBER.finditer(folded):
        values.add(_han_value(match.group()))
    return frozenset(values)


def _han_value(numeral: str) -> float:
    """Value of a Chinese numeral: 二〇二一 is read digit by digit, 三百五十 by its units."""
    scale = 1.0
    for name in ("万亿", "亿", "万"):
        if numeral.endswith(name):
            numeral, scale = numeral.removesuffix(name), _SCALES[name]
            break
    if not set(numeral) & _HAN_UNITS.keys():
        digits = "".join(str(_HAN_DIGITS[character]) for character in numeral)
        return float(digits or 1) * scale
    total, digit = 0, 0
    for character in numeral:
        if character in _HAN_UNITS:
            total += (digit or 1) * _HAN_UNITS[character]
            digit = 0
        else:
            digit = _HAN_DIGITS[character]
    return (total + digit) * scale


def missing_numbers(statement: str, source: str) -> list[frozenset[float]]:
    """Numbers of a statement that its source does not state in any form."""
    stated = values_in(source)
    return [values for values in numbers_in(statement) if not values & stated]


def codes_in(text: str) -> list[str]:
    """Codes and identifiers with digits, folded.

    >>> codes_in("Contract CT-2023-118 and E1043")
    ['ct-2023-118', 'e1043']
    """
    return _CODE.findall(fold(text))


def missing_names(statement: str, source: str) -> list[str]:
    """Names and codes of a statement that stand nowhere in its source.

    Latin names are capitalised words that do not merely begin a sentence; an acronym also counts
    as there when the source has its words. Chinese names are what the tagger takes for a person,
    place or organisation, of which no two characters in a row stand in the source.

    >>> missing_names("Bob Smith leads Osprey.", "Ada Lin leads the Osprey project.")
    ['Bob', 'Smith']
    >>> missing_names("李华负责北斗水表。", "陈明负责“北斗水表”项目。")
    ['李华']
    """
    folded = fold(source)
    known = {stem(word) for word in re.findall(r"[a-z0-9]+", folded)}
    initials = "".join(word[0] for word in _CAPITALISED.findall(source))
    missing = [code for code in codes_in(statement) if code not in folded]
    for name in _latin_names(statement):
        words = re.findall(r"[a-z0-9]+", fold(name))
        spelled = _ACRONYM.fullmatch(name) is not None and name in initials
        if not spelled and not any(code in fold(name) for code in missing):
            missing += [name] if any(stem(word) not in known for word in words) else []
    return missing + [name for name in _han_names(statement) if not _stands_in(name, folded)]


def names_in(statement: str) -> list[str]:
    """Names in a statement as :func:`missing_names` finds them.

    >>> names_in("The chairman of Beta Holdings is Bo Lind."), names_in("李华负责北斗水表。")
    (['Beta', 'Holdings', 'Bo', 'Lind'], ['李华', '北斗'])
    """
    return [*_latin_names(statement), *_han_names(statement)]


def _latin_names(statement: str) -> list[str]:
    found = []
    for match in _CAPITALISED.finditer(statement):
        word = match.group()
        # A window: looking at all that stands before each word would take its square.
        before = statement[max(0, match.start() - _BEFORE) : match.start()]
        after = statement[match.end() : match.end() + _BEFORE]
        first = _SENTENCE_START.search(before) is not None
        followed = re.match(r"\s+[A-Z]", after) is not None
        plain = word.lower() in _NO_NAMES or (word.endswith(("'s", "’s")) and len(word) < 4)
        if plain or (first and not followed and word.isalpha() and not word.isupper()):
            continue
        found.append(re.sub(r"['’]s$", "", word))
    return found


def _han_names(statement: str) -> list[str]:
    return [
        word
        for word, flag, _, _ in tag(statement)
        if len(word) > 1 and flag in _NAME_FLAGS and re.fullmatch(f"[{HAN}]+", word)
    ]


def _stands_in(name: str, folded: str) -> bool:
    key = fold(name)
    return any(key[place : place + 2] in folded for place in range(len(key) - 1))
