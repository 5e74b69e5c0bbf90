"""Files to documents to text units: only what changed is read and cut again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path

import polars as pl

from graphkb import __version__
from graphkb.errors import InputError
from graphkb.ingest.assemble import document_path
from graphkb.ingest.closed import behind_closed, closed_among, closed_warning
from graphkb.ingest.records import PAGES_FOR_OCR, FileReading, SourceFile
from graphkb.ingest.vanished import Vanished, without_taken
from graphkb.settings_input import Ocr
from graphkb.stages.asked_ahead import AskedAhead
from graphkb.stages.situating import situate_units
from graphkb.tables import TABLES, content_hash
from graphkb.text.sheets import SHEET_ROWS, WITH_ROWS
from graphkb.types import Refused
from graphkb.work import Work

# Documents cut at once; the first of them are asked about while the next are cut.
_CUT_AT_ONCE = 50

File = tuple[SourceFile, str]
"""A file and the hash of its bytes."""


def read_documents(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.ingest.assemble import assemble_documents
    from graphkb.ingest.read import file_hash, list_files

    options = work.settings.input
    ignored: list[str] = []
    shut: list[SourceFile] = []
    listed = list_files(work.root / options.folder, options, ignored, shut)
    files = [(file, file_hash(file)) for file in listed]
    closed = _closed(work, files, shut)
    everything = _sources_to_keep(work, closed)
    old = _without_unread_pages(without_unparsed(everything), options.ocr)
    old = _without_unnamed_sheets(old)
    before = set(old.select("path", "file_hash").iter_rows())
    same = [pair for pair in files if (pair[0].path, pair[1]) in before]
    new = _not_given_up(work, [pair for pair in files if (pair[0].path, pair[1]) not in before])
    same += closed
    # What was not read of a file that is as it was is said again: it is still missing.
    still = {file.path for file, _ in same} | work.given_up.keys()
    work.remarks = {path: said for path, said in work.remarks.items() if path in still}
    work.refused_before = [Refused(*item) for said in work.remarks.values() for item in said]
    work.refused.extend(work.refused_before)
    frames = _read(work, new, len(files))
    is_all = len(same) == everything.select("path", "file_hash").n_unique()
    is_all = is_all and "read_documents" not in work.fresh
    if same and is_all and not frames and "removals" not in work.changed:
        return {}
    work.warnings.extend(ignored)
    old_documents = work.table("documents")
    kept = _sources_kept(work, everything, same)
    known = set(kept["path"])
    frames += [kept] if kept.height else []
    frames += _read_again(work, [pair for pair in same if pair[0].path not in known], len(files))
    held = old_documents.height or work.held
    if not frames and not held:
        raise InputError(_nothing_to_read(work.root / options.folder, len(files), work.refused))
    columns = [*TABLES["sources"].schema, "text"]
    schema = pl.Schema({**TABLES["sources"].schema, "text": pl.String()})
    sources = (
        pl.concat([frame.select(columns).cast(schema) for frame in frames])
        if frames
        else pl.DataFrame(schema=schema)
    )
    admitted = without_removals(sources, work.table("removals"))
    links = [file.path for file in listed if os.path.islink(file.location)]
    assembled = assemble_documents(admitted, options.duplicates, links)
    work.documents = _document_changes(old_documents, assembled.documents)
    vanished = _vanished(work, held, assembled.documents.height)
    if not work.allow_empty:
        vanished.check_left(len(files), work.refused, ignored)
    if not assembled.documents.height:
        why = (
            "all that was read was taken out by graphkb remove"
            if sources.height and not admitted.height
            else "the input folder holds no text"
        )
        work.warnings.append(f"{why}: the knowledge base is now empty")
    work.warnings.extend(vanished.warnings())
    work.warnings.extend(
        f"{path}: same content as {first}, indexed once" for path, first in assembled.duplicates
    )
    work.warnings.extend(assembled.warnings)
    # Of what the user removed nothing stays but the place of its file.
    left_out = sources.join(admitted, on=["path", "row"], how="anti").with_columns(
        title=pl.lit(""), metadata=pl.lit("{}"), raw_data=pl.lit(None, pl.String)
    )
    sources = pl.concat([admitted, left_out.select(admitted.columns)])
    return {"sources": sources.drop("text"), "documents": assembled.documents}


def _closed(work: Work, files: list[File], shut: list[SourceFile]) -> list[File]:
    """Files of the last run that cannot be opened now, or are below the folders ``shut``: they
    may all be there still, so they stay as they are, and a line says so."""
    known = set(work.table("sources").select("path", "file_hash").iter_rows())
    unknown = [file for file, digest in files if (file.path, digest) not in known]
    closed = closed_among([*shut, *unknown])
    options = work.settings.input
    kept = behind_closed(known, work.root / options.folder, closed, options) if closed else []
    if kept:
        work.warnings.append(closed_warning(closed, [file for file, _ in kept]))
    return kept


def _sources_to_keep(work: Work, closed: list[File]) -> pl.DataFrame:
    """What the last run read; where it is to be read anew, only of files that are closed."""
    sources = work.table("sources")
    if "read_documents" not in work.fresh:
        return sources
    return sources.filter(pl.col("path").is_in([file.path for file, _ in closed]))


def _vanished(work: Work, before: int, left: int) -> Vanished:
    """What is gone of the ``before`` documents of the last version; of one that is made anew only
    the number is known."""
    gone = work.documents[2]
    if not work.table("documents").height:
        gone = max(0, before - left)
    elif "removals" in work.changed:
        sources, documents = work.table("sources"), work.table("documents")
        admitted = without_removals(sources, work.table("removals"))
        gone -= documents.height - without_taken(documents, sources, admitted).height
    options = work.settings.input
    return Vanished(work.root / options.folder, options, work.version, before, gone, left)


def without_unparsed(sources: pl.DataFrame) -> pl.DataFrame:
    """Sources but for code that was read as plain text and can be parsed by now."""
    from graphkb.code.languages import BY_SUFFIX, is_installed

    path = pl.when(pl.col("member") == "").then("path").otherwise("member")
    suffix = path.str.to_lowercase().str.extract(r"(\.[^./]+)$").fill_null("").alias("suffix")
    plain = sources.filter(pl.col("media_type") == "text/plain").select("path", suffix)
    plain = plain.filter(pl.col("suffix").is_in(list(BY_SUFFIX)))
    again = [path for path, ending in plain.iter_rows() if is_installed(BY_SUFFIX[ending].name)]
    return sources.filter(~pl.col("path").is_in(again)) if again else sources


def _without_unread_pages(sources: pl.DataFrame, options: Ocr) -> pl.DataFrame:
    """Sources but for files with scanned pages that OCR was missing for and can read by now."""
    waiting = sources.filter(pl.col("metadata").str.contains(PAGES_FOR_OCR, literal=True))
    if not waiting.height or options.enabled == "off":
        return sources
    from graphkb.ingest.ocr import is_installed

    if not is_installed():
        return sources
    return sources.filter(~pl.col("path").is_in(waiting["path"].to_list()))


def _without_unnamed_sheets(sources: pl.DataFrame) -> pl.DataFrame:
    """Sources but for workbooks and CSV tables read by a graphkb that did not keep their sheets
    and rows."""
    named = pl.col("metadata").str.contains(f'"{SHEET_ROWS}"', literal=True)
    # What the user removed has lost its title, and its metadata with it.
    whole = pl.col("media_type").is_in(list(WITH_ROWS)) & pl.col("raw_data").is_null()
    unnamed = sources.filter(whole & ~named & (pl.col("title") != ""))
    return sources.filter(~pl.col("path").is_in(unnamed["path"].to_list()))


def _not_given_up(work: Work, files: list[File]) -> list[File]:
    """The files without those that the last run gave up and that would be given up again; these
    are the only ones that stay in ``work.given_up``."""
    given_up = {} if "read_documents" in work.fresh else work.given_up
    again = {
        file.path: given_up[file.path]
        for file, digest in files
        if given_up.get(file.path) == _attempt(work, digest)
    }
    work.given_up = again
    work.unread.extend((file.path, digest) for file, digest in files if file.path in again)
    return [pair for pair in files if pair[0].path not in again]


def _attempt(work: Work, digest: str) -> str:
    """What the same limits of the same program do to the same bytes has the same hash."""
    options = work.settings.input
    limits = [str(getattr(options, name)) for name in sorted(options.limits)]
    return content_hash(digest, *limits, __version__)


def _read(work: Work, files: list[File], total: int) -> list[pl.DataFrame]:
    """The sources of new files; what they refuse is noted."""
    frames = []
    if files and work.model is not None:
        work.model.prepare()
    for source, digest, reading in _readings(work, files, total, forget=True):
        _note(work, source, digest, reading)
        frames += _frame(source, digest, reading)
    work.progress("read", total, total)
    return frames


def _read_again(work: Work, files: list[File], total: int) -> list[pl.DataFrame]:
    """The sources of files that are as they were: only of one that cannot be read any more, as
    where its time ran out, is something new to be said."""
    frames = []
    for source, digest, reading in _readings(work, files, total):
        if not reading.records:
            _note(work, source, digest, reading)
        frames += _frame(source, digest, reading)
    return frames


def _readings(
    work: Work, files: list[File], total: int, *, forget: bool = False
) -> Iterator[tuple[SourceFile, str, FileReading]]:
    """Each of the last of ``total`` files with its hash and what was read of it.

    A dry run keeps what takes long, for the run that follows, and with ``forget`` nothing else.
    """
    from graphkb.ingest.isolate import is_costly, read_files
    from graphkb.ingest.kept import KeptReadings

    options = work.settings.input
    kept = KeptReadings(work.root / "cache", options)
    costly = [is_costly(source, options) for source, _ in files]
    known = [
        kept.get(*pair) if takes_long else None
        for pair, takes_long in zip(files, costly, strict=True)
    ]
    sources = [source for (source, _), old in zip(files, known, strict=True) if old is None]
    new = iter(read_files(sources, options, work.progress, done=total - len(sources)))
    for (source, digest), old, takes_long in zip(files, known, costly, strict=True):
        reading = next(new) if old is None else old
        if old is None and takes_long and work.keeps_readings:
            kept.put(source, digest, reading)
        yield source, digest, reading
    if work.keeps_readings and forget:
        kept.drop_others()


def _frame(source: SourceFile, digest: str, reading: FileReading) -> list[pl.DataFrame]:
    """The sources of one file, if it has any."""
    from graphkb.ingest.read import sources_frame

    return [sources_frame(source, digest, reading)] if reading.records else []


def _note(work: Work, source: SourceFile, digest: str, reading: FileReading) -> None:
    """What reading a file refused and warned of."""
    work.refused.extend(reading.refused)
    work.warnings.extend(reading.notes)
    if not reading.records:
        work.unread.append((source.path, digest))
        if (source.path, digest) in work.unread_before:
            work.refused_before.extend(reading.refused)
    if reading.given_up:
        work.given_up[source.path] = _attempt(work, digest)
    if reading.refused and (reading.records or reading.given_up):
        work.remarks[source.path] = [[item.where, item.reason] for item in reading.refused]


def _sources_kept(work: Work, old: pl.DataFrame, files: list[File]) -> pl.DataFrame:
    """Those of the ``old`` sources, with their texts, that are as the last run read them.

    The text of a source is that of its document. A copy was left out and has none here. A copied
    row and a file of the same bytes have the text of their original; that of another copied file
    may differ in white space, so it is read again.
    """
    texts = work.table("documents").select(pl.col("path").alias("document"), "content_hash", "text")
    same = pl.DataFrame(
        {"path": [file.path for file, _ in files], "file_hash": [digest for _, digest in files]},
        schema={"path": pl.String, "file_hash": pl.String},
    )
    kept = (
        old.join(same, on=["path", "file_hash"], how="semi")
        .with_columns(document_path().alias("document"))
        .join(texts.unique(["document", "content_hash"]), ["document", "content_hash"], "left")
        .join(texts.unique("content_hash").drop("document"), on="content_hash", how="left")
    )
    bytes_and_text = ["file_hash", "row", "media_type", "content_hash"]
    by_bytes = (
        kept.filter(pl.col("text").is_not_null())
        .select(*bytes_and_text, pl.col("text").alias("text_of_bytes"))
        .unique(bytes_and_text)
    )
    kept = kept.join(by_bytes, on=bytes_and_text, how="left")
    of_row = pl.when(pl.col("raw_data").is_not_null()).then("text_right")
    kept = kept.with_columns(text=pl.coalesce("text", of_row, "text_of_bytes"))
    return kept.drop("text_right", "text_of_bytes", "document").filter(
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
        return f"{folder}: no documents found; put PDF, Office, Markdown, text or other files there"
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


def _cut_in_parts(work: Work, documents: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Text units, some documents at a time, each asked about at once; not all are counted."""
    from graphkb.ingest import chunk
    from graphkb.text.encoding import prepare_for, read_ranks_for

    options, ahead = work.settings.chunks, AskedAhead(work)

    def cut(part: pl.DataFrame) -> pl.DataFrame:
        units = TABLES["text_units"].conform(chunk.cut_uncounted(part, options))
        ahead.ask(part, units)
        return units

    texts = documents["text"].to_list()
    waits = chunk.waits_for_tokenizer(options)
    # First those that need no tokenizer. While that is made nothing is sent: one half of it is
    # made while the first question is on its way alone, the other when more are.
    parts = documents.filter(~waits).iter_slices(_CUT_AT_ONCE)
    for part in islice(parts, 1):
        yield cut(part)
        ahead.let_first_go()
        read_ranks_for(texts)
        ahead.let_go()
    prepare_for(texts)
    for part in chain(parts, documents.filter(waits).iter_slices(_CUT_AT_ONCE)):
        yield cut(part)


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
    units = chunk.counted(pl.concat([kept, *_cut_in_parts(work, new)]))
    work.progress("cut", new.height, new.height)
    order = documents.select(pl.col("id").alias("document_id"), "path").with_row_index("_place")
    units = units.join(order, on="document_id", how="left").sort("_place", "index")
    return situate_units(work, units.drop("_place", "path"))
