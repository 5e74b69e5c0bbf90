"""Documents that are nearly the same: MinHash to find candidates, then their exact overlap.

Shingles, resemblance (the Jaccard similarity of two sets of shingles) and its estimate by minima
of random permutations: Broder, "On the resemblance and containment of documents", 1997. Banding:
Leskovec, Rajaraman, Ullman, "Mining of Massive Datasets", section 3.4.
"""

from __future__ import annotations

import re
import zlib
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

THRESHOLD = 0.9
"""Least Jaccard similarity of near-duplicates."""
LEAST_TOKENS = 50
"""Shorter documents are too easily alike."""
_SHINGLE = 4
# With 16 bands of 4 rows a pair of similarity 0.9 is missed once in 26 million times.
_BANDS, _ROWS = 16, 4
# Documents with one band in common are compared with at most so many that came before.
_MOST_IN_BAND = 40
_TOKENS_AT_ONCE = 50_000
_CJK = r"\u3400-\u9fff\uf900-\ufaff\u3040-\u30ff\uac00-\ud7af"
_TOKEN = re.compile(rf"[{_CJK}]|[^\W_{_CJK}]+")
_random = np.random.default_rng(1997)
# Odd multipliers make every map a permutation of the 32-bit numbers.
_FACTORS = _random.integers(0, 2**31, _BANDS * _ROWS, dtype=np.uint32) * np.uint32(2) + np.uint32(1)
_SUMMANDS = _random.integers(0, 2**32, _BANDS * _ROWS, dtype=np.uint32)


@dataclass(frozen=True)
class NearDuplicate:
    """``copy`` and ``first`` are positions of documents; ``similarity`` is at least
    :data:`THRESHOLD`."""

    copy: int
    first: int
    similarity: float


def near_duplicates(texts: Sequence[str]) -> list[NearDuplicate]:
    """Each text that is nearly the same as one before it, by position.

    The one before is the first that is no near-duplicate itself. Texts of less than
    :data:`LEAST_TOKENS` tokens (words; characters of Chinese, Japanese and Korean) have none.
    The result depends on the texts and their order only.
    """
    positions, signatures = _signatures(texts)
    seen: dict[tuple[int, bytes], list[int]] = defaultdict(list)
    shingles = lru_cache(maxsize=256)(
        lambda position: np.unique(_shingles([_tokens(texts[position])])[0])
    )
    found: list[NearDuplicate] = []
    for position, signature in zip(positions, signatures, strict=True):
        keys = [
            (band, signature[band * _ROWS : (band + 1) * _ROWS].tobytes()) for band in range(_BANDS)
        ]
        earlier = sorted({other for key in keys for other in seen.get(key, ())})
        for first in earlier:
            similarity = _jaccard(shingles(position), shingles(first))
            if similarity >= THRESHOLD:
                found.append(NearDuplicate(position, first, similarity))
                break
        else:
            for key in keys:
                if len(seen[key]) < _MOST_IN_BAND:
                    seen[key].append(position)
    return found


def _jaccard(one: np.ndarray, other: np.ndarray) -> float:
    if min(one.size, other.size) < THRESHOLD * max(one.size, other.size):
        return 0.0
    common = np.intersect1d(one, other, assume_unique=True).size
    return float(common / (one.size + other.size - common))


def _tokens(text: str) -> list[str]:
    """The tokens of a text; none of a short one."""
    tokens = _TOKEN.findall(text.casefold())
    return tokens if len(tokens) >= LEAST_TOKENS else []


def _shingles(texts: Sequence[list[str]]) -> tuple[np.ndarray, np.ndarray]:
    """Hashes of every run of tokens, uint32 [n], and where those of each text begin, int64."""
    tokens = [token for text in texts for token in text]
    known = {token: zlib.crc32(token.encode("utf-8", "surrogatepass")) for token in set(tokens)}
    hashes = np.fromiter(map(known.__getitem__, tokens), np.uint64, len(tokens))
    mixed = np.zeros(len(tokens) - _SHINGLE + 1, np.uint64)
    for place in range(_SHINGLE):
        mixed = _mixed(mixed + hashes[place : place + mixed.size])
    ends = np.cumsum([len(text) for text in texts])
    # The last tokens of a text begin no run: it would go on in the next text.
    within = np.ones(len(tokens), bool)
    for place in range(1, _SHINGLE):
        within[ends - place] = False
    starts = ends - [len(text) for text in texts] - (_SHINGLE - 1) * np.arange(len(texts))
    return (mixed >> np.uint64(32)).astype(np.uint32)[within[: mixed.size]], starts


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finalizer of MurmurHash3: every bit of the value moves every bit of the result."""
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xFF51AFD7ED558CCD)
    values = (values ^ (values >> np.uint64(33))) * np.uint64(0xC4CEB9FE1A85EC53)
    mixed: np.ndarray = values ^ (values >> np.uint64(33))
    return mixed


def _signatures(texts: Sequence[str]) -> tuple[list[int], np.ndarray]:
    """Positions of the texts that are long enough, and their minima, uint32 [n, permutations]."""
    positions: list[int] = []
    rows: list[np.ndarray] = [np.empty((0, _BANDS * _ROWS), np.uint32)]
    for numbers, parts in _batches(texts):
        hashes, starts = _shingles(parts)
        values = hashes[None, :] * _FACTORS[:, None] + _SUMMANDS[:, None]
        rows.append(np.minimum.reduceat(values, starts, axis=1).T)
        positions.extend(numbers)
    return positions, np.ascontiguousarray(np.concatenate(rows))


def _batches(texts: Sequence[str]) -> Iterator[tuple[list[int], list[list[str]]]]:
    """Positions and tokens of texts that are long enough, some at a time to bound the memory."""
    numbers: list[int] = []
    parts: list[list[str]] = []
    waiting = 0
    for number, text in enumerate(texts):
        tokens = _tokens(text)
        if not tokens:
            continue
        numbers.append(number)
        parts.append(tokens)
        waiting += len(tokens)
        if waiting >= _TOKENS_AT_ONCE:
            yield numbers, parts
            numbers, parts, waiting = [], [], 0
    if parts:
        yield numbers, parts
