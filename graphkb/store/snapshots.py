"""Named snapshots: whole versions with their own data, kept until they are deleted.

A snapshot is ``output/snapshots/<name>`` with a manifest, Lance tables and graph arrays, laid
out like an output folder, made of hard links and renamed into place when it is complete. (Lance
tags would be the other way, but its clean-up refuses to run at all while an old version is
tagged.) Restoring links a snapshot to a new Lance folder and commits a manifest that names it.
"""

from __future__ import annotations

import json
import os
import shutil
import unicodedata
from dataclasses import replace
from pathlib import Path

from graphkb.errors import StoreError, UsageError
from graphkb.store import versions
from graphkb.store.links import link_folder, link_version
from graphkb.store.manifest import (
    FILE_NAME,
    Manifest,
    manifest_text,
    read_manifest,
    replace_file,
    sync_folder,
    write_manifest,
)
from graphkb.store.tables import FOLDER
from graphkb.tables import content_hash
from graphkb.types import NamedSnapshot

FACTS = "snapshot.json"
AUTOMATIC = "before-restore-"

_UNSAFE = frozenset('/\\<>:"|?*')
_LONGEST = 120  # bytes; file systems take 255, and names get something added while being made
_RESERVED = frozenset(
    ["con", "prn", "aux", "nul", *(f"{port}{n}" for port in ("com", "lpt") for n in range(1, 10))]
)


def checked_name(name: str) -> str:
    """``name`` if it can be a snapshot's name in any script. Raises UsageError saying why not."""
    name = unicodedata.normalize("NFC", name)
    reason = None
    if not name.strip():
        reason = "is empty"
    elif name != name.strip() or name.startswith((".", "-")) or name.endswith("."):
        reason = "may not begin or end with a space or a dot, or begin with a hyphen"
    elif bad := [c for c in name if c in _UNSAFE or unicodedata.category(c) in ("Cc", "Cf", "Cs")]:
        reason = f"has {bad[0]!r}, which a folder name may not have"
    elif len(name.encode()) > _LONGEST:
        reason = f"is longer than {_LONGEST} bytes"
    elif name.isdecimal():
        reason = "reads as a version number; add a letter"
    elif name.split(".")[0].lower() in _RESERVED:
        reason = "is a device name on Windows"
    if reason:
        raise UsageError(f"snapshot name {name!r} {reason}")
    return name


def create_snapshot(
    output: Path, source: Path, manifest: Manifest, name: str, note: str, automatic: bool = False
) -> NamedSnapshot:
    """Keep the version ``manifest`` names in ``source`` as ``name``. Call with the write lock.

    Raises UsageError when the name cannot be used or is taken.
    """
    name = checked_name(name)
    folder = output / versions.SNAPSHOTS / name
    taken = {known.casefold() for known in versions.snapshot_names(output)}
    if name.casefold() in taken:
        raise UsageError(
            f"snapshot {name!r} exists already; choose another name, or first "
            f"run graphkb snapshot delete"
        )
    temporary = folder.with_name(f".{name}.{os.getpid()}.tmp")
    facts = {"note": note, "automatic": automatic, "created_at": versions.now()}
    try:
        shutil.rmtree(temporary, ignore_errors=True)
        link_version(source, manifest, temporary, FOLDER)
        if manifest.graph:
            link_folder(source / manifest.graph, temporary / manifest.graph)
        replace_file(temporary / FACTS, json.dumps(facts, ensure_ascii=False))
        replace_file(temporary / FILE_NAME, manifest_text(replace(manifest, folder=FOLDER)))
        _rename(temporary, folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return describe(output, name)


def _rename(temporary: Path, folder: Path) -> None:
    try:
        os.rename(temporary, folder)
        sync_folder(folder.parent)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be made ({error.strerror or error})") from None


def describe(output: Path, name: str) -> NamedSnapshot:
    """What is known of a snapshot; ``problem`` says when it cannot be read."""
    folder = output / versions.SNAPSHOTS / name
    try:
        facts = json.loads((folder / FACTS).read_text("utf-8"))
        facts = facts if isinstance(facts, dict) else {}
    except (OSError, ValueError):
        facts = {}
    manifest, problem = None, None
    try:
        manifest = read_manifest(folder)
        problem = None if manifest else f"{folder}: has no manifest"
    except StoreError as error:
        problem = str(error)
    return NamedSnapshot(
        name=name,
        version=manifest.version if manifest else 0,
        committed_at=manifest.committed_at if manifest else "",
        created_at=str(facts.get("created_at", "")),
        note=str(facts.get("note", "")),
        automatic=bool(facts.get("automatic", False)),
        counts=dict(manifest.counts) if manifest else {},
        problem=problem,
    )


def list_snapshots(output: Path) -> list[NamedSnapshot]:
    """All snapshots, oldest first."""
    found = [describe(output, name) for name in versions.snapshot_names(output)]
    return sorted(found, key=lambda snapshot: (snapshot.created_at, snapshot.name))


def delete_snapshot(output: Path, name: str) -> None:
    """Remove a snapshot; data that other versions share stays. Call with the write lock."""
    if name not in versions.snapshot_names(output):
        names = ", ".join(versions.snapshot_names(output)) or "none"
        raise UsageError(f"no snapshot {name!r}; there are: {names}")
    folder = output / versions.SNAPSHOTS / name
    # Out of sight in one step, so that no reader finds half of it.
    doomed = folder.with_name(f".{name}.{os.getpid()}.tmp")
    _rename(folder, doomed)
    shutil.rmtree(doomed, ignore_errors=True)


def restore_version(output: Path, wanted: str) -> tuple[Manifest, NamedSnapshot | None]:
    """Commit a snapshot or kept version as the newest version; returns its manifest and the
    automatic snapshot of what was current before (None when that is damaged). Call with the
    write lock."""
    source, manifest = versions.find_version(output, wanted)
    try:
        current = read_manifest(output)
    except StoreError:
        current = None
    before = _keep_current(output, current) if current else None
    version = versions.last_number(output) + 1
    folder = versions.new_folder(output)
    link_version(source, manifest, output, folder)
    graph = manifest.graph
    if graph:
        graph = f"graph/{content_hash(folder, graph)[:16]}"
        shutil.rmtree(output / graph, ignore_errors=True)
        link_folder(source / manifest.graph, output / graph)
    restored = replace(
        manifest,
        version=version,
        folder=folder,
        graph=graph,
        committed_at=versions.now(),
        notes={**manifest.notes, "restored": str(wanted)},
    )
    write_manifest(output, restored)
    versions.drop_unneeded(output, restored)
    return restored, before


def _keep_current(output: Path, current: Manifest) -> NamedSnapshot | None:
    name = f"{AUTOMATIC}{current.version}"
    if name in versions.snapshot_names(output):
        known = describe(output, name)
        if known.committed_at == current.committed_at:
            return known
        # Numbers began anew after a lost manifest: this is another version of that number.
        name = f"{name}-{current.committed_at.translate({ord(c): None for c in ':-'})}"
    try:
        return create_snapshot(output, output, current, name, "", automatic=True)
    except StoreError:
        # The current version is damaged: restoring another is the way out, not to be stopped.
        return None
