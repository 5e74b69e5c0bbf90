"""Retrieval with the question and further texts, joined.

Reciprocal rank fusion (Cormack, Clarke, Büttcher 2009) over the hybrid run of every text, the
question weighing most.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graphkb.llm.model import Model
from graphkb.search.hybrid import RankedUnit, Retrieval, hits_of, retrieve
from graphkb.search.rewrite import widen
from graphkb.search.snapshot import Snapshot
from graphkb.types import Hits, Step

# A further text counts half of the question, all of them together no more than the question.
_WEIGHT = 0.5


@dataclass(frozen=True)
class Retrieved:
    """What all texts together found; ``each`` has the retrieval of every text, the question's
    first."""

    joined: Retrieval
    each: tuple[tuple[str, Retrieval], ...]


def retrieve_all(
    snapshot: Snapshot,
    question: str,
    also: Iterable[str],
    top_k: int,
    legs: Sequence[str] | None = None,
) -> Retrieved:
    """The best ``top_k`` text units over the question and further texts.

    ``score(d) = Σ_text w_text · (k + 1) / (k + rank)`` with ``k`` = ``search.rrf_k``; the
    question weighs 1, each further text 1/2 and all of them together at most 1. Without further
    texts this is :func:`~graphkb.search.hybrid.retrieve`.
    """
    further = [text for text in dict.fromkeys(also) if text != question]
    if not further:
        found = retrieve(snapshot, question, top_k, legs)
        return Retrieved(found, ((question, found),))
    depth = max(snapshot.settings.search.candidates, top_k)
    each = tuple((text, retrieve(snapshot, text, depth, legs)) for text in (question, *further))
    weight = min(_WEIGHT, 1 / len(further))
    weights = (1.0, *(weight for _ in further))
    started = time.perf_counter()
    units = _join([found.units for _, found in each], weights, snapshot.settings.search.rrf_k)
    first = each[0][1]
    detail = f"rrf over the question and {len(further)} further texts"
    seconds = time.perf_counter() - started
    joined = Retrieval(
        units=units[:top_k],
        seeds=_seeds(each, weights),
        nearest=first.nearest,
        trace=(*first.trace, Step("join", detail, seconds)),
        warnings=tuple(dict.fromkeys(w for _, found in each for w in found.warnings)),
    )
    return Retrieved(joined, each)


def search_widely(snapshot: Snapshot, model: Model | None, question: str, top_k: int) -> Hits:
    """Ranked hits of the hybrid method, over the question and the further texts that the
    settings ask for."""
    more = widen(snapshot, model, question)
    found = retrieve_all(snapshot, question, more.texts, top_k).joined
    warnings = tuple(dict.fromkeys((*more.warnings, *found.warnings)))
    return hits_of(snapshot, found.units, (*more.trace, *found.trace), warnings)


def _join(
    runs: Sequence[Sequence[RankedUnit]], weights: Sequence[float], k: int
) -> tuple[RankedUnit, ...]:
    scores: dict[str, float] = {}
    seen: dict[str, RankedUnit] = {}
    for run, weight in zip(runs, weights, strict=True):
        for unit in run:
            score = weight * (k + 1) / (k + unit.rank)
            scores[unit.text_unit_id] = scores.get(unit.text_unit_id, 0.0) + score
            seen.setdefault(unit.text_unit_id, unit)
    order = sorted(scores, key=lambda unit_id: (-scores[unit_id], unit_id))
    return tuple(
        replace(seen[unit_id], rank=rank, score=scores[unit_id])
        for rank, unit_id in enumerate(order, 1)
    )


def _seeds(
    each: Sequence[tuple[str, Retrieval]], weights: Sequence[float]
) -> tuple[tuple[str, float], ...]:
    """Entities that any text names, each with its best weight; strongest first."""
    best: dict[str, float] = {}
    for (_, found), weight in zip(each, weights, strict=True):
        for entity_id, strength in found.seeds:
            best[entity_id] = max(best.get(entity_id, 0.0), weight * strength)
    return tuple(sorted(best.items(), key=lambda item: (-item[1], item[0])))
