"""Thoughts before a reply are left out."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkb.llm.thoughts import ThoughtFilter, without_thoughts


@pytest.mark.parametrize(
    ("text", "reply"),
    [
        ("<think>草稿</think>答案", ("答案", True)),
        ("\n<THINK>\na\n</THINK>\n\nb", ("b", True)),
        ("想完了</think>答案", ("答案", True)),
        ("<think>没有想完", ("", False)),
        ("没有想", ("没有想", True)),
        ('{"a": "use </think> here"}', ('{"a": "use </think> here"}', True)),
        ("mark <think> in text", ("mark <think> in text", True)),
    ],
)
def test_thoughts_are_no_reply(text: str, reply: tuple[str, bool]) -> None:
    assert without_thoughts(text) == reply


@given(
    st.sampled_from(
        ["<think>a {b}</think>\n答案 <b>", "答案 < 1", "<thinking>x</thinking>y", "plain"]
    ),
    st.lists(st.integers(1, 6), min_size=1, max_size=30),
)
@settings(max_examples=60, deadline=None)
def test_a_stream_shows_the_same_reply_however_it_is_cut(text: str, sizes: list[int]) -> None:
    thoughts = ThoughtFilter()
    shown = ""
    place = 0
    while place < len(text):
        size = sizes[place % len(sizes)]
        shown += thoughts.feed(text[place : place + size])
        place += size
    assert shown + thoughts.finish() == without_thoughts(text)[0]
