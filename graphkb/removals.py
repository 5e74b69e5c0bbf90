"""Which documents the user took out of the knowledge base, by name."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from graphkb.errors import UsageError
from graphkb.ingest.assemble import document_path
from graphkb.store.lance import Store


def removals_after(store: Store, names: Sequence[str], undo: bool) -> pl.DataFrame:
    """The removals table after the named documents are removed, or with ``undo`` let in again.

    A name is a path, a document id or a title. Of a file that holds several documents (rows,
    members of an archive, attachments) its path means all of them. Raises UsageError for a name
    that fits nothing.
    """
    removals = store.read("removals")
    documents = store.read("documents", ["id", "path", "title"])
    sources = store.read("sources", ["path", "member"])
    counts = sources.group_by(document_path()).agg(pl.len())
    shared = counts.filter(pl.col("len") > 1)["path"].to_list()
    found = removals.clear()
    for name in names:
        if undo:
            fits = removals.filter(pl.any_horizontal(pl.all() == name))
        else:
            named = documents.filter(pl.any_horizontal(pl.all() == name))
            one = pl.col("path").is_in(shared) & (pl.lit(name) != pl.col("path"))
            record = pl.when(one).then("id").otherwise(pl.lit("")).alias("record")
            fits = named.select("path", record, "title").unique(["path", "record"])
            # No document has the path of an archive: all have that of a member.
            container = sources.filter((pl.col("path") == name) & (pl.col("member") != ""))
            if not fits.height and container.height:
                fits = pl.DataFrame([{"path": name, "record": "", "title": ""}])
        if not fits.height:
            what = "removed document" if undo else "document"
            raise UsageError(f"{name!r} is no {what}; give a path, a document id or a title")
        found = pl.concat([found, fits.select(found.columns)])
    if undo:
        return removals.join(found, on=["path", "record"], how="anti")
    return pl.concat([removals, found]).unique(["path", "record"])
