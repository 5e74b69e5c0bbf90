"""Check that a knowledge base is whole, say what is wrong, and mend it.

:data:`CHECKS` lists what is looked at once the manifest can be read. Each check yields findings,
with a repair where there is one. Repairs that need stages to run again only mark them, so that
the next ``graphkb index`` makes just what is missing; all marks are committed together.
"""

from __future__ import annotations

import contextlib
from dataclasses import replace
from pathlib import Path

from graphkb.errors import StoreError, UsageError
from graphkb.settings import Settings
from graphkb.store.lance import Store
from graphkb.store.lock import lock_state, write_lock
from graphkb.store.manifest import (
    FILE_NAME,
    Manifest,
    load_manifest,
    manifest_text,
    read_manifest,
    replace_file,
)
from graphkb.store.snapshots import list_snapshots, restore_version
from graphkb.store.versions import manifest_files
from graphkb.upkeep.case import Case, Finding, Found
from graphkb.upkeep.content import (
    check_arrays,
    check_indexes,
    check_references,
    check_spans,
    check_tables,
)
from graphkb.upkeep.surroundings import (
    check_caches,
    check_disk,
    check_folders,
    check_kept,
    check_leftovers,
    check_parquet,
    check_stages,
)

CHECKS = (
    check_stages,
    check_tables,
    check_references,
    check_spans,
    check_arrays,
    check_indexes,
    check_parquet,
    check_kept,
)

# What a writer brings up to date after it has committed, or clears away.
_FOLLOWING = ("parquet", "leftovers")


def examine(root: Path, settings: Settings, repair: bool = False) -> list[Finding]:
    """Every finding, healthy ones too, in the order they were looked at.

    With ``repair`` holds the write lock and mends what can be mended. Raises LockedError when
    an index run is active then, UsageError where the project folder is gone. Without, what looks
    wrong beside a writer is looked at once more.
    """
    if not root.is_dir():
        raise UsageError(f"{root}: the project folder does not exist any more")
    output = root / "output"
    held, who = lock_state(output)
    with write_lock(output) if repair and output.is_dir() else contextlib.nullcontext():
        around = _gather(check_folders(root), repair)
        around += _gather(check_disk(root), repair)
        around += _gather(check_caches(root), repair)
        found, manifest = _look(root, settings, repair, held)
        if not repair and any(finding.problem for finding in found):
            now_held, now_who = lock_state(output)
            if held or now_held or _committed(output) != manifest:
                held, who, found = _look_again(root, settings, now_held, now_who)
    return [_lock_finding(output, held, who, repair), *around, *found]


def _look(
    root: Path, settings: Settings, repair: bool, held: bool
) -> tuple[list[Finding], Manifest | None]:
    """Findings on the manifest and the version it names, and what was found to be committed."""
    output = root / "output"
    findings, manifest = _readable_manifest(output, repair)
    if manifest is not None:
        store = Store(output, manifest.tables, manifest.folder)
        case = Case(root, settings, manifest, store, beside_writer=held)
        for check in CHECKS:
            findings += _gather(check(case), repair)
        if repair:
            case.commit()
        if not held:
            now = (read_manifest(output) if repair else None) or manifest
            findings += _gather(check_leftovers(output, now), repair)
    return findings, manifest


def _look_again(
    root: Path, settings: Settings, held: bool, who: str
) -> tuple[bool, str, list[Finding]]:
    """Who holds the lock and what is found beside a writer: nothing of a version that is no
    longer current, nor of files that follow a commit."""
    output = root / "output"
    findings, manifest = _look(root, settings, False, held)
    now_held, now_who = lock_state(output)
    if now_held and not held:
        held, who = now_held, now_who
        findings = [f for f in findings if f.ok or f.check not in _FOLLOWING]
    if _committed(output) != manifest:
        findings = [finding for finding in findings if finding.ok]
    return held, who, findings


def _committed(output: Path) -> Manifest | None:
    try:
        return read_manifest(output)
    except StoreError:
        return None


def _gather(found: Found, repair: bool) -> list[Finding]:
    findings = []
    for finding, mend in found:
        if repair and not finding.ok and mend is not None:
            finding = replace(finding, repaired=mend())
        findings.append(finding)
    return findings


def _lock_finding(output: Path, held: bool, who: str, repair: bool) -> Finding:
    where = str(output / "write.lock")
    if held:
        what = f"held by {who}: an index run is active"
        return Finding("lock", True, where, what, "look again when it has ended")
    if who:
        did = "removed" if repair else ""
        what = f"a run that was killed left it ({who}); it stops nobody"
        return Finding("lock", True, where, what, repaired=did)
    return Finding("lock", True, where, "free")


def _readable_manifest(output: Path, repair: bool) -> tuple[list[Finding], Manifest | None]:
    where = str(output / FILE_NAME)
    try:
        manifest = read_manifest(output)
        problem = "is missing" if manifest is None and manifest_files(output) else ""
    except StoreError as error:
        manifest, problem = None, str(error).removeprefix(f"{where}: ").split("; ")[0]
    if manifest is not None:
        what = f"version {manifest.version}, committed {manifest.committed_at}"
        return [Finding("manifest", True, where, what)], manifest
    if not problem:
        return [Finding("manifest", True, where, "nothing is indexed yet")], None
    whole = _kept_copy(output)
    snapshots = [snapshot for snapshot in list_snapshots(output) if snapshot.problem is None]
    if whole is not None:
        advice, did = "graphkb doctor --repair takes its kept copy", "kept copy taken"
    elif snapshots:
        name = snapshots[-1].name
        advice, did = f"graphkb doctor --repair restores snapshot {name}", f"{name} restored"
    else:
        advice, did = "graphkb index --rebuild makes everything anew", ""
    finding = Finding("manifest", False, where, problem, advice)
    if not repair or not did:
        return [finding], None
    if whole is not None:
        replace_file(output / FILE_NAME, manifest_text(whole))
        did = f"{did}: version {whole.version}, committed {whole.committed_at}"
    else:
        whole, _ = restore_version(output, snapshots[-1].name)
    return [replace(finding, repaired=did)], whole


def _kept_copy(output: Path) -> Manifest | None:
    """The newest kept manifest that can be read; what its tables lack is looked at later."""
    for _, path in manifest_files(output):
        with contextlib.suppress(StoreError):
            return load_manifest(path)
    return None
