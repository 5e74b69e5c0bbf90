"""The drift method: a first answer from reports, then local steps for what it leaves open.

After GraphRAG's DRIFT search (Whiting et al., Microsoft Research, October 2024): a primer over
the most relevant community reports gives points and follow-up questions; each follow-up is
looked up by the local method and answered in one call, which may raise further ones. Steps run
best first: questions raised by better answers are followed earlier. Everything found is one list
of scored points that the answer is made from.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphkb.errors import NotIndexedError
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import prompt_language
from graphkb.query.ask import Ask
from graphkb.query.asking import make_prompt, room_in_window
from graphkb.query.calls import Calls
from graphkb.query.candidates import stems_of
from graphkb.query.global_reports import (
    Lookup,
    community_level,
    cover_evidence,
    look_up,
    relevant_reports,
    report_entries,
    report_row,
)
from graphkb.query.local import local_context
from graphkb.query.points import Found, find_sources, gather_points
from graphkb.query.replies import STEP_SCHEMA, StepReply, read_step
from graphkb.query.sources import Entry, Source, deal, passage_entry, shown, sources_of
from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language
from graphkb.types import Context

# Length of a step's reply, in tokens.
_REPLY_TOKENS = 800
# Share of the time that the primer may take.
_PRIMER_TIME = 0.4
# What a question counts whose step found nothing, between 0 and 100.
_UNPROMISING = 10.0

_HEADINGS = {"en": ("Relationships", "Claims"), "zh": ("关系", "陈述")}


@dataclass(frozen=True)
class _Open:
    """A question still to be followed; ``promise`` is the best score of the step it came from."""

    question: str
    promise: float


def drift_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Points from a primer and from the steps that follow it, best first, with their sentences.

    Steps that fail are skipped and said; when the others find nothing, or without a model, the
    local method stands in. A missing report table costs only the primer.
    """
    if ask.model is None:
        return _instead(local_context(snapshot, ask), "drift needs a language model")
    return _Drift(snapshot, ask, ask.model).run()


def first_prompts(snapshot: Snapshot, ask: Ask) -> list[Prompt]:
    """The primer, or the question's own local step where there are no reports."""
    lookup = look_up(snapshot, ask.search)
    entries, _ = _primer_entries(snapshot, ask, lookup)
    if entries:
        return [_primer_prompt(snapshot, ask, entries)]
    follow_ups = snapshot.settings.drift_search.follow_ups
    found = _step_entries(_narrowed(snapshot, ask), ask, ask.search)
    return [_step_prompt(snapshot, ask, ask.search, found, follow_ups)]


class _Drift:
    """The steps of one question: what was found, what is open, what was asked."""

    def __init__(self, snapshot: Snapshot, ask: Ask, model: Model) -> None:
        self.snapshot, self.ask = snapshot, ask
        self.calls = Calls(ask, model)
        self.lookup = look_up(snapshot, ask.search)
        self.steps = _narrowed(snapshot, ask)
        self.found: list[Found] = []
        self.open: list[_Open] = [_Open(ask.search, 100.0)]
        self.asked: set[frozenset[str]] = set()
        self.failed = False

    def run(self) -> Context:
        """Primer, then rounds of local steps down to ``drift_search.depth``."""
        options = self.snapshot.settings.drift_search
        reports = self._primer()
        # The question itself is looked up beside the primer's first follow-ups.
        wanted = options.follow_ups + 1
        for left in reversed(range(options.depth)):
            self._round(wanted, options.follow_ups if left else 0)
            wanted = options.follow_ups
        gathered = gather_points(self.snapshot, self.found, options.max_context_tokens)
        if not gathered.points and self.failed:
            why = "drift steps failed and the others found nothing"
            plain = _instead(local_context(self.snapshot, self.ask), why)
            return replace(
                plain,
                trace=(*self.calls.trace, *plain.trace),
                warnings=(*self.calls.warnings, *plain.warnings),
            )
        evidence = cover_evidence(self.snapshot, self.lookup, not self.lookup.wanted)
        context = self.calls.context("drift", gathered, evidence, self.lookup.found)
        return replace(context, reports=reports)

    def _primer(self) -> tuple[Mapping[str, Any], ...]:
        """Points and questions of the most relevant reports; the reports that were read."""
        entries, rows = _primer_entries(self.snapshot, self.ask, self.lookup)
        if not entries:
            self.calls.warnings.append(
                "there are no community reports: drift starts from the question itself"
            )
            return ()
        prompt = _primer_prompt(self.snapshot, self.ask, entries)
        for reply in self.calls.ask("primer", [prompt], read_step, share=_PRIMER_TIME):
            self._take(reply, entries)
        read = {entry.key for entry in entries}
        return tuple(report_row(row) for row in rows if row["community"] in read)

    def _round(self, wanted: int, follow_ups: int) -> None:
        """Look up and answer the most promising open questions, ``wanted`` at most."""
        questions = self._next(wanted) if self.calls.usable else []
        if not questions or self.calls.too_late("following open questions"):
            return
        shown_to = [_step_entries(self.steps, self.ask, question) for question in questions]
        prompts = [
            _step_prompt(self.snapshot, self.ask, question, entries, follow_ups)
            for question, entries in zip(questions, shown_to, strict=True)
        ]
        replies = self.calls.ask("local steps", prompts, read_step)
        self.calls.note("followed", "; ".join(questions))
        for reply, entries in zip(replies, shown_to, strict=True):
            self._take(reply, entries)

    def _next(self, wanted: int) -> list[str]:
        """The most promising open questions that were not asked in other words before."""
        chosen: list[str] = []
        self.open.sort(key=lambda item: -item.promise)
        while self.open and len(chosen) < wanted:
            question = self.open.pop(0).question
            words = stems_of(question, self.snapshot.dictionary)
            if words not in self.asked:
                self.asked.add(words)
                chosen.append(question)
        return chosen

    def _take(self, reply: StepReply | None, entries: Sequence[Entry]) -> None:
        if reply is None:
            self.failed = True
            return
        self.found += find_sources(self.snapshot, reply.points, sources_of(entries))
        promise = max((point.score for point in reply.points), default=_UNPROMISING)
        most = self.snapshot.settings.drift_search.follow_ups
        self.open += [_Open(question, promise) for question in reply.follow_ups[:most]]


def _instead(context: Context, why: str) -> Context:
    """The local method's context, said to stand in for drift."""
    return replace(context, warnings=(*context.warnings, f"{why}: the local method answers"))


def _narrowed(snapshot: Snapshot, ask: Ask) -> Snapshot:
    """The same snapshot with the token budget of one step for the local method."""
    narrow = copy.copy(snapshot)
    budget = room_in_window(
        snapshot, ask, snapshot.settings.drift_search.max_context_tokens, _REPLY_TOKENS
    )
    local = snapshot.settings.local_search.model_copy(update={"max_context_tokens": budget})
    narrow.settings = snapshot.settings.model_copy(update={"local_search": local})
    return narrow


def _primer_entries(
    snapshot: Snapshot, ask: Ask, lookup: Lookup
) -> tuple[list[Entry], list[dict[str, Any]]]:
    """The most relevant reports within one step's budget; nothing where there are none."""
    options = snapshot.settings.drift_search
    level = community_level(snapshot, ask)
    most = snapshot.settings.global_search.max_reports
    try:
        rows = relevant_reports(snapshot, lookup, level, most)[: options.primer_reports]
    except NotIndexedError:
        return [], []
    room = room_in_window(snapshot, ask, options.max_context_tokens, _REPLY_TOKENS)
    dealt, _ = deal(report_entries(snapshot, rows), room, 1)
    return [entry for batch in dealt for entry in batch], rows


def _primer_prompt(snapshot: Snapshot, ask: Ask, entries: Sequence[Entry]) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "drift_primer",
        step="drift",
        schema=STEP_SCHEMA,
        max_tokens=_REPLY_TOKENS,
        blocks={"reports": shown(entries)},
        follow_ups=str(snapshot.settings.drift_search.follow_ups),
    )


def _step_prompt(
    snapshot: Snapshot, ask: Ask, question: str, entries: Sequence[Entry], follow_ups: int
) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "drift_step",
        step="drift",
        schema=STEP_SCHEMA,
        max_tokens=_REPLY_TOKENS,
        blocks={"passages": shown(entries), "step": question},
        follow_ups=str(follow_ups),
    )


def _step_entries(snapshot: Snapshot, ask: Ask, question: str) -> list[Entry]:
    """What the local method finds for a question, as sources: text units, relationships,
    claims."""
    context = local_context(snapshot, Ask.plain(question))
    relationships, claims = _HEADINGS[prompt_language(detect_language(ask.question))]
    edges = [
        Source(
            f"{row['source']} – {row['target']}: {_line(row['description'])}",
            tuple(row["text_unit_ids"]),
        )
        for row in context.relationships
        if row["text_unit_ids"]
    ]
    said = [Source(_line(row["description"]), (row["text_unit_id"],)) for row in context.claims]
    entries = [passage_entry(passage) for passage in context.passages]
    entries += [
        Entry(heading, tuple(sources))
        for heading, sources in ((relationships, edges), (claims, said))
        if sources
    ]
    return entries


def _line(text: str | None) -> str:
    return " ".join((text or "").split())
