"""What an evaluation found, by question and method; kept as JSON and read back."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

from graphkb.evaluate.resample import Difference, Interval, mean_interval, paired_difference
from graphkb.types import Refused

FUSION = "hybrid"


@dataclass(frozen=True)
class Asked:
    """A question as it was judged.

    ``relevant`` maps the key of each relevant document (its id) to the item that names it in the
    questions file. ``hops`` is the file's, else the number of relevant documents; ``language``
    is the file's, else that of the question's words; ``type`` is empty where there is none.
    ``outside`` are the relevant items whose documents a filter kept out of the search.
    """

    id: str
    query: str
    relevant: Mapping[str, str]
    hops: int = 0
    language: str = ""
    type: str = ""
    outside: tuple[str, ...] = ()


@dataclass(frozen=True)
class QuestionResult:
    """One question under one method.

    ``ranks`` maps each relevant item, as the questions file names it, to the document rank it
    was found at, or None. ``documents`` are the keys of the ranked documents, best first;
    ``retrieved`` the titles of the first ones. ``via`` maps the relevant items that were found
    to the rank of their text unit in each leg. ``warnings`` are what the search said: a leg that
    was left out, for example.
    """

    id: str
    query: str
    metrics: Mapping[str, float]
    ranks: Mapping[str, int | None]
    retrieved: tuple[str, ...]
    milliseconds: float
    warnings: tuple[str, ...] = ()
    documents: tuple[str, ...] = ()
    via: Mapping[str, Mapping[str, int]] = field(default_factory=dict)

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

    def values(self, metric: str, ids: Sequence[str] | None = None) -> list[float]:
        """The metric's value of each judged question (or of those given), in order."""
        by_id = {question.id: question.metrics for question in self.questions}
        wanted = ids if ids is not None else [key for key, found in by_id.items() if found]
        return [by_id[key][metric] for key in wanted]

    def interval(self, metric: str) -> Interval:
        """The 95 % bootstrap interval of a metric's mean."""
        return mean_interval(self.values(metric))


@dataclass(frozen=True)
class Comparison:
    """Fusion against its best single leg, by MRR: below zero, a leg alone would do better."""

    fusion: float
    best_leg: str
    best: float
    paired: Difference | None = None

    @property
    def difference(self) -> float:
        return self.fusion - self.best


@dataclass(frozen=True)
class Group:
    """The questions that share a value of ``hops``, ``language`` or ``type``, with every method's
    means over them."""

    by: str
    value: str
    n: int
    means: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Evaluation:
    """Results by method, and everything that was left out of them and why.

    ``excluded`` are ids of questions without relevant documents, ``unmatched`` the relevant
    items that name no document (they count as not found), ``refused`` the unusable lines of the
    questions file, ``skipped`` the methods this knowledge base cannot run. ``depth`` is how many
    text units were asked for.
    """

    ks: tuple[int, ...]
    depth: int
    n_questions: int
    methods: tuple[MethodResult, ...]
    excluded: tuple[str, ...] = ()
    unmatched: tuple[Refused, ...] = ()
    refused: tuple[Refused, ...] = ()
    skipped: Mapping[str, str] = field(default_factory=dict)
    questions: tuple[Asked, ...] = ()

    @property
    def judged(self) -> list[str]:
        """Ids of the questions that the means are taken over."""
        return [question.id for question in self.methods[0].questions if question.metrics]

    def method(self, name: str) -> MethodResult:
        """The result of a method that was run."""
        return next(result for result in self.methods if result.method == name)

    @property
    def comparison(self) -> Comparison | None:
        """Fusion against its best leg; None unless both were run."""
        mrr = {result.method: result.mean["mrr"] for result in self.methods}
        legs = [method for method in mrr if method != FUSION]
        if FUSION not in mrr or not legs:
            return None
        best = max(legs, key=lambda leg: mrr[leg])
        paired = paired_difference(
            self.method(best).values("mrr"), self.method(FUSION).values("mrr")
        )
        return Comparison(mrr[FUSION], best, mrr[best], paired)

    @property
    def groups(self) -> list[Group]:
        """Breakdown by hops, language and type, where there is more than one value of it."""
        return [
            group for by, value_of in _BREAKDOWNS.items() for group in self._groups(by, value_of)
        ]

    def _groups(self, by: str, value_of: Callable[[Asked], str]) -> list[Group]:
        judged = set(self.judged)
        members: dict[str, list[str]] = {}
        for question in self.questions:
            if question.id in judged:
                members.setdefault(value_of(question), []).append(question.id)
        if len(members) < 2:
            return []
        return [
            Group(by, value, len(ids), {r.method: _means(r, ids) for r in self.methods})
            for value, ids in sorted(members.items(), key=lambda item: _order(item[0]))
        ]

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values, with intervals, breakdown and comparison."""
        data = asdict(self)
        comparison = self.comparison
        data["comparison"] = (
            asdict(comparison) | {"difference": comparison.difference} if comparison else None
        )
        data["groups"] = [asdict(group) for group in self.groups]
        for result, row in zip(self.methods, data["methods"], strict=True):
            row["interval"] = {name: asdict(result.interval(name)) for name in result.mean}
        return data


_BREAKDOWNS: dict[str, Callable[[Asked], str]] = {
    "hops": lambda question: str(question.hops),
    "language": lambda question: question.language,
    "type": lambda question: question.type or "none",
}


def _order(value: str) -> tuple[int, str]:
    """Numbers by size, other values by name."""
    return (int(value) if value.isdecimal() else 0), value


def _means(result: MethodResult, ids: Sequence[str]) -> dict[str, float]:
    return {name: math.fsum(result.values(name, ids)) / len(ids) for name in result.mean}


def evaluation_from(data: Mapping[str, Any]) -> Evaluation:
    """The evaluation that :meth:`Evaluation.to_dict` wrote. Raises KeyError, TypeError,
    ValueError or OverflowError for other data."""
    methods = tuple(_method_from(row) for row in data["methods"])
    judged = [{q.id: set(q.metrics) for q in method.questions if q.metrics} for method in methods]
    if not judged or not all(found and found == judged[0] for found in judged):
        raise ValueError("the methods do not have the same questions and metrics")
    if any(set(found) != set(m.mean) for m in methods for found in judged[0].values()):
        raise ValueError("a mean is of no metric of the questions")
    return Evaluation(
        ks=tuple(int(k) for k in data["ks"]),
        depth=int(data["depth"]),
        n_questions=int(data["n_questions"]),
        methods=methods,
        excluded=tuple(data["excluded"]),
        unmatched=tuple(Refused(**row) for row in data["unmatched"]),
        refused=tuple(Refused(**row) for row in data["refused"]),
        skipped=dict(data["skipped"]),
        questions=tuple(
            Asked(**{**row, "outside": tuple(row.get("outside", ()))}) for row in data["questions"]
        ),
    )


def _method_from(row: Mapping[str, Any]) -> MethodResult:
    return MethodResult(
        method=str(row["method"]),
        mean=_numbers(row["mean"]),
        p50_ms=float(row["p50_ms"]),
        p95_ms=float(row["p95_ms"]),
        questions=tuple(_question_from(question) for question in row["questions"]),
    )


def _question_from(row: Mapping[str, Any]) -> QuestionResult:
    lists = {key: tuple(row[key]) for key in ("retrieved", "warnings", "documents")}
    return QuestionResult(**{**row, **lists, "metrics": _numbers(row["metrics"])})


def _numbers(row: Mapping[str, Any]) -> dict[str, float]:
    found = {name: float(value) for name, value in row.items()}
    if not all(map(math.isfinite, found.values())):
        raise ValueError(f"a metric is no number: {found}")
    return found
