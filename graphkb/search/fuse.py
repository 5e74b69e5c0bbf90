"""Fusion of retrieval legs that is never much worse than its best leg.

Two ways of joining runs, both weighted by leg:

``alpha``  ``score(d) = Σ_leg weight_leg · (s - s_min) / (s_max - s_min)`` over the leg's hits
           (convex combination of min-max scaled scores; Bruch, Gai, Ingber 2023). The graph leg
           is scaled from 0, because its low scores mean "hardly connected" and not "last".
``rrf``    ``score(d) = Σ_leg weight_leg · (k + 1) / (k + rank)`` (Cormack, Clarke, Büttcher
           2009), scaled so that rank 1 of a leg with weight 1 gives 1.

Equal votes let a weak leg pull a strong one down, so without fixed weights they follow the
question: the graph leg gets its ``trust`` (how surely the question names what passages are
about), lexical and dense share the rest, lexical the more the higher ``coverage`` is (how much
of the question one passage holds) and the farther its first document leads (``lead``: reports of
one event all hold the question's words), and dense keeps a small weight to order what a trusted
graph leaves level. Two things then keep what each leg is surest of: a hit's part is the mean of its
scaled score and of a steep reciprocal rank, so that the first hits of a leg count whatever its
scores look like; and the first place goes by votes of its own, for what is best at finding a
second passage is not best at naming the first.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["alpha", "rrf"]

#: Weight of the dense leg beside a graph that is trusted fully.
_DENSE = 0.15
#: Constant of the reciprocal rank in a hit's part: the fourth hit counts 4/7 of the first.
_STEEP = 3
#: Share of the question leg in what the graph leg leaves: it confirms and never decides.
_QUESTION = 0.3
_SUPPORT = 0.3
#: Coverage from which words begin to decide and from which they decide alone.
_HALF_COVERED, _COVERED = 0.4, 0.8
#: Below the first, words are taken for chance; from the second on for a beginning.
_UNCOVERED, _TOUCHED = 0.2, 0.4
#: Power of the graph's trust in its vote for the first place: half sure is hardly a vote.
_SURENESS = 3
#: The lead of the first document in BM25, as a share of its score, that is a clear one.
_CLEAR_LEAD = 0.2


@dataclass(frozen=True)
class Fused:
    """One fused hit; ``via`` maps leg to its rank there, from 1."""

    id: str
    score: float
    via: Mapping[str, int]


def adaptive_weights(trust: float, coverage: float, lead: float = 1.0) -> dict[str, float]:
    """Weight of each leg for one question.

    ``trust`` and ``coverage`` in [0, 1] come with the graph run
    (:class:`graphkb.search.graph.GraphRun`); without a graph leg trust is 0. ``lead`` is that of
    :func:`lead_of`.

    >>> adaptive_weights(1.0, 0.4)
    {'lexical': 0.0, 'dense': 0.15, 'graph': 1.0, 'question': 0.0}
    """
    rest = 1.0 - trust
    by_words = _by_words(coverage, lead)
    return {
        "lexical": rest * (0.8 + 0.2 * by_words),
        "dense": rest * 0.4 * (1.0 - by_words) + _DENSE,
        "graph": trust,
        "question": rest * _QUESTION,
    }


def _votes(trust: float, coverage: float, lead: float) -> dict[str, float]:
    """What each leg's say is worth for the first place: that of words little where they may be
    chance or do not tell one document from the next, and then that of nearness more."""
    touched = _between(coverage, _UNCOVERED, _TOUCHED)
    clear = min(1.0, lead / _CLEAR_LEAD)
    least = min(0.25 + 0.25 * clear, 0.3 + 0.2 * touched)
    return {
        "lexical": least + 0.5 * _by_words(coverage, lead) * (1.0 - trust),
        "dense": 0.4 + 0.2 * (1.0 - touched) * (1.0 - trust),
        "graph": trust**_SURENESS,
        "question": 0.0,
    }


def _by_words(coverage: float, lead: float) -> float:
    """How far words alone decide, in [0, 1]."""
    return _between(coverage, _HALF_COVERED, _COVERED) * min(1.0, lead / _CLEAR_LEAD)


def _between(value: float, low: float, high: float) -> float:
    return min(1.0, max(0.0, (value - low) / (high - low)))


def lead_of(run: Sequence[tuple[str, float]], documents: Mapping[str, int] | None = None) -> float:
    """How far the first document of a run is ahead of the next one, as a share of its score, in
    [0, 1]; 1 where there is no other document. Without ``documents`` each hit is one.

    >>> lead_of([("a", 10.0), ("b", 9.0), ("c", 5.0)], {"a": 1, "b": 1, "c": 2})
    0.5
    """
    if not run or run[0][1] <= 0:
        return 0.0
    own = documents.get(run[0][0]) if documents else None
    for item, score in run[1:]:
        if own is None or documents is None or documents.get(item) != own:
            return (run[0][1] - score) / run[0][1]
    return 1.0


def fuse(
    runs: Mapping[str, Sequence[tuple[str, float]]],
    method: Method = "alpha",
    weights: Mapping[str, float] | None = None,
    k: int = 60,
    trust: float = 0.0,
    coverage: float = 1.0,
    documents: Mapping[str, int] | None = None,
) -> list[Fused]:
    """Hits of all legs joined, best first; ties by id.

    ``runs``: leg name to its hits (id, score), best first. ``weights``: fixed weights; legs not
    named get 1. None means :func:`adaptive_weights` of ``trust`` and ``coverage``, steeper parts
    under ``alpha``, and the vote for the first place. A leg that is the only one with hits
    decides alone, whatever its weight. ``documents``: number of each hit's document; a hit then
    gains 0.3 of the best other hit of its document, so that a document found in several places
    wins over one found by chance. Order inside a document does not change by that.

    >>> runs = {"lexical": [("a", 9.0), ("b", 3.0)], "dense": [("b", 0.9), ("c", 0.8)]}
    >>> [hit.id for hit in fuse(runs, "rrf", weights={})]
    ['b', 'a', 'c']
    """
    adaptive = weights is None
    lead = lead_of(runs.get("lexical", ()), documents)
    filled = {leg: run for leg, run in runs.items() if run}
    parts = {leg: _parts(run, leg, method, k, adaptive) for leg, run in sorted(filled.items())}
    if weights is None:
        weights = leg_weights(parts, trust, coverage, lead)
    scores = _joined(parts, weights, documents)
    order = sorted(scores, key=lambda item: (-scores[item], item))
    if adaptive and len(parts) > 1:
        votes = _in_place_of_dense(_votes(trust, coverage, lead), parts)
        voted = _joined(parts, votes, documents)
        first = min(order, key=lambda item: -voted[item])
        if first != order[0]:
            scores[first] = math.nextafter(scores[order[0]], math.inf)
            order.remove(first)
            order.insert(0, first)
    via: dict[str, dict[str, int]] = {item: {} for item in order}
    for leg in parts:
        for rank, item in enumerate(parts[leg], 1):
            via[item][leg] = rank
    return [Fused(item, scores[item], via[item]) for item in order]


def leg_weights(
    legs: Collection[str], trust: float, coverage: float, lead: float = 1.0
) -> dict[str, float]:
    """:func:`adaptive_weights` where only ``legs`` have hits: without a dense leg the lexical one
    also has its weight."""
    return _in_place_of_dense(adaptive_weights(trust, coverage, lead), legs)


def _in_place_of_dense(weights: Mapping[str, float], legs: Collection[str]) -> dict[str, float]:
    if "dense" in legs or "lexical" not in legs:
        return dict(weights)
    return {**weights, "lexical": weights["lexical"] + weights["dense"]}


def _parts(
    run: Sequence[tuple[str, float]], leg: str, method: Method, k: int, steep: bool
) -> dict[str, float]:
    """What each hit of a leg adds before weighting, in [0, 1], in the order of the run."""
    if method == "rrf":
        parts = _reciprocal(run, k)
    else:
        parts = _scaled(run, zero=leg == "graph")
        if steep:
            ranks = _reciprocal(run, _STEEP)
            parts = [(part + rank) / 2 for part, rank in zip(parts, ranks, strict=True)]
    return {item: part for (item, _), part in zip(run, parts, strict=True)}


def _joined(
    parts: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    documents: Mapping[str, int] | None,
) -> dict[str, float]:
    """Weighted sums over the legs, with the support of each document's other hits."""
    total = sum(weights.get(leg, 1.0) for leg in parts)
    scores: dict[str, float] = {}
    for leg, part in parts.items():
        weight = weights.get(leg, 1.0) if total > 0 else 1.0
        for item, value in part.items():
            scores[item] = scores.get(item, 0.0) + weight * value
    return _supported(scores, documents) if documents else scores


def _supported(scores: Mapping[str, float], documents: Mapping[str, int]) -> dict[str, float]:
    """Scores plus a share of the best other score in the same document."""
    best: dict[int, list[float]] = {}
    for item, score in scores.items():
        if item in documents:
            best.setdefault(documents[item], []).append(score)
    top = {document: sorted(found, reverse=True)[:2] for document, found in best.items()}
    supported = dict(scores)
    for item, score in scores.items():
        found = top.get(documents[item], []) if item in documents else []
        if len(found) == 2:
            supported[item] = score + _SUPPORT * (found[1] if score == found[0] else found[0])
    return supported


def _reciprocal(run: Sequence[tuple[str, float]], k: int) -> list[float]:
    return [(k + 1) / (k + rank) for rank in range(1, len(run) + 1)]


def _scaled(run: Sequence[tuple[str, float]], zero: bool) -> list[float]:
    """Scores to [0, 1]: the best is 1, the worst (or ``zero``) 0; all 1 when they are equal."""
    top = max(score for _, score in run)
    floor = 0.0 if zero else min(score for _, score in run)
    if top <= floor:
        return [1.0] * len(run)
    return [(score - floor) / (top - floor) for _, score in run]
