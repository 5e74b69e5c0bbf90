"""Checks of what stands around a version: folders, disk, caches, Parquet, other versions."""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from contextlib import closing
from functools import partial
from pathlib import Path

import polars as pl

from graphkb.errors import StoreError, UsageError
from graphkb.pipeline import plan
from graphkb.store.arrays import array_damage
from graphkb.store.lance import Store
from graphkb.store.leftovers import leftovers, remove
from graphkb.store.manifest import KEPT, Manifest
from graphkb.store.parquet import FILE_NAME, parquet_view, parquet_wanted, write_parquet
from graphkb.store.sizes import part_sizes
from graphkb.store.versions import SNAPSHOTS, find_version, kept_manifests, snapshot_names
from graphkb.tables import PARQUET
from graphkb.upkeep.case import Case, Finding, Found, move_aside

_LEAST_FREE = 200_000_000


def check_folders(root: Path) -> Found:
    """Files can be written into output and cache."""
    for folder in (root / "output", root / "cache"):
        place = folder if folder.exists() else root
        try:
            with tempfile.TemporaryFile(dir=place):
                yield Finding("folders", True, str(folder), "can be written"), None
        except OSError as error:
            what = f"cannot be written ({error.strerror or error})"
            advice = "check its owner and permissions"
            yield Finding("folders", False, str(folder), what, advice), None


def check_disk(root: Path) -> Found:
    """There is room for another run."""
    free = shutil.disk_usage(root).free
    parts = part_sizes(root / "output", root / "cache")
    needed = max(_LEAST_FREE, parts["graph"] + parts["parquet"])
    what = f"{free / 1e9:.1f} GB free"
    advice = "" if free >= needed else "make room, or run graphkb compact"
    yield Finding("disk", free >= needed, str(root), what, advice), None


def check_caches(root: Path) -> Found:
    """Every cache database passes SQLite's own check."""
    for path in sorted((root / "cache").glob("*.sqlite")):
        what = _cache_damage(path)
        if what:
            advice = "graphkb doctor --repair moves it aside; a new one begins with the next run"
            yield Finding("caches", False, str(path), what, advice), partial(_set_aside, path)
        else:
            yield Finding("caches", True, str(path), "sound"), None


def _cache_damage(path: Path) -> str:
    try:
        with closing(sqlite3.connect(path, timeout=5)) as database:
            (answer,) = database.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        # In use by a writer for longer than this waits.
        busy = getattr(error, "sqlite_errorcode", None) == sqlite3.SQLITE_BUSY
        return "" if busy else str(error)
    return "" if answer == "ok" else " ".join(str(answer).split())


def _set_aside(path: Path) -> str:
    target = move_aside(path)
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    return f"moved to {target.name}"


def check_stages(case: Case) -> Found:
    """Every stage has run since the last repair."""
    waiting = [s.name for s in plan(case.settings) if s.name not in case.manifest.fingerprints]
    where = str(case.output)
    if waiting:
        what = f"waiting to run again: {', '.join(waiting)}"
        # A repair that is under way has said so already: this is about one of before.
        yield Finding("stages", False, where, what, "run graphkb index"), None
    else:
        yield Finding("stages", True, where, "all have run"), None


def check_parquet(case: Case) -> Found:
    """The Parquet files say what the tables say, where the settings ask for them. They follow
    a commit, so beside a writer nothing is said of them."""
    wanted = parquet_wanted(case.settings.parquet, case.manifest.counts.get("text_units", 0))
    if not wanted or case.lost or case.beside_writer:
        return
    if case.frames.keys() != case.manifest.tables.keys():
        return
    stale = [name for name in PARQUET if not _parquet_fits(case, name)]
    where = str(case.output / "*.parquet")
    if not stale:
        yield Finding("parquet", True, where, "in step with the tables"), None
        return

    def mend() -> str:
        (case.output / FILE_NAME).unlink(missing_ok=True)
        write_parquet(case.store, case.output)
        return "written again"

    what = f"missing, damaged or out of step: {', '.join(stale)}"
    advice = "graphkb doctor --repair writes them again"
    yield Finding("parquet", False, where, what, advice), mend


def _parquet_fits(case: Case, name: str) -> bool:
    try:
        written = pl.read_parquet(case.output / f"{name}.parquet")
        return written.equals(parquet_view(case.store, name))
    except (OSError, pl.exceptions.PolarsError, StoreError):
        return False


def check_kept(case: Case) -> Found:
    """Kept versions and snapshots can be read. Of those let go of meanwhile nothing is said."""
    whole = 0
    for manifest in kept_manifests(case.output, case.manifest)[1:]:
        what = _unreadable(case.output, manifest)
        path = case.output / KEPT / f"{manifest.version}.json"
        if what and path.exists():
            advice = "graphkb doctor --repair forgets this version"
            finding = Finding("versions", False, str(path), what, advice)
            yield finding, partial(_forget, path)
        whole += not what
    for name in snapshot_names(case.output):
        folder = case.output / SNAPSHOTS / name
        try:
            what = _unreadable(*find_version(case.output, name))
        except UsageError:
            continue
        except StoreError as error:
            what = str(error)
        if what and folder.exists():
            advice = f"graphkb snapshot delete {name}"
            yield Finding("versions", False, str(folder), what, advice), None
        whole += not what
    what = f"{whole} kept versions and snapshots can be read"
    yield Finding("versions", True, str(case.output), what), None


def _unreadable(output: Path, manifest: Manifest) -> str:
    store = Store(output, manifest.tables, manifest.folder)
    try:
        for name in manifest.tables:
            store.check_indexes(name)
    except StoreError as error:
        return str(error).split("; run graphkb doctor")[0]
    return array_damage(output, manifest.graph) if manifest.graph else ""


def _forget(path: Path) -> str:
    path.unlink(missing_ok=True)
    return "forgotten"


def check_leftovers(output: Path, current: Manifest) -> Found:
    """Nothing of killed runs is left."""
    found = leftovers(output, current)
    for path in found:
        what, advice = "left behind by a killed run", "graphkb doctor --repair removes it"

        def mend(path: Path = path) -> str:
            remove([path])
            return "removed"

        yield Finding("leftovers", False, str(path), what, advice), mend
    if not found:
        yield Finding("leftovers", True, str(output), "none"), None
