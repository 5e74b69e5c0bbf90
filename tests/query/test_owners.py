"""Whose chairman or head office is asked for: a company that is nowhere is said to be missing."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot

from graphkb.query.about import question_of_each, role_forms, with_kin
from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.asked_names import AskedName, asked_names
from graphkb.query.presence import Presence
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer

TEXTS = {
    "海川装备.txt": (
        "海川装备股份有限公司（简称“海川装备”）成立于2003年，总部位于青岛，主营泵阀和压缩机。\n\n"
        "董事长为章怀远，总经理为陆敏之。2024年营业收入为9,870万元。\n"
    ),
    "远山材料.txt": (
        "远山材料股份有限公司（简称“远山材料”）成立于2010年，主营碳纤维。\n\n总部位于常州。\n"
        "董事长为顾南星。\n"
    ),
    "联通.txt": (
        "这是中国移动通信史上的一大里程碑。中国联通董事长陈忠岳在大会上发表了主旨演讲。\n"
    ),
    "brightwater.txt": (
        "Brightwater Foods plc makes frozen vegetables.\n\nThe chairman is Sir Alan Pettigrew. Its "
        "head office is in Grimsby. It has 40 lorries.\n"
    ),
    "larkspur.txt": (
        "Larkspur Bakeries bakes biscuits.\n\nThe chairwoman is Helen Marchbank. Its head office "
        "is in Chester.\nDale Holdings sold it to the Hartley family in 1999.\n"
    ),
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("owners"), more=TEXTS)


def answered(snapshot: Snapshot, asked: str) -> Answer:
    return answer_question(snapshot, Ask.plain(asked), "hybrid")


@pytest.mark.parametrize(
    ("asked", "names"),
    [
        ("腾讯的董事长是谁？", ["腾讯"]),
        ("东方材料的董事长是谁？", ["东方材料"]),
        ("小米的总部在哪里？", ["小米"]),
        ("腾讯董事长是谁？", ["腾讯"]),
        ("请问格力电器2024年的营业收入是多少？", ["格力电器", "2024"]),
        ("2024年格力电器的营业收入是多少？", ["2024", "格力电器"]),
        ("Brightwater 的董事长是谁？", ["Brightwater"]),
        ("Beta Robotics的董事长是谁？", ["Beta Robotics"]),
        ("Who chairs the audit committee of 远山材料?", ["远山材料"]),
        ("海川装备和腾讯的总部分别在哪里？", ["海川装备", "腾讯"]),
        ("公司的董事长是谁？", []),
        ("这家公司的董事长是谁？", []),
        ("我们的总部在哪里？", []),
        ("工厂的总经理是谁？", []),
        ("甲方的法定代表人是谁？", []),
        ("现任董事长是谁？", []),
        ("全年的营业收入是多少？", []),
        ("线上渠道的营业收入是多少？", []),
        ("退款流程的步骤有哪些？", []),
        ("获得了哪些荣耀？", []),
        ("什么荣耀最高？", []),
        ("荣耀的董事长是谁？", ["荣耀"]),
    ],
)
def test_who_owns_what_is_asked_for_is_a_name(asked: str, names: list[str]) -> None:
    assert [name.text for name in asked_names(asked)] == names


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("腾讯的董事长是谁？", "没有关于腾讯的内容"),
        ("海川重工的董事长是谁？", "没有关于海川重工的内容"),
        ("青岛啤酒的总部在哪里？", "没有关于青岛啤酒的内容"),
        ("东方材料的董事长是谁？", "没有关于东方材料的内容"),
        ("格力电器2024年的营业收入是多少？", "没有关于格力电器的内容"),
        ("中国移动的董事长是谁？", "没有关于中国移动的内容"),
        ("Beta Robotics 的董事长是谁？", "没有关于Beta Robotics的内容"),
        ("Who is the chairman of Tencent?", "says nothing about Tencent"),
        ("Where is the head office of Tsingtao Brewery?", "says nothing about Tsingtao Brewery"),
    ],
)
def test_nothing_of_another_company_is_quoted_for_one_that_is_nowhere(texts, asked, said):
    answer = answered(texts, asked)
    assert answer.refused
    assert said in answer.text
    assert answer.citations == ()


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("海川装备的董事长是谁？", "章怀远"),
        ("远山材料的总部在哪里？", "常州"),
        ("海川装备2024年的营业收入是多少？", "9,870万元"),
        ("中国联通的董事长是谁？", "陈忠岳"),
        ("Who is the chairman of Brightwater?", "Sir Alan Pettigrew"),
        ("Who is the chairman of Larkspur?", "Helen Marchbank"),
        ("Who bought the company from Dale Holdings in 1999?", "Hartley family"),
    ],
)
def test_companies_that_are_there_are_answered_without_a_warning(texts, asked, told):
    answer = answered(texts, asked)
    assert told in answer.text
    assert not answer.warnings


@pytest.mark.parametrize("asked", ["Brightwater 的董事长是谁？", "Brightwater的董事长是谁？"])
def test_a_latin_name_in_a_chinese_question_tells_whose_sentences_are_quoted(texts, asked):
    answer = answered(texts, asked)
    assert not any(name in answer.text for name in ("章怀远", "顾南星", "陈忠岳"))


def test_a_chinese_name_is_not_held_where_other_words_begin_with_it(texts):
    presence = Presence(texts)
    assert presence.holds(AskedName("中国移动", "name")) is False
    assert presence.holds(AskedName("中国联通", "name")) is True


@pytest.mark.parametrize(
    ("asked", "each"),
    [
        (
            "Compare the head offices of Brightwater and Larkspur.",
            ["head offices of Brightwater.", "head offices of Larkspur."],
        ),
        ("海川装备和远山材料的总部在哪里？", ["海川装备的总部在哪里？", "远山材料的总部在哪里？"]),
        ("比较海川装备与远山材料的总部", ["海川装备的总部", "远山材料的总部"]),
        ("研发和销售的费用是多少？", []),
        ("Who is the chairman of Brightwater?", []),
    ],
)
def test_what_is_asked_of_several_is_asked_of_each(texts, asked, each):
    assert question_of_each(texts, asked) == each


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Compare the head offices of Brightwater and Larkspur.", ["Grimsby", "Chester"]),
        ("Who are the chairmen of Brightwater and Larkspur?", ["Pettigrew", "Marchbank"]),
        ("海川装备和远山材料的总部在哪里？", ["青岛", "常州"]),
    ],
)
def test_of_two_companies_each_is_answered(texts, asked, told):
    answer = answered(texts, asked)
    assert all(place in answer.text for place in told)


def test_of_two_companies_the_one_that_is_nowhere_is_said(texts):
    answer = answered(texts, "海川装备和腾讯的总部分别在哪里？")
    assert "青岛" in answer.text
    assert "没有关于腾讯的内容" in answer.text
    assert "常州" not in answer.text


def test_forms_of_a_role_and_sides_of_a_deal_are_kin():
    assert {"chairman", "chair"} <= with_kin({"chairwoman"})
    assert "chairman" in role_forms({"chairmen"})
    assert not role_forms({"chair"})
    assert "sold" in with_kin({"bought"})
    assert with_kin({"董事长"}) == {"董事长"}
