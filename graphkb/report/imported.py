"""Reports that another tool's model wrote, for the communities of ours that they still fit.

A report fits a community of the same entities, or nearly so, while every document it was written
from is unchanged and no other document speaks of these entities: then nothing has been said that
it does not know.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphkb.extract.imported import covered_units, is_whole
from graphkb.report.offline import report_row
from graphkb.report.wording import sources
from graphkb.tables import TABLES, Table, content_hash
from graphkb.text.names import name_key

_TEXTS = pl.List(pl.String())

IMPORTED_REPORTS: dict[str, Table] = {
    "communities": Table(
        {
            "community": (pl.Int64(), "the other tool's number"),
            "level": (pl.Int64(), "0 is the coarsest"),
            "parent": (pl.Int64(), "community one level up, -1 at level 0"),
            "names": (_TEXTS, "names of its entities, sorted"),
        },
        key=("community",),
    ),
    "reports": Table(
        {
            "community": (pl.Int64(), "the other tool's number"),
            "title": (pl.String(), "what the community is about"),
            "summary": (pl.String(), "with marks for its references"),
            "full_content": (pl.String(), "Markdown, with marks for its references"),
            "rank": (pl.Float64(), "importance, 0 to 10"),
            "rating_explanation": (pl.String(), "why that rank"),
            "findings": (pl.String(), "JSON list of {summary, explanation, passages}"),
            "references": (pl.String(), "JSON list of lists of passages, by number of the mark"),
            "summary_of": (_TEXTS, "hashes of the documents that it was written from, sorted"),
        },
        key=("community",),
    ),
}

# Private-use characters around the number of a reference.
MARK = "\ue000{}\ue001"
_MARK = re.compile(" ?\ue000(\\d+)\ue001")
_SAME_COMMUNITY = 0.9

Frames = Mapping[str, pl.DataFrame]


@dataclass(frozen=True)
class _Unit:
    id: str
    number: int


def imported_reports(
    imported: Frames,
    documents: pl.DataFrame,
    text_units: pl.DataFrame,
    communities: pl.DataFrame,
    entities: pl.DataFrame,
    mentions: pl.DataFrame,
    min_size: int,
) -> pl.DataFrame:
    """The community_reports rows, with method ``llm``, of the communities that a report fits.

    Of several that fit the one with most entities in common is taken, ties by its number.
    ``imported`` holds passages, communities and reports; communities below ``min_size`` get none.
    """
    covered = covered_units(imported, documents, text_units)
    reports = imported["reports"].filter(is_whole(covered))
    theirs = _members(imported["communities"], reports["community"].to_list(), entities)
    units = _units_of(communities, mentions)
    known = set(covered["id"])
    passages = _Passages(imported["passages"], covered)
    rows = {row["community"]: row for row in reports.iter_rows(named=True)}
    records = []
    for community in communities.filter(pl.col("size") >= min_size).iter_rows(named=True):
        inside = units.get(community["community"], set())
        best = _closest(set(community["entity_ids"]), theirs)
        if best is not None and inside <= known:
            content = _content(rows[best], passages, inside)
            digest = content_hash("imported", str(content["full_content_json"]))
            records.append(report_row(community, content, "llm", digest))
    table = TABLES["community_reports"]
    return table.conform(pl.DataFrame(records, schema=table.schema))


def starting_communities(imported: Frames, entities: pl.DataFrame) -> pl.DataFrame:
    """The other tool's hierarchy with our entity ids, as a partition to start from: community,
    level, parent, entity_ids, size."""
    theirs = _members(imported["communities"], None, entities)
    rows = imported["communities"].select("community", "level", "parent").rows()
    members = {n: sorted(i for i in theirs[n] if not i.startswith(_ABSENT)) for n, _, _ in rows}
    return pl.DataFrame(
        [(*row, members[row[0]], len(members[row[0]])) for row in rows if members[row[0]]],
        schema={
            "community": pl.Int64, "level": pl.Int64, "parent": pl.Int64,
            "entity_ids": _TEXTS, "size": pl.Int64,
        },
        orient="row",
    )  # fmt: skip


_ABSENT = "absent "


def _members(
    communities: pl.DataFrame, wanted: list[int] | None, entities: pl.DataFrame
) -> dict[int, set[str]]:
    """Entity ids by community; a name that is no entity of ours stands for itself."""
    ids: dict[str, str] = {}
    for entity_id, title, aliases in entities.select("id", "title", "aliases").iter_rows():
        ids[name_key(title)] = entity_id
        for alias in aliases or ():
            ids.setdefault(name_key(alias), entity_id)
    rows = communities if wanted is None else communities.filter(pl.col("community").is_in(wanted))
    return {
        number: {ids.get(name_key(name), _ABSENT + name) for name in names}
        for number, names in rows.select("community", "names").iter_rows()
    }


def _closest(members: set[str], theirs: Mapping[int, set[str]]) -> int | None:
    """The community with most members in common, if it is nearly the same."""
    best: tuple[float, int] | None = None
    for number, others in sorted(theirs.items()):
        shared = len(members & others)
        overlap = shared / (len(members) + len(others) - shared) if shared else 0.0
        if overlap >= _SAME_COMMUNITY and (best is None or overlap > best[0]):
            best = (overlap, number)
    return best[1] if best else None


def _units_of(communities: pl.DataFrame, mentions: pl.DataFrame) -> dict[int, set[str]]:
    """Text units that mention an entity of each community."""
    pairs = (
        communities.select("community", pl.col("entity_ids").alias("entity_id"))
        .explode("entity_id")
        .join(mentions.select("entity_id", "text_unit_id").unique(), on="entity_id")
        .group_by("community")
        .agg(pl.col("text_unit_id").unique())
    )
    return {number: set(ids) for number, ids in pairs.iter_rows()}


class _Passages:
    """Our text units that hold the passages of the other tool."""

    def __init__(self, passages: pl.DataFrame, covered: pl.DataFrame) -> None:
        self._spans: dict[str, list[tuple[str, int, int]]] = {}
        for passage, *span in passages.iter_rows():
            self._spans.setdefault(passage, []).append((span[0], span[1], span[2]))
        self._units: dict[str, list[tuple[int, int, _Unit]]] = {}
        columns = ("document", "char_start", "char_end", "id", "human_readable_id")
        for document, start, end, unit, number in covered.select(columns).iter_rows():
            self._units.setdefault(document, []).append((start, end, _Unit(unit, number)))

    def units(self, passages: Iterable[str], inside: set[str]) -> list[_Unit]:
        """Units that share most of a passage or lie mostly in it, those in ``inside`` first."""
        found: dict[_Unit, None] = {}
        for passage in passages:
            for document, start, end in self._spans.get(passage, ()):
                for low, high, unit in self._units.get(document, ()):
                    shared = min(end, high) - max(start, low)
                    if 2 * shared >= min(end - start, high - low):
                        found[unit] = None
        return sorted(found, key=lambda unit: unit.id not in inside)


def _content(row: Mapping[str, Any], passages: _Passages, inside: set[str]) -> dict[str, object]:
    references = json.loads(row["references"])

    def referred(text: str) -> str:
        def written(mark: re.Match[str]) -> str:
            units = passages.units(references[int(mark.group(1))], inside)
            return f" {sources([unit.number for unit in units])}" if units else ""

        return _MARK.sub(written, text).strip()

    findings = [
        {
            "summary": referred(finding["summary"]),
            "explanation": referred(finding["explanation"]),
            "text_unit_ids": [u.id for u in passages.units(finding["passages"], inside)],
        }
        for finding in json.loads(row["findings"])
    ]
    summary = referred(row["summary"])
    report = {
        "title": row["title"],
        "summary": summary,
        "findings": findings,
        "rating": row["rank"],
        "rating_explanation": row["rating_explanation"],
    }
    return {
        "title": row["title"],
        "summary": summary,
        "full_content": referred(row["full_content"]) + "\n",
        "rank": row["rank"],
        "rating_explanation": row["rating_explanation"],
        "findings": json.dumps(findings, ensure_ascii=False),
        "full_content_json": json.dumps(report, ensure_ascii=False),
    }
