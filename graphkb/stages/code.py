"""Code files to what they define and refer to, and all of them together to evidence."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import polars as pl

from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.code.symbols import CodeFile

METHOD = "code"
"""``extractions.method`` of the text units of code that was parsed."""


def parse_code(work: Work) -> dict[str, pl.DataFrame]:
    """A row for each code file whose grammar is installed. A map: each depends on its own text."""
    from graphkb.code.languages import BY_MEDIA_TYPE

    columns = ["id", "text", "media_type"]
    code = work.table("documents").filter(pl.col("media_type").is_in(list(BY_MEDIA_TYPE)))
    documents = code.select(columns)
    old = work.kept("parse_code", "code_files").drop("paths")
    before = work.committed("documents") if old.height else documents.clear()
    same = documents.join(before.select(columns), on=columns, how="semi").select("id")
    kept = old.join(same, left_on="document_id", right_on="id", how="semi")
    new = documents.filter(~pl.col("id").is_in(kept["document_id"].implode()))
    rows = []
    if new.height:
        from graphkb.code.parse import parse_code
    for number, (document, text, media_type) in enumerate(new.iter_rows()):
        work.progress("parse", number, new.height)
        language = BY_MEDIA_TYPE[media_type].name
        parsed = parse_code(text, language)
        if parsed is not None:
            rows.append((document, language, parsed.to_json()))
    if new.height:
        work.progress("parse", new.height, new.height)
    made = pl.DataFrame(rows, schema=old.schema, orient="row")
    paths = [
        (document, [path, *json.loads(metadata or "{}").get("duplicate_paths", ())])
        for document, path, metadata in code.select("id", "path", "metadata").iter_rows()
    ]
    schema = pl.Schema({"document_id": pl.String(), "paths": pl.List(pl.String())})
    known = pl.DataFrame(paths, schema=schema, orient="row")
    return {"code_files": pl.concat([kept, made]).join(known, on="document_id")}


def code_unit_ids(work: Work) -> pl.Series:
    """Ids of the text units that lie in parsed code."""
    documents = work.table("code_files")["document_id"]
    units = work.table("text_units")
    return units.filter(pl.col("document_id").is_in(documents.implode()))["id"]


def code_evidence(work: Work) -> dict[str, pl.DataFrame]:
    """What the code says, by evidence table. Names are looked up over all files, so every row is
    made anew in every run of the stage."""
    parsed = work.table("code_files")
    if not parsed.height:
        return {}
    from graphkb.extract.code import Source, evidence_of_code

    documents = work.table("documents").select("id", "text")
    rows = parsed.join(documents, left_on="document_id", right_on="id").sort("document_id")
    columns = ("document_id", "paths", "text", "symbols")
    sources = [
        Source(document, paths[0], text, _file(symbols), tuple(paths[1:]))
        for document, paths, text, symbols in rows.select(columns).iter_rows()
    ]
    return evidence_of_code(sources, work.table("text_units"))


def code_names(work: Work) -> pl.Series:
    """The qualified names that code defines: however alike, no two of them mean the same."""
    rows = work.table("mention_evidence").join(
        work.table("extractions").filter(pl.col("method") == METHOD).select("text_unit_id"),
        on="text_unit_id",
        how="semi",
    )
    return rows.filter(pl.col("alias_of").is_null())["name"].unique().sort()


def _file(symbols: str) -> CodeFile:
    from graphkb.code.symbols import CodeFile

    return CodeFile.from_json(symbols)
