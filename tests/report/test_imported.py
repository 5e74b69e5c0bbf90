"""Imported reports go to communities they still fit; imported communities are a start."""

from __future__ import annotations

import json

import polars as pl

from graphkb.extract.imported import IMPORTED, text_hash
from graphkb.graph.communities import find_communities
from graphkb.report.imported import (
    IMPORTED_REPORTS,
    MARK,
    imported_reports,
    starting_communities,
)
from graphkb.settings import Cluster
from graphkb.tables import TABLES, content_hash, rows

NAMES = ["Ada Lin", "Bluestone", "Bergen", "Osprey", "T-07", "Northern Seals", "陈明", "青石公司",
         "杭州", "王芳"]  # fmt: skip
TEXTS = {"d1": "Ada Lin of Bluestone.", "d2": "陈明在青石公司。"}
ENTITIES = rows(
    "entities",
    ({"id": f"e{n}", "title": name, "aliases": ["ALIAS " + name]} for n, name in enumerate(NAMES)),
)
DOCUMENTS = rows("documents", ({"id": name, "text": text} for name, text in TEXTS.items()))
UNITS = rows(
    "text_units",
    (
        {"id": f"u-{name}", "human_readable_id": n, "document_id": name, "text": text,
         "index": 0, "char_start": 0, "char_end": len(text)}
        for n, (name, text) in enumerate(TEXTS.items(), 7)
    ),
)  # fmt: skip


def imported(
    names: list[str], documents: tuple[str, ...] = ("d1", "d2")
) -> dict[str, pl.DataFrame]:
    """A report on a community of these names, written from ``documents``."""
    report = {
        "community": 3, "title": "T", "summary": f"S {MARK.format(0)}.", "full_content": "# T",
        "rank": 6.0, "rating_explanation": "why", "references": json.dumps([["p-d2", "gone"]]),
        "findings": json.dumps([{"summary": "s", "explanation": "e", "passages": ["p-d1"]}]),
        "summary_of": sorted(text_hash(TEXTS[name]) for name in documents),
    }  # fmt: skip
    community = {"community": 3, "level": 0, "parent": -1, "names": names}
    passages = [(f"p-{n}", text_hash(text), 0, len(text)) for n, text in TEXTS.items()]
    return {
        "passages": pl.DataFrame(passages, schema=IMPORTED["passages"].schema, orient="row"),
        "communities": pl.DataFrame([community], schema=IMPORTED_REPORTS["communities"].schema),
        "reports": pl.DataFrame([report], schema=IMPORTED_REPORTS["reports"].schema),
    }


def community(members: int, number: int = 0) -> pl.DataFrame:
    ids = [f"e{n}" for n in range(members)]
    return rows(
        "communities",
        [{"id": content_hash(*ids), "community": number, "level": 1, "parent": -1, "children": [],
          "entity_ids": ids, "size": members}],
    )  # fmt: skip


def mentioned(*units: str) -> pl.DataFrame:
    return rows(
        "mentions",
        ({"entity_id": "e0", "text_unit_id": unit, "char_start": 0, "char_end": 1, "surface": "x"}
         for unit in units),
    )  # fmt: skip


def taken(frames: dict[str, pl.DataFrame], members: int, **other: pl.DataFrame) -> pl.DataFrame:
    given = {"documents": DOCUMENTS, "text_units": UNITS, "mentions": mentioned("u-d1")} | other
    return imported_reports(
        frames, given["documents"], given["text_units"], community(members), ENTITIES,
        given["mentions"], min_size=2,
    )  # fmt: skip


def test_a_report_goes_to_the_community_of_its_entities_with_our_numbers() -> None:
    (row,) = taken(imported(NAMES), 10).to_dicts()
    assert (row["community"], row["level"], row["method"], row["rank"]) == (0, 1, "llm", 6.0)
    assert row["summary"] == "S [Data: Sources (8)]."
    assert json.loads(row["findings"])[0]["text_unit_ids"] == ["u-d1"]
    assert json.loads(row["full_content_json"])["title"] == "T"


def test_nine_of_ten_entities_are_the_same_community_and_eight_are_not() -> None:
    assert taken(imported(NAMES), 9).height == 1
    assert taken(imported(NAMES), 8).height == 0
    assert taken(imported([*NAMES[:9], "Someone Else"]), 9).height == 1
    assert taken(imported([*NAMES[:9], "Someone Else"]), 8).height == 0


def test_aliases_and_capitals_are_the_same_entity() -> None:
    assert taken(imported([name.upper() for name in NAMES]), 10).height == 1
    assert taken(imported([f"alias {name}" for name in NAMES]), 10).height == 1


def test_a_missing_document_takes_the_report_with_it() -> None:
    rest = DOCUMENTS.filter(pl.col("id") == "d1")
    assert taken(imported(NAMES), 10, documents=rest).height == 0
    assert taken(imported(NAMES, ("d1",)), 10, documents=rest).height == 1


def test_another_document_that_speaks_of_the_community_makes_the_report_old() -> None:
    new = rows("text_units", [{"id": "u-new", "human_readable_id": 9, "document_id": "d9",
                               "text": "Ada Lin again.", "index": 0, "char_start": 0,
                               "char_end": 14}])  # fmt: skip
    units = pl.concat([UNITS, new])
    both = mentioned("u-d1", "u-new")
    assert taken(imported(NAMES), 10, text_units=units).height == 1
    assert taken(imported(NAMES), 10, text_units=units, mentions=both).height == 0


def test_small_communities_get_no_report() -> None:
    frames = imported(NAMES[:1])
    found = imported_reports(
        frames, DOCUMENTS, UNITS, community(1), ENTITIES, mentioned("u-d1"), min_size=2
    )
    assert found.height == 0


def test_the_hierarchy_is_kept_where_it_is_as_good_as_a_fresh_one() -> None:
    parts = [(0, 0, -1, NAMES[:6]), (1, 0, -1, NAMES[6:]), (2, 1, 0, NAMES[:3]),
             (3, 1, 0, NAMES[3:6])]  # fmt: skip
    frames = imported(NAMES) | {
        "communities": pl.DataFrame(
            parts, schema=IMPORTED_REPORTS["communities"].schema, orient="row"
        )
    }
    start = starting_communities(frames, ENTITIES)
    assert start["size"].to_list() == [6, 4, 3, 3]
    pairs = [(a, b) for group in ((0, 1, 2), (3, 4, 5), (6, 7, 8, 9)) for a in group
             for b in group if a < b] + [(2, 3)]  # fmt: skip
    edges = rows(
        "relationships",
        ({"id": f"r{a}-{b}", "source_id": f"e{a}", "target_id": f"e{b}", "weight": 1.0,
          "text_unit_ids": []} for a, b in pairs),
    )  # fmt: skip
    found = find_communities(ENTITIES, edges, Cluster(max_cluster_size=4), start).communities
    members = {row["community"]: row["entity_ids"] for row in found.to_dicts()}
    assert members[1] == ["e6", "e7", "e8", "e9"]
    assert ["e0", "e1", "e2"] in members.values()
    assert TABLES["communities"].conform(found).height == found.height


def test_names_that_are_no_entities_are_left_out_of_the_start() -> None:
    start = starting_communities(imported(["Ada Lin", "Nobody"]), ENTITIES)
    assert start["entity_ids"].to_list() == [["e0"]]
    assert starting_communities(imported(["Nobody"]), ENTITIES).height == 0
