"""Nearest vectors: compared one and all in memory, scanned in the store, or found by its index.

    python benchmarks/vectors.py [--sizes 5000,20000,100000] [--dimension 384]

Vectors are points around centres, as those of texts about a few hundred things. Milliseconds
are processor time of the whole process, p50 of 50 questions for the 100 nearest; recall@20 is
the share of the 20 nearest by comparison of all that the index gives.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
from numpy.typing import NDArray

from graphkb.store.exact import ExactVectors
from graphkb.store.lance import VECTOR_INDEX_ROWS, Store
from graphkb.view.evaluation import aligned

Vectors = NDArray[np.float32]
Run = list[tuple[str, float]]

QUESTIONS, LIMIT, K = 50, 100, 20
_PER_CENTRE, _SPREAD = 200, 0.7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--sizes", default=f"5000,{VECTOR_INDEX_ROWS},100000")
    parser.add_argument("--dimension", type=int, default=384)
    options = parser.parse_args()
    table = [["vectors", "memory ms", "store's scan ms", "index ms", "recall@20", "build, cpu s"]]
    for size in map(int, options.sizes.split(",")):
        table.append(measured(size, options.dimension))
    print(aligned(table))


def clustered(n: int, dimension: int) -> Vectors:
    """Unit rows [n, dimension]."""
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(n // _PER_CENTRE + 1, dimension)).astype(np.float32)
    noise = rng.normal(size=(n, dimension)).astype(np.float32)
    points = centres[rng.integers(0, len(centres), n)] + _SPREAD * noise
    return np.asarray(points / np.linalg.norm(points, axis=1, keepdims=True), np.float32)


def measured(size: int, dimension: int) -> list[str]:
    """One row of the table."""
    points = clustered(size + QUESTIONS, dimension)
    vectors, questions = points[:size], points[size:]
    ids = [f"u{number:07}" for number in range(size)]
    languages = ["en"] * size
    memory = ExactVectors(ids, languages, vectors)
    with tempfile.TemporaryDirectory() as folder:
        store = Store(Path(folder), {})
        frame = pl.DataFrame({"id": ids, "text_hash": ids, "language": languages})
        rows = frame.with_columns(pl.Series("vector", vectors).cast(pl.List(pl.Float32)))
        store.write("vectors", rows, dimension)

        def stored(question: Vectors) -> Run:
            return store._search_stored(question, LIMIT, None)

        exact, in_memory = asked(lambda question: memory.search(question, LIMIT), questions)
        _, scanned = asked(stored, questions)
        started = time.process_time()
        store.index("vectors")
        build = time.process_time() - started
        if not store.check_indexes("vectors"):
            return [f"{size:,}", f"{in_memory:.1f}", f"{scanned:.1f}", "", "", ""]
        found, indexed = asked(stored, questions)
    recall = statistics.mean(
        len({i for i, _ in one[:K]} & {i for i, _ in other[:K]}) / K
        for one, other in zip(exact, found, strict=True)
    )
    times = [f"{in_memory:.1f}", f"{scanned:.1f}", f"{indexed:.1f}"]
    return [f"{size:,}", *times, f"{recall:.3f}", f"{build:.0f}"]


def asked(search: Callable[[Vectors], Run], questions: Vectors) -> tuple[list[Run], float]:
    """What is found for each question, and milliseconds of processor time, p50."""
    search(questions[0])
    runs, times = [], []
    for question in questions:
        started = time.process_time()
        runs.append(search(question))
        times.append(1000 * (time.process_time() - started))
    return runs, statistics.median(times)


if __name__ == "__main__":
    main()
