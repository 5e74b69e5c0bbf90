"""What was imported from another tool, as files of the project that stages read.

It lies in ``imported/`` and not in the cache: nobody can ask for it again.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import polars as pl

from graphkb.errors import StoreError
from graphkb.store.manifest import replace_file
from graphkb.tables import TABLES, Table
from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.extract.imported import ImportedExtraction

FOLDER = "imported"
_INDEX = "import.json"


def _tables() -> dict[str, Table]:
    """The frames of an import, by name."""
    from graphkb.extract.imported import IMPORTED
    from graphkb.report.imported import IMPORTED_REPORTS

    return {**IMPORTED, **IMPORTED_REPORTS}


def write_imported(root: Path, frames: Mapping[str, pl.DataFrame], source: str) -> None:
    """Keep the frames; the index file that names them is written last.

    Raises StoreError when the folder cannot be written.
    """
    folder = root / FOLDER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        (folder / _INDEX).unlink(missing_ok=True)
        digest = hashlib.sha256()
        for name, table in _tables().items():
            frame = table.conform(frames[name])
            path = folder / f"{name}.parquet"
            frame.write_parquet(path, compression="zstd")
            digest.update(path.read_bytes())
        facts = {"source": source, "fingerprint": digest.hexdigest()}
        replace_file(folder / _INDEX, json.dumps(facts, ensure_ascii=False, indent=1) + "\n")
    except OSError as error:
        reason = error.strerror or error
        raise StoreError(f"{folder}: cannot be written ({reason}); check the folder") from None


def imported_fingerprint(root: Path) -> str:
    """Hash of what was imported; empty where nothing was.

    Raises StoreError when the index file cannot be read.
    """
    path = root / FOLDER / _INDEX
    try:
        return str(json.loads(path.read_text("utf-8"))["fingerprint"])
    except FileNotFoundError:
        return ""
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StoreError(_unreadable(path, error)) from None


def depends_on_imported(work: Work) -> tuple[str, ...]:
    """What was imported, for a stage whose result it changes; nothing where nothing was."""
    fingerprint = imported_fingerprint(work.root)
    return (fingerprint,) if fingerprint else ()


def read_imported(root: Path) -> dict[str, pl.DataFrame] | None:
    """The imported frames, or None where nothing was imported.

    Raises StoreError when a file is missing or damaged.
    """
    if not imported_fingerprint(root):
        return None
    frames = {}
    for name, table in _tables().items():
        path = root / FOLDER / f"{name}.parquet"
        try:
            frames[name] = table.conform(pl.read_parquet(path))
        except (OSError, pl.exceptions.PolarsError) as error:
            raise StoreError(_unreadable(path, error)) from None
    return frames


def imported_extraction(work: Work) -> ImportedExtraction | None:
    """What the other tool's model found in today's text units; None where nothing was imported.

    A function of the documents and units as they are: a unit's rows may change when another
    document goes, so they are taken anew in every run of the stage.
    """
    frames = read_imported(work.root)
    if frames is None:
        return None
    from graphkb.extract.imported import imported_evidence

    return imported_evidence(frames, work.table("documents"), work.table("text_units"))


def imported_partition(root: Path, entities: pl.DataFrame) -> pl.DataFrame | None:
    """The other tool's communities as a partition to start from; None where there are none."""
    frames = read_imported(root)
    if frames is None or not frames["communities"].height:
        return None
    from graphkb.report.imported import starting_communities

    start = starting_communities(frames, entities)
    return start if start.height else None


def imported_report_rows(work: Work) -> pl.DataFrame:
    """The community_reports rows that the other tool's reports still give."""
    frames = read_imported(work.root)
    if frames is None or not frames["reports"].height:
        return TABLES["community_reports"].empty()
    from graphkb.report.imported import imported_reports

    return imported_reports(
        frames,
        work.table("documents"),
        work.table("text_units"),
        work.table("communities"),
        work.table("entities"),
        work.table("mentions"),
        work.settings.report.min_size,
    )


def _unreadable(path: Path, error: Exception) -> str:
    reason = " ".join(str(error).split())[:200]
    return (
        f"{path}: cannot be read ({reason}); import again with graphkb import-graphrag --force, "
        f"or delete {path.parent} to go on without what was imported"
    )
