"""Long passages are cut to the part that fits the question."""

from __future__ import annotations

import pytest

from graphkb.search.rerank.passages import Passages, matching_part
from graphkb.text.segment import query_tokens, stem
from graphkb.text.tokens import count_tokens

EN_FILLER = "The committee met in the large hall and spoke about the weather of that spring. "
ZH_FILLER = "委员会当天在大厅开会，讨论了春季的天气和交通安排。"
CASES = [
    (
        EN_FILLER,
        "The founder of Bluestone was born in Kiel in 1971. ",
        "Where was the founder born?",
    ),
    (ZH_FILLER, "青石公司的创办人沈若衡一九七一年生于绍兴。", "青石公司的创办人在哪里出生？"),
]


def weights(question: str) -> dict[str, float]:
    return {stem(token): 1.0 for token in query_tokens(question)}


@pytest.mark.parametrize(("filler", "fact", "question"), CASES, ids=["en", "zh"])
@pytest.mark.parametrize("before", [0, 7, 40])
@pytest.mark.parametrize("limit", [40, 100])
def test_the_matching_part_is_kept_wherever_it_stands(
    filler: str, fact: str, question: str, before: int, limit: int
) -> None:
    text = filler * before + fact + filler * (40 - before)
    part = matching_part(text, weights(question), limit)
    assert fact.strip() in part
    assert part in text
    assert count_tokens(part) <= limit


@pytest.mark.parametrize(("filler", "fact", "question"), CASES, ids=["en", "zh"])
def test_one_piece_that_never_ends_is_cut_within(filler: str, fact: str, question: str) -> None:
    breathless = str.maketrans(dict.fromkeys(".。，,", " "))
    text = (filler * 30 + fact + filler * 30).translate(breathless)
    part = matching_part(text, weights(question), 60)
    assert fact.translate(breathless).split()[0] in part
    assert count_tokens(part) <= 60


@pytest.mark.parametrize(("filler", "fact", "question"), CASES, ids=["en", "zh"])
def test_a_question_without_a_word_in_the_text_gets_its_beginning(
    filler: str, fact: str, question: str
) -> None:
    text = fact + filler * 30
    part = matching_part(text, weights("E1043"), 60)
    assert text.startswith(part)
    assert matching_part(text, {}, 60) == part
    assert matching_part(fact, {}, 60) == fact
    assert matching_part(fact, {}, 0) == ""


@pytest.mark.parametrize(("filler", "fact", "question"), CASES, ids=["en", "zh"])
def test_headings_stand_above_and_take_no_more_than_a_quarter(
    filler: str, fact: str, question: str
) -> None:
    passages = Passages(
        question,
        ("Minutes › 会议纪要", filler * 9, ""),
        (filler * 30 + fact,) * 3,
        weights(question),
    )
    named, crowded, bare = (passages.text(place, 100) for place in range(len(passages)))
    assert named.startswith("Minutes › 会议纪要\n")
    for text in (named, crowded, bare):
        assert fact.strip() in text
        assert count_tokens(text) <= 102
