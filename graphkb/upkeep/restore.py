"""Make an earlier version the newest one again."""

from __future__ import annotations

from pathlib import Path

from graphkb.errors import StoreError
from graphkb.settings import Settings
from graphkb.store.arrays import array_damage
from graphkb.store.lance import Store
from graphkb.store.lock import write_lock
from graphkb.store.parquet import parquet_wanted, write_parquet
from graphkb.store.snapshots import restore_version
from graphkb.store.versions import find_version
from graphkb.types import Restored


def restore(output: Path, settings: Settings, wanted: str) -> Restored:
    """Commit a snapshot or kept version again, and write the Parquet files from it.

    Raises UsageError when there is no such version, LockedError when an index run is active,
    StoreError, before anything is changed, when its graph arrays are damaged.
    """
    find_version(output, wanted)
    with write_lock(output):
        place, found = find_version(output, wanted)
        if found.graph and (damage := array_damage(place, found.graph, content=True)):
            raise StoreError(f"{damage}; {wanted} cannot be restored: run graphkb doctor")
        manifest, before = restore_version(output, wanted)
        if parquet_wanted(settings.parquet, manifest.counts.get("text_units", 0)):
            write_parquet(Store(output, manifest.tables, manifest.folder), output)
    return Restored(manifest.version, wanted, before, manifest.counts)
