"""Answers and hits as plain text and as HTML for a notebook. Document text is never trusted."""

from __future__ import annotations

import html
import re
from collections.abc import Sequence

from graphkb.explanation import Explanation
from graphkb.tables import content_hash
from graphkb.text.sheets import has_slides
from graphkb.types import Answer, Citation, Hit
from graphkb.view.wording import EN, Wording, wording

_REFERENCE = re.compile(r"\[(\d+)\]")

STYLE = (
    "<style>"
    ".graphkb{max-width:48em;line-height:1.5}"
    ".graphkb .text{white-space:pre-wrap}"
    ".graphkb .dim{opacity:.65;font-size:.9em}"
    ".graphkb blockquote{margin:.2em 0 .6em 1em;white-space:pre-wrap}"
    ".graphkb a{text-decoration:none}"
    ".graphkb :target{background:rgba(255,200,0,.3)}"
    "</style>"
)


def place(title: str, heading: str) -> str:
    """Title › heading; what of the heading is empty or only repeats the title is left out.

    >>> place("Manual", "Manual › Pumps"), place("手册", "手册")
    ('Manual › Pumps', '手册')
    """
    above = [part for part in heading.split(" › ") if part]
    return " › ".join([title, *above[above[:1] == [title] :]])


def span(at: Citation | Hit, words: Wording = EN) -> str:
    """Where a quote stands: path, pages or sheet where there are any, character span."""
    page = f"{shown}{words.comma}" if (shown := within(at, words)) else ""
    return words.span.format(path=at.path, page=page, start=at.char_start, end=at.char_end)


def within(at: Citation | Hit | Explanation, words: Wording = EN) -> str:
    """The part of its file that something is in: sheet and rows of a workbook, else slides or
    pages; empty where it has none."""
    return sheets_text(at.sheets, at.row, at.row_end, words) or pages_text(
        at.page, at.page_end, words, at.path
    )


def sheets_text(
    sheets: Sequence[str], row: int | None, row_end: int | None, words: Wording = EN
) -> str:
    """The sheets, and the rows where they are known; empty where there are none.

    >>> sheets_text(("Q3 2024",), 12, 18), sheets_text(("A", "B"), None, None)
    ('sheet “Q3 2024”, rows 12–18', 'sheets “A”, “B”')
    >>> sheets_text((), 7, 7)
    'row 7'
    """
    shown = ""
    if sheets:
        names = words.comma.join(words.sheet_name.format(sheet) for sheet in sheets)
        shown = (words.sheet if len(sheets) == 1 else words.sheets).format(names)
    if row is None or row_end is None:
        return shown
    rows = words.row.format(row) if row == row_end else words.rows.format(row, row_end)
    return f"{shown}{words.behind_sheet}{rows}" if shown else rows


def pages_text(page: int | None, page_end: int | None, words: Wording = EN, path: str = "") -> str:
    """The pages from ``page`` to ``page_end``, slides where ``path`` is that of a presentation;
    empty where there are none.

    >>> pages_text(2, 2), pages_text(2, 4), pages_text(None, None), pages_text(3, 3, EN, "a.pptx")
    ('p. 2', 'pp. 2–4', '', 'slide 3')
    """
    if page is None:
        return ""
    one, several = (words.slide, words.slides) if has_slides(path) else (words.page, words.pages)
    if page_end is None or page_end == page:
        return one.format(page)
    return several.format(page, page_end)


def answer_body(answer: Answer) -> str:
    """The answer's own words; a refusal always says that it is one."""
    text = answer.text.strip()
    words = wording(answer.question)
    return text or (words.refusal if answer.refused else words.no_text)


def source_lines(answer: Answer) -> list[str]:
    """One line a citation: ``[1] title › heading (path, chars a–b): “quote”``; one that does
    not bear out what cites it, or was not checked, is marked."""
    words = wording(answer.question)
    return [
        f"[{citation.number}] {_mark(citation, words)}"
        + words.source.format(
            place=place(citation.title, citation.heading),
            span=span(citation, words),
            quote=" ".join(citation.quote.split()),
        )
        for citation in answer.citations
    ]


def _mark(citation: Citation, words: Wording) -> str:
    """What is to be said of a citation that was not found to hold."""
    return {True: "", False: words.unverified, None: words.unchecked}[citation.supported]


def sources_title(answer: Answer) -> str:
    """What the list of citations is called: nothing supports a refusal."""
    words = wording(answer.question)
    return words.closest if answer.refused else words.sources


def doubt_lines(answer: Answer) -> list[str]:
    """Statements that no source bears out, one a line, with a title before them."""
    words = wording(answer.question)
    lines: list[str] = []
    for title, statements in (
        (words.unsupported, answer.unsupported),
        (words.uncited, answer.uncited),
    ):
        if statements:
            lines += [title, *(f"  {' '.join(statement.split())}" for statement in statements)]
    return lines


def closing_line(answer: Answer) -> str:
    """Method, model and cost in one line."""
    usage, words = answer.usage, wording(answer.question)
    by = words.by.format(answer.model) if answer.model else ""
    parts = [answer.method, by, words.seconds.format(f"{usage.seconds:.2f}")]
    cached = sum(step.cached for step in usage.steps)
    if usage.calls:
        tokens = usage.prompt_tokens + usage.completion_tokens
        calls = words.call if usage.calls == 1 else words.calls
        spent = [calls.format(usage.calls), words.tokens.format(tokens)]
        if usage.price is not None:
            spent.append(price_text(usage.price, words.usd))
        parts.append(words.comma.join(spent))
    if cached:
        parts.append(words.cached.format(cached))
    if answer.refused:
        parts.insert(0, words.refused)
    return " · ".join(part for part in parts if part)


def price_text(price: float | None, usd: str = "USD") -> str:
    """USD with the digits that matter.

    >>> price_text(None), price_text(0.0), price_text(0.00123), price_text(12.345)
    ('price not known', '0 USD', '0.0012 USD', '12.35 USD')
    """
    if price is None:
        return "price not known"
    return f"{price:.2f} {usd}" if price >= 1 else f"{price:.2g} {usd}"


def answer_text(answer: Answer) -> str:
    """The answer, its sources and how it was made, as plain text."""
    parts = [answer_body(answer)]
    if answer.citations:
        title = wording(answer.question).title.format(sources_title(answer))
        parts.append("\n".join([title, *source_lines(answer)]))
    if doubts := doubt_lines(answer):
        parts.append("\n".join(doubts))
    parts.append(closing_line(answer))
    return "\n\n".join(parts)


def answer_html(answer: Answer) -> str:
    """The answer for a notebook: each ``[n]`` links to its source in a list that opens."""
    # Two answers in one notebook must not share anchors.
    prefix = f"graphkb-{content_hash(answer.question, answer.text, length=8)}"
    known = {citation.number for citation in answer.citations}

    def link(match: re.Match[str]) -> str:
        number = int(match.group(1))
        return f'<a href="#{prefix}-{number}">[{number}]</a>' if number in known else match.group()

    text = _REFERENCE.sub(link, html.escape(answer_body(answer)))
    words = wording(answer.question)
    sources = "".join(_source_html(prefix, citation, words) for citation in answer.citations)
    if sources:
        # Open, because a link into closed details leads nowhere in some browsers.
        count = f"{sources_title(answer)} ({len(answer.citations)})"
        sources = f"<details open><summary>{count}</summary>{sources}</details>"
    return (
        f'{STYLE}<div class="graphkb"><div class="text">{text}</div>{sources}{_doubts(answer)}'
        f'<div class="dim">{html.escape(closing_line(answer))}</div></div>'
    )


def _doubts(answer: Answer) -> str:
    lines = [f"<div>{html.escape(line)}</div>" for line in doubt_lines(answer)]
    return f'<div class="dim">{"".join(lines)}</div>' if lines else ""


def _source_html(prefix: str, citation: Citation, words: Wording) -> str:
    where = span(citation, words)
    return (
        f'<div id="{prefix}-{citation.number}">[{citation.number}] {_mark(citation, words)}'
        f"<b>{html.escape(place(citation.title, citation.heading))}</b> "
        f'<span class="dim">{html.escape(where)}</span>'
        f"<blockquote>{html.escape(citation.quote)}</blockquote></div>"
    )


def hits_html(hits: Sequence[Hit]) -> str:
    """Hits for a notebook: one line each with score and legs, the text behind it."""
    rows = "".join(_hit_html(hit) for hit in hits) or '<div class="dim">no hits</div>'
    return f'{STYLE}<div class="graphkb">{rows}</div>'


def _hit_html(hit: Hit) -> str:
    where = f"{span(hit)} · {score_line(hit)}"
    return (
        f"<details><summary>{hit.rank}. <b>{html.escape(place(hit.title, hit.heading))}</b> "
        f'<span class="dim">{html.escape(where)}</span></summary>'
        f"<blockquote>{html.escape(hit.text)}</blockquote></details>"
    )


def score_line(hit: Hit) -> str:
    """Score, then the rank each leg gave it, best leg first."""
    legs = sorted(hit.via.items(), key=lambda leg: (leg[1].rank, leg[0]))
    ranks = ", ".join(f"{name} #{via.rank}" for name, via in legs)
    return f"score {hit.score:.4g}" + (f" · {ranks}" if ranks else "")
