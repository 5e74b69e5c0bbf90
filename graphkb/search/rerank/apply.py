"""Reranking fused text units: what the reranker says, put into the fused order."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from graphkb.errors import MissingExtraError, RerankError
from graphkb.search.rerank import Reranking, Scores
from graphkb.search.rerank.passages import passages_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Step, Via

if TYPE_CHECKING:
    from graphkb.search.hybrid import RankedUnit


@dataclass(frozen=True)
class Reranked:
    """Text units in their new order, what was done, and what went wrong."""

    units: tuple[RankedUnit, ...]
    trace: tuple[Step, ...] = ()
    warnings: tuple[str, ...] = ()


def rerank_units(
    snapshot: Snapshot, question: str, units: Sequence[RankedUnit], reranking: Reranking | None
) -> Reranked:
    """Fused text units, the first ``rerank.candidates`` of them in the reranker's order.

    Those that it says nothing of follow in fused order, then those it was not shown; equal
    scores keep the fused order. The reranker's own rank and score are in ``via["rerank"]``;
    ``score`` stays on the fused scale, in falling order (the first unit gets the best fused
    score), so that the two scales never mix. With ``rerank.threshold`` only text units stay that
    score no less; when some that were shown got no score a warning says so. When reranking fails
    the units come back as they are, with one warning.
    """
    options = snapshot.settings.rerank
    if reranking is None or options.method == "none" or not units:
        return Reranked(tuple(units))
    started = time.perf_counter()
    shown = units[: options.candidates]
    passages, places = passages_of(snapshot, question, [unit.text_unit_id for unit in shown])
    try:
        said = snapshot.reranker.score(passages, reranking)
    except (RerankError, MissingExtraError) as error:
        step = Step("rerank", "failed; the fused order is kept", time.perf_counter() - started)
        warning = f"not reranked: {error}; the fused order is kept"
        return Reranked(tuple(units), (step,), (warning,))
    scores = {
        places[place]: score
        for place, score in said.by_place.items()
        if 0 <= place < len(places) and math.isfinite(score)
    }
    return ordered(units, len(shown), scores, said, options.threshold, started)


def ordered(
    units: Sequence[RankedUnit],
    shown: int,
    scores: dict[int, float],
    said: Scores,
    threshold: float,
    started: float,
) -> Reranked:
    """The units by their ``scores`` (by place among the first ``shown``); ``started`` is in
    ``time.perf_counter()`` seconds."""
    ranked = sorted(scores, key=lambda place: (-scores[place], place))
    cut = threshold if said.absolute else 0.0
    kept = [place for place in ranked if not cut or scores[place] >= cut]
    strict = bool(cut and scores)
    rest = [] if strict else [place for place in range(len(units)) if place not in scores]
    rank_of = {place: rank for rank, place in enumerate(ranked, 1)}
    # The fused scores fall, so the n-th unit gets the n-th of them.
    made = tuple(
        replace(
            units[place],
            rank=rank,
            score=units[rank - 1].score,
            via=_via(units[place], rank_of.get(place), scores.get(place, 0.0)),
        )
        for rank, place in enumerate([*kept, *rest], 1)
    )
    detail, warnings = said.detail, list(said.warnings)
    if below := len(ranked) - len(kept):
        detail += f", {below} below {threshold:g}"
    if strict and len(ranked) < shown:
        warnings.append(
            f"rerank: only {len(ranked)} of {shown} text units got a score; the others are left "
            "out, as rerank.threshold is set"
        )
    if not made:
        warnings.append(
            f"rerank: all {len(ranked)} text units score below rerank.threshold {threshold:g} "
            f"(the best {scores[ranked[0]]:.4g}); nothing is left, lower it"
        )
    step = Step("rerank", detail, time.perf_counter() - started)
    return Reranked(made, (step,), tuple(warnings))


def _via(unit: RankedUnit, rank: int | None, score: float) -> dict[str, Via]:
    return unit.via if rank is None else {**unit.via, "rerank": Via(rank, score)}
