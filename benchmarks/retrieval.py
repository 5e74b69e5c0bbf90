"""Retrieval quality, offline, no model, default settings, one configuration for all sets.

    python benchmarks/retrieval.py [--sets 2wiki musique netop_zh] [--data ../shared/bench]

Prints Markdown: per set every leg and method, then the bars and what other engines reach
(peers.json). Ranks are of documents. An indexed work folder is used again when given twice.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import graphkb
from graphkb.errors import GraphkbError
from graphkb.evaluate.questions import read_questions
from graphkb.evaluate.run import Evaluation, run_evaluation
from graphkb.progress import shown_progress
from graphkb.view.evaluation import aligned

HERE = Path(__file__).parent
PEERS = json.loads((HERE / "peers.json").read_text("utf-8"))
COLUMNS = ("all@8", "recall@5", "recall@1", "mrr")
SETS = tuple(PEERS["bars"])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS)
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument(
        "--work", type=Path, help="keep the indexes here (default: a folder deleted at the end)"
    )
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    results = {}
    try:
        with work_folder(options.work) as work:
            for name in options.sets:
                source = set_folder(options.data, name)
                evaluation = measure(source, work / name)
                results[name] = evaluation
                print(f"## {name}\n\n{report(name, evaluation)}\n", flush=True)
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    if options.json:
        data = {name: evaluation.to_dict() for name, evaluation in results.items()}
        options.json.write_text(json.dumps(data, ensure_ascii=False, indent=1), "utf-8")


def set_folder(data: Path, name: str) -> Path:
    """The set's folder; exits with one line when it is not there."""
    folder = data / name
    if not (folder / "queries.jsonl").is_file() or not (folder / "input").is_dir():
        sys.exit(f"error: {folder} has no queries.jsonl and input/; say where the sets are: --data")
    return folder


@contextlib.contextmanager
def work_folder(work: Path | None) -> Iterator[Path]:
    """``work``, made; or a new folder that is deleted at the end."""
    if work is not None:
        work.mkdir(parents=True, exist_ok=True)
        yield work
        return
    with tempfile.TemporaryDirectory(prefix="graphkb-bench-") as folder:
        yield Path(folder)


def copy_input(source: Path, root: Path) -> None:
    """The set's documents as the input of a project at ``root``; the set may be read-only."""
    for file in sorted((source / "input").iterdir()):
        (root / "input").mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, root / "input" / file.name)


def measure(source: Path, root: Path) -> Evaluation:
    """Indexes the set at ``root`` with the default settings and asks all its questions."""
    copy_input(source, root)
    questions = read_questions(source / "queries.jsonl")
    with contextlib.closing(graphkb.open(root)) as project, shown_progress() as progress:
        result = project.index(progress)
        for remark in (*result.warnings, *(f"{r.where}: {r.reason}" for r in result.refused)):
            print(f"warning: {remark}", file=sys.stderr)
        return run_evaluation(project, questions, progress=progress)


def report(name: str, evaluation: Evaluation) -> str:
    """The set's table: methods of this run, the bars, the peers."""
    rows = [["", *COLUMNS, "p50 ms", "how"]]
    for result in evaluation.methods:
        values = [f"{result.mean[column]:.3f}" for column in COLUMNS]
        rows.append([f"graphkb {result.method}", *values, f"{result.p50_ms:.0f}", "this run"])
    rows.append(["**bar**", *_sparse(PEERS["bars"][name], "≥ {}"), "", "hybrid"])
    rows += [_peer(name, peer) for peer in peers(name)]
    lines = [aligned(rows, left=(0, len(rows[0]) - 1)), "", *verdicts(name, evaluation)]
    lines += [f"left out: {method}: {reason}" for method, reason in evaluation.skipped.items()]
    lines += [f"{item.where}: {item.reason}" for item in evaluation.unmatched]
    return "\n".join(lines)


def peers(name: str) -> dict[tuple[str, str], dict[str, float]]:
    """(engine, how measured) to its figures on set ``name``."""
    found: dict[tuple[str, str], dict[str, float]] = {}
    for peer in PEERS["peers"]:
        if peer["set"] == name:
            found.setdefault((peer["name"], peer["source"]), {})[peer["measure"]] = peer["value"]
    return found


def _peer(name: str, peer: tuple[str, str]) -> list[str]:
    return [peer[0], *_sparse(peers(name)[peer], "{:.3f}"), "", peer[1]]


def _sparse(values: dict[str, float], form: str) -> list[str]:
    return [form.format(values[column]) if column in values else "" for column in COLUMNS]


def verdicts(name: str, evaluation: Evaluation) -> list[str]:
    """Each bar with what hybrid reached, and fusion against its best leg."""
    hybrid: dict[str, Any] = {
        result.method: dict(result.mean) for result in evaluation.methods
    }.get("hybrid", {})
    lines = [
        f"- {measure} {hybrid[measure]:.3f}, bar {bar}: {_verdict(hybrid[measure] >= bar)}"
        for measure, bar in PEERS["bars"][name].items()
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
