"""GraphRAG's communities and reports, with references to text that do not depend on its numbers.

``[Data: Entities (5, 7); Relationships (23)]`` points to rows of GraphRAG's tables; here it
becomes the text units that these rows were found in.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from graphkb.importing.evidence import Evidence
from graphkb.importing.graphrag import GraphRag
from graphkb.report.imported import IMPORTED_REPORTS, MARK

_REFERENCE = re.compile(r"\s*\[\s*(?:Data|数据)\s*[:：]([^\]]*)\]", re.IGNORECASE)
_PART = re.compile(r"([^\d();；,，（）]+?)\s*[(（]([^)）]*)[)）]")
_NUMBER = re.compile(r"\d+")
# What models call the tables, by the first letters in lower case. The most exact comes first.
_SECTIONS = (
    ("sources", ("source", "text", "来源", "文本")),
    ("relationships", ("relation", "edge", "关系")),
    ("covariates", ("claim", "covariate", "声明", "主张", "断言")),
    ("entities", ("entit", "node", "实体")),
)
_MOST = 10
_NEAR = 3


def make_reports(graph: GraphRag, evidence: Evidence) -> dict[str, pl.DataFrame]:
    """The frames of :data:`graphkb.report.imported.IMPORTED_REPORTS`."""
    titles = dict(graph.entities.select("id", "title").iter_rows())
    members = {
        number: [titles[entity] for entity in ids if entity in titles]
        for number, ids in graph.communities.select("community", "entity_ids").iter_rows()
    }
    communities = graph.communities.with_columns(
        pl.Series(
            "names",
            [
                sorted({evidence.names[title] for title in found if title in evidence.names})
                for found in members.values()
            ],
            dtype=pl.List(pl.String),
        )
    )
    writer = _Writer(graph, evidence)
    rows = [
        writer.row(row, members[row["community"]])
        for row in graph.community_reports.unique("community", keep="first", maintain_order=True)
        .iter_rows(named=True)
        if row["community"] in members
    ]  # fmt: skip
    table = IMPORTED_REPORTS["reports"]
    return {
        "communities": IMPORTED_REPORTS["communities"].conform(communities),
        "reports": table.conform(pl.DataFrame(rows, schema=table.schema)),
    }


class _Writer:
    def __init__(self, graph: GraphRag, evidence: Evidence) -> None:
        self._rows = {
            "sources": _by_number(graph.text_units.with_columns(pl.concat_list("id").alias("of"))),
            "relationships": _by_number(graph.relationships.rename({"text_unit_ids": "of"})),
            "covariates": _by_number(
                graph.covariates.with_columns(pl.concat_list("text_unit_id").alias("of"))
            ),
            "entities": _by_number(graph.entities.rename({"text_unit_ids": "of"})),
        }
        self._units = dict(graph.entities.select("title", "text_unit_ids").iter_rows())
        self._documents: dict[str, list[str]] = dict(
            evidence.frames["passages"].group_by("passage").agg("document").iter_rows()
        )

    def row(self, row: Mapping[str, Any], members: list[str]) -> dict[str, object]:
        """One report; ``members`` are the titles of its community's entities."""
        references: list[list[str]] = []
        findings = []
        for summary, explanation in _findings(row["findings"]):
            first = len(references)
            marked = [self._marked(text, references) for text in (summary, explanation)]
            cited = list(dict.fromkeys(unit for of in references[first:] for unit in of))
            passages = cited or self._near(f"{summary}\n{explanation}", members)
            findings.append({"summary": marked[0], "explanation": marked[1], "passages": passages})
        title = _REFERENCE.sub("", row["title"]).strip()
        summary = self._marked(row["summary"], references)
        full = self._marked(row["full_content"] or "", references) or _markdown(
            title, summary, findings
        )
        units = {unit for member in members for unit in self._units[member]}
        return {
            "community": row["community"],
            "title": title,
            "summary": summary,
            "full_content": full,
            "rank": min(max(row["rank"] or 0.0, 0.0), 10.0),
            "rating_explanation": (row["rating_explanation"] or "").strip(),
            "findings": json.dumps(findings, ensure_ascii=False),
            "references": json.dumps(references),
            "summary_of": sorted({d for unit in units for d in self._documents.get(unit, ())}),
        }

    def _marked(self, text: str, references: list[list[str]]) -> str:
        """The text with a mark for each reference, whose units are added to ``references``."""

        def mark(found: re.Match[str]) -> str:
            references.append(self._referred(found.group(1)))
            return " " + MARK.format(len(references) - 1)

        return _REFERENCE.sub(mark, text).strip()

    def _referred(self, inner: str) -> list[str]:
        """The text units of ``Entities (5, 7); Sources (3)``, the most exact first."""
        units: dict[str, None] = {}
        parts = [(name.strip().lower(), numbers) for name, numbers in _PART.findall(inner)]
        for section, beginnings in _SECTIONS:
            for name, numbers in parts:
                if name.startswith(beginnings):
                    for number in map(int, _NUMBER.findall(numbers)):
                        units.update(dict.fromkeys(self._rows[section].get(number, ())))
        return list(units)[:_MOST]

    def _near(self, text: str, members: Iterable[str]) -> list[str]:
        """Text units of the members that a text names, those of most of them first."""
        said = text.lower()
        counts = Counter(
            unit for name in members if name.lower() in said for unit in self._units[name]
        )
        return sorted(counts, key=lambda unit: (-counts[unit], unit))[:_NEAR]


def _by_number(frame: pl.DataFrame) -> dict[int, list[str]]:
    rows = frame.select("number", "of").drop_nulls().iter_rows()
    return {int(number): list(of) for number, of in rows}


def _findings(text: str | None) -> list[tuple[str, str]]:
    """(summary, explanation) of each finding that has words."""
    try:
        found = json.loads(text or "[]")
    except ValueError:
        found = [text]
    pairs = []
    for item in found if isinstance(found, list) else [found]:
        if isinstance(item, dict):
            summary, explanation = (str(item.get(k) or "") for k in ("summary", "explanation"))
        else:
            summary, explanation = str(item), ""
        if summary.strip() or explanation.strip():
            pairs.append((summary.strip(), (explanation or summary).strip()))
    return pairs


def _markdown(title: str, summary: str, findings: list[dict[str, Any]]) -> str:
    parts = [f"# {title}", summary]
    for finding in findings:
        parts += [f"## {finding['summary']}", finding["explanation"]]
    return "\n\n".join(parts)
