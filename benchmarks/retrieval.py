"""Retrieval quality, offline, no model, default settings, one configuration for all sets.

    python benchmarks/retrieval.py [--sets musique zh_multihop …] [--data ../shared/bench]
    python benchmarks/retrieval.py --ablation [--variants "no graph leg" …]

Prints Markdown: per set every leg and method, other engines on the same text units, the bars, and
what other engines reach (peers.json). Ranks are of documents. With --ablation: what each part is
worth on every set. An indexed work folder is used again when given twice.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ablation import MEASURES, VARIANTS, Ablation, ablate, ablation_table, remember_queries
from engines import OtherEngines
from sets import HERE, SETS, copy_input, prepare, set_folder, work_folder

import graphkb
from graphkb.errors import GraphkbError
from graphkb.evaluate.questions import QuestionSet, read_questions
from graphkb.evaluate.results import Evaluation
from graphkb.evaluate.run import run_evaluation
from graphkb.progress import ProgressDisplay, shown_progress
from graphkb.view.evaluation import aligned

__all__ = ["HERE", "PEERS", "copy_input", "peers", "set_folder", "work_folder"]

PEERS = json.loads((HERE / "peers.json").read_text("utf-8"))
KS = (1, 2, 5, 8)
COLUMNS = ("recall@1", "recall@2", "recall@5", "recall@8", "all@8", "ndcg@8", "mrr")
OURS = ("hybrid", "lexical", "dense", "graph")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument(
        "--work", type=Path, help="keep the indexes here (default: a folder deleted at the end)"
    )
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--ablation", action="store_true", help="each part off, on every set")
    parser.add_argument(
        "--variants", nargs="+", choices=VARIANTS, default=(), help="only these (--ablation)"
    )
    options = parser.parse_args()
    results: dict[str, Any] = {}
    ablations: dict[str, Ablation] = {}
    try:
        with work_folder(options.work) as work, shown_progress() as progress:
            for name in options.sets:
                questions = read_questions(prepare(name, options.data, work))
                index(work / name, progress)
                if options.ablation:
                    found = ablate(work / name, questions, {}, progress, options.variants)
                    ablations[name] = found
                    results[name] = {"base": found.base, "differences": found.differences}
                else:
                    ours, others = measure(work / name, questions, progress)
                    results[name] = {"graphkb": ours.to_dict(), "others": others.to_dict()}
                    print(f"## {name}\n\n{report(name, ours, others)}\n", flush=True)
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    if ablations:
        print("\n\n".join(ablation_table(ablations, measure) for measure in MEASURES))
    if options.json:
        text = json.dumps(results, ensure_ascii=False, indent=1)
        options.json.write_text(text, "utf-8")


def index(root: Path, progress: ProgressDisplay) -> None:
    """Indexes the set laid out at ``root`` with the default settings."""
    with contextlib.closing(graphkb.open(root)) as project:
        result = project.index(progress)
    for remark in (*result.warnings, *(f"{r.where}: {r.reason}" for r in result.refused)):
        print(f"warning: {remark}", file=sys.stderr)


def measure(
    root: Path, questions: QuestionSet, progress: ProgressDisplay
) -> tuple[Evaluation, Evaluation]:
    """All questions asked of graphkb's methods, and of the other engines."""
    with contextlib.closing(graphkb.open(root)) as project:
        remember_queries(project, {})
        ours = run_evaluation(project, questions, OURS, KS, progress)
        engines = OtherEngines(project)
        others = run_evaluation(engines, questions, (), KS, progress)
    return ours, others_with(others, engines.missing)


def others_with(others: Evaluation, missing: Mapping[str, str]) -> Evaluation:
    """The evaluation that also says which engines were not there."""
    return dataclasses.replace(others, skipped={**others.skipped, **missing})


def report(name: str, ours: Evaluation, others: Evaluation) -> str:
    """The set's table: methods of this run, the bars, the peers."""
    rows = [["", *COLUMNS, "how"]]
    for evaluation, prefix in ((ours, "graphkb "), (others, "")):
        for result in evaluation.methods:
            values = [f"{result.mean[column]:.3f}" for column in COLUMNS]
            rows.append([f"{prefix}{result.method}", *values, "this run"])
    if name in PEERS["bars"]:
        rows.append(["**bar**", *_sparse(PEERS["bars"][name], "≥ {}"), "hybrid"])
    rows += [_peer(name, peer) for peer in peers(name)]
    lines = [aligned(rows, left=(0, len(rows[0]) - 1)), "", *verdicts(name, ours)]
    for evaluation in (ours, others):
        lines += [f"left out: {method}: {why}" for method, why in evaluation.skipped.items()]
    lines += [f"{item.where}: {item.reason}" for item in ours.unmatched]
    return "\n".join(lines)


def peers(name: str) -> dict[tuple[str, str], dict[str, float]]:
    """(engine, how measured) to its figures on set ``name``."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for peer in PEERS["peers"]:
        if peer["set"] == name:
            found.setdefault((peer["name"], peer["source"]), {})[peer["measure"]] = peer["value"]
    return found


def _peer(name: str, peer: tuple[str, str]) -> list[str]:
    return [peer[0], *_sparse(peers(name)[peer], "{:.3f}"), peer[1]]


def _sparse(values: Mapping[str, float], form: str) -> list[str]:
    return [form.format(values[column]) if column in values else "" for column in COLUMNS]


def verdicts(name: str, evaluation: Evaluation) -> list[str]:
    """Each bar with what hybrid reached, and fusion against its best leg."""
    hybrid: dict[str, Any] = {
        result.method: dict(result.mean) for result in evaluation.methods
    }.get("hybrid", {})
    lines = [
        f"- {measure} {hybrid[measure]:.3f}, bar {bar}: {_verdict(hybrid[measure] >= bar)}"
        for measure, bar in PEERS["bars"].get(name, {}).items()
        if measure in hybrid
    ]
    comparison = evaluation.comparison
    if comparison:
        kept = comparison.difference >= -PEERS["fusion_margin"]
        lines.append(
            f"- fusion against its best leg ({comparison.best_leg}): "
            f"{comparison.difference:+.3f} MRR, bar -{PEERS['fusion_margin']}: "
            f"{_verdict(kept)}"
        )
    return lines


def _verdict(met: bool) -> str:
    return "met" if met else "MISSED"


if __name__ == "__main__":
    main()
