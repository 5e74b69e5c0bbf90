"""The query flow: question → route → context → answer → checked citations.

Each method of :data:`METHODS` turns a question into a :class:`~graphkb.types.Context`; this is
the one place where a context becomes an answer.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Sequence

from graphkb.errors import UsageError
from graphkb.llm.prompts import fill_prompt
from graphkb.query.ask import Ask
from graphkb.query.citations import check_citations, cite
from graphkb.query.extractive import Quote, choose_foreign_quotes, choose_quotes, table_cells
from graphkb.query.global_ import global_context
from graphkb.query.hybrid import hybrid_context
from graphkb.query.local import local_context
from graphkb.query.route import clean_question, route
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language
from graphkb.types import Answer, Citation, Context, Step, Usage

METHODS: dict[str, Callable[[Snapshot, Ask], Context]] = {
    "local": local_context,
    "global": global_context,
    "hybrid": hybrid_context,
}
AUTO = "auto"

_MARKUP = re.compile(r"^(?:[-*+•>]|\d{1,2}[.)])\s+|\*\*|__")
_BRACKETED = re.compile(r"\[(\^?\d+(?:[-,–]\d+)*)\]")


def answer_question(snapshot: Snapshot, question: str, method: str = AUTO) -> Answer:
    """The answer by ``method``, or by the one :func:`~graphkb.query.route.route` chooses.

    Without a model the answer is extractive: sentences of the documents, word for word, each
    with a citation. Below ``answer.refusal_threshold`` it is a refusal without citations.

    Raises UsageError for a blank question or an unknown method.
    """
    started = time.perf_counter()
    question = clean_question(question)
    if method != AUTO and method not in METHODS:
        raise UsageError(f"unknown method {method!r}; known: {', '.join([AUTO, *METHODS])}")
    steps: list[Step] = []
    if method == AUTO:
        chosen = route(snapshot, question)
        method = chosen.method
        steps.append(Step("route", f"{method}: {chosen.reason}", time.perf_counter() - started))
    context = METHODS[method](snapshot, Ask.plain(question))
    steps.extend(context.trace)
    warnings = list(context.warnings)

    quotes = _quotes(snapshot, question, context)
    language = "zh" if detect_language(question) == "zh" else "en"
    refused = not quotes
    citations: list[Citation] = []
    if refused:
        text = fill_prompt(snapshot.root, language, "refusal")
    else:
        text, citations, problems = _compose(snapshot, quotes, language, context.method)
        warnings.extend(problems)
    seconds = time.perf_counter() - started
    detail = "refused" if refused else f"{len(citations)} citations"
    steps.append(Step("answer", f"{detail}; evidence {context.evidence:.2f}", seconds))
    return Answer(
        question=question,
        text=text,
        citations=tuple(citations),
        refused=refused,
        method=context.method,
        context=context,
        usage=Usage(seconds=seconds),
        trace=tuple(steps),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _quotes(snapshot: Snapshot, question: str, context: Context) -> list[Quote]:
    """Sentences to answer with; none when the evidence is below the refusal threshold."""
    options = snapshot.settings.answer
    if context.evidence < options.refusal_threshold:
        return []
    if context.method == "global":
        return [Quote(p, p.char_start, p.char_end, p.text, p.score) for p in context.passages]
    if context.foreign:
        return choose_foreign_quotes(snapshot, question, context.passages)
    return choose_quotes(snapshot, question, context.passages, options.max_sentences)


def _compose(
    snapshot: Snapshot, quotes: Sequence[Quote], language: str, method: str
) -> tuple[str, list[Citation], list[str]]:
    """Quotes as a list with ``[n]`` marks, the citations that hold, and what did not."""
    citations = cite(quotes)
    lines = [
        f"- {_shown(quote)} [{citation.number}]"
        for quote, citation in zip(quotes, citations, strict=True)
    ]
    name = "extractive_global_answer" if method == "global" else "extractive_answer"
    answer = fill_prompt(snapshot.root, language, name, quotes="\n".join(lines))
    rows = snapshot.store.where(
        "documents", "id", [citation.document_id for citation in citations], ("id", "text")
    )
    documents = dict(zip(rows["id"], rows["text"], strict=True))
    text, kept, problems = check_citations(answer, citations, documents)
    return text, kept, problems


def _shown(quote: Quote) -> str:
    """A quote as it reads in an answer: a table row with the names of its columns."""
    cells = table_cells(quote.text)
    if quote.header and len(cells) == len(quote.header):
        return _plain("; ".join(f"{n}: {c}" for n, c in zip(quote.header, cells, strict=True) if c))
    return _plain(quote.text)


def _plain(quote: str) -> str:
    """A quote on one line; its own bracketed numbers must not pass for our citations."""
    plain = _MARKUP.sub("", " ".join(quote.split()))
    return _BRACKETED.sub(r"(\1)", plain)
