"""Evidence of a community: small, strongest first, unmoved by what happens elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from graphkb.report.corpus import Corpus, read_corpus
from graphkb.report.evidence import Evidence, EvidenceReader, Told
from graphkb.report.hashes import evidence_hashes
from graphkb.tables import content_hash, rows
from graphkb.text.tokens import count_tokens

LIMIT = 2000
GROUPS, SIZE = 8, 50


def community_of_400(children: bool) -> tuple[Corpus, dict[int, Told]]:
    """One community of 400 entities with long descriptions, in 8 children; weights 1 to 400."""
    names = [f"Entity {i:03}" for i in range(GROUPS * SIZE)]
    words = "carries a long account of its history, its parts and its neighbours and more of it "
    entities = [
        {"id": f"e{i:03}", "human_readable_id": i, "title": name, "type": "TERM",
         "description": f"{name} {words * 3}"}
        for i, name in enumerate(names)
    ]  # fmt: skip
    ends = [(i, i + 1) for i in range(len(names) - 1)]
    relationships = [
        {"id": f"r{a:03}", "human_readable_id": a, "source": names[a], "target": names[b],
         "source_id": f"e{a:03}", "target_id": f"e{b:03}", "weight": float(a + 1),
         "description": f"{names[a]} feeds {names[b]}", "text_unit_ids": [f"u{a:03}"]}
        for a, b in ends
    ]  # fmt: skip
    texts = [f"{names[a]} feeds {names[b]} through a pipe." for a, b in ends]
    units = [
        {"id": f"u{a:03}", "human_readable_id": a, "text": text, "document_id": f"d{a:03}",
         "index": 0, "kind": "prose", "language": "en"}
        for a, text in enumerate(texts)
    ]  # fmt: skip
    mentions = [
        {"entity_id": f"e{node:03}", "text_unit_id": f"u{a:03}", "surface": names[node],
         "char_start": texts[a].index(names[node]), "char_end": 10}
        for a, b in ends
        for node in (a, b)
    ]  # fmt: skip
    ids = [row["id"] for row in entities]
    groups = [ids[i : i + SIZE] for i in range(0, len(ids), SIZE)]
    communities: list[dict[str, Any]] = [
        {"community": 0, "level": 0, "parent": -1, "entity_ids": ids, "size": len(ids),
         "children": list(range(1, GROUPS + 1)) if children else []}
    ]  # fmt: skip
    if children:
        communities += [
            {"community": i + 1, "level": 1, "parent": 0, "entity_ids": group, "size": SIZE,
             "children": []}
            for i, group in enumerate(groups)
        ]  # fmt: skip
    nodes = [{"entity_id": one, "degree": 2, "rank": 1 / len(ids)} for one in ids]
    corpus = read_corpus(
        rows("communities", communities), rows("entities", entities), rows("nodes", nodes),
        rows("relationships", relationships), rows("mentions", mentions),
        rows("text_units", units),
    )  # fmt: skip
    reports = {
        i + 1: Told(f"Group {i}", f"Group {i} is about pipes. It is long. " * 40, (f"u{i:03}",))
        for i in range(GROUPS)
    }
    return corpus, reports


def shown(corpus: Corpus, evidence: Evidence, section: str) -> list[str]:
    """Ids of the entities or relationships that are shown."""
    frame = corpus.entities if section == "Entities" else corpus.relationships
    return [frame["id"][key] for key in evidence.keys(section)]


def gathered(corpus: Corpus, limit: int = LIMIT) -> dict[int, Evidence]:
    numbers = corpus.communities["community"].to_list()
    reader = EvidenceReader(corpus, numbers)
    return {number: reader.gather(number, limit) for number in numbers}


@pytest.mark.parametrize("limit", [0, 5, 60, 300, LIMIT, 20_000])
@pytest.mark.parametrize("with_reports", [False, True])
def test_evidence_keeps_the_token_budget(limit: int, with_reports: bool) -> None:
    corpus, reports = community_of_400(children=True)
    found = EvidenceReader(corpus, [0]).gather(0, limit, reports if with_reports else None)
    assert found.n_tokens == count_tokens(found.text) <= limit
    if limit >= 300:
        assert found.n_tokens > 0.25 * limit


def test_the_strongest_relationships_are_shown_with_their_ends() -> None:
    corpus, _ = community_of_400(children=False)
    found = EvidenceReader(corpus, [0]).gather(0, LIMIT)
    relationships = shown(corpus, found, "Relationships")
    entities = shown(corpus, found, "Entities")
    assert len(entities) > 5
    assert set(relationships) == {f"r{i:03}" for i in range(399 - len(relationships), 399)}
    assert set(entities) == {f"e{i:03}" for i in range(400 - len(entities), 400)}
    assert "Entity 399 | TERM | Entity 399 carries a long account" in found.text
    assert len(found.keys("Sources")) > 5


def test_a_description_that_says_more_than_the_sentences_is_shown_once() -> None:
    said = "Ada Lin leads the Harbor Project."
    units = [{"id": "u", "human_readable_id": 7, "text": said, "document_id": "d", "index": 0,
              "kind": "prose", "language": "en"}]  # fmt: skip
    entities = [
        {"id": "a", "title": "Ada Lin", "type": "PERSON", "description": said},
        {"id": "h", "title": "Harbor Project", "type": "WORK", "description": "A quay in Lammer."},
    ]
    relationships = [
        {"id": "r", "source": "Ada Lin", "target": "Harbor Project", "source_id": "a",
         "target_id": "h", "weight": 1.0, "text_unit_ids": ["u"],
         "description": f"{said}\nShe was chosen in 2024.\nA quay in Lammer."}
    ]  # fmt: skip
    mentions = [
        {"entity_id": "a", "text_unit_id": "u", "surface": "Ada Lin", "char_start": 0,
         "char_end": 7},
        {"entity_id": "h", "text_unit_id": "u", "surface": "Harbor", "char_start": 18,
         "char_end": 24},
    ]  # fmt: skip
    communities = [{"id": "c", "community": 0, "level": 0, "parent": -1, "children": [],
                    "entity_ids": ["a", "h"], "size": 2}]  # fmt: skip
    corpus = read_corpus(
        rows("communities", communities), rows("entities", entities), rows("nodes", []),
        rows("relationships", relationships), rows("mentions", mentions),
        rows("text_units", units),
    )  # fmt: skip
    found = EvidenceReader(corpus, [0]).gather(0, LIMIT)
    assert found.text == (
        "Entities (id | name | type | description)\n"
        "1 | Harbor Project | WORK | A quay in Lammer.\n\n"
        "Relationships (id | from | to | description)\n"
        "2 | Ada Lin | Harbor Project | She was chosen in 2024.\n\n"
        "Sources (id | sentence)\n"
        "3 | Ada Lin leads the Harbor Project."
    )
    assert [row.text_unit_ids for row in found.rows] == [("u",)] * 3


def test_reports_of_children_stand_in_for_their_rows() -> None:
    corpus, reports = community_of_400(children=True)
    reader = EvidenceReader(corpus, [0])
    assert not reader.fits(0, LIMIT)
    found = reader.gather(0, LIMIT, reports)
    told = found.keys("Reports")
    assert 4 <= len(told) < GROUPS
    assert found.text.startswith(
        "Reports of parts (id | title | summary)\n1 | Group 0 | Group 0 is"
    )
    assert found.rows[0].text_unit_ids == ("u000",)
    # What no report speaks for: entities of the other children.
    held = {f"e{i:03}" for child in told for i in range((child - 1) * SIZE, child * SIZE)}
    entities = shown(corpus, found, "Entities")
    assert entities
    assert not held.intersection(entities)


def test_reports_of_children_do_not_stand_in_where_all_fits() -> None:
    corpus, reports = community_of_400(children=True)
    reader = EvidenceReader(corpus, [0])
    assert reader.fits(0, 20_000)
    assert reader.gather(0, 20_000, reports) == reader.gather(0, 20_000)


def test_chinese_evidence_is_quoted_as_it_stands(chinese: Any) -> None:
    found = gathered(chinese.corpus())[0]
    assert " | 青石云账是面向小企业的记账软件，由陈明的团队开发。" in found.text


def test_headings_and_table_rows_are_no_evidence(english: Any) -> None:
    text = "".join(found.text for found in gathered(english.corpus()).values())
    assert "Ben Okafor checks the seals of the Harbor Project." in text
    assert "| Ada Lin | Harbor Project | lead" not in text
    assert "The weather was fine." not in text


def test_evidence_does_not_depend_on_row_order(both: Any) -> None:
    for limit in (200, LIMIT):
        expected = gathered(both.corpus(), limit)
        assert gathered(both.shuffled(1).corpus(), limit) == expected
        assert gathered(both.shuffled(2).corpus(), limit) == expected


def test_evidence_stays_when_pagerank_and_numbers_move(both: Any) -> None:
    ranks = both.nodes.with_columns(
        rank=pl.Series(range(both.nodes.height, 0, -1), dtype=pl.Float64)
    )
    units = both.text_units.with_columns(human_readable_id=pl.col("human_readable_id") + 90)
    entities = both.entities.with_columns(human_readable_id=pl.col("human_readable_id") + 90)
    moved = read_corpus(both.communities, entities, ranks, both.relationships, both.mentions, units)
    expected = gathered(both.corpus(), 150)
    assert gathered(moved, 150) == expected
    assert len({found.text for found in expected.values()}) > 2


def test_evidence_stays_when_another_community_grows(make_world: Callable[..., Any]) -> None:
    names = ["Ada Lin", "Harbor Project", "Ben Okafor", "Ulm Hall", "Ora Fey", "Tom Reed"]
    one = {"a": "Ada Lin leads the Harbor Project.\nBen Okafor checks the Harbor Project."}
    two = {"b": "Ora Fey runs Ulm Hall in the north.\nTom Reed owns Ulm Hall today."}
    more = {"c": "Ora Fey met Tom Reed in Ulm Hall again.\nTom Reed wrote to Ora Fey."}
    before = gathered(make_world({**one, **two}, names).corpus())
    after = gathered(make_world({**one, **two, **more}, names).corpus())
    texts = [{f.text for f in found.values()} for found in (before, after)]
    kept = {text for text in texts[0] if "Ada Lin" in text}
    assert kept
    assert kept <= texts[1]
    assert texts[0] != texts[1]


def test_the_evidence_hash_moves_with_text_not_with_pagerank(
    make_world: Callable[..., Any],
) -> None:
    names = ["Ada Lin", "Harbor Project"]
    text = "Ada Lin leads the Harbor Project."
    world = make_world({"a": text}, names)
    corpus = world.corpus()
    first = evidence_hashes(corpus, [0], "6")
    ranked = read_corpus(
        world.communities, world.entities, world.nodes.with_columns(rank=pl.col("rank") / 3),
        world.relationships.with_columns(weight=pl.col("weight") * 2), world.mentions,
        world.text_units,
    )  # fmt: skip
    assert evidence_hashes(ranked, [0], "6") == first
    assert evidence_hashes(corpus, [0], "7") != first
    edited = make_world({"a": text + " Ada Lin left."}, names).corpus()
    assert evidence_hashes(edited, [0], "6") != first
    assert len(first[0]) == len(content_hash("x"))
