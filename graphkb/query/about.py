"""Whether sentences are about what a question names: the chairman of Acme, not of Beta."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from graphkb.query.asked_names import asked_names
from graphkb.query.facts import names_in
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN, has_han
from graphkb.text.segment import STOP_WORDS, query_tokens, search_tokens, stem
from graphkb.types import Passage

# Shares of a name's words, weighted by idf, that name it: most, or less with the first of them
# (Lumora for Lumora Oy, but not another Oy).
_MOST, _FIRST = 0.75, 0.35
# How much a sentence is about a name by where that stands: in it or above it, in a sentence
# before it in its text unit, in another part of the document.
_OWN, _BEFORE, _DOCUMENT = 1.0, 0.9, 0.5
# Words beside the name in a question that leads straight to it.
_DIRECT = 3
# Of the rank of a sentence so much depends on it.
_SHARE = 0.5

_NUMBER = re.compile(r"\d")
# 青松机械 in 青松机械的董事长是谁: common words that make up a name.
_OWNER = re.compile(rf"^(?:请问|谁是|哪位是|哪个是|什么是)?([{HAN}A-Za-z0-9]{{2,15}}?)的")
_YEAR = re.compile(r"(?:19|20)\d\d年?.*")
_ROLE_OF = re.compile(r"^[A-Z]{2,5} of (?:the )?")


@dataclass(frozen=True)
class AboutName:
    """A name of the question: its first word, stems with their share of its weight, and what
    abbreviates it."""

    text: str
    first: str
    weights: Mapping[str, float]
    short: str = ""

    def stands_in(self, words: Set[str]) -> bool:
        """Whether stems of a text name it."""
        held = sum(share for word, share in self.weights.items() if word in words)
        if any(word not in words for word in self.weights if _NUMBER.search(word)):
            return False  # Lantern L2 is not Lantern L3
        least = _FIRST if self.first in words else _MOST
        return held >= least or (bool(self.short) and self.short in words)


def names_asked_about(snapshot: Snapshot, question: str) -> list[AboutName]:
    """The names and codes of a question whose words stand somewhere in the documents."""
    texts = [
        _ROLE_OF.sub("", name.text)
        for name in asked_names(question)
        if name.kind in ("name", "code") and name.sure
    ]
    owner = _OWNER.match(question) if has_han(question) else None
    if owner:
        whole = _YEAR.sub("", owner[1])
        texts = [text for text in texts if text not in owner[1]] + [whole] * bool(whole)
    return [name for text in texts if (name := _about(snapshot, text))]


def _about(snapshot: Snapshot, text: str) -> AboutName | None:
    words = [w for w in query_tokens(text, snapshot.dictionary) if w not in STOP_WORDS]
    if not any(map(snapshot.vocabulary.document_frequency, words)):
        return None
    idf = snapshot.vocabulary.idf(words)
    weights: dict[str, float] = {}
    for word in words:
        weights[stem(word)] = max(weights.get(stem(word), 0.0), idf[word])
    total = sum(weights.values()) or 1.0
    initials = "".join(re.findall(r"\b[A-Z]", text)).lower()
    shares = {word: weight / total for word, weight in weights.items()}
    return AboutName(text, stem(words[0]), shares, initials if len(initials) > 2 else "")


def direct_name(snapshot: Snapshot, question: str) -> AboutName | None:
    """The name where a question asks for something of one named thing, without a word on things
    between: the chairman of Acme, not of the company that took over Acme."""
    names = names_asked_about(snapshot, question)
    if len(names) != 1 or len(beside(snapshot, question, names[0])) > _DIRECT:
        return None
    return names[0]


def beside(snapshot: Snapshot, question: str, name: AboutName) -> set[str]:
    """Stems of the question's words beside the name, without numbers and what it asks with."""
    words = {word for word in query_tokens(question, snapshot.dictionary) if word not in STOP_WORDS}
    rest = {word for word in words if stem(word) not in name.weights and not word[:1].isdecimal()}
    # 财务 and 总监 beside 财务总监
    rest = {word for word in rest if not any(word != other and word in other for other in rest)}
    return {stem(word) for word in rest}


def introduced_names(sentence: str, dictionary: Sequence[str]) -> set[str]:
    """Stems of the names in a sentence, by which another one may go on."""
    text = " ".join(names_in(sentence))
    return {
        stem(word)
        for word in search_tokens(text, dictionary)
        if word not in STOP_WORDS and (len(word) > 2 or (has_han(word) and len(word) > 1))
    }


class About:
    """How much each sentence of one question's passages is about the name that it leads from."""

    def __init__(self, name: AboutName | None) -> None:
        self._name = name
        self._documents: dict[str, int] = {}
        self._unit = ""
        self._before = False

    def standing(self, passage: Passage, start: int, own: Set[str], above: Set[str]) -> float:
        """From 0 to 1 for a sentence at ``start`` of its document; to be asked of the sentences of
        a passage in their order."""
        if self._name is None:
            return _OWN
        if passage.text_unit_id != self._unit:
            self._unit, self._before = passage.text_unit_id, False
        if not (self._name.stands_in(own) or self._name.stands_in(above)):
            return _BEFORE if self._before else 0.0
        self._before = True
        first = self._documents.get(passage.document_id, start)
        self._documents[passage.document_id] = min(first, start)
        return _OWN

    def named_above(self, above: Set[str]) -> Set[str]:
        """The stems of the name where what stands above a sentence names it: then it need not."""
        named = self._name is not None and self._name.stands_in(above)
        return self._name.weights.keys() if self._name and named else frozenset()

    def widened(self, level: float, document_id: str, start: int) -> float:
        """The standing with regard to what stands before in other text units of the document."""
        is_below = start > self._documents.get(document_id, start)
        return level or _DOCUMENT * is_below

    @property
    def tells(self) -> bool:
        """Whether any sentence is about the name: else nothing follows from it."""
        return bool(self._documents)


def rank_share(level: float) -> float:
    """What of its rank a sentence keeps."""
    return 1 - _SHARE * (1 - level)
