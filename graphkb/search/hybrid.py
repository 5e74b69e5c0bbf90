"""Hybrid retrieval: run the legs, fuse them, say what each saw."""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

from graphkb.embed import Vectors
from graphkb.errors import EmbeddingError, NotIndexedError, UsageError
from graphkb.search.assemble import assemble, assembles, widen_units
from graphkb.search.dense import search_across_languages, search_dense
from graphkb.search.files import named_files, prefer_files
from graphkb.search.fuse import fuse
from graphkb.search.graph import Begun, GraphRun
from graphkb.search.lexical import search_lexical
from graphkb.search.questions import question_problem, search_questions
from graphkb.search.rerank import Reranking
from graphkb.search.rerank.apply import rerank_units
from graphkb.search.sheets import in_sheets
from graphkb.search.snapshot import Snapshot, heading_of
from graphkb.search.times import fit_periods
from graphkb.text.periods import periods
from graphkb.text.segment import query_tokens
from graphkb.types import Hit, Hits, Step, Via

LEGS = ("lexical", "dense", "graph")
SEARCH_METHODS = ("hybrid", *LEGS, "question")

COMPARED = "compared within"
"""In the trace, before the languages that the dense leg compared text units within."""

# Below this share of known words a question is taken for one in another language.
_KNOWN_SHARE = 0.4


@dataclass(frozen=True)
class Nearest:
    """The best cosine of the dense leg, and its lead over the mean of hits 11 to 50: None where
    there are no more than 10 text units."""

    similarity: float
    lead: float | None


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
    ``nearest`` is how close the dense leg came, None without one."""

    units: tuple[RankedUnit, ...]
    seeds: tuple[tuple[str, float], ...]
    nearest: Nearest | None
    trace: tuple[Step, ...]
    warnings: tuple[str, ...]


Run = list[tuple[str, float]]


def retrieve(
    snapshot: Snapshot,
    question: str,
    top_k: int,
    legs: Sequence[str] | None = None,
    reranking: Reranking | None = None,
) -> Retrieval:
    """The best ``top_k`` text units over the given legs (settings' by default), reranked as the
    settings say where ``reranking`` is given, and assembled.

    Raises as :func:`fused_units` does.
    """
    reranks = reranking is not None and snapshot.settings.rerank.method != "none"
    reordered = reranks or assembles(snapshot.settings.search)
    # Making hits of all candidates takes milliseconds.
    most = None if reordered else top_k
    found = fused_units(snapshot, question, top_k, legs, most)
    return finish(snapshot, question, found, top_k, reranking)


def finish(
    snapshot: Snapshot, question: str, found: Retrieval, top_k: int, reranking: Reranking | None
) -> Retrieval:
    """The ``top_k`` units that are given, of all that were found: fused, reranked, assembled."""
    reranked = rerank_units(snapshot, question, found.units, reranking)
    units, steps = assemble(snapshot, reranked.units, top_k)
    return replace(
        found,
        units=units,
        trace=(*found.trace, *reranked.trace, *steps),
        warnings=(*found.warnings, *reranked.warnings),
    )


def fused_units(
    snapshot: Snapshot,
    question: str,
    top_k: int,
    legs: Sequence[str] | None = None,
    most: int | None = None,
) -> Retrieval:
    """Every candidate of the given legs (settings' by default), or the best ``most``, in the
    fused order: each leg puts forward ``search.candidates``, and at least ``top_k``. Nothing where
    a filter lets nothing through, with a warning.

    A leg that cannot run (no vectors yet, endpoint down) is left out with a warning, unless it
    is the only one asked for: then its error is raised. The graph leg reads the hits of the
    other two, also where they do not vote themselves.
    """
    options = snapshot.settings.search
    if snapshot.selection is not None and not snapshot.selection.unit_ids:
        return Retrieval((), (), None, (), (snapshot.selection.problem,))
    wanted = list(legs or options.legs)
    named = named_files(snapshot, question) if len(wanted) > 1 else None
    legs_run = _Legs(snapshot, question, max(options.candidates, top_k), wanted)
    graph = legs_run.run()
    used = {leg: legs_run.runs[leg] for leg in wanted if leg in legs_run.runs}
    seeds = tuple((seed.entity_id, seed.weight) for seed in graph.seeds) if graph else ()
    if len(wanted) == 1:
        units = _alone(wanted[0], used.get(wanted[0], [])[:most])
    else:
        units = _together(legs_run, used, graph, None if named else most)
    if named:
        started = time.perf_counter()
        joined, n_own = prefer_files(
            snapshot,
            named,
            units,
            lambda inside, rest: fused_units(inside, rest, top_k, legs).units,
            lambda unit_id, score: RankedUnit(0, unit_id, score, {}),
        )
        units = tuple(joined[:most])
        legs_run.note("files", f"{', '.join(named.names)}: {n_own} text units come first", started)
    return Retrieval(
        units, seeds, legs_run.nearest, tuple(legs_run.steps), tuple(legs_run.warnings)
    )


class _Legs:
    """Runs the legs of one question and keeps what they say."""

    def __init__(
        self, snapshot: Snapshot, question: str, limit: int, wanted: Sequence[str]
    ) -> None:
        self.snapshot, self.question, self.limit, self.wanted = snapshot, question, limit, wanted
        self.runs: dict[str, Run] = {}
        self.nearest: Nearest | None = None
        self.steps: list[Step] = []
        self.warnings: list[str] = []

    def note(self, name: str, detail: str, started: float) -> None:
        self.steps.append(Step(name, detail, time.perf_counter() - started))

    def run(self) -> GraphRun | None:
        """Fill ``runs``; the graph leg's own findings when it ran."""
        started = time.perf_counter()
        graph_wanted = "graph" in self.wanted
        lexical = "lexical" in self.wanted or graph_wanted
        dense = "dense" in self.wanted or graph_wanted
        begun = None
        if lexical and dense:
            # All wait outside Python: the store looks words up while the model embeds, and looks
            # for near vectors while the graph is walked.
            with ThreadPoolExecutor(2) as pool:
                words = pool.submit(self._lexical)
                vector = self._embedded()
                near = pool.submit(self._dense, vector, started)
                if graph_wanted:
                    begun = self.snapshot.graph.begin(self.question)
                near.result()
                words.result()
        elif lexical:
            self._lexical()
        elif dense:
            self._dense(self._embedded(), started)
        if "question" in self.wanted:
            self._question()
        return self._graph(begun) if graph_wanted else None

    def _lexical(self) -> None:
        started = time.perf_counter()
        snapshot = self.snapshot
        run = search_lexical(snapshot.store, self.question, snapshot.dictionary, self.limit)
        self.runs["lexical"] = run
        self.note("lexical", f"{len(run)} text units", started)

    def _question(self) -> None:
        started = time.perf_counter()
        snapshot = self.snapshot
        if problem := question_problem(snapshot.store):
            if list(self.wanted) == ["question"]:
                raise NotIndexedError(problem)
            self.warnings.append(f"no question leg: {problem}")
            return
        run = search_questions(snapshot.store, self.question, snapshot.dictionary, self.limit)
        self.runs["question"] = run
        self.note("question", f"{len(run)} text units", started)

    def _embedded(self) -> Vectors | None:
        """The vector of the question; None, with a warning, where the dense leg cannot run."""
        snapshot = self.snapshot
        problem = snapshot.dense_problem()
        try:
            if problem is None and snapshot.embedder is not None:
                return snapshot.embedder.embed_query(self.question)
        except EmbeddingError as error:
            problem = f"no dense leg: {error}"
        if problem and list(self.wanted) == ["dense"]:
            raise EmbeddingError(problem)
        last = snapshot.manifest.notes.get("settings", {}).get("embed", {}).get("when")
        off = "off" in (snapshot.settings.embed.when, last)
        if problem and "dense" in self.wanted and not off:
            self.warnings.append(problem)
        return None

    def _dense(self, vector: Vectors | None, started: float) -> None:
        if vector is None:
            return
        snapshot, languages = self.snapshot, self.snapshot.languages
        run = search_dense(snapshot.store, vector, self.limit)
        self.nearest = _nearest(run)
        detail = f"{len(run)} text units"
        if len(languages) > 1 and not self._words_stand_somewhere():
            run = search_across_languages(snapshot.store, vector, self.limit, languages)
            detail += f"; {COMPARED} {', '.join(languages)}"
        self.runs["dense"] = run
        self.note("dense", detail, started)
        if snapshot.outdated_vectors:
            self.warnings.append(snapshot.outdated_vectors)

    def _words_stand_somewhere(self) -> bool:
        """Whether the documents know enough of the question's words, weighted by idf."""
        snapshot = self.snapshot
        tokens = query_tokens(self.question, snapshot.dictionary)
        idf = snapshot.vocabulary.idf(tokens)
        known = sum(w for t, w in idf.items() if snapshot.vocabulary.document_frequency(t))
        return known >= _KNOWN_SHARE * (sum(idf.values()) or 1.0)

    def _graph(self, begun: Begun | None) -> GraphRun:
        started = time.perf_counter()
        lexical, dense = self.runs.get("lexical", []), self.runs.get("dense", [])
        graph, selection = self.snapshot.graph, self.snapshot.selection
        among = None if selection is None else selection.mask(graph.arrays["unit_ids"])
        found = graph.search(self.question, self.limit, lexical, dense, among, begun)
        self.runs["graph"] = found.hits
        named = ", ".join(seed.surface for seed in found.seeds[:5]) or "none"
        self.note("graph", f"{len(found.hits)} text units; seeds: {named}", started)
        return found


def _together(
    legs_run: _Legs, used: dict[str, Run], graph: GraphRun | None, most: int | None
) -> tuple[RankedUnit, ...]:
    """The best ``most`` of several legs in the fused order, the question's period before others."""
    started = time.perf_counter()
    snapshot, options = legs_run.snapshot, legs_run.snapshot.settings.search
    fused_by = f"{options.fusion} over {', '.join(used)}"
    fused = fuse(
        used,
        method=options.fusion,
        weights={str(leg): weight for leg, weight in options.weights.items()} or None,
        k=options.rrf_k,
        trust=graph.trust if graph else 0.0,
        coverage=graph.coverage if graph else 1.0,
        documents=snapshot.graph.documents({i for run in used.values() for i, _ in run}),
    )
    if options.periods:
        fused = fit_periods(snapshot, legs_run.question, fused)
        fused_by += "; by period" if periods(legs_run.question) else ""
    units = tuple(
        RankedUnit(
            rank,
            hit.id,
            hit.score,
            {leg: Via(place, used[leg][place - 1][1]) for leg, place in hit.via.items()},
        )
        for rank, hit in enumerate(fused[:most], 1)
    )
    legs_run.note("fuse", fused_by, started)
    return units


def _nearest(run: Run) -> Nearest | None:
    if not run:
        return None
    background = [score for _, score in run[10:50]]
    lead = run[0][1] - sum(background) / len(background) if background else None
    return Nearest(run[0][1], lead)


def _alone(leg: str, run: Run) -> tuple[RankedUnit, ...]:
    """One leg's own order and scores."""
    return tuple(
        RankedUnit(rank, unit_id, score, {leg: Via(rank, score)})
        for rank, (unit_id, score) in enumerate(run, 1)
    )


def search(
    snapshot: Snapshot,
    question: str,
    top_k: int,
    method: str = "hybrid",
    reranking: Reranking | None = None,
) -> Hits:
    """Ranked hits by ``method``: hybrid, which may be reranked, or one leg alone, which is not.
    Raises UsageError for another name."""
    if method not in SEARCH_METHODS:
        raise UsageError(f"unknown search method {method!r}; known: {', '.join(SEARCH_METHODS)}")
    legs, reranking = (None, reranking) if method == "hybrid" else ([method], None)
    found = retrieve(snapshot, question, top_k, legs, reranking)
    return hits_of(snapshot, found.units, found.trace, found.warnings)


def hits_of(
    snapshot: Snapshot,
    units: Sequence[RankedUnit],
    trace: tuple[Step, ...] = (),
    warnings: tuple[str, ...] = (),
) -> Hits:
    """Hits with text and place for ranked text units."""
    found = snapshot.units(u.text_unit_id for u in units)
    wider = widen_units(snapshot, found)
    rows = {row["id"]: row for row in found}
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
            wider=wider.get(unit.text_unit_id),
            page_end=rows[unit.text_unit_id]["page_end"],
        )
        for unit in units
        if unit.text_unit_id in rows
    ]
    return Hits(in_sheets(snapshot, hits), trace, warnings)
