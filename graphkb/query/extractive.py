"""Answers without a model: the sentences that cover the question best, word for word."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, replace

import numpy as np

from graphkb.errors import EmbeddingError
from graphkb.search.snapshot import Snapshot
from graphkb.text.segment import STOP_WORDS, query_tokens, search_tokens, stem
from graphkb.text.sentences import sentence_spans
from graphkb.types import Passage

# What a question word covered by title or heading is worth beside one in the sentence itself.
_CONTEXT_SHARE = 0.5
# What a sentence gains by naming something that an earlier chosen sentence introduced.
_BRIDGE_SHARE = 0.3
# What a sentence gains by holding the kind of thing asked for (a date, a number).
_KIND_SHARE = 0.2
# A further sentence must bring this share of what the best one brought.
_LEAST_GAIN = 0.2
# How much a passage's score counts: (score / best score) to this power, so that sentences of
# the second and third hop stay in play.
_SCORE_POWER, _LEAST_SHARE = 0.3, 0.05

# Across languages: what shared codes and names add to a cosine, which differs by hundredths.
_NAMED_SHARE = 0.2
_FOREIGN_PASSAGES, _FOREIGN_SENTENCES, _FOREIGN_QUOTES = 3, 40, 3

_WHEN = re.compile(
    r"\b(?:when|what (?:date|year|day|time)|which year)\b|何时|什么时候|哪年|哪天|日期|几月"
)
_HOW_MANY = re.compile(
    r"\bhow (?:many|much|long|often|old|tall|far)\b|多少|几[个人名家次天年]|多久|多大|价格|费用"
)
_DATE = re.compile(r"\b(?:1[5-9]|20)\d\d\b|\d{1,2}\s*月|\d{4}\s*年")
_NUMBER = re.compile(r"\d")
_HEADING = re.compile(r"#{1,6}\s+(.*)")


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


def stems_of(text: str, dictionary: Sequence[str]) -> frozenset[str]:
    """Stems of the text's search tokens."""
    return frozenset(stem(token) for token in search_tokens(text, dictionary))


def choose_quotes(
    snapshot: Snapshot, question: str, passages: Sequence[Passage], limit: int
) -> list[Quote]:
    """Up to ``limit`` sentences in the order chosen: each adds the most question words not yet
    covered (weighted by idf), or links to what an earlier sentence introduced.

    Greedy maximum coverage (Nemhauser, Wolsey, Fisher 1978) with a bridge term, so that a chain
    of facts over several documents is quoted link by link; deterministic.
    """
    idf = wanted_stems(snapshot, question)
    total = sum(idf.values()) or 1.0
    candidates = _candidates(snapshot, question, passages)
    chosen: list[Quote] = []
    covered: set[str] = set()
    introduced: set[str] = set()
    first = 0.0
    while candidates and len(chosen) < limit:
        gains = [_gain(candidate, idf, covered, introduced, total) for candidate in candidates]
        best = max(range(len(gains)), key=lambda i: (gains[i], -i))
        if gains[best] <= 0 or (chosen and gains[best] < _LEAST_GAIN * first):
            break
        first = first or gains[best]
        candidate = candidates.pop(best)
        chosen.append(replace(candidate.quote, score=gains[best]))
        covered |= candidate.own & idf.keys()
        introduced |= {token for token in candidate.own - idf.keys() if _is_telling(token)}
        candidates = [c for c in candidates if not _repeats(c, chosen)]
    return chosen


def choose_foreign_quotes(
    snapshot: Snapshot, question: str, passages: Sequence[Passage]
) -> list[Quote]:
    """The sentences closest to the question by embedding, for passages in another language."""
    embedder = snapshot.embedder
    idf = wanted_stems(snapshot, question)
    candidates = _candidates(snapshot, question, passages[:_FOREIGN_PASSAGES])
    # Codes and names are the same in every language: sentences under them come first.
    shared = [
        _NAMED_SHARE * sum(idf[t] for t in idf if t in c.own or t in c.context) / sum(idf.values())
        for c in candidates
    ]
    order = sorted(range(len(candidates)), key=lambda i: (-shared[i], i))[:_FOREIGN_SENTENCES]
    quotes = [candidates[i].quote for i in order]
    if embedder is None or not quotes:
        return quotes[:1]
    texts = [f"{quote.passage.title} {quote.text}" for quote in quotes]
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


def _candidates(snapshot: Snapshot, question: str, passages: Sequence[Passage]) -> list[_Candidate]:
    asked = question.lower()
    asks_when = _WHEN.search(asked) is not None
    asks_number = _HOW_MANY.search(asked) is not None
    top = max((passage.score for passage in passages), default=0.0) or 1.0
    found: list[_Candidate] = []
    for passage in passages:
        above = stems_of(f"{passage.title}\n{passage.heading}", snapshot.dictionary)
        context = above
        prior = max(passage.score / top, _LEAST_SHARE) ** _SCORE_POWER
        header = passage.columns
        for start, end in sentence_spans(passage.text):
            text = passage.text[start:end]
            heading = _HEADING.fullmatch(text)
            if heading:
                context = above | stems_of(heading.group(1), snapshot.dictionary)
                continue
            cells = table_cells(text)
            if not cells:
                header = ()
            elif not header:
                header = cells
                continue
            if not is_quotable(text):
                continue
            fits = (asks_when and _DATE.search(text)) or (asks_number and _NUMBER.search(text))
            place = passage.char_start + start, passage.char_start + end
            quote = Quote(passage, *place, text, 0.0, header)
            own = stems_of(text, snapshot.dictionary)
            near = context | stems_of(" ".join(header), snapshot.dictionary) if header else context
            found.append(_Candidate(quote, own, near, prior * (1 + _KIND_SHARE * bool(fits))))
    return found


def _gain(
    candidate: _Candidate,
    idf: dict[str, float],
    covered: set[str],
    introduced: set[str],
    total: float,
) -> float:
    gained = 0.0
    for token, weight in idf.items():
        share = 1.0 if token in candidate.own else _CONTEXT_SHARE * (token in candidate.context)
        gained += weight * share * (token not in covered)
    if gained <= 0:
        return 0.0
    bridge = _BRIDGE_SHARE if candidate.own & introduced else 0.0
    return candidate.prior * (gained / total + bridge)


def table_cells(line: str) -> tuple[str, ...]:
    """Cells of a Markdown table row; nothing for another line.

    >>> table_cells("| 专业版 | 49 元 |"), table_cells("no row")
    (('专业版', '49 元'), ())
    """
    stripped = line.strip()
    if len(stripped) < 3 or not (stripped.startswith("|") and stripped.endswith("|")):
        return ()
    return tuple(cell.strip() for cell in stripped[1:-1].split("|"))


def is_quotable(text: str) -> bool:
    """Headings, table rules and scraps are not sentences worth quoting."""
    stripped = text.strip()
    telling = len(stripped) >= 6 and not set(stripped) <= set("|-: *_=")
    return telling and not _HEADING.fullmatch(stripped)


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
