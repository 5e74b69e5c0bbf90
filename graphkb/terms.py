"""Business terms: what the corpus calls things, and the user's own words for search and names.

The user's words stand in ``text.dictionary``: a list in settings.yaml, or a text file with one
word a line. They are read by the next index run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphkb.errors import InputError, UsageError
from graphkb.settings import Settings
from graphkb.settings_edit import write_settings
from graphkb.settings_file import FILE_NAME
from graphkb.store.lance import Store
from graphkb.text.dictionary import dictionary_word, dictionary_words
from graphkb.text.names import fold

TERMS_FILE = "terms.txt"
_LONGEST = 60
# Characters of an example before and behind the term.
_AROUND = 24
_NO_TERMS = ("PERSON", "GEO")
_COLUMNS = ("term", "origin", "frequency", "document_frequency", "cohesion", "entropy")


@dataclass(frozen=True)
class TermsChange:
    """What was written: ``changed`` words, ``unchanged`` ones that were there already (or were
    not), the ``file`` that holds them, and the ``words`` that it holds now."""

    changed: tuple[str, ...]
    unchanged: tuple[str, ...]
    file: Path
    words: tuple[str, ...]


def list_terms(store: Store, like: str = "") -> pl.DataFrame:
    """Terms of a version with ``like`` in them: term, origin (user, mined or title), frequency,
    document_frequency, cohesion, entropy and an example; most frequent first, ties by term."""
    found = store.read("terms", _COLUMNS)
    wanted = fold(like)
    found = found.filter(pl.Series([wanted in fold(t) for t in found["term"]], dtype=pl.Boolean))
    found = found.sort("frequency", "term", descending=[True, False])
    return _with_examples(store, found)


def mine_terms(
    store: Store, min_frequency: int = 5, known: Sequence[str] = (), limit: int = 0
) -> pl.DataFrame:
    """Chinese words and English phrases that the texts use as one word, at least
    ``min_frequency`` times, without the ``known`` ones; columns as in :func:`list_terms`.

    Best first by ``score``: cohesion times boundary entropy times the logarithm of the
    frequency. ``limit`` 0 gives all.
    """
    from graphkb.extract.mine import mined_phrases, mined_words
    from graphkb.extract.terms import terms_in_units

    units = store.read("text_units", ("id", "text")).sort("id")
    texts = units["text"].to_list()
    scored = [*mined_words(texts, min_frequency), *mined_phrases(texts, min_frequency)]
    # Names of persons and places are found as such; they are no terms to teach.
    names = store.read("entities", ("title", "type")).filter(pl.col("type").is_in(_NO_TERMS))
    skip = {fold(word) for word in (*known, *names["title"])}
    schema = {"term": pl.String, "cohesion": pl.Float64, "entropy": pl.Float64}
    frame = pl.DataFrame([row for row in scored if row[0] not in skip], schema, orient="row")
    seen = (
        terms_in_units(units, frame)
        .group_by("term")
        .agg(
            pl.len().alias("frequency"),
            pl.col("text_unit_id").n_unique().alias("document_frequency"),
        )
    )
    score = pl.col("cohesion") * pl.col("entropy") * pl.col("frequency").log1p()
    found = (
        frame.join(seen, on="term")
        .with_columns(pl.lit("mined").alias("origin"), score.round(1).alias("score"))
        .sort("score", "term", descending=[True, False])
        .select(*_COLUMNS, "score")
    )
    return _with_examples(store, found.head(limit) if limit else found)


def _with_examples(store: Store, found: pl.DataFrame) -> pl.DataFrame:
    """The frame with a place in the texts where each term stands; empty for none."""
    from graphkb.extract.terms import terms_in_units

    units = store.read("text_units", ("id", "text")).sort("id")
    places = terms_in_units(units, found).unique("term", keep="first", maintain_order=True)
    text = dict(units.iter_rows())
    examples = {
        term: _around(text[unit_id], start, end) for unit_id, term, start, end in places.iter_rows()
    }
    values = [examples.get(term, "") for term in found["term"]]
    return found.with_columns(pl.Series("example", values, dtype=pl.String))


def _around(text: str, start: int, end: int) -> str:
    first, last = max(start - _AROUND, 0), min(end + _AROUND, len(text))
    more = ("…" if first else "", "…" if last < len(text) else "")
    return " ".join(f"{more[0]}{text[first:last]}{more[1]}".split())


def add_terms(root: Path, settings: Settings, words: Sequence[str]) -> TermsChange:
    """Put words into the user's dictionary; where there is none, into a new terms.txt beside
    settings.yaml, which ``text.dictionary`` then names.

    Raises UsageError for a word that cannot be one, InputError when the file cannot be read or
    written, SettingsError when settings.yaml cannot be edited; then nothing is written.
    """
    given = [_checked(word) for word in words]
    file, kept = _dictionary(root, settings)
    known = {fold(word) for word in kept}
    new = [word for word in dict.fromkeys(given) if fold(word) not in known]
    there = tuple(word for word in dict.fromkeys(given) if fold(word) in known)
    if file is None:
        file = root / FILE_NAME
        if new:
            write_settings(root, {"text.dictionary": [*kept, *new]})
    elif new:
        _append(file, new)
        if not settings.text.dictionary:
            write_settings(root, {"text.dictionary": TERMS_FILE})
    return TermsChange(tuple(new), there, file, (*kept, *new))


def remove_terms(root: Path, settings: Settings, words: Sequence[str]) -> TermsChange:
    """Take words out of the user's dictionary; comments and the other lines stay.

    Raises as :func:`add_terms` does.
    """
    gone = {fold(_checked(word)): word for word in words}
    file, kept = _dictionary(root, settings)
    known = {fold(word) for word in kept}
    left = tuple(word for word in kept if fold(word) not in gone)
    removed = tuple(word for key, word in gone.items() if key in known)
    missing = tuple(word for key, word in gone.items() if key not in known)
    if removed and file is None:
        write_settings(root, {"text.dictionary": list(left)})
    elif removed and file is not None:
        lines = _read(file).splitlines(keepends=True)
        _write(file, "".join(line for line in lines if fold(dictionary_word(line)) not in gone))
    return TermsChange(removed, missing, file or root / FILE_NAME, left)


def _checked(word: str) -> str:
    plain = " ".join(word.split())
    if not any(map(str.isalnum, plain)) or len(plain) > _LONGEST or plain.startswith("#"):
        raise UsageError(
            f"{word!r} cannot be a term: give letters or characters, {_LONGEST} at most"
        )
    return plain


def _dictionary(root: Path, settings: Settings) -> tuple[Path | None, list[str]]:
    """The file that holds the user's words (None when settings.yaml itself does), and the words."""
    given = settings.text.dictionary
    if isinstance(given, list) and given:
        return None, given
    file = root / (given if isinstance(given, str) and given else TERMS_FILE)
    return file, dictionary_words(_read(file)) if file.exists() else []


def _append(file: Path, words: Sequence[str]) -> None:
    before = _read(file) if file.exists() else ""
    end = "" if not before or before.endswith("\n") else "\n"
    _write(file, before + end + "".join(f"{word}\n" for word in words))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{file}: text.dictionary cannot be read as UTF-8 ({error})") from None


def _write(file: Path, text: str) -> None:
    whole = file.with_name(f"{file.name}.new")
    try:
        whole.write_bytes(text.encode())
        os.replace(whole, file)
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})") from None
