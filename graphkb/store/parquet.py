"""The GraphRAG-shaped Parquet view beside the store, for notebooks and other tools."""

from __future__ import annotations

import os
from pathlib import Path

import polars as pl

from graphkb.errors import StoreError
from graphkb.store.lance import Store
from graphkb.tables import PARQUET

AUTO_LIMIT = 200_000


def parquet_view(store: Store) -> dict[str, pl.DataFrame]:
    """All tables in GraphRAG's shape: lists of ids joined in, degree and rank from ``nodes``."""
    read = store.read
    mentions = read("mentions")
    relationships = read("relationships")
    units = read("text_units")
    covariates = read("covariates")
    nodes = read("nodes")
    pairs = mentions.select("entity_id", "text_unit_id").unique()
    stated = relationships.select("id", "text_unit_ids").explode("text_unit_ids")
    degree = nodes.select("entity_id", "degree")
    view = {
        "documents": _with_ids(read("documents"), units, "document_id", "id", "text_unit_ids"),
        "text_units": _text_units(units, pairs, stated, covariates),
        "entities": _with_ids(
            read("entities").join(
                nodes.rename({"entity_id": "id"}), on="id", how="left", maintain_order="left"
            ),
            pairs,
            "entity_id",
            "text_unit_id",
            "text_unit_ids",
        ),
        "relationships": relationships.join(
            degree.rename({"entity_id": "source_id", "degree": "source_degree"}),
            on="source_id",
            how="left",
            maintain_order="left",
        )
        .join(
            degree.rename({"entity_id": "target_id", "degree": "target_degree"}),
            on="target_id",
            how="left",
            maintain_order="left",
        )
        .with_columns((pl.col("source_degree") + pl.col("target_degree")).alias("combined_degree")),
        "covariates": covariates,
        "communities": _communities(read("communities"), pairs, relationships),
        "community_reports": read("community_reports"),
        "mentions": mentions,
    }
    return {name: view[name].select(PARQUET[name]) for name in PARQUET}


def _with_ids(
    frame: pl.DataFrame, other: pl.DataFrame, key: str, value: str, column: str
) -> pl.DataFrame:
    """``frame`` plus a sorted list of the ``value`` of every row of ``other`` that names it."""
    lists = other.group_by(key).agg(pl.col(value).unique().sort().alias(column))
    joined = frame.join(lists, left_on="id", right_on=key, how="left", maintain_order="left")
    return joined.with_columns(pl.col(column).fill_null([]))


def _text_units(
    units: pl.DataFrame, pairs: pl.DataFrame, stated: pl.DataFrame, covariates: pl.DataFrame
) -> pl.DataFrame:
    frame = _with_ids(units, pairs, "text_unit_id", "entity_id", "entity_ids")
    frame = _with_ids(frame, stated, "text_unit_ids", "id", "relationship_ids")
    return _with_ids(frame, covariates, "text_unit_id", "id", "covariate_ids")


def _communities(
    communities: pl.DataFrame, pairs: pl.DataFrame, relationships: pl.DataFrame
) -> pl.DataFrame:
    members = communities.select("community", "id", "entity_ids").explode("entity_ids")
    units = members.join(pairs, left_on="entity_ids", right_on="entity_id")
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


def write_parquet(store: Store, output: Path) -> list[Path]:
    """Write every table of the view to ``output/<name>.parquet``; each file is replaced whole."""
    written: list[Path] = []
    for name, frame in parquet_view(store).items():
        path = output / f"{name}.parquet"
        temporary = output / f".{name}.parquet.tmp"
        try:
            frame.write_parquet(temporary)
            os.replace(temporary, path)
        except OSError as error:
            temporary.unlink(missing_ok=True)
            raise StoreError(f"{path}: cannot be written ({error})") from error
        written.append(path)
    return written
