"""Whether sentences are about what a question names: the chairman of Acme, not of Beta."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphkb.query.asked_names import asked_names
from graphkb.query.facts import names_in
from graphkb.query.owners import owner_of
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import HAN, has_han
from graphkb.text.segment import STOP_WORDS, is_word, query_tokens, search_tokens, stem, tag
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

# Forms of one role, and the two sides of one deal: what one says of it answers for the other.
_ROLES = (
    "chairman chairmen chairwoman chairwomen chairperson",
    "spokesman spokeswoman spokesperson spokesmen",
)
_FAMILIES = (
    "chair chaired chairman chairmen chairwoman chairwomen chairperson",
    _ROLES[1],
    "buy bought buyer purchase acquire acquisition sell sold seller sale",
    "found founder founded establish",
    "lead led leader",
)

_NUMBER = re.compile(r"\d")
_YEAR = re.compile(r"(?<=.)(?:19|20)\d\d年?.*|^(?:19|20)\d\d年(?:\d{1,2}月|[上下]半年)?")
# What stands between two names of which the same is asked.
_JOINED = re.compile(
    r"\s*(?:,|，|、|&|,?\s*\b(?:and|or|versus|vs\.?)\b|[和与及跟]|以及|还是)\s*(?:the )?"
)
_COMPARING = re.compile(
    r"^(?:please )?compare (?:the )?|^(?:请)?(?:比较|对比)(?:一下)?", re.IGNORECASE
)
_HAN_JOIN = re.compile("[和与及跟、]|以及")
_JOINED_OWNERS = re.compile(
    rf"(?:请问|比较)?([{HAN}A-Za-z0-9]{{2,12}}(?:(?:[和与及跟、]|以及)[{HAN}A-Za-z0-9]{{2,12}}?)+)(?=的)"
)
_ROLE_OF = re.compile(r"^[A-Z]{2,5} of (?:the )?")


@dataclass(frozen=True)
class AboutName:
    """A name of the question: its first word unless it says little, stems with their share of its
    weight, and what abbreviates it."""

    text: str
    first: str
    weights: Mapping[str, float]
    short: str = ""

    def stands_in(self, words: Set[str]) -> bool:
        """Whether stems of a text name it.

        >>> name = AboutName("Acme Pumps", "acme", {"acme": 0.7, "pump": 0.3})
        >>> name.stands_in({"acme"}), name.stands_in({"pump"})
        (True, False)
        """
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
    # 青松机械 in 青松机械的董事长是谁: common words that make up a name.
    owner = owner_of(question) if has_han(question) else ""
    if owner:
        whole = _YEAR.sub("", owner).strip()
        texts = [text for text in texts if text not in owner] + [whole] * bool(whole)
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
    first = "" if _is_place(words[0]) else stem(words[0])
    return AboutName(text, first, shares, initials if len(initials) > 2 else "")


def _is_place(word: str) -> bool:
    """Whether a Chinese word is the name of a place, which many companies there begin with."""
    return has_han(word) and is_word(word) and tag(word)[0][1] == "ns"


def direct_name(snapshot: Snapshot, question: str) -> AboutName | None:
    """The name where a question asks for something of one named thing, without a word on things
    between: the chairman of Acme, not of the company that took over Acme."""
    names = names_asked_about(snapshot, question)
    if len(names) != 1 or len(beside(snapshot, question, names[0])) > _DIRECT:
        return None
    return names[0]


def question_of_each(snapshot: Snapshot, question: str) -> list[str]:
    """The question for each of several things that it asks the same of, where each of these leads
    straight from one name; none where it does not ask so."""
    names = [name.text for name in asked_names(question) if name.kind in ("name", "code")]
    spans = [(question.find(name), question.find(name) + len(name)) for name in names]
    together = [
        (first, second)
        for first, second in pairwise(spans)
        if _JOINED.fullmatch(question, first[1], second[0])
    ]
    parts = [question[a:b] for a, b in dict.fromkeys(span for pair in together for span in pair)]
    if together:
        start, end = together[0][0][0], together[-1][1][1]
    elif found := _JOINED_OWNERS.match(question):
        (start, end), parts = found.span(1), _HAN_JOIN.split(found.group(1))
    before = _COMPARING.sub("", question[:start]) if parts else ""
    each = [f"{before}{part}{question[end:]}" for part in parts] if parts else []
    if not all(any(name.sure for name in asked_names(one)) for one in each):
        return []
    return each if len(each) > 1 and all(direct_name(snapshot, one) for one in each) else []


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


@lru_cache
def _families(written: tuple[str, ...]) -> tuple[frozenset[str], ...]:
    return tuple(frozenset(map(stem, words.split())) for words in written)


def role_forms(stems: Set[str]) -> Set[str]:
    """The other forms of the roles among stems: for men, women and several.

    >>> sorted(role_forms({"chairmen", "chair"}))[:2]
    ['chairman', 'chairmen']
    """
    return frozenset().union(*(one for one in _families(_ROLES) if not one.isdisjoint(stems)))


def with_kin(stems: Set[str]) -> Set[str]:
    """Stems with those that say the same of somebody else, or from the other side.

    >>> sorted(with_kin({"chairwoman"}) & {"chairman", "chair", "sold"})
    ['chair', 'chairman']
    """
    return frozenset(stems).union(
        *(family for family in _families(_FAMILIES) if not family.isdisjoint(stems))
    )


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
