"""Whether the knowledge base holds a name at all: in any spelling, in any of its text units.

Looked up in the memory-mapped arrays of the graph: the name's words in the inverted index, then
where they stand in the few text units that hold most of them. Nothing depends on what was
retrieved for the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.graph.lookup import hash64
from graphkb.query.asked_names import AskedName
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold, fold_script, name_key
from graphkb.text.segment import STOP_WORDS, is_word, query_tokens, search_tokens, stem
from graphkb.text.sentences import sentence_spans

Arrays = Mapping[str, npt.NDArray[Any]]

# Share of a name's words, weighted by idf, that stands close together where it is there: the
# same share of words by which the graph leg finds a name that is not written quite alike.
_HELD = 0.7
# Text units whose words are read.
_READ = 40
# Words that may stand between those of a name.
_APART = 2
# Bytes of text that are read through for one name, in about 0.2 s; of larger knowledge bases only
# the indexed words are looked at.
_SCANNED = 100_000_000

_WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
_HAN_NAME = re.compile(f"[{HAN}]{{3,4}}")
_POSSESSIVE = re.compile(r"['’]s\Z", re.IGNORECASE)
_ABBREVIATION = re.compile("[A-Z]{2,5}")
_DIGITS = {c: str(n) for n, c in enumerate("零一二三四五六七八九")} | {"〇": "0"}
_NUMERALS = re.compile(r"[零〇一二三四五六七八九十]+|\d+")


class Presence:
    """What of the names of questions one snapshot holds."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._arrays: Arrays = snapshot.graph.arrays

    def holds(self, name: AskedName) -> bool | None:
        """Whether a name stands somewhere: literally, with its words close together, or as the
        name or alias of an entity. None where it cannot be told whether it is a name."""
        if name.kind == "year":
            return self._known(name.text) or self._literal([name.text])
        if name.kind == "code":
            return self._holds_code(name.text)
        if name.kind == "numbered":
            return self._holds_number(name)
        text = _POSSESSIVE.sub("", name.text)
        if self._is_entity(text):
            return True
        if has_han(text) and self._literal(_spellings(text)):
            return True
        held = self._share_held(text) >= _HELD
        # What an abbreviation stands for may be written out everywhere.
        return None if not held and _ABBREVIATION.fullmatch(text) else held

    def _holds_code(self, code: str) -> bool:
        whole = fold(code)
        joined = re.sub(r"[\-/._]", "", whole)
        return self._known(whole) or self._known(joined) or self._literal([code])

    def _holds_number(self, name: AskedName) -> bool | None:
        """A numbered thing (Room 17). None where there are no others of its series: then the
        number may be an amount or a place in an order."""
        if self._literal(_spellings(name.text)) or self._is_entity(name.text):
            return True
        if not name.series:
            return False if self._is_scanned else None
        if has_han(name.series):
            if not self._known(name.series) and not self._literal([name.series]):
                return False
            return False if self._matches(rf"{re.escape(name.series)}-?\d") else None
        series, number = stem(name.series.lower()), str(int(name.number))
        others: set[str] = set()
        for unit in self._units_with(name.series.lower())[:400]:
            words = [stem(word) for word in _WORD.findall(fold(self._text(unit)))]
            for place, word in enumerate(words):
                if word == series:
                    others.update(w for w in words[place + 1 : place + 2] if w.isdecimal())
            if number in others:
                return True
        return False if len(others) > 1 else None

    def _is_entity(self, name: str) -> bool:
        key = name_key(name)
        seeds = self._snapshot.graph.link(name)
        return any(name_key(s.surface) == key for s in seeds if s.how != "fuzzy")

    def _share_held(self, name: str) -> float:
        """The largest idf-weighted share of the name's words within one window of a text unit."""
        words = _words(name, self._snapshot.dictionary)
        if not words:
            return 1.0
        idf = self._snapshot.vocabulary.idf(words)
        weights: dict[str, float] = {}
        for word in words:
            weights[stem(word)] = max(weights.get(stem(word), 0.0), idf[word])
        total = sum(weights.values())
        cover = np.zeros(len(self._arrays["unit_ids"]), np.float32)
        for word in words:
            units = np.unique(np.concatenate([self._postings(form) for form in _forms(word)]))
            cover[units] += weights[stem(word)]
        if len(cover) == 0 or cover.max() < _HELD * total:
            return float(cover.max() / total) if len(cover) else 0.0
        best = np.flatnonzero(cover >= _HELD * total)
        best = best[np.argsort(-cover[best], kind="stable")][:_READ]
        if len(weights) == 1:
            return 1.0
        ids = [bytes(self._arrays["unit_ids"][unit]).decode() for unit in best]
        above = self._snapshot.places(ids)
        return (
            max(
                _closest(
                    f"{above.get(unit_id, '')}\n{self._text(unit)}",
                    weights,
                    self._snapshot.dictionary,
                )
                for unit_id, unit in zip(ids, best.tolist(), strict=True)
            )
            / total
        )

    def _known(self, token: str) -> bool:
        return self._snapshot.vocabulary.document_frequency(token) > 0

    def _units_with(self, word: str) -> list[int]:
        return sorted({int(u) for form in _forms(word) for u in self._postings(form)})

    def _postings(self, token: str) -> npt.NDArray[np.int32]:
        hashes = self._arrays["token_hashes"]
        code = np.uint64(hash64(token))
        place = int(np.searchsorted(hashes, code))
        if place >= len(hashes) or hashes[place] != code:
            return np.empty(0, np.int32)
        start, end = self._arrays["token_indptr"][place : place + 2]
        found: npt.NDArray[np.int32] = self._arrays["token_units"][start:end]
        return found

    def _text(self, unit: int) -> str:
        start, end = self._arrays["text_indptr"][unit : unit + 2]
        return self._arrays["text"][start:end].tobytes().decode()

    @property
    def _is_scanned(self) -> bool:
        return self._arrays["text"].nbytes <= _SCANNED

    def _literal(self, spellings: Iterable[str]) -> bool:
        return any(self._matches(_pattern(spelling)) for spelling in dict.fromkeys(spellings))

    def _matches(self, pattern: str) -> bool:
        """Whether the text of any unit matches, letter case aside; False where there is too much
        text to look."""
        if not self._is_scanned:
            return False
        flags = re.IGNORECASE if re.search("[A-Za-z]", pattern) else 0
        found = re.search(pattern.encode(), self._arrays["text"], flags)  # type: ignore[call-overload]
        return found is not None


def _pattern(spelling: str) -> str:
    edge = r"(?<![A-Za-z0-9])" if spelling[0].isascii() and spelling[0].isalnum() else ""
    last = spelling[-1]
    end = "" if not last.isascii() else r"(?!\d)" if last.isdecimal() else r"(?![A-Za-z0-9])"
    return edge + r"[ \-]?".join(re.escape(part) for part in re.split(r"[ \-]", spelling)) + end


def _spellings(name: str) -> list[str]:
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


def _words(name: str, dictionary: Sequence[str]) -> list[str]:
    return [word for word in query_tokens(name, dictionary) if word not in STOP_WORDS]


def _forms(word: str) -> list[str]:
    """The word, its singular and its plural."""
    if len(word) < 3 or not word.isascii():
        return [word]
    return [word, word[:-1] if word.endswith("s") else word + "s"]


def _closest(text: str, weights: Mapping[str, float], dictionary: Sequence[str]) -> float:
    """The largest weight of distinct words that stand within one window of a sentence."""
    # Chinese words are short and their tokens overlap.
    width = len(weights) * (1 if all(map(str.isascii, weights)) else 2) + _APART
    best = 0.0
    for line in text.split("\n"):
        for start, end in sentence_spans(line):
            words = [stem(word) for word in search_tokens(line[start:end], dictionary)]
            places = [place for place, word in enumerate(words) if word in weights]
            for place in places:
                near = {words[p] for p in places if place <= p < place + width}
                if len(near) >= _HELD * len(weights) - 0.1:
                    best = max(best, sum(weights[word] for word in near))
    return best
