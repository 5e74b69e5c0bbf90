"""What a question names as a whole ("Room 17", "专业版"), and the sentences that hold it.

A bag of words takes the 17 seats of another room for the room of that number; words that stand
side by side in the question, and do so in a sentence or row, tell them apart.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from graphkb.query.sentences import Sentence, table_cells
from graphkb.text.language import HAN
from graphkb.text.names import fold_script
from graphkb.text.periods import MONTH_WORDS
from graphkb.text.segment import STOP_WORDS, stem
from graphkb.text.table_rows import is_number

Phrase = tuple[str, ...]
"""Words side by side, folded and stemmed; a Chinese character is a word of its own here."""

WORD = re.compile(rf"[{HAN}]|[^\W_{HAN}]+")
"""A word, or a Chinese character."""

# What may stand between the words of a name: spaces, hyphens, quotes and marks of emphasis.
_BETWEEN = r"[\s\-‐–_*/.`'’\"“”《》「」]"
_GAP = re.compile(f"{_BETWEEN}*")
_GAPS = re.compile(f"{_BETWEEN}+")
_HAN = re.compile(f"[{HAN}]")

# Chinese words behind a number that is a name, not an amount.
_NUMBERED = frozenset("号栋室章届期")
# 11 in Dec 11 is no number of a thing.
_MONTHS = frozenset(map(stem, MONTH_WORDS))


@dataclass(frozen=True)
class Phrases:
    """Weights of the question's phrases that some sentence holds; together they are 1."""

    weights: dict[Phrase, float]

    def worth(self, held: Set[Phrase]) -> float:
        """The weight of what is held, from 0 to 1."""
        return sum(weight for phrase, weight in self.weights.items() if phrase in held)

    def other_numbers(self, held: Set[Phrase]) -> set[str]:
        """Numbers of the question that name something (Room 17) which is not held: the same
        number elsewhere in the sentence is another one."""
        named = {word for phrase in self.weights for word in phrase if word.isdecimal()}
        return named - {word for phrase in held for word in phrase}


def phrases_held(question: str, sentences: Sequence[Sentence]) -> tuple[Phrases, list[Set[Phrase]]]:
    """The question's phrases, weighted by how few of the sentences hold them, and those of each
    sentence: pairs of words side by side, and the cells of a row that stand in the question.

    In a row a cell stands beside its column's name: 17 under Room is Room 17.
    """
    asked = _words(question)
    pairs = set(_pairs(asked))
    spoken = [word for word, _ in asked]
    near = {"".join(pair): pair for pair in pairs if all(map(_HAN.fullmatch, pair))}
    far = pairs - {*near.values()}
    held = [_held_by(sentence, pairs, near, far, spoken) for sentence in sentences]
    cells = {phrase for phrases in held for phrase in phrases if phrase not in pairs}
    inner = {cell for cell in cells if any(_stands_in(cell, o) for o in cells if o != cell)}
    kept: list[Set[Phrase]] = [phrases - inner for phrases in held]
    counts = Counter(phrase for phrases in kept for phrase in phrases)
    rare = {phrase: math.log1p(len(sentences) / n) for phrase, n in sorted(counts.items())}
    total = sum(rare.values())
    return Phrases({phrase: weight / total for phrase, weight in rare.items()}), kept


def _held_by(
    sentence: Sentence,
    pairs: set[Phrase],
    near: Mapping[str, Phrase],
    far: set[Phrase],
    spoken: Sequence[str],
) -> Set[Phrase]:
    """The pairs that stand in a sentence, and its cells that stand in the question. Of ``pairs``
    ``near`` has those of two Chinese characters, by both, ``far`` the others."""
    if cells := table_cells(sentence.text):
        return pairs.intersection(_pairs_of(sentence, cells)) | _named_cells(cells, spoken)
    folded = fold_script(sentence.text).casefold()
    # Characters are words: those of a pair stand side by side where nothing but gaps parts them.
    close = _GAPS.sub("", folded) if near else ""
    found = {pair for joined, pair in near.items() if joined in close}
    if _holds_far(folded, far):
        found |= far.intersection(_pairs(_words(sentence.text)))
    return found


def _holds_far(folded: str, far: Set[Phrase]) -> bool:
    """Whether both words of a pair stand in a folded text, wherever; most texts hold none."""
    if not far:
        return False
    held = set(map(_form, WORD.findall(folded)))
    return any(held.issuperset(pair) for pair in far)


def names_another(question: str, sentence: Sentence) -> bool:
    """Whether a row is of another thing with a number (Room 18) than the question names (Room
    17): by a cell, or by the first cell with the name of its column."""
    cells = table_cells(sentence.text)
    asked = _numbers_asked(question) if cells else frozenset()
    if not asked:
        return False
    key = [(word, False) for word, _ in _words(sentence.header[0])[-1:]] if sentence.header else []
    lines = [[*key, *((word, True) for word, _ in _words(cells[0])[:1])], *map(_words, cells)]
    named = {pair for line in lines for pair in _numbered(_pairs(line))}
    kinds = {kind for kind, _ in asked} & {kind for kind, _ in named}
    return bool(kinds) and not asked & named


@lru_cache(maxsize=16)
def _numbers_asked(question: str) -> frozenset[Phrase]:
    return frozenset(_numbered(_pairs(_words(question))))


def _numbered(pairs: Iterable[Phrase]) -> Iterator[Phrase]:
    """Pairs of a kind and the number behind it (Room 17) or before its Chinese word (17号)."""
    for left, right in pairs:
        if right.isdecimal() and not left.isdecimal() and left not in _MONTHS:
            yield left, right
        elif left.isdecimal() and right in _NUMBERED:
            yield right, left


def _words(text: str) -> list[tuple[str, bool]]:
    """Words in order, and whether each stands beside the one before."""
    folded = fold_script(text).casefold()
    found: list[tuple[str, bool]] = []
    end = 0
    for match in WORD.finditer(folded):
        beside = bool(found) and _GAP.fullmatch(folded, end, match.start()) is not None
        found.append((_form(match.group()), beside))
        end = match.end()
    return found


def _form(word: str) -> str:
    return str(int(word)) if word.isdecimal() else stem(word)


def _pairs(words: Sequence[tuple[str, bool]]) -> Iterator[Phrase]:
    for (left, _), (right, beside) in pairwise(words):
        if beside and left not in STOP_WORDS and right not in STOP_WORDS:
            yield left, right


def _pairs_of(sentence: Sentence, cells: Sequence[str]) -> Iterator[Phrase]:
    """Words side by side in the cells of a row; a cell stands beside its column's name."""
    names = sentence.header if len(sentence.header) == len(cells) else ("",) * len(cells)
    for name, cell in zip(names, cells, strict=True):
        title, value = _words(name), _words(cell)
        yield from _pairs(value)
        if title and value:
            yield title[-1][0], value[0][0]
            yield value[-1][0], title[0][0]


def _named_cells(cells: Sequence[str], spoken: Sequence[str]) -> set[Phrase]:
    """Cells that stand as a whole in the question; a bare number names nothing."""
    found: set[Phrase] = set()
    for cell in cells:
        words = tuple(word for word, _ in _words(cell))
        if words and not is_number(cell) and not STOP_WORDS.issuperset(words):
            found |= {words} if _stands_in(words, spoken) else set()
    return found


def _stands_in(words: Sequence[str], among: Sequence[str]) -> bool:
    size = len(words)
    return any(tuple(among[at : at + size]) == tuple(words) for at in range(len(among) - size + 1))
