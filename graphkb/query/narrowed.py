"""Graph rows and community reports under a filter: nothing is told that does not match.

Descriptions and reports are drawn from several documents. A row stays as it is only where all
that it rests on matches the filter; of a report the findings stay for which that holds.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from graphkb.search.snapshot import Snapshot
from graphkb.tables import TABLES

Rows = list[Mapping[str, Any]]


def matching_entities(snapshot: Snapshot, rows: Sequence[Mapping[str, Any]]) -> Rows:
    """Entities that a matching text unit names; a description that rests on others, too, is
    left empty."""
    selection = snapshot.selection
    if selection is None or not rows:
        return list(rows)
    ids = [row["id"] for row in rows]
    mentions = snapshot.store.where("mentions", "entity_id", ids, ("entity_id", "text_unit_id"))
    units = dict(mentions.group_by("entity_id").agg(pl.col("text_unit_id")).iter_rows())
    kept: Rows = []
    for row in rows:
        found = units.get(row["id"], [])
        if selection.holds(found):
            kept.append(row)
        elif not selection.unit_ids.isdisjoint(found):
            kept.append({**row, "description": ""})
    return kept


def matching_relationships(snapshot: Snapshot, rows: Iterable[Mapping[str, Any]]) -> Rows:
    """Relationships that matching text units alone state."""
    selection = snapshot.selection
    return [row for row in rows if selection is None or selection.holds(row["text_unit_ids"])]


def reports_of(
    snapshot: Snapshot, communities: Iterable[int], columns: Sequence[str] | None = None
) -> pl.DataFrame:
    """The reports of some communities, some columns or all; under a filter those with findings
    that rest on matching text units, made of just these."""
    wanted = columns if snapshot.selection is None else None
    found = snapshot.store.where_numbers("community_reports", "community", communities, wanted)
    if snapshot.selection is None:
        return found
    narrowed = [_narrowed(snapshot, row) for row in found.to_dicts()]
    made = pl.DataFrame(
        [row for row in narrowed if row is not None], schema=TABLES["community_reports"].schema
    )
    return made.select(columns or made.columns)


def has_reports(snapshot: Snapshot) -> bool:
    """Whether there are community reports, under a filter such that rest on what matches."""
    if snapshot.selection is None:
        return bool(snapshot.manifest.counts.get("community_reports", 0))
    numbers = snapshot.store.read("community_reports", ("community",))["community"]
    return not reports_of(snapshot, numbers).is_empty()


def _narrowed(snapshot: Snapshot, row: dict[str, Any]) -> dict[str, Any] | None:
    selection = snapshot.selection
    assert selection is not None
    findings = [
        finding
        for finding in json.loads(row["findings"] or "[]")
        if finding.get("text_unit_ids") and selection.holds(finding["text_unit_ids"])
    ]
    if not findings:
        return None
    told = [(str(f.get("summary") or ""), str(f.get("explanation") or "")) for f in findings]
    parts = [f"# {row['title']}", *(f"## {summary}\n\n{text}" for summary, text in told)]
    return {
        **row,
        "summary": " ".join(text or summary for summary, text in told[:2]),
        "full_content": "\n\n".join(parts),
        "findings": json.dumps(findings, ensure_ascii=False),
        "full_content_json": "",
        "rating_explanation": "",
    }
