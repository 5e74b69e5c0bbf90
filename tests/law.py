"""What the change law says of a knowledge base, as assertions over its tables."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import polars as pl

from graphkb.graph.communities import modularity
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest
from graphkb.tables import TABLES

# Equal to those of an index from scratch, but for human_readable_id.
EQUAL = (
    "sources", "documents", "text_units", "code_files", "terms",
    "mention_evidence", "relationship_evidence",
    "claim_evidence", "entity_evidence", "entities", "mentions", "relationships", "covariates",
    "search_texts",
    "merges", "judgements", "descriptions",
)  # fmt: skip
REFERENCES = {
    ("text_units", "document_id"): ("documents", "id"),
    ("search_texts", "id"): ("text_units", "id"),
    ("situations", "text_unit_id"): ("text_units", "id"),
    ("vectors", "id"): ("text_units", "id"),
    ("mention_evidence", "text_unit_id"): ("text_units", "id"),
    ("relationship_evidence", "text_unit_id"): ("text_units", "id"),
    ("claim_evidence", "text_unit_id"): ("text_units", "id"),
    ("entity_evidence", "text_unit_id"): ("text_units", "id"),
    ("extractions", "text_unit_id"): ("text_units", "id"),
    ("mentions", "text_unit_id"): ("text_units", "id"),
    ("mentions", "entity_id"): ("entities", "id"),
    ("relationships", "source_id"): ("entities", "id"),
    ("relationships", "target_id"): ("entities", "id"),
    ("relationships", "source"): ("entities", "title"),
    ("relationships", "target"): ("entities", "title"),
    ("relationships", "text_unit_ids"): ("text_units", "id"),
    ("covariates", "text_unit_id"): ("text_units", "id"),
    ("covariates", "subject_id"): ("entities", "title"),
    ("covariates", "object_id"): ("entities", "title"),
    ("merges", "into"): ("entities", "title"),
    ("nodes", "entity_id"): ("entities", "id"),
    ("nodes", "community"): ("communities", "community"),
    ("communities", "entity_ids"): ("entities", "id"),
    ("communities", "parent"): ("communities", "community"),
    ("communities", "children"): ("communities", "community"),
    ("community_reports", "community"): ("communities", "community"),
    ("community_reports", "parent"): ("communities", "community"),
    ("community_reports", "children"): ("communities", "community"),
}

Tables = dict[str, pl.DataFrame]


def committed(root: Path) -> Tables:
    """Every table at the version the manifest names."""
    manifest = read_manifest(root / "output")
    assert manifest is not None
    store = Store(root / "output", manifest.tables, manifest.folder)
    return {name: store.read(name) for name in TABLES}


def differences(found: Tables, expected: Tables) -> list[str]:
    """Everything in which ``found`` breaks the law, ``expected`` being from scratch."""
    said = []
    for name in EQUAL:
        one, two = (t[name].drop("human_readable_id", strict=False) for t in (found, expected))
        if not one.equals(two):
            gone = two.join(one, on=one.columns, how="anti", nulls_equal=True)
            more = one.join(two, on=one.columns, how="anti", nulls_equal=True)
            said.append(f"{name}: missing {gone.to_dicts()[:2]}, too much {more.to_dicts()[:2]}")
    nodes = found["nodes"].join(expected["nodes"], on="entity_id", how="full", suffix="_new")
    moved = nodes.filter(
        pl.col("degree").ne_missing(pl.col("degree_new"))
        | ((pl.col("rank") - pl.col("rank_new")).abs() > 1e-6)
    )
    if moved.height:
        said.append(f"nodes: {moved.to_dicts()[:3]}")
    relationships = expected["relationships"]
    best = modularity(expected["communities"], relationships)
    kept = modularity(found["communities"], relationships)
    if kept < best - 0.01 * abs(best) - 1e-9:
        said.append(f"communities: modularity {kept:.4f}, from scratch {best:.4f}")
    return said + broken(found)


def broken(tables: Tables) -> list[str]:
    """What is wrong with one knowledge base by itself: numbers, references, the hierarchy."""
    said = []
    for name, frame in tables.items():
        if "human_readable_id" in frame.columns:
            numbers = frame["human_readable_id"]
            if numbers.null_count() or not numbers.is_unique().all():
                said.append(f"{name}: a human_readable_id is missing or given twice")
        if frame.select(TABLES[name].key).is_duplicated().any():
            said.append(f"{name}: a key stands twice")
    for (name, column), (other, key) in REFERENCES.items():
        values = tables[name].select(column).to_series()
        if isinstance(values.dtype, pl.List):
            values = values.explode()
        known = {*tables[other][key].to_list(), None, -1}
        dangling = [value for value in values.to_list() if value not in known]
        if dangling:
            said.append(f"{name}.{column}: {dangling[:3]} are in no {other}.{key}")
    if tables["search_texts"].height != tables["text_units"].height:
        said.append("search_texts: not one row a text unit")
    return said + _hierarchy(tables) + _reports(tables)


def _hierarchy(tables: Tables) -> list[str]:
    """Children partition their parents; every connected entity is in exactly one leaf."""
    said = []
    rows = {row["community"]: row for row in tables["communities"].to_dicts()}
    leaf_of: dict[str, int] = {}
    for number, row in rows.items():
        members = row["entity_ids"]
        inside = [entity for child in row["children"] for entity in rows[child]["entity_ids"]]
        if row["children"] and sorted(inside) != sorted(members):
            said.append(f"community {number}: its children do not partition it")
        if any(rows[child]["parent"] != number for child in row["children"]):
            said.append(f"community {number}: a child names another parent")
        if row["size"] != len(members):
            said.append(f"community {number}: wrong size")
        if not row["children"]:
            if leaf_of.keys() & set(members):
                said.append(f"community {number}: shares members with another leaf")
            leaf_of.update(dict.fromkeys(members, number))
    ends = tables["relationships"].select("source_id", "target_id")
    connected = set(np.unique(ends.to_numpy()).tolist()) if ends.height else set()
    if connected != leaf_of.keys():
        said.append("communities: not every connected entity is in exactly one leaf")
    for entity, community in tables["nodes"].select("entity_id", "community").iter_rows():
        if leaf_of.get(entity, -1) != community:
            said.append(f"nodes: {entity} names {community}, stands in {leaf_of.get(entity)}")
    return said


def _reports(tables: Tables) -> list[str]:
    """What reports refer to exists, and what they quote stands in a text unit."""
    said = []
    unit_ids = set(tables["text_units"]["id"])
    numbers = set(tables["text_units"]["human_readable_id"])
    places = tables["communities"].select("community", "level", "parent", "children", "size")
    reports = tables["community_reports"]
    if reports.select(places.columns).join(places, on=places.columns, how="anti").height:
        said.append("community_reports: a place in the hierarchy is not that of its community")
    for row in reports.to_dicts():
        for finding in json.loads(row["findings"]):
            if not set(finding["text_unit_ids"]) <= unit_ids:
                said.append(f"report {row['community']}: a finding names an unknown text unit")
        for group in re.findall(r"\[Data: Sources \(([^)]*)\)\]", row["full_content"]):
            cited = {int(part) for part in group.split(", ") if part != "+more"}
            if not cited <= numbers:
                said.append(f"report {row['community']}: {cited - numbers} are no text units")
    return said
