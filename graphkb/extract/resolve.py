"""Which names mean the same entity: evidence of all units to entities and what hangs on them.

Names of an equal :func:`graphkb.text.names.name_key` (width, case, punctuation, accents, script)
are one entity: ids are made of keys, so namesakes that are written alike stay one. Which keys are
joined beyond that is decided in order, each join recorded in ``merges``: by the user
(:mod:`graphkb.extract.join`); a second name that the texts give to one entity only; an honorific
before or after a known person's name; a legal form after a known organisation's name; a model's
judgement, where one is asked (:mod:`graphkb.extract.compare`). A second name that the texts give
to several entities, or that is a title by itself, joins none of them by rule: they keep it as an
alias.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from graphkb.extract.collect import Shorten, describe_by_evidence, select_descriptions
from graphkb.extract.compare import Judged, join_judged, spellings
from graphkb.extract.describe import defining_sentences, describe_entities
from graphkb.extract.join import (
    Decided,
    NameSets,
    join_by_rules,
    read_decisions,
    with_new_titles,
)
from graphkb.extract.ordinary import cut_short, ordinary_names
from graphkb.extract.relate import covariates_of, related_entities, relationships_of
from graphkb.tables import TABLES, content_hash
from graphkb.text.names import name_key


@dataclass(frozen=True)
class Resolution:
    """Entities and everything that refers to them, in table order, sorted by key.

    ``merges`` is the table of joins. ``dropped`` counts what was left out and why.
    """

    entities: pl.DataFrame
    mentions: pl.DataFrame
    relationships: pl.DataFrame
    covariates: pl.DataFrame
    merges: pl.DataFrame
    dropped: dict[str, int]


def resolve_entities(
    mention_evidence: pl.DataFrame,
    relationship_evidence: pl.DataFrame,
    claim_evidence: pl.DataFrame,
    text_units: pl.DataFrame,
    *,
    entity_evidence: pl.DataFrame | None = None,
    decisions: pl.DataFrame | None = None,
    exact: pl.Series | None = None,
    judged: Judged | None = None,
    shorten: Shorten = select_descriptions,
    max_tokens: int = 300,
    on_graph: Callable[[pl.DataFrame, pl.DataFrame, pl.DataFrame], None] = lambda *graph: None,
) -> Resolution:
    """Join evidence by entity. Independent of row order; ids are hashes of the entity's name key.

    ``entity_evidence`` is what a model said of names, ``decisions`` what the user said.
    Names in ``exact``, those of code, that are written differently are different entities.
    ``judged`` gives verdicts on likely pairs; without it only rules join. ``shorten`` makes
    collected descriptions of more than ``max_tokens`` shorter. ``on_graph`` is told entities,
    relationships and mentions before: but for descriptions they are what is returned.
    ``human_readable_id`` is null: numbers are given by the store and kept.
    """
    said = TABLES["entity_evidence"].empty() if entity_evidence is None else entity_evidence
    exact = pl.Series("name", dtype=pl.String) if exact is None else exact
    decided = Decided() if decisions is None else read_decisions(decisions)
    ordinary = ordinary_names(mention_evidence, text_units)
    whole = cut_short(mention_evidence, text_units)
    mention_evidence = mention_evidence.filter(~pl.col("name").is_in(ordinary)).with_columns(
        pl.col("name", "alias_of").replace(whole)
    )
    relationship_evidence = relationship_evidence.filter(
        ~pl.col("source").is_in(ordinary) & ~pl.col("target").is_in(ordinary)
    ).with_columns(pl.col("source", "target").replace(whole))
    claim_evidence = (
        claim_evidence.filter(~pl.col("subject").is_in(ordinary))
        .with_columns(object=pl.when(~pl.col("object").is_in(ordinary)).then("object"))
        .with_columns(pl.col("subject", "object").replace(whole))
    )
    said = said.filter(~pl.col("name").is_in(ordinary)).with_columns(pl.col("name").replace(whole))
    names = _kept_apart(_names(mention_evidence, relationship_evidence, claim_evidence), exact)
    names = with_new_titles(names, decided)
    key_of = dict(names.select("name", "key").iter_rows())
    sets = join_by_rules(key_of, mention_evidence, decided)
    names = _with_roots(names, sets)
    if judged is not None:
        is_prose = _is_of_prose(mention_evidence, exact)
        typed = _with_types(names, mention_evidence).filter(is_prose)
        in_prose = mention_evidence.filter(is_prose)
        join_judged(sets, typed, in_prose, said, text_units, decided, judged)
        names = _with_roots(names, sets)
    unique = names["root"].unique().sort().to_list()
    ids = [content_hash("entity", key) for key in unique]
    names = names.with_columns(entity_id=pl.col("root").replace_strict(unique, ids))
    lookup = names.select("name", "entity_id")
    mentions = _mentions(mention_evidence, lookup)
    entities = _entities(names, mention_evidence, mentions, decided)
    related, loops = related_entities(relationship_evidence, lookup)
    relationships = relationships_of(related, entities)
    defined = defining_sentences(mentions, text_units)
    entities = describe_entities(entities, defined, relationships)
    on_graph(entities, relationships, mentions)
    if said.height:
        entities, relationships = describe_by_evidence(
            entities, relationships, said.join(lookup, on="name"), related, defined,
            mention_evidence, max_tokens, shorten,
        )  # fmt: skip
    covariates = covariates_of(claim_evidence, lookup, entities)
    return Resolution(
        TABLES["entities"].conform(entities),
        TABLES["mentions"].conform(mentions),
        TABLES["relationships"].conform(relationships),
        TABLES["covariates"].conform(covariates),
        _merges(sets, names, mention_evidence, entities),
        {"self_relationships": loops, "ordinary_words": len(ordinary)},
    )


def _names(
    mentions: pl.DataFrame, relationships: pl.DataFrame, claims: pl.DataFrame
) -> pl.DataFrame:
    """Every distinct name with its key, sorted by name."""
    columns = [
        mentions["name"],
        mentions["alias_of"],
        relationships["source"],
        relationships["target"],
        claims["subject"],
        claims["object"],
    ]
    names = pl.concat([column.cast(pl.String).rename("name") for column in columns])
    frame = names.drop_nulls().unique().sort().to_frame()
    return frame.with_columns(
        pl.Series("key", [name_key(name) for name in frame["name"].to_list()], dtype=pl.String)
    )


def _kept_apart(names: pl.DataFrame, exact: pl.Series) -> pl.DataFrame:
    """``names``, with the name itself as key where several of ``exact`` would have the same."""
    if exact.is_empty():
        return names
    is_exact = pl.col("name").is_in(exact.implode())
    several = is_exact & (is_exact.sum().over("key") > 1)
    return names.with_columns(key=pl.when(several).then("name").otherwise("key"))


def _is_of_prose(mentions: pl.DataFrame, exact: pl.Series) -> pl.Expr:
    """Whether a name is neither one of ``exact`` nor a second name of one: those are not judged."""
    second = mentions.filter(pl.col("alias_of").is_in(exact.implode()))["name"]
    return ~pl.col("name").is_in(pl.concat([exact, second]).implode())


def _with_roots(names: pl.DataFrame, sets: NameSets) -> pl.DataFrame:
    """``names`` with ``root``, the key that stands for its set."""
    roots = sets.roots(names["key"].unique().to_list())
    return names.with_columns(root=pl.col("key").replace(roots))


def _with_types(names: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """``names`` with the type of their set."""
    types = _types(names.with_columns(entity_id="root"), evidence)
    return names.join(types.rename({"entity_id": "root"}), on="root", how="left").with_columns(
        pl.col("type").fill_null("TERM")
    )


def _merges(
    sets: NameSets, names: pl.DataFrame, evidence: pl.DataFrame, entities: pl.DataFrame
) -> pl.DataFrame:
    """The record of every join: a name, the title of its entity, the rule, its evidence."""
    if not sets.records:
        return TABLES["merges"].empty()
    spelled = spellings(names, evidence)
    titles = dict(entities.select("id", "title").iter_rows())
    title_of = {key: titles[i] for key, i in names.select("key", "entity_id").iter_rows()}
    rows = []
    for key, into, rule, count in sets.records:
        if key in title_of and into in title_of:
            title = title_of[key]
            name = spelled[into] if name_key(title) == key else spelled[key]
            rows.append((name, title, rule, count))
    frame = TABLES["merges"].of_rows(rows)
    grouped = frame.group_by("name", "into", "rule").agg(pl.col("evidence").sum())
    return TABLES["merges"].conform(grouped)


def _mentions(evidence: pl.DataFrame, lookup: pl.DataFrame) -> pl.DataFrame:
    return (
        evidence.join(lookup, on="name", how="inner")
        .select("entity_id", "text_unit_id", "char_start", "char_end", "surface")
        .sort("entity_id", "text_unit_id", "char_start", "char_end", "surface")
        .unique(
            ["entity_id", "text_unit_id", "char_start", "char_end"],
            keep="first",
            maintain_order=True,
        )
    )


def _entities(
    names: pl.DataFrame, evidence: pl.DataFrame, mentions: pl.DataFrame, decided: Decided
) -> pl.DataFrame:
    """id, title, type, aliases, frequency. The title is what the user wants, else heads a
    document, else is no second name, else is the commonest spelling."""
    heads = (pl.col("char_start") < 0) & pl.col("alias_of").is_null()
    counts = evidence.group_by("name").agg(pl.len().alias("count"), heads.any().alias("heads"))
    spelled = names.join(counts, on="name", how="left").with_columns(
        pl.col("count").fill_null(0), pl.col("heads").fill_null(value=False)
    )
    order = spelled.sort(
        ["entity_id", "wish", "heads", pl.col("key") == pl.col("root"), "count", "name"],
        descending=[False, True, True, True, True, False],
    )
    entities = order.group_by("entity_id", maintain_order=True).agg(
        pl.col("name").first().alias("title"), pl.col("name").alias("spellings")
    )
    ambiguous = _ambiguous_aliases(evidence, names, decided)
    entities = entities.join(ambiguous, on="entity_id", how="left").with_columns(
        aliases=pl.col("spellings")
        .list.set_union(pl.col("shared").fill_null(pl.lit([], dtype=pl.List(pl.String))))
        .list.set_difference(pl.concat_list("title"))
        .list.sort()
    )
    types = _types(names, evidence)
    frequency = mentions.group_by("entity_id").agg(
        pl.col("text_unit_id").n_unique().alias("frequency")
    )
    return (
        entities.join(types, on="entity_id", how="left")
        .join(frequency, on="entity_id", how="left")
        .with_columns(
            pl.col("frequency").fill_null(0),
            pl.col("type").fill_null("TERM"),
            human_readable_id=pl.lit(None, dtype=pl.Int64),
        )
        .rename({"entity_id": "id"})
    )


def _ambiguous_aliases(
    evidence: pl.DataFrame, names: pl.DataFrame, decided: Decided
) -> pl.DataFrame:
    """Second names by the entity they were given to: entity_id, shared."""
    given = evidence.filter(pl.col("alias_of").is_not_null()).select("name", "alias_of").unique()
    if decided.apart or decided.alone:
        apart = [
            decided.keeps_apart(name_key(name), name_key(full)) for name, full in given.iter_rows()
        ]
        given = given.filter(~pl.Series(apart, dtype=pl.Boolean))
    lookup = names.select(pl.col("name").alias("alias_of"), "entity_id")
    return (
        given.join(lookup, on="alias_of", how="inner")
        .group_by("entity_id")
        .agg(pl.col("name").unique().sort().alias("shared"))
    )


def _types(names: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """The type seen most often for each entity, ``TERM`` and ``DOCUMENT`` only without another.

    Between those two the commoner one, and ``DOCUMENT`` when they are equal. ``UNKNOWN``, which
    an end of a relationship may have, gives way to every other.
    """
    counted = (
        evidence.join(names.select("name", "entity_id"), on="name", how="inner")
        .group_by("entity_id", "type")
        .agg(pl.len().alias("count"))
        .with_columns(
            plain=pl.col("type").is_in(["TERM", "DOCUMENT"]),
            code=pl.col("type") == "CODE",
            unknown=pl.col("type") == "UNKNOWN",
        )
    )
    return (
        counted.sort(
            ["entity_id", "unknown", "plain", "code", "count", "type"],
            descending=[False, False, False, False, True, False],
        )
        .group_by("entity_id", maintain_order=True)
        .agg(pl.col("type").first())
    )
