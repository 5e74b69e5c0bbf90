"""Documents from the rows of CSV, TSV, JSON and JSON Lines files."""

from __future__ import annotations

import contextlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.grid import grid_lines
from graphkb.ingest.records import Record, SourceFile, creation_date, is_blank
from graphkb.settings_input import Fields
from graphkb.text.sheets import SHEET_ROWS, row_runs


def find_key(keys: Iterable[str], wanted: str) -> str | None:
    """The key named ``wanted``: exactly, else but for case and surrounding space.

    >>> find_key(["ID", " Text "], "text")
    ' Text '
    """
    names = list(keys)
    if wanted in names:
        return wanted
    folded = wanted.strip().casefold()
    return next((name for name in names if name.strip().casefold() == folded), None)


def missing_text(keys: Iterable[str], fields: Fields, what: str) -> str:
    """The reason for refusing rows without the text column, with what to change."""
    names = [str(key) for key in keys]
    shown = ", ".join(repr(name[:40]) for name in names[:20]) + (", …" if len(names) > 20 else "")
    return (
        f"no {what} {fields.text!r} for the text; found {shown or 'none'}; "
        f"set input.fields.text to the one that holds the text, or input.tables to auto to read "
        "the whole file as one table"
    )


def read_whole(source: SourceFile, fields: Fields) -> str:
    """The note on a table without the text column that was read whole all the same."""
    return (
        f"{source.path}: no column {fields.text!r}: read whole, as one table; set "
        "input.fields.text to the column that holds the text to make each row a document"
    )


def table_record(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    source: SourceFile,
    media_type: str,
    numbers: Sequence[int] | None = None,
    titles: Sequence[str] = (),
) -> Record:
    """All rows as one document titled by the file's name: a Markdown table with that header.

    Where only the first column holds anything, its name and its cells are lines. ``numbers`` has
    the number of each row in the file, from 1; the metadata then says which row each line is.
    ``titles`` stand above the table.
    """
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    lines = grid_lines(cells, columns)
    if not any(any(row[1:]) for row in cells):
        lines = [(columns[0], None), *lines]
    if titles:
        lines = [*((title, None) for title in titles), ("", None), *lines]
    told = [numbers[at] if numbers and at is not None else 0 for _, at in lines]
    return Record(
        own_id=None,
        title=source.stem,
        text="\n".join(line for line, _ in lines),
        media_type=media_type,
        metadata={} if numbers is None else {SHEET_ROWS: [row_runs(told)]},
    )


def lacks_text(items: Iterable[Any], fields: Fields) -> bool:
    """True for objects none of which has the key for the text."""
    items = list(items)
    return bool(items) and all(
        isinstance(item, dict) and find_key(map(str, item), fields.text) is None for item in items
    )


def objects_table(
    items: Sequence[Mapping[str, Any]], source: SourceFile, media_type: str
) -> Record:
    """Objects as one table, a column for every key; lists and objects in it stand as JSON."""
    try:
        cells = [
            {clean_text(str(key))[0]: _cell(value) for key, value in item.items()} for item in items
        ]
    except RecursionError:
        raise InputError("nested too deeply; flatten it") from None
    columns = list(dict.fromkeys(key for item in cells for key in item))
    rows = [[item.get(column, "") for column in columns] for item in cells]
    return table_record(columns, rows, source, media_type)


def _cell(value: Any) -> str:
    value = _clean(value)
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return ", ".join(value)
    return json.dumps(value, ensure_ascii=False)


def row_record(
    row: Mapping[str, Any], number: int, source: SourceFile, fields: Fields, media_type: str
) -> Record:
    """The document of one row; ``number`` names it where it has neither title nor id.

    Metadata is the object under ``fields.metadata`` and the remaining plain values.
    Raises InputError with the reason where the row has no text.
    """
    try:
        row = {str(key): _clean(value) for key, value in row.items()}
        raw_data = json.dumps(row, ensure_ascii=False)
    except RecursionError:
        raise InputError("nested too deeply; flatten it") from None
    names = {
        role: find_key(row, name)
        for role, name in (
            ("id", fields.id), ("title", fields.title),
            ("text", fields.text), ("metadata", fields.metadata),
        )
    }  # fmt: skip
    if names["text"] is None:
        raise InputError(missing_text(row, fields, "key"))
    text = _text(row[names["text"]], fields)
    own_id = _scalar(row[names["id"]]) if names["id"] else None
    title = _scalar(row[names["title"]]) if names["title"] else None
    metadata = _metadata(row[names["metadata"]] if names["metadata"] else None, fields)
    taken = set(names.values())
    for key, value in row.items():
        if key not in taken and _is_plain(value):
            metadata.setdefault(key, value)
    return Record(
        own_id=own_id,
        title=title or own_id or f"{source.stem}:{number}",
        text=text,
        media_type=media_type,
        metadata=metadata,
        raw_data=raw_data,
        creation_date=creation_date(metadata),
    )


def _clean(value: Any) -> Any:
    """The value with every string cleaned and numbers that JSON cannot hold as null."""
    if isinstance(value, str):
        return clean_text(value)[0]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list):
        return [_clean(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(str(key))[0]: _clean(item) for key, item in value.items()}
    return value


def _text(value: Any, fields: Fields) -> str:
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        value = "\n".join(value)
    if isinstance(value, dict | list):
        kind = "an object" if isinstance(value, dict) else "a list"
        raise InputError(
            f"{fields.text!r} holds {kind}, not text; "
            "set input.fields.text to the key that holds the text"
        )
    text = "" if value is None else value if isinstance(value, str) else json.dumps(value)
    if is_blank(text):
        raise InputError(f"{fields.text!r} is empty; left out")
    return text


def _scalar(value: Any) -> str | None:
    """The value as a trimmed string; None for nothing, lists and objects."""
    if value is None or isinstance(value, dict | list):
        return None
    text = value if isinstance(value, str) else json.dumps(value)
    return " ".join(text.split()) or None


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return bool(value) and not any(isinstance(item, dict | list) for item in value)
    return value is not None and value != "" and not isinstance(value, dict)


def _metadata(value: Any, fields: Fields) -> dict[str, Any]:
    if isinstance(value, str) and value.lstrip().startswith("{"):
        with contextlib.suppress(ValueError, RecursionError):
            value = _clean(json.loads(value))
    if isinstance(value, dict):
        return dict(value)
    return {fields.metadata: value} if _is_plain(value) else {}
