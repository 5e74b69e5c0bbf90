"""Answers without a model: the sentences that cover the question best, word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from graphkb.query.about import (
    About,
    beside,
    direct_name,
    introduced_names,
    rank_share,
    role_forms,
    with_kin,
)
from graphkb.query.asked_kind import asked_kinds, holds_new, words_of
from graphkb.query.of_period import in_period, of_period, period_fit
from graphkb.query.other_period import is_of_another, is_of_asked
from graphkb.query.phrases import Phrase, Phrases, names_another, phrases_held
from graphkb.query.sentences import Sentence, sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.text.names import fold
from graphkb.text.periods import is_of_periods, names_part
from graphkb.text.segment import STOP_WORDS, query_tokens, search_tokens, stem
from graphkb.types import Passage

# What a question word covered by title or heading is worth beside one in the sentence itself.
_CONTEXT_SHARE = 0.5
# What a sentence gains by naming something that an earlier chosen sentence introduced.
_BRIDGE_SHARE = 0.3
# What a sentence gains by holding the kind of thing asked for (a date, a place).
_KIND_SHARE = 0.2
# What a sentence gains by holding all that the question names as a whole ("Room 17").
_PHRASE_SHARE = 0.3
# What the rank of a sentence keeps that is of another month than others and the question.
_OTHER_PERIOD = 0.5
# What of the words that the best sentence holds one of the asked period must hold to answer.
_LEAST_WORDS = 0.5
# A further sentence must bring this share of what the best one brought.
_LEAST_GAIN = 0.2
# How much a passage's score counts: (score / best score) to this power, so that sentences of
# the second and third hop stay in play.
_SCORE_POWER, _LEAST_SHARE = 0.3, 0.05

_LONGEST_TITLE = 80
_LABELLED = re.compile(r"\S\s*[:：=]\s*\S")
_ENDS = tuple('.。!！?？;；…:：)）”"')


@dataclass(frozen=True)
class Quote:
    """A sentence of a passage; ``start`` and ``end`` are offsets in the document's text.
    ``header`` holds the column names where the sentence is a row of a table."""

    passage: Passage
    start: int
    end: int
    text: str
    score: float
    header: tuple[str, ...] = ()


@dataclass(frozen=True)
class Candidate:
    """A sentence that may be quoted: stems of it and of what stands above it, its rank among the
    passages, the names of the question that it holds; how much it is about what the question
    leads from (:mod:`graphkb.query.about`), and whether it is of the month, quarter or day asked
    for (:func:`graphkb.query.of_period.period_fit`); ``other`` marks what says plainly that it is
    of another period, ``asked`` what is said of the asked one."""

    quote: Quote
    own: frozenset[str]
    context: frozenset[str]
    prior: float
    phrases: Set[Phrase]
    about: float = 1.0
    period: int = 0
    other: bool = False
    asked: bool = False


def stems_of(text: str, dictionary: Sequence[str]) -> frozenset[str]:
    """Stems of the text's search tokens."""
    return frozenset(stem(token) for token in search_tokens(text, dictionary))


def choose_quotes(
    snapshot: Snapshot,
    question: str,
    passages: Sequence[Passage],
    limit: int,
    ignored: Set[str] = frozenset(),
) -> list[Quote]:
    """Up to ``limit`` sentences in the order chosen: each adds the most question words not yet
    covered (weighted by idf) and names held as a whole, or links to what an earlier sentence
    introduced. Rows of one table between which the question does not tell come together.
    ``ignored`` are search tokens that need no cover where the question has others.

    Greedy maximum coverage (Nemhauser, Wolsey, Fisher 1978) with a bridge term, so that a chain
    of facts over several documents is quoted link by link; deterministic.
    """
    idf = wanted_stems(snapshot, question)
    without = set(map(stem, ignored))
    idf = {word: weight for word, weight in idf.items() if word not in without} or idf
    found, phrases = _all_candidates(snapshot, question, passages)
    chosen: list[Quote] = []
    done = _Covered(idf, phrases, snapshot.dictionary)
    if _is_of_others(found, done, idf):
        return []
    candidates = _without_others(found)
    first = 0.0
    while candidates and len(chosen) < limit:
        gains = [done.gain(candidate) for candidate in candidates]
        best = max(range(len(gains)), key=lambda i: (gains[i], -i))
        if gains[best] <= 0 or (chosen and gains[best] < _LEAST_GAIN * first):
            break
        candidate = candidates.pop(best)
        # Holding a name decides who comes first; what is worth adding is a matter of words.
        first = first or gains[best] - done.named(candidate)
        for one in (candidate, *_equals(candidate, candidates, idf)):
            if not _repeats(one, chosen):
                chosen.append(replace(one.quote, score=gains[best]))
            done.add(one)
        candidates = [c for c in candidates if not _repeats(c, chosen)]
    return chosen[:limit]


def guess_warning(snapshot: Snapshot, question: str, quotes: Sequence[Quote]) -> str:
    """What to say where the quotes name what the question leads from and hold no other word of
    it: Acme makes pumps, where its chairman is asked for. Empty where they hold any, or the
    question leads from no one name."""
    name = direct_name(snapshot, question)
    asked = with_kin(beside(snapshot, question, name)) if name else set()
    if name is None or not asked:
        return ""
    for quote in quotes:
        above = (quote.passage.title, quote.passage.heading, *quote.header)
        if asked & stems_of("\n".join((quote.text, *above)), snapshot.dictionary):
            return ""
    return (
        f"the quotes are about {name.text} and hold no other word of the question: they may not "
        "answer it"
    )


def wanted_stems(snapshot: Snapshot, question: str) -> dict[str, float]:
    """Stems of the question's words with their idf."""
    weights = snapshot.vocabulary.idf(query_tokens(question, snapshot.dictionary))
    idf: dict[str, float] = {}
    for token, weight in weights.items():
        idf[stem(token)] = max(idf.get(stem(token), 0.0), weight)
    return idf


def share_held(weights: Mapping[str, float], words: Set[str]) -> float:
    """The weighted share of the wanted stems that ``words`` hold, from 0 to 1."""
    total = sum(weights.values())
    return sum(w for token, w in weights.items() if token in words) / total if total else 0.0


def candidates_of(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> tuple[list[Candidate], Phrases]:
    """The sentences of the passages that may answer the question, with the question's names."""
    candidates, phrases = _all_candidates(snapshot, question, passages)
    return _without_others(candidates), phrases


def _all_candidates(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> tuple[list[Candidate], Phrases]:
    """The candidates with those that are of another period than the question names."""
    kinds, asked = asked_kinds(question), words_of(question)
    known = {passage.title: asked | words_of(passage.title) for passage in passages}
    passages = of_period(question, passages)
    top = max((passage.score for passage in passages), default=0.0) or 1.0
    places: list[tuple[Passage, Sentence]] = []
    for passage in passages:
        for sentence in sentences_of(passage.text, passage.columns):
            if (
                in_period(question, passage, sentence)
                and not names_another(question, sentence)
                and not is_title(sentence, passage)
            ):
                places.append((passage, sentence))
    phrases, held = phrases_held(question, [sentence for _, sentence in places])
    candidates: list[Candidate] = []
    about = About(direct_name(snapshot, question))
    of_part = names_part(question)
    tokens = query_tokens(question, snapshot.dictionary) if of_part else ()
    asked_periods = frozenset(stem(token) for token in tokens if is_of_periods(token))
    # Sentences of one passage share what stands above them.
    contexts: dict[str, frozenset[str]] = {}
    for (passage, sentence), names in zip(places, held, strict=True):
        text = sentence.text
        above = f"{passage.title}\n{sentence.heading or passage.heading}"
        if sentence.heading:
            above = f"{passage.heading}\n{above}"
        above = "\n".join((above, *sentence.header))
        if above not in contexts:
            contexts[above] = stems_of(above, snapshot.dictionary)
        fits = any(holds_new(text, kind, known[passage.title]) for kind in kinds)
        prior = max(passage.score / top, _LEAST_SHARE) ** _SCORE_POWER
        prior *= 1 + _KIND_SHARE * fits
        start, end = passage.char_start + sentence.start, passage.char_start + sentence.end
        quote = Quote(passage, start, end, text, 0.0, sentence.header)
        own = stems_of(text, snapshot.dictionary) - phrases.other_numbers(names)
        own |= role_forms(own)
        level = about.standing(passage, start, own, contexts[above])
        # A figure fits any question for one: there the name itself has to tell.
        if fits and "number" not in kinds:
            own |= about.named_above(contexts[above])
        period = period_fit(question, passage, sentence) if of_part else 0
        if period > 0:
            own |= asked_periods
            names = {phrase for phrase in names if not asked_periods.issuperset(phrase)}
        other = is_of_another(question, passage, sentence)
        candidates.append(
            Candidate(quote, own, contexts[above], prior, names, level, period, other)
        )
    # It is asked for only where something is of another period.
    if any(one.other for one in candidates):
        candidates = [
            replace(one, asked=not one.other and is_of_asked(question, *place))
            for one, place in zip(candidates, places, strict=True)
        ]
    if about.tells:
        candidates = [_ranked(candidate, about) for candidate in candidates]
    else:
        candidates = [one if one.about == 1 else replace(one, about=1.0) for one in candidates]
    return _of_part(candidates), phrases


def _of_part(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates where some are of the month, quarter or day asked for: without the rows of
    the same tables that are of another one; other sentences of another one come behind."""
    tables = {_table(one) for one in candidates if one.period > 0}
    return [
        replace(one, prior=one.prior * _OTHER_PERIOD) if tables and one.period < 0 else one
        for one in candidates
        if not (one.period < 0 and one.quote.header and _table(one) in tables)
    ]


def _without_others(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without the rows of another period than the question names; sentences of
    another one come behind."""
    return [
        replace(one, prior=one.prior * _OTHER_PERIOD) if one.other else one
        for one in candidates
        if not (one.other and one.quote.header)
    ]


def _is_of_others(
    candidates: Sequence[Candidate], done: _Covered, idf: Mapping[str, float]
) -> bool:
    """Whether what fits the question best is of another period, and nothing of the one it names
    holds as much of its other words."""
    others = [one for one in candidates if one.other]
    if not others:
        return False
    best = max(others, key=done.gain)
    gain = done.gain(best)
    words = {token: weight for token, weight in idf.items() if not is_of_periods(token)} or idf
    # A sentence is about many things, the row of a table about what its columns say.
    least = _LEAST_WORDS * share_held(words, best.own | best.context) * bool(best.quote.header)
    for one in candidates:
        share = share_held(words, one.own | one.context) if one.asked else 0.0
        if one.asked and share and share >= least and done.gain(one) > 0:
            return False
        if not (one.asked or one.other) and done.gain(one) >= gain:
            return False
    return gain > 0


def _table(candidate: Candidate) -> tuple[str, tuple[str, ...]]:
    return candidate.quote.passage.document_id, candidate.quote.header


def _ranked(candidate: Candidate, about: About) -> Candidate:
    quote = candidate.quote
    level = about.widened(candidate.about, quote.passage.document_id, quote.start)
    return replace(candidate, about=level, prior=candidate.prior * rank_share(level))


def is_title(sentence: Sentence, passage: Passage) -> bool:
    """Whether it only says what the document or section is called, which answers nothing: the
    words of a heading, or a first line that does not end like a sentence and stands above others.
    A label with its value is no title unless it stands alone."""
    if sentence.header:
        return False
    text = " ".join(sentence.text.split())
    line, _, below = passage.text.partition("\n")
    if not below.strip():
        return False
    if passage.char_start + sentence.start == 0 and len(text) <= _LONGEST_TITLE:
        is_line = line.strip() == sentence.text.strip() and not line.rstrip().endswith(_ENDS)
        stands_alone = not below.split("\n", 1)[0].strip()
        return is_line and (stands_alone or not _LABELLED.search(line))
    names = (passage.title, *passage.heading.split(" › "))
    # Folding changes the length of a text by little.
    near = [name for name in names if len(text) <= 2 * len(name) + 2]
    return any(fold(text.rstrip(".。")) == fold(" ".join(name.split())) for name in near)


class _Covered:
    """What the chosen sentences cover of the question, and what they introduce."""

    def __init__(
        self, idf: Mapping[str, float], phrases: Phrases, dictionary: Sequence[str]
    ) -> None:
        self._idf, self._phrases, self._dictionary = idf, phrases, dictionary
        self._total = sum(idf.values()) or 1.0
        self._shares: dict[str, float] = {}
        self._named: set[Phrase] = set()
        self._introduced: set[str] = set()
        self._names: set[str] = set()
        # By the identity of candidates: no other is made while these are chosen from.
        self._held: dict[int, list[tuple[str, float, float]]] = {}

    def gain(self, candidate: Candidate) -> float:
        """What a further sentence would bring; nothing where it is about something else than the
        question names, and about no name of an earlier sentence."""
        if not candidate.about and not candidate.own & self._names:
            return 0.0
        gained = 0.0
        for token, weight, share in self._held_by(candidate):
            gained += weight * max(share - self._shares.get(token, 0.0), 0.0)
        if gained <= 0:
            return 0.0
        bridge = _BRIDGE_SHARE if candidate.own & self._introduced else 0.0
        return candidate.prior * (gained / self._total + bridge) + self.named(candidate)

    def _held_by(self, candidate: Candidate) -> list[tuple[str, float, float]]:
        """The question's words that a sentence or what stands above it holds, with their idf and
        what holding them is worth. It is asked for again at every choice."""
        held = self._held.get(id(candidate))
        if held is None:
            own, context = candidate.own, candidate.context
            held = self._held[id(candidate)] = [
                (token, weight, 1.0 if token in own else _CONTEXT_SHARE)
                for token, weight in self._idf.items()
                if token in own or token in context
            ]
        return held

    def named(self, candidate: Candidate) -> float:
        """What of that is for names not held so far."""
        held = self._phrases.worth(candidate.phrases - self._named)
        return candidate.prior * _PHRASE_SHARE * held

    def add(self, candidate: Candidate) -> None:
        """Takes a sentence as chosen. Of a row its context is covered, too: it is one answer
        with the names of its columns, where a sentence below a heading may be one of many."""
        if candidate.quote.header:
            for token in candidate.context & self._idf.keys():
                self._shares[token] = max(self._shares.get(token, 0.0), _CONTEXT_SHARE)
        self._shares |= dict.fromkeys(candidate.own & self._idf.keys(), 1.0)
        self._named |= candidate.phrases
        self._introduced |= {t for t in candidate.own - self._idf.keys() if _is_telling(t)}
        self._names |= introduced_names(candidate.quote.text, self._dictionary)


def _equals(
    row: Candidate, candidates: Sequence[Candidate], idf: Mapping[str, float]
) -> list[Candidate]:
    """The other rows of a row's table that answer as well by the question's words. None where
    the question names a number that the row does not hold: they are all of something else."""
    asked = row.own & idf.keys()
    missing = idf.keys() - row.own - row.context
    if not row.quote.header or any(map(_has_digit, missing)):
        return []
    document = row.quote.passage.document_id
    return [
        other
        for other in candidates
        if other.quote.passage.document_id == document
        and other.quote.header == row.quote.header
        and other.context == row.context
        and other.own & idf.keys() == asked
        and other.phrases == row.phrases
    ]


def _has_digit(token: str) -> bool:
    return any(character.isdecimal() for character in token)


def _is_telling(token: str) -> bool:
    return token not in STOP_WORDS and (len(token) > 3 or (not token.isascii() and len(token) > 1))


def _repeats(candidate: Candidate, chosen: Sequence[Quote]) -> bool:
    quote = candidate.quote
    return any(
        quote.text == other.text
        or (
            quote.passage.document_id == other.passage.document_id
            and quote.start < other.end
            and other.start < quote.end
        )
        for other in chosen
    )
