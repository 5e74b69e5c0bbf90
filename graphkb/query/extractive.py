"""Answers without a model: the sentences that cover the question best, word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from graphkb.errors import EmbeddingError
from graphkb.query.asked_kind import asked_kinds, holds_kind
from graphkb.query.of_period import in_period, of_period
from graphkb.query.phrases import WORD, Phrase, Phrases, names_another, phrases_held
from graphkb.query.sentences import Sentence, sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.text.names import fold
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
# A further sentence must bring this share of what the best one brought.
_LEAST_GAIN = 0.2
# How much a passage's score counts: (score / best score) to this power, so that sentences of
# the second and third hop stay in play.
_SCORE_POWER, _LEAST_SHARE = 0.3, 0.05

_LONGEST_TITLE = 80
_LABELLED = re.compile(r"\S\s*[:：=]\s*\S")
_ENDS = tuple('.。!！?？;；…:：)）”"')

# Across languages: what shared codes and names add to a cosine, which differs by hundredths.
_NAMED_SHARE = 0.2
_FOREIGN_PASSAGES, _FOREIGN_SENTENCES, _FOREIGN_QUOTES = 3, 24, 3
# Words and Chinese characters, and how many of them say something: a word or two are near to
# anything.
_LEAST_SAID = 6


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
class _Candidate:
    quote: Quote
    own: frozenset[str]
    context: frozenset[str]
    prior: float
    phrases: Set[Phrase]


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
    candidates, phrases = _candidates(snapshot, question, passages)
    chosen: list[Quote] = []
    done = _Covered(idf, phrases)
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


def choose_foreign_quotes(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> list[Quote]:
    """The sentences closest to the question by embedding, for passages in another language."""
    embedder = snapshot.embedder
    idf = wanted_stems(snapshot, question)
    found, _ = _candidates(snapshot, question, passages[:_FOREIGN_PASSAGES])
    candidates = [one for one in found if len(WORD.findall(one.quote.text)) >= _LEAST_SAID]
    # Codes and names are the same in every language: sentences under them come first.
    shared = [
        _NAMED_SHARE * sum(idf[t] for t in idf if t in c.own or t in c.context) / sum(idf.values())
        for c in candidates
    ]
    order = sorted(range(len(candidates)), key=lambda i: (-shared[i], i))[:_FOREIGN_SENTENCES]
    quotes = [candidates[i].quote for i in order]
    if embedder is None or not quotes:
        return quotes[:1]
    # Titles make sentences of one document alike, and the shortest of them closest.
    texts = [" ".join((*quote.header, quote.text)) for quote in quotes]
    try:
        close = embedder.embed_passages(texts) @ embedder.embed_query(question)
    except EmbeddingError:
        return quotes[:1]
    scores = close + np.array([shared[i] for i in order])
    order = sorted(range(len(quotes)), key=lambda i: (-float(scores[i]), i))
    return [replace(quotes[i], score=float(scores[i])) for i in order[:_FOREIGN_QUOTES]]


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


def _candidates(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> tuple[list[_Candidate], Phrases]:
    kinds = asked_kinds(question)
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
    candidates: list[_Candidate] = []
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
        fits = any(holds_kind(text, kind) for kind in kinds)
        prior = max(passage.score / top, _LEAST_SHARE) ** _SCORE_POWER
        prior *= 1 + _KIND_SHARE * fits
        start, end = passage.char_start + sentence.start, passage.char_start + sentence.end
        quote = Quote(passage, start, end, text, 0.0, sentence.header)
        own = stems_of(text, snapshot.dictionary) - phrases.other_numbers(names)
        candidates.append(_Candidate(quote, own, contexts[above], prior, names))
    return candidates, phrases


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
    return any(fold(text.rstrip(".。")) == fold(" ".join(name.split())) for name in names)


class _Covered:
    """What the chosen sentences cover of the question, and what they introduce."""

    def __init__(self, idf: Mapping[str, float], phrases: Phrases) -> None:
        self._idf, self._phrases = idf, phrases
        self._total = sum(idf.values()) or 1.0
        self._shares: dict[str, float] = {}
        self._named: set[Phrase] = set()
        self._introduced: set[str] = set()

    def gain(self, candidate: _Candidate) -> float:
        """What a further sentence would bring."""
        gained = 0.0
        for token, weight in self._idf.items():
            share = 1.0 if token in candidate.own else _CONTEXT_SHARE * (token in candidate.context)
            gained += weight * max(share - self._shares.get(token, 0.0), 0.0)
        if gained <= 0:
            return 0.0
        bridge = _BRIDGE_SHARE if candidate.own & self._introduced else 0.0
        return candidate.prior * (gained / self._total + bridge) + self.named(candidate)

    def named(self, candidate: _Candidate) -> float:
        """What of that is for names not held so far."""
        held = self._phrases.worth(candidate.phrases - self._named)
        return candidate.prior * _PHRASE_SHARE * held

    def add(self, candidate: _Candidate) -> None:
        """Takes a sentence as chosen. Of a row its context is covered, too: it is one answer
        with the names of its columns, where a sentence below a heading may be one of many."""
        if candidate.quote.header:
            for token in candidate.context & self._idf.keys():
                self._shares[token] = max(self._shares.get(token, 0.0), _CONTEXT_SHARE)
        self._shares |= dict.fromkeys(candidate.own & self._idf.keys(), 1.0)
        self._named |= candidate.phrases
        self._introduced |= {t for t in candidate.own - self._idf.keys() if _is_telling(t)}


def _equals(
    row: _Candidate, candidates: Sequence[_Candidate], idf: Mapping[str, float]
) -> list[_Candidate]:
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


def _repeats(candidate: _Candidate, chosen: Sequence[Quote]) -> bool:
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
