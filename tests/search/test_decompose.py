"""Comparisons asked of each side alone, and names of the documents' other language."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.project import Project
from graphkb.search.decompose import graph_starts_from_each, other_names, sub_questions


@pytest.mark.parametrize(
    ("question", "sides"),
    [
        ("Which film came out first, Dying God or 3 Dots?", ("Dying God", "3 Dots")),
        ("Who lived longer, Tom Wheate, 1st Baronet or Al Brun?", ("1st Baronet", "Al Brun")),
        ("Which of Osprey and Kestrel is older?", ("Osprey", "Kestrel")),
        ("Are Oslo and Bergen both in Norway?", ("Oslo", "Bergen")),
        ("Was Ada Lin or Bo Ek born first?", ("Ada Lin", "Bo Ek")),
        ("What is the difference between TCP and UDP?", ("TCP", "UDP")),
        ("青石公司和蓝岭公司哪个成立更早？", ("青石公司", "蓝岭公司")),
        ("张伟与李娜谁更年长？", ("张伟", "李娜")),
        ("《远山》和《近水》的导演是否同一人？", ("《远山》", "《近水》")),
        ("甲公司、乙公司、丙公司哪家最大？", ("甲公司", "乙公司", "丙公司")),
        ("根据年报，2019年和2020年收入分别为多少？", ("2019年", "2020年")),
        ("2022年第一季度和第三季度的利润是多少？", ("2022年第一季度", "2022年第三季度")),
        ("上海和北京的面积相比哪个大？", ("上海的面积", "北京的面积")),
    ],
)
def test_each_side_of_a_comparison_is_asked_alone(question: str, sides: tuple[str, ...]) -> None:
    asked = sub_questions(question)
    assert len(asked) == len(sides)
    for own, text in zip(sides, asked, strict=True):
        assert own in text
        assert not any(other in text for other in sides if other != own)


@pytest.mark.parametrize(
    "question",
    [
        "Who leads Bluestone?", "Who is the director of Love and War?", "Who leads R&D and sales?",
        "Is he older or younger?", "Which came first?", "",
        "青石公司的工程师是谁？", "他和她谁更高？", "如何安装和卸载？", "苹果和梨",
        "联通在大数据和云计算上取得了什么成果？", "谁和谁？",
    ],
)  # fmt: skip
def test_a_question_that_compares_no_names_is_not_taken_apart(question: str) -> None:
    assert sub_questions(question) == []


def comparing(root: Path, *overrides: str) -> Project:
    """Two ferries in one paragraph each, among others."""
    (root / "input").mkdir(parents=True, exist_ok=True)
    for name, year in (("Osprey", 1961), ("Kestrel", 1974), ("Heron", 1988)):
        text = f"# {name}\n\nThe ferry {name} was built in {year} at Leith and sails to Oban.\n"
        (root / "input" / f"{name}.md").write_text(text, "utf8")
    return Project(root, ["embed.when=off", *overrides])


def test_both_sides_are_retrieved_and_the_question_is_kept(tmp_path: Path) -> None:
    kb = comparing(tmp_path)
    for year, profit in (("2019", "四千万"), ("2020", "三千万"), ("2021", "五千万")):
        text = f"# 年报摘要\n\n{year}年全年的净利润为{profit}元。\n"
        (tmp_path / f"input/{year}.md").write_text(text, "utf8")
    kb.index()
    question = "2019年和2021年的净利润分别是多少？"
    hits = kb.search(question)
    assert {hit.path for hit in hits[:2]} == {"2019.md", "2021.md"}
    steps = {step.name: step.detail for step in hits.trace}
    assert steps["decompose"] == "2019年的净利润分别是多少？; 2021年的净利润分别是多少？"
    assert "2 further texts" in steps["join"]
    assert "decompose" not in {step.name for step in kb.search("Where was Heron built?").trace}
    off = comparing(tmp_path, "search.decompose=false")
    assert "decompose" not in {step.name for step in off.search(question).trace}


def test_a_comparison_that_names_both_entities_is_asked_once(tmp_path: Path) -> None:
    kb = comparing(tmp_path)
    kb.index()
    question = "Which ferry was built first, Osprey or Kestrel?"
    assert graph_starts_from_each(kb._current(), sub_questions(question))
    hits = kb.search(question)
    assert {hit.title for hit in hits[:2]} == {"Osprey", "Kestrel"}
    assert "decompose" not in {step.name for step in hits.trace}


def test_names_are_worded_in_the_documents_other_language(tmp_path: Path) -> None:
    kb = comparing(tmp_path, "search.other_names=true")
    (tmp_path / "input/青石谷.md").write_text(
        "# 介绍\n\n青石谷软件有限公司（Qingshigu Software）在杭州。青石谷软件有限公司做软件。\n",
        "utf8",
    )
    (tmp_path / "input/release.md").write_text(
        "# Release\n\nQingshigu Software opened an office in Leith.\n", "utf8"
    )
    kb.index()
    worded = other_names(kb._current(), "青石谷软件有限公司的办公室在哪里？")
    assert worded == ["Qingshigu Software 的办公室在哪里？"]
    hits = kb.search("青石谷软件有限公司的办公室在哪里？")
    assert "release.md" in {hit.path for hit in hits[:2]}
    assert "other_names" in {step.name for step in hits.trace}
    assert other_names(kb._current(), "杭州有什么？") == []
