"""Text units to the questions they answer: only new ones are asked about."""

from __future__ import annotations

import polars as pl

from graphkb.llm.prompt import Prompt
from graphkb.settings import uses_model
from graphkb.stages.graph import new_units
from graphkb.store.changes import changed_groups
from graphkb.tables import TABLES, content_hash
from graphkb.work import Work

STAGE = "write_questions"
# A row whose unit the model is still to be asked about.
_FAILED = "failed"


def write_questions(work: Work) -> dict[str, pl.DataFrame]:
    if work.settings.questions.method == "off":
        return {"questions": TABLES["questions"].empty()}
    if STAGE in work.fresh:
        # Also where no row differs the full-text index may have to be another (text.stemming).
        work.changed.add("questions")
    due, kept = units_to_ask(work)
    work.progress("questions", 0, due.height)
    made = _by_model(work, due) if uses_model(work.settings, "questions") else {}
    left = due.filter(~pl.col("id").is_in(list(made)))
    method = _FAILED if uses_model(work.settings, "questions") else "offline"
    rows = [*_rows(work, made, "llm"), *_rows(work, _by_rules(work, left), method)]
    work.progress("questions", due.height, due.height)
    frame = pl.DataFrame(rows, TABLES["questions"].schema, orient="row")
    return {"questions": pl.concat([kept.select(frame.columns), frame])}


def units_to_ask(work: Work) -> tuple[pl.DataFrame, pl.DataFrame]:
    """The text units that questions are written for now, and the rows of the others."""
    new, kept_ids = new_units(work, STAGE)
    kept = work.kept(STAGE, "questions").join(
        kept_ids, left_on="text_unit_id", right_on="id", how="semi"
    )
    due = new.vstack(_units_to_ask_again(work, kept, kept_ids))
    return due, kept.join(due, left_on="text_unit_id", right_on="id", how="anti")


def _units_to_ask_again(work: Work, kept: pl.DataFrame, kept_ids: pl.DataFrame) -> pl.DataFrame:
    """Kept units whose names changed, by rules; those that failed, by the model."""
    units = work.table("text_units").join(kept_ids, on="id", how="semi")
    if uses_model(work.settings, "questions"):
        again = kept.filter(method=_FAILED)["text_unit_id"].unique().to_list()
    else:
        name = "mention_evidence"
        gone, come = changed_groups(TABLES[name], work.committed(name), work.table(name))
        again = [*gone, *come]
    return units.filter(pl.col("id").is_in(again))


def _rows(
    work: Work, asked: dict[str, list[str]], method: str
) -> list[tuple[str, str, str, str, str]]:
    from graphkb.text.segment import search_tokens

    return [
        (
            unit_id,
            content_hash(unit_id, question),
            question,
            method,
            " ".join(search_tokens(question, work.dictionary)),
        )
        for unit_id, questions in asked.items()
        # A unit that the model is still to be asked about needs a row to be known by.
        for question in (questions or [""] if method == _FAILED else questions)
    ]


def _by_rules(work: Work, units: pl.DataFrame) -> dict[str, list[str]]:
    from graphkb.extract.ask import questions_of_unit

    mentions: dict[str, list[tuple[int, int, str]]] = {}
    evidence = work.table("mention_evidence").filter(pl.col("char_start") >= 0)
    for row in evidence.sort("text_unit_id", "char_start", "char_end").iter_rows(named=True):
        place = (row["char_start"], row["char_end"], row["type"])
        mentions.setdefault(row["text_unit_id"], []).append(place)
    most = work.settings.questions.per_unit
    return {
        unit_id: questions_of_unit(text, mentions.get(unit_id, []), most)
        for unit_id, text in units.select("id", "text").iter_rows()
    }


def _by_model(work: Work, units: pl.DataFrame) -> dict[str, list[str]]:
    """Questions of the units that the model answered for; the others are remarked on."""
    from graphkb.errors import ModelFailure
    from graphkb.extract.ask import read_questions

    most = work.settings.questions.per_unit
    ids = units["id"].to_list()
    prompts = prompts_of(work, units)
    replies = work.with_model(
        lambda model: model.ask_many(prompts, lambda reply: read_questions(reply, most))
    )
    failures = [reply for reply in replies if isinstance(reply, ModelFailure)]
    if failures:
        work.incomplete.append(
            f"questions of {len(failures)} of {len(ids)} text units could not be written by the "
            f"model ({failures[0]}): those by patterns stand in, and the next index run asks again"
        )
    return {
        unit_id: reply.value
        for unit_id, reply in zip(ids, replies, strict=True)
        if not isinstance(reply, ModelFailure)
    }


def prompts_of(work: Work, units: pl.DataFrame) -> list[Prompt]:
    """What the model is asked for each text unit."""
    from graphkb.extract.ask import question_prompt

    most = work.settings.questions.per_unit
    return [
        question_prompt(work.root, text, above or "", language, most)
        for text, above, language in units.select("text", "context", "language").iter_rows()
    ]


def questions_depend_on(work: Work) -> tuple[str, ...]:
    """How words are indexed, and the model and the prompts where the stage asks one."""
    from graphkb.extract.ask import question_prompt

    words = ("stemming",) if work.settings.text.stemming else ()
    if work.settings.questions.method == "off":
        return ()
    if not uses_model(work.settings, "questions"):
        return words
    llm = work.settings.llm
    prompts = (question_prompt(work.root, "", "", language, 1) for language in ("en", "zh"))
    return (
        *words,
        llm.extraction_model or llm.model,
        *(text for prompt in prompts for _, text in prompt.messages),
    )


def questions_are_unfinished(work: Work) -> bool:
    """Whether something is still to be asked of a model that is there."""
    return (
        uses_model(work.settings, "questions")
        and work.table("questions").filter(method=_FAILED).height > 0
    )
