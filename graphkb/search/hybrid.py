"""Hybrid retrieval: run the legs, fuse them, say what each saw."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.errors import EmbeddingError, UsageError
from graphkb.search.dense import search_dense
from graphkb.search.fuse import fuse
from graphkb.search.lexical import search_lexical
from graphkb.search.snapshot import Snapshot, heading_of
from graphkb.types import Hit, Hits, Step, Via

LEGS = ("lexical", "dense", "graph")
SEARCH_METHODS = ("hybrid", *LEGS)


@dataclass(frozen=True)
class RankedUnit:
    """A text unit in the fused order; ``rank`` from 1."""

    rank: int
    text_unit_id: str
    score: float
    via: dict[str, Via]


@dataclass(frozen=True)
class Retrieval:
    """Fused text units, best first; ``seeds`` are (entity id, weight) the question names;
    ``similarity`` is the best cosine of the dense leg, None without one."""

    units: tuple[RankedUnit, ...]
    seeds: tuple[tuple[str, float], ...]
    similarity: float | None
    trace: tuple[Step, ...]
    warnings: tuple[str, ...]


Run = list[tuple[str, float]]


def retrieve(
    snapshot: Snapshot, question: str, top_k: int, legs: Sequence[str] | None = None
) -> Retrieval:
    """The best ``top_k`` text units over the given legs (settings' by default).

    A leg that cannot run (no vectors yet, endpoint down) is left out with a warning, unless it
    is the only one asked for: then its error is raised.
    """
    options = snapshot.settings.search
    wanted = list(legs or options.legs)
    limit = max(options.candidates, top_k)
    runs: dict[str, Run] = {}
    steps: list[Step] = []
    warnings: list[str] = []
    seeds: tuple[tuple[str, float], ...] = ()
    if "lexical" in wanted or "graph" in wanted:
        started = time.perf_counter()
        runs["lexical"] = search_lexical(snapshot.store, question, snapshot.dictionary, limit)
        steps.append(_step("lexical", runs["lexical"], started))
    if "dense" in wanted or "graph" in wanted:
        started = time.perf_counter()
        dense, problem = _dense(snapshot, question, limit)
        if problem and wanted == ["dense"]:
            raise EmbeddingError(problem)
        if dense is not None:
            runs["dense"] = dense
            steps.append(_step("dense", dense, started))
        elif problem and "dense" in wanted and snapshot.settings.embed.when != "off":
            warnings.append(problem)
    trust, coverage = 0.0, 1.0
    if "graph" in wanted:
        started = time.perf_counter()
        found = snapshot.graph.search(
            question, limit, runs.get("lexical", ()), runs.get("dense", ())
        )
        trust, coverage = found.trust, found.coverage
        seeds = tuple((seed.entity_id, seed.weight) for seed in found.seeds)
        runs["graph"] = found.hits
        named = ", ".join(seed.surface for seed in found.seeds[:5])
        steps.append(_step("graph", runs["graph"], started, f"; seeds: {named or 'none'}"))
    similarity = runs["dense"][0][1] if runs.get("dense") else None
    used = {leg: runs[leg] for leg in wanted if leg in runs}
    started = time.perf_counter()
    fused = fuse(
        used,
        method=options.fusion,
        weights={str(leg): weight for leg, weight in options.weights.items()} or None,
        k=options.rrf_k,
        trust=trust,
        coverage=coverage,
    )
    units = tuple(
        RankedUnit(
            rank,
            hit.id,
            hit.score,
            {leg: Via(place, used[leg][place - 1][1]) for leg, place in hit.via.items()},
        )
        for rank, hit in enumerate(fused[:top_k], 1)
    )
    steps.append(Step("fuse", f"{options.fusion} over {', '.join(used)}", _since(started)))
    return Retrieval(units, seeds, similarity, tuple(steps), tuple(warnings))


def _dense(snapshot: Snapshot, question: str, limit: int) -> tuple[Run | None, str | None]:
    problem = snapshot.dense_problem()
    if problem or snapshot.embedder is None:
        return None, problem
    try:
        return search_dense(snapshot.store, question, snapshot.embedder, limit), None
    except EmbeddingError as error:
        return None, f"no dense leg: {error}"


def _step(name: str, run: Run, started: float, more: str = "") -> Step:
    return Step(name, f"{len(run)} text units{more}", _since(started))


def _since(started: float) -> float:
    return time.perf_counter() - started


def search(snapshot: Snapshot, question: str, top_k: int, method: str = "hybrid") -> Hits:
    """Ranked hits by ``method``: hybrid, or one leg alone. Raises UsageError for another name."""
    if method not in SEARCH_METHODS:
        raise UsageError(f"unknown search method {method!r}; known: {', '.join(SEARCH_METHODS)}")
    found = retrieve(snapshot, question, top_k, None if method == "hybrid" else [method])
    return hits_of(snapshot, found.units, found.trace, found.warnings)


def hits_of(
    snapshot: Snapshot,
    units: Sequence[RankedUnit],
    trace: tuple[Step, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Hits:
    """Hits with text and place for ranked text units."""
    rows = {row["id"]: row for row in snapshot.units(u.text_unit_id for u in units).to_dicts()}
    hits = [
        Hit(
            rank=unit.rank,
            score=unit.score,
            text_unit_id=unit.text_unit_id,
            document_id=rows[unit.text_unit_id]["document_id"],
            title=rows[unit.text_unit_id]["title"] or "",
            path=rows[unit.text_unit_id]["path"] or "",
            heading=heading_of(rows[unit.text_unit_id]),
            page=rows[unit.text_unit_id]["page_start"],
            char_start=rows[unit.text_unit_id]["char_start"],
            char_end=rows[unit.text_unit_id]["char_end"],
            text=rows[unit.text_unit_id]["text"],
            via=unit.via,
        )
        for unit in units
        if unit.text_unit_id in rows
    ]
    return Hits(hits, trace, warnings)
