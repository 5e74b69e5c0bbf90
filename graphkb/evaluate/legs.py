"""What each leg returns for each question, asked once and fused again in memory.

Legs know nothing of fusion, so a hundred ways of joining them cost one retrieval a question.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from graphkb.errors import EmbeddingError, NotIndexedError
from graphkb.evaluate.metrics import evaluate
from graphkb.evaluate.questions import DocumentNames, Judgement, Question
from graphkb.search.fuse import Method, fuse
from graphkb.search.hybrid import fused_units
from graphkb.search.snapshot import Snapshot
from graphkb.search.times import agreements, by_period
from graphkb.types import Progress, no_progress

Run = list[tuple[str, float]]


@dataclass(frozen=True)
class Fusion:
    """A way of joining legs: the settings ``search.fusion``, ``search.rrf_k`` and
    ``search.weights``. ``weights`` None means weights fitted to each question."""

    method: Method
    k: int
    weights: Mapping[str, float] | None

    def __str__(self) -> str:
        name = f"rrf, k {self.k}" if self.method == "rrf" else "alpha"
        if self.weights is None:
            return f"{name}, weights by question"
        return f"{name}, " + " ".join(f"{leg} {w:g}" for leg, w in self.weights.items())


@dataclass(frozen=True)
class LegRuns:
    """One question's hits (text unit id, score) by leg, with what fusion needs beside them.

    ``documents`` maps each text unit to the number of its document, ``keys`` to the key of its
    document in the question's judgement; ``relevant`` are the keys that answer it. ``periods``
    says how well each text unit fits the period that the question names.
    """

    id: str
    runs: Mapping[str, Run]
    trust: float
    coverage: float
    documents: Mapping[str, int]
    keys: Mapping[str, str]
    relevant: tuple[str, ...]
    periods: Mapping[str, float] = field(default_factory=dict)

    def ranked(self, fusion: Fusion) -> list[str]:
        """Document keys in the order of this fusion, best first, each once."""
        hits = fuse(
            self.runs, fusion.method, fusion.weights, fusion.k,
            self.trust, self.coverage, self.documents,
        )  # fmt: skip
        hits = by_period(hits, self.periods)
        return list(dict.fromkeys(self.keys[hit.id] for hit in hits if hit.id in self.keys))


def measure(runs: Sequence[LegRuns], fusion: Fusion, metrics: Sequence[str]) -> list[list[float]]:
    """By metric, its value for each question under this fusion."""
    found = evaluate(
        {question.id: question.relevant for question in runs},
        {question.id: question.ranked(fusion) for question in runs},
        metrics,
    ).per_question
    return [[found[question.id][name] for question in runs] for name in metrics]


@dataclass(frozen=True)
class Gathered:
    """The runs of every judged question, the legs that ran, and why others did not."""

    runs: tuple[LegRuns, ...]
    legs: tuple[str, ...]
    skipped: Mapping[str, str]


def gather_runs(
    snapshot: Snapshot,
    questions: Sequence[Question],
    names: DocumentNames,
    progress: Progress = no_progress,
) -> Gathered:
    """Asks each leg of ``search.legs`` each question that has relevant documents, once."""
    legs, skipped = _legs_that_run(snapshot, questions[0].query if questions else "")
    judged = [(question, names.judge(question)) for question in questions]
    judged = [(question, judgement) for question, judgement in judged if judgement.labels]
    found = []
    for done, (question, judgement) in enumerate(judged, 1):
        found.append(_runs(snapshot, question, judgement, legs))
        progress("legs", done, len(judged))
    return Gathered(tuple(found), legs, skipped)


def _legs_that_run(snapshot: Snapshot, question: str) -> tuple[tuple[str, ...], dict[str, str]]:
    legs, skipped = [], {}
    for leg in dict.fromkeys(snapshot.settings.search.legs):
        try:
            fused_units(snapshot, question, 1, [leg])
        except (NotIndexedError, EmbeddingError) as error:
            skipped[str(leg)] = str(error)
        else:
            legs.append(str(leg))
    return tuple(legs), skipped


def _runs(
    snapshot: Snapshot, question: Question, judgement: Judgement, legs: Sequence[str]
) -> LegRuns:
    limit = snapshot.settings.search.candidates
    runs: dict[str, Run] = {}
    trust, coverage = 0.0, 1.0
    for leg in sorted(legs, key="graph".__eq__):
        if leg == "graph":
            # The walk reads the hits of the other two.
            lexical = runs.get("lexical") or _alone(snapshot, question, limit, "lexical")
            dense = runs.get("dense", [])
            graph = snapshot.graph.search(question.query, limit, lexical, dense)
            runs[leg], trust, coverage = graph.hits, graph.trust, graph.coverage
        else:
            runs[leg] = _alone(snapshot, question, limit, leg)
    ids = list(dict.fromkeys(unit_id for run in runs.values() for unit_id, _ in run))
    document_of = snapshot.store.where("text_units", "id", ids, ("id", "document_id"))
    keys = {
        unit_id: judgement.document_item.get(document_id, document_id)
        for unit_id, document_id in document_of.select("id", "document_id").iter_rows()
    }
    documents = snapshot.graph.documents(ids)
    fits = agreements(snapshot, question.query, ids) if snapshot.settings.search.periods else {}
    return LegRuns(question.id, runs, trust, coverage, documents, keys, judgement.relevant, fits)


def _alone(snapshot: Snapshot, question: Question, limit: int, leg: str) -> Run:
    units = fused_units(snapshot, question.query, limit, [leg]).units
    return [(unit.text_unit_id, unit.score) for unit in units[:limit]]
