"""The corpus's own vocabulary: new Chinese words, titles not written like names, user words.

New words are runs of characters that hold together and stand in many different places:
cohesion (smallest pointwise mutual information over the cuts of the word) and boundary entropy
(of the characters before and after it), after Matrix67 (2012), computed on arrays.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import polars as pl

from graphkb.extract import latin
from graphkb.extract.context import title_names
from graphkb.settings import Extract
from graphkb.tables import TABLES
from graphkb.text.language import HAN, has_han
from graphkb.text.segment import STOP_WORDS, tag

_HAN_RUN = re.compile(f"[{HAN}]+")
_WORD = re.compile(r"[^\W_]+")
_MIN_COHESION = 3.0
_MIN_ENTROPY = 1.0
_MAX_LENGTH = 6
_MAX_CHARACTERS = 20_000_000
_MAX_COMMON_SHARE = 0.02
_MAX_HAN_TITLE = 16
_NOUN_LIKE = frozenset({"vn", "an", "b", "l", "i"})
_FUNCTION = frozenset(
    "的了是在和与及或也就都而被把对为于以到从有个之其这那我你他她它们吗呢吧啊等将由并不最更很已可会能要"
    "该此各每所至向使让给但则即因若如"
)

_Ids = npt.NDArray[np.int64]


def mine_terms(
    text_units: pl.DataFrame, options: Extract, dictionary: Sequence[str] = ()
) -> pl.DataFrame:
    """Table ``terms``: user words, mined Chinese words and titles, sorted by term.

    Titles are taken where the rules for names would miss them in running text: Chinese ones,
    and those with lower-case words (``Gila monster``). One-word titles that more than 2 % of
    the units hold are too general and are left out. ``dictionary`` holds the user's words,
    which always stay. Independent of row order.
    """
    own = {word.strip() for word in dictionary if word.strip()}
    words = set(own)
    if options.mine_terms:
        texts = text_units.sort("id")["text"].to_list()
        words.update(_mined(texts, options.min_term_frequency))
    for context in text_units["context"].unique().to_list():
        words.update(title for title in title_names(context or "") if _needs_term(title))
    if not words:
        return TABLES["terms"].empty()
    frame = pl.DataFrame({"term": sorted(words)})
    found = terms_in_units(text_units, frame).group_by("term")
    seen = found.agg(
        pl.len().alias("frequency"), pl.col("text_unit_id").n_unique().alias("document_frequency")
    )
    counted = frame.join(seen, on="term", how="left").with_columns(
        pl.col("frequency", "document_frequency").fill_null(0)
    )
    limit = max(20.0, _MAX_COMMON_SHARE * text_units.height)
    general = (pl.col("document_frequency") > limit) & ~pl.col("term").str.contains(" ")
    kept = counted.filter(~general | pl.col("term").is_in(sorted(own)))
    return TABLES["terms"].conform(kept)


def _needs_term(title: str) -> bool:
    """True for titles that the rules for names do not find in running text."""
    if has_han(title):
        return 2 <= len(title) <= _MAX_HAN_TITLE and not re.search(r"[，。！？；,.!?;\s]", title)
    words = _WORD.findall(title)
    if not words or len(words) > 10 or len(title) < 4 or title.endswith(")"):
        return False
    if len(words) == 1:
        return len(title) >= 5 and words[0].isalpha() and words[0].lower() not in STOP_WORDS
    return any(not latin.starts_name(w) for w in words) or words[0].lower() in latin.FUNCTION_WORDS


def terms_in_units(text_units: pl.DataFrame, terms: pl.DataFrame) -> pl.DataFrame:
    """Where terms stand: text_unit_id, term, char_start, char_end; sorted, longest match first.

    Latin terms match whole words whatever their case; Chinese ones anywhere. What
    :func:`graphkb.extract.offline.extract_units` makes of a unit depends on the unit's row and
    on its rows here, so these two together are the cache key of a unit.
    """
    schema = {
        "text_unit_id": pl.String(),
        "term": pl.String(),
        "char_start": pl.Int64(),
        "char_end": pl.Int64(),
    }
    words = sorted(terms["term"].to_list(), key=lambda word: (-len(word), word))
    if not words or not text_units.height:
        return pl.DataFrame(schema=schema)
    by_lower = {word.lower(): word for word in reversed(words)}
    text = pl.col("text").str
    found = text_units.select(
        "id",
        "text",
        text.find_many(words, ascii_case_insensitive=True, leftmost=True).alias("start"),
        text.extract_many(words, ascii_case_insensitive=True, leftmost=True).alias("term"),
    ).filter(pl.col("start").list.len() > 0)
    rows: list[tuple[str, str, int, int]] = []
    for unit_id, whole, starts, matched in found.iter_rows():
        data = whole.encode()
        ascii_only = len(data) == len(whole)
        for start, word in zip(starts, matched, strict=True):
            begin = start if ascii_only else len(data[:start].decode())
            end = begin + len(word)
            if _is_whole(whole, begin, end):
                rows.append((unit_id, by_lower[word.lower()], begin, end))
    return pl.DataFrame(rows, schema=schema, orient="row").sort("text_unit_id", "char_start")


def _is_whole(text: str, start: int, end: int) -> bool:
    """True unless a Latin letter or digit of the match goes on outside of it."""
    if start > 0 and _joins(text[start - 1], text[start]):
        return False
    return not (end < len(text) and _joins(text[end - 1], text[end]))


def _joins(left: str, right: str) -> bool:
    return left.isalnum() and right.isalnum() and not (has_han(left) or has_han(right))


def _mined(texts: list[str], min_frequency: int) -> list[str]:
    """New Chinese words of the texts, sorted."""
    runs: list[str] = []
    total = 0
    for text in texts:
        for match in _HAN_RUN.finditer(text):
            runs.append(match.group())
            total += len(match.group()) + 1
        if total > _MAX_CHARACTERS:
            break
    if total < 50:
        return []
    joined = "\n" + "\n".join(runs) + "\n"
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32)
    letters, ids = np.unique(codes, return_inverse=True)
    return _select(joined, ids.astype(np.int64), int(letters.size), min_frequency)


def _select(joined: str, ids: _Ids, size: int, min_frequency: int) -> list[str]:
    """Grow n-grams from frequent shorter ones; keep those that cohere and stand freely."""
    boundary = int(ids[0])
    usable = ids != boundary
    total = int(usable.sum())
    frequency = [np.bincount(ids, minlength=size)]
    grams = [np.where(usable, ids, -1)]
    words: list[str] = []
    for length in range(2, _MAX_LENGTH + 1):
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
            word = joined[int(starts[i]) : int(starts[i]) + length]
            words.append(word)
    return sorted(word for word in words if _noun_like(word))


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
