"""JSON out of replies, and made to fit a schema."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import REPLIES

from graphkb.llm.lenient import read_lenient
from graphkb.llm.structured import json_parser, parse_json

REPORT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "title": {"type": "string"},
        "summary": {"type": "string"},
        "rating": {"type": "number", "minimum": 0, "maximum": 10},
        "rating_explanation": {"type": "string"},
        "findings": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"summary": {"type": "string"}, "explanation": {"type": "string"}},
                "required": ["summary"],
            },
        },
    },
    "required": ["title", "summary", "rating"],
}
POINTS: dict[str, Any] = {
    "type": "object",
    "properties": {
        "points": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "description": {"type": "string"},
                    "score": {"type": "integer", "minimum": 0, "maximum": 100},
                },
                "required": ["description"],
            },
        }
    },
    "required": ["points"],
}
GOOD = {
    "title": "Meter group", "summary": "Bluestone and Ada Lin.", "rating": 6.5,
    "rating_explanation": "Medium.",
    "findings": [{"summary": "Lead", "explanation": "Ada leads [Data: Entities (1)]."}],
}  # fmt: skip


def report(name: str) -> dict[str, Any]:
    text = (REPLIES / "report" / f"{name}.txt").read_text("utf-8")
    return json_parser(REPORT)(text)


def points(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json_parser(POINTS)(text)["points"]
    return found


@pytest.mark.parametrize(
    "name",
    ["fence", "prose", "think", "bom", "doubled_braces", "two_objects", "list_wrapped",
     "wrapped_key", "trailing_comma", "single_quotes"],
)  # fmt: skip
def test_the_same_report_however_it_is_wrapped(name: str) -> None:
    """Cases G01 and G02."""
    assert report(name) == GOOD


def test_what_stands_inside_strings_is_kept() -> None:
    """Cases G02 and G03."""
    assert report("raw_newline")["findings"][0]["explanation"].startswith("Ada\nleads\there")
    assert report("inner_quotes") == {**GOOD, "rating_explanation": 'the "boss" role'}
    wide = {"summary": "Lead", "explanation": "Ada leads [Data： Entities (1)]."}
    assert report("fullwidth_punct") == {**GOOD, "findings": [wide]}
    latex = r"Cost \alpha \_x \frac{1}{2}"
    assert report("bad_escape") == {**GOOD, "rating_explanation": latex}
    assert report("frac_only") == {**GOOD, "rating_explanation": r"Ratio \frac{1}{2} and \beta"}


def test_pythons_literals_are_read_and_a_missing_title_is_told() -> None:
    text = (REPLIES / "report" / "python_literals.txt").read_text("utf-8")
    found = parse_json(text)
    assert (found["title"], found["findings"], found["ok"]) == (None, [], True)
    with pytest.raises(ValueError, match="title is missing"):
        json_parser(REPORT)(text)


def test_complete_pairs_of_a_cut_reply_are_kept() -> None:
    """Case G13."""
    found = parse_json((REPLIES / "report" / "cut.txt").read_text("utf-8"))
    assert found == {**GOOD, "findings": [{"summary": "Lead"}]}


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ('{"a": 1, "b": "cut he', {"a": 1}),
        ('{"a": 1, "b": [1, 2, 3', {"a": 1, "b": [1, 2]}),
        ('{"a": {"b": {"c": "done", "d": tr', {"a": {"b": {"c": "done"}}}),
        ('{"甲": "乙", "丙": "丁', {"甲": "乙"}),
        ('[{"a": "x"}, {"a": "y', [{"a": "x"}]),
        ('{"a": "x", ', {"a": "x"}),
        ('{"a": "x"', {"a": "x"}),
    ],
)
def test_a_cut_anywhere_loses_only_what_was_not_whole(text: str, kept: Any) -> None:
    assert parse_json(text) == kept


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("points_list", [{"description": "Ada leads", "score": 80}]),
        ("points_string", [{"description": "Ada leads"}]),
        ("points_empty", []),
        ("score_text", [{"description": "Ada", "score": 85}, {"description": "Bo"},
                        {"description": "Cy"}, {"description": "Di", "score": 100}]),
    ],
)  # fmt: skip
def test_points_in_odd_shapes(name: str, expected: list[dict[str, Any]]) -> None:
    """Case G11."""
    assert points((REPLIES / "map" / f"{name}.json").read_text("utf-8")) == expected


def test_points_that_are_missing_are_told() -> None:
    with pytest.raises(ValueError, match="points is missing"):
        points((REPLIES / "map" / "points_missing.json").read_text("utf-8"))


@pytest.mark.parametrize(
    "text",
    [
        "As noted [1] and [2, 3]: {}",
        "For {project} and {{name}} I found this. {}",
        "```\n{}\n```\nThis is [1] my answer.",
        "<think>maybe {{'points': [{{'description': 'wrong'}}]}}</think>{}",
        "先想想：不对。</think>\n{}",
        "<thinking>a</thinking>\n<think>b</think>\n{}",
        "好的，结果如下：\n{}\n请查收。",
    ],
)
def test_the_object_is_found_in_what_stands_around_it(text: str) -> None:
    inner = '{"points": [{"description": "甲领导乙", "score": 7}]}'
    assert points(text.replace("{}", inner)) == [{"description": "甲领导乙", "score": 7}]


@pytest.mark.parametrize(
    "text",
    [
        '{"points": [{"description": "a" "score": 3}]}',
        '{"points": [{"description": "a"\n"score": 3},]}',
        "{points: [{description: 'a', score: 3}]}",
        '{"points"：[{"description"：“a”，"score"：3}]}',
        "{“points”：［｛“description”：“a”，“score”：3｝］}",
        '{"points": [{"description": "a", "score": 3, // fine\n}]}',
        '{"points": [{"description": "a", "score": "3分"}]}',
        '{"points": [{"Description": "a", "SCORE": 3.2}]}',
        '{"result": {"points": [{"description": "a", "score": 3}]}}',
        '[{"points": [{"description": "a", "score": 3}]}]',
        '{"points": {"description": "a", "score": 3}}',
        '{"description": "a", "score": 3}',
        '{{"points": [{{"description": "a", "score": 3}}]}}',
        '"{\\"points\\": [{\\"description\\": \\"a\\", \\"score\\": 3}]}"',
        '{\\"points\\": [{\\"description\\": \\"a\\", \\"score\\": 3}]}',
        '{"points": [{"description": "a", "score": 3}]',
        '{"points": [{"description": "a", "score": 3}}',
        '{"points": [{"description": "a", "score": 3}], "note": NaN}',
    ],
)
def test_what_weak_models_write_is_read(text: str) -> None:
    assert points(text) == [{"description": "a", "score": 3}]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"a": "他说“好，的”，然后走了"}', "他说“好，的”，然后走了"),
        ('{"a": "he said "yes", and left"}', 'he said "yes", and left'),
        ("{'a': 'it's Ada's'}", "it's Ada's"),
        ('{"a": "C:\\new \\users"}', "C:\new \\users"),
        ('{"a": "line\\nnext \\t tab \\u4f60 \\" \\\\ \\/"}', 'line\nnext \t tab 你 " \\ /'),
        (r'{"a": "\theta \times \nabla \rho \text{x} \binom{n}{k}"}',
         r"\theta \times \nabla \rho \text{x} \binom{n}{k}"),
        (r'{"a": "one\ntwo\not\nnot\tthree\rfour"}', "one\ntwo\\not\nnot\tthree\rfour"),
        (r'{"a": "\\frac stays"}', r"\frac stays"),
    ],
)  # fmt: skip
def test_quotes_and_backslashes_inside_text(text: str, said: str) -> None:
    assert parse_json(text) == {"a": said}


@pytest.mark.parametrize(
    ("text", "wrong"),
    [
        ("", "empty"),
        ("  \n\ufeff", "empty"),
        ("I cannot help with that.", "it begins 'I cannot help"),
        ("对不起，我不能回答。", "对不起"),
        ('<think>{"points": []}', "inside its thoughts"),
        ("[" * 100_000, "nested"),
        ('{"a":' * 100_000, "nested"),
    ],
)
def test_what_is_no_json_says_what_is_wrong(text: str, wrong: str) -> None:
    with pytest.raises(ValueError, match=wrong):
        parse_json(text)


def test_without_a_schema_lists_are_taken_too() -> None:
    assert parse_json('["a", "b"]') == ["a", "b"]
    assert parse_json("[1, 2]") == [1, 2]


def test_the_first_object_that_fits_wins() -> None:
    text = '{"note": "first"} {"points": []} {"points": [{"description": "late"}]}'
    assert points(text) == []


VALUE = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text(max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(min_size=1, max_size=6), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text(min_size=1, max_size=6), VALUE, min_size=1, max_size=4))
@settings(max_examples=80, deadline=None)
def test_correct_json_is_read_as_it_is(value: dict[str, Any]) -> None:
    for text in (json.dumps(value), json.dumps(value, ensure_ascii=False, indent=1)):
        if "\\" not in text:
            assert parse_json(f"Sure:\n{text}\nDone.") == value


@given(
    st.dictionaries(st.sampled_from("abcde"), VALUE, min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 400), st.sampled_from("{}[]\",':\\x，“”")), max_size=6),
    st.integers(0, 400),
)
@settings(max_examples=150, deadline=None)
def test_broken_json_gives_a_value_or_says_what_is_wrong(
    value: dict[str, Any], changes: list[tuple[int, str]], end: int
) -> None:
    text = json.dumps(value, ensure_ascii=False)
    for place, character in changes:
        place %= len(text)
        text = text[:place] + character + text[place + 1 :]
    for broken in (text, text[:end]):
        found: Any = None
        wrong = ""
        try:
            found = parse_json(broken, POINTS)
        except ValueError as error:
            wrong = str(error)
        assert isinstance(found, dict | list) != bool(wrong)


def test_a_long_string_of_quotes_is_read_in_time() -> None:
    assert parse_json('{"a": "' + '"x ' * 20_000 + '"}')["a"].count("x") == 20_000


def test_the_lenient_reader_says_where_it_stopped() -> None:
    text = "{'a': [1, 2]} tail"
    assert read_lenient(text) == ({"a": [1, 2]}, text.index(" tail"))
    with pytest.raises(ValueError, match="character 1"):
        read_lenient("{:}")
