"""Bytes on disk by part; a file that two parts share is counted once, in the first."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
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
    for file in _files(path):
        try:
            facts = file.stat()
        except FileNotFoundError:  # a writer is at work
            continue
        if stat.S_ISREG(facts.st_mode) and (facts.st_dev, facts.st_ino) not in seen:
            seen.add((facts.st_dev, facts.st_ino))
            total += facts.st_size
    return total


def _files(path: Path) -> Iterator[Path]:
    """A file, or those below a folder; what a writer removes meanwhile is passed over."""
    if path.is_file():
        yield path
    # Path.rglob raises where a folder goes between its listing and its own.
    for folder, _, names in os.walk(path):
        yield from (Path(folder, name) for name in names)
