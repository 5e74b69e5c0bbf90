"""GraphRAG outputs as versions 0 to 3 write them, in English and Chinese, without GraphRAG.

Columns and types are those of https://microsoft.github.io/graphrag/index/outputs/: names in
capitals, units cut by length with overlap and, in Chinese, with characters cut in two.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Row = dict[str, Any]

ENGLISH = {
    "osprey.txt": (
        "Ada Lin leads the Osprey project at Bluestone. The Osprey project builds a sea turbine "
        "in Bergen.\n\nBluestone was founded by Ada Lin in 2014. Its laboratory stands in Bergen, "
        "near the harbour. The World Health Organization (WHO) has no part in it.\n"
    ),
    "valve.txt": (
        "The valve of turbine T-07 failed on 3 May 2023. Northern Seals replaced the valve.\n\n"
        "Dr Jonas Petrel of Northern Seals wrote the report. Petrel blamed the cold. The report "
        "cost Northern Seals 1,280 euros.\n"
    ),
    "loan.txt": (
        "Bluestone lent the turbine T-07 to Northern Seals. Jonas Petrel signed for it, "
        "and Ada Lin paid the freight.\n"
    ),
}  # fmt: skip
CHINESE = {
    "公司.txt": (
        "陈明是青石公司的工程师。青石公司在杭州，由陈明于2014年创立。"
        "青石公司的实验室设在杭州西湖边，研究熵流引擎。熵流引擎由王芳设计。\n"
    ),
    "合同.txt": (
        "北风机器人与青石公司签署了合同。王芳代表北风机器人签字。"
        "合同金额为1280元，于2023年5月3日生效。\n"
    ),
}
# Title in capitals, type, description, the spellings that the units are searched for.
ENTITIES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "ADA LIN": ("PERSON", "Ada Lin leads the Osprey project and founded Bluestone.", ("Ada Lin",)),
    "OSPREY PROJECT": ("EVENT", "A project for a sea turbine.", ("Osprey project",)),
    "BLUESTONE": ("ORGANIZATION", "A maker of turbines in Bergen.", ("Bluestone",)),
    "BERGEN": ("GEO", "The town of the laboratory.", ("Bergen",)),
    "WORLD HEALTH ORGANIZATION": ("ORGANIZATION", "An agency.", ("World Health",)),
    "TURBINE T-07": ("", "The turbine whose valve failed.", ("turbine T-07",)),
    "NORTHERN SEALS": ("ORGANIZATION", "A firm that replaces valves.", ("Northern Seals",)),
    "JONAS PETREL": ("PERSON", "Jonas Petrel wrote the report.", ("Petrel",)),
    "THE WEATHER OF NORWAY": ("EVENT", "Cold.", ("cold",)),
    "陈明": ("PERSON", "青石公司的创始人和工程师。", ("陈明",)),
    "青石公司": ("ORGANIZATION", "杭州的一家公司。", ("青石公司",)),
    "杭州": ("GEO", "青石公司所在的城市。", ("杭州",)),
    "熵流引擎": ("PRODUCT", "王芳设计的引擎。", ("熵流引擎",)),
    "王芳": ("PERSON", "引擎的设计者。", ("王芳",)),
    "北风机器人": ("ORGANIZATION", "与青石公司签约的公司。", ("北风机器人",)),
}  # fmt: skip
# Source, target, description, weight.
RELATIONSHIPS = [
    ("ADA LIN", "OSPREY PROJECT", "Ada Lin is in charge of the Osprey project.", 9.0),
    ("ADA LIN", "BLUESTONE", "Ada Lin founded Bluestone in 2014.", 8.0),
    ("BLUESTONE", "BERGEN", "Bluestone keeps its laboratory in Bergen.", 6.0),
    ("NORTHERN SEALS", "TURBINE T-07", "Northern Seals replaced a valve of T-07.", 7.0),
    ("JONAS PETREL", "NORTHERN SEALS", "Jonas Petrel works for Northern Seals.", 8.0),
    ("BLUESTONE", "TURBINE T-07", "Bluestone lent T-07 to Northern Seals.", 1.0),
    ("JONAS PETREL", "THE WEATHER OF NORWAY", "Petrel blamed the cold.", 2.0),
    ("陈明", "青石公司", "陈明创立了青石公司。", 9.0),
    ("青石公司", "杭州", "青石公司设在杭州。", 6.0),
    ("王芳", "熵流引擎", "王芳设计了熵流引擎。", 8.0),
    ("青石公司", "熵流引擎", "青石公司研究熵流引擎。", 5.0),
    ("王芳", "北风机器人", "王芳代表北风机器人。", 5.0),
    ("北风机器人", "青石公司", "双方签署了合同。", 1.0),
]
CLAIMS = [
    ("NORTHERN SEALS", "NONE", "COST", "The report cost Northern Seals 1,280 euros.", "TRUE",
     "2023-05-03T00:00:00", "NONE", "The report cost Northern Seals 1,280 euros."),
    ("北风机器人", "青石公司", "合同", "双方签署了1280元的合同。", "TRUE",
     "2023-05-03T00:00:00", "NONE", "北风机器人与青石公司签署了合同。"),
]  # fmt: skip
COMMUNITIES = [
    ["ADA LIN", "OSPREY PROJECT", "BLUESTONE", "BERGEN"],
    ["TURBINE T-07", "NORTHERN SEALS", "JONAS PETREL"],
    ["陈明", "青石公司", "杭州"],
    ["熵流引擎", "王芳", "北风机器人"],
]
REPORTS = [
    ("Bluestone and Osprey", "Bluestone builds a sea turbine [Data: Relationships (1)].",
     "Ada Lin leads Osprey", "Ada Lin founded Bluestone [Data: Entities (0); Relationships (1)]."),
    ("Northern Seals and T-07", "A valve failed and was replaced.",
     "The valve of T-07", "Northern Seals replaced the valve [Data: Relationships (3, +more)]."),
    ("青石公司与杭州", "青石公司设在杭州 [Data: Relationships (8)]。",
     "陈明创立青石公司", "青石公司的创始人是陈明，时间为2014年 [数据：关系（7）；实体（9）]。"),
    ("王芳与熵流引擎", "熵流引擎出自王芳之手。",
     "王芳代表北风机器人", "王芳代表北风机器人签署了一份合同 [Data: Relationships (11)]。"),
]  # fmt: skip


@dataclass
class Output:
    """What a GraphRAG run leaves; change ``tables`` before :meth:`write`."""

    version: int
    tables: dict[str, list[Row]]
    documents: dict[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> Path:
        """The Parquet files in ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        for name, rows in self.tables.items():
            file = f"create_final_{name}.parquet" if self.version < 2 else f"{name}.parquet"
            pq.write_table(pa.Table.from_pylist(rows), folder / file)
        return folder

    def write_project(self, root: Path) -> Path:
        """A GraphRAG project: its input files and its output."""
        (root / "input").mkdir(parents=True)
        for title, text in self.documents.items():
            (root / "input" / title).write_text(text, "utf-8")
        (root / "settings.yaml").write_text("chunks: {size: 1200}\n", "utf-8")
        self.write(root / "output")
        return root


def make_output(
    version: int = 2, documents: dict[str, str] | None = None, size: int = 120, overlap: int = 20
) -> Output:
    """An output of GraphRAG's ``version``; units are ``size`` characters long."""
    texts = {**ENGLISH, **CHINESE} if documents is None else documents
    units = [
        {"id": f"u{number}-{start}", "document": f"doc-{number}", "text": piece}
        for number, text in enumerate(texts.values())
        for start, piece in _pieces(text, size, overlap)
    ]
    entities = _entities(units)
    numbers = {row["title"]: row for row in entities}
    relationships = _relationships(units, numbers)
    tables = {
        "documents": [_document(version, *item) for item in enumerate(texts.items())],
        "text_units": [_unit(version, place, unit) for place, unit in enumerate(units)],
        "entities": entities,
        "relationships": relationships,
        "covariates": _claims(units),
        "communities": _communities(numbers, relationships),
    }
    tables["community_reports"] = _reports(tables["communities"])
    return Output(version, _as_version(version, tables), texts)


def _pieces(text: str, size: int, overlap: int) -> list[tuple[int, str]]:
    pieces = []
    for start in range(0, len(text), size - overlap):
        piece = text[start : start + size]
        if start and not piece.isascii():
            piece = "\ufffd" + piece[1:]  # a character of three bytes, cut in two
        pieces.append((start, piece))
    return pieces


def _document(version: int, number: int, item: tuple[str, str]) -> Row:
    title, text = item
    row = {"id": f"doc-{number}", "human_readable_id": number, "title": title, "text": text,
           "text_unit_ids": [f"u{number}-0"]}  # fmt: skip
    if version >= 2:
        row["creation_date"] = "2024-05-06 07:08:09 +0000"
    if version == 2:
        row["metadata"] = {"tag": "sample"}
    if version >= 3:
        row["raw_data"] = {"title": title, "text": text, "tag": "sample"}
    return row


def _unit(version: int, place: int, unit: Row) -> Row:
    row = {"id": unit["id"], "human_readable_id": place, "text": unit["text"],
           "n_tokens": len(unit["text"]) // 4, "entity_ids": [], "relationship_ids": [],
           "covariate_ids": []}  # fmt: skip
    return row | (
        {"document_id": unit["document"]} if version >= 3 else {"document_ids": [unit["document"]]}
    )


def _holding(units: list[Row], *names: str) -> list[str]:
    wanted = [ENTITIES[name][2] for name in names]
    return [u["id"] for u in units if all(any(s in u["text"] for s in w) for w in wanted)]


def _entities(units: list[Row]) -> list[Row]:
    rows = []
    for title, (kind, description, _) in ENTITIES.items():
        found = _holding(units, title)
        if found:
            rows.append({"id": f"e-{title}", "human_readable_id": len(rows), "title": title,
                         "type": kind, "description": description, "text_unit_ids": found,
                         "frequency": len(found), "degree": 1, "x": 0.0, "y": 0.0})  # fmt: skip
    return rows


def _relationships(units: list[Row], entities: dict[str, Row]) -> list[Row]:
    rows = []
    for source, target, description, weight in RELATIONSHIPS:
        if source not in entities or target not in entities:
            continue
        found = _holding(units, source, target) or entities[source]["text_unit_ids"][:1]
        rows.append({"id": f"r{len(rows)}", "human_readable_id": len(rows), "source": source,
                     "target": target, "description": description, "weight": weight,
                     "combined_degree": 2, "text_unit_ids": found})  # fmt: skip
    return rows


def _claims(units: list[Row]) -> list[Row]:
    rows = []
    for subject, target, kind, description, status, start, end, quoted in CLAIMS:
        found = [unit["id"] for unit in units if quoted[:12] in unit["text"]]
        if found:
            rows.append({"id": f"c{len(rows)}", "human_readable_id": len(rows),
                         "covariate_type": "claim", "type": kind, "description": description,
                         "subject_id": subject, "object_id": target, "status": status,
                         "start_date": start, "end_date": end, "source_text": quoted,
                         "text_unit_id": found[0]})  # fmt: skip
    return rows


def _communities(entities: dict[str, Row], relationships: list[Row]) -> list[Row]:
    rows = []
    for number, titles in enumerate(COMMUNITIES):
        inside = [title for title in titles if title in entities]
        if inside:
            ends = [r["id"] for r in relationships if {r["source"], r["target"]} <= set(inside)]
            rows.append({"id": f"k{number}", "human_readable_id": number, "community": number,
                         "level": 0, "parent": -1, "children": [], "title": f"Community {number}",
                         "entity_ids": [entities[title]["id"] for title in inside],
                         "relationship_ids": ends, "text_unit_ids": [], "period": "2024-05-06",
                         "size": len(inside)})  # fmt: skip
    return rows


def _reports(communities: list[Row]) -> list[Row]:
    rows = []
    for row in communities:
        title, summary, finding, explanation = REPORTS[row["community"]]
        rows.append({
            **{k: row[k] for k in ("human_readable_id", "community", "level", "parent", "children",
                                   "period", "size")},
            "id": f"report-{row['community']}", "title": title, "summary": summary,
            "full_content": f"# {title}\n\n{summary}\n\n## {finding}\n\n{explanation}",
            "rank": 7.5, "rating_explanation": "Why.",
            "findings": [{"summary": finding, "explanation": explanation}],
            "full_content_json": json.dumps({"title": title}),
        })  # fmt: skip
    return rows


def _as_version(version: int, tables: dict[str, list[Row]]) -> dict[str, list[Row]]:
    """Version 0 calls some columns otherwise, and its communities list no entities."""
    if version:
        return tables
    names = {"documents": {"text": "raw_content"}, "entities": {"title": "name"},
             "community_reports": {"rating_explanation": "rank_explanation"}}  # fmt: skip
    old = {
        name: [{names.get(name, {}).get(k, k): v for k, v in row.items()} for row in rows]
        for name, rows in tables.items()
    }
    for row in old["communities"]:
        del row["entity_ids"], row["community"]
        row["id"] = str(row["human_readable_id"])
    for row in old["community_reports"]:
        row["community"] = str(row["community"])
    return old
