"""Hashes of what offline reports are made from: a report is written again when its hash moves."""

from __future__ import annotations

from collections.abc import Collection

import polars as pl

from graphkb.report.corpus import Corpus
from graphkb.tables import content_hash

# ASCII's unit and record separators.
_CELL, _END = "\x1f", "\x1e"


def evidence_hashes(corpus: Corpus, communities: Collection[int], *settings: str) -> dict[int, str]:
    """A hash of all that a community's report is made from, and of ``settings``.

    Entities with their mentions, inner relationships with their descriptions, and the text
    units, whose ids are hashes of their text. PageRank and weights are not in it: they move
    for everyone when one document comes, and a report is to stay when its community does.
    """
    entities = _joined(
        corpus.entities.select("id", "title", "type", "description", _mentions(corpus))
    )
    relationships = _joined(
        corpus.relationships.select(
            "id",
            "source",
            "target",
            "description",
            pl.col("text_unit_ids").list.sort().list.join(" "),
        )
    )
    return {
        community: content_hash(
            *settings,
            _END.join([entities[node] for node in sorted(corpus.members[community])]),
            _END.join([relationships[place] for place in sorted(corpus.inner[community])]),
        )
        for community in communities
    }


def _mentions(corpus: Corpus) -> pl.Series:
    """Where each entity stands: unit id, unit number and offset of every mention, in order."""
    units = corpus.units.select(
        pl.concat_str("id", "human_readable_id", separator=":", ignore_nulls=True)
    ).to_series()
    placed = (
        pl.DataFrame({"at": corpus.mention_entity, "start": corpus.mention_start})
        .with_columns(unit=units.gather(corpus.mention_unit))
        .sort("at", "unit", "start")
        .group_by("at", maintain_order=True)
        .agg(pl.concat_str("unit", "start", separator=":").str.join(" ").alias("mentions"))
    )
    every = pl.DataFrame({"at": range(corpus.entities.height)}, schema={"at": pl.Int64})
    return every.join(placed, on="at", how="left", maintain_order="left")["mentions"]


def _joined(frame: pl.DataFrame) -> list[str]:
    cells = pl.concat_str(pl.all().fill_null(""), separator=_CELL)
    joined: list[str] = frame.select(cells).to_series().to_list()
    return joined
