"""The corpus's own vocabulary: new Chinese words, titles not written like names, user words."""

from __future__ import annotations

import re
from collections.abc import Sequence

import polars as pl

from graphkb.extract import latin
from graphkb.extract.context import title_names
from graphkb.extract.mine import mined_words
from graphkb.settings import Extract
from graphkb.tables import TABLES
from graphkb.text.language import has_han
from graphkb.text.segment import STOP_WORDS

_WORD = re.compile(r"[^\W_]+")
_MAX_COMMON_SHARE = 0.02
_MAX_HAN_TITLE = 16


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
    texts = text_units.sort("id")["text"].to_list() if options.mine_terms else []
    mined = mined_words(texts, options.min_term_frequency)
    titles = {
        title
        for context in text_units["context"].unique().to_list()
        for title in title_names(context or "")
        if _needs_term(title)
    }
    # What is said of a term further down counts: the user knows best.
    rows: dict[str, tuple[str, str, float | None, float | None]] = {
        title: (title, "title", None, None) for title in titles
    }
    rows |= {term: (term, "mined", cohesion, entropy) for term, cohesion, entropy in mined}
    rows |= {word: (word, "user", *rows.get(word, ("", "", None, None))[2:]) for word in own}
    if not rows:
        return TABLES["terms"].empty()
    names = ("term", "origin", "cohesion", "entropy")
    frame = pl.DataFrame(
        [rows[term] for term in sorted(rows)],
        {name: TABLES["terms"].schema[name] for name in names},
        orient="row",
    )
    found = terms_in_units(text_units, frame).group_by("term")
    seen = found.agg(
        pl.len().alias("frequency"), pl.col("text_unit_id").n_unique().alias("document_frequency")
    )
    counted = frame.join(seen, on="term", how="left").with_columns(
        pl.col("frequency", "document_frequency").fill_null(0)
    )
    limit = max(20.0, _MAX_COMMON_SHARE * text_units.height)
    general = (pl.col("document_frequency") > limit) & ~pl.col("term").str.contains(" ")
    return TABLES["terms"].conform(counted.filter(~general | (pl.col("origin") == "user")))


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
