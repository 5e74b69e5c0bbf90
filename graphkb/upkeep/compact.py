"""Free the space of what no kept version and no snapshot needs."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from graphkb.errors import NotIndexedError
from graphkb.store.lance import Store
from graphkb.store.leftovers import leftovers, remove
from graphkb.store.lock import write_lock
from graphkb.store.manifest import Manifest, read_manifest, write_manifest
from graphkb.store.sizes import part_sizes
from graphkb.store.versions import KEEP_SECONDS, drop_unneeded, now, oldest_needed


@dataclass(frozen=True)
class Compaction:
    """Bytes by part before and after; ``tables`` were rewritten; ``notes`` say what is left."""

    version: int
    before: Mapping[str, int]
    after: Mapping[str, int]
    tables: tuple[str, ...]
    notes: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


def compact(root: Path, output: Path) -> Compaction:
    """Compact every table, drop what is not needed, shrink the cache databases.

    Commits a new version with the same content when a table was rewritten; the one before is
    kept as long as any other. Raises NotIndexedError before the first index run.
    """
    current = read_manifest(output)
    if current is None:
        raise NotIndexedError(f"{root}: nothing is indexed yet; run: graphkb index --root {root}")
    with write_lock(output):
        current = read_manifest(output) or current
        before = part_sizes(output, root / "cache")
        current, rewritten = _compact_tables(output, current)
        kept = drop_unneeded(output, current)
        store = Store(output, current.tables, current.folder)
        store.clean_up(sorted(current.tables), oldest_needed(kept, current.folder))
        remove(leftovers(output, current))
        remove([*store.path.glob("*.lance.corrupt*")])
        notes = [*_shrink_caches(root / "cache"), *_still_kept(kept)]
        after = part_sizes(output, root / "cache")
    return Compaction(current.version, before, after, tuple(rewritten), tuple(notes))


def _compact_tables(output: Path, current: Manifest) -> tuple[Manifest, list[str]]:
    store = Store(output, current.tables, current.folder)
    rewritten = [name for name in sorted(current.tables) if store.compact(name)]
    if not rewritten:
        return current, []
    compacted = replace(
        current, version=current.version + 1, tables=dict(store.tables), committed_at=now()
    )
    write_manifest(output, compacted)
    return compacted, rewritten


def _still_kept(kept: list[Manifest]) -> list[str]:
    if len(kept) < 2:
        return []
    last = time.strftime("%H:%M", time.localtime(time.time() + KEEP_SECONDS))
    numbers = ", ".join(str(manifest.version) for manifest in reversed(kept[1:]))
    return [f"still kept: version {numbers}; compact again after {last} to free their space too"]


def _shrink_caches(cache: Path) -> list[str]:
    """VACUUM every cache database; returns what could not be done."""
    notes = []
    for path in sorted(cache.glob("*.sqlite")):
        try:
            with closing(sqlite3.connect(path, timeout=5)) as database:
                database.execute("VACUUM")
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except sqlite3.Error as error:
            notes.append(f"{path}: not shrunk ({error}); run graphkb doctor")
    return notes
