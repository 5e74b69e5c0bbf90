"""Points, the sources they name, and the sentences they are quoted with."""

from __future__ import annotations

import polars as pl
import pytest
from query.gathering import passages_of

from graphkb.query.points import Found, find_sources, gather_points
from graphkb.query.replies import Draft
from graphkb.query.sources import Entry, Source, deal, entry_cost, passage_entry, shortened, shown
from graphkb.search.snapshot import Snapshot
from graphkb.types import Passage


def unit_of(snapshot: Snapshot, words: str) -> str:
    """The text unit that holds these words."""
    units = snapshot.store.read("text_units", ("id", "text"))
    found: list[str] = units.filter(pl.col("text").str.contains(words, literal=True))[
        "id"
    ].to_list()
    assert len(found) == 1
    return found[0]


def test_a_point_is_quoted_with_the_sentences_that_say_it(collection: Snapshot) -> None:
    valve = Source("a report on valves", (unit_of(collection, "4,100 euros"),))
    told = "Northern Seals replaced the valve of T-07, which had failed in May 2021."
    gathered = gather_points(collection, [Found(told, 80.0, (valve,))], 1000)
    assert passages_of(gathered) == [
        [
            "The valve of turbine T-07 failed on 3 May 2021.",
            "Northern Seals replaced the valve.",
        ]
    ]
    assert gathered.evidence == 0.8


def test_a_point_in_another_language_is_quoted_by_what_its_source_says(
    collection: Snapshot,
) -> None:
    unit = unit_of(collection, "4,100 euros")
    source = Source("Northern Seals charged Bluestone 4,100 euros.", (unit,))
    gathered = gather_points(collection, [Found("更换花费四千余元。", 80.0, (source,))], 1000)
    assert passages_of(gathered)[0][0] == "Northern Seals charged Bluestone 4,100 euros."


def test_headings_are_never_quoted(collection: Snapshot) -> None:
    source = Source("Valve failure", (unit_of(collection, "4,100 euros"),))
    gathered = gather_points(collection, [Found("A valve failure", 80.0, (source,))], 1000)
    assert all(not text.startswith("#") for texts in passages_of(gathered) for text in texts)
    assert gathered.points


def test_points_that_rest_on_nothing_are_left_out_and_counted(collection: Snapshot) -> None:
    gone = Source("a unit that is not there", ("no-such-unit",))
    found = [Found("Ada leads", 90.0, ()), Found("Ada left", 90.0, (gone,))]
    gathered = gather_points(collection, found, 1000)
    assert (gathered.points, gathered.passages, gathered.baseless) == ((), (), 2)
    assert gathered.evidence == 0.0


def test_points_share_passages_and_the_same_words_are_said_once(collection: Snapshot) -> None:
    unit = Source("", (unit_of(collection, "Ada Lin leads"),))
    found = [
        Found("Ada Lin leads Osprey.", 70.0, (unit,)),
        Found("ada lin  leads osprey.", 90.0, (unit,)),
        Found("Who leads Osprey is Ada Lin.", 60.0, (unit,)),
    ]
    gathered = gather_points(collection, found, 1000)
    assert [(point.score, point.passages) for point in gathered.points] == [
        (90.0, (0,)),
        (60.0, (0,)),
    ]
    assert [p.text for p in gathered.passages] == ["Ada Lin leads the Osprey project at Bluestone."]


def test_the_best_points_within_the_budget_are_kept_and_the_first_always(
    collection: Snapshot,
) -> None:
    ada = Source("", (unit_of(collection, "Ada Lin leads"),))
    oil = Source("", (unit_of(collection, "Otto Brandt tested"),))
    found = [Found("Otto Brandt tested HX-7.", 50.0, (oil,)), Found("Ada Lin leads.", 60.0, (ada,))]
    everything = gather_points(collection, found, 1000)
    assert [point.score for point in everything.points] == [60.0, 50.0]
    small = gather_points(collection, found, 1)
    assert [point.score for point in small.points] == [60.0]
    assert small.left_out == 1
    assert small.n_tokens < everything.n_tokens <= 1000


def test_unknown_numbers_are_dropped_and_known_ones_kept(collection: Snapshot) -> None:
    sources = [Source("a", ("u1",)), Source("b", ("u2",))]
    found = find_sources(collection, [Draft("x", 80.0, (2, 3, 0, -1))], sources)
    assert found == [Found("x", 80.0, (sources[1],))]


@pytest.mark.parametrize(
    ("text", "place"),
    [("Ada Lin leads the Osprey project", 0), ("退款在七天内到账", 1), ("Napoleon lost", None)],
)
def test_a_point_without_numbers_gets_the_source_that_says_it(
    collection: Snapshot, text: str, place: int | None
) -> None:
    sources = [
        Source("The Osprey project at Bluestone is led by Ada Lin.", ("u1",)),
        Source("云账系统的退款在七天内到账。", ("u2",)),
    ]
    found = find_sources(collection, [Draft(text, 80.0)], sources)
    assert found[0].sources == (() if place is None else (sources[place],))


def entry(name: str, words: int, sources: int = 1) -> Entry:
    return Entry(name, tuple(Source("word " * words, (name,)) for _ in range(sources)))


def test_entries_are_dealt_first_ones_first_and_evenly() -> None:
    entries = [entry(name, 40) for name in "abcdef"]
    calls, left_out = deal(entries, 2 * entry_cost(entries[0]), 2)
    assert [[e.heading for e in call] for call in calls] == [["a", "c"], ["b", "d"]]
    assert left_out == 2
    calls, left_out = deal(entries[:2], 2 * entry_cost(entries[0]), 8)
    assert [[e.heading for e in call] for call in calls] == [["a", "b"]]
    assert left_out == 0
    assert deal([], 100, 8) == ([], 0)


def test_a_long_entry_loses_its_last_sources_then_its_end() -> None:
    long = entry("a", 50, sources=4)
    short = shortened(long, 150)
    assert 0 < len(short.sources) < 4
    assert entry_cost(short) <= 150
    cut = shortened(entry("b", 500), 60)
    assert entry_cost(cut) <= 60
    assert cut.sources[0].text.startswith("word word")
    assert deal([entry("c", 500)], 60, 1)[1] == 0


def test_brackets_and_lines_of_a_document_cannot_pass_for_numbered_sources() -> None:
    text = "See [2].\n[1] Ada is a fraud [^3].\n\n| a | b |\n| 1 | 2 |"
    passage = Passage("text_unit", text, 1.0, "u", "d", "Title", "p", "Part", None, 0, len(text))
    assert shown([passage_entry(passage)]) == (
        "# Title › Part\n[1] See (2). (1) Ada is a fraud (^3).\n| a | b |\n| 1 | 2 |"
    )
