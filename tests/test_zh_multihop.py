"""The Chinese multi-hop set of benchmarks/zh_multihop keeps what its README promises."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from graphkb.evaluate.questions import read_questions
from graphkb.text.names import fold

SET = Path(__file__).parent.parent / "benchmarks" / "zh_multihop"
QUERIES: list[dict[str, Any]] = [
    json.loads(line) for line in (SET / "queries.jsonl").read_text("utf-8").splitlines()
]
ROWS: list[dict[str, str]] = [
    json.loads(line)
    for file in sorted((SET / "input").glob("*.jsonl"))
    for line in file.read_text("utf-8").splitlines()
]
PASSAGES = {row["id"]: row for row in ROWS}


@cache
def folded(passage_id: str) -> str:
    """Title and text in simplified characters and one width."""
    row = PASSAGES[passage_id]
    return fold(f"{row['title']}\n{row['text']}")


def by_id(query: dict[str, Any]) -> str:
    return str(query["id"])


def test_it_is_large_enough_and_nothing_stands_twice() -> None:
    assert len(ROWS) >= 300
    assert len(QUERIES) >= 70
    for values in (
        [row["id"] for row in ROWS],
        [row["title"] for row in ROWS],
        [row["text"] for row in ROWS],
        [query["id"] for query in QUERIES],
        [query["query"] for query in QUERIES],
    ):
        assert [value for value, count in Counter(values).items() if count > 1] == []


def test_passages_are_paragraphs() -> None:
    assert [row["id"] for row in ROWS if not 60 <= len(row["text"]) <= 200] == []


def test_questions_are_of_every_type_and_of_two_to_four_hops() -> None:
    assert {query["type"] for query in QUERIES} == {
        "bridge", "comparison", "constraint", "temporal"
    }  # fmt: skip
    hops = Counter(query["hops"] for query in QUERIES)
    assert hops.keys() == {2, 3, 4}
    assert hops[3] + hops[4] >= hops[2]
    assert [q["id"] for q in QUERIES if len(set(q["relevant"])) != q["hops"]] == []


def test_the_evaluation_reads_every_question() -> None:
    found = read_questions(SET / "queries.jsonl")
    assert len(found.questions) == len(QUERIES)
    assert found.refused == ()


@pytest.mark.parametrize("query", QUERIES, ids=by_id)
def test_the_answer_stands_in_the_last_passage_and_not_in_the_question(
    query: dict[str, Any],
) -> None:
    assert query["relevant"][-1] in PASSAGES
    assert set(query["relevant"]) <= PASSAGES.keys()
    assert fold(query["answer"]) in folded(query["relevant"][-1])
    assert fold(query["answer"]) not in fold(query["query"])


@pytest.mark.parametrize("query", QUERIES, ids=by_id)
def test_one_passage_is_not_enough(query: dict[str, Any]) -> None:
    """No passage holds what the question names together with the answer."""
    names = [fold(name) for name in query["names"]]
    assert all(name in fold(query["query"]) for name in names)
    wanted = [fold(query["answer"]), *names]
    assert [p for p in PASSAGES if all(word in folded(p) for word in wanted)] == []


@pytest.mark.parametrize("query", QUERIES, ids=by_id)
def test_the_question_quotes_no_title(query: dict[str, Any]) -> None:
    question = fold(query["query"])
    assert [row["title"] for row in ROWS if fold(row["title"]) in question] == []
