"""Answers without a model: sentences of the documents, word for word, each with a citation."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.llm.prompts import fill_prompt
from graphkb.query.about import question_of_each
from graphkb.query.candidates import Quote
from graphkb.query.citations import check_citations, cite
from graphkb.query.extractive import choose_quotes, guess_warning
from graphkb.query.extremes import extreme_rows
from graphkb.query.foreign_quotes import choose_foreign_quotes
from graphkb.query.of_file import is_about_a_file, of_named_files, opening_quotes
from graphkb.query.sentences import table_cells
from graphkb.search.files import without_files
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language, has_han
from graphkb.text.lists import shown_items
from graphkb.text.table_head import is_value
from graphkb.text.table_unit import unit_above
from graphkb.types import Citation, Context, Passage

# Why no model wrote the answer, as it is said above the quotes.
WHY: dict[str, dict[str, str]] = {
    "en": {
        "none": "no model is configured",
        "unasked": "the model was not asked",
        "failed": "the model could not answer",
    },
    "zh": {"none": "未配置模型", "unasked": "未使用模型", "failed": "模型未能作答"},
}

# Points that a model found and that are quoted when it could not put them together.
_POINTS = 8

_MARKUP = re.compile(r"^(?:[-*+•>]|\d{1,2}[.)])\s+|\*\*|__")
_BRACKETED = re.compile(r"\[(\^?\d+(?:[-,–]\d+)*)\]")


@dataclass(frozen=True)
class Quoted:
    """An answer of quotes; its citations hold."""

    text: str
    citations: tuple[Citation, ...]
    warnings: tuple[str, ...]


def quote_answer(
    snapshot: Snapshot, question: str, context: Context, language: str, why: str
) -> Quoted | None:
    """The answer as quotes; None when the evidence is below the refusal threshold.

    ``why`` is a key of :data:`WHY`: the reason that no model wrote it.
    """
    quotes = _quotes(snapshot, question, context)
    if not quotes:
        return None
    citations = cite(quotes)
    units = _units(snapshot, quotes)
    lines = [
        f"- {_shown(quote, unit)} [{citation.number}]"
        for quote, unit, citation in zip(quotes, units, citations, strict=True)
    ]
    name = "extractive_global_answer" if context.method == "global" else "extractive_answer"
    text = fill_prompt(
        snapshot.root, language, name, quotes="\n".join(lines), why=WHY[language][why]
    )
    # Quotes are cut from text units, which are cut from their documents: only marks are checked.
    text, kept, problems = check_citations(text, citations, {})
    if not (context.foreign or context.points or is_about_a_file(snapshot, question)):
        problems += filter(None, [_guessed(snapshot, question, quotes)])
    return Quoted(text, tuple(kept), tuple(problems))


def _guessed(snapshot: Snapshot, question: str, quotes: Sequence[Quote]) -> str:
    """:func:`guess_warning`; sentences in another language cannot hold the question's words."""
    warning = guess_warning(snapshot, question, quotes)
    asked = detect_language(question)
    if warning and not any(detect_language(quote.text) == asked for quote in quotes):
        return "the quotes are in another language than the question: they may not answer it"
    return warning


def documents_of(snapshot: Snapshot, citations: Sequence[Citation]) -> dict[str, str]:
    """Text by id of the documents that are cited."""
    return _texts(snapshot, [citation.document_id for citation in citations])


def _quotes(snapshot: Snapshot, question: str, context: Context) -> list[Quote]:
    """Sentences to answer with; none when the evidence is below the refusal threshold."""
    options = snapshot.settings.answer
    if context.points:
        first = [point.passages[0] for point in context.points if point.passages]
        return [_whole(context.passages[place]) for place in dict.fromkeys(first)][:_POINTS]
    if context.evidence < options.threshold(context.method):
        return []
    if is_about_a_file(snapshot, question):
        return opening_quotes(snapshot, question, context.passages, options.max_sentences)
    asked, question = question, without_files(snapshot, question)
    if context.method == "global":
        return [_whole(passage) for passage in context.passages]
    if context.foreign:
        return choose_foreign_quotes(snapshot, question, context.passages)
    if each := question_of_each(snapshot, question):
        return _of_each(snapshot, each, context.passages)
    own = of_named_files(snapshot, asked, context.passages)
    if rows := extreme_rows(snapshot, question, own or context.passages):
        return rows[: options.max_sentences]
    quotes = choose_quotes(snapshot, question, own, options.max_sentences) if own else []
    return quotes or choose_quotes(snapshot, question, context.passages, options.max_sentences)


def _of_each(snapshot: Snapshot, each: Sequence[str], passages: Sequence[Passage]) -> list[Quote]:
    """Sentences for each of several questions, as many for one as for another, without repeats."""
    limit = max(snapshot.settings.answer.max_sentences // len(each), 1)
    chosen = [quote for one in each for quote in choose_quotes(snapshot, one, passages, limit)]
    return list({(q.passage.document_id, q.start): q for q in chosen}.values())


def _whole(passage: Passage) -> Quote:
    return Quote(passage, passage.char_start, passage.char_end, passage.text, passage.score)


def _units(snapshot: Snapshot, quotes: Sequence[Quote]) -> list[str]:
    """What the figures of each quote are counted in, as a line above its table says it; empty for
    what is no row with a figure, and where nothing says it."""
    found: list[str | None] = [_unit_in_passage(quote) for quote in quotes]
    places = [place for place, unit in enumerate(found) if unit is None]
    texts = _texts(snapshot, [quotes[place].passage.document_id for place in places])
    for place in places:
        quote = quotes[place]
        found[place] = unit_above(texts.get(quote.passage.document_id, ""), quote.start)
    # What the row itself says need not be said again.
    return [
        unit if unit and unit not in "\n".join((*quote.header, quote.text)) else ""
        for quote, unit in zip(quotes, found, strict=True)
    ]


def _unit_in_passage(quote: Quote) -> str | None:
    """The unit of a row where the passage tells it or shows that there is none."""
    if not any(map(is_value, table_cells(quote.text))):
        return ""
    return unit_above(quote.passage.text, quote.start - quote.passage.char_start)


def _texts(snapshot: Snapshot, document_ids: Sequence[str]) -> dict[str, str]:
    """Text by id of documents."""
    if not document_ids:
        return {}
    rows = snapshot.store.where("documents", "id", document_ids, ("id", "text"))
    return dict(zip(rows["id"], rows["text"], strict=True))


def _shown(quote: Quote, unit: str = "") -> str:
    """A quote as it reads in an answer: a table row with the names of its columns, and behind it
    what its figures are counted in."""
    cells = table_cells(quote.text)
    if quote.header and len(cells) == len(quote.header):
        pairs = zip(quote.header, cells, strict=True)
        shown = "; ".join(f"{name}: {cell}" if name else cell for name, cell in pairs if cell)
    else:
        shown = ": ".join(cells) if len(cells) == 2 else "; ".join(cells) or shown_items(quote.text)
    if unit:
        shown += f"（{unit}）" if has_han(unit) else f" ({unit})"
    return _plain(shown)


def _plain(quote: str) -> str:
    """A quote on one line; its own bracketed numbers must not pass for our citations."""
    plain = _MARKUP.sub("", " ".join(quote.split()))
    return _BRACKETED.sub(r"(\1)", plain)
