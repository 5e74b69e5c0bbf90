"""Sentences worth quoting, the entities they name, and the best of them by community."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from graphkb.report.corpus import Corpus, Grouped, Integers, Reals
from graphkb.text.language import HAN
from graphkb.text.sentences import sentence_spans

# Candidates kept for each community; the choice among them reads their words.
_CANDIDATES = 24

# Sentences of 40 to 240 columns (a Chinese character is two) are neither labels nor paragraphs.
_SHORT, _LONG = 40.0, 240.0
_MIN_COLUMNS = 16
_WIDE = frozenset({"zh", "ja", "ko"})
# Texts that are read ahead in one step.
_AHEAD = 50

_MARKER = re.compile(r"(?:[-*+•·]|\d{1,3}[.)、])\s+|[（(]\d{1,3}[)）]\s*|>\s+")
_ENDS = re.compile(r"""[.!?。！？…；;]["'”’」』）)\]】*_]*$""")
_NOT_PROSE = re.compile(r"^(?:#|\||```|~~~|<|!\[)|\|.*\||\t.*\t|\s{3,}\S.*\s{3,}")
# The end of a sentence that begins elsewhere; and one whose subject stands elsewhere.
_FRAGMENT = re.compile(r"[^\w\s\"'“‘「『《【(（\[*_#]|[a-z]+(?![A-Za-z]*[A-Z])\b")
_POINTS_BACK = re.compile(
    r"(?:He|She|It|They|This|That|These|Those|His|Her|Its|Their|But|And|However|Also)\b"
    r"|[他她它]|该|此|这|其|但|并|因此|同时"
)
_BACKWARD_QUALITY = 0.7
_LETTERS = re.compile(
    rf"[A-Za-z\u00c0-\u024f\u0370-\u05ff\u0600-\u06ff\u3040-\u30ff\uac00-\ud7af{HAN}]"
)
_SHINGLE = re.compile(
    rf"[a-z0-9\u00c0-\u024f\u0400-\u04ff]+|[{HAN}\u3040-\u30ff\uac00-\ud7af](?=([{HAN}\u3040-\u30ff\uac00-\ud7af]?))"
)

# Two sentences that share this part of the shorter one's words say the same thing.
_SAME = 0.75
_SIMILARITY_COST = 0.6
_REPEATED_ENTITY = 0.5


@dataclass(frozen=True)
class Sentences:
    """Quotable sentences in document order; ``by_community`` holds positions, best first.

    ``unit`` is the text unit's position in the corpus, ``start`` and ``end`` the span in its
    text; ``quality`` in (0, 1] is what place and length say.
    """

    texts: Sequence[str]
    unit: Integers
    quality: Reals
    entities: Grouped
    by_community: Grouped
    by_unit: Grouped


def read_sentences(
    corpus: Corpus, wanted: Collection[int], weights: Sequence[Integers] | None = None
) -> Sentences:
    """Sentences of the wanted communities' text units that name an entity.

    In a community a sentence scores the sum of the weights of the members it names (by level
    in ``weights``, else ``corpus.weight``), times its quality. An entity that stands only in a
    unit's title or headings counts as named in the unit's first quotable sentence.
    """
    texts, unit, quality, entity_rows = _quotable(corpus, _units_of(corpus, wanted))
    sentence, entity = entity_rows
    keys, values = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    wanted_numbers = np.array(sorted(wanted), dtype=np.int64)
    for labels, weight in zip(
        corpus.labels, weights or [corpus.weight] * len(corpus.labels), strict=True
    ):
        community = labels[entity]
        kept = np.isin(community, wanted_numbers)
        width = len(texts) + 1
        key, inverse = np.unique(community[kept] * width + sentence[kept], return_inverse=True)
        score = np.bincount(inverse, weight[entity[kept]], len(key))
        number, position = key // width, key % width
        score = score * quality[position]
        order = np.lexsort((position, -score, number))
        number, position = number[order], position[order]
        first = np.flatnonzero(np.diff(number, prepend=-1))
        place = np.arange(len(number)) - np.repeat(first, np.diff([*first, len(number)]))
        keys.append(number[place < _CANDIDATES])
        values.append(position[place < _CANDIDATES])
    key, value = np.concatenate(keys), np.concatenate(values)
    order = np.argsort(key, kind="stable")
    return Sentences(
        texts,
        unit,
        quality,
        Grouped.of(sentence, entity),
        Grouped.of(key[order], value[order]),
        Grouped.of(unit, np.arange(len(unit), dtype=np.int64)),
    )


@lru_cache(maxsize=65_536)
def shingles(text: str) -> frozenset[str]:
    """Lower-case words and overlapping Chinese character pairs.

    >>> sorted(shingles("Ada Lin在青石"))
    ['ada', 'lin', '在青', '石', '青石']
    """
    return frozenset(m.group() + (m.group(1) or "") for m in _SHINGLE.finditer(text.lower()))


def same_words(first: frozenset[str], second: frozenset[str]) -> float:
    """Overlap coefficient in [0, 1]: 1 when one sentence's words all stand in the other."""
    smaller = min(len(first), len(second))
    return len(first & second) / smaller if smaller else 1.0


def pick_sentences(
    corpus: Corpus, sentences: Sentences, community: int, labels: Integers, limit: int
) -> list[int]:
    """Up to ``limit`` sentence positions, best first: central, and each saying something new.

    Greedy maximal marginal relevance (Carbonell and Goldstein 1998): a member already named
    counts half each time again, and words shared with a chosen sentence cost; a sentence that
    holds or repeats a chosen one is out.
    """
    candidates = [
        (
            position,
            shingles(sentences.texts[position]),
            [node for node in sentences.entities[position] if labels[node] == community],
        )
        for position in sentences.by_community[community]
    ]
    weight = {node: float(corpus.weight[node]) for _, _, nodes in candidates for node in nodes}
    likeness = dict.fromkeys((position for position, _, _ in candidates), 0.0)
    chosen: list[int] = []
    while candidates and len(chosen) < limit:
        gains = [
            sum(weight[node] for node in nodes)
            * float(sentences.quality[position])
            * (1 - _SIMILARITY_COST * likeness[position])
            for position, _, nodes in candidates
        ]
        best = max(range(len(gains)), key=lambda i: (gains[i], -candidates[i][0]))
        position, words, nodes = candidates.pop(best)
        chosen.append(position)
        for node in nodes:
            weight[node] *= _REPEATED_ENTITY
        for other, other_words, _ in candidates:
            likeness[other] = max(likeness[other], same_words(words, other_words))
        candidates = [row for row in candidates if likeness[row[0]] < _SAME]
    return chosen


def _units_of(corpus: Corpus, wanted: Collection[int]) -> Integers:
    needed = {unit for community in wanted for unit in corpus.sources[community]}
    kinds = corpus.columns.kinds
    return np.array(sorted(unit for unit in needed if kinds[unit] == "prose"), dtype=np.int64)


def _quotable(
    corpus: Corpus, units: Integers
) -> tuple[list[str], Integers, Reals, tuple[Integers, Integers]]:
    """Texts, units, qualities, and the distinct (sentence, entity) pairs sorted by sentence."""
    all_texts, languages = corpus.columns.unit_texts, corpus.columns.languages
    for unit in units.tolist():
        if unit not in corpus.spans:
            corpus.spans[unit] = sentence_spans(all_texts[unit])
    spans = np.array(
        [
            (unit, place, start, end)
            for unit in units.tolist()
            for place, (start, end) in enumerate(corpus.spans[unit])
        ],
        dtype=np.int64,
    ).reshape(-1, 4)
    named, entity = _named(corpus, spans)
    position = np.full(len(spans), -1, dtype=np.int64)
    texts: list[str] = []
    quality: list[float] = []
    for span in np.unique(named).tolist():
        unit, place, start, end = spans[span].tolist()
        columns = _columns(languages[unit])
        quoted = corpus.quotes.get((unit, start))
        if quoted is None:
            quoted = corpus.quotes[unit, start] = quotable(all_texts[unit][start:end], columns)
        if quoted:
            position[span] = len(texts)
            texts.append(quoted)
            quality.append(_quality(quoted, place, len(quoted) * columns))
    unit_of = spans[position >= 0, 0]
    kept = position[named] >= 0
    sentence, entity = _with_context(corpus, unit_of, position[named[kept]], entity[kept])
    return texts, unit_of, np.array(quality, dtype=np.float64), (sentence, entity)


def _columns(language: str) -> float:
    """The width of a character."""
    return 2.0 if language in _WIDE else 1.0


def read_ahead(texts: Iterable[tuple[str, str]]) -> Iterator[None]:
    """Cut texts, given with their languages, into sentences and see which can be quoted, a few at
    a time: :func:`read_sentences` then finds it done."""
    for number, (text, language) in enumerate(texts, 1):
        for start, end in sentence_spans(text):
            quotable(text[start:end], _columns(language))
        if number % _AHEAD == 0:
            yield


def _named(corpus: Corpus, spans: Integers) -> tuple[Integers, Integers]:
    """(row of ``spans``, entity) of every mention that starts inside one of the spans."""
    keys = (spans[:, 0] << 32) + spans[:, 2]
    row = np.searchsorted(keys, (corpus.mention_unit << 32) + corpus.mention_start, "right") - 1
    inside = (row >= 0) & (corpus.mention_start >= 0)
    row, entity = row[inside], corpus.mention_entity[inside]
    start, unit = corpus.mention_start[inside], corpus.mention_unit[inside]
    inside = (spans[row, 0] == unit) & (start < spans[row, 3])
    return row[inside], entity[inside]


def _with_context(
    corpus: Corpus, unit_of: Integers, sentence: Integers, entity: Integers
) -> tuple[Integers, Integers]:
    """Distinct pairs, with the entities of a unit's context in its first sentence."""
    units, first = np.unique(unit_of, return_index=True)
    titled = (corpus.mention_start < 0) & np.isin(corpus.mention_unit, units)
    opening = first[np.searchsorted(units, corpus.mention_unit[titled])]
    width = max(corpus.entities.height, 1)
    pairs = np.unique(
        np.concatenate([sentence, opening]) * width
        + np.concatenate([entity, corpus.mention_entity[titled]])
    )
    return pairs // width, pairs % width


@lru_cache(maxsize=65_536)
def quotable(sentence: str, columns: float = 1.0) -> str:
    """The sentence without its list marker, or "" for headings, table rows and fragments.

    ``columns`` is the width of a character: 2 in Chinese, Japanese and Korean.

    >>> quotable("- Ada Lin leads the Harbor Project."), quotable("# Ada Lin leads.")
    ('Ada Lin leads the Harbor Project.', '')
    """
    marker = _MARKER.match(sentence)
    if marker:
        sentence = sentence[marker.end() :]
    if len(sentence) * columns < _MIN_COLUMNS or not _ENDS.search(sentence):
        return ""
    if _NOT_PROSE.search(sentence) or _FRAGMENT.match(sentence):
        return ""
    return sentence if 2 * len(_LETTERS.findall(sentence)) >= len(sentence) else ""


def _quality(sentence: str, place: int, width: float) -> float:
    """Early sentences say what a text is about; long ones are hard to read."""
    backward = _BACKWARD_QUALITY if _POINTS_BACK.match(sentence) else 1.0
    length = min(1.0, width / _SHORT) * min(1.0, _LONG / width)
    return (0.6 + 0.4 / (1 + place)) * length * backward
