"""The manifest: which version of every table makes up one version of the knowledge base.

Renaming the manifest into place is the commit. Everything a reader opens is named in it, so a
reader sees one whole version whatever a writer is doing, and a crash leaves the last one whole.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from graphkb.errors import StoreError
from graphkb.tables import TABLES, content_hash

FILE_NAME = "manifest.json"
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
    of its settings and code; ``graph`` is the folder of graph arrays; ``embedding`` names
    provider, model and dimension, or is empty when there are no vectors.
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


def read_manifest(output: Path) -> Manifest | None:
    """The last committed manifest, or None before the first commit.

    Raises StoreError when the file is there but is not a manifest of this format.
    """
    path = output / FILE_NAME
    try:
        data = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return None
    except NotADirectoryError:
        raise StoreError(f"{output}: is a file where the output folder should be") from None
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{path}: cannot be read ({error}); restore it from a copy, or index with --rebuild"
        ) from None
    if not isinstance(data, dict) or data.get("format") != FORMAT:
        found = data.get("format") if isinstance(data, dict) else type(data).__name__
        raise StoreError(
            f"{path}: its table layout is {found!r}, this graphkb reads {FORMAT!r}; "
            "index with --rebuild (vectors are kept in the cache)"
        )
    try:
        return Manifest(**data)
    except TypeError as error:
        raise StoreError(f"{path}: not a whole manifest ({error}); index with --rebuild") from None


def write_manifest(output: Path, manifest: Manifest) -> None:
    """Commit: write beside, sync, rename over the old manifest, sync the folder."""
    path = output / FILE_NAME
    temporary = output / f"{FILE_NAME}.{os.getpid()}.tmp"
    data = json.dumps(asdict(manifest), ensure_ascii=False, indent=1, sort_keys=True)
    try:
        with open(temporary, "w", encoding="utf-8") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        _sync_folder(output)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise StoreError(f"{path}: cannot be written ({error.strerror or error})") from None


def _sync_folder(folder: Path) -> None:
    if os.name == "posix":
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
