"""Two evaluations of the same questions against each other, question by question."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

from graphkb.errors import UsageError
from graphkb.evaluate.resample import SURE, Difference, paired_difference
from graphkb.evaluate.results import MethodResult
from graphkb.evaluate.saved import SavedRun

Verdict = Literal["worse", "not worse", "too few"]


@dataclass(frozen=True)
class Change:
    """A question with the metric's value before and after."""

    id: str
    query: str
    before: float
    after: float

    @property
    def moved(self) -> float:
        """How far it moved, 0 for what rounding makes."""
        return 0.0 if _is_same(self.before, self.after) else self.after - self.before


@dataclass(frozen=True)
class MethodComparison:
    """One method in both runs. ``won``, ``lost`` and ``unchanged`` questions are by the metric
    ``by``, the largest change first; ``same`` are metrics that no question changed."""

    before: str
    after: str
    metrics: Mapping[str, Difference]
    means: Mapping[str, tuple[float, float]]
    by: str
    won: tuple[Change, ...]
    lost: tuple[Change, ...]
    unchanged: tuple[Change, ...] = ()
    same: tuple[str, ...] = ()


@dataclass(frozen=True)
class RunComparison:
    """``methods`` are those in both runs; ``n`` questions are in both, ``only_before`` and
    ``only_after`` in one of them and left out."""

    before: str
    after: str
    n: int
    methods: tuple[MethodComparison, ...]
    only_before: tuple[str, ...]
    only_after: tuple[str, ...]

    @property
    def is_worse(self) -> bool:
        """Whether the first method (hybrid, where both runs have it) surely lost: any of recall,
        nDCG and MRR is lower with p below 0.05 / 3 (Bonferroni's correction for three looks)."""
        return self.verdict == "worse"

    @property
    def verdict(self) -> Verdict:
        """On the first method; ``too few`` questions tell neither."""
        metrics = self.methods[0].metrics
        watched = [metrics[name] for name in _watched(metrics)]
        if not all(found.is_enough for found in watched):
            return "too few"
        limit = SURE / len(watched)
        lost = any(found.mean < 0 and found.p < limit for found in watched)
        return "worse" if lost else "not worse"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "is_worse": self.is_worse, "verdict": self.verdict}


def _watched(metrics: Mapping[str, Difference]) -> list[str]:
    """The metrics a verdict rests on: recall and nDCG at the last cut-off, and MRR."""
    last = {kind: [m for m in metrics if m.startswith(f"{kind}@")] for kind in ("recall", "ndcg")}
    return [*(names[-1] for names in last.values() if names), "mrr"]


def compare_runs(before: SavedRun, after: SavedRun) -> RunComparison:
    """Paired differences of every metric that both runs have, over the questions both have.

    Questions are matched by id, and must ask the same. Where the runs share no method and each
    has a single one, those are compared with each other. Raises UsageError when there is
    nothing in common.
    """
    one, two = before.evaluation, after.evaluation
    asked = {question.id: question.query for question in one.methods[0].questions}
    same = {q.id for q in two.methods[0].questions if asked.get(q.id) == q.query}
    second = set(two.judged)
    ids = [key for key in one.judged if key in second and key in same]
    if not ids:
        raise UsageError(
            f"{before.name} and {after.name} have no judged question in common; "
            "compare runs over the same questions file"
        )
    names = [result.method for result in one.methods]
    pairs = [(r, two.method(r.method)) for r in one.methods if r.method in _methods(after)]
    if not pairs and len(one.methods) == len(two.methods) == 1:
        pairs = [(one.methods[0], two.methods[0])]
    if not pairs:
        raise UsageError(
            f"no method is in both runs: {before.name} has {', '.join(names)}, "
            f"{after.name} has {', '.join(_methods(after))}"
        )
    return RunComparison(
        before=before.name,
        after=after.name,
        n=len(ids),
        methods=tuple(_compared(a, b, ids) for a, b in pairs),
        only_before=tuple(key for key in one.judged if key not in ids),
        only_after=tuple(key for key in two.judged if key not in ids),
    )


def _methods(run: SavedRun) -> list[str]:
    return [result.method for result in run.evaluation.methods]


def _compared(before: MethodResult, after: MethodResult, ids: list[str]) -> MethodComparison:
    names = [name for name in before.mean if name in after.mean]
    values = {name: (before.values(name, ids), after.values(name, ids)) for name in names}
    metrics = {name: paired_difference(a, b) for name, (a, b) in values.items()}
    means = {name: (sum(a) / len(a), sum(b) / len(b)) for name, (a, b) in values.items()}
    by = next((name for name in reversed(names) if name.startswith("ndcg@")), "mrr")
    queries = {question.id: question.query for question in after.questions}
    changes = [Change(key, queries[key], a, b) for key, a, b in zip(ids, *values[by], strict=True)]
    changes.sort(key=lambda change: (-abs(change.after - change.before), change.id))
    same = tuple(name for name, pair in values.items() if all(map(_is_same, *pair)))
    return MethodComparison(
        before=before.method,
        after=after.method,
        metrics=metrics,
        means=means,
        by=by,
        won=tuple(change for change in changes if change.moved > 0),
        lost=tuple(change for change in changes if change.moved < 0),
        unchanged=tuple(change for change in changes if not change.moved),
        same=same,
    )


def _is_same(one: float, other: float) -> bool:
    """Whether two values differ by no more than how sums of floats are rounded."""
    return math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
