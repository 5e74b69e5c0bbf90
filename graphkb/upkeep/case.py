"""What an examination looks at, what it found, and what repairs have to do."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.errors import StoreError
from graphkb.pipeline import plan
from graphkb.settings import Settings
from graphkb.stages.vectors import EMBED
from graphkb.store.lance import Store
from graphkb.store.manifest import KEPT, Manifest, write_manifest
from graphkb.store.parquet import forget_parquet
from graphkb.store.snapshots import list_snapshots
from graphkb.store.versions import (
    drop_unneeded,
    find_version,
    kept_manifests,
    last_number,
    now,
)


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at: what is the case, where, and what to do about it.

    ``repaired`` says what a repair did; a finding is a problem when it is not ``ok`` and not
    repaired.
    """

    check: str
    ok: bool
    where: str
    what: str
    advice: str = ""
    repaired: str = ""

    @property
    def problem(self) -> bool:
        """True when something is still wrong."""
        return not self.ok and not self.repaired

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self) | {"problem": self.problem}


Mend = Callable[[], str]
"""Repairs one thing, or notes what :meth:`Case.commit` has to do; says what it did."""

Found = Iterator[tuple[Finding, Mend | None]]


@dataclass
class Case:
    """A knowledge base under examination. ``frames`` holds the id columns of every table that
    could be read; ``lost`` tables and ``stale`` stages are made again by the next index run.
    ``beside_writer`` says that another process may be writing."""

    root: Path
    settings: Settings
    manifest: Manifest
    store: Store
    frames: dict[str, pl.DataFrame] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    stale: set[str] = field(default_factory=set)
    no_arrays: bool = False
    beside_writer: bool = False

    @property
    def output(self) -> Path:
        """The output folder."""
        return self.root / "output"

    def lose(self, name: str) -> str:
        """Give up a table: what is left of it is moved aside, its stage runs again."""
        folder = self.store.path / f"{name}.lance"
        if folder.exists():
            move_aside(folder)
        self.lost.add(name)
        stages = plan(self.settings)
        if any(name in stage.writes for stage in (*stages, EMBED)):
            return self.again(name)
        # What the user decided is in no input file: only another version can give it back.
        self.stale |= {stage.name for stage in stages if name in stage.reads}
        frame = self._last_known(name)
        if frame is None:
            return "no other version has it: it begins empty; look through it after graphkb index"
        self.lost.remove(name)
        del self.store.tables[name]
        self.store.write(name, frame)
        return f"taken from another version, {frame.height} rows; run graphkb index"

    def _last_known(self, name: str) -> pl.DataFrame | None:
        """A table as the newest other version has it that can still be read."""
        others = [(self.output, m) for m in kept_manifests(self.output, self.manifest)[1:]]
        for snapshot in reversed(list_snapshots(self.output)):
            if snapshot.problem is None:
                others.append(find_version(self.output, snapshot.name))
        for output, manifest in others:
            with contextlib.suppress(StoreError):
                if name in manifest.tables:
                    return Store(output, manifest.tables, manifest.folder).read(name)
        return None

    def again(self, name: str) -> str:
        """Have the stage that writes a table run again."""
        self.stale |= {stage.name for stage in plan(self.settings) if name in stage.writes}
        if name in EMBED.writes:
            # Vectors are kept by text unit, whatever the stage's fingerprint: drop them whole.
            self.lost.add(name)
        return "graphkb index will make it again"

    def commit(self) -> bool:
        """Commit what repairs noted; False when nothing was."""
        same = dict(self.manifest.tables) == self.store.tables
        if same and not self.lost and not self.stale and not self.no_arrays:
            return False
        gone = set(self.stale) | ({EMBED.name} if "vectors" in self.lost else set())
        if self.no_arrays:
            gone.add("build_graph")
        tables = {n: v for n, v in self.store.tables.items() if n not in self.lost}
        counts = {n: 0 if n in self.lost else v for n, v in self.manifest.counts.items()}
        missing = sorted({*self.manifest.notes.get("lost", ()), *self.lost} - {"vectors"})
        repaired = replace(
            self.manifest,
            version=last_number(self.output) + 1,
            tables=tables,
            counts=counts,
            fingerprints={n: f for n, f in self.manifest.fingerprints.items() if n not in gone},
            graph="" if self.no_arrays else self.manifest.graph,
            embedding={} if "vectors" in self.lost else self.manifest.embedding,
            committed_at=now(),
            notes={**self.manifest.notes, "lost": missing} if missing else self.manifest.notes,
        )
        forget_parquet(self.output, self.lost)
        write_manifest(self.output, repaired)
        # A version that names what is gone cannot be kept.
        for kept in kept_manifests(self.output, self.manifest):
            same_arrays = self.no_arrays and kept.graph == self.manifest.graph
            if same_arrays or (self.lost and kept is self.manifest):
                (self.output / KEPT / f"{kept.version}.json").unlink(missing_ok=True)
        drop_unneeded(self.output, repaired)
        return True


def move_aside(path: Path) -> Path:
    """Rename to ``<name>.corrupt``, with a number where that is taken; the new path."""
    target, number = path.with_name(f"{path.name}.corrupt"), 2
    while target.exists():
        target, number = path.with_name(f"{path.name}.corrupt.{number}"), number + 1
    path.rename(target)
    return target
