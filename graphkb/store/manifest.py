"""The manifest: which version of every table makes up one version of the knowledge base.

Renaming the manifest into place is the commit. Everything a reader opens is named in it, so a
reader sees one whole version whatever a writer is doing, and a crash leaves the last one whole.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphkb.errors import StoreError
from graphkb.tables import TABLES, content_hash

FILE_NAME = "manifest.json"
KEPT = "manifests"
# Changes with any stored table's columns, so that tables of another layout are never misread.
FORMAT = "1-" + content_hash(
    *(f"{name}.{column}:{dtype}" for name, table in sorted(TABLES.items())
      for column, dtype in table.schema.items()),
    length=8,
)  # fmt: skip


@dataclass(frozen=True)
class Manifest:
    """One committed knowledge-base version.

    ``tables`` maps table name to Lance version; ``fingerprints`` maps stage name to the hash
    of its settings and code; ``graph`` is the folder of graph arrays and ``folder`` that of the
    Lance tables; ``embedding`` names provider, model and dimension, or is empty when there are no
    vectors.
    """

    version: int
    tables: Mapping[str, int]
    fingerprints: Mapping[str, str]
    counts: Mapping[str, int]
    graph: str
    embedding: Mapping[str, Any]
    committed_at: str
    graphkb_version: str
    format: str = FORMAT
    notes: Mapping[str, Any] = field(default_factory=dict)
    folder: str = "lancedb"


def read_manifest(output: Path) -> Manifest | None:
    """The last committed manifest, or None before the first commit.

    Raises StoreError when the file is there but is not a manifest of this format.
    """
    return load_manifest(output / FILE_NAME)


def load_manifest(path: Path) -> Manifest | None:
    """The manifest in one file, or None when there is no such file. Raises StoreError."""
    way_out = "run graphkb doctor --repair, or index with --rebuild"
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise StoreError(f"{path.parent}: is a file where the output folder should be") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); {way_out}") from None
    if not isinstance(data, dict):
        raise StoreError(f"{path}: not a manifest; {way_out}")
    if (found := data.get("format")) != FORMAT:
        raise StoreError(
            f"{path}: its table layout is {found!r}, this graphkb reads {FORMAT!r}; "
            "index with --rebuild (vectors are kept in the cache)"
        )
    try:
        manifest = Manifest(**data)
    except TypeError as error:
        raise StoreError(f"{path}: not a whole manifest ({error}); {way_out}") from None
    whole = isinstance(manifest.version, int) and isinstance(manifest.graph, str)
    named = (manifest.tables, manifest.fingerprints, manifest.counts, manifest.notes)
    if not whole or not all(isinstance(part, dict) for part in named):
        raise StoreError(f"{path}: not a whole manifest; {way_out}")
    return manifest


def write_manifest(output: Path, manifest: Manifest) -> None:
    """Commit: write beside, sync, rename over the old manifest, sync the folder.

    A copy is kept as ``manifests/<version>.json`` first, so that a damaged manifest is never
    the only one that names the tables.
    """
    text = manifest_text(manifest)
    replace_file(output / KEPT / f"{manifest.version}.json", text)
    replace_file(output / FILE_NAME, text)


def manifest_text(manifest: Manifest) -> str:
    """A manifest as JSON."""
    return json.dumps(asdict(manifest), ensure_ascii=False, indent=1, sort_keys=True)


def replace_file(path: Path, text: str) -> None:
    """Write a file so that it is there whole or not at all, even when the power goes."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from None


def sync_folder(folder: Path) -> None:
    """Make renames within a folder last through a power cut, where the system can."""
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
