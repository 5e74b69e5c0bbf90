"""CSV and TSV: every row with text is a document."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from statistics import mode
from typing import NamedTuple

from graphkb.errors import InputError
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.readers.figures import is_of_figures
from graphkb.ingest.readers.rows import (
    find_key,
    missing_text,
    read_whole,
    row_record,
    table_record,
)
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input
from graphkb.text.table_head import LOOKED_AT, column_names, find_head, is_value
from graphkb.types import Refused


class _Row(NamedTuple):
    """A row with the line it starts in and its number among all rows, blank ones too, from 1."""

    line: int
    number: int
    cells: list[str]


_DELIMITERS = ",\t;|"
_NOTED_ROWS = 5
# Lines of titles above a header, and the header.
_MOST_ABOVE = 4


def read_table(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """One document a row, columns named by the first line; the delimiter is found out.

    Without a text column the file is one document where ``input.tables`` is auto or it holds
    figures; the latter is noted.

    Cells beyond the header are joined to the text where the text column is the last one, else
    kept in the metadata under ``extra``; either is noted with file and line.
    """
    decoded = decode_bytes(data, options.encoding)
    notes = [f"{source.path}: {decoded.note}"] if decoded.note else []
    lines = decoded.text.split("\n")
    delimiter = _delimiter(lines, source.suffix)
    rows = _rows(lines, delimiter, source, notes)
    header = next(rows, None)
    columns = _column_names(header.cells) if header else []
    text_column = find_key(columns, options.fields.text)
    media_type = "text/tab-separated-values" if delimiter == "\t" else "text/csv"
    if text_column is None and header is not None:
        table = [header, *rows]
        whole = options.tables == "auto"
        if not whole and table[1:] and _is_of_figures(columns, table[1:], options):
            whole = True
            notes.append(read_whole(source, options.fields))
        if whole:
            record = _whole_table(table, source, media_type)
            return FileReading((record,), (), tuple(notes))
    if text_column is None:
        raise InputError(missing_text(columns, options.fields, "column"))
    records: list[Record] = []
    refused: list[Refused] = []
    ragged: list[str] = []
    for line, _, cells in rows:
        if len(cells) != len(columns):
            ragged.append(f"line {line} has {len(cells)}")
        row = _row(columns, cells, text_column, delimiter)
        try:
            records.append(row_record(row, line, source, options.fields, media_type))
        except InputError as error:
            refused.append(Refused(f"{source.path}:{line}", str(error)))
    if ragged:
        shown = ", ".join(ragged[:_NOTED_ROWS]) + (", …" if len(ragged) > _NOTED_ROWS else "")
        notes.append(
            f"{source.path}: {len(ragged)} rows differ from the header's {len(columns)} cells "
            f"({shown}); missing cells are empty"
        )
    return FileReading(tuple(records), tuple(refused), tuple(notes))


def _is_of_figures(columns: list[str], rows: list[_Row], options: Input) -> bool:
    return is_of_figures(columns, [row.cells for row in rows], options.fields)


def _whole_table(rows: list[_Row], source: SourceFile, media_type: str) -> Record:
    """The file as one table; a first row that holds numbers other than years is data."""
    width = max(len(row.cells) for row in rows)
    top = [[cell.strip() for cell in row.cells] for row in rows[:LOOKED_AT]]
    top = [row + [""] * (width - len(row)) for row in top]
    head = find_head(top)
    titles = [" ".join(filter(None, row)) for row in top[: head.titles]]
    first, names = head.titles + head.depth, column_names(top[head.titles :][: head.depth])
    if any(map(is_value, top[head.titles])):
        first, names = head.titles, []
    columns = _column_names(names)
    columns += [f"column {place}" for place in range(len(columns) + 1, width + 1)]
    cells, numbers = [row.cells for row in rows[first:]], [row.number for row in rows[first:]]
    return table_record(columns, cells, source, media_type, numbers, titles)


def _delimiter(lines: list[str], suffix: str) -> str:
    """The delimiter that cuts the first rows into the same number of cells, the more the better."""
    sample = [line for line in lines[:200] if line.strip()][:50]
    best, best_score = "\t" if suffix == ".tsv" else ",", (0.0, 0)
    for delimiter in _DELIMITERS:
        try:
            widths = [len(row) for row in csv.reader(_ended(sample), delimiter=delimiter) if row]
        except csv.Error:
            continue
        # The header decides: text after it may hold any number of commas, a title above it none.
        width = next((width for width in widths[:_MOST_ABOVE] if width > 1), 0)
        same = sum(w == width for w in widths) / len(widths) if widths else 0.0
        if width > 1 and (same, min(width, mode(widths))) > best_score:
            best, best_score = delimiter, (same, min(width, mode(widths)))
    return best


def _ended(lines: list[str]) -> Iterator[str]:
    return (line + "\n" for line in lines)


def _rows(lines: list[str], delimiter: str, source: SourceFile, notes: list[str]) -> Iterator[_Row]:
    """Rows that are not blank.

    A quote that is never closed would swallow the rest of the file: from its line on the rows
    are read without quoting, with a note.
    """
    csv.field_size_limit(2**31 - 1)
    reader = csv.reader(_ended(lines), delimiter=delimiter)
    start = 1
    for number, cells in enumerate(reader, 1):
        at_end = reader.line_num >= len(lines)
        if at_end and reader.line_num > start and _is_open(lines[start - 1 :], delimiter):
            notes.append(
                f"{source.path}:{start}: a quote is opened and never closed; "
                "from here on every line is read as a row"
            )
            rest = csv.reader(
                _ended(lines[start - 1 :]), delimiter=delimiter, quoting=csv.QUOTE_NONE
            )
            for further, row in enumerate(rest):
                if any(cell.strip() for cell in row):
                    yield _Row(start + rest.line_num - 1, number + further, row)
            return
        if any(cell.strip() for cell in cells):
            cells = [cell[:-1] if at_end and cell.endswith("\n") else cell for cell in cells]
            yield _Row(start, number, cells)
        start = reader.line_num + 1


def _is_open(lines: list[str], delimiter: str) -> bool:
    try:
        list(csv.reader(_ended(lines), delimiter=delimiter, strict=True))
    except csv.Error as error:
        return "unexpected end of data" in str(error)
    return False


def _column_names(cells: list[str]) -> list[str]:
    """Header cells trimmed; blank ones named by place, repeated ones numbered."""
    names: dict[str, None] = {}
    repeated: dict[str, int] = {}
    for place, cell in enumerate(cells, 1):
        unique = name = " ".join(cell.split()) or f"column {place}"
        while unique in names:
            repeated[name] = repeated.get(name, 1) + 1
            unique = f"{name} {repeated[name]}"
        names[unique] = None
    return list(names)


def _row(
    columns: list[str], cells: list[str], text_column: str, delimiter: str
) -> dict[str, object]:
    row: dict[str, object] = dict(zip(columns, cells, strict=False))
    row.setdefault(text_column, "")
    extra = cells[len(columns) :]
    if any(cell.strip() for cell in extra):
        if columns[-1] == text_column:
            row[text_column] = delimiter.join(cells[len(columns) - 1 :])
        else:
            row["extra"] = extra
    return row
