"""Entities and relationships around a question, from the arrays: what the tables say, hubs too."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from search.documents import make_project

import graphkb
from graphkb.graph.rows import row_arrays
from graphkb.project import Project
from graphkb.search.rows import communities_of, entity_rows, relationship_rows
from graphkb.store.manifest import read_manifest
from graphkb.tables import rows

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


def _arrays(
    entities: pl.DataFrame, relationships: pl.DataFrame, nodes: pl.DataFrame | None = None
) -> dict[str, np.ndarray]:
    shuffled = entities.sample(fraction=1, shuffle=True, seed=1)
    ids = np.array(sorted(entities["id"]), dtype="S")
    return {"entity_ids": ids, **row_arrays(shuffled, relationships, nodes)}


def _by_the_tables(relationships: pl.DataFrame, ids: list[str], most: int) -> list[str]:
    ends = (pl.col("source_id").is_in(ids), pl.col("target_id").is_in(ids))
    ranked = relationships.filter(ends[0] | ends[1]).with_columns((ends[0] & ends[1]).alias("both"))
    order = ranked.sort(["both", "weight", "id"], descending=[True, True, False])
    return order.head(most)["id"].to_list()


@pytest.mark.parametrize("most", [1, 7, 60, 2000])
@pytest.mark.parametrize("ids", [["e000"], ["e007", "e000", "e399"], ["e123", "e005"], []])
def test_relationships_are_ranked_as_the_tables_say(ids: list[str], most: int) -> None:
    entities, relationships = _entities(HUB), _hub_relationships(HUB)
    arrays = _arrays(entities, relationships)
    found = relationship_rows(arrays, [*ids, "unknown"], most)
    assert [row["id"] for row in found] == _by_the_tables(relationships, ids, most)
    columns = ["id", "human_readable_id", "source", "target", "description", "weight"]
    known = {row["id"]: row for row in relationships.to_dicts()}
    for row in found:
        expected = known[row["id"]]
        assert row == {key: expected[key] for key in (*columns, "text_unit_ids")}


def test_rows_of_entities_are_those_of_the_table() -> None:
    entities = _entities(5)
    nodes = pl.DataFrame({"entity_id": ["e004", "e001", "e002"], "community": [12, -1, 3]})
    arrays = _arrays(entities, _hub_relationships(5), nodes)
    wanted = ["e003", "unknown", "e000", "e004"]
    known = {row["id"]: row for row in entities.drop("frequency").to_dicts()}
    assert entity_rows(arrays, wanted) == [known[one] for one in wanted if one in known]
    assert communities_of(arrays, [*known, "unknown"]) == {"e002": 3, "e004": 12}


def test_of_nothing_there_are_no_rows() -> None:
    arrays = _arrays(_entities(0), rows("relationships", []))
    assert relationship_rows(arrays, ["e000"], 5) == []
    assert entity_rows(arrays, ["e000"]) == []


def test_a_version_without_these_arrays_is_asked_as_before(
    catalogue: Project, tmp_path: Path
) -> None:
    old = tmp_path / "old"
    shutil.copytree(catalogue.root, old)
    manifest = read_manifest(old / "output")
    assert manifest is not None
    folder = old / "output" / manifest.graph
    made = row_arrays(_entities(0), rows("relationships", []))
    for name in made:
        (folder / f"{name}.npy").unlink()
    with graphkb.open(old) as project:
        for question in QUESTIONS:
            before = catalogue.query(question, method="local").context
            after = project.query(question, method="local").context
            assert (after.entities, after.relationships, after.reports) == (
                before.entities, before.relationships, before.reports
            )  # fmt: skip


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
