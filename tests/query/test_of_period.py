"""Answers about a period are not given from the report of another one."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot, passage_of_text

from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.of_period import in_period, of_period
from graphkb.query.sentences import sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer, Passage

REPORTS = {
    "2022q1.txt": "恒远科技股份有限公司2022年第一季度报告\n\n本报告期营业收入为12.3亿元。\n",
    "2022q3.txt": "恒远科技股份有限公司2022年第三季度报告\n\n本报告期营业收入为13.7亿元。\n",
    "2023q1.md": "# 恒远科技2023年第一季度报告\n\n本报告期营业收入为14.6亿元。\n",
    "2023q2.md": "# 恒远科技2023年第二季度报告\n\n本报告期营业收入为15.1亿元。\n",
    "2024.md": "# 恒远科技回顾2024\n\n2022年第四季度营业收入为14.0亿元。\n",
    "annual-2021.md": "# Orchard annual report 2021\n\nOrchard's revenue was GBP 512 million.\n",
    "annual-2023.txt": "Orchard annual report 2023\n\nOrchard's revenue was GBP 601 million.\n",
    "明川电气2023Q1.txt": "报告期内明川电气实现营业收入21.3亿元。\n",
    "明川电气2024Q1.txt": "报告期内明川电气实现营业收入25.5亿元。\n",
    "tallow_2023h1.txt": "Tallow's revenue in the period was GBP 71 million.\n",
    "tallow_2024h1.txt": "Tallow's revenue in the period was GBP 84 million.\n",
}


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("reports"), more=REPORTS)


def ask(snapshot: Snapshot, text: str, method: str) -> Answer:
    return answer_question(snapshot, Ask.plain(text), method)


@pytest.mark.parametrize("method", ["hybrid", "local"])
@pytest.mark.parametrize(
    ("question", "said", "unsaid"),
    [
        ("恒远科技2022年第一季度的营业收入是多少？", "12.3亿", "14.6亿"),
        ("恒远科技2023年第一季度的营业收入是多少？", "14.6亿", "12.3亿"),
        ("恒远科技2022年第四季度的营业收入是多少？", "14.0亿", "13.7亿"),
        ("What was Orchard's revenue in 2021?", "512 million", "601 million"),
        ("明川电气2024年第一季度的营业收入是多少？", "25.5亿", "21.3亿"),
        ("What was Tallow's revenue in the first half of 2023?", "71 million", "84 million"),
    ],
)
def test_the_period_asked_for_is_quoted_and_no_other(
    reports: Snapshot, method: str, question: str, said: str, unsaid: str
) -> None:
    answer = ask(reports, question, method)
    assert said in answer.text
    assert unsaid not in answer.text


@pytest.mark.parametrize("method", ["hybrid", "local"])
@pytest.mark.parametrize(
    ("question", "unsaid"),
    [
        ("恒远科技2022年第二季度的营业收入是多少？", "15.1亿"),
        ("恒远科技2024年第一季度的营业收入是多少？", "14.6亿"),
        ("What was Orchard's revenue in 2022?", "million"),
        ("明川电气2024年第二季度的营业收入是多少？", "25.5亿"),
        ("What was Tallow's revenue in Q3 2024?", "million"),
    ],
)
def test_a_period_without_a_report_is_not_answered_from_another(
    reports: Snapshot, method: str, question: str, unsaid: str
) -> None:
    answer = ask(reports, question, method)
    assert unsaid not in answer.text


def test_a_title_is_no_answer(reports: Snapshot) -> None:
    answer = ask(reports, "恒远科技2022年第三季度报告说营业收入是多少？", "hybrid")
    assert "13.7亿" in answer.text
    assert all("季度报告" not in one.quote for one in answer.citations)


@pytest.mark.parametrize("method", ["hybrid", "local"])
def test_what_is_left_out_is_counted(reports: Snapshot, method: str) -> None:
    answer = ask(reports, "恒远科技2022年第一季度的营业收入是多少？", method)
    (said,) = (step.detail for step in answer.context.trace if step.name == "evidence")
    assert "passages are about other periods and left out" in said
    plain = ask(reports, "恒远科技的营业收入是多少？", method)
    assert all("left out" not in step.detail for step in plain.context.trace)


@pytest.mark.parametrize("year", ["二〇二二年", "二零二二年"])
def test_a_year_in_chinese_numerals_is_that_year(reports: Snapshot, year: str) -> None:
    answer = ask(reports, f"恒远科技{year}第一季度的营业收入是多少？", "hybrid")
    assert "12.3亿" in answer.text
    assert "14.6亿" not in answer.text
    plain = ask(reports, "恒远科技2022年第一季度的营业收入是多少？", "hybrid")
    assert answer.context.evidence == plain.context.evidence
    assert ask(reports, "恒远科技一九九八年的营业收入是多少？", "hybrid").context.evidence == (
        ask(reports, "恒远科技1998年的营业收入是多少？", "hybrid").context.evidence
    )


def passage(text: str, title: str = "Report 2023", columns: tuple[str, ...] = ()) -> Passage:
    return passage_of_text(text, title, "a.xlsx", columns)


MACHINES = "| machine | {} |\n|---|---|\n| PR-1 | {} |"


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("installed", "2020"),
        ("revenue", "2020"),
        ("revenue", "EUR 2020"),
        ("revenue last year", "2020"),
        ("单价", "2020元"),
        ("年收入", "2020"),
        ("本年", "2020"),
        ("2021年度", "2020"),
    ],
)
def test_a_number_in_a_row_is_no_year(column: str, cell: str) -> None:
    assert of_period("revenue in 2020", [passage(MACHINES.format(column, cell))]) == []
    rows = passage(f"| PR-1 | {cell} |", columns=("machine", column))
    assert of_period("revenue in 2020", [rows]) == []


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        ("year", "2020"),
        ("Model year", "2020"),
        ("date", "20200511"),
        ("FY", "2020"),
        ("年份", "2020"),
        ("会计年度", "2020"),
        ("2020", "x"),
        ("installed", "2020年"),
        ("installed", "FY2020"),
        ("installed", "Q1 2020"),
        ("installed", "2020-05"),
        ("note", "rebuilt in the year of 2020"),
    ],
)
def test_a_period_in_a_row_counts(column: str, cell: str) -> None:
    kept = [passage(MACHINES.format(column, cell))]
    assert of_period("2020年的收入", kept) == kept
    kept = [passage(f"| PR-1 | {cell} |", columns=("machine", column))]
    assert of_period("revenue in 2020", kept) == kept


@pytest.mark.parametrize(
    "text",
    [
        "Revenue was 5 in 2020.",
        "| 年份 | 2020 | 2019 |\n| 收入 | 5 | 4 |",
        "| Item | 2020 | 2019 |\n| Revenue | 5 | 4 |",
        "| | Revenue |\n|---|---|\n| 2020 | 5 |",
    ],
)
def test_years_of_prose_and_of_names_count(text: str) -> None:
    assert of_period("revenue in 2020", [passage(text)]) == [passage(text)]


SHEETS = "# {0}\n\n| Region | Revenue |\n|---|---|\n| North | 510 |\n\n# {1}\n\n" + (
    "| Region | Revenue |\n|---|---|\n| North | 520 |"
)


@pytest.mark.parametrize(
    ("names", "question", "other"),
    [
        (("FY2021", "FY2022"), "North's revenue in 2022", "North's revenue in 2023"),
        (("2021年", "2022年"), "2022年的收入", "2023年的收入"),
        (("2023Q1", "2023Q2"), "2023年第二季度的收入", "2023年第三季度的收入"),
    ],
)
def test_of_several_sheets_the_one_of_the_period_is_read(
    names: tuple[str, str], question: str, other: str
) -> None:
    book = passage(SHEETS.format(*names), title="sales")
    rows = [one for one in sentences_of(book.text) if in_period(question, book, one)]
    assert [one.text for one in rows] == ["| North | 520 |"]
    assert of_period(question, [book]) == [book]
    assert of_period(other, [book]) == []


def test_a_comparison_in_the_report_of_the_period_is_read() -> None:
    report = passage("## Compared with 2022\n\nRevenue rose by a tenth.")
    assert of_period("revenue in 2023", [report]) == [report]
    assert of_period("revenue in 2021", [report]) == []
