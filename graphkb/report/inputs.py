"""What a community's evidence is gathered from, as one hash: equal hashes need no gathering."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import numpy as np
import polars as pl

from graphkb.report.corpus import Corpus
from graphkb.tables import content_hash

# Raise it when the same inputs give other evidence or another prompt.
_VERSION = "1"


def inputs_hashes(
    corpus: Corpus, communities: Collection[int], evidence_hashes: Mapping[int, str]
) -> dict[int, str]:
    """A hash of all that :meth:`graphkb.report.evidence.EvidenceReader.gather` reads of each
    community, but for the reports of its children.

    ``evidence_hashes`` (:mod:`graphkb.report.hashes`) hold entities with their mentions and
    relationships with their text units. Here come the relationships' weights, and of each text
    unit its id (a hash of its text), place, number and language, and where names stand in it.
    """
    weights = corpus.relationships["weight"].cast(pl.String).fill_null("").to_list()
    units = _units(corpus, {unit for number in communities for unit in corpus.sources[number]})
    return {
        number: content_hash(
            _VERSION,
            evidence_hashes[number],
            " ".join([weights[place] for place in sorted(corpus.inner[number])]),
            "\n".join([units[unit] for unit in corpus.sources[number]]),
        )
        for number in communities
    }


def _units(corpus: Corpus, wanted: Collection[int]) -> dict[int, str]:
    """One line for each of the wanted text units, by position."""
    places = np.array(sorted(wanted), dtype=np.int64)
    held = np.isin(corpus.mention_unit, places)
    named = (
        pl.DataFrame({"unit": corpus.mention_unit[held], "start": corpus.mention_start[held]})
        .unique()
        .sort("unit", "start")
        .group_by("unit", maintain_order=True)
        .agg(pl.col("start").cast(pl.String).str.join(" "))
    )
    columns = ("id", "document_id", "index", "human_readable_id", "language", "kind")
    shown = [pl.col(name).cast(pl.String).fill_null("") for name in columns]
    lines = corpus.units.select(pl.concat_str(shown, separator="\t")).to_series().gather(places)
    frame = pl.DataFrame({"unit": places, "line": lines}).join(
        named, on="unit", how="left", maintain_order="left"
    )
    starts = pl.col("start").fill_null("")
    whole = frame.select("unit", pl.concat_str("line", starts, separator="\t"))
    return dict(whole.iter_rows())
