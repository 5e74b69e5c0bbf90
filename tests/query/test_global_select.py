"""Dynamic selection: branches of the hierarchy that say nothing are not read."""

from __future__ import annotations

import json
import math
from typing import Any

import polars as pl
import pytest
from model_server import ModelServer, said
from query.gathering import (
    check_context,
    kind_of,
    lines_of,
    question,
    reader,
    user_of,
    with_settings,
)

from graphkb.llm.model import Model
from graphkb.query.global_ import first_prompts, global_context
from graphkb.search.snapshot import Snapshot

BREAD = "Who bakes sourdough bread?"


@pytest.fixture(scope="session")
def dynamic(collection: Snapshot) -> Snapshot:
    return with_settings(collection, "global_search", dynamic_selection=True)


def headings(body: dict[str, Any]) -> list[str]:
    return [line for line in user_of(body).splitlines() if line.startswith("# ")]


def asked(server: ModelServer, kind: str) -> list[dict[str, Any]]:
    return [body for body in server.requests if kind_of(body) == kind]


def test_only_relevant_branches_are_followed_and_read(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = reader("sourdough", "Ghent")
    context = global_context(dynamic, question(BREAD, model))
    check_context(dynamic, context)
    communities = dynamic.store.read("communities", ("community", "level", "parent"))
    first, *later = [len(lines_of(body)) for body in asked(server, "ratings")]
    assert first == communities.filter(pl.col("level") == 0).height
    # Both parts of the one relevant branch are read, and no other report.
    read = [row["community"] for row in context.reports]
    branch = communities.filter(pl.col("community").is_in(read))
    assert later == [2]
    assert branch["level"].to_list() == [1, 1]
    assert branch["parent"].n_unique() == 1
    shown = "\n".join(lines_of(asked(server, "points")[0]).values())
    assert "sourdough" in shown
    assert "valve" not in shown


def test_a_branch_whose_parts_say_nothing_is_read_itself(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    rounds = iter(range(9))
    read = reader("sourdough", "Ghent")

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if kind_of(body) == "ratings" and next(rounds) > 0:
            return said(json.dumps({"ratings": [{"id": n, "rating": 0} for n in lines_of(body)]}))
        return read(body)

    server.play = play
    context = global_context(dynamic, question(BREAD, model))
    assert [row["level"] for row in context.reports] == [0]


def test_when_no_coarse_report_is_relevant_their_parts_are_rated(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    rounds = iter(range(9))
    read = reader("sourdough")

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if kind_of(body) == "ratings" and next(rounds) == 0:
            return said(json.dumps({"ratings": [{"id": n, "rating": 0} for n in lines_of(body)]}))
        return read(body)

    server.play = play
    context = global_context(dynamic, question(BREAD, model))
    assert context.points
    assert {row["level"] for row in context.reports} == {1}


def test_nothing_relevant_anywhere_is_no_evidence(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = reader("a word that stands nowhere")
    context = global_context(dynamic, question(BREAD, model))
    assert (context.points, context.reports, context.evidence) == ((), (), 0.0)
    assert asked(server, "points") == []


def test_reports_that_were_not_rated_are_read(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    read = reader("sourdough", "Ada Lin")

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if kind_of(body) == "ratings":
            return said('{"ratings": [{"id": 1, "rating": 0}]}')
        return read(body)

    server.play = play
    context = global_context(dynamic, question("Who is Ada Lin?", model))
    check_context(dynamic, context)
    (shown,) = asked(server, "points")
    assert headings(shown) == headings(asked(server, "ratings")[0])[1:]


def test_ratings_in_prose_leave_the_reports_that_are_relevant_by_words(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    read = reader("sourdough")

    def play(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return said("The first one.") if kind_of(body) == "ratings" else read(body)

    server.play = play
    context = global_context(dynamic, question(BREAD, model))
    check_context(dynamic, context)
    assert context.points
    assert any("no report could be rated" in warning for warning in context.warnings)


@pytest.mark.parametrize("most", [1, 2, 5, 8])
def test_rating_and_reading_share_the_calls(
    collection: Snapshot, server: ModelServer, model: Model, most: int
) -> None:
    server.play = reader("")  # everything is relevant
    bounded = with_settings(
        collection,
        "global_search",
        dynamic_selection=True,
        map_input_tokens=200,
        max_map_calls=most,
    )
    global_context(bounded, question(BREAD, model))
    assert len(server.requests) <= max(most, 2)
    assert len(asked(server, "ratings")) <= math.ceil(most / 2)
    assert asked(server, "points")


def test_no_more_reports_are_rated_than_may_be_read(
    collection: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = reader("")
    bounded = with_settings(collection, "global_search", dynamic_selection=True, max_reports=3)
    context = global_context(bounded, question(BREAD, model))
    assert sum(len(lines_of(body)) for body in asked(server, "ratings")) == 3
    assert len(headings(asked(server, "points")[0])) == 3
    check_context(bounded, context)


def test_the_first_prompts_rate_the_coarsest_reports(
    dynamic: Snapshot, server: ModelServer, model: Model
) -> None:
    server.play = reader("sourdough")
    planned = first_prompts(dynamic, question(BREAD))
    assert [prompt.step for prompt in planned] == ["rate"]
    global_context(dynamic, question(BREAD, model))
    assert user_of(server.requests[0]) == planned[0].user
