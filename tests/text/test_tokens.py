"""Token counts and cuts: right, and never inside a character."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphkb.text import encoding
from graphkb.text.tokens import are_within, count_tokens, token_starts, truncate_tokens

ANIMALS = (
    "ant bear cat dog eel fox goat hare ibis jay kiwi lion mole newt owl pig quail rat seal toad "
    "viper wolf yak zebra 虎 豹 狼 熊 鹰 鱼"
)
WHOLE, RANKS = encoding._whole(), encoding._ranks()
PIECES = st.sampled_from(
    ["Ada", "Lin's", "陈明", "，", "。", " ", "\n", "\r\n", "\t", "/", "…", "1903", "Étienne",
     "don't", "e\u0301", "\u00a0", "\x1c", "🙂", "_", "|", "§ 3", "臺灣", "ß", "\ud800", "'", "’s"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=60), st.lists(PIECES, max_size=12).map("".join))


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


@settings(max_examples=60, deadline=None)
@given(st.lists(TEXTS.filter(bool), min_size=1, max_size=4))
@example(["Ada Lin's notes.\n/ 陈明，在杭州。", "Ada Lin's notes.\r\n"])
def test_a_tokenizer_of_few_texts_cuts_them_as_the_whole_one(texts: list[str]) -> None:
    few = encoding._FewTexts()
    few._ranks = RANKS
    few.learn(texts[:-1])
    for text in texts:
        known = few.encoding_for(text)
        assert known is not None
        assert known.encode_ordinary(text) == WHOLE.encode_ordinary(text)


def test_many_texts_are_worth_the_whole_tokenizer() -> None:
    few = encoding._FewTexts()
    few.learn(["one text 一段文字" * 10_000])
    assert few.encoding_for("one 一") is None
    often = encoding._FewTexts()
    made = [often.encoding_for(word) for word in ANIMALS.split()]
    assert made[0] is not None
    assert made[-1] is None


@given(st.lists(TEXTS, max_size=4), st.integers(min_value=0, max_value=30))
def test_texts_are_within_a_limit_when_they_have_so_many_tokens(
    texts: list[str], limit: int
) -> None:
    assert are_within(texts, limit) == [count_tokens(text) <= limit for text in texts]


def test_ranks_are_read_ahead_only_for_what_takes_the_whole_tokenizer() -> None:
    encoding._all_ranks.cache_clear()
    encoding.read_ranks_for(["few 几个"])
    assert not encoding._all_ranks.cache_info().currsize
    encoding.read_ranks_for(["one text 一段文字" * 10_000])
    assert encoding._all_ranks.cache_info().currsize
