"""Names that stand in a sample, so that hints for every document hold none of them.

A model that is told of a company before each text unit finds it where it is not.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import polars as pl

from graphkb.extract.kinds import CODE, DOCUMENT, ORGANIZATION, PERSON, TERM
from graphkb.text.language import HAN, has_han

# "machines, such as T-07", "设备（例如 T-07）".
_FOR_EXAMPLE = re.compile(
    r"(?:\b(?:such as|for example|for instance|including|e\.g\.|like)|"
    r"包括|[例比譬诸]?如).*"
)
_WORD = re.compile(r"[^\W_][\w'’.&-]*")
_LEAST_PART = 3


class SampleNames:
    """The names that ``mentions`` found in the ``texts`` of a sample, each part of those of people
    and the first word of firms. What ``usual`` says of types is none. Codes are names in examples
    only: 5G may be all that it is about."""

    def __init__(self, mentions: pl.DataFrame, texts: Iterable[str], usual: str) -> None:
        rows = mentions.filter(pl.col("char_start") >= 0).select("name", "type").unique()
        named = {(name, kind) for name, kind in rows.iter_rows() if len(name) > 1}
        codes = {name for name, kind in named if kind == CODE}
        names = {name for name, kind in named if kind not in (CODE, DOCUMENT, TERM)}
        terms = {name for name, kind in named if kind == TERM}
        joined = "\n".join(names)
        # 联通 is a name where 中国联通 is one.
        names.update(term for term in terms if has_han(term) and term in joined)
        small = {word for text in texts for word in _WORD.findall(text) if word.islower()}
        names.update(term for term in terms if _is_title(term, small))
        parts = [part for name, kind in named if kind == PERSON for part in _WORD.findall(name)]
        parts += [name.split()[0] for name, kind in named if kind == ORGANIZATION]
        names.update(part for part in parts if _is_part(part) and part.lower() not in small)
        self._names = _pattern(name for name in names if name not in usual)
        self._codes = _pattern(code for code in codes if code not in usual)

    def held_by(self, text: str, passage: str = "") -> list[str]:
        """Names in a text that are not in ``passage``."""
        return [name for name in self._names.findall(text) if name not in passage]

    def taken_out(self, text: str) -> str:
        """The text without examples that hold a name; empty where a name is left."""
        if self._names.search(text) or self._codes.search(text):
            whole, text = text, _FOR_EXAMPLE.sub("", text)
            text = text if text == whole else text.rstrip(" \t,;，；、(（")
        return "" if self._names.search(text) else text


def _is_part(word: str) -> bool:
    return len(word) >= _LEAST_PART and word[0].isupper() and not has_han(word)


def _is_title(term: str, small: set[str]) -> bool:
    """Whether every word has a capital, and one of them always.

    >>> [_is_title(term, {"pressure"}) for term in ("Maren Tveit", "Pressure", "spare part")]
    [True, False, False]
    """
    words = _WORD.findall(term)
    named = all(word[:1].isupper() for word in words)
    return named and any(word.lower() not in small for word in words)


def _pattern(names: Iterable[str]) -> re.Pattern[str]:
    """Any of the names: words of a language that has them as whole words, with their capitals."""
    ordered = sorted(set(names), key=lambda name: (-len(name), name))
    if not ordered:
        return re.compile(r"(?!)")
    each = (
        re.escape(name) if re.search(f"[{HAN}]", name) else rf"(?<!\w){re.escape(name)}(?!\w)"
        for name in ordered
    )
    return re.compile("|".join(each))
