"""Relation-aware expansion: from the passages found to those their fitting sentences lead to."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.graph.lookup import token_range
from graphkb.graph.pagerank import edge_positions
from graphkb.text.language import has_han
from graphkb.text.names import fold
from graphkb.text.sentences import sentence_spans

Arrays = Mapping[str, npt.NDArray[Any]]

_K1, _B = 1.2, 0.75
_BASE = 0.1
_POSITION = 0.2
_TITLED_BASE = 0.15
_MENTIONED = 0.6
_MENTIONED_BASE = 0.05
_MAX_POSTINGS = 3_000

_WORD = re.compile(r"[a-z0-9]+")
_ENDING = re.compile(r"(?:(?:ation|ion|ing|ed|er|or|e)s?|es|s)\Z")


@dataclass(frozen=True)
class Wanted:
    """Question words that name no seed: token to inverse document frequency, and their sum.

    ``latin`` has them stemmed, ``other`` as they are, for looking into sentences.
    """

    idf: Mapping[str, float]
    total: float
    latin: tuple[tuple[str, float], ...]
    other: tuple[tuple[str, float], ...]


def wanted_words(arrays: Arrays, tokens: list[str]) -> Wanted:
    """What the question asks about its seeds: its search tokens without theirs."""
    n_units = len(arrays["unit_ids"])
    idf: dict[str, float] = {}
    for token in tokens:
        found = token_range(arrays, token)
        if count := found.stop - found.start:
            idf[token] = math.log(1 + (n_units - count + 0.5) / (count + 0.5))
    latin = tuple((stem(token), value) for token, value in idf.items() if not has_han(token))
    other = tuple((token, value) for token, value in idf.items() if has_han(token))
    return Wanted(idf, sum(idf.values()) or 1.0, latin, other)


def held_shares(arrays: Arrays, tokens: list[str]) -> npt.NDArray[np.float64]:
    """The share of the question's search tokens, by idf, that each unit holds, in [0, 1],
    float64 [n_units].

    The largest is high where one passage can answer, low where the question needs several. Words
    that no unit holds count as the rarest.
    """
    n_units = len(arrays["unit_ids"])
    held = np.zeros(n_units)
    total = 0.0
    for token in tokens:
        found = token_range(arrays, token)
        count = found.stop - found.start
        idf = math.log(1 + (n_units - count + 0.5) / (count + 0.5))
        held[arrays["token_units"][found]] += idf
        total += idf
    return held / total if total > 0 else held


def length_norms(arrays: Arrays) -> npt.NDArray[np.float64]:
    """What BM25 adds to the count of a token for the length of each unit, float64 [n_units]."""
    lengths = arrays["unit_lengths"].astype(np.float64)
    mean = max(float(lengths.mean()), 1.0) if lengths.size else 1.0
    return np.asarray(_K1 * (1 - _B + _B * lengths / mean))


def fit_to_words(
    arrays: Arrays, wanted: Wanted, norm: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """BM25 of every unit over the wanted words, divided by the sum of their idf: about 0 to 1.5.

    ``norm`` is that of :func:`length_norms`.
    """
    scores = np.zeros(norm.size)
    for token, idf in wanted.idf.items():
        found = token_range(arrays, token)
        units = arrays["token_units"][found]
        counts = arrays["token_counts"][found].astype(np.float64)
        scores[units] += idf * counts * (_K1 + 1) / (counts + norm[units])
    return np.asarray(scores / (wanted.total * 1.5))


def bridges(
    arrays: Arrays, wanted: Wanted, sources: list[tuple[int, float]], seeds: set[int]
) -> dict[int, float]:
    """Entities that fitting sentences and facts of the source units lead to, with their strength.

    A sentence fits by the share of wanted words (by idf) it holds; in a sentence the first
    entity counts most. A fact (a relationship with a type) fits likewise, and leads from a seed
    or the source's own title to its other end. Seeds and the source's own title are no bridges.
    """
    strengths: dict[int, float] = {}
    for unit, weight in sources:
        start, end = arrays["mention_indptr"][unit : unit + 2]
        entities = arrays["mention_entities"][start:end].tolist()
        places = arrays["mention_starts"][start:end].tolist()
        own = int(arrays["title_entity"][unit])
        position = next((i for i, place in enumerate(places) if place >= 0), len(places))
        text = unit_text(arrays, unit)
        for sentence_start, sentence_end in sentence_spans(text):
            fit = 0.0
            seen: set[int] = set()
            while position < len(places) and places[position] < sentence_end:
                entity, place = entities[position], places[position]
                position += 1
                if entity not in seeds and entity != own:
                    # Most sentences name nothing new, and need not be cut into words.
                    fit = fit or _BASE + _share(wanted, text[sentence_start:sentence_end])
                    seen.add(place)  # names inside a longer one begin at the same place or later
                    strength = weight * fit / (1 + _POSITION * (len(seen) - 1))
                    strengths[entity] = max(strengths.get(entity, 0.0), strength)
        for entity, fit in _facts(arrays, wanted, unit, seeds | {own}):
            strengths[entity] = max(strengths.get(entity, 0.0), weight * fit)
    return strengths


def _facts(
    arrays: Arrays, wanted: Wanted, unit: int, known: set[int]
) -> Iterator[tuple[int, float]]:
    """Ends of a unit's facts whose other end is known, and how well the fact's words fit."""
    start, end = arrays["fact_indptr"][unit : unit + 2]
    for fact in range(start, end):
        source, target = int(arrays["fact_sources"][fact]), int(arrays["fact_targets"][fact])
        if (source in known) != (target in known):
            text_start, text_end = arrays["fact_text_indptr"][fact : fact + 2]
            words = arrays["fact_text"][text_start:text_end].tobytes().decode()
            yield target if source in known else source, _BASE + _share(wanted, words)


def reach(
    arrays: Arrays,
    strengths: dict[int, float],
    fit: npt.NDArray[np.float64],
) -> npt.NDArray[np.float64]:
    """Score of every unit that a bridge leads to, float64 [n_units].

    A unit titled by the bridge gets ``strength * (0.15 + fit)``; one that only mentions it
    ``0.6 * strength * (0.05 + fit)``, divided by the logarithm of how many do: what few units
    mention leads on even where the next one words the question differently.
    """
    n_units = fit.size
    scores = np.zeros(n_units)
    if not strengths:
        return scores
    entities = np.array(sorted(strengths), dtype=np.int64)
    strength = np.array([strengths[int(entity)] for entity in entities])
    units, owner = _slices(arrays["titled_indptr"], arrays["titled_units"], entities)
    np.add.at(scores, units, strength[owner] * (_TITLED_BASE + fit[units]))
    counts = arrays["frequency"][entities].astype(np.int64)
    common = counts > _MAX_POSTINGS
    entities, strength, counts = entities[~common], strength[~common], counts[~common]
    units, owner = _slices(arrays["indptr"], arrays["indices"], entities + n_units)
    keep = units < n_units
    units, owner = units[keep], owner[keep]
    keep = arrays["title_entity"][units] != entities[owner]
    units, owner = units[keep], owner[keep]
    share = strength * _MENTIONED / np.log(2.0 + counts)
    np.add.at(scores, units, share[owner] * (_MENTIONED_BASE + fit[units]))
    return scores


def _slices(
    indptr: npt.NDArray[Any], values: npt.NDArray[Any], rows: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Values of several CSR rows joined, and for each value the position of its row in ``rows``."""
    starts = indptr[rows].astype(np.int64)
    lengths = indptr[rows + 1].astype(np.int64) - starts
    owner = np.repeat(np.arange(rows.size), lengths)
    return values[edge_positions(starts, lengths)].astype(np.int64), owner


def unit_text(arrays: Arrays, unit: int) -> str:
    """The text of a unit by its index."""
    start, end = arrays["text_indptr"][unit : unit + 2]
    return arrays["text"][start:end].tobytes().decode()


def _share(wanted: Wanted, sentence: str) -> float:
    """Share of the wanted words, by idf, that a sentence holds."""
    folded = fold(sentence)
    words = set(map(stem, _WORD.findall(folded)))
    held = sum(idf for form, idf in wanted.latin if form in words)
    held += sum(idf for token, idf in wanted.other if token in folded)
    return held / wanted.total


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """An English word without its ending, so that director, directed and directs meet.

    >>> [stem(word) for word in ("director", "directed", "composer", "composed", "cities")]
    ['direct', 'direct', 'compos', 'compos', 'citi']
    """
    return _ENDING.sub("", word) if len(word) > 4 else word
