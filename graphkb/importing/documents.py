"""GraphRAG's documents as files of a project: the originals where they are there, else rows."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from graphkb.importing.graphrag import GraphRag
from graphkb.ingest.isolate import read_files
from graphkb.ingest.read import FileReading, SourceFile, list_files, read_file
from graphkb.ingest.records import is_blank
from graphkb.settings_input import Input

FILE_NAME = "graphrag.jsonl"
_LARGEST_FILE = 100_000_000
_TEXT_KEYS = ("id", "title", "text", "raw_content")


@dataclass(frozen=True)
class Documents:
    """What was put into the input folder.

    ``texts`` are the documents' texts as graphkb reads them, by GraphRAG's id; ``files`` the
    paths made; ``originals`` whether they are copies of the files that GraphRAG read;
    ``not_indexed`` files beside them that GraphRAG had not indexed, which were left out.
    """

    texts: dict[str, str]
    files: tuple[str, ...]
    originals: bool
    not_indexed: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()


def write_documents(graph: GraphRag, folder: Path) -> Documents:
    """Put the documents into ``folder``.

    The files of GraphRAG's own input folder are copied when they hold every document, white
    space aside; else ``graphrag.jsonl`` gets a row for each, with GraphRAG's ids.
    """
    every = graph.documents.to_dicts()
    rows = [row for row in every if not is_blank(row["text"])]
    empty = tuple(row["id"] for row in every if is_blank(row["text"]))
    found = _originals(graph.root / "input", rows)
    if found is None:
        texts, written = _write_all(folder, rows)
        return Documents(texts, written, originals=False, empty=empty)
    for source in found.files:
        target = folder / source.path
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.location, target)
    files, others = ([source.path for source in some] for some in (found.files, found.others))
    return Documents(found.texts, tuple(files), True, tuple(others), empty)


def _write_all(folder: Path, rows: list[dict[str, Any]]) -> tuple[dict[str, str], tuple[str, ...]]:
    """Write every row; texts by document id as they are read again, and the files' names."""
    texts: dict[str, str] = {}
    names = []
    for number, part in enumerate(_parts(rows), 1):
        name = FILE_NAME if number == 1 else FILE_NAME.replace(".", f"-{number}.")
        texts.update(_write_rows(folder / name, part))
        names.append(name)
    return texts, tuple(names)


def _parts(rows: list[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Rows for one file each, so that no file is too large to be read."""
    part: list[dict[str, Any]] = []
    size = 0
    for row in rows:
        if part and size > _LARGEST_FILE:
            yield part
            part, size = [], 0
        part.append(row)
        size += len(row["text"].encode())
    yield part


def _write_rows(path: Path, rows: list[dict[str, Any]]) -> dict[str, str]:
    """Write a row a document; their texts by id as they are read again."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (json.dumps(_row(row), ensure_ascii=False) for row in rows)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8", newline="\n")
    source = SourceFile(path.name, path, path.stat().st_size)
    records = read_file(source, Input(max_file_mb=1_000_000)).records
    return {row["id"]: record.text for row, record in zip(rows, records, strict=True)}


@dataclass(frozen=True)
class _Originals:
    """Texts by document id, the files that hold them, and the other files beside them."""

    texts: dict[str, str]
    files: list[SourceFile]
    others: list[SourceFile]


def _originals(folder: Path, rows: list[dict[str, Any]]) -> _Originals | None:
    """The files of the documents; None unless every document is in a file whose every record is
    a document."""
    if not folder.is_dir():
        return None
    wanted: dict[str, list[str]] = {}
    for row in rows:
        wanted.setdefault("".join(row["text"].split()), []).append(row["id"])
    found = _Originals({}, [], [])
    for source, reading in _read_all(folder):
        squeezed = ["".join(record.text.split()) for record in reading.records]
        if not squeezed or not all(text in wanted for text in squeezed):
            found.others.append(source)
            continue
        found.files.append(source)
        for record, text in zip(reading.records, squeezed, strict=True):
            found.texts.update(dict.fromkeys(wanted[text], record.text))
    return found if len(found.texts) == len({row["id"] for row in rows}) else None


def _read_all(folder: Path) -> Iterator[tuple[SourceFile, FileReading]]:
    options = Input()
    files = list_files(folder, options)
    yield from zip(files, read_files(files, options), strict=True)


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    metadata: dict[str, Any] = {}
    for name in ("metadata", "raw_data"):
        metadata.update(_plain(row[name], row))
    if row["creation_date"]:
        metadata.setdefault("creation_date", row["creation_date"])
    title = (row["title"] or "").strip() or row["id"]
    return {"id": row["id"], "title": title, "text": row["text"], "metadata": metadata}


def _plain(text: str | None, row: Mapping[str, Any]) -> dict[str, Any]:
    """The values of a JSON object that say more than the document's own columns."""
    try:
        value = json.loads(text or "{}")
    except ValueError:
        return {"raw_data": text}
    if not isinstance(value, dict):
        return {}
    known = {row[key] for key in ("id", "title", "text")}
    return {k: v for k, v in value.items() if k not in _TEXT_KEYS and str(v) not in known}
