"""New words of a corpus: Chinese words that no dictionary has, and English phrases.

Both are runs that hold together and stand in many different places: cohesion (smallest pointwise
mutual information over the cuts of the run) and boundary entropy (of what stands before and after
it), after Matrix67 (2012), computed on arrays; over characters in Chinese, over words in English.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import numpy as np
import numpy.typing as npt

from graphkb.text.language import HAN
from graphkb.text.segment import STOP_WORDS, tag

_HAN_RUN = re.compile(f"[{HAN}]+")
_LATIN_RUN = re.compile(r"[A-Za-z][A-Za-z0-9'’\-]*(?: [A-Za-z][A-Za-z0-9'’\-]*)*")
_MIN_COHESION = 3.0
_MIN_ENTROPY = 1.0
_MAX_LENGTH, _MAX_WORDS = 6, 4
_MAX_CHARACTERS = 20_000_000
_NOUN_LIKE = frozenset({"vn", "an", "b", "l", "i"})
_FUNCTION = frozenset(
    "的了是在和与及或也就都而被把对为于以到从有个之其这那我你他她它们吗呢吧啊等将由并不最更很已可会能要"
    "该此各每所至向使让给但则即因若如"
)

_Ids = npt.NDArray[np.int64]
Scored = tuple[str, float, float]
"""A word or phrase, its cohesion and its boundary entropy, both in nats."""


def mined_words(texts: Sequence[str], min_frequency: int) -> list[Scored]:
    """New Chinese words that stand at least ``min_frequency`` times in the texts, sorted."""
    runs = _runs(texts, _HAN_RUN)
    joined = "\n" + "\n".join(runs) + "\n"
    if len(joined) < 50:
        return []
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    letters, ids = np.unique(codes, return_inverse=True)
    found = _select(
        ids.astype(np.int64), int(letters.size), min_frequency, _MAX_LENGTH,
        lambda start, end: joined[start:end],
    )  # fmt: skip
    return sorted(word for word in found if _noun_like(word[0]))


def mined_phrases(texts: Sequence[str], min_frequency: int) -> list[Scored]:
    """English phrases of two to four words, in lower case, that stand at least
    ``min_frequency`` times in the texts, sorted. None holds a stop-word."""
    words = [""]
    for run in _runs(texts, _LATIN_RUN):
        words += ["" if word in STOP_WORDS else word for word in run.lower().split(" ")]
        words.append("")
    known, ids = np.unique(np.array(words), return_inverse=True)
    if known.size < 2:
        return []
    found = _select(
        ids.astype(np.int64), int(known.size), min_frequency, _MAX_WORDS,
        lambda start, end: " ".join(words[start:end]),
    )  # fmt: skip
    return sorted(found)


def _runs(texts: Iterable[str], pattern: re.Pattern[str]) -> list[str]:
    runs: list[str] = []
    total = 0
    for text in texts:
        for match in pattern.finditer(text):
            runs.append(match.group())
            total += len(match.group()) + 1
        if total > _MAX_CHARACTERS:
            break
    return runs


def _select(
    ids: _Ids, size: int, min_frequency: int, most: int, words_at: Callable[[int, int], str]
) -> list[Scored]:
    """Grow n-grams from frequent shorter ones, up to ``most`` long; keep those that cohere and
    stand freely. The first of ``ids`` is the boundary between runs."""
    boundary = int(ids[0])
    usable = ids != boundary
    total = int(usable.sum())
    frequency = [np.bincount(ids, minlength=size)]
    grams = [np.where(usable, ids, -1)]
    words: list[Scored] = []
    for length in range(2, most + 1):
        previous, last = grams[-1][:-1], grams[0][length - 1 :]
        key = np.where((previous >= 0) & (last >= 0), previous * size + last, -1)
        values, first, inverse, counts = np.unique(
            key, return_index=True, return_inverse=True, return_counts=True
        )
        counts = np.where(values < 0, 0, counts)
        keep = counts >= min_frequency
        if not keep.any():
            break
        number = np.where(keep, np.cumsum(keep) - 1, -1)
        gram = number[inverse]
        grams.append(gram)
        frequency.append(counts[keep])
        starts = first[keep]
        cohesion = _cohesion(starts, length, grams, frequency, total)
        entropy = _boundary_entropy(gram, ids, length, frequency[-1].size, boundary)
        for i in np.flatnonzero((cohesion >= _MIN_COHESION) & (entropy >= _MIN_ENTROPY)):
            word = words_at(int(starts[i]), int(starts[i]) + length)
            words.append((word, round(float(cohesion[i]), 3), round(float(entropy[i]), 3)))
    return words


def _noun_like(word: str) -> bool:
    """True for a row of nouns or unknown words that is not one dictionary word already."""
    if any(character in _FUNCTION for character in word):
        return False
    tagged = tag(word)
    flags = [flag for _, flag, _, _ in tagged]
    if len(flags) == 1:
        return flags[0] in {"nr", "ns", "nt", "nz", "x", "eng"}
    if not all(flag[0] in "njxe" or flag in _NOUN_LIKE for flag in flags):
        return False
    # A row of everyday nouns is a phrase, unless a piece of it is no word by itself.
    everyday = {"n", "vn", "an", "l", "i"}
    new = flags[0] not in everyday or flags[-1] not in everyday
    return new or any(len(part) == 1 for part, _, _, _ in tagged)


def _cohesion(
    starts: _Ids, length: int, grams: list[_Ids], frequency: list[_Ids], total: int
) -> npt.NDArray[np.float64]:
    """Smallest log(p(word) / (p(left) p(right))) over the cuts of each n-gram."""
    whole = np.log(frequency[length - 1] / total)
    worst = np.full(starts.size, np.inf)
    for cut in range(1, length):
        left = frequency[cut - 1][grams[cut - 1][starts]]
        right = frequency[length - cut - 1][grams[length - cut - 1][starts + cut]]
        worst = np.minimum(worst, whole - np.log(left / total) - np.log(right / total))
    return worst


def _boundary_entropy(
    gram: _Ids, ids: _Ids, length: int, n_grams: int, boundary: int
) -> npt.NDArray[np.float64]:
    """The smaller of the left and right neighbour entropies; text edges count as new neighbours."""
    position = np.flatnonzero(gram >= 0)
    gram = gram[position]
    result = np.full(n_grams, np.inf)
    for neighbour in (ids[position - 1], ids[position + length]):
        edge = neighbour == boundary
        pair = np.where(edge, -position - 1, gram * (int(ids.max()) + 1) + neighbour)
        _, first, counts = np.unique(pair, return_index=True, return_counts=True)
        owner = gram[first]
        total = np.bincount(owner, weights=counts, minlength=n_grams)
        share = counts / total[owner]
        entropy = np.bincount(owner, weights=-share * np.log(share), minlength=n_grams)
        result = np.minimum(result, entropy)
    return result
