"""Rows around a question, from the arrays: what the tables say, hubs too."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from search.documents import make_project

import graphkb
from graphkb.graph.lookup import text_arrays
from graphkb.graph.rows import TABLES as ROW_TABLES
from graphkb.graph.rows import row_arrays
from graphkb.project import Project
from graphkb.search.rows import (
    claim_rows,
    communities_of,
    entity_rows,
    relationship_rows,
    unit_rows,
)
from graphkb.store.manifest import read_manifest
from graphkb.tables import TABLES, rows

HUB = 400
QUESTIONS = ("Who leads the Osprey project?", "青石公司的总部在哪里？", "BD-200A")


def _entities(n: int) -> pl.DataFrame:
    return rows(
        "entities",
        (
            {
                "id": f"e{i:03}",
                "human_readable_id": i,
                "title": f"“{i}” 号实体" if i % 2 else f'Entity "{i}"',
                "type": "ORGANIZATION",
                "description": None if i == 3 else "第一行\nline two",
                "aliases": [f"别名{i}"] if i % 3 else [],
            }
            for i in range(n)
        ),
    )


def _hub_relationships(n: int) -> pl.DataFrame:
    """e000 is related to all, itself and one that is no entity; random others, ties in weight."""
    random = np.random.default_rng(7)
    pairs = [(0, i) for i in range(n)] + [tuple(pair) for pair in random.integers(0, n, (300, 2))]
    made = [
        {
            "id": f"r{random.integers(10**9):09}-{number}",
            "human_readable_id": number,
            "source": f"source {number}",
            "target": f"目标{number}",
            "source_id": f"e{source:03}",
            "target_id": f"e{target:03}",
            "description": f"他说：“{number}”",
            "weight": float(random.integers(1, 6)) / 3,
            "text_unit_ids": [f"u{number}"],
        }
        for number, (source, target) in enumerate(pairs)
    ]
    made.append({**made[1], "id": "r-stray", "target_id": "not an entity"})
    return rows("relationships", made)


def _arrays(**tables: pl.DataFrame) -> dict[str, np.ndarray]:
    given = {name: tables.get(name, TABLES[name].empty()) for name in ROW_TABLES}
    shuffled = [frame.sample(fraction=1, shuffle=True, seed=1) for frame in given.values()]
    ids = {
        key: np.array(sorted(given[name]["id"]), dtype="S")
        for key, name in (("entity_ids", "entities"), ("unit_ids", "text_units"))
    }
    return {**ids, **row_arrays(*shuffled), **text_arrays(given["text_units"].sort("id")["text"])}


def _by_the_tables(relationships: pl.DataFrame, ids: list[str], most: int) -> list[str]:
    ends = (pl.col("source_id").is_in(ids), pl.col("target_id").is_in(ids))
    ranked = relationships.filter(ends[0] | ends[1]).with_columns((ends[0] & ends[1]).alias("both"))
    order = ranked.sort(["both", "weight", "id"], descending=[True, True, False])
    return order.head(most)["id"].to_list()


@pytest.mark.parametrize("most", [1, 7, 60, 2000])
@pytest.mark.parametrize("ids", [["e000"], ["e007", "e000", "e399"], ["e123", "e005"], []])
def test_relationships_are_ranked_as_the_tables_say(ids: list[str], most: int) -> None:
    entities, relationships = _entities(HUB), _hub_relationships(HUB)
    arrays = _arrays(entities=entities, relationships=relationships)
    found = relationship_rows(arrays, [*ids, "unknown"], most)
    assert [row["id"] for row in found] == _by_the_tables(relationships, ids, most)
    columns = ["id", "human_readable_id", "source", "target", "description", "weight"]
    known = {row["id"]: row for row in relationships.to_dicts()}
    for row in found:
        expected = known[row["id"]]
        assert row == {key: expected[key] for key in (*columns, "text_unit_ids")}


def test_rows_of_entities_are_those_of_the_table() -> None:
    entities = _entities(5)
    made = {"e004": 12, "e001": -1, "e002": 3}
    nodes = rows("nodes", ({"entity_id": i, "community": n} for i, n in made.items()))
    arrays = _arrays(entities=entities, relationships=_hub_relationships(5), nodes=nodes)
    wanted = ["e003", "unknown", "e000", "e004"]
    known = {row["id"]: row for row in entities.drop("frequency").to_dicts()}
    assert entity_rows(arrays, wanted) == [known[one] for one in wanted if one in known]
    assert communities_of(arrays, [*known, "unknown"]) == {"e002": 3, "e004": 12}


def _unit(number: int, document: str, start: int, text: str, pages: tuple[int, int] | None) -> dict:
    first, last = pages or (None, None)
    return {
        "id": f"u{number}", "human_readable_id": number, "text": text, "n_tokens": 3,
        "document_id": document, "heading_path": ["章", "“1”"], "index": number,
        "char_start": start, "char_end": start + len(text), "page_start": first,
        "page_end": last, "kind": "prose", "context": None, "language": "zh",
    }  # fmt: skip


def test_rows_of_text_units_are_those_of_the_tables() -> None:
    documents = rows("documents", [
        {"id": "d1", "title": "年报 “A”", "path": "年报.pdf", "page_starts": [0, 5, 9, 20]},
        {"id": "d2", "title": None, "path": "notes.md", "page_starts": None},
    ])  # fmt: skip
    units = rows("text_units", [
        _unit(2, "d1", 0, "first 页\n", (1, 1)),
        _unit(1, "d1", 4, "第二页 and third", (1, 3)),
        _unit(3, "d2", 0, "plain", None),
    ])  # fmt: skip
    arrays = _arrays(documents=documents, text_units=units)
    found = unit_rows(arrays, ["u3", "unknown", "u1", "u2"])
    assert [row["id"] for row in found] == ["u3", "u1", "u2"]
    assert [row["title"] for row in found] == ["", "年报 “A”", "年报 “A”"]
    assert [row["path"] for row in found] == ["notes.md", "年报.pdf", "年报.pdf"]
    # Offsets at which pages begin inside a unit: those after its first page's.
    assert [row["page_breaks"] for row in found] == [[], [5, 9], []]
    known = {row["id"]: row for row in units.drop("parent_id").to_dicts()}
    for row in found:
        assert {key: row[key] for key in known[row["id"]]} == known[row["id"]]


def test_claims_are_those_of_the_units_in_their_order() -> None:
    units = rows("text_units", [_unit(n, "d", 0, "x", None) for n in range(3)])
    claims = rows("covariates", [
        {"id": f"c{n}", "human_readable_id": n, "subject_id": "曹操", "description": f"“{n}”",
         "text_unit_id": unit}
        for n, unit in enumerate(["u2", "u0", "u2", "gone"])
    ])  # fmt: skip
    arrays = _arrays(text_units=units, covariates=claims)
    found = claim_rows(arrays, ["u2", "u1", "unknown", "u0"])
    assert [row["id"] for row in found] == ["c0", "c2", "c1"]
    assert found[0]["description"] == "“0”"
    assert found[0]["end_date"] is None


def test_of_nothing_there_are_no_rows() -> None:
    arrays = _arrays()
    assert relationship_rows(arrays, ["e000"], 5) == []
    assert entity_rows(arrays, ["e000"]) == []
    assert unit_rows(arrays, ["u0"]) == []
    assert claim_rows(arrays, ["u0"]) == []


def test_a_version_without_these_arrays_is_asked_as_before(
    catalogue: Project, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(catalogue.root, old)
    manifest = read_manifest(old / "output")
    assert manifest is not None
    folder = old / "output" / manifest.graph
    (folder / "arrays.json").unlink()
    made = row_arrays(*(TABLES[name].empty() for name in ROW_TABLES))
    for name in made:
        (folder / f"{name}.npy").unlink()
    with graphkb.open(old) as project:
        for question in QUESTIONS:
            before = catalogue.query(question, method="local").context
            after = project.query(question, method="local").context
            assert (after.entities, after.relationships, after.claims, after.reports) == (
                before.entities, before.relationships, before.claims, before.reports
            )  # fmt: skip
            assert after.passages == before.passages


def test_what_a_question_shows_of_the_graph_is_in_the_tables(tmp_path: Path) -> None:
    with make_project(tmp_path / "kb") as project:
        relationships = project.table("relationships")
        known = {row["id"]: row for row in relationships.to_dicts()}
        shown = [
            row for question in QUESTIONS
            for row in project.query(question, method="local").context.relationships
        ]  # fmt: skip
    assert shown
    for row in shown:
        assert {key: known[row["id"]][key] for key in row} == row
