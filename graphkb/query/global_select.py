"""Dynamic selection: which reports are worth reading, found from the top of the hierarchy.

After GraphRAG's dynamic community selection (Microsoft Research, November 2024): a model rates
the coarsest reports by title and summary, several a call; only below relevant ones is it asked
again, so that whole branches are never read. Where a community and some of its parts are both
relevant, the parts are read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from graphkb.llm.model import Prompt
from graphkb.query.ask import Ask
from graphkb.query.asking import make_prompt, room_in_window
from graphkb.query.calls import Calls
from graphkb.query.global_reports import (
    Lookup,
    Report,
    community_level,
    ranked_reports,
    relevant_reports,
    without_references,
)
from graphkb.query.narrowed import reports_of
from graphkb.query.replies import RATINGS_SCHEMA, read_ratings
from graphkb.query.sources import Entry, Source, deal, shown
from graphkb.search.snapshot import Snapshot
from graphkb.text.tokens import truncate_tokens

# A report rated so or higher is relevant; one the model did not rate counts as just that.
RELEVANT = 5.0
# Share of the time left that one round of ratings may take.
_TIME = 0.3
# What is shown of a report's summary, and what one rating costs in the reply, in tokens.
_SUMMARY_TOKENS = 80
_RATING_TOKENS, _REPLY_TOKENS = 20, 100


@dataclass(frozen=True)
class Selection:
    """Relevant reports, best rated first, and the calls that rating them took."""

    reports: list[Report]
    calls: int


def select_reports(
    snapshot: Snapshot, ask: Ask, lookup: Lookup, calls: Calls, most_calls: int
) -> Selection | None:
    """Relevant reports down to the community level, with at most ``most_calls`` rating calls
    and ``global_search.max_reports`` ratings; None when no call came back.

    Raises NotIndexedError when there are no reports.
    """
    budget = snapshot.settings.global_search.max_reports
    tree = _children(snapshot, community_level(snapshot, ask))
    frontier = relevant_reports(snapshot, lookup, 0, budget)
    chosen: dict[int, tuple[float, Report]] = {}
    used = rated = 0
    while frontier and used < most_calls and rated < budget:
        rows = {row["community"]: row for row in frontier[: budget - rated]}
        batches = _batches(snapshot, ask, list(rows.values()), most_calls - used)
        replies = calls.ask_each(
            "rate reports",
            batches,
            lambda batch: _prompt(snapshot, ask, batch),
            read_ratings,
            share=_TIME,
        )
        used += len(replies)
        if all(ratings is None for _, ratings in replies):
            break
        ratings = _by_community(replies)
        rated += len(ratings)
        relevant = {n: r for n, r in ratings.items() if r is None or r >= RELEVANT}
        chosen |= {n: (RELEVANT if r is None else r, rows[n]) for n, r in relevant.items()}
        followed = [n for n, r in relevant.items() if r is not None]
        # Coarse reports may hide what is asked for: when none is relevant, look one level down.
        below = followed if chosen else list(ratings)
        frontier = _reports(snapshot, lookup, [c for n in below for c in tree.get(n, ())])
    if used and not rated:
        return None
    detail = f"{rated} rated, {len(chosen)} relevant"
    calls.note("select", detail)
    read = [
        (rating, row)
        for number, (rating, row) in chosen.items()
        if not any(child in chosen for child in tree.get(number, ()))
    ]
    return Selection([row for _, row in sorted(read, key=lambda pair: -pair[0])], used)


def first_rating(snapshot: Snapshot, ask: Ask, lookup: Lookup, most_calls: int) -> list[Prompt]:
    """The prompts that rate the coarsest reports."""
    rows = relevant_reports(snapshot, lookup, 0, snapshot.settings.global_search.max_reports)
    return [_prompt(snapshot, ask, batch) for batch in _batches(snapshot, ask, rows, most_calls)]


def _children(snapshot: Snapshot, deepest: int) -> dict[int, list[int]]:
    """Communities one level down, for those above the deepest level."""
    table = snapshot.store.read("communities", ("community", "level", "children"))
    return {row["community"]: row["children"] for row in table.to_dicts() if row["level"] < deepest}


def _reports(snapshot: Snapshot, lookup: Lookup, numbers: Iterable[int]) -> list[dict[str, Any]]:
    found = reports_of(snapshot, numbers)
    return ranked_reports(snapshot, lookup, {row["community"]: row for row in found.to_dicts()})


def _batches(snapshot: Snapshot, ask: Ask, rows: Sequence[Report], most: int) -> list[list[Entry]]:
    """Titles and summaries, one source each, dealt to calls; what does not fit is not rated."""
    entries = []
    for row in rows:
        summary = truncate_tokens(without_references(row["summary"] or ""), _SUMMARY_TOKENS)
        title = without_references(row["title"] or "")
        entries.append(Entry(title, (Source(summary, ()),), row["community"]))
    room = room_in_window(
        snapshot, ask, snapshot.settings.global_search.map_input_tokens, _REPLY_TOKENS
    )
    return deal(entries, room, most)[0]


def _prompt(snapshot: Snapshot, ask: Ask, batch: Sequence[Entry]) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "rate_reports",
        step="rate",
        schema=RATINGS_SCHEMA,
        max_tokens=_REPLY_TOKENS + _RATING_TOKENS * len(batch),
        blocks={"reports": shown(batch)},
    )


def _by_community(
    replies: Iterable[tuple[Sequence[Entry], Mapping[int, float] | None]],
) -> dict[int, float | None]:
    """Rating by community; None for one that the model did not rate."""
    return {
        entry.key: None if ratings is None else ratings.get(number)
        for batch, ratings in replies
        for number, entry in enumerate(batch, 1)
    }
