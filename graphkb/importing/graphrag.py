"""Reads the output of Microsoft GraphRAG: Parquet tables of versions 0 to 3, or graphkb's own.

Columns: https://microsoft.github.io/graphrag/index/outputs/. What a version names otherwise is
brought to one form here, so that nothing else knows of versions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import polars as pl

from graphkb.errors import InputError, UsageError

Kind = Literal["text", "integer", "number", "truth", "ids", "json"]

_TYPES: dict[str, pl.DataType] = {
    "text": pl.String(), "integer": pl.Int64(), "number": pl.Float64(), "truth": pl.Boolean(),
    "ids": pl.List(pl.String()), "json": pl.String(),
}  # fmt: skip


@dataclass(frozen=True)
class _Column:
    """How a column is called, the newest name first; without ``needed`` it may be missing."""

    names: tuple[str, ...]
    kind: Kind = "text"
    needed: bool = False


def _needed(*names: str, kind: Kind = "text") -> _Column:
    return _Column(names, kind, needed=True)


def _given(*names: str, kind: Kind = "text") -> _Column:
    return _Column(names, kind)


# Our column to theirs. Needed tables come first; the others make the import richer.
_TABLES: dict[str, dict[str, _Column]] = {
    "documents": {
        "id": _needed("id"),
        "title": _given("title"),
        "text": _needed("text", "raw_content"),
        "creation_date": _given("creation_date"),
        "metadata": _given("metadata", kind="json"),
        "raw_data": _given("raw_data", kind="json"),
    },
    "text_units": {
        "id": _needed("id"),
        "number": _given("human_readable_id", kind="integer"),
        "text": _needed("text", "chunk"),
        "document_ids": _needed("document_id", "document_ids", kind="ids"),
    },
    "entities": {
        "id": _needed("id"),
        "number": _given("human_readable_id", kind="integer"),
        "title": _needed("title", "name"),
        "type": _given("type"),
        "description": _given("description"),
        "aliases": _given("aliases", kind="ids"),
        "text_unit_ids": _needed("text_unit_ids", kind="ids"),
    },
    "relationships": {
        "id": _given("id"),
        "number": _given("human_readable_id", kind="integer"),
        "source": _needed("source"),
        "target": _needed("target"),
        "description": _given("description"),
        "type": _given("type"),
        "directed": _given("directed", kind="truth"),
        "weight": _given("weight", kind="number"),
        "text_unit_ids": _needed("text_unit_ids", kind="ids"),
    },
    "covariates": {
        "number": _given("human_readable_id", kind="integer"),
        "subject": _needed("subject_id"),
        "object": _given("object_id"),
        "type": _given("type"),
        "description": _given("description"),
        "status": _given("status"),
        "start_date": _given("start_date"),
        "end_date": _given("end_date"),
        "source_text": _given("source_text"),
        "text_unit_id": _needed("text_unit_id"),
    },
    "communities": {
        "community": _needed("community", "id", kind="integer"),
        "level": _needed("level", kind="integer"),
        "parent": _given("parent", kind="integer"),
        "entity_ids": _given("entity_ids", kind="ids"),
        "relationship_ids": _given("relationship_ids", kind="ids"),
    },
    "community_reports": {
        "community": _needed("community", kind="integer"),
        "title": _needed("title"),
        "summary": _needed("summary"),
        "full_content": _given("full_content"),
        "rank": _given("rank", kind="number"),
        "rating_explanation": _given("rating_explanation", "rank_explanation"),
        "findings": _given("findings", kind="json"),
    },
}
_NEEDED_TABLES = ("documents", "text_units", "entities", "relationships")
_WITH_ROWS = ("documents", "text_units", "entities")


@dataclass(frozen=True)
class GraphRag:
    """A GraphRAG output in one form: columns as in this module, lists never null.

    ``folder`` holds the Parquet files, ``root`` is the GraphRAG project around it. ``metadata``,
    ``raw_data`` and ``findings`` are JSON or null. Weights are about 1 for one strong statement.
    """

    folder: Path
    root: Path
    documents: pl.DataFrame
    text_units: pl.DataFrame
    entities: pl.DataFrame
    relationships: pl.DataFrame
    covariates: pl.DataFrame
    communities: pl.DataFrame
    community_reports: pl.DataFrame


def read_graphrag(path: Path) -> GraphRag:
    """The GraphRAG output at ``path``: the output folder or the project that holds it.

    Raises UsageError when there is no such folder, InputError naming the file when tables are
    missing, unreadable, empty or of other columns.
    """
    folder = _output_folder(path)
    files = {name: _file_of(folder, name) for name in _TABLES}
    missing = [f"{name}.parquet" for name in _NEEDED_TABLES if files[name] is None]
    if missing:
        raise InputError(
            f"{folder}: no {', '.join(missing)}; let GraphRAG's index run to the end, or give the "
            "folder that holds its Parquet files"
        )
    frames = {name: _read_table(files[name], columns) for name, columns in _TABLES.items()}
    for name in _WITH_ROWS:
        if not frames[name].height:
            raise InputError(f"{files[name]}: has no rows; there is nothing to import")
    if frames["relationships"]["directed"].null_count():
        # GraphRAG's model gives strengths from 1 to 10.
        tenth = pl.col("weight") / 10
        frames["relationships"] = frames["relationships"].with_columns(weight=tenth)
    frames["communities"] = _with_members(
        frames["communities"], frames["entities"], frames["relationships"]
    )
    return GraphRag(folder, _root_of(folder), **frames)


def _output_folder(path: Path) -> Path:
    """Where the Parquet files are: at ``path``, in its output, or in the newest run's artifacts."""
    if not path.is_dir():
        found = "is a file" if path.exists() else "no such folder"
        raise UsageError(f"{path}: {found}; give GraphRAG's project or output folder")
    runs = sorted([*path.glob("output/*/artifacts"), *path.glob("*/artifacts")], reverse=True)
    for folder in (path, path / "output", path / "artifacts", *runs):
        if any(_file_of(folder, name) for name in _NEEDED_TABLES):
            return folder
    raise InputError(
        f"{path}: holds no GraphRAG output; expected documents.parquet, text_units.parquet, "
        "entities.parquet and relationships.parquet there or in its output folder"
    )


def _root_of(folder: Path) -> Path:
    """The GraphRAG project around an output folder."""
    whole = folder.resolve()
    return whole.parents[2] if whole.name == "artifacts" else whole.parent


def _file_of(folder: Path, name: str) -> Path | None:
    for file in (f"{name}.parquet", f"create_final_{name}.parquet"):
        if (folder / file).is_file():
            return folder / file
    return None


def _read_table(path: Path | None, columns: Mapping[str, _Column]) -> pl.DataFrame:
    """The table with our columns; no rows where there is no file. Rows without a needed value
    are left out."""
    schema = {name: _TYPES[column.kind] for name, column in columns.items()}
    if path is None:
        return pl.DataFrame(schema=schema)
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"{path}: cannot be read as Parquet ({reason}); copy it again") from None
    series = [_series(path, frame, name, column) for name, column in columns.items()]
    read = pl.DataFrame(series, schema=schema)
    needed = [name for name, column in columns.items() if column.needed]
    return read.drop_nulls(needed)


def _series(path: Path, frame: pl.DataFrame, name: str, column: _Column) -> pl.Series:
    found = next((given for given in column.names if given in frame.columns), None)
    if found is None:
        if column.needed:
            wanted = " or ".join(repr(given) for given in column.names)
            raise InputError(
                f"{path}: no column {wanted}; found {', '.join(frame.columns[:20]) or 'none'}"
            )
        empty: list[Any] = [[] if column.kind == "ids" else None] * frame.height
        return pl.Series(name, empty, dtype=_TYPES[column.kind])
    values = frame[found].alias(name)
    if column.kind == "text" and not column.needed and values.dtype == pl.List(pl.String):
        values = values.list.join("\n")
    try:
        return _converted(values, column.kind)
    except (pl.exceptions.PolarsError, TypeError, ValueError):
        raise InputError(
            f"{path}: column {found!r} is {values.dtype}, not {_TYPES[column.kind]}"
        ) from None


def _converted(values: pl.Series, kind: Kind) -> pl.Series:
    if kind == "json":
        return _as_json(values)
    if kind == "ids":
        if not isinstance(values.dtype, pl.List | pl.Array):
            values = values.cast(pl.String).str.split(",")
        return values.cast(pl.List(pl.String)).list.drop_nulls().fill_null([])
    if isinstance(values.dtype, pl.List | pl.Struct | pl.Array):
        raise TypeError(kind)
    return values.cast(_TYPES[kind], strict=kind in ("text", "truth"))


def _as_json(values: pl.Series) -> pl.Series:
    """Each value as JSON: objects without what is null in them, JSON in text as it stands."""
    texts: list[str | None] = []
    for value in values.to_list():
        if isinstance(value, dict):
            value = {key: inner for key, inner in value.items() if inner is not None}
        if value in (None, "", {}, []):
            texts.append(None)
        elif isinstance(value, str):
            texts.append(value)
        else:
            texts.append(json.dumps(value, ensure_ascii=False, default=str))
    return pl.Series(values.name, texts, dtype=pl.String)


def _with_members(
    communities: pl.DataFrame, entities: pl.DataFrame, relationships: pl.DataFrame
) -> pl.DataFrame:
    """``entity_ids`` of communities that name only their relationships, as old versions do."""
    ids = entities.select(pl.col("title"), pl.col("id").alias("entity_id"))
    ends = pl.concat([relationships.select("id", title=end) for end in ("source", "target")])
    found = (
        communities.select("community", pl.col("relationship_ids").alias("id"))
        .explode("id")
        .join(ends, on="id")
        .join(ids, on="title")
        .group_by("community")
        .agg(pl.col("entity_id").unique().sort().alias("found"))
    )
    empty = pl.col("entity_ids").list.len() == 0
    members = pl.when(empty).then(pl.col("found").fill_null([])).otherwise("entity_ids")
    joined = communities.join(found, on="community", how="left", maintain_order="left")
    return joined.select(
        "community", "level", pl.col("parent").fill_null(-1), members.alias("entity_ids")
    ).unique("community", keep="first", maintain_order=True)
