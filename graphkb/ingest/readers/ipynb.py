"""Jupyter notebooks: their words, code and textual results as Markdown (nbformat 3 and 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from graphkb.errors import InputError
from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import clean_text, decode_bytes
from graphkb.ingest.readers.html import page_tables
from graphkb.ingest.readers.markdown import fenced, without_embedded_images
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date, is_blank
from graphkb.settings_input import Input

MEDIA_TYPE = "application/x-ipynb+json"
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07\x1b]{0,2000}\x07")
# Results are kept from both ends: logs begin with what ran and end with what came out.
_HEAD, _TAIL = 1500, 500


def read_notebook(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The notebook as one document: Markdown as it is, code and results as fenced code.

    Results are text, tables of HTML become Markdown, errors are their one line; pictures are
    left out, long results are cut in the middle, which is noted. Raises InputError for what is no
    notebook.
    """
    decoded = decode_bytes(data, options.encoding)
    try:
        book = json.loads(decoded.text, strict=False)
    except json.JSONDecodeError as error:
        raise InputError(
            f"not a notebook: not valid JSON at line {error.lineno}, column {error.colno}: "
            f"{error.msg}; save it again in Jupyter"
        ) from None
    except (RecursionError, ValueError):
        raise InputError("not a notebook: nested too deeply or a number too long") from None
    cells = list(_cells(book))
    if not cells:
        raise InputError("not a notebook or an empty one: it has no cells")
    metadata = _metadata(book)
    language = str(metadata.get("language", ""))
    cut: list[int] = []
    text = "\n\n".join(part for cell in cells for part in _parts(cell, language, cut))
    stated = metadata.pop("title", None)
    record = Record(
        own_id=None,
        title=str(stated or first_title(text) or source.stem),
        text=clean_text(text)[0],
        media_type=MEDIA_TYPE,
        metadata=metadata,
        creation_date=creation_date(metadata),
    )
    said = (decoded.note, _cut_note(cut))
    return FileReading((record,), (), tuple(f"{source.path}: {note}" for note in said if note))


def _cut_note(cut: list[int]) -> str:
    if not cut:
        return ""
    results = f"{len(cut)} long results are" if len(cut) > 1 else "a long result is"
    return (
        f"{results} cut to the first {_HEAD:,} and last {_TAIL:,} characters "
        f"({sum(cut):,} left out); save them as text files to have all of it read"
    )


def _cells(book: Any) -> Iterator[dict[str, Any]]:
    """The cells of format 4, and those of the worksheets of format 3."""
    sheets = [book, *_list(_get(book, "worksheets"))]
    for sheet in sheets:
        yield from (cell for cell in _list(_get(sheet, "cells")) if isinstance(cell, dict))


def _metadata(book: Any) -> dict[str, Any]:
    stated = _get(book, "metadata")
    kernel = _get(stated, "kernelspec")
    language = _get(_get(stated, "language_info"), "name") or _get(kernel, "language")
    authors = [_get(author, "name") for author in _list(_get(stated, "authors"))]
    found = {
        "title": _get(stated, "title"),
        "language": language or _get(stated, "language"),
        "kernel": _get(kernel, "display_name") or _get(kernel, "name"),
        "author": "; ".join(name for name in authors if isinstance(name, str)),
        "date": _get(stated, "date"),
    }
    return {
        key: clean_text(value)[0]
        for key, value in found.items()
        if isinstance(value, str) and value
    }


def _parts(cell: dict[str, Any], language: str, cut: list[int]) -> Iterator[str]:
    """A cell's pieces of Markdown; adds to ``cut`` how many characters of results it leaves out."""
    kind = cell.get("cell_type")
    text = _text(cell.get("source", cell.get("input")))
    if kind == "code":
        if not is_blank(text):
            yield fenced(text, language)
        for output in _list(cell.get("outputs")):
            shown = _output(output, cut)
            if not is_blank(shown):
                yield shown
    elif kind == "heading":
        level = cell.get("level")
        depth = min(max(level, 1), 6) if isinstance(level, int) else 1
        yield f"{'#' * depth} {' '.join(text.split())}"
    elif not is_blank(text):
        yield without_embedded_images(text).strip("\n")


def _output(output: Any, cut: list[int]) -> str:
    """A result as Markdown; empty where it has no text."""
    if _get(output, "output_type") in {"error", "pyerr"}:
        return fenced(f"{_text(_get(output, 'ename'))}: {_text(_get(output, 'evalue'))}")
    held = _get(output, "data") or output
    markdown = _text(_get(held, "text/markdown"))
    if not is_blank(markdown):
        return _cut(without_embedded_images(markdown), cut).strip("\n")
    page = _text(_get(held, "text/html", "html"))
    tables = page_tables(page) if "<table" in page else ""
    if tables:
        return tables
    text = _ESCAPES.sub("", _text(_get(held, "text/plain", "text"))).strip("\n")
    return "" if is_blank(text) else fenced(_cut(text, cut))


def _cut(text: str, cut: list[int]) -> str:
    left_out = len(text) - _HEAD - _TAIL
    if left_out <= 200:
        return text
    cut.append(left_out)
    return f"{text[:_HEAD]}\n… ({left_out} characters left out)\n{text[-_TAIL:]}"


def _get(value: Any, *keys: str) -> Any:
    """What an object holds under the first key that it has; None where it is no object."""
    if not isinstance(value, dict):
        return None
    return next((value[key] for key in keys if key in value), None)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _text(value: Any) -> str:
    """Lines of a notebook are a list of strings or one string."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    return value if isinstance(value, str) else ""
