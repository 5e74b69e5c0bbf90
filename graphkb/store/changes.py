"""Which rows of a table differ from those that are stored."""

from __future__ import annotations

import polars as pl

from graphkb.tables import Table


def changed_groups(
    table: Table, old: pl.DataFrame, new: pl.DataFrame
) -> tuple[list[str], list[str]]:
    """Group values (first key column) to delete and to add so that ``old`` becomes ``new``.

    A group whose rows differ stands in both lists. Values are given as strings, sorted.
    """
    group = table.key[0]
    rest = [column for column in table.schema if column != group]

    def digest(frame: pl.DataFrame) -> pl.DataFrame:
        return (
            frame.select(pl.col(group).cast(pl.String), pl.struct(rest).hash(seed=7).alias("h"))
            .group_by(group)
            .agg(pl.col("h").sort(), pl.len().alias("n"))
            .select(group, pl.struct("h", "n").hash(seed=7).alias("digest"))
        )

    joined = digest(old).join(
        digest(new), on=group, how="full", coalesce=True, suffix="_new", nulls_equal=True
    )
    removed = joined.filter(
        pl.col("digest").is_not_null() & pl.col("digest").ne_missing(pl.col("digest_new"))
    )
    added = joined.filter(
        pl.col("digest_new").is_not_null() & pl.col("digest").ne_missing(pl.col("digest_new"))
    )
    return sorted(removed[group].to_list()), sorted(added[group].to_list())
