"""Answers without a model: the sentences that cover the question best, word for word."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import replace

from graphkb.query.about import beside, direct_name, introduced_names, with_kin
from graphkb.query.candidates import (
    Candidate,
    Quote,
    all_candidates,
    stems_of,
    without_others,
)
from graphkb.query.listed import is_within, with_items
from graphkb.query.other_kind import (
    ASKED,
    LESS,
    OTHER,
    UNKNOWN,
    excludes_others,
    kind_fit,
    may_fit,
    same_words,
)
from graphkb.query.phrases import Phrase, Phrases
from graphkb.search.snapshot import Snapshot
from graphkb.text.periods import is_of_periods
from graphkb.text.segment import STOP_WORDS, query_tokens, stem
from graphkb.types import Passage

# What a question word covered by title or heading is worth beside one in the sentence itself.
_CONTEXT_SHARE = 0.5
# What a sentence gains by naming something that an earlier chosen sentence introduced.
_BRIDGE_SHARE = 0.3
# What a sentence gains by holding all that the question names as a whole ("Room 17").
_PHRASE_SHARE = 0.3
# What of the words that the best sentence holds one of the asked period must hold to answer.
_LEAST_WORDS = 0.5
# Words of a question that asks for one thing.
_FEW = 3
# What the rank of a sentence keeps that is about another kind of what is asked.
_OTHER_KIND = 0.5
# A further sentence must bring this share of what the best one brought.
_LEAST_GAIN = 0.2


def choose_quotes(
    snapshot: Snapshot,
    question: str,
    passages: Sequence[Passage],
    limit: int,
    ignored: Set[str] = frozenset(),
) -> list[Quote]:
    """Up to ``limit`` sentences in the order chosen: each adds the most question words not yet
    covered (weighted by idf) and names held as a whole, or links to what an earlier sentence
    introduced. Rows of one table between which the question does not tell come together, and a
    sentence that opens a list with the items of that.
    ``ignored`` are search tokens that need no cover where the question has others.

    Greedy maximum coverage (Nemhauser, Wolsey, Fisher 1978) with a bridge term, so that a chain
    of facts over several documents is quoted link by link; deterministic.
    """
    idf = wanted_stems(snapshot, question)
    without = set(map(stem, ignored))
    idf = {word: weight for word, weight in idf.items() if word not in without} or idf
    found, phrases = all_candidates(snapshot, question, passages)
    chosen: list[Quote] = []
    done = _Covered(idf, phrases, snapshot.dictionary)
    if _is_of_others(found, done, idf):
        return []
    candidates = _of_kind(snapshot, question, without_others(found), done, idf)
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
                quote = with_items(snapshot, replace(one.quote, score=gains[best]))
                chosen = [*(other for other in chosen if not is_within(other, quote)), quote]
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


def _of_kind(
    snapshot: Snapshot,
    question: str,
    candidates: Sequence[Candidate],
    done: _Covered,
    idf: Mapping[str, float],
) -> list[Candidate]:
    """The candidates without those about another thing than the question names; none where such a
    one fits best, nothing has what is asked and the others say nothing of what is wanted, the
    question's words beside a name. Those about another kind of it come behind."""
    texts = [_told(one) for one in candidates]
    open_ = [may_fit(question, text) for text in texts]
    if not any(open_):
        return list(candidates)
    name = direct_name(snapshot, question)
    wanted = beside(snapshot, question, name) if name else idf.keys()
    is_direct = name is not None or len(idf) <= _FEW
    candidates = [
        replace(one, own=one.own | said) if (said := same_words(question, text)) else one
        for one, text in zip(candidates, texts, strict=True)
    ]
    fits = [
        kind_fit(question, text, one.quote.passage.heading, direct=is_direct) if may else UNKNOWN
        for one, text, may in zip(candidates, texts, open_, strict=True)
    ]
    kept = [
        replace(one, prior=one.prior * _OTHER_KIND) if fit == LESS else one
        for one, fit in zip(candidates, fits, strict=True)
        if fit != OTHER
    ]
    if len(kept) == len(candidates):
        return kept
    gains = [done.gain(one) for one in candidates]
    told = [fit for fit, gain in zip(fits, gains, strict=True) if gain > 0]
    if ASKED in told:
        return kept
    if excludes_others(question):
        return []
    best = max(gain for fit, gain in zip(fits, gains, strict=True) if fit == OTHER)
    answering = [one for one in kept if one.own & wanted and done.gain(one) >= _LEAST_WORDS * best]
    return kept if answering or not best else []


def _told(candidate: Candidate) -> str:
    quote = candidate.quote
    return "\n".join((*quote.header, quote.text)) if quote.header else quote.text


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
        # By the identity of candidates, which stay with it: no other then has the same.
        self._held: dict[int, tuple[Candidate, list[tuple[str, float, float]]]] = {}

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
        if id(candidate) not in self._held:
            own, context = candidate.own, candidate.context
            held = [
                (token, weight, 1.0 if token in own else _CONTEXT_SHARE)
                for token, weight in self._idf.items()
                if token in own or token in context
            ]
            self._held[id(candidate)] = candidate, held
        return self._held[id(candidate)][1]

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
