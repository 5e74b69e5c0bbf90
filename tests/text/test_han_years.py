from __future__ import annotations

import pytest

from graphkb.text.han_years import fold_years
from graphkb.text.segment import query_tokens, search_tokens


@pytest.mark.parametrize("written", ["二〇二四年", "二零二四年", "二○二四年", "二Ｏ二四年"])
def test_a_year_in_chinese_numerals_gives_the_tokens_of_its_digits(written):
    assert search_tokens(f"{written}营业收入") == search_tokens("2024年营业收入")
    assert query_tokens(f"青石公司{written}的利润") == query_tokens("青石公司2024年的利润")


@pytest.mark.parametrize(
    "text",
    ["二〇二四室", "二零二四", "二千零二十四年", "三〇二四年", "一二〇二四年", "二十四年",
     "二〇二年", "十九年", "in 2024 there were 二 years", ""],
)  # fmt: skip
def test_other_numerals_stay(text):
    assert fold_years(text) == text


@pytest.mark.parametrize(
    ("text", "folded"),
    [
        ("二〇二四财年", "2024财年"),
        ("二零二三和二零二四年", "2023和2024年"),
        ("一九九八至二〇〇一年", "1998至2001年"),
        ("于二〇〇八 年成立", "于2008 年成立"),
    ],
)
def test_only_the_digits_of_years_change(text, folded):
    assert fold_years(text) == folded
    assert len(fold_years(text)) == len(text)
