"""Folding of text and names, so that the same thing spelled differently compares equal."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from graphkb.text.language import HAN


@lru_cache(maxsize=1)
def _latin_marks() -> dict[int, str]:
    """Accented Latin letters to their plain ones; other scripts keep their marks."""
    table: dict[int, str] = {}
    for code in [*range(0x00C0, 0x0250), *range(0x1E00, 0x1F00)]:
        plain = "".join(
            c for c in unicodedata.normalize("NFD", chr(code)) if not unicodedata.combining(c)
        )
        if plain and plain != chr(code):
            table[code] = plain
    table.update({0x00F8: "o", 0x00D8: "O", 0x0142: "l", 0x0141: "L", 0x0111: "d", 0x0131: "i"})
    table.update({0x00DF: "ss", 0x1E9E: "SS"})
    return table


# No character before the first radical has a simplified form.
_FIRST_HAN = "\u2e80"
_HALVES = re.compile("([\ud800-\udfff]+)")


@lru_cache(maxsize=1)
def _simplifier() -> object:
    import opencc

    return opencc.OpenCC("t2s")


def simplify(text: str) -> str:
    """Traditional to simplified Chinese; other text unchanged.

    >>> simplify("臺灣大學")
    '台湾大学'
    """
    if text.isascii() or max(text) < _FIRST_HAN:
        return text
    try:
        converted: str = _simplifier().convert(text)  # type: ignore[attr-defined]
    except UnicodeEncodeError:
        # opencc cannot read the halves of broken UTF-8; they stay as they are.
        parts = _HALVES.split(text)
        converted = "".join(
            part if place % 2 else simplify(part) for place, part in enumerate(parts)
        )
    return converted


def fold_script(text: str) -> str:
    """Width, accents and Chinese script folded; case stays. Length may change.

    >>> fold_script("ＧＢ/Ｔ 臺灣 Café")
    'GB/T 台湾 Cafe'
    """
    if text.isascii():
        return text
    return _folded_short(text) if len(text) <= _SHORT else _folded(text)


def _folded(text: str) -> str:
    return simplify(unicodedata.normalize("NFKC", text).translate(_latin_marks()))


# A question looks at the same sentences for words, phrases and periods.
_SHORT, _KEPT = 300, 8_192
_folded_short = lru_cache(_KEPT)(_folded)


# Apostrophes as people and programs write them. NFKC makes two characters of some.
_APOSTROPHES = str.maketrans(dict.fromkeys("’‘‛`´ʼʹ′＇", "'"))


def fold_file_name(text: str) -> str:
    """The name of a file, or a text that may hold one, with its apostrophes folded too.

    >>> fold_file_name("O’Neil（１）.TXT"), fold_file_name("Ｄ`Été.md")
    ("o'neil(1).txt", "d'ete.md")
    """
    return fold(text.translate(_APOSTROPHES))


def fold(text: str) -> str:
    """Width, case, accents and Chinese script folded, for comparing and searching.

    NFKC, casefold, Latin accents off, traditional to simplified. Length may change.

    >>> fold("ＢＤ－２００Ａ"), fold("Café 臺灣")
    ('bd-200a', 'cafe 台湾')
    """
    if text.isascii():
        return text.lower()
    return fold_script(text).casefold()


_QUOTES = "\"'`´‘’“”„«»‹›《》〈〉「」『』【】[]()（）{}"
_NO_QUOTES = str.maketrans("", "", _QUOTES)
_SEPARATORS = re.compile(r"[\s\-_/·•・∙‧–—―~,，、:：;；!！?？。|\\*]+")
_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)")
_BETWEEN_HAN = re.compile(rf"(?<=[{HAN}]) +| +(?=[{HAN}])")


@lru_cache(maxsize=65_536)
def name_key(name: str) -> str:
    """The form in which two spellings of one name are equal; never empty for a non-blank name.

    Folds as :func:`fold`; drops quotes and brackets, dots outside numbers and a leading
    ``the``; separators become one space, and none beside a Chinese character.
    ``+`` and ``#`` stay, so that C, C++ and C# differ.

    >>> name_key("The U.S. Navy"), name_key("《三国 演义》"), name_key("C++"), name_key("v2.0")
    ('us navy', '三国演义', 'c++', 'v2.0')
    >>> name_key("武漢大學") == name_key("武汉大学")
    True
    """
    folded = fold(name)
    if folded.isascii() and folded.replace(" ", "").isalnum():
        key = " ".join(folded.split())
    else:
        key = folded.translate(_NO_QUOTES)
        key = _SEPARATORS.sub(" ", _DOT.sub("", key)).strip()
        key = _BETWEEN_HAN.sub("", key)
    if key.startswith("the ") and len(key) > 4:
        key = key[4:]
    return key or folded.strip()
