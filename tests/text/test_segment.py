"""Search tokens: Chinese, English, codes and identifiers, the same for index and query."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.text.segment import query_tokens, search_tokens, tag


@pytest.mark.parametrize(
    ("text", "token"),
    [
        ("请联系陈明处理", "陈明"),
        ("陈明用电脑", "陈明"),
        ("他是工程师", "工程师"),
        ("错误E1043的处理", "e1043"),
        ("用C++写的", "c++"),
        ("支持5G网络", "5g"),
        ("设置 NO_PROXY 变量", "no_proxy"),
        ("rate_limit_check用于限流", "rate_limit_check"),
        ("型号P4与V2.0", "p4"),
        ("型号P4与V2.0", "v2.0"),
        ("清华大学的学生", "大学"),
        ("ＢＤ－２００Ａ 型", "bd-200a"),
        ("售价１２８０元", "1280"),
        ("共 3,549 亿元", "3549"),
        ("臺灣大學", "大学"),
        ("Ruaidhrí's son", "ruaidhri"),
        ("The 2.5% rate", "2.5"),
        ("ping 10.0.0.1 失败", "10.0.0.1"),
        ("版本 3.5.1", "3.5.1"),
        ("按 GB/T 19001-2016 执行", "gb/t19001-2016"),
        ("按GB/T19001-2016执行", "gb/t19001-2016"),
        ("ISO9001认证", "9001"),
        ("型号 BD-200A", "bd200a"),
        ("调用getUserName失败", "user"),
        ("OrderService 重启", "order"),
        ("Straße", "strasse"),
        ("電腦和软件", "电脑"),
    ],
)
def test_a_token_is_found_in_text_and_in_a_question(text: str, token: str) -> None:
    assert token in search_tokens(text)
    assert token in query_tokens(token)


def test_dictionary_words_are_kept_whole() -> None:
    assert "元景大模型" not in search_tokens("元景大模型发布")
    assert "元景大模型" in search_tokens("元景大模型发布", ("元景大模型",))


@pytest.mark.parametrize("text", ["中国移动5G消息平台", "用5G消息", "５Ｇ消息"])
def test_dictionary_words_of_mixed_script_are_one_token(text: str) -> None:
    assert "5g消息" in search_tokens(text, ("5G消息",))
    assert {"5g", "消息"} <= set(search_tokens(text, ("5G消息",)))


def test_dictionary_words_of_several_words_are_one_token_where_they_stand_whole() -> None:
    assert "zeta_tool" in search_tokens("The Zeta tool", ("zeta tool",))
    assert "zeta_tool" not in search_tokens("A zeta toolbox and a beta tool", ("zeta tool",))
    assert "t-box控制器" in search_tokens("车载T-Box控制器故障", ("T-Box控制器",))


@pytest.mark.parametrize("name", ["McDonald", "iPhone", "YouTube", "LinkedIn", "NASA"])
def test_names_are_no_identifiers_in_camel_case(name: str) -> None:
    assert search_tokens(name) == [name.lower()]


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("WHO的总部在哪里", ["who", "总部"]),
        ("Who leads the IT department?", ["leads", "it", "department"]),
        ("WHO IS IN CHARGE", ["charge"]),
        ("ping 10.0.0.1", ["ping", "10.0.0.1", "10"]),
        ("the", []),
        ("的", []),
        ("什么时候", []),
        ("The Who", ["the", "who"]),
    ],
)
def test_a_question_is_asked_by_its_content_words(text: str, tokens: list[str]) -> None:
    assert query_tokens(text) == tokens


def test_stop_words_never_stand_beside_a_code_in_a_question() -> None:
    assert query_tokens("什么时候会出现 E1043？") == ["出现", "e1043"]
    assert query_tokens("When is the E-4107 shown?") == ["e-4107", "e4107", "4107", "shown"]


@pytest.mark.parametrize("text", ["", "   ", "？！", "😀", "\x00", "…", "-", "++"])
def test_text_without_words_gives_no_tokens(text: str) -> None:
    assert search_tokens(text) == []
    assert query_tokens(text) == []


@given(st.text())
def test_tokens_hold_no_white_space_and_are_folded(text: str) -> None:
    tokens = search_tokens(text)
    assert all(token and not any(c.isspace() for c in token) for token in tokens)
    assert tokens == search_tokens(text)


@given(st.text(st.sampled_from("aB9,.'-+#@:& /_()\n"), max_size=60))
def test_plain_text_has_the_tokens_that_it_has_beside_chinese(text: str) -> None:
    plain = f"{text} ISO 9001 1,234.5"
    beside = [token for token in search_tokens(f"{plain} 的") if token != "的"]
    assert search_tokens(plain) == beside


@given(st.text())
def test_tags_cover_the_text(text: str) -> None:
    tagged = tag(text)
    assert "".join(word for word, _, _, _ in tagged) == text
    assert all(text[start:end] == word for word, _, start, end in tagged)


@pytest.mark.parametrize(
    ("question", "tokens"),
    [
        ("婚假有几天？", ["婚假", "天"]),
        ("仓库有几辆叉车？", ["仓库", "辆", "叉车"]),
        ("机房里有几台服务器？", ["机房", "台", "服务", "务器", "服务器"]),
        ("保修期是几个月？", ["保修", "保修期", "月"]),
        ("谁的工号是 A7？", ["工号", "a7"]),
        ("由谁负责？", ["由", "负责"]),
        ("哪位是厂长？", ["厂长"]),
        ("何时、何地举行？", ["举行"]),
        ("哪一年成立？", ["年", "成立"]),
        ("有何处罚？如何处理？", ["有何", "处罚", "处理"]),
    ],
)
def test_words_that_only_ask_are_no_tokens_of_a_question(question: str, tokens: list[str]) -> None:
    assert query_tokens(question) == tokens


@pytest.mark.parametrize(
    "word", ["几何", "几乎", "茶几", "近几年", "十几个", "几内亚", "哪吒", "任何"]
)
def test_words_with_such_a_character_stay(word: str) -> None:
    assert word in query_tokens(f"{word}的资料")


def test_names_that_ask_stay_whole() -> None:
    assert "谁" in query_tokens("《谁是卧底》的导演")
    assert query_tokens("谁是卧底", ["谁是卧底"]) == query_tokens("《谁是卧底》", ["谁是卧底"])


def test_what_is_indexed_keeps_the_words_that_ask() -> None:
    assert {"几天", "谁", "何时"} <= set(search_tokens("几天后谁知道何时"))
