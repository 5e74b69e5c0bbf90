"""Figures of another month or year than the question names are no answer."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot, passage_of_text

from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.of_period import heading_of, in_period
from graphkb.query.other_period import is_of_another
from graphkb.query.sentences import Sentence, sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer, Passage


def rows_of(head: str, times: str, first: int) -> str:
    rows = [f"| {time} | {first + at} |" for at, time in enumerate(times.split(", "))]
    return "\n".join((head, "|---|---|", *rows))


TABLES = {
    "苹果.md": "# 2023年\n\n"
    + rows_of("| 月份 | 苹果（吨） |", "10月, 11月", 21)
    + "\n\n# 2024年\n\n"
    + rows_of("| 月份 | 苹果（吨） |", "10月, 11月", 31),
    "milk.md": rows_of("| Month | Litres of milk |", "Oct-23, Nov-23, Oct-24, Nov-24", 2310),
    "cheese.md": rows_of("| Month | Tons of cheese |", "11/2023, 10/2024, 11/2024", 240),
    "羊毛.md": rows_of("| 月份 | 羊毛（公斤） |", "202311, 202410, 202411", 1160),
    "orders.md": rows_of("| Quarter | Orders of Alder |", "Q3 2024, Q4 2024", 120),
    "brightwater.md": "# Brightwater\n\nBrightwater makes soups.\n\n"
    "Brightwater's revenue in 2023 was GBP 412 million.\n\n"
    "The chairwoman of Brightwater is Ada Lin, appointed in 2021.\n",
    "青石谷.md": "# 青石谷\n\n青石谷生产水泵。\n\n青石谷2023年营业收入为1.52亿元。\n",
}


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("tables"), more=TABLES)


def ask(snapshot: Snapshot, text: str) -> Answer:
    return answer_question(snapshot, Ask.plain(text), "hybrid")


@pytest.mark.parametrize(
    ("question", "quoted"),
    [
        ("2024年11月苹果多少吨？", "| 11月 | 32 |"),
        ("2023年11月苹果多少吨？", "| 11月 | 22 |"),
        ("How many litres of milk in November 2024?", "| Nov-24 | 2313 |"),
        ("How many tons of cheese in November 2023?", "| 11/2023 | 240 |"),
        ("2024年11月羊毛多少公斤？", "| 202411 | 1162 |"),
        ("What was Brightwater's revenue in 2023?", TABLES["brightwater.md"].split("\n")[4]),
        ("青石谷2023年的营业收入是多少？", "青石谷2023年营业收入为1.52亿元。"),
    ],
)
def test_the_row_of_the_period_is_quoted_first(
    tables: Snapshot, question: str, quoted: str
) -> None:
    assert ask(tables, question).citations[0].quote == quoted


@pytest.mark.parametrize(
    "question",
    [
        "2024年9月羊毛多少公斤？",
        "How many litres of milk in January 2024?",
        "Orders of Alder in Q2 2024",
        "What was Brightwater's revenue in 2022?",
        "青石谷2024年的营业收入是多少？",
    ],
)
def test_another_period_is_no_answer(tables: Snapshot, question: str) -> None:
    answer = ask(tables, question)
    assert answer.refused
    assert not answer.citations


def test_who_leads_is_told_by_an_earlier_appointment(tables: Snapshot) -> None:
    assert "Ada Lin" in ask(tables, "Who was the chairwoman of Brightwater in 2023?").text


def test_growth_is_told_by_both_years(tables: Snapshot) -> None:
    text = ask(tables, "How did milk grow from November 2023 to November 2024?").text
    assert "2311" in text
    assert "2313" in text


def passage(text: str, title: str = "figures", columns: tuple[str, ...] = ()) -> Passage:
    return passage_of_text(text, title, "a.md", columns)


def is_other(question: str, row: str, *columns: str, title: str = "figures") -> bool:
    place = passage(row, title, columns)
    return is_of_another(question, place, next(sentences_of(row, columns)))


@pytest.mark.parametrize(
    ("question", "row", "columns"),
    [
        ("sales in November 2024", "| 2023-11 | 55 |", ("Month", "Sales")),
        ("sales in November 2024", "| Oct '24 | 55 |", ("Month", "Sales")),
        ("sales in 2024", "| 2023 | 5517 |", ("Fiscal year", "Sales")),
        ("2024年第二季度的销量", "| 2024Q3 | 5517 |", ("季度", "销量")),
        ("2024年11月5日的销量", "| 2024-11-06 | 5517 |", ("日期", "销量")),
        ("11月的销量", "| 10月 | 5517 |", ("月份", "销量")),
    ],
)
def test_a_row_tells_its_period(question: str, row: str, columns: tuple[str, ...]) -> None:
    assert is_other(question, row, *columns)


@pytest.mark.parametrize(
    ("question", "row", "columns"),
    [
        ("sales from 2020 to 2023", "| 2022 | 5517 |", ("Year", "Sales")),
        ("sales since 2019", "| 2022 | 5517 |", ("Year", "Sales")),
        ("2019年以来的销量", "| 2022 | 5517 |", ("年份", "销量")),
        ("sales before 2022", "| 2019 | 5517 |", ("Year", "Sales")),
        ("sales in 2020 and 2022", "| 2020 | 5517 |", ("Year", "Sales")),
        ("growth of sales in 2022 against the year before", "| 2021 | 5517 |", ("Year", "Sales")),
        ("2022年销量同比增长多少", "| 2021 | 5517 |", ("年份", "销量")),
        ("sales in FY2024", "| 2023-11 | 5517 |", ("Month", "Sales")),
        ("sales in 2024", "| 2023-24 | 5517 |", ("Year", "Sales")),
        ("sales in Q4 2024", "| 2024-11 | 5517 |", ("Month", "Sales")),
        ("sales from March 2024 to May 2024", "| 2024-04 | 5517 |", ("Month", "Sales")),
        ("who worked here in 2022", "| Ada Lin | 2019-03-01 |", ("Name", "Joined")),
        ("2022年在职的人", "| 林远 | 2019年3月 |", ("姓名", "入职日期")),
        ("pears in November 2024", "| November | 55 | 66 |", ("Pears", "2023", "2024")),
        ("winner of the 2022 World Cup", "| 2018 | France |", ("Year", "Winner")),
    ],
)
def test_other_rows_may_be_wanted(question: str, row: str, columns: tuple[str, ...]) -> None:
    assert not is_other(question, row, *columns)


@pytest.mark.parametrize(
    ("question", "text", "title", "expected"),
    [
        ("revenue in 2022", "Revenue in 2023 was GBP 4 million.", "figures", True),
        ("2022年的收入", "公司2023年收入为4亿元。", "概况", True),
        ("revenue in 2022", "Revenue in 2022 and in 2023 was flat.", "figures", False),
        ("revenue in 2022", "Revenue in 2021 was GBP 4 million.", "Annual report 2022", False),
        ("2022年的收入", "公司自2019年以来收入稳定。", "概况", False),
        ("Who led Acme in 2022?", "Ada Lin was appointed in 2019.", "figures", False),
        ("收入", "公司2023年收入为4亿元。", "概况", False),
    ],
)
def test_sentences_that_name_only_other_years_are_told(
    question: str, text: str, title: str, expected: bool
) -> None:
    assert is_of_another(question, passage(text, title), Sentence(0, len(text), text)) is expected


@pytest.mark.parametrize(
    ("title", "unit"), [("渡口2023年客运量", "单位：人次"), ("Traffic in 2023", "Unit: persons")]
)
def test_the_title_above_a_table_gives_its_year(title: str, unit: str) -> None:
    text = f"{title}\n{unit}\n\n" + rows_of("| Month | Traffic |", "11月", 220)
    place = passage(text)
    (row,) = [one for one in sentences_of(text) if one.header]
    assert heading_of(place, row).split("\n")[-2:] == [title, unit]
    assert in_period("2023年11月的客运量", place, row)
    assert not in_period("2024年11月的客运量", place, row)
