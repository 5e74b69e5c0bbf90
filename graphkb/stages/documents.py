"""Files to documents to text units: only what changed is read and cut again."""

from __future__ import annotations

from pathlib import Path

import polars as pl

from graphkb.errors import InputError
from graphkb.ingest.assemble import document_path
from graphkb.tables import TABLES
from graphkb.types import Refused
from graphkb.work import Work


def read_documents(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.ingest.assemble import assemble_documents
    from graphkb.ingest.read import file_hash, list_files, read_file, sources_frame

    options = work.settings.input
    files = list_files(work.root / options.folder, options)
    hashes = [file_hash(source) for source in files]
    old_documents = work.table("documents")
    kept = _sources_kept(work, [source.path for source in files], hashes)
    known = set(kept["path"])
    # What was not read of a file that is kept is said again: it is still missing.
    work.remarks = {path: said for path, said in work.remarks.items() if path in known}
    work.refused.extend(Refused(*item) for said in work.remarks.values() for item in said)
    same = kept.height == work.table("sources").height and len(known) == len(files)
    if kept.height and same and "removals" not in work.changed:
        return {}
    frames = [kept] if kept.height else []
    for done, (source, digest) in enumerate(zip(files, hashes, strict=True)):
        work.progress("read", done, len(files))
        if source.path in known:
            continue
        reading = read_file(source, options)
        work.refused.extend(reading.refused)
        work.warnings.extend(f"{source.path}: {note}" for note in reading.notes)
        if reading.records:
            frames.append(sources_frame(source, digest, reading))
            if reading.refused:
                work.remarks[source.path] = [[r.where, r.reason] for r in reading.refused]
        else:
            work.unread.append((source.path, digest))
    work.progress("read", len(files), len(files))
    if not frames and not old_documents.height:
        raise InputError(_nothing_to_read(work.root / options.folder, len(files), work.refused))
    columns = [*TABLES["sources"].schema, "text"]
    schema = pl.Schema({**TABLES["sources"].schema, "text": pl.String()})
    sources = (
        pl.concat([frame.select(columns).cast(schema) for frame in frames])
        if frames
        else pl.DataFrame(schema=schema)
    )
    admitted = without_removals(sources, work.table("removals"))
    assembled = assemble_documents(admitted)
    if not assembled.documents.height:
        work.warnings.append("the input folder holds no text: the knowledge base is now empty")
    work.warnings.extend(
        f"{path}: same content as {kept}, indexed once" for path, kept in assembled.duplicates
    )
    work.warnings.extend(assembled.warnings)
    work.documents = _document_changes(old_documents, assembled.documents)
    # Of what the user removed nothing stays but the place of its file.
    left_out = sources.join(admitted, on=["path", "row"], how="anti").with_columns(
        title=pl.lit(""), metadata=pl.lit("{}"), raw_data=pl.lit(None, pl.String)
    )
    sources = pl.concat([admitted, left_out.select(admitted.columns)])
    return {"sources": sources.drop("text"), "documents": assembled.documents}


def _sources_kept(work: Work, paths: list[str], hashes: list[str]) -> pl.DataFrame:
    """Sources, with their texts, of the files that are as the last run read them.

    The text of a source is that of its document. A copy was left out and has none here. A copied
    row has the text of its original; that of a copied file may differ in white space, so it is
    read again.
    """
    old = work.kept("read_documents", "sources")
    texts = work.table("documents").select(pl.col("path").alias("document"), "content_hash", "text")
    same = pl.DataFrame(
        {"path": paths, "file_hash": hashes}, schema={"path": pl.String, "file_hash": pl.String}
    )
    kept = (
        old.join(same, on=["path", "file_hash"], how="semi")
        .with_columns(document_path().alias("document"))
        .join(texts.unique(["document", "content_hash"]), ["document", "content_hash"], "left")
        .join(texts.unique("content_hash").drop("document"), on="content_hash", how="left")
    )
    is_row = pl.col("raw_data").is_not_null()
    kept = kept.with_columns(text=pl.coalesce("text", pl.when(is_row).then("text_right")))
    return kept.drop("text_right", "document").filter(
        pl.col("text").is_not_null().all().over("path")
    )


def without_removals(sources: pl.DataFrame, removals: pl.DataFrame) -> pl.DataFrame:
    """Source records that the user did not remove: whole files, members of a container, or
    single rows."""
    files = removals.filter(pl.col("record") == "").select("path")
    records = removals.filter(pl.col("record") != "").select("path", "record")
    kept = sources.join(files, on="path", how="anti", maintain_order="left")
    kept = kept.filter(~document_path().is_in(files["path"].implode()))
    record = pl.coalesce("own_id", "content_hash").alias("record")
    return (
        kept.with_columns(record)
        .join(records, on=["path", "record"], how="anti", maintain_order="left")
        .drop("record")
    )


def _nothing_to_read(folder: Path, n_files: int, refused: list[Refused]) -> str:
    if not n_files:
        return f"{folder}: no documents found; put text, Markdown, HTML, CSV or JSON files there"
    listed = "; ".join(f"{item.where}: {item.reason}" for item in refused[:5])
    more = f" (+{len(refused) - 5} more)" if len(refused) > 5 else ""
    return f"{folder}: no text found in {n_files} file(s): {listed}{more}"


def _document_changes(old: pl.DataFrame, new: pl.DataFrame) -> tuple[int, int, int]:
    """Numbers of added, changed (same path, other content) and removed documents."""
    gone = old.join(new.select("id", "content_hash"), on=["id", "content_hash"], how="anti")
    come = new.join(old.select("id", "content_hash"), on=["id", "content_hash"], how="anti")
    by_id = come.join(gone, on="id", how="semi").height
    rest_come = come.join(gone, on="id", how="anti")
    rest_gone = gone.join(come, on="id", how="anti")
    by_path = rest_come.join(rest_gone, on="path", how="semi")["path"].n_unique()
    changed = by_id + by_path
    return come.height - changed, changed, gone.height - changed


def cut_documents(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.ingest import chunk

    documents = work.table("documents")
    # A list is no join key.
    pages = pl.col("page_starts").cast(pl.List(pl.String)).list.join(",").alias("pages")
    columns = ["id", "title", "text", "media_type", "pages"]
    old = work.kept("cut_documents", "text_units")
    before = work.committed("documents") if old.height else documents.clear()
    kept_ids = (
        documents.with_columns(pages)
        .join(before.with_columns(pages).select(columns), on=columns, how="semi")
        .select("id")
    )
    kept = old.join(kept_ids, left_on="document_id", right_on="id", how="semi")
    new = documents.join(kept_ids, on="id", how="anti")
    work.progress("cut", 0, new.height)
    units = pl.concat(
        [kept, TABLES["text_units"].conform(chunk.cut_documents(new, work.settings.chunks))]
    )
    work.progress("cut", new.height, new.height)
    order = documents.select(pl.col("id").alias("document_id"), "path").with_row_index("_place")
    units = units.join(order, on="document_id", how="left").sort("_place", "index")
    return {"text_units": units.drop("_place", "path")}
