"""What is indexed, from what, how large it is, and whether it is up to date."""

from __future__ import annotations

import contextlib
import os
import stat
from pathlib import Path
from typing import Any

from graphkb import __version__
from graphkb.errors import InputSettingsError
from graphkb.ingest.closed import behind_closed, closed_among
from graphkb.ingest.read import file_hash, list_files
from graphkb.ingest.records import SourceFile
from graphkb.pipeline import COUNTED, due_stages, plan, read_dictionary
from graphkb.settings import Settings
from graphkb.store.lance import Store
from graphkb.store.manifest import Manifest
from graphkb.store.sizes import part_sizes
from graphkb.types import no_progress
from graphkb.work import Work

_METHODS = ("llm", "imported", "code", "offline")


def status_of(
    root: Path, settings: Settings, output: Path, folder: Path, manifest: Manifest | None
) -> dict[str, Any]:
    """The facts of ``graphkb status`` on the version that ``manifest`` names, whose tables lie in
    ``folder``; version 0 where there is none. ``output`` is the project's output folder."""
    store = Store(folder, manifest.tables, manifest.folder) if manifest else None
    stages = _stale_stages(root, settings, store, manifest)
    counts = manifest.counts if manifest else {}
    embedding = manifest.embedding if manifest else {}
    return {
        "root": str(root),
        "version": manifest.version if manifest else 0,
        "committed_at": manifest.committed_at if manifest else None,
        **{name: counts.get(name, 0) for name in COUNTED},
        "embedding_model": f"{embedding['provider']}/{embedding['model']}" if embedding else None,
        "language_model": settings.llm.model or None,
        "extracted": _extracted(store) if store else {},
        "sizes": _sizes(root, settings, output, indexed=manifest is not None),
        "unit_sizes": dict(manifest.notes.get("unit_sizes", {})) if manifest else {},
        "not_read": [list(item) for item in manifest.notes.get("not_read", ())] if manifest else [],
        "stale": bool(stages) or _is_stale(root, settings, store, manifest),
        "stale_stages": stages,
        "graphkb_version": __version__,
    }


def _extracted(store: Store) -> dict[str, int]:
    """Text units by what they were read with; of them the ``unfinished``, which are asked again
    in the next run, and those ``cut`` by the model's limits, which are not."""
    read = store.read("extractions", ("method", "status"))
    counts = {method: read.filter(method=method).height for method in _METHODS}
    unfinished = read.filter(~read["status"].is_in(("done", "cut"))).height
    return {**counts, "unfinished": unfinished, "cut": read.filter(status="cut").height}


def _sizes(root: Path, settings: Settings, output: Path, *, indexed: bool) -> dict[str, int]:
    """Bytes on disk by part."""
    size = _size_below(root / settings.input.folder)
    parts = part_sizes(output, root / "cache")
    shown = parts if indexed else {"cache": parts["cache"]}
    return {"input": size, **{name: n for name, n in shown.items() if n or name != "snapshots"}}


def _size_below(folder: Path) -> int:
    """Bytes of the files below a folder, of those that can be looked at."""
    size = 0
    for place, _, names in os.walk(folder):
        for name in names:
            with contextlib.suppress(OSError):
                status = os.stat(os.path.join(place, name))
                size += status.st_size if stat.S_ISREG(status.st_mode) else 0
    return size


def _stale_stages(
    root: Path, settings: Settings, store: Store | None, manifest: Manifest | None
) -> list[str]:
    """Stages that the next index run does again for other reasons than documents."""
    if store is None or manifest is None:
        return []
    work = Work(root, settings, store, no_progress, read_dictionary(root, settings))
    if settings.embed.when != "off":
        work.embedding = manifest.embedding
    return due_stages(manifest, plan(settings), work)


def _is_stale(
    root: Path, settings: Settings, store: Store | None, manifest: Manifest | None
) -> bool:
    """True when the input folder differs from what is indexed (by path and content), or cannot be
    looked at."""
    folder, options = root / settings.input.folder, settings.input
    if store is None or manifest is None or manifest.notes.get("lost"):
        return True
    sources = set(store.read("sources", ("path", "file_hash")).iter_rows())
    known = {*sources, *map(tuple, manifest.notes.get("refused", ()))}
    closed: list[SourceFile] = []
    try:
        listed = list_files(folder, options, closed=closed)
    except InputSettingsError:
        return True
    files = {(file.path, file_hash(file)): file for file in listed}
    unknown = [file for pair, file in files.items() if pair not in sources]
    kept = behind_closed(sources, folder, closed_among([*closed, *unknown]), options)
    return known != {*files, *((file.path, digest) for file, digest in kept)}
