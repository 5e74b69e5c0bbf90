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
    ],
)
def test_a_token_is_found_in_text_and_in_a_question(text: str, token: str) -> None:
    assert token in search_tokens(text)
    assert token in query_tokens(token)


def test_dictionary_words_are_kept_whole() -> None:
    assert "元景大模型" not in search_tokens("元景大模型发布")
    assert "元景大模型" in search_tokens("元景大模型发布", ("元景大模型",))


def test_stop_words_never_stand_beside_a_code_in_a_question() -> None:
    assert query_tokens("什么时候会出现 E1043？") == ["出现", "e1043"]
    assert query_tokens("When is the E-4107 shown?") == ["e-4107", "4107", "shown"] or (
        "e-4107" in query_tokens("When is the E-4107 shown?")
        and "the" not in query_tokens("When is the E-4107 shown?")
    )


@pytest.mark.parametrize("text", ["", "   ", "？！", "😀", "\x00", "…", "-", "++"])
def test_text_without_words_gives_no_tokens(text: str) -> None:
    assert search_tokens(text) == []
    assert query_tokens(text) == []


@given(st.text())
def test_tokens_hold_no_white_space_and_are_folded(text: str) -> None:
    tokens = search_tokens(text)
    assert all(token and not any(c.isspace() for c in token) for token in tokens)
    assert tokens == search_tokens(text)


@given(st.text())
def test_tags_cover_the_text(text: str) -> None:
    tagged = tag(text)
    assert "".join(word for word, _, _, _ in tagged) == text
    assert all(text[start:end] == word for word, _, start, end in tagged)
