"""Reports of several years that say the same things with other numbers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from query.gathering import with_settings

from graphkb.project import Project
from graphkb.search.hybrid import search

_ZH = """# 青石谷 {year} 年{part}报告

## 存货

存货变动的主要原因是备货增加{more}，存货为 {n} 万元。
"""
_EN = """# Kelsound {part} {year} report

## Inventory

Inventory changed because of new stock{more}; it was {n}.
"""


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("reports")
    (root / "input").mkdir()
    n = 10
    for year in (2021, 2022, 2023):
        for zh, en in (("第一季度", "Q1"), ("第三季度", "Q3"), ("年度", "annual")):
            n += 1
            # Later reports also speak of the years before.
            more = f"，与 {year - 1} 年第一季度相比变动很大" if year == 2023 else ""
            also = f", unlike in Q1 {year - 1}" if year == 2023 else ""
            text = _ZH.format(year=year, part=zh, n=n, more=more)
            (root / "input" / f"a{n}.md").write_text(text, "utf-8")
            text = _EN.format(year=year, part=en, n=n, more=also)
            (root / "input" / f"b{n}.md").write_text(text, "utf-8")
    with Project(root, ["embed.when=off"]) as project:
        project.index()
        yield project


@pytest.mark.parametrize(
    ("question", "title"),
    [
        ("2022年第一季度存货变动的主要原因是什么？", "青石谷 2022 年第一季度报告"),
        ("青石谷2021年第三季度的存货是多少？", "青石谷 2021 年第三季度报告"),
        ("根据2022年年报，青石谷的存货为什么变动？", "青石谷 2022 年年度报告"),
        ("Why did inventory of Kelsound change in Q1 2022?", "Kelsound Q1 2022 report"),
        ("How large was the inventory in the third quarter of 2021?", "Kelsound Q3 2021 report"),
    ],
)
def test_the_report_on_the_asked_period_comes_first(
    reports: Project, question: str, title: str
) -> None:
    assert reports.search(question)[0].title == title


def test_it_can_be_switched_off(reports: Project) -> None:
    question = "2022年第一季度存货变动的主要原因是什么？"
    plain = with_settings(reports._current(), "search", periods=False)
    fitted = search(reports._current(), question, 18)
    scores = {hit.title: hit.score for hit in search(plain, question, 18)}
    assert {hit.title for hit in fitted} == set(scores)
    told = {hit.title: hit.score / scores[hit.title] for hit in fitted}
    assert told["青石谷 2022 年第一季度报告"] == pytest.approx(1.3)
    assert told["青石谷 2023 年第一季度报告"] == pytest.approx(0.7)


def test_a_question_without_a_period_is_left_alone(reports: Project) -> None:
    question = "Why did inventory change?"
    plain = with_settings(reports._current(), "search", periods=False)
    assert [hit.score for hit in search(reports._current(), question, 9)] == [
        hit.score for hit in search(plain, question, 9)
    ]
