"""Runs evaluation questions through every search method and says which one finds the evidence."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from graphkb.errors import EmbeddingError, NotIndexedError, UsageError
from graphkb.evaluate.metrics import Metrics, evaluate
from graphkb.evaluate.questions import DocumentNames, Judgement, QuestionSet
from graphkb.types import Hits, Progress, Refused, no_progress

if TYPE_CHECKING:
    import polars as pl

LEGS = ("lexical", "dense", "graph")
FUSION = "hybrid"
DEFAULT_KS = (1, 5, 8)

# Units asked for per document wanted: a long document's units crowd the top.
_UNITS_PER_DOCUMENT = 10
_MOST_UNITS = 1000


class Searchable(Protocol):
    """What evaluation needs of a project."""

    @property
    def search_methods(self) -> Sequence[str]: ...

    def search(self, question: str, top_k: int | None = None, method: str = FUSION) -> Hits: ...

    def table(self, name: str) -> pl.DataFrame: ...


@dataclass(frozen=True)
class QuestionResult:
    """One question under one method.

    ``ranks`` maps each relevant item, as the questions file names it, to the document rank it
    was found at, or None. ``retrieved`` are the titles of the first documents. ``warnings`` are
    what the search said: a leg that was left out, for example.
    """

    id: str
    query: str
    metrics: Mapping[str, float]
    ranks: Mapping[str, int | None]
    retrieved: tuple[str, ...]
    milliseconds: float
    warnings: tuple[str, ...] = ()

    def missed(self, k: int) -> tuple[str, ...]:
        """Relevant items that are not among the first ``k`` documents."""
        return tuple(item for item, rank in self.ranks.items() if rank is None or rank > k)


@dataclass(frozen=True)
class MethodResult:
    """Means of one method over the judged questions, with latency percentiles (warm)."""

    method: str
    mean: Mapping[str, float]
    p50_ms: float
    p95_ms: float
    questions: tuple[QuestionResult, ...]


@dataclass(frozen=True)
class Comparison:
    """Fusion against its best single leg, by MRR: below zero, a leg alone would do better."""

    fusion: float
    best_leg: str
    best: float

    @property
    def difference(self) -> float:
        return self.fusion - self.best


@dataclass(frozen=True)
class Evaluation:
    """Results by method, and everything that was left out of them and why.

    ``excluded`` are ids of questions without relevant documents, ``unmatched`` the relevant
    items that name no document (they count as not found), ``refused`` the unusable lines of the
    questions file, ``skipped`` the methods this knowledge base cannot run.
    """

    ks: tuple[int, ...]
    depth: int
    n_questions: int
    methods: tuple[MethodResult, ...]
    excluded: tuple[str, ...] = ()
    unmatched: tuple[Refused, ...] = ()
    refused: tuple[Refused, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)

    @property
    def comparison(self) -> Comparison | None:
        """Fusion against its best leg; None unless both were run."""
        mrr = {result.method: result.mean["mrr"] for result in self.methods}
        legs = [leg for leg in LEGS if leg in mrr]
        if FUSION not in mrr or not legs:
            return None
        best = max(legs, key=lambda leg: mrr[leg])
        return Comparison(mrr[FUSION], best, mrr[best])

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values, with the comparison."""
        comparison = self.comparison
        found = asdict(comparison) | {"difference": comparison.difference} if comparison else None
        return {**asdict(self), "comparison": found}


def metric_names(ks: Sequence[int]) -> list[str]:
    """Every metric an evaluation keeps."""
    kinds = ("recall", "precision", "hit", "all", "ndcg")
    return [f"{kind}@{k}" for kind in kinds for k in ks] + ["mrr"]


def run_evaluation(
    project: Searchable,
    question_set: QuestionSet,
    methods: Sequence[str] = (),
    ks: Sequence[int] = DEFAULT_KS,
    progress: Progress = no_progress,
) -> Evaluation:
    """Asks every question of every method; documents rank by their first text unit.

    ``methods`` empty means all of the project's. Raises UsageError for an unknown method, when
    no question is judged, or when none of the methods can run.
    """
    cuts = tuple(sorted(set(ks)))
    depth = min(_MOST_UNITS, _UNITS_PER_DOCUMENT * cuts[-1])
    names = DocumentNames(project.table("documents").select("id", "path", "title").iter_rows())
    judgements = {question.id: names.judge(question) for question in question_set.questions}
    results, skipped = [], {}
    for method in _known(methods, project.search_methods):
        try:
            results.append(
                _run_method(project, question_set, judgements, method, cuts, depth, progress)
            )
        except (NotIndexedError, EmbeddingError) as error:
            skipped[method] = str(error)
    if not results:
        raise NotIndexedError(next(iter(skipped.values())))
    unmatched = [
        Refused(f"question {question.id}", f"no document has the id, path or title {item!r}")
        for question in question_set.questions
        for item in judgements[question.id].unmatched
    ]
    return Evaluation(
        ks=cuts,
        depth=depth,
        n_questions=len(question_set.questions),
        methods=tuple(results),
        excluded=tuple(key for key, judgement in judgements.items() if not judgement.labels),
        unmatched=tuple(unmatched),
        refused=question_set.refused,
        skipped=skipped,
    )


def _known(methods: Sequence[str], known: Sequence[str]) -> tuple[str, ...]:
    for method in methods:
        if method not in known:
            raise UsageError(f"unknown search method {method!r}; known: {', '.join(known)}")
    return tuple(dict.fromkeys(methods)) or tuple(known)


def _run_method(
    project: Searchable,
    question_set: QuestionSet,
    judgements: Mapping[str, Judgement],
    method: str,
    ks: tuple[int, ...],
    depth: int,
    progress: Progress,
) -> MethodResult:
    questions = question_set.questions
    # The first question also loads the indexes; it is asked once more for its time.
    project.search(questions[0].query, top_k=depth, method=method)
    found: dict[str, tuple[Hits, float]] = {}
    progress(method, 0, len(questions))
    for done, question in enumerate(questions, 1):
        start = time.perf_counter()
        hits = project.search(question.query, top_k=depth, method=method)
        found[question.id] = hits, 1000 * (time.perf_counter() - start)
        progress(method, done, len(questions))
    run = {key: _documents(hits, judgements[key]) for key, (hits, _) in found.items()}
    qrels = {key: judgement.relevant for key, judgement in judgements.items()}
    metrics = evaluate(qrels, run, metric_names(ks))
    times = [milliseconds for _, milliseconds in found.values()]
    return MethodResult(
        method=method,
        mean=metrics.mean,
        p50_ms=percentile(times, 50),
        p95_ms=percentile(times, 95),
        questions=tuple(_question_results(question_set, judgements, found, run, metrics, ks)),
    )


def _documents(hits: Hits, judgement: Judgement) -> list[str]:
    """Document ids best first, each once; a relevant one stands under its item's key."""
    keys = (judgement.document_item.get(hit.document_id, hit.document_id) for hit in hits)
    return list(dict.fromkeys(keys))


def _question_results(
    question_set: QuestionSet,
    judgements: Mapping[str, Judgement],
    found: Mapping[str, tuple[Hits, float]],
    run: Mapping[str, Sequence[str]],
    metrics: Metrics,
    ks: tuple[int, ...],
) -> Iterable[QuestionResult]:
    for question in question_set.questions:
        hits, milliseconds = found[question.id]
        rank_of = {key: rank for rank, key in enumerate(run[question.id], 1)}
        titles = dict.fromkeys((hit.document_id, hit.title) for hit in hits)
        yield QuestionResult(
            id=question.id,
            query=question.query,
            metrics=metrics.per_question.get(question.id, {}),
            ranks={
                label: rank_of.get(key) for key, label in judgements[question.id].labels.items()
            },
            retrieved=tuple(title for _, title in titles)[: ks[-1]],
            milliseconds=milliseconds,
            warnings=hits.warnings,
        )


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value with at least ``percent`` of all values at or below it (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
