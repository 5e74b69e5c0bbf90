"""The prompt of an answer: numbered sources, points, background and the question.

Source n is ``context.passages[n - 1]``. Everything from documents stands in data blocks of the
user message; the system message holds none of it. Background orients the model and is not
cited, so it gets half of the room that the sources take.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphkb.llm.model import Prompt
from graphkb.llm.prompts import data_block, fill_prompt, load_prompt, prompt_language
from graphkb.query.ask import Ask, Turn
from graphkb.query.marks import defuse_marks
from graphkb.query.pack import fit
from graphkb.search.files import named_files
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import question_language
from graphkb.text.table_rows import header_rows
from graphkb.text.tokens import count_tokens, truncate_tokens
from graphkb.types import Context, Passage, Point

NOT_FOUND = "NOT_IN_KNOWLEDGE_BASE"
"""What a model writes as its first line when the sources do not answer the question."""

STEP = "answer"

_EDGE = re.compile(r"<(?=/?\s*(?:source|points|background|conversation)\b)", re.IGNORECASE)

_LISTED = {"en": ", ", "zh": "、"}

# Tokens of one background row and of one earlier answer; a longer one is cut.
_ROW_TOKENS, _TURN_TOKENS = 120, 300
# Background as a share of the sources and in tokens at least, and the share of it that community
# reports may take.
_BACKGROUND_SHARE, _LEAST_BACKGROUND, _REPORT_SHARE = 0.5, 600, 0.4
# Tokens that a server adds for the roles of messages, and how far a window is filled: models
# count tokens differently.
_FRAME, _FILL = 20, 0.8


@dataclass(frozen=True)
class Composed:
    """An answer's prompt, the passages it shows (source n is the n-th), and its tokens."""

    prompt: Prompt
    passages: tuple[Passage, ...]
    n_tokens: int


def compose_answer(snapshot: Snapshot, ask: Ask, context: Context, window: int = 0) -> Composed:
    """The prompt that asks for the answer.

    ``window`` is how many tokens the model takes, 0 when not known. In a small one the reply
    gets at most a third; background goes first, then the last sources, then the oldest turns;
    one source always stays, cut where it must be.
    """
    options = snapshot.settings.answer
    reply = min(options.max_tokens, reply_share(window)) if window else options.max_tokens
    room = int((window - reply) * _FILL) if window else 0
    language = prompt_language(question_language(ask.question))
    form = ask.response_type or options.response_type
    fixed = {
        "marker": NOT_FOUND,
        "form": fill_prompt(snapshot.root, language, "answer_form", response_type=form)
        if form
        else "",
        "note": _note(snapshot, language, context),
        "question": ask.question,
    }

    def prompt(*blocks: str) -> Prompt:
        evidence = "\n\n".join(block for block in blocks if block)
        system, user = load_prompt(snapshot.root, language, "answer", evidence=evidence, **fixed)
        return Prompt(STEP, system, user, max_tokens=reply)

    history = last_turns(snapshot, ask.history)
    bare = count_prompt(prompt(_conversation(history)))
    while room and history and bare > room // 2:
        history = history[1:]
        bare = count_prompt(prompt(_conversation(history)))
    left = max(room - bare, 0) if room else None
    at_ends = snapshot.settings.search.order == "best_at_ends" and not context.points
    named = named_files(snapshot, ask.question)
    told = named.document_ids if named else frozenset()
    passages, sources = _sources(context.passages, left, at_ends, told)
    spent = count_tokens(sources)
    points = _points(context.points, len(passages))
    if left is not None:
        points = truncate_tokens(points, left - spent)
    wanted = max(int(_BACKGROUND_SHARE * spent), _LEAST_BACKGROUND)
    background = _background(
        context,
        {p.text_unit_id: n for n, p in reversed(list(enumerate(passages, 1)))},
        wanted if left is None else min(wanted, left - spent - count_tokens(points)),
    )
    composed = prompt(
        _conversation(history),
        sources,
        data_block("points", points) if points else "",
        data_block("background", background) if background else "",
    )
    return Composed(composed, passages, count_prompt(composed))


def count_prompt(prompt: Prompt) -> int:
    """Tokens of all messages of a prompt."""
    return _FRAME + sum(count_tokens(text) for _, text in prompt.messages)


def last_turns(snapshot: Snapshot, history: Sequence[Turn]) -> tuple[Turn, ...]:
    """The turns that a model is shown: the last ``conversation_history_max_turns``."""
    most = snapshot.settings.local_search.conversation_history_max_turns
    return tuple(history[-most:]) if most else ()


def reply_share(window: int) -> int:
    """The tokens that a reply may take of a model's window."""
    return window // 3


def is_thin(snapshot: Snapshot, context: Context) -> bool:
    """Whether the evidence is below the refusal threshold, so that an answer needs a close look.
    Points that a model found are evidence enough."""
    low = context.evidence < snapshot.settings.answer.threshold(context.method)
    return low and not context.points


def _note(snapshot: Snapshot, language: str, context: Context) -> str:
    notes = [missing_names(snapshot, language, context)]
    if is_thin(snapshot, context):
        notes.append(fill_prompt(snapshot.root, language, "answer_thin"))
    return "".join(f"{note}\n\n" for note in notes if note)


def missing_names(snapshot: Snapshot, language: str, context: Context) -> str:
    """A sentence that says which names of the question the knowledge base does not hold; empty
    where it holds all."""
    if not context.missing:
        return ""
    names = _LISTED[language].join(context.missing)
    return fill_prompt(snapshot.root, language, "missing", names=names)


def _conversation(history: Iterable[Turn]) -> str:
    """Earlier turns, oldest first. They quote documents, so they are data; their marks pointed
    to other sources, so they are defused."""
    lines: list[str] = []
    for turn in history:
        answer = truncate_tokens(_inert(turn.answer), _TURN_TOKENS)
        lines += [f"Q: {turn.question}", f"A: {answer}"]
    return data_block("conversation", "\n".join(lines)) if lines else ""


def _sources(
    passages: Sequence[Passage],
    room: int | None,
    at_ends: bool = False,
    named: Collection[str] = (),
) -> tuple[tuple[Passage, ...], str]:
    """The passages that fit, and how they are shown: their number, then a block each; those of
    the ``named`` documents with the path of their file.

    ``at_ends``: the best first, the second best last, and so on inwards, because models read
    the middle of a long context worst (Liu et al. 2023, Lost in the Middle).
    """
    if at_ends:
        fitting, _ = _sources(passages, room, named=named)
        return _sources((*fitting[::2], *reversed(fitting[1::2])), room, named=named)
    shown = [
        _source(number, passage, passage.path if passage.document_id in named else "")
        for number, passage in enumerate(passages, 1)
    ]
    if room is not None:
        kept, _ = fit(shown, room, lambda text: count_tokens(text) + 1, at_least=1)
        if kept and count_tokens(kept[0]) > room:
            text = truncate_tokens(passages[0].text, max(room - 20, 1))
            kept = [f"[1]\n{data_block('source', _inert(text))}"]
        shown = kept
    return tuple(passages[: len(shown)]), "\n".join(shown)


def _source(number: int, passage: Passage, file: str) -> str:
    heading = passage.heading if passage.heading != passage.title else ""
    above = " › ".join(" ".join(part.split()) for part in (file, passage.title, heading) if part)
    text = "\n".join(filter(None, (above, header_rows(passage.columns), passage.text.strip())))
    return f"[{number}]\n{data_block('source', _inert(text))}"


def _points(points: Iterable[Point], n_sources: int) -> str:
    """Points best first, a line each, with the numbers of their sources."""
    lines = []
    for point in points:
        numbers = [place + 1 for place in point.passages if place < n_sources]
        marks = "".join(f"[{number}]" for number in numbers)
        lines.append(f"- {_plain(point.text)} {marks}".rstrip())
    return "\n".join(lines)


def _background(context: Context, numbers: Mapping[str, int], room: int) -> str:
    """Reports, entities, relationships and claims as one row each, within ``room`` tokens.

    Rows that rest on a shown source carry its number; those that only repeat one are left out.
    """
    sources = " ".join(" ".join(p.text.split()) for p in context.passages[: len(numbers)])
    reports, spent = fit(_report_rows(context), int(room * _REPORT_SHARE), count_tokens)
    rows = _graph_rows(context, numbers, sources)
    rest, _ = fit(rows, room - spent, count_tokens)
    return "\n".join([*reports, *rest])


def _report_rows(context: Context) -> Iterator[str]:
    for row in context.reports:
        yield _row(f"{row.get('title') or ''}: {row.get('summary') or ''}")


def _graph_rows(context: Context, numbers: Mapping[str, int], sources: str) -> Iterator[str]:
    def new(row: Mapping[str, Any]) -> str:
        told = " ".join(str(row.get("description") or "").split())
        return "" if told in sources else told

    for row in context.entities:
        kind = f" ({row['type']})" if row.get("type") else ""
        if told := new(row):
            yield _row(f"{row['title']}{kind}: {told}")
    for row in context.relationships:
        if told := new(row):
            marks = _marks(row.get("text_unit_ids") or (), numbers)
            yield _row(f"{row['source']} – {row['target']}: {told}", marks)
    for row in context.claims:
        if told := new(row):
            dates = [str(row[key]) for key in ("start_date", "end_date") if row.get(key)]
            when = f" ({' – '.join(dates)})" if dates else ""
            marks = _marks([row.get("text_unit_id")], numbers)
            yield _row(f"{row.get('subject_id') or ''}: {told}{when}", marks)


def _marks(unit_ids: Iterable[Any], numbers: Mapping[str, int]) -> str:
    found = dict.fromkeys(numbers[unit_id] for unit_id in unit_ids if unit_id in numbers)
    return "".join(f"[{number}]" for number in list(found)[:3])


def _row(text: str, marks: str = "") -> str:
    return f"{truncate_tokens(_plain(text), _ROW_TOKENS)} {marks}".strip()


def _inert(text: str) -> str:
    """Text of a document in which nothing looks like our marks or the edge of a block."""
    return _EDGE.sub("‹", defuse_marks(text))


def _plain(text: str) -> str:
    """Text on one line, without anything that looks like our marks."""
    return _inert(" ".join(text.split()))
