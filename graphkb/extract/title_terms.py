"""Mined terms that are no more than titles and headings."""

from __future__ import annotations

from collections import defaultdict
from pathlib import PurePosixPath

import polars as pl

from graphkb.text.language import has_han
from graphkb.text.names import fold

# A term of no more characters in Chinese, or words, may be a title as well.
_SHORT_HAN, _SHORT_WORDS = 4, 2


def without_titles(
    places: pl.DataFrame, documents: pl.DataFrame, units: pl.DataFrame
) -> pl.DataFrame:
    """The terms of ``places`` (text_unit_id, term, char_start), in one column ``term``, without
    the long ones that stand in titles and headings and nowhere in the running text of a document
    that is not called so.

    ``documents`` have id, title and path; ``units`` id, text, document_id and heading_path.
    """
    terms = places.select("term").unique(maintain_order=True)
    long = [term for term in terms["term"] if _is_long(term)]
    named = _names_of(documents, units)
    called = {
        term: {document for document, names in named.items() if term in names} for term in long
    }
    called = {term: documents for term, documents in called.items() if documents}
    columns = units.select("id", "text", "document_id").iter_rows()
    texts = {unit: (text, document) for unit, text, document in columns}
    spoken: set[str] = set()
    found = places.filter(pl.col("term").is_in(list(called)))
    for unit, term, start in found.select("text_unit_id", "term", "char_start").iter_rows():
        if term in spoken:
            continue
        text, document = texts[unit]
        if document not in called[term] and not _in_heading(text, start, term):
            spoken.add(term)
    return terms.filter(~pl.col("term").is_in(list(called.keys() - spoken)))


def _is_long(term: str) -> bool:
    return len(term) > _SHORT_HAN if has_han(term) else len(term.split()) > _SHORT_WORDS


def _names_of(documents: pl.DataFrame, units: pl.DataFrame) -> dict[str, str]:
    """Title, file name and headings of each document, folded, a line each."""
    names: dict[str, set[str]] = defaultdict(set)
    for document, title, path in documents.select("id", "title", "path").iter_rows():
        names[document] |= {fold(title or ""), fold(PurePosixPath(path or "").stem)}
    headings = units.select("document_id", "heading_path").explode("heading_path").drop_nulls()
    for document, heading in headings.iter_rows():
        names[document].add(fold(heading))
    for document, text in units.select("document_id", "text").iter_rows():
        names[document] |= {fold(line) for line in text.split("\n") if line.startswith("#")}
    return {document: "\n".join(sorted(lines)) for document, lines in names.items()}


def _in_heading(text: str, start: int, term: str) -> bool:
    """Whether the line that holds a place is a heading, or the term alone."""
    first = text.rfind("\n", 0, start) + 1
    end = text.find("\n", start)
    line = text[first : end if end >= 0 else len(text)].strip()
    return line.startswith("#") or fold(line.strip("*_ ")) == fold(term)
