"""Fusion of retrieval legs that is never much worse than its best leg.

Two ways of joining runs, both weighted by leg:

``alpha``  ``score(d) = Σ_leg weight_leg · (s - s_min) / (s_max - s_min)`` over the leg's hits
           (convex combination of min-max scaled scores; Bruch, Gai, Ingber 2023). The graph leg
           is scaled from 0, because its low scores mean "hardly connected" and not "last".
``rrf``    ``score(d) = Σ_leg weight_leg · (k + 1) / (k + rank)`` (Cormack, Clarke, Büttcher
           2009), scaled so that rank 1 of a leg with weight 1 gives 1.

Equal votes let a weak leg pull a strong one down, so without fixed weights they follow the
question: the graph leg gets its ``trust`` (how surely the question names what passages are
about), lexical and dense share the rest by ``coverage`` (how much of the question one passage
holds: where it is high the words decide, where it is low the meaning does), and dense keeps a
small weight to order what the graph leaves level.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Method = Literal["alpha", "rrf"]

_TIE_BREAK = 0.05
#: Share of the question leg in what the graph leg leaves: it confirms and never decides.
_QUESTION = 0.3
_SUPPORT = 0.3


@dataclass(frozen=True)
class Fused:
    """One fused hit; ``via`` maps leg to its rank there, from 1."""

    id: str
    score: float
    via: Mapping[str, int]


def adaptive_weights(trust: float, coverage: float) -> dict[str, float]:
    """Weight of each leg for one question.

    ``trust`` and ``coverage`` in [0, 1] come with the graph run
    (:class:`graphkb.search.graph.GraphRun`); without a graph leg trust is 0.

    >>> adaptive_weights(1.0, 0.4)
    {'lexical': 0.0, 'dense': 0.05, 'graph': 1.0, 'question': 0.0}
    """
    rest = 1.0 - trust
    by_words = min(1.0, max(0.0, (coverage - 0.4) / 0.4))
    return {
        "lexical": rest * (0.3 + 0.7 * by_words),
        "dense": rest * (1.0 - 0.7 * by_words) + _TIE_BREAK,
        "graph": trust,
        "question": rest * _QUESTION,
    }


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
    named get 1. None means :func:`adaptive_weights` of ``trust`` and ``coverage``. A leg that is
    the only one with hits decides alone, whatever its weight. ``documents``: number of each
    hit's document; a hit then gains 0.3 of the best other hit of its document, so that a
    document found in several places wins over one found by chance. Order inside a document
    does not change by that.

    >>> runs = {"lexical": [("a", 9.0), ("b", 3.0)], "dense": [("b", 0.9), ("c", 0.8)]}
    >>> [hit.id for hit in fuse(runs, "rrf", weights={})]
    ['b', 'a', 'c']
    """
    chosen = adaptive_weights(trust, coverage) if weights is None else dict(weights)
    filled = {leg: run for leg, run in runs.items() if run}
    total = sum(chosen.get(leg, 1.0) for leg in filled)
    scores: dict[str, float] = {}
    via: dict[str, dict[str, int]] = {}
    for leg in sorted(filled):
        run = filled[leg]
        weight = chosen.get(leg, 1.0) if total > 0 else 1.0
        parts = _reciprocal(run, k) if method == "rrf" else _scaled(run, zero=leg == "graph")
        for rank, ((item, _), part) in enumerate(zip(run, parts, strict=True), start=1):
            scores[item] = scores.get(item, 0.0) + weight * part
            via.setdefault(item, {})[leg] = rank
    if documents:
        scores = _supported(scores, documents)
    order = sorted(scores, key=lambda item: (-scores[item], item))
    return [Fused(item, scores[item], via[item]) for item in order]


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
