"""Retrieval with the question and further texts, joined.

Scores of the hybrid run of every text, each divided by its best, are added: the question's and a
share of the best of the others (CombSUM over CombMAX; Fox, Shaw 1994). Ranks say too little here:
what is in the middle of every run would pass what one text alone finds first, and the two sides of
a comparison have little in common.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from graphkb.llm.model import Model
from graphkb.search.hybrid import RankedUnit, Retrieval, finish, fused_units, hits_of, retrieve
from graphkb.search.rerank import Reranking
from graphkb.search.rewrite import widen
from graphkb.search.snapshot import Snapshot
from graphkb.types import Hits, Step

# What the further texts find best counts half of what the question finds best.
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
    reranking: Reranking | None = None,
) -> Retrieved:
    """The best ``top_k`` text units over the question and further texts.

    ``score(d) = s_question(d) + 1/2 · max_text s_text(d)`` over the fused scores, each divided by
    the best of its text. What is joined is reranked for the question where ``reranking`` is
    given. Without further texts this is :func:`~graphkb.search.hybrid.retrieve`.
    """
    further = [text for text in dict.fromkeys(also) if text != question]
    if not further:
        found = retrieve(snapshot, question, top_k, legs, reranking)
        return Retrieved(found, ((question, found),))
    depth = max(snapshot.settings.search.candidates, top_k)
    each = tuple((text, fused_units(snapshot, text, depth, legs)) for text in (question, *further))
    started = time.perf_counter()
    runs = [found.units[:depth] for _, found in each]
    units = _join(runs)
    first = each[0][1]
    detail = f"the question and {len(further)} further texts"
    seconds = time.perf_counter() - started
    joined = Retrieval(
        units=units,
        seeds=_seeds(each),
        nearest=first.nearest,
        trace=(*first.trace, Step("join", detail, seconds)),
        warnings=tuple(dict.fromkeys(w for _, found in each for w in found.warnings)),
    )
    return Retrieved(finish(snapshot, question, joined, top_k, reranking), each)


def search_widely(
    snapshot: Snapshot,
    model: Model | None,
    question: str,
    top_k: int,
    reranking: Reranking | None = None,
) -> Hits:
    """Ranked hits of the hybrid method, over the question and the further texts that the
    settings ask for."""
    more = widen(snapshot, model, question)
    found = retrieve_all(snapshot, question, more.texts, top_k, None, reranking).joined
    warnings = tuple(dict.fromkeys((*more.warnings, *found.warnings)))
    return hits_of(snapshot, found.units, (*more.trace, *found.trace), warnings)


def _join(runs: Sequence[Sequence[RankedUnit]]) -> tuple[RankedUnit, ...]:
    """Units of all runs by the formula of :func:`retrieve_all`; ties by id."""
    seen: dict[str, RankedUnit] = {}
    for run in runs:
        for unit in run:
            seen.setdefault(unit.text_unit_id, unit)
    question, *others = (_scaled(run) for run in runs)
    scores = {
        unit_id: question.get(unit_id, 0.0)
        + _WEIGHT * max(scaled.get(unit_id, 0.0) for scaled in others)
        for unit_id in seen
    }
    order = sorted(scores, key=lambda unit_id: (-scores[unit_id], unit_id))
    return tuple(
        replace(seen[unit_id], rank=rank, score=scores[unit_id])
        for rank, unit_id in enumerate(order, 1)
    )


def _scaled(run: Sequence[RankedUnit]) -> dict[str, float]:
    top = max((unit.score for unit in run), default=0.0) or 1.0
    return {unit.text_unit_id: unit.score / top for unit in run}


def _seeds(each: Sequence[tuple[str, Retrieval]]) -> tuple[tuple[str, float], ...]:
    """Entities that any text names, each with its best weight (those of further texts count
    half); strongest first."""
    best: dict[str, float] = {}
    for place, (_, found) in enumerate(each):
        for entity_id, strength in found.seeds:
            counted = strength * (_WEIGHT if place else 1.0)
            best[entity_id] = max(best.get(entity_id, 0.0), counted)
    return tuple(sorted(best.items(), key=lambda item: (-item[1], item[0])))
