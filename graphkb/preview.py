"""What an index run would do, found out without doing it: documents, work, cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl

from graphkb.forecast import PlannedCalls, plan_calls, total_price
from graphkb.ingest.renamed import renamed_files
from graphkb.pipeline import due_stages, plan, read_dictionary
from graphkb.settings import Settings
from graphkb.stages.extraction import units_unfinished
from graphkb.stages.vectors import passages_to_embed
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest
from graphkb.store.versions import last_documents
from graphkb.tables import TABLES
from graphkb.types import Progress, Refused, no_progress
from graphkb.work import Work, settings_line


@dataclass(frozen=True)
class Preview:
    """What :func:`graphkb.pipeline.run_index` would do now.

    ``added``, ``changed`` and ``removed`` are paths (with the record's title where a file holds
    several); ``renamed`` are (old path, new path). ``text_units`` are read anew: those that come,
    and those that the model is to be asked about again. ``communities`` are those that hold an
    entity of a text unit that comes or goes. ``embed_tokens`` are o200k_base tokens of texts
    whose vector is not cached. ``calls`` are those of the language model by step, ``prompts`` the
    first of them as they would be sent; without a model there are none. ``price`` in USD is None
    where a model's price is not known.
    """

    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    renamed: tuple[tuple[str, str], ...]
    settings_change: str
    text_units: int
    text_units_total: int
    tokens: int
    communities: int
    communities_total: int
    embed_texts: int
    embed_tokens: int
    calls: tuple[PlannedCalls, ...]
    prompts: tuple[tuple[tuple[str, str], ...], ...]
    model_calls: int
    price: float | None
    refused: tuple[Refused, ...]
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """The same fields as plain JSON values."""
        return asdict(self)


def preview_index(
    root: Path,
    settings: Settings,
    progress: Progress = no_progress,
    *,
    rebuild: bool = False,
    allow_empty: bool = False,
) -> Preview:
    """Read the input folder and compare it with the last version; nothing is asked, and nothing
    written but, in the cache, what was read of files that take long.

    With ``rebuild`` what :func:`~graphkb.pipeline.run_index` would do from nothing. Raises
    InputError when there is nothing to index, EmptiedInputError where the run would.
    """
    from graphkb.ingest.chunk import cut_documents
    from graphkb.text.tokens import count_tokens

    output = root / "output"
    last = None if rebuild else read_manifest(output)
    store = Store(output, last.tables, last.folder) if last else Store(output, {})
    work = Work(root, settings, store, progress, read_dictionary(root, settings))
    work.keeps_readings, work.allow_empty = True, allow_empty
    work.version, work.held = last_documents(output)
    stages = plan(settings)
    if last:
        work.embedding = last.embedding
        work.remember(last.notes)
    due = due_stages(last, stages, work)
    work.fresh.update(due)
    old = work.table("documents")
    documents = stages[0].run(work).get("documents", old)

    same = ["id", "title", "text"]
    new = documents if "cut_documents" in due else documents.join(old, on=same, how="anti")
    gone = old if "cut_documents" in due else old.join(documents, on=same, how="anti")
    units = TABLES["text_units"].conform(cut_documents(new, settings.chunks))
    old_units = work.table("text_units")
    lost = old_units.join(gone, left_on="document_id", right_on="id", how="semi")
    kept = old_units.join(lost, on="id", how="anti")
    left = kept
    if "extract_evidence" not in due:
        left = kept.filter(pl.col("id").is_in(units_unfinished(work).implode()))
    again = pl.concat([units, left])
    texts = passages_to_embed(work, units, kept)
    touched = _touched(work, lost, units)
    planned = plan_calls(work, documents, pl.concat([kept, units]), touched)
    return Preview(
        *_document_lists(old, documents),
        settings_change=settings_line(last, settings, due),
        text_units=again.height,
        text_units_total=kept.height + units.height,
        tokens=int(again["n_tokens"].sum()),
        communities=touched,
        communities_total=store.count("communities"),
        embed_texts=len(texts),
        embed_tokens=sum(map(count_tokens, texts)),
        calls=planned.calls,
        prompts=planned.prompts,
        model_calls=sum(step.calls for step in planned.calls),
        price=total_price(planned.calls),
        refused=tuple(work.refused),
        warnings=(*work.warnings, *planned.warnings),
    )


def _document_lists(
    old: pl.DataFrame, new: pl.DataFrame
) -> tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...], tuple[tuple[str, str], ...]]:
    """Added, changed, removed and renamed documents, each sorted."""
    columns = ["id", "content_hash", "path", "title"]
    come = new.select(columns).join(old, on=["id", "content_hash"], how="anti")
    gone = old.select(columns).join(new, on=["id", "content_hash"], how="anti")
    same_record = come.join(gone, on="id", how="semi")
    rest = come.join(same_record, on="id", how="anti")
    rest_gone = gone.join(same_record, on="id", how="anti")
    same_path = rest.join(rest_gone, on="path", how="semi")
    renamed = renamed_files(old, new).select("old_path", "path")
    names = _Names(pl.concat([old.select("path"), new.select("path")]))
    return (
        names.of(rest.join(same_path, on="path", how="anti")),
        names.of(pl.concat([same_record, same_path])),
        names.of(rest_gone.join(same_path, on="path", how="anti")),
        tuple(sorted(renamed.iter_rows())),
    )


class _Names:
    """Names of documents for people: the path, and the title where a path holds several."""

    def __init__(self, paths: pl.DataFrame) -> None:
        counts: Mapping[str, int] = dict(paths.group_by("path").len().iter_rows())
        self._shared = {path for path, n in counts.items() if n > 2}

    def of(self, documents: pl.DataFrame) -> tuple[str, ...]:
        return tuple(
            sorted(
                f"{path}: {title}" if path in self._shared else path
                for path, title in documents.select("path", "title").iter_rows()
            )
        )


def _touched(work: Work, lost: pl.DataFrame, come: pl.DataFrame) -> int:
    """Leaf communities with an entity that a lost unit mentions or a new one names."""
    nodes = work.table("nodes").filter(pl.col("community") >= 0)
    if not nodes.height:
        return 0
    mentioned = (
        work.table("mentions")
        .join(lost, left_on="text_unit_id", right_on="id", how="semi")
        .select("entity_id")
    )
    titles = work.table("entities").filter(pl.col("title").str.len_chars() > 1)
    text = "\n".join([*come["text"], *come["context"]])
    named = titles.filter(pl.lit(text).str.contains(pl.col("title"), literal=True))
    touched = pl.concat([mentioned, named.select(pl.col("id").alias("entity_id"))]).unique()
    return nodes.join(touched, on="entity_id", how="semi")["community"].n_unique()
