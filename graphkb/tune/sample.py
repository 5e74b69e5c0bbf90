"""A sample of a project's documents, the same for the same documents."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from graphkb.pipeline import read_dictionary
from graphkb.settings import Settings
from graphkb.stages.documents import read_documents
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest
from graphkb.tables import TABLES, content_hash
from graphkb.types import Progress, no_progress
from graphkb.work import Work

# Languages with a smaller share of the documents are left out.
_LEAST_SHARE = 0.1


@dataclass(frozen=True)
class Sample:
    """Text units of some documents in one language, one a document."""

    language: str
    text_units: pl.DataFrame


def sample_documents(
    root: Path,
    settings: Settings,
    size: int,
    languages: tuple[str, ...] = (),
    progress: Progress = no_progress,
) -> list[Sample]:
    """At most ``size`` documents of each prompt language, its longest text unit of each.

    Documents are chosen by the hash of their text, as if at random. Nothing is written. Without
    ``languages`` those with a tenth of the documents; the one with most documents comes first.
    Raises InputError when there is nothing to read.
    """
    from graphkb.ingest.chunk import cut_documents
    from graphkb.llm.prompts import prompt_language

    documents = _documents(root, settings, progress).with_columns(
        pl.col("language").map_elements(prompt_language, return_dtype=pl.String)
    )
    counts = documents.group_by("language").len().sort(["len", "language"], descending=[True, True])
    found = [
        language
        for language, count in counts.iter_rows()
        if (language in languages if languages else count >= _LEAST_SHARE * documents.height)
    ]
    samples = []
    for language in found:
        rows = documents.filter(pl.col("language") == language)
        order = pl.Series("order", [content_hash("sample", text) for text in rows["text"]])
        chosen = rows.with_columns(order).sort("order", "id").head(size)
        units = cut_documents(chosen.select(list(TABLES["documents"].schema)), settings.chunks)
        longest = units.sort(["n_tokens", "index"], descending=[True, False]).unique(
            "document_id", keep="first", maintain_order=True
        )
        ordered = chosen.select(pl.col("id").alias("document_id")).join(
            longest, on="document_id", maintain_order="left"
        )
        samples.append(Sample(language, TABLES["text_units"].empty().vstack(
            ordered.select(list(TABLES["text_units"].schema))
        )))  # fmt: skip
    return samples


def _documents(root: Path, settings: Settings, progress: Progress) -> pl.DataFrame:
    """The documents as the next index run would read them."""
    output = root / "output"
    last = read_manifest(output)
    store = Store(output, last.tables, last.folder) if last else Store(output, {})
    work = Work(root, settings, store, progress, read_dictionary(root, settings))
    if last:
        work.remember(last.notes)
    return read_documents(work).get("documents", work.table("documents"))
