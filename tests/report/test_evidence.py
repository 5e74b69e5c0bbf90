"""Evidence of a community: within the budget, most important first, sources always listed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import polars as pl
import pytest

from graphkb.report.corpus import Corpus, read_corpus
from graphkb.report.evidence import evidence_hashes, gather_evidence
from graphkb.report.sentences import Sentences, read_sentences
from graphkb.tables import content_hash, rows
from graphkb.text.tokens import count_tokens

LIMIT = 2000
GROUPS, SIZE = 8, 50


def community_of_400(children: bool) -> tuple[Corpus, Sentences, pl.DataFrame]:
    """One community of 400 entities with long descriptions, in 8 children; weights 1 to 400."""
    names = [f"Entity {i:03}" for i in range(GROUPS * SIZE)]
    words = "carries a long account of its history, its parts and its neighbours and more of it "
    description = (words * 4)[:300]
    entities = [
        {"id": f"e{i:03}", "human_readable_id": i, "title": name, "type": "TERM",
         "description": description}
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
    reports = rows(
        "community_reports",
        [
            {"community": i + 1, "level": 1, "parent": 0, "size": SIZE, "title": f"Group {i}",
             "summary": "Pipes.", "full_content": f"# Group {i}\n\nGroup {i} is about pipes.\n"}
            for i in range(GROUPS)
        ],
    )  # fmt: skip
    return corpus, read_sentences(corpus, [0]), reports


@pytest.mark.parametrize("limit", [0, 5, 60, 300, LIMIT, 20_000])
@pytest.mark.parametrize("with_reports", [False, True])
def test_evidence_keeps_the_token_budget(limit: int, with_reports: bool) -> None:
    corpus, sentences, reports = community_of_400(children=True)
    found = gather_evidence(corpus, sentences, 0, limit, reports if with_reports else None)
    assert found.n_tokens == count_tokens(found.text) <= limit
    if limit >= 300:
        assert found.n_tokens > 0.5 * limit or found.left_out == 0


def test_the_most_important_relationships_come_first() -> None:
    corpus, sentences, _ = community_of_400(children=False)
    found = gather_evidence(corpus, sentences, 0, LIMIT)
    strongest = [f"r{i:03}" for i in range(398, -1, -1)]
    assert len(found.relationship_ids) > 5
    assert list(found.relationship_ids) == strongest[: len(found.relationship_ids)]
    assert "e399" in found.entity_ids
    assert "e000" not in found.entity_ids
    assert found.left_out > 0
    assert "-----Sources-----" in found.text
    assert "carries a long account" in found.text


def test_reports_of_children_stand_in_for_their_rows() -> None:
    corpus, sentences, reports = community_of_400(children=True)
    found = gather_evidence(corpus, sentences, 0, LIMIT, reports)
    assert set(found.reports) == set(range(1, GROUPS + 1))
    assert found.text.startswith("-----Reports-----\n# Group 0")
    assert found.entity_ids == ()
    between = [f"r{i * SIZE - 1:03}" for i in range(GROUPS - 1, 0, -1)]
    assert list(found.relationship_ids) == between
    assert found.left_out == 0


def test_all_sources_are_listed_whether_or_not_they_are_quoted() -> None:
    corpus, sentences, reports = community_of_400(children=True)
    for given in (None, reports):
        found = gather_evidence(corpus, sentences, 0, LIMIT, given)
        assert list(found.text_unit_ids) == [f"u{i:03}" for i in range(399)]


def test_evidence_that_fits_is_whole_and_uses_no_report(english: Any) -> None:
    corpus = english.corpus()
    numbers = corpus.communities["community"].to_list()
    found = gather_evidence(corpus, read_sentences(corpus, numbers), 0, 5000, english.reports())
    assert found.reports == ()
    assert found.left_out == 0
    assert set(found.entity_ids) == set(
        english.communities.filter(pl.col("community") == 0)["entity_ids"][0].to_list()
    )
    assert "Ben Okafor checks the seals of the Harbor Project." in found.text
    assert "The weather was fine." not in found.text


def test_chinese_evidence_is_quoted_as_it_stands(chinese: Any) -> None:
    corpus = chinese.corpus()
    found = gather_evidence(corpus, read_sentences(corpus, [0]), 0, 5000)
    assert "\n0,青石云账是面向小企业的记账软件，由陈明的团队开发。" in found.text


def test_evidence_does_not_depend_on_row_order(both: Any) -> None:
    def gathered(world: Any) -> list[Any]:
        corpus = world.corpus()
        numbers = corpus.communities["community"].to_list()
        sentences = read_sentences(corpus, numbers)
        return [gather_evidence(corpus, sentences, number, 200) for number in numbers]

    assert gathered(both.shuffled(1)) == gathered(both.shuffled(2)) == gathered(both)


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
