"""Which entities a question names: exact and by alias over all its spans, then by rare words."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.extract.latin import FUNCTION_WORDS, starts_name
from graphkb.graph.lookup import find_hash, hash64, token_range
from graphkb.text.language import HAN, has_han
from graphkb.text.names import name_key
from graphkb.text.segment import STOP_WORDS, search_tokens

Arrays = Mapping[str, npt.NDArray[Any]]

_PIECE = re.compile(rf"[{HAN}]|[^\W_{HAN}]+(?:['’][^\W_{HAN}]+)*(?:\+\+|#)?")
_POSSESSIVE = re.compile(r"['’]s?\Z")
_MAX_PIECES = 16
_MAX_NAMESAKES = 50
_LOWER_CASE = 0.25
_UNTITLED = 0.6
#: In a question without capitals: weight that one lower-case word, or several, must reach.
_RARE_WORD, _RARE_WORDS = 0.7, 0.4
_FUZZY = 0.5
_MIN_COVER = 0.75
_MAX_POSTINGS = 2_000


@dataclass(frozen=True)
class Seed:
    """An entity a question names: ``weight`` in (0, 1], ``how`` is exact, alias or fuzzy.

    ``entity`` is its position in the graph arrays.
    """

    entity: int
    entity_id: str
    weight: float
    surface: str
    how: str


@dataclass(frozen=True)
class _Piece:
    start: int
    end: int
    text: str
    han: bool


def link(arrays: Arrays, query: str) -> list[Seed]:
    """Entities named in the question, strongest first; ties by entity.

    Longest spans first, each word used once. A span counts when it is written like a name, or
    has at least two words or Chinese characters; its weight falls with the number of entities
    of that name, with their commonness, and when no document is titled by it. Capitalised
    spans that match nothing are looked up by their rare words (``Greenfield-Central High``).
    In a question without capitals, as people type them, lower-case words may be names too;
    then their commonness as words decides.
    """
    pieces = [
        _Piece(m.start(), m.end(), m.group(), has_han(m.group())) for m in _PIECE.finditer(query)
    ]
    cased = any(starts_name(piece.text) for piece in pieces[1:] if not piece.han)
    used = [False] * len(pieces)
    seeds: dict[int, Seed] = {}
    for length in range(min(_MAX_PIECES, len(pieces)), 0, -1):
        for first in range(len(pieces) - length + 1):
            span = pieces[first : first + length]
            if any(used[first : first + length]) or not _may_name(span, first, cased):
                continue
            surface = query[span[0].start : span[-1].end]
            written = _is_written_as_name(span) and (cased or first > 0 or span[0].han)
            found = _exact(arrays, surface, written, cased)
            if found:
                used[first : first + length] = [True] * length
                for seed in found:
                    _keep(seeds, seed)
    # The capital of a first word says nothing where no other word has one.
    begin = 0 if cased or any(piece.han for piece in pieces) else 1
    for surface in _unmatched(query, pieces, used, begin):
        for seed in _fuzzy(arrays, surface):
            _keep(seeds, seed)
    return sorted(seeds.values(), key=lambda seed: (-seed.weight, seed.entity))


def _keep(seeds: dict[int, Seed], seed: Seed) -> None:
    known = seeds.get(seed.entity)
    if known is None or seed.weight > known.weight:
        seeds[seed.entity] = seed


def _may_name(span: list[_Piece], first: int, cased: bool) -> bool:
    """False for spans that only function words, digits or one plain word make up.

    ``cased``: the question writes names with capitals, so one lower-case word is none.
    """
    if any(piece.han and piece.text in STOP_WORDS for piece in (span[0], span[-1])):
        return False
    latin = [piece.text for piece in span if not piece.han]
    if len(latin) < len(span):
        return len(span) >= 2 or bool(latin)
    content = [w for w in latin if w.lower() not in FUNCTION_WORDS and not w.isdigit()]
    written = any(map(starts_name, content)) or (first > 0 and sum(map(starts_name, latin)) > 1)
    return written or len(content) > 1 or (bool(content) and not cased)


def _is_written_as_name(span: list[_Piece]) -> bool:
    return any(piece.han or starts_name(piece.text) for piece in span)


def _exact(arrays: Arrays, surface: str, written: bool, cased: bool) -> list[Seed]:
    """Seeds of one span by its name key, with and without a possessive ending.

    ``written``: as a name; other spans are plain words at the same time, and weigh little in a
    question that writes its names with capitals (``cased``).
    """
    hashes, owners = arrays["key_hashes"], arrays["key_entities"]
    for text in dict.fromkeys((surface, _POSSESSIVE.sub("", surface))):
        code = np.uint64(hash64(name_key(text)))
        start = int(hashes.searchsorted(code, "left"))
        if start == len(hashes) or hashes[start] != code:
            continue
        end = int(hashes.searchsorted(code, "right"))
        if end - start > _MAX_NAMESAKES:
            continue
        share = 1.0 / math.sqrt(end - start)
        least = 0.0 if cased else _RARE_WORD if " " not in text else _RARE_WORDS
        seeds = []
        for position in range(start, end):
            entity = int(owners[position])
            key_weight = float(arrays["key_weights"][position])
            plain = not written or has_han(text)
            weight = key_weight * share * _importance(arrays, entity, text if plain else "")
            if not written:
                weight *= _LOWER_CASE if cased else 1.0
                if weight < least:
                    continue
            how = "exact" if key_weight == 1 else "alias"
            seeds.append(Seed(entity, _id(arrays, entity), weight, text, how))
        return seeds
    return []


def _importance(arrays: Arrays, entity: int, words: str = "") -> float:
    """Rarity of an entity in (0, 1], less when no document is titled by it.

    ``words`` is a surface that may be plain words too (数字, in "…"; place of birth): then it
    is as common as the rarest of them.
    """
    n_units = len(arrays["unit_ids"])
    frequency = max(1, int(arrays["frequency"][entity]))
    ranges = [token_range(arrays, token) for token in search_tokens(words)]
    counts = [found.stop - found.start for found in ranges if found.stop > found.start]
    frequency = max(frequency, min(counts, default=0))
    rarity = math.log(1 + n_units / frequency) / math.log(1 + n_units) if n_units > 1 else 1.0
    titled = arrays["titled_indptr"]
    return rarity * (1.0 if titled[entity + 1] > titled[entity] else _UNTITLED)


def _unmatched(query: str, pieces: list[_Piece], used: list[bool], begin: int) -> list[str]:
    """Runs of capitalised Latin words, from the piece ``begin`` on, that exact spans cover not at
    all or only in part."""
    runs: list[list[int]] = []
    for i, piece in enumerate(pieces):
        plain = i == 0 and piece.text.lower() in FUNCTION_WORDS
        if i < begin or piece.han or plain or not starts_name(piece.text):
            continue
        if runs and runs[-1][-1] == i - 1:
            runs[-1].append(i)
        else:
            runs.append([i])
    return [
        query[pieces[run[0]].start : pieces[run[-1]].end]
        for run in runs
        if not all(used[i] for i in run)
    ]


def _fuzzy(arrays: Arrays, surface: str) -> list[Seed]:
    """Entities whose title holds nearly all words of ``surface``, whatever their number."""
    words = sorted(set(re.findall(r"[^\W_]+", name_key(_POSSESSIVE.sub("", surface)))))
    scores: dict[int, float] = {}
    for word in words:
        for form, weight in forms(word):
            position = find_hash(arrays["word_hashes"], form)
            if position is None:
                continue
            start, end = arrays["word_indptr"][position : position + 2]
            if end - start > _MAX_POSTINGS:
                continue
            for entity in set(arrays["word_entities"][start:end].tolist()):
                scores[entity] = scores.get(entity, 0.0) + weight
    seeds = []
    for entity, score in scores.items():
        size = int(arrays["entity_words"][entity])
        cover = 2 * score / (len(words) + size)
        if cover >= _MIN_COVER:
            weight = _FUZZY * cover * _importance(arrays, entity)
            seeds.append(Seed(entity, _id(arrays, entity), weight, surface, "fuzzy"))
    return sorted(seeds, key=lambda seed: (-seed.weight, seed.entity))[:5]


def forms(word: str) -> list[tuple[str, float]]:
    """The word and its singular or plural, each with how much it counts."""
    if len(word) < 3:
        return [(word, 1.0)]
    return [(word, 1.0), (word[:-1], 0.9) if word.endswith("s") else (word + "s", 0.9)]


def _id(arrays: Arrays, entity: int) -> str:
    return bytes(arrays["entity_ids"][entity]).decode()
