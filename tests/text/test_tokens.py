"""Token counts and cuts: right, and never inside a character."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from graphkb.text.tokens import count_tokens, token_starts, truncate_tokens


def test_special_tokens_are_ordinary_text() -> None:
    assert count_tokens("what does <|endoftext|> mean?") > 5


def test_long_text_without_breaks_is_counted_quickly() -> None:
    assert count_tokens("汉" * 60_000) > 10_000


@given(st.text(max_size=200))
def test_starts_are_character_offsets_one_for_each_token(text: str) -> None:
    starts = token_starts(text)
    assert len(starts) == count_tokens(text)
    assert starts == sorted(starts)
    assert all(0 <= start < len(text) for start in starts)


@given(st.text(max_size=200), st.integers(min_value=0, max_value=50))
def test_truncation_keeps_a_prefix_within_the_limit(text: str, limit: int) -> None:
    cut = truncate_tokens(text, limit)
    assert text.startswith(cut)
    # Cutting can split differently at the seam by a token.
    assert count_tokens(cut) <= limit + 1
