"""Token counts and token boundaries in o200k_base."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from graphkb.text.encoding import encoding_for, prepare_for

# Titles and the like, which are counted for every row that has them.
_SHORT, _KEPT = 200, 16_384


def count_tokens(text: str) -> int:
    """Number of o200k_base tokens; special-token strings count as ordinary text.

    >>> count_tokens("hello world"), count_tokens("陈明是工程师"), count_tokens("")
    (2, 5, 0)
    """
    if not text:
        return 0
    return _count_short(text) if len(text) <= _SHORT else _count(text)


def _count(text: str) -> int:
    return sum(len(encoding_for(part).encode_ordinary(part)) for part in _pieces(text))


_count_short = lru_cache(_KEPT)(_count)


def are_within(texts: Sequence[str], limit: int) -> list[bool]:
    """Whether each text has at most ``limit`` tokens; counted only where that is open.

    >>> are_within(["one two three", "一二三", "a b c d"], 3)
    [True, True, False]
    """
    found: list[bool | None] = [_is_within(text, limit) for text in texts]
    prepare_for([text for text, known in zip(texts, found, strict=True) if known is None])
    return [
        count_tokens(text) <= limit if known is None else known
        for text, known in zip(texts, found, strict=True)
    ]


def _is_within(text: str, limit: int) -> bool | None:
    """What is sure without counting: no token is shorter than a byte, none holds two words."""
    if len(text.encode("utf-8", "surrogatepass")) <= limit:
        return True
    return False if len(text.split(maxsplit=limit)) > limit else None


def token_starts(text: str) -> list[int]:
    """Character offset at which each token starts, rising, never inside a character.

    Tokens that begin in the middle of a character (byte-level pieces of 汉字 and emoji)
    are reported at that character's offset, so offsets may repeat.
    """
    starts: list[int] = []
    base = 0
    for part in _pieces(text):
        encoding = encoding_for(part)
        _, offsets = encoding.decode_with_offsets(encoding.encode_ordinary(part))
        starts.extend(base + offset for offset in offsets)
        base += len(part)
    return starts


def _pieces(text: str, size: int = 20_000) -> list[str]:
    """Cut very long text, because BPE merging of one unbroken run is quadratic in its length."""
    if len(text) <= size:
        return [text]
    return [text[i : i + size] for i in range(0, len(text), size)]


def truncate_tokens(text: str, limit: int) -> str:
    """The longest prefix of ``text`` with at most ``limit`` tokens, cut between characters.

    >>> truncate_tokens("one two three", 2)
    'one two'
    """
    left = max(limit, 0)
    base = 0
    for part in _pieces(text):
        encoding = encoding_for(part)
        tokens = encoding.encode_ordinary(part)
        if len(tokens) > left:
            # A token may begin in the middle of a character, which then is left out.
            kept = encoding.decode_bytes(tokens[:left]).decode("utf-8", "ignore")
            return text[: base + len(kept)]
        left -= len(tokens)
        base += len(part)
    return text
