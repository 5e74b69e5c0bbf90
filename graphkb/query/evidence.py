"""How well the documents cover a question: what a refusal is decided by.

One score in [0, 1] for all languages, with and without vectors:

    words    c = share of the question's words, weighted by idf, that the best passages hold
    names    n = c + (1 - c) · K / 2          K: weight of the names that the documents hold
    lead     e = (n + 4 · lead) / 1.3         only with vectors of the built-in model
    missing  evidence = e · (K / (K + M))^1.25   M: weight of the names that they hold nowhere

A name (:mod:`graphkb.query.asked_names`) weighs its rarest word's idf, divided by that of a word
that is nowhere. It is looked for in the whole knowledge base (:mod:`graphkb.query.presence`), not
in what was retrieved: of Supplier 77 there are always passages that speak of suppliers.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

from rapidfuzz import fuzz

from graphkb.query.asked_names import AskedName, asked_names
from graphkb.query.of_file import is_about_a_file
from graphkb.query.of_period import is_of_part, of_period
from graphkb.query.presence import Presence
from graphkb.search.files import without_files
from graphkb.search.hybrid import Retrieval
from graphkb.search.snapshot import Snapshot
from graphkb.text.han_years import fold_years
from graphkb.text.language import detect_language, has_han
from graphkb.text.periods import is_of_periods
from graphkb.text.segment import query_tokens, search_tokens, stem
from graphkb.types import Passage

# Passages whose words count as found; evidence for one question is rarely spread wider.
_PASSAGES = 5

# For a question in another language than its best passage words say nothing, so the cosine of
# multilingual-e5 decides. Measured over the sample project and the benchmark sets: unrelated
# pairs reach 0.80, related ones start at 0.81.
_UNRELATED, _CERTAIN = 0.79, 0.85

# Chosen on the questions of benchmarks/refusal.py, which measures what they reach.
_NAMED_SHARE = 0.5
_LEAD_WEIGHT, _FULL = 4.0, 1.3
_MISSING_POWER = 1.25

# What a name weighs by its kind. Years stand in many documents about other things; a short
# Chinese word that no dictionary knows may be no name.
_YEAR_KNOWN, _YEAR_MISSING, _DOUBTFUL = 0.2, 0.6, 0.4
# A name that is held in another form than its words: what its idf would say is not known.
_OTHER_FORM = 0.5
# What entities weigh that the question speaks of without writing them as names (青石谷).
_LINKED = 0.3

# A code that stands in the best passages outweighs how the question is worded (“怎么处理”).
_KNOWN_CODE = 0.6
# What stands between two names of which each is asked for, or one.
_EITHER = re.compile(
    r"[^,;.?!，；。？！]{0,20}?(?:\b(?:or|and|versus)\b|\bvs\b\.?|&|还是|或者?)"
    r"[^,;.?!，；。？！]{0,20}|[^，；。？！、]{0,3}?[和与跟及][^，；。？！、]{0,4}|、",
    re.IGNORECASE,
)
# Share of Chinese text units from which on a name in Latin letters may be told of in them.
_GOOD_PART = 0.2
# Likeness of two spellings of one word, and the shortest word that is compared.
_MISSPELT, _SHORTEST = 85.0, 5


@dataclass(frozen=True)
class Evidence:
    """``value`` in [0, 1]; ``reason`` in words for the trace; ``foreign`` when the best passage
    is in another language than the question; ``missing`` are names of the question that stand
    nowhere in the knowledge base."""

    value: float
    reason: str
    foreign: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Named:
    """Weights of the names that are held and of those that are not, and the latter; ``codes``
    are tokens of held codes, ``beside`` those of names asked for beside one that is held."""

    known: float = 0.0
    unknown: float = 0.0
    missing: tuple[AskedName, ...] = ()
    codes: tuple[str, ...] = ()
    beside: frozenset[str] = frozenset()

    @property
    def share(self) -> float:
        """How much of what the question names is there; 1 where it names nothing."""
        total = self.known + self.unknown
        return self.known / total if total else 1.0


def measure_evidence(
    snapshot: Snapshot, question: str, passages: Sequence[Passage], found: Retrieval
) -> Evidence:
    """The evidence for a question in the passages found for it, as the module says; across
    languages how close the best one is by embedding. 0 when there are no passages."""
    if passages and is_about_a_file(snapshot, question):
        return Evidence(1.0, "the question asks for all of a file that is there")
    question = fold_years(without_files(snapshot, question))
    if not passages:
        missing = _names_of(_named(snapshot, question, (), across=False).missing)
        return Evidence(0.0, "nothing was found", missing=missing)
    n_found = len(passages)
    passages = of_period(question, passages)
    if not passages:
        missing = _names_of(_named(snapshot, question, (), across=False).missing)
        reason = f"the {n_found} passages found are about other periods"
        return Evidence(0.0, reason, missing=missing)
    tokens = query_tokens(question, snapshot.dictionary)
    best = passages[:_PASSAGES]
    # A date is written in many ways.
    dates = frozenset(filter(is_of_periods, tokens) if is_of_part(question, best) else ())
    asked, told = detect_language(question), detect_language(passages[0].text)
    across = found.nearest is not None and {asked, told} == {"en", "zh"}
    named = _named(snapshot, question, best, across)
    asked_for = [token for token in tokens if token not in named.beside]
    covered = word_coverage(snapshot, asked_for, best, dates)
    if named.codes and word_coverage(snapshot, named.codes, best) == 1:
        covered = max(covered, _KNOWN_CODE)
    missing = _names_of(named.missing)
    penalty = named.share**_MISSING_POWER
    lost = f"; {', '.join(missing)}: nowhere in the documents" if missing else ""
    if others := n_found - len(passages):
        lost += f"; {others} of {n_found} passages are about other periods and left out"
    if found.nearest is not None and across:
        similarity = found.nearest.similarity
        near = min(max((similarity - _UNRELATED) / (_CERTAIN - _UNRELATED), 0.0), 1.0)
        reason = f"closeness across languages {similarity:.2f}{lost}"
        return Evidence(max(near, covered) * penalty, reason, True, missing)
    reason = f"{covered:.0%} of the question's words are covered"
    value = covered + (1 - covered) * _NAMED_SHARE * min(named.known, 1.0)
    builtin = snapshot.manifest.embedding.get("provider") == "builtin"
    if found.nearest is not None and found.nearest.lead is not None and builtin:
        value = min((value + _LEAD_WEIGHT * found.nearest.lead) / _FULL, 1.0)
        reason += f"; the best passage leads by {found.nearest.lead:.3f}"
    return Evidence(value * penalty, reason + lost, missing=missing)


def _named(snapshot: Snapshot, question: str, passages: Sequence[Passage], across: bool) -> _Named:
    """What the question names. ``across`` languages only codes are the same in both, and names
    in the letters of the passages."""
    presence = Presence(snapshot)
    rarest = max(snapshot.vocabulary.idf(("",)).values())
    known = unknown = 0.0
    missing: list[AskedName] = []
    codes: list[str] = []
    beside: set[str] = set()
    judged = [
        each
        for name in asked_names(question)
        if not across or name.kind == "code" or _is_written_so(question, name)
        for each in presence.judge(question, name)
    ]
    names = [name for name, _ in judged]
    linked = [seed.surface for seed in snapshot.graph.link(question) if seed.how != "fuzzy"]
    held_by = dict.fromkeys(linked, True) | {name.text: held for name, held in judged}
    for name, held in judged:
        if held is False and name.kind == "name" and _is_misspelt(snapshot, name.text, passages):
            held = True
        if held is None:
            continue
        weight = _weight(snapshot, name, held, rarest)
        if held:
            known += weight
            codes += query_tokens(name.text, snapshot.dictionary)[:1] * (name.kind == "code")
        else:
            # Of several that are asked for one is enough.
            if _is_alternative(question, name.text, held_by):
                beside.update(query_tokens(name.text, snapshot.dictionary))
            else:
                unknown += weight
            if not _is_told_in_chinese(snapshot, name.text):
                missing.append(name)
    if not across:
        known += _linked(snapshot, question, names)
    return _Named(known, unknown, tuple(missing), tuple(codes), frozenset(beside))


def _is_written_so(question: str, name: AskedName) -> bool:
    """Whether a name is in the letters of another language than the question: then it is as the
    documents in that language have it."""
    return name.kind == "name" and has_han(name.text) != (detect_language(question) == "zh")


def _is_told_in_chinese(snapshot: Snapshot, name: str) -> bool:
    """Whether a Latin name may be there in Chinese characters: with vectors (which find it),
    where a good part of the text units is Chinese. Codes are written alike."""
    if has_han(name) or any(map(str.isdecimal, name)) or snapshot.dense_problem():
        return False
    counts: dict[str, int] = dict(snapshot.manifest.notes.get("languages", {}))
    return counts.get("zh", 0) >= _GOOD_PART * max(sum(counts.values()), 1)


def _is_alternative(question: str, name: str, held: Mapping[str, bool | None]) -> bool:
    """Whether the question has a name beside one that is held: in Bergen or in Oslo?"""
    for other in (text for text, is_held in held.items() if is_held):
        for first, second in ((name, other), (other, name)):
            start, end = question.find(first), question.rfind(second)
            if 0 <= start < end and _EITHER.fullmatch(question, start + len(first), end):
                return True
    return False


def _names_of(names: Sequence[AskedName]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name.text for name in names))


def _weight(snapshot: Snapshot, name: AskedName, held: bool, rarest: float) -> float:
    if name.kind == "year" and not held:
        return _YEAR_MISSING
    words = query_tokens(name.text, snapshot.dictionary) or [name.text.lower()]
    if held and not any(map(snapshot.vocabulary.document_frequency, words)):
        weight = _OTHER_FORM
    else:
        weight = max(snapshot.vocabulary.idf(words).values()) / rarest
    return weight * (_YEAR_KNOWN if name.kind == "year" else 1.0 if name.sure else _DOUBTFUL)


def _linked(snapshot: Snapshot, question: str, names: Sequence[AskedName]) -> float:
    """The weight of entities with Chinese names that are not among the names."""
    if not has_han(question):
        return 0.0
    weights = [
        seed.weight
        for seed in snapshot.graph.link(question)[:3]
        if has_han(seed.surface)
        and not any(seed.surface in name.text or name.text in seed.surface for name in names)
    ]
    return _LINKED * min(sum(weights), 1.0)


def _is_misspelt(snapshot: Snapshot, name: str, passages: Sequence[Passage]) -> bool:
    """Whether each word of a name that is in no document is nearly one of the passages."""
    unknown = [
        token
        for token in query_tokens(name, snapshot.dictionary)
        if not snapshot.vocabulary.document_frequency(token)
    ]
    if not unknown or not all(t.isalpha() and t.isascii() and len(t) >= _SHORTEST for t in unknown):
        return False
    words = {
        word
        for passage in passages
        for word in search_tokens(f"{passage.title}\n{passage.text}", snapshot.dictionary)
        if len(word) >= _SHORTEST
    }
    return all(
        any(word[0] == token[0] and fuzz.ratio(word, token) >= _MISSPELT for word in words)
        for token in unknown
    )


def widest_evidence(
    snapshot: Snapshot, passages: Sequence[Passage], each: Sequence[tuple[str, Retrieval]]
) -> Evidence:
    """The evidence for the question, the first of ``each``; or for a wording of it in another
    language where that is better covered. Other wordings say less about what was asked."""
    (question, found), *others = each
    evidence = measure_evidence(snapshot, question, passages, found)
    asked = detect_language(question)
    for text, retrieval in others:
        if detect_language(text) != asked:
            other = measure_evidence(snapshot, text, passages, retrieval)
            if other.value > evidence.value:
                reason = f"{other.reason} (in other words: {text})"
                evidence = replace(
                    evidence, value=other.value, reason=reason, missing=other.missing
                )
    return evidence


def word_coverage(
    snapshot: Snapshot,
    tokens: Sequence[str],
    passages: Sequence[Passage],
    known: Set[str] = frozenset(),
) -> float:
    """Share of the tokens, weighted by idf, that stand in any of the passages, in any form, or
    are ``known`` to be there."""
    idf = snapshot.vocabulary.idf(tokens)
    total = sum(idf.values())
    if not total:
        return 0.0
    present = set(map(stem, known))
    for passage in passages:
        text = f"{passage.title}\n{passage.heading}\n{passage.text}"
        present.update(stem(token) for token in search_tokens(text, snapshot.dictionary))
    return sum(weight for token, weight in idf.items() if stem(token) in present) / total
