"""Reading the JSON of models that keep to it more or less."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from graphkb.query.replies import (
    Draft,
    StepReply,
    read_points,
    read_questions,
    read_ratings,
    read_step,
)

CASES = Path(__file__).parents[1] / "data" / "cases" / "replies" / "map"


@pytest.mark.parametrize(
    ("name", "points"),
    [
        ("points_empty", ()),
        ("points_missing", ()),
        ("points_list", (Draft("Ada leads", 80.0),)),
        ("points_string", (Draft("Ada leads", 50.0),)),
        (
            "score_text",
            (Draft("Ada", 85.0), Draft("Bo", 50.0), Draft("Cy", 50.0), Draft("Di", 100.0)),
        ),
    ],
)
def test_map_replies_of_case_g11_give_what_can_be_used(
    name: str, points: tuple[Draft, ...]
) -> None:
    assert read_points((CASES / f"{name}.json").read_text("utf8")) == points


@pytest.mark.parametrize(
    ("score", "read"),
    [
        (0, None), (-5, None), ("0/100", None), (0.5, 0.5), (70, 70.0), ("70", 70.0),
        ("8/10", 80.0), ("4 out of 5", 80.0), ("35%", 35.0), (True, 50.0), (None, 50.0),
        ("很高", 50.0), ([], 50.0),
        (1e400, 50.0), ("5/0", 50.0),
    ],
)  # fmt: skip
def test_scores_are_read_in_any_shape_and_zero_is_no_point(
    score: object, read: float | None
) -> None:
    reply = json.dumps({"points": [{"description": "a", "score": score}]})
    assert read_points(reply) == (() if read is None else (Draft("a", read),))


@pytest.mark.parametrize(
    ("sources", "read"),
    [
        ([2, 1, 2], (2, 1)), ("[3], [4]", (3, 4)), (5, (5,)), (["line 6", 7.0], (6, 7)),
        ([None, True, {}], ()), (None, ()), ("9" * 40, ()),
    ],
)  # fmt: skip
def test_sources_are_read_in_any_shape(sources: object, read: tuple[int, ...]) -> None:
    reply = json.dumps({"points": [{"description": "a", "score": 9, "sources": sources}]})
    assert read_points(reply) == (Draft("a", 9.0, read),)


def test_marks_in_a_description_are_its_sources_and_no_part_of_it() -> None:
    reply = '{"points": [{"description": "Ada leads [2, 3]. [Data: Reports (1)]", "score": 9}]}'
    assert read_points(reply) == (Draft("Ada leads.", 9.0, (2, 3, 1)),)


def test_chinese_keys_and_full_width_punctuation_are_read() -> None:
    assert read_points('{"要点": [{"描述": "陈明批准", "评分": "85分", "来源": [1]}]}') == (
        Draft("陈明批准", 85.0, (1,)),
    )
    assert read_points("｛“points”：［｛“description”：“陈明”，“score”：80｝］｝") == (
        Draft("陈明", 80.0),
    )


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"points": [{"description": "Ada", "score": 80}]}\n```',
        'By [1] and {this}: {"points": [{"description": "Ada", "score": 80}]} Done.',
        "{'points': [{'description': 'Ada', 'score': 80,}]}",
        '{"points": [{"description": "Ada", "score": 80}, ',
        '\ufeff{"points": {"description": "Ada", "score": 80}}',
        '[{"point": "Ada", "rating": 80}]',
    ],
)
def test_json_is_found_and_mended(reply: str) -> None:
    assert read_points(reply) == (Draft("Ada", 80.0),)


@pytest.mark.parametrize("read", [read_points, read_ratings, read_questions, read_step])
@pytest.mark.parametrize("reply", ["", "Ada leads the project.", "see [1] and {project}"])
def test_a_reply_without_json_is_an_error(read: Callable[[str], object], reply: str) -> None:
    with pytest.raises(ValueError, match=r"no JSON in the reply|is empty"):
        read(reply)


@pytest.mark.parametrize(
    "reply",
    [
        '{"ratings": [{"id": 1, "rating": 7}, {"id": 2, "rating": 0}, {"id": 3, "rating": 10}]}',
        '{"ratings": [7, 0, 30]}',
        "[7, 0, 10]",
        '{"1": 7, "2": "0", "3": "10/10"}',
        '{"ratings": {"1": 7, "2": 0, "3": 10}}',
        '[{"number": "1", "score": "7/10"}, {"id": 2, "score": -1}, {"id": 3, "score": "100%"}]',
    ],
)
def test_ratings_are_read_in_any_shape(reply: str) -> None:
    assert read_ratings(reply) == {1: 7.0, 2: 0.0, 3: 10.0}


def test_ratings_that_say_nothing_are_left_out() -> None:
    reply = '{"ratings": [{"id": 1, "rating": "high"}, {"rating": 4}, {"id": 3, "rating": 4}]}'
    assert read_ratings(reply) == {3: 4.0}
    assert read_ratings('{"answer": "the first one"}') == {}


def test_steps_hold_points_and_questions_each_of_which_may_be_missing() -> None:
    both = '{"points": [{"description": "Ada", "score": 80}], "follow_ups": ["Who?", 3, "Who?"]}'
    assert read_step(both) == StepReply((Draft("Ada", 80.0),), ("Who?",))
    assert read_step('{"follow_ups": "What\\nnext?"}') == StepReply((), ("What next?",))
    assert read_step('{"answer": 1}') == StepReply(())


def test_a_question_is_one_line_of_bounded_length() -> None:
    assert read_questions(json.dumps({"questions": ["a\n\nb", "x" * 900]})) == ("a b", "x" * 300)
    assert read_questions('["退款几天到账？"]') == ("退款几天到账？",)


@pytest.mark.parametrize("sentence", ["Ada Lin leads Osprey. ", "陈明负责云账系统的退款模块。"])
def test_a_long_point_ends_with_a_sentence(sentence: str) -> None:
    (point,) = read_points(json.dumps({"points": [{"description": sentence * 20_000}]}))
    assert 900 < len(point.text) <= 1000
    assert (sentence * 20_000).startswith(point.text)
    assert point.text.endswith(sentence.strip())


@pytest.mark.parametrize("text", ["word " * 900, "退款" * 900])
def test_a_long_point_without_sentences_is_cut_and_says_so(text: str) -> None:
    (point,) = read_points(json.dumps({"points": [{"description": text}]}))
    assert 900 < len(point.text) <= 1000
    assert point.text.endswith(" …")
