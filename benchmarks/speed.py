"""Speed, offline, no model, default settings.

    python benchmarks/speed.py [--data ../shared/bench]

Index: the first 800 passages of 2wiki, seconds to the first commit (lexical and graph legs) and
to the second (vectors). Query: warm, on all 6,119 passages; what the model takes to embed a
question has a row of its own and is in no other. Start: ``graphkb --help`` and
``import graphkb``, best of five new processes.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from retrieval import HERE, PEERS, copy_input, peers, set_folder, work_folder

import graphkb
from graphkb.embed import make_embedder
from graphkb.errors import GraphkbError
from graphkb.evaluate.questions import read_questions
from graphkb.evaluate.run import percentile
from graphkb.progress import shown_progress
from graphkb.project import Project
from graphkb.view.evaluation import aligned

PASSAGES = 800


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument(
        "--work", type=Path, help="keep the indexes here (default: a folder deleted at the end)"
    )
    parser.add_argument("--json", type=Path, help="also write the results here")
    parser.add_argument("--skip-queries", action="store_true", help="do not index all of 2wiki")
    options = parser.parse_args()
    source = set_folder(options.data, "2wiki")
    results = start_times()
    try:
        with work_folder(options.work) as work:
            results |= index_times(source, work / "2wiki-800")
            if not options.skip_queries:
                results |= query_times(source, work / "2wiki")
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), "utf-8")


def start_times() -> dict[str, float]:
    """Seconds of a new process, best of five; the import without the interpreter's own start."""

    def best(*arguments: str) -> float:
        times = []
        for _ in range(5):
            start = time.perf_counter()
            subprocess.run([sys.executable, *arguments], check=True, capture_output=True)
            times.append(time.perf_counter() - start)
        return min(times)

    bare = best("-c", "pass")
    return {
        "help_s": best("-m", "graphkb", "--help"),
        "import_s": best("-c", "import graphkb") - bare,
    }


def index_times(source: Path, root: Path) -> dict[str, float]:
    """Seconds from nothing to each commit, and of a second run with nothing changed."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "input").mkdir(parents=True)
    with (source / "input" / "corpus.jsonl").open("rb") as corpus:
        lines = list(itertools.islice(corpus, PASSAGES))
    (root / "input" / "corpus.jsonl").write_bytes(b"".join(lines))
    commits: list[float] = []
    with contextlib.closing(graphkb.open(root)) as project, shown_progress() as progress:
        start = time.perf_counter()
        indexed = project.index(
            progress, on_commit=lambda result: commits.append(time.perf_counter() - start)
        )
        again = time.perf_counter()
        project.index(progress)
        unchanged = time.perf_counter() - again
    output = sum(path.stat().st_size for path in (root / "output").rglob("*") if path.is_file())
    return {
        "indexed_passages": indexed.counts["documents"],
        "searchable_s": commits[0],
        "vectors_s": commits[-1],
        "unchanged_s": unchanged,
        "output_mb": output / 1e6,
    }


def query_times(source: Path, root: Path) -> dict[str, float]:
    """Milliseconds of every search and query method on the whole set, warm."""
    copy_input(source, root)
    questions = [item.query for item in read_questions(source / "queries.jsonl").questions]
    with contextlib.closing(graphkb.open(root)) as project, shown_progress() as progress:
        results: dict[str, float] = {
            "queried_passages": project.index(progress).counts["documents"]
        }
        results |= embedding_times(project, questions)
        for name in dict.fromkeys((*project.search_methods, *project.methods)):
            results |= latency(project, name, questions)
    return results


def embedding_times(project: Project, questions: list[str]) -> dict[str, float]:
    """Milliseconds of the built-in model a question. It remembers them, so that searches and
    queries with the same questions are measured without."""
    embedder = make_embedder(project.settings.embed)
    embedder.embed_query("warm")
    return _percentiles("embedding of the question", embedder.embed_query, questions)


def latency(project: Project, name: str, questions: list[str]) -> dict[str, float]:
    """A name of both kinds (hybrid) is measured as a search and as a query."""
    calls = {
        "search": (project.search, project.search_methods),
        "query": (project.query, project.methods),
    }
    results = {}
    for kind, (ask, methods) in calls.items():
        if name not in methods:
            continue
        ask(questions[0], method=name)
        results |= _percentiles(f"{kind} {name}", partial(ask, method=name), questions)
    return results


def _percentiles(what: str, ask: Callable[[str], object], questions: list[str]) -> dict[str, float]:
    times, busy = [], []
    for question in questions:
        start, cpu = time.perf_counter(), time.process_time()
        ask(question)
        times.append(1000 * (time.perf_counter() - start))
        busy.append(1000 * (time.process_time() - cpu))
    results = {}
    for percent in (50, 95):
        results[f"{what} p{percent} ms"] = percentile(times, percent)
        # Of all threads: what other programs on the machine take is not in it.
        results[f"{what}, processor p{percent} ms"] = percentile(busy, percent)
    return results


def report(results: dict[str, float]) -> str:
    """Markdown: where it ran, starts and indexing with bars and peers, then latencies."""
    bars = PEERS["speed_bars"]
    passages = f"{results['indexed_passages']} passages"
    words = {
        "help_s": "`graphkb --help`, s",
        "import_s": "`import graphkb`, s",
        "searchable_s": f"{passages} searchable (lexical + graph), s",
        "vectors_s": f"{passages}, vectors complete, s",
        "unchanged_s": f"{passages}, second run, nothing changed, s",
        "output_mb": f"{passages}, output folder, MB",
    }
    rows = [["what", "graphkb", "bar", "others"]]
    for key, what in words.items():
        others = "; ".join(
            f"{name} {figures[key]:.0f} ({how})"
            for (name, how), figures in peers(f"{PASSAGES} passages").items()
            if key in figures
        )
        bar = f"≤ {bars[key]}" if key in bars else ""
        rows.append([what, f"{results[key]:.2f}", bar, others])
    latencies = sorted({key.rsplit(" ", 2)[0] for key in results if key.endswith(" ms")})
    queries = [[f"warm, {results.get('queried_passages', 0):,} passages", "p50 ms", "p95 ms"]]
    queries += [
        [name, *(f"{results[f'{name} p{percent} ms']:.1f}" for percent in (50, 95))]
        for name in latencies
    ]
    machine = f"{os.cpu_count()} processors, Python {platform.python_version()}"
    return "\n\n".join(
        [machine, aligned(rows, left=(0, 3)), *([aligned(queries)] if latencies else [])]
    )


if __name__ == "__main__":
    main()
