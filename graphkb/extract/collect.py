"""Descriptions of entities and relationships from what a model said of them unit by unit."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import polars as pl

from graphkb.extract.statements import (
    Statement,
    distinct_statements,
    join_statements,
    select_statements,
    sentences_of,
)
from graphkb.text.encoding import prepare_for
from graphkb.text.tokens import are_within


@dataclass(frozen=True)
class Collected:
    """All that is said of one thing, too much for one description: distinct statements in the
    order of their text units."""

    title: str
    statements: tuple[Statement, ...]


Shorten = Callable[[Sequence[Collected], int], Sequence[str]]
"""Gives each a description of about so many tokens."""


def select_descriptions(collected: Sequence[Collected], max_tokens: int) -> list[str]:
    """The sentences that cover most of the facts: a :data:`Shorten` without a model."""
    several = [distinct_statements(sentences_of(one.statements)) for one in collected]
    prepare_for(sentence.text for sentences in several for sentence in sentences)
    chosen = [select_statements(sentences, max_tokens) for sentences in several]
    return [join_statements([sentence.text for sentence in said]) for said in chosen]


def describe_by_evidence(
    entities: pl.DataFrame,
    relationships: pl.DataFrame,
    said: pl.DataFrame,
    related: pl.DataFrame,
    defined: pl.DataFrame,
    mention_evidence: pl.DataFrame,
    max_tokens: int,
    shorten: Shorten,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Entities and relationships with the descriptions that a model's statements give them.

    ``said`` is entity_evidence with entity_id, ``related`` relationship_evidence with source_id
    and target_id, ``defined`` the defining sentences. A description is the distinct statements
    in the order of their text units, joined; ``shorten`` gets those above ``max_tokens``. An
    entity that a unit defines without a statement has that sentence among them. Without any
    statement a description stays as it is.
    """
    own = pl.concat(
        [
            entities.select("id", own=pl.concat_list("title", "aliases")),
            relationships.select("id", own=pl.concat_list("source", "target")),
        ]
    )
    titles = {
        **dict(entities.select("id", "title").iter_rows()),
        **dict(
            relationships.select(
                "id", pl.concat_str("source", "target", separator=" → ")
            ).iter_rows()
        ),
    }
    statements = pl.concat(
        [
            _of_entities(said, defined),
            _of_relationships(related, relationships, said["text_unit_id"]),
        ]
    )
    texts = _described(statements, titles, own, mention_evidence, max_tokens, shorten)
    new = pl.DataFrame(
        {"id": list(texts), "said": list(texts.values())},
        schema={"id": pl.String, "said": pl.String},
    )

    def with_texts(frame: pl.DataFrame) -> pl.DataFrame:
        joined = frame.join(new, on="id", how="left", maintain_order="left")
        return joined.with_columns(description=pl.coalesce("said", "description")).drop("said")

    return with_texts(entities), with_texts(relationships)


def _of_entities(said: pl.DataFrame, defined: pl.DataFrame) -> pl.DataFrame:
    """id, text_unit_id, statement: the model's, and a definition where the model said nothing."""
    told = said.filter(pl.col("description").str.strip_chars() != "").select(
        pl.col("entity_id").alias("id"), "text_unit_id", statement="description"
    )
    defining = (
        defined.filter(pl.col("defined") != "")
        .select(pl.col("entity_id").alias("id"), "text_unit_id", statement="defined")
        .join(told, on="id", how="semi")
        .join(told, on=["id", "text_unit_id"], how="anti")
    )
    return pl.concat([told, defining])


def _of_relationships(
    related: pl.DataFrame, relationships: pl.DataFrame, told_units: pl.Series
) -> pl.DataFrame:
    """id, text_unit_id, statement of the units that a model has read."""
    keys = ["source_id", "target_id", "type", "directed"]
    return (
        related.filter(pl.col("description").str.strip_chars() != "")
        .join(told_units.unique().to_frame(), on="text_unit_id", how="semi")
        .join(relationships.select("id", *keys), on=keys)
        .select("id", "text_unit_id", statement="description")
    )


def _described(
    statements: pl.DataFrame,
    titles: Mapping[str, str],
    own: pl.DataFrame,
    mention_evidence: pl.DataFrame,
    max_tokens: int,
    shorten: Shorten,
) -> dict[str, str]:
    """Id to description."""
    grouped = (
        statements.with_columns(pl.col("statement").str.replace_all(r"\s+", " ").str.strip_chars())
        .sort("id", "text_unit_id", "statement")
        .group_by("id", maintain_order=True)
        .agg("statement", "text_unit_id")
    )
    # Most things have one statement that is short enough, and need no look at.
    simple = (pl.col("statement").list.len() == 1) & (
        pl.col("statement").list.first().str.len_bytes() <= max_tokens
    )
    texts: dict[str, str] = dict(
        grouped.filter(simple).select("id", pl.col("statement").list.first()).iter_rows()
    )
    several: dict[str, list[Statement]] = {}
    for owner, said in grouped.filter(~simple).select("id", "statement").iter_rows():
        distinct = distinct_statements([Statement(text) for text in said])
        texts[owner] = join_statements([statement.text for statement in distinct])
        # Hardly a token is shorter than two bytes: only longer texts need counting.
        if len(texts[owner].encode()) > 2 * max_tokens:
            several[owner] = distinct
    short = are_within([texts[owner] for owner in several], max_tokens)
    long = {
        owner: distinct
        for (owner, distinct), fits in zip(several.items(), short, strict=True)
        if not fits
    }
    if long:
        named = _named(grouped.filter(pl.col("id").is_in(list(long))), own, mention_evidence)
        collected = [
            Collected(titles[owner], tuple(named.get((owner, s.text), s) for s in said))
            for owner, said in long.items()
        ]
        texts.update(zip(long, shorten(collected, max_tokens), strict=True))
    return texts


def _named(
    grouped: pl.DataFrame, own: pl.DataFrame, mention_evidence: pl.DataFrame
) -> dict[tuple[str, str], Statement]:
    """(id, text) to the statement with the names of its text unit that stand in it, but for
    those of the thing itself."""
    found = (
        grouped.explode("statement", "text_unit_id")
        .unique(["id", "statement"], keep="first", maintain_order=True)
        .join(mention_evidence.select("text_unit_id", "name").unique(), on="text_unit_id")
        .join(own, on="id")
        .filter(
            ~pl.col("name").is_in(pl.col("own"))
            & pl.col("statement").str.contains(pl.col("name"), literal=True)
        )
        .group_by("id", "statement")
        .agg("name")
    )
    return {
        (owner, text): Statement(text, frozenset(names)) for owner, text, names in found.iter_rows()
    }
