"""What the documents say of an entity, without a model: its defining sentence."""

from __future__ import annotations

import polars as pl

from graphkb.text.sentences import each_sentence

_MAX_LENGTH = 400
_LOOK_AT = 2_000


def describe_entities(
    entities: pl.DataFrame, defined: pl.DataFrame, relationships: pl.DataFrame
) -> pl.DataFrame:
    """``entities`` with ``description``: the first sentence of the unit that the entity titles.

    Where no unit is titled by it, the strongest of its relationship descriptions; else empty.
    ``defined`` is what :func:`defining_sentences` gives.
    """
    defined = defined.select("entity_id", "defined")
    ends = pl.concat(
        [
            relationships.select(pl.col(end).alias("entity_id"), "weight", "description")
            for end in ("source_id", "target_id")
        ]
    )
    related = (
        ends.sort(["entity_id", "weight", "description"], descending=[False, True, False])
        .unique("entity_id", keep="first", maintain_order=True)
        .select("entity_id", related=pl.col("description").str.split("\n").list.first())
    )
    return (
        entities.join(defined, left_on="id", right_on="entity_id", how="left")
        .join(related, left_on="id", right_on="entity_id", how="left")
        .with_columns(description=pl.coalesce("defined", "related", pl.lit("")))
        .drop("defined", "related")
    )


def defining_sentences(mentions: pl.DataFrame, text_units: pl.DataFrame) -> pl.DataFrame:
    """entity_id, text_unit_id, defined: the first sentence of the first unit each one titles."""
    titled = (
        mentions.filter(pl.col("char_start") < 0)
        .sort("entity_id", "text_unit_id", "char_start", "char_end", "surface")
        .unique("entity_id", keep="first", maintain_order=True)
        .join(
            text_units.select(pl.col("id").alias("text_unit_id"), "text", "context"),
            on="text_unit_id",
        )
        .filter(pl.col("context").str.starts_with(pl.col("surface")))
    )
    texts = [_first_sentence(text) for text in titled["text"].to_list()]
    return titled.select("entity_id", "text_unit_id").with_columns(
        pl.Series("defined", texts, dtype=pl.String)
    )


def _first_sentence(text: str) -> str:
    """The first sentence of at least four characters, not a Markdown heading, cut to 400."""
    text = text[:_LOOK_AT]
    for start, end in each_sentence(text):
        sentence = text[start:end]
        if len(sentence) >= 4 and not sentence.startswith(("#", "|", "<!--")):
            return sentence[:_MAX_LENGTH]
    return ""
