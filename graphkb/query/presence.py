"""Whether the knowledge base holds a name at all: in any spelling, in any of its text units.

Looked up in the memory-mapped arrays of the graph: the name's words in the inverted index, then
where they stand in the few text units that hold most of them. Nothing depends on what was
retrieved for the question.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.graph.lookup import token_range
from graphkb.query.asked_names import AskedName
from graphkb.query.name_parts import name_parts, without_legal_form
from graphkb.query.phrases import WORD
from graphkb.query.scan import EDGE, is_in
from graphkb.query.spellings import code_pattern, spellings, text_pattern
from graphkb.search.bridge import unit_text
from graphkb.search.link import forms
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import has_han
from graphkb.text.names import fold, name_key
from graphkb.text.segment import STOP_WORDS, is_word, query_tokens, search_tokens, stem, tag
from graphkb.text.sentences import sentence_spans

Arrays = Mapping[str, npt.NDArray[Any]]

# Share of a name's words, weighted by idf, that stands close together where it is there: the
# same share of words by which the graph leg finds a name that is not written quite alike.
_HELD = 0.7
# Text units whose words are read.
_READ = 40
# Words that may stand between those of a name.
_APART = 2
# Bytes of text that are read through for one name, in about 0.1 s; of larger knowledge bases only
# the indexed words are looked at.
_SCANNED = 100_000_000

_POSSESSIVE = re.compile(r"['’]s\Z", re.IGNORECASE)
_ABBREVIATION = re.compile("[A-Z]{2,5}")
_SEPARATOR = re.compile(r"[\-/._ ]")
_VERSION = re.compile(r"v?(\d+(?:\.\d+)+)", re.IGNORECASE)
# What the name of a company may add to the name that it goes by.
_TRADE = re.compile("(?:科技|软件|网络|信息|技术|数据|智能|实业|控股)*")
# Words that questions add behind names of products, places and papers.
_GENERAL = frozenset(
    "plan plans feature features office product products price prices pricing project team "
    "department group version report reports platform system overview summary details".split()
)
# Characters of an entity's name from which on it may be the name of a company in a longer one;
# shorter ones are towns, animals and surnames too (蓝鲸/科技).
_TELLING = 3
# Characters that are read behind a name, and what shows that they are part of it.
_BEHIND = 10
_COMPANY = re.compile("集团|股份|控股|有限|公司")
# Seeds of a question that are looked at for what a Chinese name is made of.
_SEEDS = 8


class Presence:
    """What of the names of questions one snapshot holds."""

    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._arrays: Arrays = snapshot.graph.arrays

    def judge(self, question: str, name: AskedName) -> list[tuple[AskedName, bool | None]]:
        """The name, or where it stands nowhere the names that it is made of, each with whether
        it is held."""
        held = self.holds(name)
        if name.kind != "name" or held or (held is None and has_han(name.text)):
            return [(name, held)]
        start = max(question.find(name.text), 0)
        if has_han(name.text):
            return [(name, self._holds_han_part(question, name.text))]
        parts = name_parts(name.text, question[:start])
        each = [(replace(name, text=part), self._holds_part(part)) for part in parts]
        telling = any(held and not self.is_everyday(part.text) for part, held in each)
        if len(each) < 2 or telling:
            return each or [(name, None)]
        whole = name.text[name.text.find(parts[0]) : name.text.rfind(parts[-1]) + len(parts[-1])]
        return [(replace(name, text=whole), self._holds_part(whole))]

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
        by_letter = has_han(text) or any(map(str.isdecimal, text))
        if by_letter and self._literal(spellings(text)):
            return not has_han(text) or self._stands_by_itself(text)
        held = self._share_held(text.replace("-", " ")) >= _HELD
        # What an abbreviation stands for may be written out everywhere; what lies in a folder
        # may be all about its name.
        open_ = not held and (_ABBREVIATION.fullmatch(text) or self._is_place(text))
        return None if open_ else held

    def _stands_by_itself(self, name: str) -> bool:
        """Whether a Chinese name that is written somewhere is not each time the beginning of
        another word of the dictionary: 中国移动 in 中国移动通信史."""
        words = [w for w in _words(name, self._snapshot.dictionary) if self._known(w)]
        if len(name) <= _TELLING or not words:
            return True
        rarest = min(words, key=self._snapshot.vocabulary.document_frequency)
        found = [
            text[match.start() : match.end() + _BEHIND]
            for text in map(self._text, self._units_with(rarest)[:_READ])
            for match in re.finditer(re.escape(name), text)
        ]
        return not found or not all(_goes_on(name, text) for text in found)

    def _holds_part(self, part: str) -> bool | None:
        """As :meth:`holds`; None for an everyday word, and where only those are missing beside
        what is held (Petrel Plan)."""
        held = self.holds(AskedName(part, "name"))
        words = part.split()
        if held is not False:
            return held
        if len(words) == 1:
            return None if self.is_everyday(part) else False
        shorter = words[: -1 if words[-1].lower() in _GENERAL else None]
        if len(shorter) < len(words) and self.holds(AskedName(" ".join(shorter), "name")):
            return None
        proper = [word for word in words if not self.is_everyday(word)]
        known = 0 < len(proper) < len(words) and self._is_entity(" ".join(proper))
        return None if known else False

    def is_everyday(self, word: str) -> bool:
        """Whether a text has the word in small letters, in singular or plural."""
        if not (word.isascii() and word.isalpha() and self._is_scanned):
            return False
        pattern = rf"{EDGE}(?:{'|'.join(_forms(word.lower()))})(?![A-Za-z0-9])"
        return is_in(self._arrays["text"], pattern, any_case=False)

    def _holds_han_part(self, question: str, name: str) -> bool | None:
        """Whether a Chinese name is held without its legal form (青石谷集团). None where what it
        adds to a known entity are words that the documents have."""
        core = without_legal_form(name)
        if core != name and len(core) > 1 and self._is_entity(core):
            return True
        if core != name and len(core) > 2 and self._literal([core]):
            return True
        start = question.find(name)
        for seed in self._snapshot.graph.link(question)[:_SEEDS]:
            first = question.find(seed.surface) if seed.how != "fuzzy" else -1
            last, end = first + len(seed.surface), start + len(name)
            if first < 0 or len(seed.surface) < _TELLING or last <= start or first >= end:
                continue
            rest = without_legal_form(question[last:end])
            words = query_tokens(question[start:first] + " " + rest, self._snapshot.dictionary)
            if all(map(self._known, words)) or (first <= start and _TRADE.fullmatch(rest)):
                return None
        return False

    def _is_place(self, name: str) -> bool:
        """Whether a document or a folder has the name."""
        return fold(name) in self._snapshot.document_names

    def _holds_code(self, code: str) -> bool:
        whole = fold(code)
        joined = _SEPARATOR.sub("", whole)
        if self._known(whole) or self._known(joined) or self._literal([code]):
            return True
        version = _VERSION.fullmatch(code)
        if version:
            return self._literal([version.group(1)])
        return self._matches(code_pattern(whole)) or self._is_place(code)

    def _holds_number(self, name: AskedName) -> bool | None:
        """A numbered thing (Room 17). None where there are no others of its series: then the
        number may be an amount or a place in an order."""
        if self._literal(spellings(name.text)) or self._is_entity(name.text):
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
            words = [stem(word) for word in WORD.findall(fold(self._text(unit)))]
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
        return np.asarray(self._arrays["token_units"][token_range(self._arrays, token)])

    def _text(self, unit: int) -> str:
        return unit_text(self._arrays, unit)

    @property
    def _is_scanned(self) -> bool:
        return self._arrays["text"].nbytes <= _SCANNED

    def _literal(self, written: Iterable[str]) -> bool:
        return any(self._matches(text_pattern(spelling)) for spelling in dict.fromkeys(written))

    def _matches(self, pattern: str) -> bool:
        """Whether the text of any unit matches, letter case aside; False where there is too much
        text to look."""
        return self._is_scanned and is_in(self._arrays["text"], pattern)


def _words(name: str, dictionary: Sequence[str]) -> list[str]:
    return [word for word in query_tokens(name, dictionary) if word not in STOP_WORDS]


def _goes_on(name: str, text: str) -> bool:
    """Whether a text begins with a longer word of the dictionary than the name that it begins
    with, and that is not the whole name of a company."""
    for word, _, start, end in tag(text):
        if start < len(name) < end:
            return is_word(word) and not _COMPANY.match(text, end)
    return False


def _forms(word: str) -> list[str]:
    """The word, its singular and its plural."""
    return [form for form, _ in forms(word)] if word.isascii() else [word]


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
