"""Pairs of names that may mean the same entity, found by blocking: never all pairs.

Each block is a hash table, so the work grows with the number of names: initials and
abbreviations, one edit apart (deletion neighbourhood as in SymSpell, then rapidfuzz), the same
words in another order, Chinese script and wording, a shared second name, a name inside a longer
one of the same type. Nothing is decided here; a rule or a model judges the pairs.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations

import numpy as np

from graphkb.text.language import HAN, has_han
from graphkb.text.names import name_key, simplify

SIMILARITY = 85.0
# A short name that fits more long ones than this says nothing by itself, nor do two letters.
FEW = 3
# People who share an initial and a surname; above this a block tells nobody apart.
_LARGEST_BLOCK = 60
_SHORTEST, _LONGEST = 5, 60
_BASE = np.uint64(0x9E3779B97F4A7C15)
_DISTINCT = frozenset({"PERSON", "ORGANIZATION", "GEO", "EVENT", "WORK"})
_NO_PARTS = frozenset({"TERM", "DOCUMENT", "CODE"})
_SMALL_WORDS = frozenset("of and the for in on at to de la du des von van der & y e".split())
_ROMAN = re.compile(r"[ivx]+\Z")
_NUMBERED = re.compile(
    r"[a-z]*\d[a-z\d.+#]*|第[零〇一二三四五六七八九十百]+|[一二三四五六七八九十百]+[届次期号]"
)
_HAN_NAME = re.compile(rf"[{HAN}]+\Z")
_ACRONYM = re.compile(r"[a-z]{2,8}\Z")

Pair = tuple[str, str]
"""Two name keys, the smaller first."""


@dataclass(frozen=True)
class KnownName:
    """A name key with what blocking looks at: type of its entity, commonest spelling."""

    key: str
    type: str
    spelling: str
    words: tuple[str, ...] = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "words", tuple(self.key.split(" ")))


Names = Mapping[str, KnownName]


def find_candidates(
    names: Names,
    spellings: Iterable[tuple[str, str]],
    aliases: Mapping[str, set[str]],
    documents: Callable[[set[str]], Mapping[str, set[str]]],
) -> list[Pair]:
    """Pairs of keys worth judging, sorted.

    ``spellings`` are (name as written, key); ``aliases`` maps the key of a second name to the
    keys it was given to; ``documents`` gives the documents in which the asked keys stand. A
    short name that fits more than :data:`FEW` long ones is paired only with those of the same
    document, if they are few.
    """
    found = {
        pair
        for block in (_misspelt(names), _reordered(names), _initialled(names))
        for pair in block
    }
    found.update(_same_wording(names, spellings))
    found = {pair for pair in found if _may_be_one(names[pair[0]], names[pair[1]])}
    found.update(_sharing_alias(names, aliases))
    fitting: dict[str, set[str]] = defaultdict(set)
    for block in (_acronyms(names), _contained(names), _han_abbreviations(names)):
        for short, long in block:
            if short != long and _may_be_one(names[short], names[long]):
                fitting[short].add(long)
    found.update(_few(fitting, documents))
    return sorted(found)


def _pair(one: str, other: str) -> Pair:
    return (one, other) if one < other else (other, one)


def _may_be_one(one: KnownName, other: KnownName) -> bool:
    """False for a person and a place, and for names with other numbers in them."""
    if one.type != other.type and one.type in _DISTINCT and other.type in _DISTINCT:
        return False
    return _numbers(one.key) == _numbers(other.key)


@lru_cache(maxsize=65_536)
def _numbers(key: str) -> tuple[str, ...]:
    """What tells namesakes apart: words with digits, Chinese ordinals, Roman numerals behind a
    name; sorted."""
    roman = (word for word in key.split(" ")[1:] if _ROMAN.match(word))
    return tuple(sorted([*_NUMBERED.findall(key), *roman]))


def _misspelt(names: Names) -> Iterator[Pair]:
    """Names one edit or swapped letter apart that begin alike: equal after one deletion each."""
    from rapidfuzz import fuzz

    by_length: dict[int, list[str]] = defaultdict(list)
    for key, name in names.items():
        shortest = 4 if has_han(key) else _SHORTEST
        if shortest <= len(key) <= _LONGEST and name.type not in {"CODE", "DOCUMENT"}:
            by_length[len(key)].append(key)
    keys = [key for group in by_length.values() for key in group]
    found = [_deletion_hashes(group, length) for length, group in by_length.items()]
    if not found:
        return
    hashes = np.concatenate([part.ravel() for part in found])
    widths = [part.shape[1] for part in found for _ in range(part.shape[0])]
    owners = np.repeat(np.arange(len(keys)), widths)
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    starts = np.flatnonzero(np.r_[True, hashes[1:] != hashes[:-1]])
    ends = np.r_[starts[1:], len(hashes)]
    shared = ends - starts > 1
    for start, end in zip(starts[shared].tolist(), ends[shared].tolist(), strict=True):
        block = sorted({keys[owner] for owner in owners[start:end].tolist()})
        for one, other in combinations(block, 2):
            if fuzz.ratio(one, other, score_cutoff=SIMILARITY):
                yield one, other


def _deletion_hashes(keys: Sequence[str], length: int) -> np.ndarray:
    """uint64 [keys, length]: hashes of keys of one length, whole and without each character but
    the first: polynomials in a fixed base, put together from sums before and behind the gap."""
    codes = np.frombuffer("".join(keys).encode("utf-32-le", "surrogatepass"), np.uint32)
    codes = codes.reshape(len(keys), length).astype(np.uint64)
    powers = np.cumprod(np.r_[np.uint64(1), np.full(length - 1, _BASE, np.uint64)])
    before = np.cumsum(codes * powers, axis=1)
    shifted = np.cumsum(codes[:, 1:] * powers[:-1], axis=1)
    without = before[:, :-1] + (shifted[:, -1:] - shifted)
    return np.concatenate([before[:, -1:], without], axis=1)


def _reordered(names: Names) -> Iterator[Pair]:
    """The same words in another order: Lin Ada and Ada Lin."""
    blocks: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for key, name in names.items():
        if 1 < len(name.words) <= 8:
            blocks[tuple(sorted(name.words))].append(key)
    for keys in blocks.values():
        yield from (_pair(one, other) for one, other in combinations(keys, 2))


def _initialled(names: Names) -> Iterator[Pair]:
    """A. Lin and Ada Lin, John Kennedy and John F. Kennedy."""
    blocks: dict[Pair, list[KnownName]] = defaultdict(list)
    for name in names.values():
        if 1 < len(name.words) <= 6 and name.type not in {"CODE", "DOCUMENT", "WORK", "EVENT"}:
            blocks[name.key[0], name.words[-1]].append(name)
    for block in blocks.values():
        if 1 < len(block) <= _LARGEST_BLOCK:
            for one, other in combinations(block, 2):
                if _fits(one.words, other.words) or _fits(other.words, one.words):
                    yield _pair(one.key, other.key)


def _fits(short: Sequence[str], long: Sequence[str]) -> bool:
    """Whether every word of ``short`` is a word of ``long`` or its initial, in order, with an
    initial or a middle name between the two.

    >>> _fits(["a", "lin"], ["ada", "marie", "lin"]), _fits(["ada", "lin"], ["ada", "de", "lin"])
    (True, False)
    """
    initials = any(len(word) == 1 for word in (*short, *long))
    rest = iter(long)
    return initials and all(
        any(word == other or (len(word) == 1 and other.startswith(word)) for other in rest)
        for word in short
    )


@lru_cache(maxsize=1)
def _rewordings() -> tuple[Callable[[str], str], ...]:
    import opencc

    return tuple(opencc.OpenCC(name).convert for name in ("tw2sp", "hk2s"))


def _same_wording(names: Names, spellings: Iterable[tuple[str, str]]) -> Iterator[Pair]:
    """Traditional spellings whose mainland wording is another name: 資訊 is 信息."""
    for name, key in spellings:
        if not name.isascii() and simplify(name) != name:
            for convert in _rewordings():
                other = name_key(convert(name))
                if other != key and other in names and key in names:
                    yield _pair(key, other)


def _sharing_alias(names: Names, aliases: Mapping[str, set[str]]) -> Iterator[Pair]:
    """Names that the texts give the same second name, and each of them with it."""
    for short, full in aliases.items():
        group = sorted({short, *full} & names.keys())
        if 1 < len(group) <= FEW + 1:
            yield from (_pair(one, other) for one, other in combinations(group, 2))


def _acronyms(names: Names) -> Iterator[Pair]:
    """(short, long): IBM and International Business Machines."""
    shorts = {
        key
        for key, name in names.items()
        if _ACRONYM.match(key) and name.spelling.replace(".", "").isupper()
    }
    for key, name in names.items():
        if 1 < len(name.words) <= 10 and name.type != "DOCUMENT":
            every = "".join(word[0] for word in name.words)
            main = "".join(word[0] for word in name.words if word not in _SMALL_WORDS)
            for short in {every, main} & shorts:
                yield short, key


def _contained(names: Names) -> Iterator[Pair]:
    """(short, long): a name that begins or ends a longer one of the same type."""
    for key, name in names.items():
        if name.type in _NO_PARTS or len(key) > _LONGEST:
            continue
        for part in _parts(name):
            short = names.get(part)
            if short is not None and short.type == name.type:
                yield part, key


def _parts(name: KnownName) -> Iterator[str]:
    words = name.words
    if len(words) > 1:
        for size in range(1, len(words)):
            yield " ".join(words[:size])
            yield " ".join(words[-size:])
    elif _HAN_NAME.match(name.key):
        for size in range(2, len(name.key)):
            yield name.key[:size]
            yield name.key[-size:]


def _han_abbreviations(names: Names) -> Iterator[Pair]:
    """(short, long): 中移动 and 中国移动, 工行 and 中国工商银行; no part of the long name."""
    blocks: dict[str, list[str]] = defaultdict(list)
    for key, name in names.items():
        usual = name.type not in {"PERSON", "DOCUMENT", "CODE"}
        if 4 <= len(key) <= 24 and usual and _HAN_NAME.match(key):
            for long in {key, key.removeprefix("中国")}:
                for second in set(long[1:]):
                    blocks[long[0] + second].append(key)
    for key, name in names.items():
        usual = name.type not in {"PERSON", "DOCUMENT", "CODE"}
        if 2 <= len(key) <= 6 and usual and _HAN_NAME.match(key):
            for long in blocks.get(key[:2], ()):
                if len(long) > len(key) and key not in long and _abbreviates(key, long):
                    yield key, long


def _abbreviates(short: str, long: str) -> bool:
    """Whether the characters of ``short`` stand in ``long`` in order."""
    rest = iter(long)
    return all(character in rest for character in short)


def _few(
    fitting: Mapping[str, set[str]],
    documents: Callable[[set[str]], Mapping[str, set[str]]],
) -> Iterator[Pair]:
    """Short names with the long ones they fit: few of them, or few of those in a document that
    has both."""
    many = {
        short: longs
        for short, longs in fitting.items()
        if len(longs) > FEW or (len(short) == 2 and short.isascii())
    }
    where = documents({key for short, longs in many.items() for key in (short, *longs)})
    for short, longs in fitting.items():
        chosen = longs
        if short in many:
            own = where.get(short, set())
            chosen = {long for long in longs if own & where.get(long, set())}
        if len(chosen) <= FEW:
            yield from (_pair(short, long) for long in chosen)
