"""The GraphRAG-shaped Parquet view beside the store, for notebooks and other tools."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable, Iterator, Set
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import polars as pl

from graphkb.errors import StoreError
from graphkb.store.lance import Store
from graphkb.store.manifest import replace_file
from graphkb.tables import PARQUET

AUTO_LIMIT = 200_000
FILE_NAME = "parquet.json"

Read = Callable[[str], pl.DataFrame]


def parquet_wanted(when: str, n_text_units: int) -> bool:
    """Whether the Parquet files are kept in step, by the setting ``parquet``."""
    return when == "always" or (when == "auto" and n_text_units <= AUTO_LIMIT)


def parquet_view(store: Store, name: str, read: Read | None = None) -> pl.DataFrame:
    """A table in GraphRAG's shape: lists of ids joined in, degree and rank from ``nodes``.

    ``read`` gives stored tables where the caller holds them already.
    """
    view, _ = _VIEWS[name]
    return view(read or store.read).select(PARQUET[name])


def _documents(read: Read) -> pl.DataFrame:
    return _with_ids(read("documents"), read("text_units"), "document_id", "id", "text_unit_ids")


def _text_units(read: Read) -> pl.DataFrame:
    stated = read("relationships").select("id", "text_unit_ids").explode("text_unit_ids")
    frame = _with_ids(read("text_units"), _pairs(read), "text_unit_id", "entity_id", "entity_ids")
    frame = _with_ids(frame, stated, "text_unit_ids", "id", "relationship_ids")
    return _with_ids(frame, read("covariates"), "text_unit_id", "id", "covariate_ids")


def _entities(read: Read) -> pl.DataFrame:
    nodes = read("nodes").rename({"entity_id": "id"})
    frame = read("entities").join(nodes, on="id", how="left", maintain_order="left")
    return _with_ids(frame, _pairs(read), "entity_id", "text_unit_id", "text_unit_ids")


def _relationships(read: Read) -> pl.DataFrame:
    frame = read("relationships")
    for end in ("source", "target"):
        degree = read("nodes").select(
            pl.col("entity_id").alias(f"{end}_id"), pl.col("degree").alias(f"{end}_degree")
        )
        frame = frame.join(degree, on=f"{end}_id", how="left", maintain_order="left")
    return frame.with_columns(combined_degree=pl.col("source_degree") + pl.col("target_degree"))


def _communities(read: Read) -> pl.DataFrame:
    communities, relationships = read("communities"), read("relationships")
    members = communities.select("community", "id", "entity_ids").explode("entity_ids")
    units = members.join(_pairs(read), left_on="entity_ids", right_on="entity_id")
    inner = members.join(
        relationships.select("source_id", "target_id", pl.col("id").alias("relationship_id")),
        left_on="entity_ids",
        right_on="source_id",
    ).join(
        members.select("community", pl.col("entity_ids").alias("target_id")),
        on=["community", "target_id"],
    )
    frame = _with_ids(communities, units, "id", "text_unit_id", "text_unit_ids")
    return _with_ids(frame, inner, "id", "relationship_id", "relationship_ids")


def _pairs(read: Read) -> pl.DataFrame:
    """Which entity stands in which text unit, each once."""
    return read("mentions").select("entity_id", "text_unit_id").unique()


# Each view and the stored tables it is made from.
_VIEWS: dict[str, tuple[Callable[[Read], pl.DataFrame], tuple[str, ...]]] = {
    "documents": (_documents, ("documents", "text_units")),
    "text_units": (_text_units, ("text_units", "mentions", "relationships", "covariates")),
    "entities": (_entities, ("entities", "nodes", "mentions")),
    "relationships": (_relationships, ("relationships", "nodes")),
    "covariates": (lambda read: read("covariates"), ("covariates",)),
    "communities": (_communities, ("communities", "mentions", "relationships")),
    "community_reports": (lambda read: read("community_reports"), ("community_reports",)),
    "mentions": (lambda read: read("mentions"), ("mentions",)),
}


def _with_ids(
    frame: pl.DataFrame, other: pl.DataFrame, key: str, value: str, column: str
) -> pl.DataFrame:
    """``frame`` plus a sorted list of the ``value`` of every row of ``other`` that names it."""
    lists = other.group_by(key).agg(pl.col(value).unique().sort().alias(column))
    joined = frame.join(lists, left_on="id", right_on=key, how="left", maintain_order="left")
    return joined.with_columns(pl.col(column).fill_null([]))


class ParquetAhead:
    """Files of views that are written on another thread while the last tables are being made."""

    def __init__(self, output: Path) -> None:
        self._output = output
        self._made: dict[str, tuple[dict[str, pl.DataFrame], Future[None]]] = {}
        self._thread = ThreadPoolExecutor(1, "graphkb-parquet")

    def make(self, changed: Set[str], unfinished: Set[str], read: Read) -> None:
        """Begin with the views of which a table ``changed`` and none is ``unfinished``."""
        for name, (_, tables) in _VIEWS.items():
            is_due = not changed.isdisjoint(tables) and unfinished.isdisjoint(tables)
            if is_due and name not in self._made:
                frames = {table: read(table) for table in tables}
                done = self._thread.submit(_write_beside, self._output, name, frames.__getitem__)
                self._made[name] = frames, done

    def has(self, name: str, read: Read) -> bool:
        """Whether the file of a view is made of the tables as they are. Raises StoreError when it
        could not be written."""
        if name not in self._made:
            return False
        frames, done = self._made.pop(name)
        done.result()
        return all(read(table) is frame for table, frame in frames.items())

    def close(self) -> None:
        """Remove what was not needed."""
        self._thread.shutdown(cancel_futures=True)
        for name in self._made:
            with contextlib.suppress(OSError):
                _beside(self._output, name).unlink(missing_ok=True)


def _beside(output: Path, name: str) -> Path:
    return output / f".{name}.parquet.tmp"


def _write_beside(output: Path, name: str, read: Read) -> None:
    view, _ = _VIEWS[name]
    with _said(output / f"{name}.parquet"):
        frame = view(read).select(PARQUET[name])
        frame.write_parquet(_beside(output, name), compression_level=1)


def write_parquet(
    store: Store, output: Path, read: Read | None = None, ahead: ParquetAhead | None = None
) -> list[Path]:
    """Write ``output/<name>.parquet`` of every view whose tables changed since it was written.

    All are written beside the old ones first, then renamed in a row. Which table versions a file
    was made from stands in ``parquet.json``, those of the knowledge base in ``manifest.json``: so
    a reader sees files that a killed run left behind, and the next run writes them. While files
    are replaced ``parquet.json`` does not name them.
    """
    made_from = _made_from(output)
    due: dict[str, dict[str, int]] = {}
    for name, (_, tables) in _VIEWS.items():
        versions = {f"{store.folder}/{table}": store.tables.get(table, 0) for table in tables}
        if made_from.get(name) != versions or not (output / f"{name}.parquet").exists():
            due[name] = versions
    if not due:
        return []
    beside = {name: _beside(output, name) for name in due}
    read = read or store.read
    try:
        for name in due:
            if ahead is None or not ahead.has(name, read):
                _write_beside(output, name, read)
        _say_made_from(output, {name: made_from[name] for name in made_from.keys() - due.keys()})
        for name, temporary in beside.items():
            with _said(output / f"{name}.parquet"):
                os.replace(temporary, output / f"{name}.parquet")
    finally:
        for temporary in beside.values():
            with contextlib.suppress(OSError):
                temporary.unlink(missing_ok=True)
    _say_made_from(output, {**made_from, **due})
    return [output / f"{name}.parquet" for name in due]


def forget_parquet(output: Path, tables: Set[str]) -> None:
    """Have the files that are made of some tables written again: a table that is made anew begins
    at version 1 once more."""
    made_from = _made_from(output)
    views = {name for name, (_, used) in _VIEWS.items() if not tables.isdisjoint(used)}
    kept = {name: versions for name, versions in made_from.items() if name not in views}
    if kept != made_from:
        _say_made_from(output, kept)


@contextlib.contextmanager
def _said(path: Path) -> Iterator[None]:
    """What the system raises becomes a StoreError that names the file."""
    try:
        yield
    except OSError as error:
        raise StoreError(f"{path}: cannot be written ({error})") from error


def _say_made_from(output: Path, versions: dict[str, dict[str, int]]) -> None:
    replace_file(output / FILE_NAME, json.dumps(versions, indent=1, sort_keys=True))


def _made_from(output: Path) -> dict[str, dict[str, int]]:
    """Table versions by view, as far as the file that says so can be read."""
    try:
        found = json.loads((output / FILE_NAME).read_text("utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
