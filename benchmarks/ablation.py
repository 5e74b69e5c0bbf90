"""Each part of retrieval off, on every set: what it is worth where.

A variant is settings that differ from the defaults, options of the graph leg, or a part that is
taken out of the opened index. Variants of the index (``rebuild``) are indexed again in a copy;
their vectors come from the cache.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

import graphkb
from graphkb.evaluate.questions import QuestionSet
from graphkb.evaluate.run import run_evaluation
from graphkb.progress import ProgressDisplay
from graphkb.project import Project
from graphkb.search.graph import GraphIndex
from graphkb.view.evaluation import aligned

KS = (1, 2, 5, 8)
MEASURES = ("all@8", "recall@5", "recall@1", "mrr")
EQUAL = "search.weights={lexical: 1, dense: 1, graph: 1}"


class WithoutSupport(GraphIndex):
    """The graph leg of an index whose hits belong to no common document."""

    def documents(self, text_unit_ids: object) -> dict[str, int]:
        return {}


def without_facts(index: GraphIndex) -> None:
    """Takes the typed relationships away that sentences and seeds lead along."""
    nothing = np.zeros_like(index.arrays["fact_indptr"])
    index.arrays = {**index.arrays, "fact_indptr": nothing}


def without_support(index: GraphIndex) -> None:
    """Takes away what a document gains from being found in several places."""
    index.__class__ = WithoutSupport


@dataclass(frozen=True)
class Variant:
    """``settings`` as ``section.key=value``; ``graph`` changes options of the graph leg."""

    settings: Sequence[str] = ()
    graph: Mapping[str, Any] = field(default_factory=dict)
    change: Callable[[GraphIndex], None] | None = None
    rebuild: bool = False


VARIANTS: dict[str, Variant] = {
    "no lexical leg": Variant(["search.legs=[dense, graph]"]),
    "no dense leg": Variant(["search.legs=[lexical, graph]"]),
    "no graph leg": Variant(["search.legs=[lexical, dense]"]),
    "fixed equal weights": Variant([EQUAL]),
    "RRF, adaptive weights": Variant(["search.fusion=rrf"]),
    "RRF, equal weights": Variant(["search.fusion=rrf", EQUAL]),
    "no document support": Variant(change=without_support),
    "no regard to the period asked for": Variant(["search.periods=false"]),
    "no expansion by sentences and facts": Variant(graph={"expansion": 0.0}),
    "no typed relationships in expansion": Variant(change=without_facts),
    "no nearness in meaning in expansion": Variant(graph={"near": 0.0}),
    "no question words in the walk": Variant(graph={"fit": 0.0}),
    "no start from other legs' hits": Variant(graph={"prior_units": 0}),
    "no mined terms": Variant(["extract.mine_terms=false"], rebuild=True),
    "English stemming (off by default)": Variant(["text.stemming=true"], rebuild=True),
    "comparisons asked by sides (off)": Variant(["search.decompose=true"]),
}


class RememberedQueries:
    """An embedder that keeps the vectors of questions, so that each is embedded once a run."""

    def __init__(self, embedder: Any, known: dict[str, Any]) -> None:
        self._embedder, self._known = embedder, known

    def embed_query(self, text: str) -> Any:
        if text not in self._known:
            self._known[text] = self._embedder.embed_query(text)
        return self._known[text]

    def __getattr__(self, name: str) -> Any:
        return getattr(self._embedder, name)


def remember_queries(project: Project, known: dict[str, Any]) -> None:
    """Puts the memory between a project and its embedder; ``known`` may be shared by projects."""
    snapshot = project._current()
    if snapshot.embedder is not None:
        snapshot.__dict__["embedder"] = RememberedQueries(snapshot.embedder, known)


@dataclass(frozen=True)
class Ablation:
    """Means of the hybrid method by variant of one set; ``base`` are those of the defaults."""

    base: Mapping[str, float]
    variants: Mapping[str, Mapping[str, float]]

    @cached_property
    def differences(self) -> dict[str, dict[str, float]]:
        """How far each variant lies above (+) or below (-) the defaults."""
        return {
            name: {measure: means[measure] - self.base[measure] for measure in MEASURES}
            for name, means in self.variants.items()
        }


def ablate(
    root: Path,
    questions: QuestionSet,
    known: dict[str, Any],
    progress: ProgressDisplay,
    names: Sequence[str] = (),
) -> Ablation:
    """Asks all questions of the indexed project at ``root`` under the defaults and each variant."""
    base = asked(root, questions, Variant(), known, progress)
    found = {}
    for name in names or tuple(VARIANTS):
        variant = VARIANTS[name]
        if variant.rebuild:
            with rebuilt(root, variant, progress) as copy:
                found[name] = asked(copy, questions, variant, known, progress)
        else:
            found[name] = asked(root, questions, variant, known, progress)
    return Ablation(base, found)


def asked(
    root: Path,
    questions: QuestionSet,
    variant: Variant,
    known: dict[str, Any],
    progress: ProgressDisplay,
) -> Mapping[str, float]:
    """Means of the hybrid method."""
    with contextlib.closing(graphkb.open(root, list(variant.settings))) as project:
        remember_queries(project, known)
        index = project._current().graph
        index.options = replace(index.options, **variant.graph)
        if variant.change:
            variant.change(index)
        return run_evaluation(project, questions, ["hybrid"], KS, progress).methods[0].mean


@contextlib.contextmanager
def rebuilt(root: Path, variant: Variant, progress: ProgressDisplay) -> Iterator[Path]:
    """A copy of the project, indexed with the variant's settings."""
    copy = root.with_name(f"{root.name}-variant")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(root, copy)
    try:
        with contextlib.closing(graphkb.open(copy, list(variant.settings))) as project:
            project.index(progress)
        yield copy
    finally:
        shutil.rmtree(copy, ignore_errors=True)


def ablation_table(results: Mapping[str, Ablation], measure: str) -> str:
    """A row a variant, a column a set: differences from the defaults, whose value is on top."""
    rows = [[measure, *results]]
    rows.append(["**defaults**", *(f"{found.base[measure]:.3f}" for found in results.values())])
    names = dict.fromkeys(name for found in results.values() for name in found.variants)
    for name in names:
        changes = (found.differences.get(name, {}).get(measure) for found in results.values())
        rows.append([name, *("" if c is None else f"{c:+.3f}" for c in changes)])
    return aligned(rows)
