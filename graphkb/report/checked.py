"""A model's report with every reference checked against what the model was shown."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from graphkb.report.draft import Draft, DraftFinding
from graphkb.report.evidence import Shown
from graphkb.report.sentences import shingles
from graphkb.report.wording import sources

# A finding without references gets those of at most two rows that hold this share of its words,
# and three of them at least.
_LEAST_SHARE = 0.25
_LEAST_WORDS = 3
_MOST_ROWS = 2
# Words that more rows than this share hold tell nothing.
_COMMON_SHARE = 0.3

_MOST_UNITS = 8


@dataclass(frozen=True)
class Checked:
    """The columns from title to full_content_json, what was removed, and what it rests on.

    ``n_unknown`` references named no row that was shown; ``n_dropped`` findings rest on none.
    """

    content: dict[str, object]
    text_unit_ids: tuple[str, ...]
    n_unknown: int
    n_dropped: int


def check_report(
    draft: Draft, rows: Sequence[Shown], numbers: Mapping[str, int], rank: float, limit: int
) -> Checked | None:
    """At most ``limit`` findings with their text units; None when no finding rests on any row.

    A finding without a valid reference gets those of the rows whose words it shares.
    ``numbers`` are human_readable_id of text units; ``rank`` stands where the model gave none.
    """
    known = {row.number: row.text_unit_ids for row in rows if row.text_unit_ids}
    findings: list[dict[str, object]] = []
    every: dict[str, None] = {}
    words: dict[int, frozenset[str]] | None = None
    n_unknown = n_dropped = 0
    for finding in draft.findings[:limit]:
        cited = [number for number in finding.sources if number in known]
        n_unknown += len(finding.sources) - len(cited)
        if not cited:
            words = words or _rare_words([row for row in rows if row.text_unit_ids])
            cited = _alike(finding, words)
        units = [unit for number in cited for unit in known[number]]
        if not units:
            n_dropped += 1
            continue
        ids = list(dict.fromkeys(units))[:_MOST_UNITS]
        every.update(dict.fromkeys(ids))
        mark = sources([numbers[unit] for unit in ids])
        findings.append(
            {
                "summary": finding.summary,
                "explanation": f"{finding.explanation} {mark}",
                "text_unit_ids": ids,
            }
        )
    if not findings:
        return None
    mark = sources([numbers[unit] for unit in every])
    rating = rank if draft.rating is None else round(float(draft.rating), 1)
    content = _content(draft, findings, mark, rating)
    return Checked(content, tuple(every), n_unknown, n_dropped)


def _content(
    draft: Draft, findings: list[dict[str, object]], mark: str, rating: float
) -> dict[str, object]:
    parts = [f"# {draft.title}", f"{draft.summary} {mark}"]
    for finding in findings:
        parts += [f"## {finding['summary']}", str(finding["explanation"])]
    report = {
        "title": draft.title,
        "summary": draft.summary,
        "findings": findings,
        "rating": rating,
        "rating_explanation": draft.rating_explanation,
    }
    return {
        "title": draft.title,
        "summary": draft.summary,
        "full_content": "\n\n".join(parts) + "\n",
        "rank": rating,
        "rating_explanation": draft.rating_explanation,
        "findings": json.dumps(findings, ensure_ascii=False),
        "full_content_json": json.dumps(report, ensure_ascii=False),
    }


def _rare_words(rows: Sequence[Shown]) -> dict[int, frozenset[str]]:
    """Words of each row by its number, without those that many rows hold."""
    words = {row.number: shingles(row.text) for row in rows}
    counts = Counter(word for held in words.values() for word in held)
    most = max(2, int(_COMMON_SHARE * len(rows)))
    return {n: frozenset(w for w in held if counts[w] <= most) for n, held in words.items()}


def _alike(finding: DraftFinding, words: Mapping[int, frozenset[str]]) -> list[int]:
    """Rows that hold most of the finding's words, best first; ties by number."""
    told = shingles(f"{finding.summary}\n{finding.explanation}")
    shared = {number: len(told & held) for number, held in words.items()}
    least = max(_LEAST_WORDS, _LEAST_SHARE * len(told))
    near = [number for number, count in shared.items() if count >= least]
    return sorted(near, key=lambda number: (-shared[number], number))[:_MOST_ROWS]
