"""Hits, answers and tables as lines for a terminal.

Text from documents goes through :func:`printable`, so that a document cannot send control
sequences to the terminal that shows it.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from graphkb.text.names import fold
from graphkb.text.segment import query_tokens
from graphkb.types import Answer, Hit, Step
from graphkb.view.answer import (
    answer_body,
    closing_line,
    doubt_lines,
    place,
    price_text,
    score_line,
    source_lines,
    sources_title,
    within,
)
from graphkb.view.counts import noun
from graphkb.view.wording import wording

if TYPE_CHECKING:
    from graphkb.query.dry_run import QueryPlan

Mark = Callable[[str], str]
"""Puts emphasis round a piece of text."""

SNIPPET_WIDTH = 240

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SENTENCE_END = re.compile(r"[。！？；]|[.!?] ")


def plain(text: str) -> str:
    """A :data:`Mark` that changes nothing."""
    return text


def printable(text: str) -> str:
    r"""``text`` with control characters (escape sequences, bidi overrides) made visible.

    >>> printable("a\x1b[31mb\tc")
    'a�[31mb\tc'
    """
    return _CONTROL.sub("\ufffd", text)


def one_line(text: str) -> str:
    """``text`` on one line, runs of white space as single spaces, control characters visible."""
    return printable(" ".join(text.split()))


def hit_lines(hit: Hit, question: str, bold: Mark = plain, dim: Mark = plain) -> list[str]:
    """A hit as its heading line, where it stands, and a snippet round the question's words."""
    where = f"{hit.path}:{hit.char_start}-{hit.char_end}"
    page = f" · {shown}" if (shown := within(hit)) else ""
    return [
        f"{hit.rank}. {bold(one_line(place(hit.title, hit.heading)))}",
        f"   {dim(f'{one_line(where)}{page} · {score_line(hit)}')}",
        f"   {snippet(hit.text, question, bold)}",
    ]


def snippet(text: str, question: str, mark: Mark = plain, width: int = SNIPPET_WIDTH) -> str:
    """The stretch of ``text`` that holds most of the question's words, marked; on one line.

    ``width`` is in terminal columns (a Chinese character takes two), without marks and dots.

    >>> snippet("清华大学在北京。陈明是工程师。", "陈明 是谁", str, 14)
    '… 陈明是工程师。'
    """
    line = one_line(text)
    spans = word_spans(line, question)
    start = _best_start(line, spans, width)
    end = _fit(line, start, width)
    pieces = []
    position = start
    for left, right in spans:
        if left >= start and right <= end:
            pieces += [line[position:left], mark(line[left:right])]
            position = right
    pieces.append(line[position:end])
    return ("… " if start else "") + "".join(pieces).strip() + (" …" if end < len(line) else "")


def word_spans(text: str, question: str) -> list[tuple[int, int]]:
    """Spans of the question's words in ``text``, in order, none overlapping.

    Words are found folded (width, case, traditional characters) where folding keeps lengths.
    """
    words = sorted({word for word in query_tokens(question) if word}, key=len, reverse=True)
    if not words:
        return []
    folded = fold(text)
    if len(folded) != len(text):
        folded = text.lower() if len(text.lower()) == len(text) else text
    pattern = "|".join(
        rf"(?<![a-z0-9]){re.escape(word)}(?![a-z0-9])" if word.isascii() else re.escape(word)
        for word in words
    )
    return [match.span() for match in re.finditer(pattern, folded)]


def _best_start(line: str, spans: Sequence[tuple[int, int]], width: int) -> int:
    """Where the window with the most distinct question words starts; first one wins."""
    if columns(line) <= width or not spans:
        return 0
    reach = width // 8  # characters the window may start earlier, to begin with a sentence
    best, best_count = 0, 0
    for left, _ in spans:
        end = _fit(line, left, width - 2 * reach)
        count = len({line[a:b].lower() for a, b in spans if a >= left and b <= end})
        if count > best_count:
            best, best_count = left, count
    near = max(0, best - reach)
    ends = [match.end() for match in _SENTENCE_END.finditer(line, near, best)]
    return ends[-1] if ends else (best if near else 0)


def _fit(line: str, start: int, width: int) -> int:
    """The end of the longest stretch from ``start`` that takes at most ``width`` columns."""
    used = 0
    for position in range(start, len(line)):
        used += _columns_of(line[position])
        if used > width:
            return position
    return len(line)


def columns(text: str) -> int:
    """Terminal columns that ``text`` takes."""
    return sum(map(_columns_of, text))


def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def answer_lines(answer: Answer, bold: Mark = plain, dim: Mark = plain) -> list[str]:
    """The answer, its sources, and how it was made."""
    lines = [printable(line) for line in answer_body(answer).splitlines()]
    return [*lines, *evidence_lines(answer, bold, dim)]


def evidence_lines(answer: Answer, bold: Mark = plain, dim: Mark = plain) -> list[str]:
    """What stands below an answer: its sources, what they do not bear out, its cost."""
    return [*support_lines(answer, bold), "", dim(one_line(closing_line(answer)))]


def support_lines(answer: Answer, bold: Mark = plain) -> list[str]:
    """The answer's sources and what they do not bear out; empty when there is neither."""
    lines: list[str] = []
    if answer.citations:
        title = wording(answer.question).title.format(sources_title(answer))
        lines += ["", bold(title), *(one_line(line) for line in source_lines(answer))]
    if doubts := doubt_lines(answer):
        lines += ["", *(printable(line) for line in doubts)]
    return lines


def corrected_lines(answer: Answer, shown: str, bold: Mark = plain) -> list[str]:
    """The checked answer under a line that says so, where it is not what was ``shown``."""
    body = answer_body(answer)
    if body.split() == shown.split():
        return []
    title = bold(wording(answer.question).corrected)
    return ["", title, *(printable(line) for line in body.splitlines())]


def trace_lines(answer: Answer, bold: Mark = plain, dim: Mark = plain) -> list[str]:
    """What was done for the answer step by step, and the passages it was made from."""
    context = answer.context
    lines = ["", bold("Trace:")]
    lines += [_step_line(step, dim) for step in answer.trace or context.trace]
    title = f"Context: {context.method}, evidence {context.evidence:.2f}, {context.n_tokens} tokens"
    lines += ["", bold(title)]
    kinds = {
        "entities": context.entities,
        "relationships": context.relationships,
        "claims": context.claims,
        "reports": context.reports,
    }
    lines += [f"  {len(rows)} {noun(len(rows), name)}" for name, rows in kinds.items() if rows]
    numbers = [f"[{n}] " if answer.model else "" for n in range(1, len(context.passages) + 1)]
    lines += [
        f"  {number}{passage.score:.3f} {passage.kind} "
        + one_line(place(passage.title, passage.heading))
        + dim(f" ({one_line(passage.path)}:{passage.char_start}-{passage.char_end})")
        for number, passage in zip(numbers, context.passages, strict=True)
    ]
    return lines


def plan_lines(plan: QueryPlan, bold: Mark = plain) -> list[str]:
    """The prompts a question would send, whole, with their tokens and what they cost."""
    lines = [f"{step.name}: {one_line(step.detail)}" for step in plan.trace]
    lines.append(f"model: {one_line(plan.model) or 'none is configured (llm.model)'}")
    for number, prompt in enumerate(plan.prompts, 1):
        title = f"Prompt {number} of {len(plan.prompts)}: {prompt.step}, {prompt.n_tokens} tokens"
        lines += ["", bold(f"{title}, reply at most {prompt.max_reply_tokens}")]
        for role, text in prompt.messages:
            lines += [f"[{role}]", *(printable(line) for line in text.splitlines())]
    prompts = f"{len(plan.prompts)} {noun(len(plan.prompts), 'prompts')}"
    lines += ["", f"{plan.n_tokens} tokens in {prompts}, {_most(plan)}"]
    if not plan.complete:
        lines.append("further prompts depend on the replies to these")
    return [*lines, "nothing was sent"]


def _most(plan: QueryPlan) -> str:
    return "price not known" if plan.price is None else f"at most {price_text(plan.price)}"


def _step_line(step: Step, dim: Mark) -> str:
    return f"  {step.name}: {one_line(step.detail)} {dim(f'{1000 * step.seconds:.1f} ms')}"


def tsv_lines(header: Sequence[str], rows: Iterable[Sequence[object]]) -> list[str]:
    """Tab-separated lines for pipes; tabs and line ends inside values become spaces."""
    return ["\t".join(header), *("\t".join(one_line(cell(value)) for value in row) for row in rows)]


def cell(value: object) -> str:
    """A table value in words: null is empty, lists are joined by commas."""
    if value is None:
        return ""
    if isinstance(value, list | tuple):
        return ", ".join(cell(item) for item in value)
    return f"{value:.6g}" if isinstance(value, float) else str(value)
