"""Cleaning questions and telling whole-collection questions from pointed ones."""

from __future__ import annotations

import pytest

from graphkb.errors import UsageError
from graphkb.query.route import MAX_QUESTION, clean_question, is_about_everything


@pytest.mark.parametrize(
    "question", ["", "   ", "\n", "\u200b", "\ufeff \t", "\u3000", "\udcff\udcfe"]
)
def test_a_blank_question_is_refused_with_advice(question: str) -> None:
    with pytest.raises(UsageError, match="question is empty"):
        clean_question(question)


def test_cleaning_keeps_words_and_a_part_is_never_taken_for_the_question() -> None:
    assert clean_question(" 谁是\u200b负责人？\n") == "谁是负责人？"
    assert clean_question("a\tb\nc") == "a b c"
    assert clean_question("\udcff bad") == "bad"
    assert clean_question("问" * MAX_QUESTION) == "问" * MAX_QUESTION
    with pytest.raises(UsageError, match="50,000 characters, more than 8,000"):
        clean_question("a" * 50_000)


@pytest.mark.parametrize(
    "question",
    [
        "What are the main themes?",
        "Give me an overview of the incidents",
        "Summarize the documents",
        "What are the main causes of delays and outages at Kelsound Tidal Energy?",
        "What are the major lessons across all documents?",
        "这些文档主要讲什么？",
        "总结一下公司的情况",
        "青石谷这两年有哪些主要变化？",
        "知识库里有哪些主题？",
        "What themes do the reports share?",
        "总结“智慧车联网论坛”的主题",
    ],
)
def test_questions_about_the_whole(question: str) -> None:
    assert is_about_everything(question)


@pytest.mark.parametrize(
    "question",
    [
        "Who leads the Mechanical Reliability Team?",
        "What is the price of the Professional plan?",
        "In which city was the founder born?",
        "E1043 是什么原因？",
        "专业版每月多少钱？",
        "陈明是谁？",
        "2024合作伙伴大会“智慧车联网论坛”的主题是什么？",
        "What was the theme of the “Harbour Forum”?",
    ],
)
def test_pointed_questions(question: str) -> None:
    assert not is_about_everything(question)
