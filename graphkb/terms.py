"""Business terms: what the corpus calls things, and the user's own words for search and names.

The user's words stand in ``text.dictionary``: a list in settings.yaml, or a text file with one
word a line. They are read by the next index run.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from graphkb.errors import InputError, SettingsError, UsageError
from graphkb.settings import Settings
from graphkb.settings_edit import edit_lock, write_settings
from graphkb.settings_file import FILE_NAME, load_settings
from graphkb.store.lance import Store
from graphkb.text.dictionary import dictionary_line, dictionary_word, dictionary_words
from graphkb.text.names import fold
from graphkb.text.visible import first_unseen
from graphkb.whole_file import write_whole

TERMS_FILE = "terms.txt"
_LONGEST = 60
# Characters of an example before and behind the term.
_AROUND = 24
_NO_TERMS = ("PERSON", "GEO")
_COLUMNS = ("term", "origin", "frequency", "document_frequency", "cohesion", "entropy")


@dataclass(frozen=True)
class TermsChange:
    """What was written: ``changed`` words as the dictionary spells them, given words that are
    ``unchanged`` because they were there already (or were not), the ``file`` that holds the
    dictionary, and the ``words`` that it holds now."""

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
    ``min_frequency`` times, without the ``known`` ones; columns as in :func:`list_terms`. Titles
    and headings that no other document speaks of are none.

    Best first by ``score``: cohesion times boundary entropy times the logarithm of the
    frequency. ``limit`` 0 gives all.
    """
    from graphkb.extract.mine import mined_phrases, mined_words
    from graphkb.extract.terms import terms_in_units
    from graphkb.extract.title_terms import without_titles

    units = store.read("text_units", ("id", "text", "document_id", "heading_path")).sort("id")
    texts = units["text"].to_list()
    scored = [*mined_words(texts, min_frequency), *mined_phrases(texts, min_frequency)]
    # Names of persons and places are found as such; they are no terms to teach.
    names = store.read("entities", ("title", "type")).filter(pl.col("type").is_in(_NO_TERMS))
    skip = {fold(word) for word in (*known, *names["title"])}
    schema = {"term": pl.String, "cohesion": pl.Float64, "entropy": pl.Float64}
    frame = pl.DataFrame([row for row in scored if row[0] not in skip], schema, orient="row")
    places = terms_in_units(units, frame)
    documents = store.read("documents", ("id", "title", "path"))
    frame = frame.join(without_titles(places, documents, units), on="term", how="semi")
    seen = places.group_by("term").agg(
        pl.len().alias("frequency"),
        pl.col("text_unit_id").n_unique().alias("document_frequency"),
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
    """Put words into the user's dictionary; where there is none, into a terms.txt beside
    settings.yaml, which ``text.dictionary`` then names.

    Words are the same that differ in case, width, accents or Chinese script only. Several
    processes may do so at once. Raises UsageError for a word that cannot be one, InputError when
    the file cannot be written, SettingsError when it cannot be read or settings.yaml cannot be
    edited; then nothing is written.
    """
    given = list(dict.fromkeys(_checked(word) for word in words))
    with edit_lock(root):
        kept, file = _dictionary(root, settings)
        known = {_key(word) for word in kept}
        new: dict[str, str] = {}
        for word in given:
            if _key(word) not in known:
                new.setdefault(_key(word), word)
        added = tuple(new.values())
        there = tuple(word for word in given if word not in added)
        if added and file is not None:
            _append(file, added)
        elif added and kept:
            write_settings(root, {"text.dictionary": [*kept, *added]}, keep_old=False)
        elif added:
            file = root / TERMS_FILE
            kept = _begun(root, file, added)
    now = (*kept, *(word for word in added if word not in kept))
    return TermsChange(added, there, file or root / FILE_NAME, now)


def remove_terms(root: Path, settings: Settings, words: Sequence[str]) -> TermsChange:
    """Take words out of the user's dictionary, in all spellings that are the same to
    :func:`add_terms`; comments and the other lines stay.

    Raises InputError and SettingsError as :func:`add_terms` does.
    """
    gone = {_key(word): " ".join(word.split()) for word in words}
    with edit_lock(root):
        kept, file = _dictionary(root, settings)
        known = {_key(word) for word in kept}
        left = tuple(word for word in kept if _key(word) not in gone)
        removed = tuple(word for word in kept if _key(word) in gone)
        missing = tuple(word for key, word in gone.items() if key not in known)
        if removed and file is None:
            write_settings(root, {"text.dictionary": list(left)}, keep_old=False)
        elif removed and file is not None:
            lines = _read(file).splitlines(keepends=True)
            there = [(line, dictionary_word(line)) for line in lines]
            kept_lines = [line for line, word in there if not word or _key(word) not in gone]
            _write(file, "".join(kept_lines))
    return TermsChange(removed, missing, file or root / FILE_NAME, left)


def with_dictionary(root: Path, settings: Settings, change: TermsChange) -> Settings:
    """The settings after a change: where the words stand now is where the next run looks."""
    dictionary: str | list[str] = settings.text.dictionary
    if change.file.name == FILE_NAME:
        dictionary = list(change.words)
    elif not isinstance(dictionary, str) or not dictionary:
        dictionary = os.path.relpath(change.file, root)
    text = settings.text.model_copy(update={"dictionary": dictionary})
    return settings.model_copy(update={"text": text})


def _key(word: str) -> str:
    """What is equal for words that are the same."""
    return fold(" ".join(word.split()))


def _checked(word: str) -> str:
    plain = " ".join(word.split())
    if not any(map(str.isalnum, plain)) or len(plain) > _LONGEST or plain.startswith("#"):
        raise UsageError(
            f"{word!r} cannot be a term: give letters or characters, {_LONGEST} at most"
        )
    if unseen := first_unseen(plain):
        raise UsageError(
            f"{word!r} cannot be a term: it holds the character U+{ord(unseen):04X}, which "
            "nobody sees; leave it out"
        )
    if dictionary_word(dictionary_line(plain)) != plain:
        raise UsageError(
            f"{word!r} cannot be a term: what follows white space and # is a comment in a "
            "dictionary file; leave it out"
        )
    return plain


def _dictionary(root: Path, settings: Settings) -> tuple[list[str], Path | None]:
    """The user's words as they stand now, and the file that text.dictionary names for them; None
    where it is a list, as which an empty one counts."""
    given = settings.text.dictionary
    if isinstance(given, list):
        # Another process may have put words there since the settings were read.
        given = load_settings(root).text.dictionary
        if (given or []) != _in_settings_file(root):
            raise SettingsError(
                f"{root / FILE_NAME}: text.dictionary is set by a variable, such as "
                "GRAPHKB_TEXT_DICTIONARY; change the words there"
            )
    if isinstance(given, str) and given:
        file = root / given
        return (dictionary_words(_read(file)) if file.exists() else []), file
    return list(given), None


def _in_settings_file(root: Path) -> Any:
    path = root / FILE_NAME
    data = yaml.safe_load(path.read_text("utf-8-sig")) if path.exists() else None
    return ((data or {}).get("text") or {}).get("dictionary") or []


def _begun(root: Path, file: Path, words: Sequence[str]) -> list[str]:
    """The words of a terms.txt that the settings did not name until now, in front of them the
    ones that it held before. It is as it was when settings.yaml cannot be edited."""
    before = file.read_bytes() if file.exists() else None
    held = {_key(word) for word in dictionary_words(_read(file))} if before is not None else set()
    _append(file, [word for word in words if _key(word) not in held])
    try:
        write_settings(root, {"text.dictionary": TERMS_FILE}, keep_old=False)
    except SettingsError:
        if before is None:
            file.unlink()
        else:
            write_whole(file, before)
        raise
    return dictionary_words(_read(file))


def _append(file: Path, words: Sequence[str]) -> None:
    before = _read(file) if file.exists() else ""
    end = "\r\n" if "\r\n" in before else "\n"
    between = "" if not before or before.endswith("\n") else end
    _write(file, before + between + "".join(f"{dictionary_line(word)}{end}" for word in words))


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{file}: text.dictionary cannot be read as UTF-8 ({error})") from None


def _write(file: Path, text: str) -> None:
    try:
        write_whole(file, text.encode())
    except OSError as error:
        raise InputError(f"{file}: cannot be written ({error.strerror})") from None
