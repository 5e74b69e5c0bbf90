"""Which names mean the same entity: evidence of all units to entities and what hangs on them.

Rules, each recorded in ``merges``: equal :func:`graphkb.text.names.name_key` (width, case,
punctuation, accents, script); a second name that the texts give to one entity only; an honorific
before or after a known person's name; a legal form after a known organisation's name. A second
name that the texts give to several entities, or that is a title by itself, joins none of them:
they keep it as an alias.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from graphkb.extract.describe import describe_entities
from graphkb.extract.ordinary import cut_short, ordinary_names
from graphkb.settings import Extract
from graphkb.tables import TABLES, content_hash
from graphkb.text.names import name_key

_SMALL = 1e-6
_HONORIFIC = re.compile(
    r"\A(?:mr|mrs|ms|dr|prof|professor|sir|president|minister|general|captain|king|queen|prince|"
    r"princess|emperor|empress|pope|lord|lady|saint|st|bishop|archbishop|cardinal|senator|"
    r"governor|judge|justice|colonel|lieutenant|major|admiral) (?=\w+ \w)"
    r"|(?:先生|女士|教授|博士|院士|老师|主席|总统|总理|部长|主任|书记|董事长|总经理|同志)\Z"
)
_LEGAL_FORM = re.compile(
    r" (?:inc|corp|corporation|ltd|llc|plc|gmbh|co|co ltd)\Z|(?:股份)?有限(?:责任)?公司\Z"
)

_MERGES = {
    "name": pl.String(),
    "into": pl.String(),
    "rule": pl.String(),
    "evidence": pl.Int64(),
}


@dataclass(frozen=True)
class Resolution:
    """Entities and everything that refers to them, in table order, sorted by key.

    ``merges`` has one row a name that was joined to another one: name, into, rule, evidence
    (rows that say so). ``dropped`` counts what was left out and why.
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
    options: Extract,
) -> Resolution:
    """Join evidence by entity. Independent of row order; ids are hashes of the entity's name key.

    ``human_readable_id`` is null: numbers are given by the store and kept.
    """
    del options
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
    names = _names(mention_evidence, relationship_evidence, claim_evidence)
    roots, merges = _merge(names, mention_evidence)
    names = names.with_columns(root=pl.col("key").replace(roots))
    unique = names["root"].unique().sort().to_list()
    ids = [content_hash("entity", key) for key in unique]
    names = names.with_columns(entity_id=pl.col("root").replace_strict(unique, ids))
    lookup = names.select("name", "entity_id")
    mentions = _mentions(mention_evidence, lookup)
    entities = _entities(names, mention_evidence, mentions)
    relationships, loops = _relationships(relationship_evidence, lookup, entities)
    entities = describe_entities(entities, mentions, relationships, text_units)
    covariates = _covariates(claim_evidence, lookup, entities)
    return Resolution(
        TABLES["entities"].conform(entities),
        TABLES["mentions"].conform(mentions),
        TABLES["relationships"].conform(relationships),
        TABLES["covariates"].conform(covariates),
        merges,
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


def _merge(names: pl.DataFrame, mentions: pl.DataFrame) -> tuple[dict[str, str], pl.DataFrame]:
    """Key to the key it is joined to (only keys that are joined), and the record of it."""
    key_of = dict(names.iter_rows())
    keys = set(names["key"].to_list())
    targets: dict[str, dict[str, int]] = {}
    pairs = mentions.filter(pl.col("alias_of").is_not_null()).group_by("name", "alias_of").len()
    for name, full, count in pairs.sort("name", "alias_of").iter_rows():
        short, long = key_of[name], key_of[full]
        if short != long:
            counts = targets.setdefault(short, {})
            counts[long] = counts.get(long, 0) + count
    parent: dict[str, str] = {}
    records: list[tuple[str, str, str, int]] = []

    def root(key: str) -> str:
        while key in parent:
            key = parent[key]
        return key

    for short in sorted(targets.keys() - _headed(mentions, key_of)):
        roots = {root(long) for long in targets[short]} - {root(short)}
        if len(roots) == 1:
            into = roots.pop()
            parent[root(short)] = into
            records.append((short, into, "alias", sum(targets[short].values())))
    for rule, pattern in (("honorific", _HONORIFIC), ("legal form", _LEGAL_FORM)):
        for key in sorted(keys):
            plain = pattern.sub("", key).strip()
            long_enough = len(plain) >= 4 or rule == "honorific"  # 山东有限公司 is not 山东
            if plain != key and long_enough and plain in keys and root(plain) != root(key):
                parent[root(key)] = root(plain)
                records.append((key, root(plain), rule, 1))
    joined = {key: root(key) for key in sorted(keys) if key in parent}
    return joined, pl.DataFrame(records, schema=_MERGES, orient="row").sort("name", "into")


def _headed(mentions: pl.DataFrame, key_of: dict[str, str]) -> set[str]:
    """Keys that stand above a unit as a name of their own: a document about casinos is not the
    one about the film Casino."""
    heads = mentions.filter((pl.col("char_start") < 0) & pl.col("alias_of").is_null())
    return {key_of[name] for name in heads["name"].unique().to_list()}


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


def _entities(names: pl.DataFrame, evidence: pl.DataFrame, mentions: pl.DataFrame) -> pl.DataFrame:
    """id, title, type, aliases, frequency. The title heads a document, else is no second name,
    else is the commonest spelling."""
    heads = (pl.col("char_start") < 0) & pl.col("alias_of").is_null()
    counts = evidence.group_by("name").agg(pl.len().alias("count"), heads.any().alias("heads"))
    spelled = names.join(counts, on="name", how="left").with_columns(
        pl.col("count").fill_null(0), pl.col("heads").fill_null(value=False)
    )
    order = spelled.sort(
        ["entity_id", "heads", pl.col("key") == pl.col("root"), "count", "name"],
        descending=[False, True, True, True, False],
    )
    entities = order.group_by("entity_id", maintain_order=True).agg(
        pl.col("name").first().alias("title"), pl.col("name").alias("spellings")
    )
    ambiguous = _ambiguous_aliases(evidence, names)
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


def _ambiguous_aliases(evidence: pl.DataFrame, names: pl.DataFrame) -> pl.DataFrame:
    """Second names by the entity they were given to: entity_id, shared."""
    lookup = names.select(pl.col("name").alias("alias_of"), "entity_id")
    return (
        evidence.filter(pl.col("alias_of").is_not_null())
        .join(lookup, on="alias_of", how="inner")
        .group_by("entity_id")
        .agg(pl.col("name").unique().sort().alias("shared"))
    )


def _types(names: pl.DataFrame, evidence: pl.DataFrame) -> pl.DataFrame:
    """The type seen most often for each entity, ``TERM`` and ``DOCUMENT`` only without another.

    Between those two the commoner one, and ``DOCUMENT`` when they are equal.
    """
    counted = (
        evidence.join(names.select("name", "entity_id"), on="name", how="inner")
        .group_by("entity_id", "type")
        .agg(pl.len().alias("count"))
        .with_columns(
            plain=pl.col("type").is_in(["TERM", "DOCUMENT"]),
            code=pl.col("type") == "CODE",
        )
    )
    return (
        counted.sort(
            ["entity_id", "plain", "code", "count", "type"],
            descending=[False, False, False, True, False],
        )
        .group_by("entity_id", maintain_order=True)
        .agg(pl.col("type").first())
    )


def _relationships(
    evidence: pl.DataFrame, lookup: pl.DataFrame, entities: pl.DataFrame
) -> tuple[pl.DataFrame, int]:
    """Relationships by (source, target, type, directed), and how many self-loops were dropped.

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
    key = ["source_id", "target_id", "type", "directed"]
    grouped = (
        joined.filter(pl.col("source_id") != pl.col("target_id"))
        .with_columns(**ends)
        .sort(
            [*key, "weight", "text_unit_id", "char_start", "description"],
            descending=[False] * 4 + [True] + [False] * 3,
        )
        .group_by(key, maintain_order=True)
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
    ), loops


def _covariates(
    evidence: pl.DataFrame, lookup: pl.DataFrame, entities: pl.DataFrame
) -> pl.DataFrame:
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
