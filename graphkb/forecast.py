"""What an index run would ask a language model, and what that costs, without asking."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import polars as pl

from graphkb.llm.cache import ReplyCache
from graphkb.llm.model import Model, Prompt, make_model
from graphkb.llm.prices import cost, price_of
from graphkb.settings import LanguageModel, uses_model
from graphkb.stages.code import parse_code
from graphkb.stages.extraction import units_to_read
from graphkb.work import Work

# Exact prompts that are shown.
_SHOWN = 3
# Before any reply is known: tokens of a reply for each token of a text unit, and for every one.
_REPLY_SHARE, _REPLY_LEAST = 1.0, 60
# Of one question that a text unit answers.
_QUESTION_TOKENS = 20
# Instructions of a report's prompt beside its evidence.
_REPORT_INSTRUCTIONS = 300


@dataclass(frozen=True)
class PlannedCalls:
    """What the model would be asked in one step.

    ``calls`` would be paid for, ``cached`` are answered already. ``prompt_tokens`` are counted in
    o200k_base (for ``extract`` exactly so many are sent, for ``report`` at most), and
    ``completion_tokens`` are an estimate. ``price`` in USD is None when it is not known. With
    ``at_least`` there are more calls, in a number that nobody knows: a small model on this machine
    is asked again where its reply is not in form.
    """

    step: str
    model: str
    calls: int
    cached: int
    prompt_tokens: int
    completion_tokens: int
    price: float | None
    at_least: bool = False


@dataclass(frozen=True)
class Planned:
    """The calls by step, the first prompts as (role, text) pairs, and what to warn of."""

    calls: tuple[PlannedCalls, ...] = ()
    prompts: tuple[tuple[tuple[str, str], ...], ...] = ()
    warnings: tuple[str, ...] = ()


def plan_calls(
    work: Work, documents: pl.DataFrame, text_units: pl.DataFrame, touched: int
) -> Planned:
    """The calls that an index run would make for these documents and text units.

    ``touched`` communities change, so far as is known before they are found anew. Calls that
    merge long descriptions or judge names depend on the replies and are not among them. Where
    sentences on text units are still to be written, the prompts of extraction lack them.
    """
    settings = work.settings
    steps: list[PlannedCalls] = []
    shown: list[Prompt] = []
    if uses_model(settings, "chunks"):
        step, shown = _situating(work, documents, text_units)
        steps.append(step)
    for name, frame in (("documents", documents), ("text_units", text_units)):
        work.before.setdefault(name, work.table(name))
        work.loaded[name] = frame
    if uses_model(settings, "extract"):
        # The model is not asked about code that is parsed.
        work.loaded.update(parse_code(work))
        step, more = _extraction(work, units_to_read(work))
        steps.append(step)
        shown += more
    if uses_model(settings, "questions"):
        step, more = _questions(work)
        steps.append(step)
        shown += more
    if uses_model(settings, "report"):
        steps.append(_reports(work, text_units.height, touched))
    again = settings.llm.provider == "llama_cpp"
    found = tuple(
        replace(step, at_least=again and step.calls > 0)
        for step in steps
        if step.calls or step.cached
    )
    prompts = tuple(prompt.messages for prompt in shown[:_SHOWN])
    return Planned(found, prompts, tuple(_budget_warnings(settings.llm, found)))


def total_price(steps: Iterable[PlannedCalls]) -> float | None:
    """The steps' price in all; None when one is not known."""
    prices = [step.price for step in steps]
    known = [price for price in prices if price is not None]
    return sum(known) if len(known) == len(prices) else None


def _situating(
    work: Work, documents: pl.DataFrame, units: pl.DataFrame
) -> tuple[PlannedCalls, list[Prompt]]:
    """One call for each unit that needs a sentence on its place and has none."""
    from graphkb.ingest.situate import (
        SENTENCE_TOKENS,
        STEP,
        situating_prompts,
        units_to_situate,
    )

    known = work.kept("cut_documents", "situations")
    due = units_to_situate(units, known)["id"].to_list()
    prompts = (prompt for _, prompt in situating_prompts(work.root, documents, units, due))
    return _counted(work, STEP, prompts, SENTENCE_TOKENS)


def _questions(work: Work) -> tuple[PlannedCalls, list[Prompt]]:
    """One call for each unit that the model has written no questions for."""
    from graphkb.extract.ask import STEP
    from graphkb.stages.questions import prompts_of, units_to_ask

    due, _ = units_to_ask(work)
    reply_tokens = _QUESTION_TOKENS * work.settings.questions.per_unit
    return _counted(work, STEP, prompts_of(work, due), reply_tokens)


def _counted(
    work: Work, name: str, prompts: Iterable[Prompt], reply: int
) -> tuple[PlannedCalls, list[Prompt]]:
    """The step of these prompts with ``reply`` tokens each, and the first that have no reply."""
    from graphkb.text.tokens import count_tokens

    model, llm = _model(work), work.settings.llm
    calls = cached = prompt_tokens = 0
    shown: list[Prompt] = []
    for prompt in prompts:
        if model and model.kept(prompt) is not None:
            cached += 1
            continue
        calls += 1
        prompt_tokens += sum(count_tokens(said) for _, said in prompt.messages)
        if len(shown) < _SHOWN:
            shown.append(prompt)
    if model:
        model.close()
    reply_tokens = reply * calls
    asked = llm.extraction_model or llm.model
    price = _price(llm, asked, prompt_tokens, reply_tokens)
    return PlannedCalls(name, asked, calls, cached, prompt_tokens, reply_tokens, price), shown


def _extraction(work: Work, units: pl.DataFrame) -> tuple[PlannedCalls, list[Prompt]]:
    """One call a unit that has no reply yet; the first prompts of those."""
    from graphkb.extract.questions import STEP, Questions, Unit
    from graphkb.text.tokens import count_tokens

    questions = Questions(work.root, work.settings.extract)
    columns = units.select("id", "text", "context", "language", "n_tokens")
    model = _model(work)
    name = work.settings.llm.extraction_model or work.settings.llm.model
    calls, cached, prompt_tokens, text_tokens = 0, 0, 0, 0
    known_tokens, known_reply = 0, 0
    shown: list[Prompt] = []
    for unit_id, text, above, language, n_tokens in columns.iter_rows():
        prompt = questions.first(Unit(unit_id, text, above or "", language), 0, len(text))
        reply = model.kept(prompt) if model else None
        if reply is not None:
            cached += 1
            known_tokens += n_tokens
            known_reply += reply.completion_tokens
            continue
        calls += 1
        text_tokens += n_tokens
        prompt_tokens += sum(count_tokens(said) for _, said in prompt.messages)
        if len(shown) < _SHOWN:
            shown.append(prompt)
    if model:
        model.close()
    if known_tokens and known_reply:
        reply_tokens = int(text_tokens * known_reply / known_tokens)
    else:
        reply_tokens = int(text_tokens * _REPLY_SHARE) + _REPLY_LEAST * calls
    price = _price(work.settings.llm, name, prompt_tokens, reply_tokens)
    step = PlannedCalls(STEP, name, calls, cached, prompt_tokens, reply_tokens, price)
    return step, shown


def _model(work: Work) -> Model | None:
    """The model with its kept replies; None where there are none, so that no file is made."""
    if not (work.root / "cache" / ReplyCache.file_name).is_file():
        return None
    return make_model(work.root, work.settings.llm, sends=False)


def _reports(work: Work, n_units: int, touched: int) -> PlannedCalls:
    """At most one call for each touched community, within the share of ``report.model_share``;
    before there are communities as many as that share allows."""
    options, llm = work.settings.report, work.settings.llm
    limit = max(1, int(options.model_share * n_units)) if options.model_share else 0
    again = "write_reports" in work.fresh or not work.store.count("communities")
    calls = limit if again else min(limit, touched)
    prompt_tokens = calls * (options.max_input_tokens + _REPORT_INSTRUCTIONS)
    reply_tokens = calls * options.max_report_tokens
    name = llm.report_model or llm.model
    price = _price(llm, name, prompt_tokens, reply_tokens)
    return PlannedCalls("report", name, calls, 0, prompt_tokens, reply_tokens, price)


def _price(llm: LanguageModel, name: str, prompt_tokens: int, reply_tokens: int) -> float | None:
    if llm.provider == "llama_cpp":
        return 0.0
    price = price_of(name, llm.prices)
    return None if price is None else cost(price, prompt_tokens, reply_tokens)


def _budget_warnings(llm: LanguageModel, steps: tuple[PlannedCalls, ...]) -> Iterable[str]:
    tokens = sum(step.prompt_tokens + step.completion_tokens for step in steps)
    if llm.budget_tokens and tokens > llm.budget_tokens:
        yield (
            f"about {tokens:,} tokens are more than llm.budget_tokens ({llm.budget_tokens:,}): "
            "the run will stop there, and the next one goes on"
        )
    price = total_price(steps)
    if llm.budget_usd and price is not None and price > llm.budget_usd:
        yield (
            f"about {price:.2f} USD are more than llm.budget_usd ({llm.budget_usd:g}): "
            "the run will stop there, and the next one goes on"
        )
