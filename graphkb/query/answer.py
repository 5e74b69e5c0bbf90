"""The query flow: question → route → context → answer → checked citations.

Each method of :data:`METHODS` turns a question into a :class:`~graphkb.types.Context`; this is
the one place where a context becomes an answer: written by the model where there is one, else
quoted from the documents. Whatever the model fails at, the answer goes on without it and says so.

When the evidence is below ``answer.refusal_threshold`` a quoted answer is a refusal. With a model
it is one only below half of that, without a call; between, the model is told that the evidence
is thin and decides: questions that the sample project answers in quite other words were measured
at 0.23 and above, and the model sees what a count of words cannot.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace

from graphkb.errors import LanguageModelError, UsageError
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import fill_prompt, prompt_language
from graphkb.query import drift, global_, lazy
from graphkb.query.absent_files import with_absent_files
from graphkb.query.ask import Ask
from graphkb.query.citations import check_answer, check_citations
from graphkb.query.compose import compose_answer, last_turns, missing_names
from graphkb.query.extremes import unclear_column
from graphkb.query.hybrid import hybrid_context, placed_citations
from graphkb.query.impact import impact_answer
from graphkb.query.left_out import left_out
from graphkb.query.local import local_context
from graphkb.query.marks import hide_code, show_code
from graphkb.query.of_page import not_there, with_asked_part
from graphkb.query.quoted import documents_of, quote_answer
from graphkb.query.route import clean_question, route
from graphkb.query.stream import AnswerStream
from graphkb.query.writing import Written, write_answer
from graphkb.search.files import without_files
from graphkb.search.rewrite import stand_alone, widen
from graphkb.search.sheets import in_sheets
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import question_language
from graphkb.types import Answer, Context, Step, StepUsage, Usage

METHODS: dict[str, Callable[[Snapshot, Ask], Context]] = {
    "local": local_context,
    "global": global_.global_context,
    "drift": drift.drift_context,
    "lazy": lazy.lazy_context,
    "hybrid": hybrid_context,
}
FIRST_PROMPTS: dict[str, Callable[[Snapshot, Ask], list[Prompt]]] = {
    "global": global_.first_prompts,
    "drift": drift.first_prompts,
    "lazy": lazy.first_prompts,
}
"""What the methods that ask a model before the answer send first, for a dry run."""

AUTO = "auto"
WIDENED = ("local", "hybrid", "lazy")
"""Methods that search with further wordings of the question."""

_COUNTS = ("calls", "cached", "retries", "repaired", "failed", "prompt_tokens",
           "completion_tokens")  # fmt: skip

_FOREIGN = (
    "the passages are in another language than the question: without a model the quotes are "
    "chosen by nearness in meaning alone and may miss the point; ask in the language of the "
    "documents, or set llm.model"
)
# Below this share of the refusal threshold no model is asked.
_HOPELESS = 0.5
# Share of the deadline that gathering may take, so that what was gathered can be answered from.
_GATHERING = 0.6


@dataclass
class Notes:
    """What was done for an answer, and what went wrong."""

    steps: list[Step] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, trace: tuple[Step, ...], warnings: tuple[str, ...]) -> None:
        """Take over what a part of the flow did."""
        self.steps += trace
        self.warnings += warnings


def answer_question(snapshot: Snapshot, ask: Ask, method: str = AUTO) -> Answer:
    """The answer by ``method``, or by the one :func:`~graphkb.query.route.route` chooses.

    Raises UsageError for a blank question or an unknown method.
    """
    return stream_answer(snapshot, ask, method, whole=True).answer


def stream_answer(
    snapshot: Snapshot, ask: Ask, method: str = AUTO, *, whole: bool = False
) -> AnswerStream:
    """The answer as it comes; with ``whole`` in one piece, with retries where the model fails.

    Nothing is done before the first piece is asked for. Raises UsageError as
    :func:`answer_question` does.
    """
    if method != AUTO and method not in METHODS:
        raise UsageError(f"unknown method {method!r}; known: {', '.join([AUTO, *METHODS])}")
    question = clean_question(ask.question)
    return AnswerStream(_flow(snapshot, replace(ask, question=question), method, whole))


def _flow(snapshot: Snapshot, ask: Ask, method: str, whole: bool) -> Generator[str, None, Answer]:
    started, begun = time.perf_counter(), time.monotonic()
    if method in (AUTO, "local"):
        affected = impact_answer(snapshot, ask)
        if affected is not None:
            yield affected.text
            return affected
    notes = Notes()
    model = ask.model
    spent = model.usage() if model else ()
    known = model.warnings() if model else ()
    seconds = snapshot.settings.answer.deadline
    if model:
        ask = replace(ask, deadline=begun + _GATHERING * seconds)
    ask, method = understand(snapshot, ask, method, notes, with_model=model is not None)
    ask = _widened(snapshot, ask, method, notes)
    context = with_absent_files(snapshot, ask.search, METHODS[method](snapshot, ask))
    context = with_asked_part(snapshot, ask.search, context)
    notes.add(context.trace, context.warnings)

    late = replace(ask, deadline=begun + seconds)
    answer = yield from _answered(snapshot, late, context, notes, model is not None, whole)
    placed = placed_citations(answer.citations, context.passages)
    answer = replace(answer, citations=in_sheets(snapshot, placed))
    if model:
        notes.warnings += [warning for warning in model.warnings() if warning not in known]
    took = time.perf_counter() - started
    detail = "refused" if answer.refused else f"{len(answer.citations)} citations"
    notes.steps.append(Step("answer", f"{detail}; evidence {context.evidence:.2f}", took))
    return replace(
        answer,
        usage=usage_between(spent, model.usage() if model else (), took),
        trace=tuple(notes.steps),
        warnings=tuple(dict.fromkeys(notes.warnings)),
    )


def _answered(
    snapshot: Snapshot, ask: Ask, context: Context, notes: Notes, had_model: bool, whole: bool
) -> Generator[str, None, Answer]:
    """The model's answer, the documents' own words where it fails or there is none, or a
    refusal."""
    if told := not_there(snapshot, ask.search, _language(snapshot, ask)):
        answer = _refusal(snapshot, ask, replace(context, passages=()), told)
        yield answer.text
        return answer
    if ask.model and _hopeless(snapshot, context):
        notes.steps.append(Step("refuse", "too little was found to ask the model", 0.0))
        answer = _refusal(snapshot, ask, context)
        yield answer.text
        return answer
    if ask.model:
        try:
            return (yield from _by_model(snapshot, ask, ask.model, context, notes, whole))
        except LanguageModelError as error:
            notes.warnings.append(
                f"the model could not answer ({error}): the answer is quoted from the documents"
            )
    configured = snapshot.settings.llm.configured
    why = "failed" if had_model else "unasked" if configured else "none"
    answer = _quoted(snapshot, ask, context, notes, why)
    yield answer.text
    return answer


def understand(
    snapshot: Snapshot, ask: Ask, method: str, notes: Notes, *, with_model: bool
) -> tuple[Ask, str]:
    """The question made to stand alone, and the method that answers it."""
    turns = [(turn.question, turn.answer) for turn in last_turns(snapshot, ask.history)]
    reworded = stand_alone(snapshot, ask.model, ask.question, turns, ask.deadline)
    notes.add(reworded.trace, reworded.warnings)
    ask = ask.with_search(reworded.texts[0])
    if reworded.unusable:
        ask = replace(ask, model=None)
    if snapshot.selection is not None and not snapshot.selection.unit_ids:
        method = "hybrid"  # which says that nothing matches the filter
    if method == AUTO:
        started = time.perf_counter()
        chosen = route(snapshot, ask.search, with_model=with_model)
        method = chosen.method
        seconds = time.perf_counter() - started
        notes.steps.append(Step("route", f"{method}: {chosen.reason}", seconds))
    return ask, method


def _widened(snapshot: Snapshot, ask: Ask, method: str, notes: Notes) -> Ask:
    """The question with further texts to search with, as the settings say."""
    if method not in WIDENED or (ask.model is None and snapshot.settings.llm.configured):
        return ask
    more = widen(snapshot, ask.model, ask.search, ask.deadline)
    notes.add(more.trace, more.warnings)
    ask = ask.with_search(ask.search, more.texts)
    return replace(ask, model=None) if more.unusable else ask


def _hopeless(snapshot: Snapshot, context: Context) -> bool:
    """Whether a model would have nothing to answer from."""
    low = context.evidence < _HOPELESS * snapshot.settings.answer.threshold(context.method)
    return not context.passages or (low and not context.points)


def _by_model(
    snapshot: Snapshot, ask: Ask, model: Model, context: Context, notes: Notes, whole: bool
) -> Generator[str, None, Answer]:
    """The model's answer, checked. Raises LanguageModelError when nothing came."""
    written = yield from write_answer(
        model,
        lambda window: compose_answer(snapshot, ask, context, window),
        ask.deadline,
        whole,
    )
    language = prompt_language(question_language(ask.question))
    refusal = fill_prompt(snapshot.root, language, "refusal")
    if not written.text:
        yield refusal
    answer = _checked(snapshot, ask, context, written, notes)
    return replace(answer, text=answer.text or refusal, model=model.name("answer"))


def _checked(
    snapshot: Snapshot, ask: Ask, context: Context, written: Written, notes: Notes
) -> Answer:
    """What the model wrote, with citations that hold."""
    started = time.perf_counter()
    found = check_answer(
        written.text,
        written.composed.passages,
        question=f"{ask.question}\n{ask.search}",
        dictionary=snapshot.dictionary,
        idf=snapshot.vocabulary.idf,
    )
    documents = documents_of(snapshot, found.citations)
    hidden = hide_code(found.text)
    text, citations, problems = check_citations(hidden, found.citations, documents)
    notes.warnings += [*found.warnings, *problems]
    if written.problem:
        notes.warnings.append(written.problem)
    detail = (
        f"{len(citations)} sources cited, {found.added} citations added, "
        f"{len(found.unsupported)} statements unverified, {len(found.uncited)} uncited"
    )
    notes.steps.append(Step("check", detail, time.perf_counter() - started))
    refused = written.refused
    return Answer(
        question=ask.question,
        text=show_code(text),
        citations=tuple(citations),
        refused=refused,
        method=context.method,
        context=context,
        usage=Usage(0.0),
        unsupported=() if refused else found.unsupported,
        uncited=() if refused else found.uncited,
        complete=not written.problem,
    )


def _quoted(snapshot: Snapshot, ask: Ask, context: Context, notes: Notes, why: str) -> Answer:
    """The answer without a model; a refusal where the evidence is too thin."""
    language = _language(snapshot, ask)
    filtered, nothing_left = left_out(snapshot, ask.search, context, language)
    told = filtered if nothing_left else ""
    if told := told or unclear_column(snapshot, ask.search, context, language):
        return _refusal(snapshot, ask, replace(context, passages=()), told)
    quoted = quote_answer(snapshot, ask.search, context, language, why)
    if quoted is None:
        return _refusal(snapshot, ask, context)
    notes.warnings += quoted.warnings
    if context.foreign:
        notes.warnings.append(_FOREIGN)
    above = filter(None, (missing_names(snapshot, language, context), filtered))
    text = "\n\n".join((*above, quoted.text))
    return Answer(
        question=ask.question,
        text=text,
        citations=quoted.citations,
        refused=False,
        method=context.method,
        context=context,
        usage=Usage(0.0),
    )


def _language(snapshot: Snapshot, ask: Ask) -> str:
    """The language of the question; that of a file's name says nothing where there is more."""
    rest = question_language(without_files(snapshot, ask.question))
    return prompt_language(rest if rest != "und" else question_language(ask.question))


def _refusal(snapshot: Snapshot, ask: Ask, context: Context, told: str = "") -> Answer:
    language = _language(snapshot, ask)
    return Answer(
        question=ask.question,
        text=told
        or missing_names(snapshot, language, context)
        or fill_prompt(snapshot.root, language, "refusal"),
        citations=(),
        refused=True,
        method=context.method,
        context=context,
        usage=Usage(0.0),
    )


def usage_between(
    before: tuple[StepUsage, ...], after: tuple[StepUsage, ...], seconds: float
) -> Usage:
    """What was spent between two looks at a model's ledger. The price is None where that of any
    step is not known."""
    known = {(step.step, step.model): step for step in before}
    steps = [_difference(step, known.get((step.step, step.model))) for step in after]
    spent = tuple(step for step in steps if any(getattr(step, name) for name in _COUNTS))
    prices = [step.price for step in spent if step.calls]
    return Usage(
        seconds=seconds,
        calls=sum(step.calls for step in spent),
        prompt_tokens=sum(step.prompt_tokens for step in spent),
        completion_tokens=sum(step.completion_tokens for step in spent),
        price=None if None in prices or not prices else sum(p for p in prices if p is not None),
        steps=spent,
    )


def _difference(step: StepUsage, before: StepUsage | None) -> StepUsage:
    if before is None:
        return step
    price = None if step.price is None else step.price - (before.price or 0.0)
    changes = {name: getattr(step, name) - getattr(before, name) for name in _COUNTS}
    return replace(step, price=price, seconds=step.seconds - before.seconds, **changes)
