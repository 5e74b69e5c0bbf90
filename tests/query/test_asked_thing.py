"""Quotes are about the very thing that is asked, hold the lists that they open, and are not of
another thing than a filter lets through."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from query.gathering import make_snapshot

import graphkb
from graphkb.project import Project
from graphkb.query.other_kind import ASKED, LESS, OTHER, UNKNOWN, kind_fit
from graphkb.types import Answer

TEXTS = {
    "leave.md": (
        "# Leave policy\n\nThe steps to apply for leave are:\n\n1. Fill in form L7.\n"
        "2. Have it signed.\n\nLeave is paid in full.\n\nMaternity leave is 120 days.\n"
    ),
    "guests.md": "# Guests\n\nBadges are worn by guests. Paternity tests are not offered.\n",
    "贷款.md": (
        "# 设备贷款办法\n\n申请设备贷款的条件如下：\n\n- 成立满两年；\n- 无不良信用记录。\n\n"
        "贷款期限最长五年。\n"
    ),
    "考勤.md": "# 考勤制度\n\n女职工产假为一百五十八天。\n\n婚假为三天。\n",
    "acme.md": (
        "# Acme Pumps\n\nAcme Pumps was founded in 1954. Its head office is in Bergen.\n\n"
        "The audit committee is chaired by Lena Voss.\n\n"
        "The chairman of the board is Karl Brandt.\n"
    ),
    "borel.md": (
        "# Borel Glass\n\nBorel Glass was founded in 1971. Its head office is in Lyon. The chief "
        "executive is Marie Dutoit. She was formerly of Sandoval Bank.\n\n"
        "Net revenue was 33 million in 2024. Revenue was 40 million in 2024.\n"
    ),
    "东岭.md": (
        "# 东岭机械\n\n东岭机械成立于1998年，总部位于合肥。审计委员会主席为孙莉。"
        "董事长为赵启明，历任合肥轴承厂技术员、厂长。\n"
    ),
    "西川.md": "# 西川药业\n\n西川药业成立于2003年，总部位于成都。副董事长为钱嘉木。\n",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("asked") / "kb"
    make_snapshot(root, more=TEXTS)
    with graphkb.open(root, ["embed.when=off"]) as project:
        yield project


def asked(kb: Project, question: str, where: str | None = None) -> Answer:
    return kb.query(question, method="hybrid", where=where)


def quotes(answer: Answer) -> list[str]:
    lines = answer.text.splitlines()
    return [line[2:].rpartition(" [")[0] for line in lines if line.startswith("- ")]


@pytest.mark.parametrize(
    ("question", "fit"),
    [
        ("陪产假有几天？", OTHER),
        ("产假有几天？", UNKNOWN),
        ("非产假期间呢？", OTHER),
    ],
)
def test_a_longer_word_is_another_thing(question: str, fit: int) -> None:
    assert kind_fit(question, "产假为158天。") == fit
    assert kind_fit("陪产假有几天？", "男职工陪产假为15天，产假另行规定。") == ASKED


@pytest.mark.parametrize(
    ("question", "text", "fit"),
    [
        ("How long is paternity leave?", "Maternity leave is 120 days.", OTHER),
        ("How long is paternity leave?", "Leave is paid in full.", LESS),
        ("What was the revenue?", "Net revenue was 33 million.", LESS),
        ("What was the net revenue?", "Net revenue was 33 million.", ASKED),
        ("Who is the vice president?", "The president is Bo Lind.", OTHER),
        ("谁是副校长？", "校长为何俊。", OTHER),
        ("净利润是多少？", "利润为三亿元。", LESS),
        # 前 in 目前 and 分 in 部分 mark nothing.
        ("总经理是谁？", "目前总经理是何俊。", UNKNOWN),
        ("公司在哪里？", "部分公司在宁波。", UNKNOWN),
        ("Who chairs Acme?", "The audit committee is chaired by Lena Voss.", LESS),
        ("东岭的主席是谁？", "审计委员会主席为孙莉。", LESS),
        ("审计委员会主席是谁？", "审计委员会主席为孙莉。", UNKNOWN),
    ],
)
def test_sentences_about_other_kinds_are_told_apart(question: str, text: str, fit: int) -> None:
    assert kind_fit(question, text) == fit


def test_what_stands_under_the_asked_thing_is_about_it() -> None:
    assert kind_fit("陪产假有几天？", "产假之外另有15天。", above="假期 › 陪产假") == ASKED


@pytest.mark.parametrize(
    "question",
    [
        "陪产假有几天？",
        "男职工的陪产假是多少天？",
        "How many days of paternity leave are paid in full?",
        "Who is the vice chairman of Acme Pumps?",
        "东岭机械的副董事长是谁？",
        "西川药业的董事长是谁？",
    ],
)
def test_another_thing_does_not_answer(kb: Project, question: str) -> None:
    answer = asked(kb, question)
    assert answer.refused
    assert not answer.citations


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("产假有几天？", "女职工产假为一百五十八天。"),
        ("How long is maternity leave?", "Maternity leave is 120 days."),
        ("What was the revenue of Borel Glass in 2024?", "Revenue was 40 million in 2024."),
        ("What was the net revenue of Borel Glass in 2024?", "Net revenue was 33 million in 2024."),
        ("Who chairs Acme Pumps?", "The chairman of the board is Karl Brandt."),
        ("Who is the chair of Acme Pumps?", "The chairman of the board is Karl Brandt."),
        ("Who chairs the audit committee of Acme Pumps?", "The audit committee is chaired by Lena "
         "Voss."),
        ("东岭机械的主席是谁？", "董事长为赵启明，历任合肥轴承厂技术员、厂长。"),
        ("东岭机械审计委员会的主席是谁？", "审计委员会主席为孙莉。"),
        ("东岭机械的董事长曾任什么职务？", "董事长为赵启明，历任合肥轴承厂技术员、厂长。"),
        ("西川药业的副董事长是谁？", "副董事长为钱嘉木。"),
    ],
)  # fmt: skip
def test_the_asked_thing_comes_first(kb: Project, question: str, told: str) -> None:
    assert quotes(asked(kb, question))[0] == told


def test_an_earlier_post_is_found_in_other_words(kb: Project) -> None:
    answer = asked(kb, "Where did the chief executive of Borel Glass previously work?")
    assert "formerly of Sandoval Bank" in answer.text


@pytest.mark.parametrize(
    ("question", "told"),
    [
        (
            "What are the steps to apply for leave?",
            "The steps to apply for leave are: 1. Fill in form L7. 2. Have it signed.",
        ),
        ("申请设备贷款有哪些条件？", "申请设备贷款的条件如下：成立满两年；无不良信用记录。"),
    ],
)
def test_the_items_of_a_list_belong_to_the_quote(kb: Project, question: str, told: str) -> None:
    answer = asked(kb, question)
    assert quotes(answer)[0] == told
    (unit,) = kb._with_text().units([answer.citations[0].text_unit_id])
    start = answer.citations[0].char_start - unit["char_start"]
    assert unit["text"][start:].startswith(answer.citations[0].quote)
    assert len(quotes(answer)) == len({quote[-6:] for quote in quotes(answer)})


@pytest.mark.parametrize(
    ("question", "lead", "item"),
    [
        ("What are the duties of the harbour master?", "The duties of the harbour master are:",
         "duty {n} of the port and of its many quays"),
        ("仓库主管的职责有哪些？", "仓库主管的职责如下：",
         "检查第{n}号货架，并记下每天的数目和缺货"),
    ],
)  # fmt: skip
def test_a_list_goes_on_behind_its_text_unit(
    tmp_path: Path, question: str, lead: str, item: str
) -> None:
    items = "\n".join(f"{n}. {item.format(n=n)}" for n in range(1, 16))
    (tmp_path / "input").mkdir()
    text = f"# Port\n\n{lead}\n\n{items}\n\nThe port is open."
    (tmp_path / "input" / "port.md").write_text(text, "utf-8")
    options = ["embed.when=off", "parquet=off", "chunks.size=80", "chunks.overlap=0"]
    with graphkb.open(tmp_path, options) as project:
        project.index()
        answer = project.query(question, method="hybrid")
        citation = answer.citations[0]
        assert citation.quote == text[citation.char_start : citation.char_end]
        assert citation.quote.endswith(f"15. {item.format(n=15)}")
        narrowed = project.query(question, method="hybrid", where="kind != 'code'")
        assert "15. " not in narrowed.citations[0].quote


@pytest.mark.parametrize(
    ("question", "where", "told"),
    [
        ("Where is the head office of Acme Pumps?", "borel.md", "leaves nothing about Acme Pumps"),
        ("When was Acme Pumps founded?", "borel.md", "The filter path = 'borel.md' leaves"),
        ("东岭机械的总部在哪里？", "西川.md", "没有关于东岭机械的内容"),
        ("东岭机械成立于哪年？", "西川.md", "按筛选条件 path = '西川.md'"),
    ],
)
def test_a_filter_that_leaves_nothing_about_what_is_asked_is_named(
    kb: Project, question: str, where: str, told: str
) -> None:
    answer = asked(kb, question, f"path = '{where}'")
    assert answer.refused
    assert told in answer.text


@pytest.mark.parametrize(
    ("question", "where", "told"),
    [
        ("Where is the head office of Acme Pumps?", "acme.md", "Bergen"),
        ("Where is the head office?", "borel.md", "Lyon"),
        ("东岭机械的总部在哪里？", "东岭.md", "合肥"),
        ("总部在哪里？", "西川.md", "成都"),
        ("公司的总部在哪里？", "西川.md", "成都"),
        ("西川的总部在哪里？", "西川.md", "成都"),
    ],
)
def test_a_filter_that_holds_what_is_asked_is_answered_from(
    kb: Project, question: str, where: str, told: str
) -> None:
    answer = asked(kb, question, f"path = '{where}'")
    assert told in answer.text
    assert "ilter" not in answer.text
    assert "筛选" not in answer.text


def test_of_two_the_one_that_the_filter_leaves_out_is_said(kb: Project) -> None:
    question = "Where are the head offices of Acme Pumps and Borel Glass?"
    answer = asked(kb, question, "path = 'borel.md'")
    assert "leaves nothing about Acme Pumps." in answer.text
    assert "Lyon" in answer.text
