"""The global method: map over community reports, reduce to the points that matter.

After GraphRAG's global search (Edge et al., 2024): the reports of the leaf cover at one level
are read, each gives scored points, and the best points over all reports make the answer. With
a model the points are its own (:mod:`graphkb.query.global_map`). Without one they are the
reports' findings: a point's score comes from the words it shares with the question and from its
report's rank; a question without content words is answered by rank alone.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from graphkb.llm.model import Prompt
from graphkb.query.ask import Ask
from graphkb.query.candidates import stems_of
from graphkb.query.extractive import choose_quotes
from graphkb.query.global_map import map_reports, plan_map
from graphkb.query.global_reports import (
    RANK_SHARE,
    THEME_WORDS,
    UNIT_SHARE,
    Lookup,
    community_level,
    cover_evidence,
    cover_reports,
    look_up,
    overlap,
    relevance,
    report_row,
)
from graphkb.query.pack import fit, passage_cost
from graphkb.query.points import say_best
from graphkb.search.hybrid import Retrieval
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.sentences import sentence_spans
from graphkb.types import Context, Passage, Step

# What a report's relevance counts in its findings' scores.
_REPORT_SHARE = 0.5
# For a question with content words a finding must share this much of them, or stand in one of
# the three best text units.
_LEAST_OVERLAP, _NEAR = 0.15, 1 / 3

_POINTS, _QUOTES = 6, 5
# A community gives at most this many points, so that an answer covers the collection.
_POINTS_EACH = 2


@dataclass(frozen=True)
class _Point:
    report: int
    text: str
    text_unit_ids: tuple[str, ...]
    score: float


def global_context(snapshot: Snapshot, ask: Ask) -> Context:
    """The best points of the community reports, each with sentences of its text units.

    When the model's calls fail the answer falls back to the reports' own findings, and says so.
    Raises NotIndexedError when there are no reports.
    """
    if ask.model is None:
        return _quoted(snapshot, ask)
    mapped = map_reports(snapshot, ask, ask.model)
    if isinstance(mapped, Context):
        return mapped
    plain = _quoted(snapshot, ask, mapped.lookup)
    return replace(
        plain,
        trace=(*mapped.trace, *plain.trace),
        warnings=(*mapped.warnings, *plain.warnings),
    )


def first_prompts(snapshot: Snapshot, ask: Ask) -> list[Prompt]:
    """The prompts that :func:`global_context` sends first; nothing is sent."""
    return plan_map(snapshot, ask)


def _quoted(snapshot: Snapshot, ask: Ask, lookup: Lookup | None = None) -> Context:
    """The best findings of the community reports, each as sentences of its text units."""
    started = time.perf_counter()
    options = snapshot.settings.global_search
    reports = cover_reports(snapshot, community_level(snapshot, ask), options.max_reports)
    lookup = lookup or look_up(snapshot, ask.search)
    found = lookup.found
    scores = relevance(snapshot, reports, lookup)
    generic = not lookup.wanted or max(scores.values()) <= 0
    if generic:  # no report has a word of it: none may be asked of a finding either
        lookup = replace(lookup, wanted=(), near={})
    points = _points(snapshot, reports, lookup, scores)
    chosen = _reduce(points)
    asked = [] if generic else _asked_for(snapshot, lookup.question, found)
    said = {passage.text for passage in asked}
    passages = [*asked, *(p for p in _passages(snapshot, chosen) if p.text not in said)]
    kept, n_tokens = fit(passages, options.max_context_tokens, passage_cost, at_least=1)
    read = [reports[number] for number in dict.fromkeys(point.report for point in chosen)]
    step = Step(
        "map and reduce",
        f"{len(reports)} reports, {len(points)} points, {len(chosen)} kept"
        + ("; by rank, the question has no content words" if generic else ""),
        time.perf_counter() - started,
    )
    evidence = cover_evidence(snapshot, lookup, generic)
    return Context(
        method="global",
        passages=tuple(kept),
        evidence=evidence.value,
        missing=evidence.missing,
        n_tokens=n_tokens,
        reports=tuple(report_row(row) for row in read),
        trace=(*found.trace, step, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )


def _asked_for(snapshot: Snapshot, question: str, found: Retrieval) -> list[Passage]:
    """Sentences of the text units that answer a question with content words: findings are
    written before anyone asks, and may leave out just what is asked for."""
    scores = {unit.text_unit_id: unit.score for unit in found.units}
    units = [passage_of(row, scores[row["id"]]) for row in snapshot.units(scores)]
    quotes = choose_quotes(snapshot, question, units, _QUOTES, THEME_WORDS)
    return [quote.passage.narrowed(quote.start, quote.end) for quote in quotes]


def _points(
    snapshot: Snapshot,
    reports: Mapping[int, Mapping[str, Any]],
    lookup: Lookup,
    scores: Mapping[int, float],
) -> list[_Point]:
    """Every finding with its score, best first; ties by report and place.

    A finding scores by its own words and text units, its report's relevance and its rank.
    """
    wanted, near = lookup.wanted, lookup.near
    findings = [
        (number, place, finding)
        for number, row in reports.items()
        for place, finding in enumerate(json.loads(row["findings"] or "[]"))
    ]
    tokens = {
        index: stems_of(f"{f['summary']}\n{f['explanation']}", snapshot.dictionary)
        for index, (_, _, f) in enumerate(findings)
    }
    own = overlap(tokens, wanted)
    points = [
        (
            -(
                _REPORT_SHARE * scores[number]
                + own[index]
                + UNIT_SHARE * max((near.get(i, 0.0) for i in finding["text_unit_ids"]), default=0)
                + RANK_SHARE * reports[number]["rank"] / 10
            ),
            place,
            number,
            finding,
        )
        for index, (number, place, finding) in enumerate(findings)
        if finding["text_unit_ids"]
        and (
            not wanted
            or own[index] >= _LEAST_OVERLAP
            or any(near.get(unit_id, 0.0) >= _NEAR for unit_id in finding["text_unit_ids"])
        )
    ]
    points.sort(key=lambda point: point[:3])
    return [
        _Point(number, finding["explanation"], tuple(finding["text_unit_ids"]), -score)
        for score, _, number, finding in points
    ]


def _reduce(points: Sequence[_Point]) -> list[_Point]:
    """The best points, a few a report, without saying the same thing twice."""
    chosen: list[_Point] = []
    each: Counter[int] = Counter()
    for point in points:
        if len(chosen) == _POINTS:
            break
        if each[point.report] < _POINTS_EACH and all(point.text != c.text for c in chosen):
            chosen.append(point)
            each[point.report] += 1
    return chosen


def _passages(snapshot: Snapshot, points: Sequence[_Point]) -> list[Passage]:
    """The sentences that a point quotes, as passages with their place in the document; for a
    point in a model's own words those that say it best."""
    ids = [unit_id for point in points for unit_id in point.text_unit_ids]
    rows = {row["id"]: row for row in snapshot.units(ids)}
    passages: list[Passage] = []
    seen: set[str] = set()
    for point in points:
        units = [rows[unit_id] for unit_id in point.text_unit_ids if unit_id in rows]
        quoted = [passage for row in units for passage in _quoted_sentences(row, point)]
        if not quoted:
            quoted = say_best(snapshot, point.text, point.text_unit_ids, point.score)
        passages += [passage for passage in quoted if passage.text not in seen]
        seen.update(passage.text for passage in quoted)
    return passages


def _quoted_sentences(row: dict[str, Any], point: _Point) -> list[Passage]:
    unit = replace(passage_of(row, point.score), kind="report", columns=())
    return [
        unit.narrowed(unit.char_start + start, unit.char_start + end)
        for start, end in sentence_spans(row["text"])
        if end - start >= 6 and row["text"][start:end] in point.text
    ]
