"""From what a model wrote to what can be cited: points with sentences of the documents.

A point names numbered sources (:mod:`graphkb.query.sources`); its passages are the sentences of
their text units that say it best, word for word, so that every mark in the answer leads to a
span in a document. A point that rests on nothing is left out and counted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphkb.query.candidates import stems_of
from graphkb.query.extractive import share_held, wanted_stems
from graphkb.query.pack import passage_cost
from graphkb.query.replies import Draft
from graphkb.query.sentences import is_quotable
from graphkb.query.sources import Source
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.sentences import sentence_spans
from graphkb.text.tokens import count_tokens
from graphkb.types import Passage, Point

# Sentences quoted for one point; each must add this share of the point's words.
_SENTENCES, _LEAST_GAIN = 3, 0.15
# A point without sources is taken for one that a source says when that holds so many of its
# words.
_SAID = 0.5
# Text units whose sentences are looked at for one point.
_UNITS = 12

Weights = Mapping[str, float]


@dataclass(frozen=True)
class Found:
    """A point and the sources it rests on."""

    text: str
    score: float
    sources: tuple[Source, ...]


@dataclass(frozen=True)
class Gathered:
    """Points best first, with the passages they cite, and what both cost in tokens.

    ``left_out`` are points beyond the budget, ``baseless`` those without any sentence.
    """

    points: tuple[Point, ...]
    passages: tuple[Passage, ...]
    n_tokens: int
    left_out: int
    baseless: int

    @property
    def evidence(self) -> float:
        """The best point's score from 0 to 1."""
        return max((point.score for point in self.points), default=0.0) / 100


def find_sources(
    snapshot: Snapshot, drafts: Iterable[Draft], sources: Sequence[Source]
) -> list[Found]:
    """Points with the sources whose numbers (from 1) they name; unknown numbers are dropped.

    For a point that names none, the source that says most of it stands in, if one does.
    """
    found: list[Found] = []
    words: list[frozenset[str]] | None = None
    for draft in drafts:
        named = [sources[n - 1] for n in draft.sources if 1 <= n <= len(sources)]
        if not named:
            words = words or [stems_of(source.text, snapshot.dictionary) for source in sources]
            named = _saying(wanted_stems(snapshot, draft.text), sources, words)
        found.append(Found(draft.text, draft.score, tuple(named)))
    return found


def _saying(
    weights: Weights, sources: Sequence[Source], words: Sequence[frozenset[str]]
) -> list[Source]:
    shares = [share_held(weights, own) for own in words]
    best = max(range(len(shares)), key=lambda place: (shares[place], -place), default=None)
    return [sources[best]] if best is not None and shares[best] >= _SAID else []


def gather_points(snapshot: Snapshot, found: Iterable[Found], budget: int) -> Gathered:
    """The best points within ``budget`` tokens, their passages included; ties keep their order.

    The same words are said once. The first point is taken whatever it costs.
    """
    ranked = _without_repeats(sorted(found, key=lambda point: -point.score))
    rows = _rows(snapshot, [point for point in ranked if point.sources])
    points: list[Point] = []
    passages: list[Passage] = []
    places: dict[tuple[str, int, int], int] = {}
    spent = baseless = left_out = 0
    for point in ranked:
        quoted = _quoted(snapshot, point, rows)
        if not quoted:
            baseless += 1
            continue
        new = [p for p in quoted if _place(p) not in places]
        price = count_tokens(point.text) + sum(passage_cost(passage) for passage in new)
        if points and spent + price > budget:
            left_out += 1
            continue
        spent += price
        for passage in new:
            places[_place(passage)] = len(passages)
            passages.append(passage)
        points.append(Point(point.text, point.score, tuple(places[_place(p)] for p in quoted)))
    return Gathered(tuple(points), tuple(passages), spent, left_out, baseless)


def say_best(
    snapshot: Snapshot, text: str, text_unit_ids: Sequence[str], score: float
) -> list[Passage]:
    """The sentences of these text units that say ``text`` best; ``score`` is theirs, 0 to 1."""
    point = Found(text, 100 * score, (Source(text, tuple(text_unit_ids)),))
    return _quoted(snapshot, point, _rows(snapshot, [point]))


def _place(passage: Passage) -> tuple[str, int, int]:
    return passage.document_id, passage.char_start, passage.char_end


def _without_repeats(found: Iterable[Found]) -> list[Found]:
    kept: dict[str, Found] = {}
    for point in found:
        kept.setdefault(" ".join(point.text.lower().split()), point)
    return list(kept.values())


def _unit_ids(point: Found) -> list[str]:
    """Text units of a point, the first of each source before the second of any."""
    lists = [source.text_unit_ids for source in point.sources]
    longest = max((len(ids) for ids in lists), default=0)
    turn = (ids[place] for place in range(longest) for ids in lists if place < len(ids))
    return list(dict.fromkeys(turn))[:_UNITS]


def _rows(snapshot: Snapshot, found: Iterable[Found]) -> dict[str, dict[str, Any]]:
    ids = (unit_id for point in found for unit_id in _unit_ids(point))
    return {row["id"]: row for row in snapshot.units(ids)}


def _quoted(snapshot: Snapshot, point: Found, rows: Mapping[str, dict[str, Any]]) -> list[Passage]:
    """The sentences that say the point best, best first; ties in reading order.

    Greedy by the point's words not yet covered, weighted by idf. Where no sentence shares a
    word with the point (another language), the words of its sources choose.
    """
    sentences = [
        passage
        for unit_id in _unit_ids(point)
        if unit_id in rows
        for passage in _sentences(rows[unit_id], point.score / 100)
    ]
    words = [stems_of(passage.text, snapshot.dictionary) for passage in sentences]
    chosen = _covering(wanted_stems(snapshot, point.text), words)
    if not chosen:
        told = "\n".join(source.text for source in point.sources)
        chosen = _covering(wanted_stems(snapshot, told), words)
    return [sentences[place] for place in chosen]


def _sentences(row: dict[str, Any], score: float) -> list[Passage]:
    unit = passage_of(row, score)
    return [
        unit.narrowed(unit.char_start + start, unit.char_start + end)
        for start, end in sentence_spans(row["text"])
        if is_quotable(row["text"][start:end])
    ]


def _covering(weights: Weights, words: Sequence[frozenset[str]]) -> list[int]:
    """Places of the texts that together hold most of the weighted words, most first."""
    left = dict(weights)
    total = sum(left.values()) or 1.0
    chosen: list[int] = []
    while len(chosen) < _SENTENCES:
        gains = [sum(left[t] for t in own & left.keys()) / total for own in words]
        best = max(range(len(gains)), key=lambda place: (gains[place], -place), default=None)
        if best is None or gains[best] <= (_LEAST_GAIN if chosen else 0):
            break
        chosen.append(best)
        left = {token: weight for token, weight in left.items() if token not in words[best]}
    return chosen
