"""Facts of a text in one form, and choosing sentences by them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.extract import statements
from graphkb.extract.facts import facts_of, missing_facts
from graphkb.extract.statements import (
    Heard,
    Statement,
    distinct_statements,
    join_statements,
    select_statements,
    sentences_of,
    within,
)
from graphkb.text.tokens import count_tokens


def distinct(*texts: str) -> list[str]:
    return [statement.text for statement in distinct_statements([*map(Statement, texts)])]


def chosen(texts: list[str], names: tuple[str, ...], limit: int) -> list[str]:
    """Sentences of the texts, chosen within a budget."""
    statements = [Statement(text, frozenset(names)) for text in texts]
    return [one.text for one in select_statements(sentences_of(statements), limit)]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("2021年3月5日", "2021-03-05"),
        ("2021年3月5日", "5 March 2021"),
        ("２０２１年０３月０５日", "March 5th, 2021"),
        ("二〇二一年三月五日", "2021/3/5"),
        ("2021 年 3 月", "Mar. 2021"),
        ("3月5日", "5 March"),
        ("1,200", "1200"),
        ("１，２００元", "1200 yuan"),
        ("1.2万元", "12000元"),
        ("3.5亿", "350 million"),
        ("三十五人", "35人"),
        ("一千二百", "1,200"),
        ("12 kg", "12kg"),
        ("7.50", "7.5"),
        ("ct-2023-118", "CT-2023-118"),
        ("错误Ｅ１０４３", "error E1043"),
    ],
)
def test_one_fact_in_two_writings(one: str, other: str) -> None:
    assert facts_of(one) == facts_of(other) != frozenset()


@pytest.mark.parametrize(
    ("one", "other"),
    [("2021-03-05", "2021-05-03"), ("1.5", "15"), ("E1043", "E1044"), ("1,200", "1,201"),
     ("1.2万", "1.2亿"), ("v2.0", "v20"), ("3 May", "May 2003")],
)  # fmt: skip
def test_two_facts_are_two(one: str, other: str) -> None:
    assert facts_of(one).isdisjoint(facts_of(other))


@pytest.mark.parametrize("text", ["They may go.", "陈明是工程师。", "", "x" * 50, "一个人，万一"])
def test_words_without_numbers_are_no_dates(text: str) -> None:
    assert not any(fact.startswith(("date:", "code:")) for fact in facts_of(text))


def test_a_whole_date_says_its_year_and_month_but_not_the_other_way_round() -> None:
    whole = facts_of("2021年3月5日")
    assert missing_facts(facts_of("March 2021 and 2021"), whole) == set()
    assert missing_facts(whole, facts_of("2021年3月")) == whole


@given(st.text(max_size=200))
def test_any_text_has_facts_that_it_does_not_miss(text: str) -> None:
    facts = facts_of(text)
    assert missing_facts(facts, facts) == set()


def test_statements_that_say_nothing_new_are_dropped_in_both_languages() -> None:
    assert distinct(
        "Ada Lin leads the Osprey project.",
        "ada lin leads Osprey project",
        "陈明是青石公司的工程师。",
        "Since 2019 Ada Lin leads the Osprey project in Bergen.",
        "陈明是青石公司工程师",
        "  ",
        "2021年，陈明是青石公司的工程师。",
        "Ada Lin leads the Heron project.",
    ) == [
        "Since 2019 Ada Lin leads the Osprey project in Bergen.",
        "2021年，陈明是青石公司的工程师。",
        "Ada Lin leads the Heron project.",
    ]


def test_statements_that_differ_in_one_name_or_in_order_all_stay() -> None:
    said = [
        "Bo Chen beat Ada Lin.", "Ada Lin beat Bo Chen.", "Ada Lin beat Cy Dorn.",
        "Ada Lin did not beat Cy Dorn.", "It cost 1,200 euros.", "It cost 200 euros.",
    ]  # fmt: skip
    assert distinct(*said) == said


def test_joined_statements_read_as_one_text() -> None:
    assert join_statements([]) == ""
    assert join_statements(["only one"]) == "only one"
    assert join_statements(["Ada leads", "It ended!", "他走了", "陈明来了。", "Last"]) == (
        "Ada leads. It ended! 他走了。陈明来了。Last."
    )


def test_the_sentences_that_cover_most_facts_are_chosen_in_their_order() -> None:
    statements = [
        "Words without any facts stand here and go on for quite a while in this long sentence.",
        "Founded on 3 May 2019 with 1,200 euros. Nothing else is known about it.",
        "合同CT-2023-118于2021年3月5日由王芳签署。",
    ]
    found = chosen(statements, ("王芳",), 50)
    assert found == [
        "Founded on 3 May 2019 with 1,200 euros.",
        "Nothing else is known about it.",
        "合同CT-2023-118于2021年3月5日由王芳签署。",
    ]
    assert within("".join(found), 50)
    assert chosen(statements, (), 10_000) == [statements[0], *found]


def test_a_name_is_a_fact() -> None:
    statements = ["It is often said that something happened.", "Bo Chen came."]
    assert chosen(statements, ("Bo Chen",), 8) == ["Bo Chen came."]


def test_a_single_sentence_beyond_the_budget_is_cut_to_it() -> None:
    (cut,) = chosen(["word " * 200], (), 20)
    assert count_tokens(cut) == 20
    assert chosen([], (), 20) == []


@given(
    st.lists(st.sampled_from(["Ada paid 3 euros.", "2021年3月5日开会。", "It rained.", "E1043!"]))
)
def test_chosen_sentences_fit_and_stand_in_the_statements(statements: list[str]) -> None:
    found = chosen(statements, ("Ada",), 25)
    assert all(sentence in statements for sentence in found)
    assert sum(map(count_tokens, found)) <= 25


def test_of_many_statements_those_inside_another_are_found_too() -> None:
    many = [f"Ada Lin signed contract CT-{n}." for n in range(90)]
    longer = [f"In Bergen Ada Lin signed contract CT-{n}. Twice." for n in range(0, 90, 3)]
    found = distinct(*many, *longer)
    assert found == [text for n, text in enumerate(many) if n % 3] + longer


def test_what_is_heard_of_a_thing_with_several_statements_is_read_ahead() -> None:
    heard = Heard(long=60)
    said = [
        "Ada Lin  leads Osprey since 2021.",
        "陈明领导鱼鹰项目，自2022年起。",
        "She left in 2023.",
    ]
    statements._gist.cache_clear()
    facts_of.cache_clear()
    heard.add("Ada Lin", said[0])
    heard.add("Bo", "Bo is a clerk.")
    assert not statements._gist.cache_info().currsize
    for text in said[1:]:
        heard.add("Ada Lin", text)
    texts = [" ".join(text.split()) for text in said]
    read = statements._gist.cache_info().misses, facts_of.cache_info().misses
    distinct(*texts)
    chosen(texts, (), 50)
    assert (statements._gist.cache_info().misses, facts_of.cache_info().misses) == read
