"""Documents to text units."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import polars as pl

from graphkb.ingest.chunkers import CHUNKERS
from graphkb.ingest.chunkers.heading import STRUCTURE
from graphkb.ingest.chunkers.piece import UNCOUNTED, Budget, Piece
from graphkb.settings_input import Chunks
from graphkb.tables import TABLES, content_hash
from graphkb.text.encoding import prepare_for
from graphkb.text.language import detect_language
from graphkb.text.tokens import count_tokens

_SEPARATOR = " › "
_LONGEST_NAME = 200


def cut_documents(documents: pl.DataFrame, options: Chunks) -> pl.DataFrame:
    """The text units of every document, in document order, then by place.

    A unit's text is exactly ``text[char_start:char_end]`` of its document, trimmed, of at most
    ``options.size`` tokens; together the units hold every visible character. A document's units
    depend on nothing but its own row. Neighbours that share a ``parent_id`` are one larger unit.
    """
    prepare_for(documents["text"].to_list())
    return _cut(documents, options, counts=True)


def cut_uncounted(documents: pl.DataFrame, options: Chunks) -> pl.DataFrame:
    """As :func:`cut_documents`, where units may be wanted before their tokens are counted: that
    is left to :func:`counted` for short ones, the first of which waits for the tokenizer."""
    return _cut(documents, options, counts=options.parents > 0)


def waits_for_tokenizer(options: Chunks) -> pl.Expr:
    """Whether :func:`cut_uncounted` needs the tokenizer for a document: it may be longer than a
    unit, or has sections, which are counted."""
    text = pl.col("text")
    return (text.str.len_bytes() > options.size) | text.str.contains(STRUCTURE.pattern)


def counted(units: pl.DataFrame) -> pl.DataFrame:
    """The units with the tokens of those that have none yet."""
    open_ = units["n_tokens"] == UNCOUNTED
    texts = units.filter(open_)["text"].to_list()
    prepare_for(texts)
    n_tokens = units["n_tokens"].to_numpy(writable=True)
    n_tokens[open_.to_numpy()] = [count_tokens(text) for text in texts]
    return units.with_columns(n_tokens=pl.Series(n_tokens, dtype=units["n_tokens"].dtype))


def _cut(documents: pl.DataFrame, options: Chunks, *, counts: bool) -> pl.DataFrame:
    whole = Budget(options.size, options.overlap, options.table_rows, counts=counts)
    columns: dict[str, list[Any]] = {name: [] for name in TABLES["text_units"].schema}
    for document_id, title, text, media_type, page_starts in documents.select(
        "id", "title", "text", "media_type", "page_starts"
    ).iter_rows():
        breaks = tuple(page_starts[1:]) if options.by_page else ()
        pieces = CHUNKERS[media_type](text, replace(whole, breaks=breaks))
        columns["parent_id"] += _parents(document_id, pieces, options.parents)
        for index, piece in enumerate(pieces):
            unit = text[piece.start : piece.end]
            place = str(piece.start), str(piece.end)
            columns["id"].append(content_hash(document_id, *place, unit))
            columns["human_readable_id"].append(len(columns["human_readable_id"]))
            columns["text"].append(unit)
            columns["n_tokens"].append(piece.n_tokens)
            columns["document_id"].append(document_id)
            columns["heading_path"].append(list(piece.heading_path))
            columns["index"].append(index)
            columns["char_start"].append(piece.start)
            columns["char_end"].append(piece.end)
            columns["page_start"].append(_page(page_starts, piece.start))
            columns["page_end"].append(_page(page_starts, piece.end - 1))
            columns["kind"].append(piece.kind)
            columns["context"].append(_context(title, piece, options))
            columns["language"].append(detect_language(unit))
    return pl.DataFrame(columns, schema=TABLES["text_units"].schema)


def _parents(document_id: str, pieces: Sequence[Piece], size: int) -> list[str | None]:
    """The id of the parent unit of each piece: neighbours under the same parent heading, of at
    most ``size`` tokens in all; None for all where that is 0."""
    if not size:
        return [None] * len(pieces)
    parents: list[str | None] = []
    first, spent = 0, 0
    for place, piece in enumerate(pieces):
        above = pieces[first].heading_path[:-1]
        apart = piece.heading_path[: len(above)] != above
        if place and (apart or spent + piece.n_tokens > size):
            first, spent = place, 0
        spent += piece.n_tokens
        parents.append(content_hash(document_id, "parent", str(pieces[first].start)))
    return parents


def _page(page_starts: list[int], offset: int) -> int | None:
    """The page, from 1, that the character at ``offset`` stands on; None without pages."""
    return max(1, bisect_right(page_starts, offset)) if page_starts else None


def _context(title: str, piece: Piece, options: Chunks) -> str:
    """A line of title › headings, then what the unit's rows or code stand under."""
    if options.context == "none":
        return f"\n{piece.header}" if piece.header else ""
    title = " ".join(title.split())
    names = [title, *(heading for heading in piece.heading_path if heading != title)]
    line = _SEPARATOR.join(name[:_LONGEST_NAME] for name in names if name)
    return f"{line}\n{piece.header}" if piece.header else line
