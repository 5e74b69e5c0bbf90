"""The map step of the global method: a model reads the reports and notes scored points.

After GraphRAG's global search (Edge et al., 2024), within a fixed number of calls: the most
relevant reports go first, what does not fit is left out and said. Each point leads through the
findings it cites to sentences of the documents; the answer is made from the best points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphkb.llm.model import Model, Prompt
from graphkb.query.ask import Ask
from graphkb.query.asking import make_prompt, room_in_window
from graphkb.query.calls import Calls
from graphkb.query.global_reports import (
    Lookup,
    Report,
    community_level,
    cover_evidence,
    look_up,
    model_reports,
    relevant_reports,
    report_entries,
    report_row,
)
from graphkb.query.global_select import first_rating, select_reports
from graphkb.query.points import find_sources, gather_points
from graphkb.query.replies import POINTS_SCHEMA, read_points
from graphkb.query.sources import Entry, deal, shown, sources_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Context, Step

# Share of global_search.max_context_tokens for points and what they quote: they are denser than
# reports, and so map calls and answer together stay within 40,000 prompt tokens.
_POINTS_SHARE = 1 / 3


@dataclass(frozen=True)
class NotMapped:
    """No points, and calls that failed: nobody knows whether the reports say anything. What was
    looked up is kept for the fallback."""

    lookup: Lookup
    trace: tuple[Step, ...]
    warnings: tuple[str, ...]


def map_reports(snapshot: Snapshot, ask: Ask, model: Model) -> Context | NotMapped:
    """The points that the model finds in the reports, best first, with what they rest on.

    A call that fails gives no points and is said in the warnings. When all come back without
    any point the context's evidence is 0. Raises NotIndexedError when there are no reports.
    """
    lookup = look_up(snapshot, ask.search)
    calls = Calls(ask, model)
    chosen, most_calls = _choose(snapshot, ask, lookup, calls)
    batches, left_out = _deal(snapshot, ask, report_entries(snapshot, chosen), most_calls)
    replies = calls.ask_each(
        "map",
        batches,
        lambda batch: _prompt(snapshot, ask, batch),
        read_points,
        in_flight=snapshot.settings.global_search.concurrency,
    )
    read = sum(map(len, batches))
    calls.note("reports", f"{read} read, {left_out} left out (global_search.max_map_calls)")
    found = [
        point
        for batch, drafts in replies
        for point in find_sources(snapshot, drafts or (), sources_of(batch))
    ]
    budget = int(snapshot.settings.global_search.max_context_tokens * _POINTS_SHARE)
    gathered = gather_points(snapshot, found, budget)
    if not gathered.points and any(drafts is None for _, drafts in replies):
        why = "map calls failed and the others found nothing"
        calls.warnings.append(f"{why}: the reports' own findings answer instead")
        return NotMapped(lookup, tuple(calls.trace), tuple(calls.warnings))
    generic = not lookup.wanted
    context = calls.context(
        "global", gathered, cover_evidence(snapshot, lookup, generic), lookup.found
    )
    told = {point.text for point in gathered.points}
    cited = {source for point in found if point.text in told for source in point.sources}
    keys = {e.key for batch in batches for e in batch if not cited.isdisjoint(e.sources)}
    rows = [report_row(row) for row in chosen if row["community"] in keys]
    return replace(context, reports=tuple(rows))


def plan_map(snapshot: Snapshot, ask: Ask) -> list[Prompt]:
    """The prompts of the first round: the map calls, or the first rating of reports."""
    lookup = look_up(snapshot, ask.search)
    options = snapshot.settings.global_search
    if options.dynamic_selection:
        return first_rating(snapshot, ask, lookup, _rating_calls(snapshot))
    rows = _reports(snapshot, ask, lookup)
    batches, _ = _deal(snapshot, ask, report_entries(snapshot, rows), options.max_map_calls)
    return [_prompt(snapshot, ask, batch) for batch in batches]


def _choose(
    snapshot: Snapshot, ask: Ask, lookup: Lookup, calls: Calls
) -> tuple[Sequence[Report], int]:
    """Reports to read, best first, and the map calls that may be spent on them."""
    options = snapshot.settings.global_search
    if options.dynamic_selection:
        selected = select_reports(snapshot, ask, lookup, calls, _rating_calls(snapshot))
        if selected is not None:
            return selected.reports, max(options.max_map_calls - selected.calls, 1)
        calls.warnings.append("no report could be rated: the most relevant by words are read")
    return _reports(snapshot, ask, lookup), options.max_map_calls


def _reports(snapshot: Snapshot, ask: Ask, lookup: Lookup) -> Sequence[Report]:
    """Reports to read, best first. A question about the whole is answered by what a model wrote
    about its largest parts, then by the leaf cover; one with content words by what holds them."""
    level, limit = community_level(snapshot, ask), snapshot.settings.global_search.max_reports
    covering = relevant_reports(snapshot, lookup, level, limit)
    if lookup.wanted:
        return covering
    overviews = model_reports(snapshot, level)
    known = {row["community"] for row in overviews}
    return [*overviews, *(row for row in covering if row["community"] not in known)][:limit]


def _rating_calls(snapshot: Snapshot) -> int:
    """Calls of one question that rate reports; the others read them."""
    return max(snapshot.settings.global_search.max_map_calls // 2, 1)


def _deal(
    snapshot: Snapshot, ask: Ask, entries: Sequence[Entry], most_calls: int
) -> tuple[list[list[Entry]], int]:
    options = snapshot.settings.global_search
    room = room_in_window(snapshot, ask, options.map_input_tokens, options.map_max_tokens)
    return deal(entries, room, most_calls)


def _prompt(snapshot: Snapshot, ask: Ask, batch: Sequence[Entry]) -> Prompt:
    return make_prompt(
        snapshot,
        ask,
        "map_reports",
        step="map",
        schema=POINTS_SCHEMA,
        max_tokens=snapshot.settings.global_search.map_max_tokens,
        blocks={"reports": shown(batch)},
    )
