"""The sentences that may be quoted, with what their choice goes by."""

from __future__ import annotations

import re
from collections.abc import Sequence, Set
from dataclasses import dataclass, replace

from graphkb.query.about import About, direct_name, rank_share, role_forms
from graphkb.query.asked_kind import asked_kinds, holds_new, words_of
from graphkb.query.of_period import in_period, of_period, period_fit
from graphkb.query.other_period import is_of_another, is_of_asked
from graphkb.query.phrases import Phrase, Phrases, names_another, phrases_held
from graphkb.query.sentences import Sentence, sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.text.names import fold
from graphkb.text.periods import is_of_periods, names_part
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.types import Passage

# What a sentence gains by holding the kind of thing asked for (a date, a place).
_KIND_SHARE = 0.2
# What the rank of a sentence keeps that is of another month than others and the question.
_OTHER_PERIOD = 0.5
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


def candidates_of(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> tuple[list[Candidate], Phrases]:
    """The sentences of the passages that may answer the question, with the question's names."""
    candidates, phrases = all_candidates(snapshot, question, passages)
    return without_others(candidates), phrases


def all_candidates(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> tuple[list[Candidate], Phrases]:
    """The candidates with those that are of another period than the question names."""
    kinds, asked = asked_kinds(question), words_of(question)
    known = {passage.title: asked | words_of(passage.title) for passage in passages}
    passages = of_period(question, passages)
    top = max((passage.score for passage in passages), default=0.0) or 1.0
    places = _places(question, passages)
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
        above = _above(passage, sentence)
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


def _places(question: str, passages: Sequence[Passage]) -> list[tuple[Passage, Sentence]]:
    """The sentences that are not of another year or thing than the question names, nor a title,
    each with its passage."""
    return [
        (passage, sentence)
        for passage in passages
        for sentence in sentences_of(passage.text, passage.columns)
        if in_period(question, passage, sentence)
        and not names_another(question, sentence)
        and not is_title(sentence, passage)
    ]


def _above(passage: Passage, sentence: Sentence) -> str:
    """What a sentence is read under, a line each: titles, headings, names of columns."""
    headings = [passage.heading] if sentence.heading else []
    nearest = sentence.heading or passage.heading
    return "\n".join((*headings, passage.title, nearest, *sentence.header))


def _of_part(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates where some are of the month, quarter or day asked for: without the rows of
    the same tables that are of another one; other sentences of another one come behind."""
    tables = {_table(one) for one in candidates if one.period > 0}
    return [
        replace(one, prior=one.prior * _OTHER_PERIOD) if tables and one.period < 0 else one
        for one in candidates
        if not (one.period < 0 and one.quote.header and _table(one) in tables)
    ]


def without_others(candidates: Sequence[Candidate]) -> list[Candidate]:
    """The candidates without the rows of another period than the question names; sentences of
    another one come behind."""
    return [
        replace(one, prior=one.prior * _OTHER_PERIOD) if one.other else one
        for one in candidates
        if not (one.other and one.quote.header)
    ]


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
