"""Sentences by the model in the contexts of text units (``chunks.context: llm``)."""

from __future__ import annotations

import polars as pl

from graphkb.errors import ModelFailure
from graphkb.settings import uses_model
from graphkb.tables import TABLES
from graphkb.work import Work

STAGE = "cut_documents"


def situating_depends_on(work: Work) -> tuple[str, ...]:
    """Model and prompts, where the model is asked."""
    from graphkb.ingest.situate import prompts_fingerprint

    if not uses_model(work.settings, "chunks"):
        return ()
    llm = work.settings.llm
    return (llm.extraction_model or llm.model, *prompts_fingerprint(work.root))


def situating_is_unfinished(work: Work) -> bool:
    """Whether units are left without their sentence, and there is a model to ask."""
    if work.model is None or not uses_model(work.settings, "chunks"):
        return False
    return work.table("situations").filter(status="failed").height > 0


def situate_units(work: Work, units: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """The tables ``text_units``, with the sentences in their contexts, and ``situations``.

    A unit that the model could not be asked about has its headings alone, and is asked about
    again in the next run.
    """
    from graphkb.ingest.situate import read_sentence, situating_prompts, units_to_situate

    if not uses_model(work.settings, "chunks"):
        return {"text_units": units, "situations": TABLES["situations"].empty()}
    old = work.kept(STAGE, "situations").join(
        units, left_on="text_unit_id", right_on="id", how="semi"
    )
    due = units_to_situate(units, old)
    asked = list(situating_prompts(work.root, work.table("documents"), units, due["id"].to_list()))
    work.progress("situate", 0, len(asked))
    prompts = [prompt for _, prompt in asked]
    replies = work.with_model(lambda model: model.ask_many(prompts, read_sentence)) if asked else []
    rows: list[tuple[str, str, str, str | None]] = []
    failed: list[tuple[str, ModelFailure]] = []
    for (unit_id, _), reply in zip(asked, replies, strict=True):
        if isinstance(reply, ModelFailure):
            failed.append((unit_id, reply))
            rows.append((unit_id, "", "failed", str(reply)))
        else:
            rows.append((unit_id, reply.value, "done", None))
    work.progress("situate", len(asked), len(asked))
    if failed:
        work.incomplete.append(_remark(work, units, failed))
    made = pl.DataFrame(rows, schema=TABLES["situations"].schema, orient="row")
    kept = old.join(made, on="text_unit_id", how="anti").select(made.columns)
    return {
        "text_units": _with_sentences(units, made),
        "situations": pl.concat([kept, made]),
    }


def _with_sentences(units: pl.DataFrame, made: pl.DataFrame) -> pl.DataFrame:
    sentences = made.filter(status="done").select(pl.col("text_unit_id").alias("id"), "sentence")
    joined = units.join(sentences, on="id", how="left", maintain_order="left")
    context = pl.concat_str("context", "sentence", separator="\n")
    return joined.with_columns(
        context=pl.when(pl.col("sentence").is_null()).then("context").otherwise(context)
    ).drop("sentence")


def _remark(work: Work, units: pl.DataFrame, failed: list[tuple[str, ModelFailure]]) -> str:
    """Which units got no sentence, and what stands in for it."""
    unit_id, failure = failed[0]
    where = work.place_of(units, unit_id)
    return (
        f"{len(failed)} of {units.height} text units got no sentence on their place in the "
        f"document ({where}: {failure}): their headings stand in; run again to retry"
    )
