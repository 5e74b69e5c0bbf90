"""Vectors already made, kept by model and text, so that no text is embedded twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from graphkb.embed import Embedder, Vectors
from graphkb.errors import StoreError
from graphkb.tables import content_hash

_CHUNK = 500


class VectorCache:
    """``cache/vectors.sqlite``: written batch by batch, so a killed run loses one batch."""

    file_name = "vectors.sqlite"

    def __init__(self, folder: Path) -> None:
        self.path = folder / self.file_name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=30)
            self._database.execute("PRAGMA journal_mode=WAL")
            self._database.execute("PRAGMA synchronous=NORMAL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key TEXT PRIMARY KEY, vector BLOB NOT NULL)"
            )
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> StoreError:
        full = getattr(error, "sqlite_errorname", "") in ("SQLITE_FULL", "SQLITE_READONLY")
        hint = "graphkb doctor --repair moves a damaged one aside"
        if full or isinstance(error, OSError):
            hint = "check space and permissions"
        return StoreError(f"{self.path}: the vector cache cannot be used ({error}); {hint}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def get(self, keys: Sequence[str]) -> dict[str, Vectors]:
        """Known vectors by key."""
        found: dict[str, Vectors] = {}
        for start in range(0, len(keys), _CHUNK):
            part = list(keys[start : start + _CHUNK])
            marks = ",".join("?" * len(part))
            query = f"SELECT key, vector FROM vectors WHERE key IN ({marks})"
            with self._explained():
                for key, blob in self._database.execute(query, part):
                    found[key] = np.frombuffer(blob, np.float32)
        return found

    def put(self, keys: Sequence[str], vectors: Vectors) -> None:
        """Keep one batch."""
        rows = [
            (key, vector.astype(np.float32).tobytes())
            for key, vector in zip(keys, vectors, strict=True)
        ]
        with self._explained(), self._database:
            self._database.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)

    def count(self) -> int:
        """Vectors kept."""
        return int(self._database.execute("SELECT COUNT(*) FROM vectors").fetchone()[0])

    def clear(self) -> int:
        """Forget all vectors; how many there were."""
        with self._database:
            gone = self._database.execute("DELETE FROM vectors").rowcount
        self._database.execute("VACUUM")
        return int(gone)

    def close(self) -> None:
        """Close the database file."""
        self._database.close()


def vector_key(embedder: Embedder, prefix: str, text: str) -> str:
    """Cache key of a passage: everything that can change its vector."""
    return content_hash(embedder.provider, embedder.model, prefix, text)
