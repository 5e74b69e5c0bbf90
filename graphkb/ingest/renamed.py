"""Files that hold the same documents as before under another path."""

from __future__ import annotations

import json

import polars as pl

COLUMNS = ("id", "content_hash", "path", "title", "metadata")
"""The columns of documents that are needed to tell what was renamed."""


def renamed_files(old: pl.DataFrame, new: pl.DataFrame) -> pl.DataFrame:
    """``old_path``, ``path``, ``documents`` (how many it holds) and ``title`` (empty where it holds
    several) of each renamed file, by path.

    A copy that is cited in place of another, as that one is gone or new, was not renamed.
    """
    columns = list(COLUMNS)
    before = old.select("id", "content_hash", old_path="path", old_metadata="metadata")
    both = new.select(columns).join(before, on=["id", "content_hash"])
    moved = both.filter(pl.col("path") != pl.col("old_path"))
    is_copy = [
        row["path"] in _copies(row["old_metadata"]) or row["old_path"] in _copies(row["metadata"])
        for row in moved.iter_rows(named=True)
    ]
    moved = moved.filter(~pl.Series(is_copy, dtype=pl.Boolean))
    files = moved.group_by("old_path", "path").agg(pl.len().alias("documents"), pl.first("title"))
    one = pl.col("documents") == 1
    title = pl.when(one).then(pl.col("title").fill_null("")).otherwise(pl.lit("")).alias("title")
    return files.select("old_path", "path", "documents", title).sort("path", "old_path")


def _copies(metadata: str | None) -> list[str]:
    """Paths of the copies of a document."""
    found: list[str] = json.loads(metadata or "{}").get("duplicate_paths", [])
    return found
