"""Bytes on disk by part; a file that two parts share is counted once, in the first."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from graphkb.store.arrays import FOLDER as GRAPH
from graphkb.store.tables import FOLDER as TABLES
from graphkb.store.versions import SNAPSHOTS


def part_sizes(output: Path, cache: Path) -> dict[str, int]:
    """Bytes of tables, graph arrays, Parquet files, snapshots (what only they hold), cache."""
    seen: set[tuple[int, int]] = set()
    parts: dict[str, Iterable[Path]] = {
        "tables": [output / TABLES, *sorted(output.glob(f"{TABLES}.*"))],
        "graph": [output / GRAPH],
        "parquet": sorted(output.glob("*.parquet")),
        "snapshots": [output / SNAPSHOTS],
        "cache": [cache],
    }
    return {name: sum(_size(path, seen) for path in paths) for name, paths in parts.items()}


def _size(path: Path, seen: set[tuple[int, int]]) -> int:
    total = 0
    for file in [path] if path.is_file() else path.rglob("*"):
        try:
            facts = file.stat()
        except FileNotFoundError:  # a writer is at work
            continue
        if file.is_file() and (facts.st_dev, facts.st_ino) not in seen:
            seen.add((facts.st_dev, facts.st_ino))
            total += facts.st_size
    return total
