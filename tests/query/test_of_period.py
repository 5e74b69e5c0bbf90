"""Answers about a period are not given from the report of another one."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot

from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer

REPORTS = {
    "2022q1.txt": "恒远科技股份有限公司2022年第一季度报告\n\n本报告期营业收入为12.3亿元。\n",
    "2022q3.txt": "恒远科技股份有限公司2022年第三季度报告\n\n本报告期营业收入为13.7亿元。\n",
    "2023q1.md": "# 恒远科技2023年第一季度报告\n\n本报告期营业收入为14.6亿元。\n",
    "2023q2.md": "# 恒远科技2023年第二季度报告\n\n本报告期营业收入为15.1亿元。\n",
    "2024.md": "# 恒远科技回顾2024\n\n2022年第四季度营业收入为14.0亿元。\n",
    "annual-2021.md": "# Orchard annual report 2021\n\nOrchard's revenue was GBP 512 million.\n",
    "annual-2023.txt": "Orchard annual report 2023\n\nOrchard's revenue was GBP 601 million.\n",
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
