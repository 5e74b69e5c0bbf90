"""The filter language: what it means, and what it says of mistakes."""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.errors import UsageError
from graphkb.search.values import Scalar
from graphkb.search.where import MAX_LENGTH, comparisons_of, parse_filter

ROW: Mapping[str, Sequence[Scalar]] = {
    "category": ["refund"],
    "updated_at": ["2024-05-31T10:00:00Z"],
    "created": ["2024年3月5日"],
    "priority": [3],
    "ratio": ["0.5"],
    "tags": ["money", "en"],
    "部门": ["财务"],
    "dc.date": ["2024/1/2"],
    "open": [True],
    "path": ["zh/退款 规则.md"],
    "year": ["1999"],
    "serial": ["9007199254740993"],
    "name": ["NaN"],
}


def holds(text: str) -> bool:
    return parse_filter(text).holds(lambda key: ROW.get(key, ()))


@pytest.mark.parametrize(
    "text",
    [
        "category = 'refund' and updated_at >= '2024-01-01'",
        "category in ('a', 'refund') AND NOT category = 'x'",
        "部门 = '财务' and created < '2024-04'",
        "部门＝“财务”　and （priority >= 3 or priority < 0）",
        'dc.date = \'2024-01-02\' and "dc.date" like "2024%"',
        "updated_at <= '2024-05' and updated_at <= '2024-05-31' and updated_at > '2024-05-30'",
        "updated_at >= 2024 and created = '2024'",
        "priority = 3 and priority = '3' and priority != 10 and priority < 10",
        "ratio = 0.5 and ratio > -1",
        "tags = 'en' and tags = 'money' and tags != 'zh' and tags not in ('zh', 'fr')",
        "open = true and open != false",
        "missing is null and category is not null and not missing = 'x'",
        "path like 'ZH/%' and path like '%规则._d' and path not like '%.txt'",
        "`category` == 'refund' and category <> 'x'",
        "a = 1 or category = 'refund' and priority = 3",
        "year < 2000",
        "serial = 9007199254740993 and serial > 9007199254740992",
        "priority < 1" + "0" * 400,
        "name = 'NaN' and name != 'nan'",
    ],
)
def test_a_filter_that_holds(text: str) -> None:
    assert holds(text)


@pytest.mark.parametrize(
    "text",
    [
        "category = 'Refund'",
        "missing != 'x'",
        "missing not in ('x')",
        "missing not like 'x%'",
        "updated_at > '2024-05'",
        "tags != 'en'",
        "priority < 10 and (category = 'x' or 部门 = '人事')",
        "not (category = 'refund')",
        "category like 'refun'",
        "category < 3",
        "serial = 9007199254740992",
        r"path like 'zh/\%%'",
    ],
)
def test_a_filter_that_does_not_hold(text: str) -> None:
    assert not holds(text)


def test_a_quotation_mark_is_doubled_and_nothing_else_is_special() -> None:
    wanted = parse_filter("name = 'O''Brien''; DROP TABLE documents --'")
    assert wanted.holds(lambda key: ["O'Brien'; DROP TABLE documents --"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "is empty"),
        ("category", "ends at character 9; expected =, !="),
        ("category = ", "ends at character 12; expected a value"),
        ("category = refund", "'refund' at character 12; expected a value: text in single quotes"),
        ("category = 'refund", '"\'" at character 12'),
        ("(a = 1", "ends at character 7; expected and, or, or a closing parenthesis"),
        ("a = 1 b = 2", "'b' at character 7; expected and, or, or the end"),
        ("a = 1; drop", "';' at character 6"),
        ("a in ()", "')' at character 7; expected a value"),
        ("a like 3", "'3' at character 8; expected a pattern"),
        ("a = null", "write: is null"),
        ("a not = 1", "expected in or like"),
        ("= 1", "'=' at character 1; expected a key"),
        ("部门 ~ '财务'", "'~' at character 4"),
        ("not " * 60 + "a = 1", "nested deeper than 40"),
        ("a = '" + "x" * MAX_LENGTH + "'", f"use at most {MAX_LENGTH}"),
    ],
)
def test_a_mistake_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_filter(text)
    assert said in str(error.value)
    assert str(error.value).startswith("filter: ")


def test_every_comparison_is_given_in_order() -> None:
    found = comparisons_of(parse_filter("a = 1 or (b = 2 and not c is null)"))
    assert [(one.key, one.position) for one in found] == [("a", 1), ("b", 11), ("c", 25)]


NUMBERS, TEXTS = st.integers(-3, 3), st.sampled_from(["a", "ab", "b", "退款", "o'x", ""])


@st.composite
def filters(draw: st.DrawFn, depth: int = 3) -> str:
    if depth and draw(st.booleans()):
        one, other = draw(filters(depth=depth - 1)), draw(filters(depth=depth - 1))
        form = draw(st.sampled_from(["({}) and ({})", "({}) or {}", "{} and {}", "not ({}) or {}"]))
        return form.format(one, other)
    sign = draw(st.sampled_from(["=", "!=", "<", "<=", ">", ">=", "in", "not in"]))
    key, value = draw(
        st.one_of(
            st.tuples(st.just("n"), NUMBERS.map(str)),
            st.tuples(st.just("s"), TEXTS.map(lambda t: "'" + t.replace("'", "''") + "'")),
        )
    )
    return f"{key} {sign} ({value})" if "in" in sign else f"{key} {sign} {value}"


@given(filters(), NUMBERS, TEXTS.filter(bool))
def test_filters_mean_what_sqlite_says(text: str, number: int, word: str) -> None:
    with sqlite3.connect(":memory:") as database:
        asked = f"SELECT {text} FROM (SELECT ? AS n, ? AS s)"
        (expected,) = database.execute(asked, (number, word)).fetchone()
    database.close()
    row = {"n": [number], "s": [word]}
    assert parse_filter(text).holds(row.__getitem__) == bool(expected)
