"""Sources of all files to the documents table: identity, duplicates, language."""

from __future__ import annotations

import json
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Literal

import polars as pl

from graphkb.tables import TABLES, content_hash
from graphkb.text.language import detect_language

Duplicates = Literal["exact", "near", "off"]
_SHOWN = 10


@dataclass(frozen=True)
class Assembled:
    """The documents by path and row, the copies that were left out, and what to warn of.

    ``duplicates`` pairs the path of a copy with the path of the document that was kept.
    """

    documents: pl.DataFrame
    duplicates: list[tuple[str, str]]
    warnings: tuple[str, ...]


def assemble_documents(
    sources: pl.DataFrame, duplicates: Duplicates = "exact", links: Collection[str] = ()
) -> Assembled:
    """Every source once, in the columns of the documents table, ordered by path and row.

    The id is the source's own where it has one, else its content hash. Of sources with the
    same content and the same or no own id the first is kept, a file rather than a member of an
    archive or mail, and what is not among the paths of ``links`` rather than what is; the other
    paths stand in its metadata under ``duplicate_paths``. Where one own id has several contents
    the first keeps it and the others get their content hash.
    With ``duplicates`` "near" a file that is nearly the same as one before it
    (:mod:`graphkb.ingest.duplicates`) is left out like a copy, with "exact" it is warned of; with
    "off" copies are documents too. Rows are compared exactly: those of a table are much alike by
    nature.
    """
    kept: dict[str, dict[str, Any]] = {}
    by_content: dict[tuple[str | None, str], dict[str, Any]] = {}
    copies: list[tuple[str, str]] = []
    warnings: list[str] = []
    is_link = pl.col("path").is_in(list(links))
    order = (pl.col("member") != "", is_link, "path", "row")
    placed = sources.sort(*order).with_columns(document_path(), file="path")
    for source in placed.iter_rows(named=True):
        own_id, digest = source["own_id"], source["content_hash"]
        first = by_content.get((own_id, digest))
        if first is None and own_id in kept:
            first = by_content.get((None, digest))
            if first is None or first["id"] != digest:
                first = None
                warnings.append(_id_warning(source, kept[own_id]))
        if first is not None and duplicates != "off":
            copies.append((source["path"], first["path"]))
            first["copies"].add(source["path"])
            continue
        document_id = own_id if own_id is not None and own_id not in kept else digest
        while document_id in kept:
            document_id = content_hash(document_id, source["path"], str(source["row"]))
        document = {**source, "id": document_id, "copies": set()}
        kept[document_id] = document
        by_content[own_id, digest] = document
        if document_id == digest:
            by_content.setdefault((None, digest), document)
    documents = list(kept.values())
    if duplicates != "off":
        documents, alike = _without_near(documents, leave_out=duplicates == "near")
        warnings.extend(alike)
    documents.sort(key=lambda document: (document["file"], document["row"]))
    return Assembled(_frame(documents), copies, tuple(warnings))


def _without_near(
    documents: list[dict[str, Any]], *, leave_out: bool
) -> tuple[list[dict[str, Any]], list[str]]:
    """The documents, without those that are nearly the same as one before them where they are
    to be left out, and a line on each."""
    files = [document for document in documents if document["raw_data"] is None]
    if len(files) < 2:
        return documents, []
    from graphkb.ingest.duplicates import near_duplicates

    found = near_duplicates([document["text"] for document in files])
    lines: list[str] = []
    left_out: set[str] = set()
    for pair in found:
        copy, first = files[pair.copy], files[pair.first]
        alike = f"{copy['path']}: {int(100 * pair.similarity)} % the same as {first['path']}"
        if leave_out:
            first["copies"].update({copy["path"], *copy["copies"]})
            left_out.add(copy["id"])
            lines.append(f"{alike}, indexed once")
        elif len(lines) < _SHOWN:
            lines.append(f"{alike}; input.duplicates: near would index it once")
    if not leave_out and len(found) > _SHOWN:
        lines.append(f"{len(found) - _SHOWN} more files are nearly the same as others")
    return [document for document in documents if document["id"] not in left_out], lines


def document_path() -> pl.Expr:
    """``documents.path`` of a source: its file, and in a container the path inside after it."""
    inside = pl.concat_str("path", "member", separator="/")
    return pl.when(pl.col("member") != "").then(inside).otherwise("path").alias("path")


def _id_warning(source: dict[str, Any], first: dict[str, Any]) -> str:
    return (
        f"the id {source['own_id']!r} of {source['path']} (row {source['row'] + 1}) is already "
        f"that of {first['path']} (row {first['row'] + 1}) with other content; it got a content "
        "hash as id, give it an id of its own"
    )


def _frame(documents: list[dict[str, Any]]) -> pl.DataFrame:
    columns: dict[str, list[Any]] = {name: [] for name in TABLES["documents"].schema}
    for number, document in enumerate(documents):
        for name in columns.keys() & document.keys():
            columns[name].append(document[name])
        columns["human_readable_id"].append(number)
        columns["language"].append(detect_language(document["text"]))
        copies = document["copies"] - {document["path"]}
        if copies:
            metadata = json.loads(document["metadata"])
            metadata["duplicate_paths"] = sorted(copies)
            columns["metadata"][-1] = json.dumps(metadata, ensure_ascii=False, sort_keys=True)
    return pl.DataFrame(columns, schema=TABLES["documents"].schema)
