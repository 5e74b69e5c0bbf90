"""Files that killed runs left behind: named by no manifest, looked for by no one."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from graphkb.store.arrays import FOLDER as GRAPH
from graphkb.store.manifest import KEPT, Manifest
from graphkb.store.versions import SNAPSHOTS, kept_manifests, manifest_files, unnamed_folders


def leftovers(output: Path, current: Manifest) -> list[Path]:
    """Temporary files, half-made snapshots, and folders no kept manifest names, sorted.

    Only meaningful while no writer is at work: a running one's files are among them.
    """
    kept = kept_manifests(output, current)
    named = {manifest.graph for manifest in kept}
    arrays = (output / GRAPH).glob("*") if (output / GRAPH).is_dir() else ()
    found = [
        *output.glob("*.tmp"),
        *(output / KEPT).glob("*.tmp"),
        *(output / SNAPSHOTS).glob(".*.tmp"),
        *output.glob("*/*.lance/data/.tmp*"),
        *(path for path in arrays if f"{GRAPH}/{path.name}" not in named),
        *unnamed_folders(output, kept),
        *(path for version, path in manifest_files(output) if version > current.version),
    ]
    return sorted(set(found))


def remove(paths: Sequence[Path]) -> None:
    """Remove files and folders."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
