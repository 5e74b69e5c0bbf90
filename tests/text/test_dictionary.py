"""Files with the user's words: plain lines and jieba's format, Chinese and English."""

from __future__ import annotations

import pytest

from graphkb.text.dictionary import dictionary_line, dictionary_word, dictionary_words


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
        ("青石谷  # 注释", "青石谷"),
        ("青石谷 #注释", "青石谷"),
        ("云计算 5 n # 5", "云计算"),
        ("bearing seat\t# where it sits", "bearing seat"),
        ("C# tool", "C# tool"),
    ],
)
def test_a_line_gives_its_word(line: str, word: str) -> None:
    assert dictionary_words(line) == [word]


def test_comments_and_blank_lines_give_none() -> None:
    assert dictionary_words("# 我的词\n\n青石谷\n# x\n") == ["青石谷"]


def test_a_word_counts_once() -> None:
    assert dictionary_words("青石谷\r\n青石谷 5\r\nzeta\r\n青石谷 # 又\r\n") == ["青石谷", "zeta"]


@pytest.mark.parametrize("word", ["青石谷", "ISO 9001", "云计算 nz", "国标 2312", "GB 1 n", "C#"])
def test_a_word_is_read_as_it_was_written(word: str) -> None:
    assert dictionary_word(dictionary_line(word)) == word
