"""JSON and JSON Lines: every object with text is a document."""

from __future__ import annotations

import json
import re
from typing import Any

from graphkb.errors import InputError
from graphkb.ingest.decode import decode_bytes
from graphkb.ingest.readers.rows import find_key, lacks_text, objects_table, row_record
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input
from graphkb.types import Refused

_LISTS = ("data", "documents", "records", "items", "rows")
_CONSTANT = re.compile(r'"(?:[^"\\]|\\.)*"|(-?Infinity|NaN)', re.DOTALL)
_DECODER = json.JSONDecoder(strict=False)
_OBJECT_EXPECTED = 'expected an object such as {"id": …, "title": …, "text": …}'


class _NotJson(Exception):
    """Why a text is not JSON, and where in it (line and column from 1)."""

    def __init__(self, reason: str, line: int = 1, column: int = 1) -> None:
        super().__init__(reason)
        self.line, self.column = line, column


def read_json(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """A list of objects, one object, or an object with such a list under data, documents, ….

    A file of JSON Lines under this name is read as such. Objects none of which has the key for
    the text are one table where ``input.tables`` is auto.
    """
    decoded = decode_bytes(data, options.encoding)
    notes = [f"{source.path}: {decoded.note}"] if decoded.note else []
    try:
        value = _parse(decoded.text)
    except _NotJson as error:
        reading = _lines(decoded.text, source, options)
        if reading.records and len(reading.records) > len(reading.refused):
            return FileReading(reading.records, reading.refused, (*notes, *reading.notes))
        where = f"{source.path}:{error.line}:{error.column}"
        return FileReading((), (Refused(where, f"not valid JSON: {error}"),), tuple(notes))
    notes.extend(_constant_notes(decoded.text, source.path))
    reading = _objects(value, source, options)
    return FileReading(reading.records, reading.refused, (*notes, *reading.notes))


def read_json_lines(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """One object a line; blank lines are skipped, a bad line costs only itself.

    A file that holds one JSON value over several lines is read as JSON.
    """
    decoded = decode_bytes(data, options.encoding)
    notes = [f"{source.path}: {decoded.note}"] if decoded.note else []
    reading = _lines(decoded.text, source, options)
    if not reading.records:
        try:
            whole = _objects(_parse(decoded.text), source, options)
        except (_NotJson, InputError):
            whole = reading
        reading = whole if whole.records else reading
    return FileReading(reading.records, reading.refused, (*notes, *reading.notes))


def _parse(text: str) -> Any:
    try:
        value, end = _DECODER.raw_decode(text, len(text) - len(text.lstrip()))
    except json.JSONDecodeError as error:
        raise _NotJson(_explain(error), error.lineno, error.colno) from None
    except RecursionError:
        raise _NotJson("nested too deeply") from None
    except ValueError as error:
        raise _NotJson(str(error)) from None
    rest = text[end:]
    if rest.strip():
        at = end + len(rest) - len(rest.lstrip())
        line = text.count("\n", 0, at) + 1
        column = at - text.rfind("\n", 0, at)
        raise _NotJson(f"more text after the end: {text[at : at + 20]!r}", line, column)
    return value


def _explain(error: json.JSONDecodeError) -> str:
    """The decoder's message with what stands there, and a trailing comma named as such."""
    before = error.doc[: error.pos].rstrip()
    found = error.doc[error.pos : error.pos + 20]
    if before.endswith(",") and found[:1] in {"}", "]"}:
        return f"a comma before {found[0]!r}; remove it"
    return f"{error.msg}, found {found!r}" if found else f"{error.msg}, found the end of the text"


def _kind(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:40]!r}"
    if isinstance(value, dict | list):
        return f"{'an object' if isinstance(value, dict) else 'a list'} of {len(value)}"
    return str(value)[:40]


def _constant_notes(text: str, where: str, line: int | None = None) -> list[str]:
    """One note for NaN and Infinity, which JSON does not have; they are read as null."""
    if "NaN" not in text and "Infinity" not in text:
        return []
    found = [match for match in _CONSTANT.finditer(text) if match.group(1)]
    if not found:
        return []
    at = found[0].start()
    row = line if line is not None else text.count("\n", 0, at) + 1
    column = at - text.rfind("\n", 0, at)
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return [f"{where}:{row}:{column}: {found[0].group(1)} is not JSON{more}; read as null"]


def _lines(text: str, source: SourceFile, options: Input) -> FileReading:
    records: list[Record] = []
    refused: list[Refused] = []
    notes: list[str] = []
    without_text: dict[str, Any] = {}
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            value = _parse(line)
            if not isinstance(value, dict):
                raise InputError(f"{_OBJECT_EXPECTED}, found {_kind(value)}")
            record = row_record(value, number, source, options.fields, "application/x-ndjson")
        except _NotJson as error:
            reason = f"not valid JSON at column {error.column}: {error}"
            refused.append(Refused(f"{source.path}:{number}", reason))
        except InputError as error:
            refused.append(Refused(f"{source.path}:{number}", str(error)))
            if lacks_text([value], options.fields):
                without_text[refused[-1].where] = value
        else:
            records.append(record)
            notes.extend(_constant_notes(line, source.path, number))
    if options.tables == "auto" and without_text and not records:
        records = [objects_table(list(without_text.values()), source, "application/x-ndjson")]
        refused = [item for item in refused if item.where not in without_text]
    return FileReading(tuple(records), tuple(refused), tuple(notes))


def _objects(value: Any, source: SourceFile, options: Input) -> FileReading:
    if isinstance(value, dict) and find_key(map(str, value), options.fields.text) is None:
        inner = (value[key] for key in _LISTS if isinstance(value.get(key), list))
        value = next(inner, value)
    single = isinstance(value, dict)
    items = [value] if single else value
    if not isinstance(items, list):
        raise InputError(f"{_OBJECT_EXPECTED} or a list of them, found {_kind(value)}")
    if options.tables == "auto" and lacks_text(items, options.fields):
        return FileReading((objects_table(items, source, "application/json"),))
    records: list[Record] = []
    refused: list[Refused] = []
    for number, item in enumerate(items, 1):
        where = source.path if single else f"{source.path}, item {number}"
        try:
            if not isinstance(item, dict):
                raise InputError(f"{_OBJECT_EXPECTED}, found {_kind(item)}")
            records.append(row_record(item, number, source, options.fields, "application/json"))
        except InputError as error:
            refused.append(Refused(where, str(error)))
    return FileReading(tuple(records), tuple(refused))
