"""Evidence of all text units to entities: which names are one, and what is said of each."""

from __future__ import annotations

from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

import polars as pl

from graphkb.settings import uses_model
from graphkb.stages.code import code_names
from graphkb.stages.graph import CommunitiesAhead
from graphkb.tables import TABLES
from graphkb.work import Work

if TYPE_CHECKING:
    from graphkb.extract.judge import Judge
    from graphkb.extract.merge_descriptions import DescriptionMerger
    from graphkb.extract.resolve import Resolution
    from graphkb.llm.model import Model


def resolve_entities(work: Work) -> dict[str, pl.DataFrame]:
    work.progress("resolve", 0, 0)
    asks = uses_model(work.settings, "resolve") or uses_model(work.settings, "describe")
    resolve = partial(_resolve, work)
    resolution, judge, merger = work.with_model(resolve) if asks else resolve(None)
    if not resolution.entities.height:
        work.warnings.append("no entities were found: search works, the graph is empty")
    if judge is not None and judge.n_open:
        work.incomplete.append(
            f"pairs of names not judged: {judge.n_open} of {judge.judgements.height} "
            f"({judge.failure}); they stay apart, and the next index run asks again"
        )
    if merger is not None and merger.n_open:
        work.incomplete.append(
            f"long descriptions not merged: {merger.n_open} of {merger.descriptions.height} "
            f"({merger.failure}); sentences are chosen from them, and the next index run asks again"
        )
    return {
        "entities": resolution.entities,
        "mentions": resolution.mentions,
        "relationships": resolution.relationships,
        "covariates": resolution.covariates,
        "merges": resolution.merges,
        "judgements": judge.judgements if judge else TABLES["judgements"].empty(),
        "descriptions": merger.descriptions if merger else TABLES["descriptions"].empty(),
    }


def _resolve(
    work: Work, model: Model | None
) -> tuple[Resolution, Judge | None, DescriptionMerger | None]:
    """Entities, and who judged names and merged descriptions where a model does."""
    from graphkb.extract.collect import select_descriptions
    from graphkb.extract.judge import Judge
    from graphkb.extract.merge_descriptions import DescriptionMerger
    from graphkb.extract.resolve import resolve_entities

    settings = work.settings
    ahead = CommunitiesAhead(work)
    judge = merger = None
    # What was judged or merged stays so whatever made this stage run: rows are keyed by all
    # that the reply depends on.
    if model is not None and uses_model(settings, "resolve"):
        judge = Judge(
            model, work.root, settings.resolve.batch_size,
            work.table("judgements"), partial(work.progress, "resolve"), work.put_off(),
        )  # fmt: skip
    if model is not None and uses_model(settings, "describe"):
        merger = DescriptionMerger(
            model, work.root, work.table("descriptions"), partial(work.progress, "describe"),
            chain(ahead.steps(), work.put_off()),
        )  # fmt: skip
    resolution = resolve_entities(
        work.table("mention_evidence"),
        work.table("relationship_evidence"),
        work.table("claim_evidence"),
        work.table("text_units"),
        entity_evidence=work.table("entity_evidence"),
        decisions=work.table("decisions"),
        exact=code_names(work),
        judged=judge,
        shorten=merger or select_descriptions,
        max_tokens=settings.describe.max_tokens,
        on_graph=ahead.take,
    )
    return resolution, judge, merger


def resolution_depends_on(work: Work) -> tuple[str, ...]:
    """The model and the prompts that the stage asks with; nothing when it asks none."""
    from graphkb.extract import judge, merge_descriptions

    llm = work.settings.llm
    parts: list[str] = []
    if uses_model(work.settings, "resolve"):
        parts += [llm.report_model or llm.model, *judge.asked_with(work.root).values()]
    if uses_model(work.settings, "describe"):
        parts += [llm.report_model or llm.model, *merge_descriptions.asked_with(work.root).values()]
    return tuple(parts)


def resolution_is_unfinished(work: Work) -> bool:
    """Whether something is still to be asked of a model that is there."""
    return (
        uses_model(work.settings, "resolve")
        and work.table("judgements").filter(pl.col("verdict") == "").height > 0
    ) or (
        uses_model(work.settings, "describe")
        and work.table("descriptions").filter(pl.col("description") == "").height > 0
    )
