"""Relationships and claims between entities, from the evidence between names."""

from __future__ import annotations

import polars as pl

from graphkb.tables import content_hash

_SMALL = 1e-6
_RELATION = ["source_id", "target_id", "type", "directed"]


def related_entities(evidence: pl.DataFrame, lookup: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Evidence with source_id and target_id, and how many self-loops were dropped.

    Undirected ones run from the smaller to the larger entity id.
    """
    joined = (
        evidence.with_columns(
            weight=pl.when(pl.col("weight") > 0).then("weight").otherwise(_SMALL).fill_nan(_SMALL)
        )
        .join(lookup.rename({"name": "source", "entity_id": "source_id"}), on="source")
        .join(lookup.rename({"name": "target", "entity_id": "target_id"}), on="target")
    )
    loops = joined.filter(pl.col("source_id") == pl.col("target_id")).height
    swap = ~pl.col("directed") & (pl.col("source_id") > pl.col("target_id"))
    ends = {
        "source_id": pl.when(swap).then("target_id").otherwise("source_id"),
        "target_id": pl.when(swap).then("source_id").otherwise("target_id"),
    }
    return joined.filter(pl.col("source_id") != pl.col("target_id")).with_columns(**ends), loops


def relationships_of(related: pl.DataFrame, entities: pl.DataFrame) -> pl.DataFrame:
    """Relationships by (source, target, type, directed)."""
    grouped = (
        related.sort(
            [*_RELATION, "weight", "text_unit_id", "char_start", "description"],
            descending=[False] * 4 + [True] + [False] * 3,
        )
        .group_by(_RELATION, maintain_order=True)
        .agg(
            pl.col("weight").sum(),
            pl.col("description").unique(maintain_order=True).head(3).str.join("\n"),
            pl.col("text_unit_id").unique().sort().alias("text_unit_ids"),
        )
    )
    titles = entities.select("id", "title")
    named = grouped.join(
        titles.rename({"id": "source_id", "title": "source"}), on="source_id"
    ).join(titles.rename({"id": "target_id", "title": "target"}), on="target_id")
    parts = named.select("source_id", "target_id", "type", pl.col("directed").cast(pl.String))
    ids = [content_hash("relationship", *row) for row in parts.iter_rows()]
    return named.with_columns(
        pl.Series("id", ids, dtype=pl.String), human_readable_id=pl.lit(None, dtype=pl.Int64)
    )


def covariates_of(
    evidence: pl.DataFrame, lookup: pl.DataFrame, entities: pl.DataFrame
) -> pl.DataFrame:
    """Claims with the titles of their entities; equal ones of one place once."""
    titles = lookup.join(entities.select("id", "title"), left_on="entity_id", right_on="id")
    titles = titles.select("name", "title")
    joined = (
        evidence.join(titles.rename({"name": "subject", "title": "subject_id"}), on="subject")
        .join(titles.rename({"name": "object", "title": "object_id"}), on="object", how="left")
        .with_columns(
            covariate_type=pl.lit("claim"), human_readable_id=pl.lit(None, dtype=pl.Int64)
        )
        .sort(
            "text_unit_id", "char_start", "char_end", "subject_id", "type", "description",
            "object_id", "status", "start_date", "end_date", "source_text", "subject",
        )
    )  # fmt: skip
    parts = joined.select(
        "text_unit_id", pl.col("char_start").cast(pl.String), "subject_id", "type", "description"
    )
    ids = [content_hash("claim", *row) for row in parts.iter_rows()]
    return joined.with_columns(pl.Series("id", ids, dtype=pl.String)).unique(
        "id", keep="first", maintain_order=True
    )
