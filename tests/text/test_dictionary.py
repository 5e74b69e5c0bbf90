"""Files with the user's words: plain lines and jieba's format, Chinese and English."""

from __future__ import annotations

import pytest

from graphkb.text.dictionary import dictionary_words


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("云计算 5", "云计算"),
        ("创新办 3 i", "创新办"),
        ("凱特琳 nz", "凱特琳"),
        ("5G消息 10 nz", "5G消息"),
        ("bearing seat", "bearing seat"),
        ("zeta api", "zeta api"),
        ("bearing seat 12 n", "bearing seat"),
        ("  元景大模型\t", "元景大模型"),
    ],
)
def test_a_line_gives_its_word(line: str, word: str) -> None:
    assert dictionary_words(line) == [word]


def test_comments_and_blank_lines_give_none() -> None:
    assert dictionary_words("# 我的词\n\n青石谷\n# x\n") == ["青石谷"]
