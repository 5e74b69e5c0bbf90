"""What a small change costs, offline, no model, default settings.

    python benchmarks/change.py [--sizes 1000 8000] [--data ../shared/bench] [--vectors]

Passages of 2wiki, then of musique, are indexed; then nothing changes, a document comes, is
edited, and goes. For each: seconds, processor seconds, texts embedded, and the share of
communities and reports that stay byte for byte. Vectors are left out unless asked for: with
the built-in model the first index embeds about 12 passages a second.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import platform
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from retrieval import HERE, set_folder, work_folder

import graphkb
from graphkb.errors import GraphkbError
from graphkb.progress import shown_progress
from graphkb.view.evaluation import aligned

SIZES = (1000, 8000)
# Passages the built-in model embeds in a second on two processors (benchmarks/speed.py).
PASSAGES_A_SECOND = 12

COMES = (
    "Marie Curie visited the University of Oxford in 1911 and met Ernest Rutherford there. "
    "The Kestrel Observatory was founded by Jonas Petrel in Lisbon.\n"
)
CHANGES: tuple[tuple[str, str | None], ...] = (
    ("nothing changed", None),
    ("+1 document", COMES),
    ("edit 1 document", COMES.replace("Oxford", "Cambridge").replace("1911", "1912")),
    ("-1 document", ""),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", nargs="+", type=int, default=SIZES, help="passages")
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument(
        "--work", type=Path, help="keep the indexes here (default: a folder deleted at the end)"
    )
    parser.add_argument("--vectors", action="store_true", help="embed too, which takes minutes")
    parser.add_argument("--json", type=Path, help="also write the results here")
    options = parser.parse_args()
    results = []
    try:
        with work_folder(options.work) as work:
            for size in options.sizes:
                root = work / f"change-{size}"
                results += measure(options.data, root, size, options.vectors)
    except GraphkbError as error:
        sys.exit(f"error: {error}")
    print(report(results))
    if options.json:
        options.json.write_text(json.dumps(results, indent=1), "utf-8")


def passages(data: Path) -> Iterator[bytes]:
    for name in ("2wiki", "musique"):
        with (set_folder(data, name) / "input" / "corpus.jsonl").open("rb") as corpus:
            yield from corpus


def measure(data: Path, root: Path, size: int, vectors: bool) -> list[dict[str, Any]]:
    """One row for the first index and one for each change, in order."""
    shutil.rmtree(root, ignore_errors=True)
    (root / "input").mkdir(parents=True)
    lines = [line.rstrip(b"\n") for line in itertools.islice(passages(data), size)]
    (root / "input" / "corpus.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    rows = [timed(root, "first index", vectors)]
    for what, text in CHANGES:
        path = root / "input" / "one.txt"
        if text:
            path.write_text(text, "utf-8")
        elif text is not None:
            path.unlink()
        rows.append(timed(root, what, vectors))
    for row in rows:
        embedding = 0 if vectors else rows[0]["text_units"] / PASSAGES_A_SECOND
        row["of_rebuild"] = row["seconds"] / (rows[0]["seconds"] + embedding)
    return rows


def timed(root: Path, what: str, vectors: bool) -> dict[str, Any]:
    embedded = cached(root)
    with contextlib.closing(graphkb.open(root)) as project, shown_progress() as progress:
        started, used = time.perf_counter(), time.process_time()
        result = project.index(progress, embed="later" if vectors else "off")
        seconds, cpu = time.perf_counter() - started, time.process_time() - used
    return {
        "text_units": result.counts["text_units"],
        "what": what,
        "seconds": seconds,
        "cpu_seconds": cpu,
        "embedded": cached(root) - embedded,
        "reused": dict(result.reused),
        "stages": dict(result.seconds),
    }


def cached(root: Path) -> int:
    """Texts that have ever been embedded for this project: each is kept once."""
    import sqlite3

    path = root / "cache" / "vectors.sqlite"
    if not path.exists():
        return 0
    with contextlib.closing(sqlite3.connect(path)) as database:
        return int(database.execute("SELECT count(*) FROM vectors").fetchone()[0])


def report(results: list[dict[str, Any]]) -> str:
    """Markdown: where it ran, then one line a run."""
    rows = [["text units", "what", "s", "CPU s", "texts embedded", "communities kept",
             "reports kept", "of a rebuild with vectors"]]  # fmt: skip
    for row in results:
        kept = [f"{100 * row['reused'][k]:.2f} %" if k in row["reused"] else ""
                for k in ("communities", "reports")]  # fmt: skip
        rows.append([
            f"{row['text_units']:,}", row["what"], f"{row['seconds']:.2f}",
            f"{row['cpu_seconds']:.2f}", str(row["embedded"]), *kept,
            f"{100 * row['of_rebuild']:.2f} %",
        ])  # fmt: skip
    machine = f"{os.cpu_count()} processors, Python {platform.python_version()}"
    return "\n\n".join([machine, aligned(rows, left=(1,))])


if __name__ == "__main__":
    main()
