"""Runs evaluation questions through every search method and says which one finds the evidence."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

from graphkb.errors import EmbeddingError, NotIndexedError, UsageError
from graphkb.evaluate.metrics import Metrics, evaluate
from graphkb.evaluate.questions import DocumentNames, Judgement, Question, QuestionSet
from graphkb.evaluate.results import FUSION, Asked, Evaluation, MethodResult, QuestionResult
from graphkb.text.language import question_language
from graphkb.types import Hits, Progress, Refused, no_progress

if TYPE_CHECKING:
    import polars as pl

    from graphkb.search.snapshot import Snapshot

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
    candidates: int = 0,
    inside: Collection[str] | None = None,
) -> Evaluation:
    """Asks every question of every method; documents rank by their first text unit.

    ``methods`` empty means all of the project's. Ten text units are asked for per document of the
    last cut, and at least ``candidates``, so that what a leg put forward is seen to its end.
    ``inside`` are the documents that the project's filter lets through, None without one: relevant
    ones that it does not are named in ``Asked.outside`` and count as not found. Raises UsageError
    for an unknown method or when no question is judged, NotIndexedError when none of the methods
    can run.
    """
    cuts = tuple(sorted(set(ks)))
    depth = min(_MOST_UNITS, max(_UNITS_PER_DOCUMENT * cuts[-1], candidates))
    names = document_names(project)
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
        questions=tuple(_asked(q, judgements[q.id], inside) for q in question_set.questions),
    )


def document_names(project: Searchable, inside: Collection[str] | None = None) -> DocumentNames:
    """The project's documents (those ``inside``, where that is given), to be found by id, path or
    title, also by the paths of their copies."""
    names: list[tuple[str, str, str]] = []
    rows = project.table("documents").select("id", "path", "title", "metadata").iter_rows()
    for document, path, title, metadata in rows:
        if _in(document, inside):
            copies = json.loads(metadata or "{}").get("duplicate_paths", ())
            names += [(document, path, title), *((document, copy, "") for copy in copies)]
    return DocumentNames(names)


def documents_inside(snapshot: Snapshot) -> frozenset[str] | None:
    """Ids of the documents that the snapshot's filter lets something of through; None where it is
    not narrowed."""
    if snapshot.selection is None:
        return None
    units = snapshot.store.read("text_units", ("id", "document_id"))
    return frozenset(d for unit, d in units.iter_rows() if unit in snapshot.selection.unit_ids)


def _asked(question: Question, judgement: Judgement, inside: Collection[str] | None) -> Asked:
    reached = {key for document, key in judgement.document_item.items() if _in(document, inside)}
    return Asked(
        id=question.id,
        query=question.query,
        relevant=dict(judgement.labels),
        hops=question.hops or len(judgement.labels),
        language=question.language or question_language(question.query),
        type=question.type,
        outside=tuple(
            label
            for key, label in judgement.labels.items()
            if key not in reached and label not in judgement.unmatched
        ),
    )


def _in(document: str, inside: Collection[str] | None) -> bool:
    return inside is None or document in inside


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
    run = {key: ranked_documents(hits, judgements[key]) for key, (hits, _) in found.items()}
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


def ranked_documents(hits: Hits, judgement: Judgement) -> list[str]:
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
        judgement = judgements[question.id]
        rank_of = {key: rank for rank, key in enumerate(run[question.id], 1)}
        titles = dict.fromkeys((hit.document_id, hit.title) for hit in hits)
        yield QuestionResult(
            id=question.id,
            query=question.query,
            metrics=metrics.per_question.get(question.id, {}),
            ranks={label: rank_of.get(key) for key, label in judgement.labels.items()},
            retrieved=tuple(title for _, title in titles)[: ks[-1]],
            milliseconds=milliseconds,
            warnings=hits.warnings,
            documents=tuple(run[question.id]),
            via=_via(hits, judgement),
        )


def _via(hits: Hits, judgement: Judgement) -> dict[str, dict[str, int]]:
    """By relevant item that was found, the rank of its best text unit in each leg."""
    found: dict[str, dict[str, int]] = {}
    for hit in hits:
        key = judgement.document_item.get(hit.document_id)
        label = judgement.labels.get(key) if key is not None else None
        if label is not None and label not in found:
            found[label] = {leg: via.rank for leg, via in hit.via.items()}
    return found


def percentile(values: Sequence[float], percent: float) -> float:
    """The smallest value with at least ``percent`` of all values at or below it (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]
