"""From the fused order to hits: age, documents' shares, new words, and the text around a hit."""

from __future__ import annotations

import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from query.gathering import question, with_settings
from search.documents import FILES

from graphkb.project import Project
from graphkb.query.compose import compose_answer
from graphkb.query.hybrid import hybrid_context, placed_citations
from graphkb.search.assemble import assemble, document_ages, widen_units
from graphkb.search.hybrid import RankedUnit, search
from graphkb.search.join import retrieve_all
from graphkb.search.selection import narrow
from graphkb.search.snapshot import Snapshot
from graphkb.types import Citation, Hits, Passage, Via


@pytest.fixture(scope="module")
def snapshot(catalogue: Project) -> Snapshot:
    return catalogue._current()


def assembled(snapshot: Snapshot, text: str, top_k: int = 8, **options: Any) -> Hits:
    return search(with_settings(snapshot, "search", **options), text, top_k)


def ids(hits: Hits) -> list[str]:
    return [hit.text_unit_id for hit in hits]


def test_by_default_nothing_is_changed(snapshot: Snapshot) -> None:
    hits = assembled(snapshot, "turbine oil refund")
    assert "assemble" not in [step.name for step in hits.trace]
    assert all(hit.wider is None for hit in hits)
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))


@pytest.mark.parametrize("most", [1, 2])
def test_a_document_gives_at_most_its_share_and_others_move_up(
    snapshot: Snapshot, most: int
) -> None:
    text = "turbine mechanic oil blade team sheet refund"
    plain = assembled(snapshot, text, 4)
    assert [hit.path for hit in plain].count("manual.md") > most
    capped = assembled(snapshot, text, 4, max_per_doc=most)
    assert len(capped) == 4
    assert [hit.path for hit in capped].count("manual.md") == most
    assert capped[0] == plain[0]
    assert [hit.rank for hit in capped] == [1, 2, 3, 4]
    (step,) = (step for step in capped.trace if step.name == "assemble")
    assert f"beyond {most} per document" in step.detail


def test_the_share_holds_over_several_wordings_and_one_leg_alone(snapshot: Snapshot) -> None:
    narrow_share = with_settings(snapshot, "search", max_per_doc=1)
    joined = retrieve_all(narrow_share, "turbine oil", ["mechanic sheet", "退款规则"], 6).joined
    documents = [row["document_id"] for row in snapshot.units(u.text_unit_id for u in joined.units)]
    assert len(documents) == len(set(documents)) > 1
    alone = search(narrow_share, "turbine oil refund", 8, "lexical")
    assert [hit.path for hit in alone].count("manual.md") == 1


def test_newer_documents_rise_by_the_half_life(snapshot: Snapshot) -> None:
    text = "refund 退款 rules"
    plain = {hit.path: hit.score for hit in assembled(snapshot, text, 20)}
    aged = {hit.path: hit.score for hit in assembled(snapshot, text, 20, recency=365)}
    assert aged["faq/refund.md"] == pytest.approx(plain["faq/refund.md"])
    # 5 March 2024 is 278 days after 1 June 2023, and 785 after 10 January 2022.
    assert aged["faq/shipping.md"] == pytest.approx(plain["faq/shipping.md"] * 2 ** (-278 / 365))
    assert aged["zh/退款.md"] == pytest.approx(plain["zh/退款.md"] * 2 ** (-785 / 365))
    # Without a date: as old as the median document.
    assert aged["travel.md"] == pytest.approx(plain["travel.md"] * 2 ** (-278 / 365))


def test_ages_count_from_the_newest_document_and_read_what_people_write() -> None:
    rows: list[dict[str, Any]] = [
        {"id": "a", "metadata": {"Updated_At": "2024-03-11"}, "creation_date": "2020-01-01"},
        {"id": "b", "metadata": {"更新日期": "2024年3月1日"}, "creation_date": None},
        {"id": "c", "metadata": {}, "creation_date": "2024-03"},
        {"id": "d", "metadata": {"updated_at": "soon"}, "creation_date": None},
        {"id": "e", "metadata": {"updated_at": "2024-02-31"}, "creation_date": "2024-03-09"},
    ]
    assert document_ages(rows) == {"a": 0, "b": 10, "c": 10, "e": 2}
    assert document_ages([]) == {}


def ranked(*scores: tuple[str, float]) -> list[RankedUnit]:
    return [
        RankedUnit(rank, unit_id, score, {"lexical": Via(rank, score)})
        for rank, (unit_id, score) in enumerate(scores, 1)
    ]


def test_scores_below_zero_fall_with_age_too(snapshot: Snapshot) -> None:
    by_path = {hit.path: hit.text_unit_id for hit in assembled(snapshot, "refund 退款", 20)}
    old, new = by_path["zh/退款.md"], by_path["faq/refund.md"]
    units = ranked((old, -1.0), (new, -1.1), ("unknown", -9.0))
    aged = with_settings(snapshot, "search", recency=30)
    assert [unit.text_unit_id for unit in assemble(aged, units, 3)[0]] == [new, old, "unknown"]


@pytest.mark.parametrize(
    ("first", "again", "other"),
    [
        ("Osprey pays a refund of 20 euros.", "Osprey pays a refund of 21 euros.", "Osprey ends."),
        ("鱼鹰项目退款二十元。", "鱼鹰项目退款二十一元。", "鱼鹰项目在卑尔根。"),
    ],
)
def test_diversity_prefers_new_words_to_a_near_copy(
    project: Path, first: str, again: str, other: str
) -> None:
    for name, text in (("first", first), ("again", again), ("other", other)):
        (project / "input" / f"{name}.txt").write_text(text, "utf8")
    with Project(project, ["embed.when=off"]) as kb:
        kb.index()
        text = first.rstrip(".。")
        plain = assembled(kb._current(), text, 3, legs=["lexical"])
        spread = assembled(kb._current(), text, 3, legs=["lexical"], diversity=0.7)
    assert [hit.path for hit in plain] == ["first.txt", "again.txt", "other.txt"]
    assert [hit.path for hit in spread] == ["first.txt", "other.txt", "again.txt"]


def test_neighbours_stand_round_the_match_and_its_own_span_stays(snapshot: Snapshot) -> None:
    text = "mechanic of team 3 signs sheet 3"
    (plain,) = assembled(snapshot, text, 1)
    (hit,) = assembled(snapshot, text, 1, expand="neighbours", expand_tokens=200)
    assert replace(hit, wider=None) == plain
    assert hit.wider is not None
    manual = catalogue_text(snapshot, hit.document_id)
    assert hit.wider.text == manual[hit.wider.char_start : hit.wider.char_end]
    assert hit.wider.char_start < hit.char_start < hit.char_end < hit.wider.char_end
    assert hit.text in hit.wider.text
    parts = [part.text_unit_id for part in hit.wider.parts]
    assert hit.text_unit_id in parts
    assert len(parts) == len(set(parts)) > 2
    tokens = {row["id"]: row["n_tokens"] for row in snapshot.units(parts)}
    assert sum(tokens.values()) <= 200


def catalogue_text(snapshot: Snapshot, document_id: str) -> str:
    return str(snapshot.store.where("documents", "id", [document_id], ("text",))["text"][0])


def test_a_section_goes_no_further_than_its_headings(snapshot: Snapshot) -> None:
    text = "mechanic of team 3 signs sheet 3"
    (hit,) = assembled(snapshot, text, 1, expand="parent", expand_tokens=5_000)
    shown = hit.wider.text if hit.wider else hit.text
    assert "sheet 3" in shown
    assert "sheet 2" not in shown
    assert "sheet 4" not in shown


def test_nothing_is_taken_beyond_the_budget_or_a_filter(snapshot: Snapshot) -> None:
    text = "mechanic of team 3 signs sheet 3"
    (hit,) = assembled(snapshot, text, 1, expand="neighbours", expand_tokens=1)
    assert hit.wider is None
    part = narrow(snapshot, "heading = 'Part 3'")
    for found in assembled(part, text, 3, expand="neighbours", expand_tokens=5_000):
        shown = found.wider.text if found.wider else found.text
        assert "sheet 2" not in shown
        assert "sheet 4" not in shown


def test_a_text_unit_stands_in_one_context_passage_only(snapshot: Snapshot) -> None:
    wide = with_settings(snapshot, "search", expand="neighbours", expand_tokens=150)
    context = hybrid_context(wide, question("Which oil does the mechanic use in month 3?"))
    held = [
        unit_id
        for passage in context.passages
        for unit_id in ([p.text_unit_id for p in passage.parts] or [passage.text_unit_id])
    ]
    assert len(held) == len(set(held))
    assert any(passage.parts for passage in context.passages)
    rows = snapshot.units(held)
    assert widen_units(snapshot, rows) == {}


def test_an_answer_cites_the_unit_that_holds_the_quote(catalogue: Project) -> None:
    wide = copy.copy(catalogue)
    wide.settings = catalogue.settings.model_copy(
        update={
            "search": catalogue.settings.search.model_copy(
                update={"expand": "neighbours", "expand_tokens": 400}
            )
        }
    )
    wide._snapshot = None
    answer = wide.query("Who signs sheet 3, and which oil is used in month 4?", method="hybrid")
    assert answer.citations
    for citation in answer.citations:
        (row,) = catalogue._current().units([citation.text_unit_id])
        assert row["char_start"] <= citation.char_start < row["char_end"]
        assert citation.quote in catalogue_text(catalogue._current(), citation.document_id)


def test_a_citation_of_a_plain_passage_stays_as_it_is() -> None:
    citation = Citation(1, "u1", "d1", "T", "t.md", "h", None, 5, 9, "text")
    passage = Passage("text_unit", "some text", 1.0, "u1", "d1", "T", "t.md", "h", None, 0, 9)
    assert placed_citations([citation], [passage]) == (citation,)


def test_the_best_sources_stand_at_the_ends(snapshot: Snapshot) -> None:
    asked = question("turbine mechanic oil refund 退款")
    context = hybrid_context(snapshot, asked)
    best = context.passages
    assert len(best) > 4
    at_ends = with_settings(snapshot, "search", order="best_at_ends")
    made = compose_answer(at_ends, asked, context)
    assert made.passages[0] == best[0]
    assert made.passages[-1] == best[1]
    assert made.passages[1] == best[2]
    assert sorted(p.text for p in made.passages) == sorted(p.text for p in best)
    assert compose_answer(snapshot, asked, context).passages == best


def test_the_collection_has_what_these_tests_are_about(snapshot: Snapshot) -> None:
    assert snapshot.manifest.counts["documents"] == len(FILES)
    assert snapshot.manifest.counts["text_units"] > len(FILES) + 3
