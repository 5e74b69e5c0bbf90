"""Names that all the evidence together shows to be none, or to be a piece of a longer one."""

from __future__ import annotations

import polars as pl

from graphkb.extract.context import title_names

_LOWER = r"(?:^|[\s(|])[a-z][a-z]{2,}[\w\-]*"
_NAME = r"^[A-Z][A-Za-z]*[a-z][A-Za-z]*(?:-[a-z]+)?$"
_CAPITALS = r"^[A-Z]{5,}$"


def ordinary_names(mentions: pl.DataFrame, text_units: pl.DataFrame) -> list[str]:
    """Single Latin words seen more often without a capital in the corpus than as a name, sorted.

    ``Price`` and ``Timeline`` are such where the texts write price and timeline; what a document
    is named after and what the evidence gives a type or a full name never is.
    """
    evidence = mentions.filter(
        pl.col("name").str.contains(_NAME) | pl.col("name").str.contains(_CAPITALS)
    )
    counted = (
        evidence.group_by("name")
        .agg(
            (pl.col("char_start") >= 0).sum().alias("count"),
            ((pl.col("type") == "TERM") & pl.col("alias_of").is_null()).all().alias("plain"),
        )
        .filter("plain")
        .with_columns(lower=pl.col("name").str.to_lowercase())
    )
    if not counted.height:
        return []
    words = (
        text_units.select(pl.col("text").str.extract_all(_LOWER).alias("lower"))
        .explode("lower")
        .drop_nulls()
        .with_columns(pl.col("lower").str.strip_chars_start(" \n\t\r(|"))
        .group_by("lower")
        .agg(pl.len().alias("times"))
    )
    titles = {
        name
        for context in text_units["context"].drop_nulls().unique().to_list()
        for name in title_names(context)
    }
    found = counted.join(words, on="lower", how="inner").filter(pl.col("times") >= pl.col("count"))
    full = set(mentions["alias_of"].drop_nulls().to_list())
    return sorted(set(found["name"].to_list()) - titles - full)


def cut_short(mentions: pl.DataFrame, text_units: pl.DataFrame) -> dict[str, str]:
    """Chinese persons' names of two characters to the name of three that they are cut from.

    郑望 is 郑望舒 where its units write nothing but 郑望舒; a namesake that stands alone anywhere
    keeps its name.
    """
    persons = mentions.filter(
        (pl.col("type") == "PERSON") & pl.col("name").str.contains(r"^\p{Han}{2,3}$")
    )
    names = sorted(set(persons["name"].to_list()))
    longer: dict[str, list[str]] = {}
    for name in names:
        if len(name) == 3:
            longer.setdefault(name[:2], []).append(name)
    candidates = [name for name in names if len(name) == 2 and len(longer.get(name, ())) == 1]
    if not candidates:
        return {}
    places = (
        persons.filter(pl.col("name").is_in(candidates))
        .select("name", pl.col("text_unit_id").alias("id"))
        .unique()
        .join(text_units.select("id", "text"), on="id")
    )
    alone: set[str] = set()
    for name, text in places.select("name", "text").iter_rows():
        if text.count(name) != text.count(longer[name][0]):
            alone.add(name)
    return {name: longer[name][0] for name in candidates if name not in alone}
