"""Pairs of words that a sentence holds are found the same with and without a look ahead."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphkb.query.phrases import _pairs, _words, phrases_held
from graphkb.query.sentences import Sentence

texts = st.text(st.sampled_from("营收的房间 -/《》。1７bB　室"), max_size=24)


@given(texts, texts)
def test_a_sentence_holds_the_pairs_that_stand_side_by_side_in_it(question: str, text: str) -> None:
    _, (held,) = phrases_held(question, [Sentence(0, len(text), text)])
    assert held == set(_pairs(_words(question))) & set(_pairs(_words(text)))


def test_pairs_are_found_through_gaps_and_other_scripts() -> None:
    texts = ("《营收》增长", "營收增长", "营业收入", "Room-17", "17 rooms")
    sentences = [Sentence(0, len(text), text) for text in texts]
    _, held = phrases_held("Room 17 的营收", sentences)
    assert [sorted(map("".join, one)) for one in held] == [
        ["营收"], ["营收"], [], ["room17"], [],
    ]  # fmt: skip
