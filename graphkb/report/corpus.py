"""The tables as arrays: which entities, relationships and text units each community holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import polars as pl
from numpy.typing import NDArray

Integers = NDArray[np.int64]
Reals = NDArray[np.float64]


@dataclass(frozen=True)
class Grouped:
    """Numbers by number: ``grouped[key]`` is the key's values, in the order they were given."""

    starts: Mapping[int, tuple[int, int]]
    values: list[int]

    @classmethod
    def of(cls, keys: Integers, values: Integers) -> Grouped:
        """Groups of rows that are already sorted by key."""
        if not len(keys):
            return cls({}, [])
        bounds = np.flatnonzero(np.diff(keys, prepend=keys[0] - 1)).tolist()
        ends = [*bounds[1:], len(keys)]
        heads = keys[bounds].tolist()
        return cls(dict(zip(heads, zip(bounds, ends, strict=True), strict=True)), values.tolist())

    def __getitem__(self, key: int) -> list[int]:
        start, end = self.starts.get(key, (0, 0))
        return self.values[start:end]


@dataclass(frozen=True)
class Corpus:
    """What reports are made from. Positions, not ids, stand in the arrays.

    Entities and relationships are sorted by id, text units by document, place and id, so that
    nothing depends on the row order of the tables. ``mass`` is PageRank (degree share without
    it), ``weight`` its square root scaled to integers, so that sums do not depend on order.
    ``labels[level][entity]`` is the community number or -1. ``spans`` keeps the sentences of text
    units, ``quotes`` what can be quoted of the one that begins somewhere in a unit: both are made
    when they are needed.
    """

    entities: pl.DataFrame
    relationships: pl.DataFrame
    units: pl.DataFrame
    communities: pl.DataFrame
    labels: tuple[Integers, ...]
    mass: Reals
    weight: Integers
    source: Integers
    target: Integers
    strength: Reals
    relationship_units: Grouped
    mention_entity: Integers
    mention_unit: Integers
    mention_start: Integers
    members: Grouped
    inner: Grouped
    sources: Grouped
    spans: dict[int, list[tuple[int, int]]] = field(default_factory=dict)
    quotes: dict[tuple[int, int], str] = field(default_factory=dict)

    @cached_property
    def columns(self) -> Columns:
        """What reports are written from, as lists."""
        return Columns(self)


class Columns:
    """Columns of a corpus's tables as lists, without nulls; ``ends`` are those of relationships."""

    def __init__(self, corpus: Corpus) -> None:
        entities, stated, units = corpus.entities, corpus.relationships, corpus.units
        self.titles: list[str] = entities["title"].fill_null("").to_list()
        self.types: list[str] = entities["type"].fill_null("").to_list()
        self.phrases: list[str] = stated["description"].fill_null("").to_list()
        self.ends = list(zip(corpus.source.tolist(), corpus.target.tolist(), strict=True))
        self.strength: list[float] = corpus.strength.tolist()
        self.unit_ids: list[str] = units["id"].to_list()
        self.unit_texts: list[str] = units["text"].fill_null("").to_list()
        self.unit_numbers: list[int] = units["human_readable_id"].fill_null(0).to_list()
        self.languages: list[str] = units["language"].to_list()
        self.kinds: list[str] = units["kind"].to_list()
        self.documents: list[str] = units["document_id"].to_list()


def read_corpus(
    communities: pl.DataFrame,
    entities: pl.DataFrame,
    nodes: pl.DataFrame,
    relationships: pl.DataFrame,
    mentions: pl.DataFrame,
    text_units: pl.DataFrame,
) -> Corpus:
    """The corpus with, by community number: ``members`` most central first, ``inner``
    relationships strongest first, ``sources`` (its text units) in document order.

    An entity is central by PageRank, its neighbours inside the community and their share of all
    its neighbours: a name that all know says little about one community. A relationship
    is strong by weight times the centrality of its ends. Ties go by id.
    """
    entities = _sorted(entities)
    units = text_units.sort("document_id", "index", "id").with_columns(
        pl.col("language").fill_null("und"),
        pl.col("kind").fill_null("prose"),
        pl.col("text").fill_null(""),
    )
    place = _places(entities["id"], "entity")
    unit_place = _places(units["id"], "unit")
    mass = _mass(place, nodes)
    weight = np.rint(1e6 * np.sqrt(mass / max(mass.max(initial=0.0), 1e-300))).astype(np.int64)
    weight = np.maximum(weight, 1)
    rows = (
        relationships.sort("id")
        .join(_renamed(place, "source"), on="source_id", maintain_order="left")
        .join(_renamed(place, "target"), on="target_id", maintain_order="left")
    )
    source, target = rows["source_at"].to_numpy(), rows["target_at"].to_numpy()
    strength = np.nan_to_num(rows["weight"].cast(pl.Float64).fill_null(0.0).to_numpy(), nan=0.0)
    strength = np.clip(strength, 0.0, 1e12) * (weight[source] + weight[target])
    found = _mentions(mentions, place, unit_place)
    labels = _labels(place, communities)
    entity, unit = found["entity_at"].to_numpy(), found["unit_at"].to_numpy()
    return Corpus(
        entities=entities,
        relationships=rows,
        units=units,
        communities=communities.sort("community"),
        labels=labels,
        mass=mass,
        weight=weight,
        source=source,
        target=target,
        strength=strength,
        relationship_units=_relationship_units(rows, unit_place),
        mention_entity=entity,
        mention_unit=unit,
        mention_start=found["char_start"].to_numpy(),
        members=_members(labels, source, target, weight),
        inner=strongest_inside(labels, source, target, [strength] * len(labels)),
        sources=_sources(labels, entity, unit),
    )


class CorpusAhead:
    """A corpus that is read, from the tables that :func:`read_corpus` takes, before entities and
    relationships are described and numbered."""

    def __init__(self, *tables: pl.DataFrame) -> None:
        self._tables = [_undescribed(table) for table in tables]
        self._corpus = read_corpus(*tables)

    def described(self, *tables: pl.DataFrame) -> Corpus | None:
        """The corpus of these tables; None where more than descriptions and numbers is new."""
        both = zip(self._tables, map(_undescribed, tables), strict=True)
        if not all(before.equals(now) for before, now in both):
            return None
        _, entities, _, relationships, _, _ = tables
        places = self._corpus.relationships.select("source_at", "target_at")
        rows = pl.concat([relationships.sort("id"), places], how="horizontal")
        return replace(self._corpus, entities=_sorted(entities), relationships=rows)


def _undescribed(table: pl.DataFrame) -> pl.DataFrame:
    """What stays when entities and relationships are described and numbered."""
    told = {"description", "human_readable_id"}
    return table.drop(told) if told <= set(table.columns) else table


def _sorted(entities: pl.DataFrame) -> pl.DataFrame:
    return entities.sort("id").unique("id", keep="first", maintain_order=True)


def _places(ids: pl.Series, name: str) -> pl.DataFrame:
    return pl.DataFrame(
        {f"{name}_id": ids, f"{name}_at": np.arange(len(ids), dtype=np.int64)},
        schema={f"{name}_id": pl.String(), f"{name}_at": pl.Int64()},
    )


def _mentions(
    mentions: pl.DataFrame, place: pl.DataFrame, unit_place: pl.DataFrame
) -> pl.DataFrame:
    """Distinct mentions by position, in text order."""
    return (
        mentions.select("entity_id", "text_unit_id", "char_start")
        .join(place, on="entity_id")
        .join(unit_place.rename({"unit_id": "text_unit_id"}), on="text_unit_id")
        .select("entity_at", "unit_at", "char_start")
        .unique()
        .sort("unit_at", "char_start", "entity_at")
    )


def _renamed(place: pl.DataFrame, end: str) -> pl.DataFrame:
    return place.rename({"entity_id": f"{end}_id", "entity_at": f"{end}_at"})


def _mass(place: pl.DataFrame, nodes: pl.DataFrame) -> Reals:
    """PageRank of each entity, or its share of the degrees where no PageRank is known."""
    known = nodes.select("entity_id", "degree", "rank").unique("entity_id", keep="any")
    joined = place.join(known, on="entity_id", how="left", maintain_order="left")
    rank: Reals = joined["rank"].cast(pl.Float64).fill_null(0.0).fill_nan(0.0).to_numpy()
    if rank.sum() > 0:
        return rank
    degree: Reals = joined["degree"].cast(pl.Float64).fill_null(0.0).to_numpy()
    return np.asarray(degree / max(float(degree.sum()), 1.0))


def _labels(place: pl.DataFrame, communities: pl.DataFrame) -> tuple[Integers, ...]:
    depth = 1 + max(communities["level"].to_list(), default=-1)
    labels = []
    for level in range(depth):
        members = (
            communities.lazy()
            .filter(pl.col("level") == level)
            .select("community", pl.col("entity_ids").alias("entity_id"))
            .explode("entity_id")
            .unique("entity_id", keep="any")
        )
        found = place.lazy().join(members, on="entity_id", how="left", maintain_order="left")
        joined = found.collect()
        labels.append(joined["community"].fill_null(-1).cast(pl.Int64).to_numpy())
    return tuple(labels)


def _relationship_units(rows: pl.DataFrame, unit_place: pl.DataFrame) -> Grouped:
    at = (
        rows.select(
            pl.int_range(pl.len(), dtype=pl.Int64).alias("at"),
            pl.col("text_unit_ids").alias("unit_id"),
        )
        .explode("unit_id")
        .join(unit_place, on="unit_id")
        .unique(["at", "unit_at"])
        .sort("at", "unit_at")
    )
    return Grouped.of(at["at"].to_numpy(), at["unit_at"].to_numpy())


def _members(
    labels: tuple[Integers, ...], source: Integers, target: Integers, weight: Integers
) -> Grouped:
    keys, values = [_none()], [_none()]
    pairs = np.unique(np.stack([np.minimum(source, target), np.maximum(source, target)]), axis=1)
    pairs = pairs[:, pairs[0] != pairs[1]]
    degree = 1 + np.bincount(pairs.ravel(), minlength=len(weight))
    for label in labels:
        inside = label[pairs[0]] == label[pairs[1]]
        near = 1 + np.bincount(pairs[:, inside].ravel(), minlength=len(weight))
        central = near * weight * (near / degree)
        nodes = np.flatnonzero(label >= 0)
        order = nodes[np.lexsort((nodes, -central[nodes], label[nodes]))]
        keys.append(label[order])
        values.append(order)
    return Grouped.of(*_by_key(keys, values))


def strongest_inside(
    labels: Sequence[Integers], source: Integers, target: Integers, strengths: Sequence[Reals]
) -> Grouped:
    """Relationships inside each community by its number, strongest first, ties by id.

    ``labels`` and ``strengths`` are by level.
    """
    keys, values = [_none()], [_none()]
    order = sorted_by = None
    for label, strength in zip(labels, strengths, strict=True):
        if order is None or strength is not sorted_by:
            order, sorted_by = np.lexsort((np.arange(len(strength)), -strength)), strength
        inside = (label[source] == label[target]) & (label[source] >= 0) & (source != target)
        strongest = order[inside[order]]
        keys.append(label[source[strongest]])
        values.append(strongest)
    return Grouped.of(*_by_key(keys, values))


def _sources(labels: tuple[Integers, ...], entity: Integers, unit: Integers) -> Grouped:
    keys, values = [_none()], [_none()]
    width = int(unit.max(initial=0)) + 1
    for label in labels:
        held = label[entity] >= 0
        both = np.unique(label[entity[held]] * width + unit[held])
        keys.append(both // width)
        values.append(both % width)
    return Grouped.of(*_by_key(keys, values))


def _none() -> Integers:
    return np.zeros(0, dtype=np.int64)


def _by_key(keys: list[Integers], values: list[Integers]) -> tuple[Integers, Integers]:
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.argsort(key, kind="stable")
    return key[order], value[order]
