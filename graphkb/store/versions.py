"""Versions that can still be read: those committed lately, and named snapshots.

Each commit leaves its manifest in ``output/manifests``. A version is kept for an hour after
another took its place, so that readers can finish and a mistake can be undone; what no kept
manifest names is dropped by :func:`drop_unneeded`. Snapshots have their own data
(:mod:`graphkb.store.snapshots`) and stay until they are deleted.
"""

from __future__ import annotations

import re
import shutil
import time
from collections.abc import Iterable
from datetime import datetime
from pathlib import Path

from graphkb.errors import NotIndexedError, StoreError, UsageError
from graphkb.store.manifest import KEPT, Manifest, load_manifest, read_manifest
from graphkb.store.tables import FOLDER

SNAPSHOTS = "snapshots"
KEEP_SECONDS = 3600
KEEP_MOST = 20

_GENERATION = re.compile(rf"{FOLDER}(\.\d+)?")


def now() -> str:
    """This moment as manifests write it: ISO 8601, UTC, seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def _seconds(written: str) -> float:
    try:
        return datetime.fromisoformat(written).timestamp()
    except ValueError:
        return 0.0


def manifest_files(output: Path) -> list[tuple[int, Path]]:
    """(version, file) of every manifest beside the current one, newest first."""
    folder = output / KEPT
    files = folder.glob("*.json") if folder.is_dir() else ()
    return sorted(((int(f.stem), f) for f in files if f.stem.isdecimal()), reverse=True)


def kept_manifests(output: Path, current: Manifest) -> list[Manifest]:
    """The manifests of the current and the kept versions, newest first; damaged ones left out."""
    found = [current]
    for version, path in manifest_files(output):
        # A run that was killed while committing leaves a number that the next commit takes.
        if version < current.version:
            try:
                manifest = load_manifest(path)
            except StoreError:
                continue
            if manifest is not None:
                found.append(manifest)
    return found


def last_number(output: Path) -> int:
    """The highest version number that anything here names; 0 before the first commit."""
    places = [output, *(output / SNAPSHOTS / name for name in snapshot_names(output))]
    numbers = [version for version, _ in manifest_files(output)]
    for place in places:
        try:
            manifest = read_manifest(place)
        except StoreError:
            continue
        numbers.append(manifest.version if manifest else 0)
    return max(numbers, default=0)


def last_documents(output: Path) -> tuple[int, int]:
    """The number of the last version and how many documents it holds; zeros where there is none
    that can be read."""
    try:
        last = read_manifest(output)
    except StoreError:
        return 0, 0
    return (last.version, last.counts.get("documents", 0)) if last else (0, 0)


def new_folder(output: Path) -> str:
    """A name for a Lance folder that no version uses: the plain one at first."""
    if not (output / FOLDER).exists():
        return FOLDER
    used = [path.suffix[1:] for path in output.glob(f"{FOLDER}.*")]
    numbers = [int(text) for text in used if text.isdecimal()]
    return f"{FOLDER}.{max([last_number(output), *numbers]) + 1}"


def drop_unneeded(output: Path, current: Manifest) -> list[Manifest]:
    """Let go of versions that are over an hour out of date or more than the last 20, with
    their graph arrays and Lance folders. Returns the manifests that are kept, newest first.

    The caller holds the write lock and has committed ``current``.
    """
    kept, successor = [current], current
    for manifest in kept_manifests(output, current)[1:]:
        if time.time() - _seconds(successor.committed_at) > KEEP_SECONDS:
            break
        kept.append(manifest)
        successor = manifest
    kept = kept[:KEEP_MOST]
    numbers = {manifest.version for manifest in kept}
    for version, path in manifest_files(output):
        if version not in numbers:
            path.unlink(missing_ok=True)
    from graphkb.store.arrays import drop_arrays

    drop_arrays(output, {manifest.graph for manifest in kept})
    for folder in unnamed_folders(output, kept):
        shutil.rmtree(folder, ignore_errors=True)
    return kept


def drop_unnamed(output: Path, folder: str) -> None:
    """Remove the Lance folders that no version names: ``folder``, which a run made that has ended,
    where none came of it, and those that killed runs left.

    The caller holds the write lock.
    """
    try:
        current = read_manifest(output)
    except StoreError:
        current = None
    unnamed = unnamed_folders(output, [current] if current else [])
    if current and unnamed:
        unnamed = unnamed_folders(output, kept_manifests(output, current))
    for path in unnamed:
        # Without a manifest that can be read, the others may be of versions that are to come back.
        if current or path.name == folder:
            shutil.rmtree(path, ignore_errors=True)


def unnamed_folders(output: Path, kept: Iterable[Manifest]) -> list[Path]:
    """Folders of Lance tables that none of these manifests names."""
    named = {manifest.folder for manifest in kept}
    return sorted(
        path
        for path in output.iterdir()
        if path.is_dir() and _GENERATION.fullmatch(path.name) and path.name not in named
    )


def oldest_needed(kept: Iterable[Manifest], folder: str) -> dict[str, int]:
    """The oldest version of each table that a kept manifest names in this Lance folder."""
    oldest: dict[str, int] = {}
    for manifest in kept:
        if manifest.folder == folder:
            for name, version in manifest.tables.items():
                oldest[name] = min(oldest.get(name, version), version)
    return oldest


def snapshot_names(output: Path) -> list[str]:
    """Names of the snapshots, sorted."""
    folder = output / SNAPSHOTS
    if not folder.is_dir():
        return []
    return sorted(f.name for f in folder.iterdir() if f.is_dir() and not f.name.startswith("."))


def find_version(output: Path, wanted: str | int) -> tuple[Path, Manifest]:
    """The folder and manifest of a kept version, by number, or of a snapshot, by name.

    Raises UsageError that lists what is there, StoreError when its manifest is damaged.
    """
    text = str(wanted).strip()
    if text in snapshot_names(output):
        manifest = read_manifest(output / SNAPSHOTS / text)
        if manifest is None:
            raise StoreError(f"{output / SNAPSHOTS / text}: has no manifest; run graphkb doctor")
        return output / SNAPSHOTS / text, manifest
    current = read_manifest(output)
    kept = kept_manifests(output, current) if current else []
    if text.isdecimal():
        for manifest in kept:
            if manifest.version == int(text):
                return output, manifest
    raise UsageError(f"no version or snapshot {text!r}; {_what_is_there(output, kept)}")


def readable(root: Path, output: Path, manifest: Manifest | None) -> Manifest:
    """The manifest of the project's last version, where that can be read.

    Raises NotIndexedError before the first run and while a repair is not complete, StoreError when
    the manifest is lost.
    """
    way = f"run: graphkb index --root {root}"
    if manifest is None:
        if manifest_files(output):
            raise StoreError(f"{output / 'manifest.json'}: is missing; run graphkb doctor")
        raise NotIndexedError(f"{root}: nothing is indexed yet; {way}")
    if lost := manifest.notes.get("lost"):
        raise NotIndexedError(f"{root}: {', '.join(lost)} must be made again after a repair; {way}")
    return manifest


def check_still_kept(output: Path, source: Path, manifest: Manifest) -> None:
    """Raises UsageError that lists what is there when a version that :func:`find_version` found
    was let go of, or its snapshot deleted, since."""
    try:
        current = read_manifest(output)
    except StoreError:
        current = None
    if source == output:
        what = f"version {manifest.version}"
        known = output / KEPT / f"{manifest.version}.json"
        there = known.exists() or (current is not None and current.version == manifest.version)
    else:
        what = f"snapshot {source.name!r}"
        there = read_manifest(source) == manifest
    if not there:
        kept = kept_manifests(output, current) if current else []
        raise UsageError(f"{what} is no longer kept; {_what_is_there(output, kept)}")


def _what_is_there(output: Path, kept: list[Manifest]) -> str:
    numbers = ", ".join(str(manifest.version) for manifest in reversed(kept)) or "none"
    names = ", ".join(snapshot_names(output)) or "none"
    return f"versions: {numbers}; snapshots: {names}"
