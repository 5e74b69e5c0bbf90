"""From the fused order to the hits that are given: age, one document's share, new words; and the
text around a hit.

All of it is off by default. In this order:

``recency``      ``score · 2^(-age / half-life)``, age in days before the newest document, so that
                 the same collection always gives the same order. A document without a date
                 counts as old as the median one.
``max_per_doc``  only the best so many hits of a document stay.
``diversity``    maximal marginal relevance (Carbonell, Goldstein 1998): the next hit is the one
                 with the highest ``(1 - diversity) · relevance - diversity · max similarity`` to
                 those taken, relevance scaled to [0, 1], similarity the Jaccard index of words.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date
from statistics import median
from typing import TYPE_CHECKING, Any

from graphkb.search.values import date_parts
from graphkb.settings import Search
from graphkb.types import Part, Step, Wider

if TYPE_CHECKING:
    from graphkb.search.hybrid import RankedUnit
    from graphkb.search.snapshot import Snapshot

#: Metadata keys that say when a document was last changed, first found first.
UPDATED = (
    "updated_at", "updated", "last_updated", "last_modified", "lastmod", "modified",
    "date_modified", "article:modified_time", "更新时间", "更新日期", "修改时间", "修改日期",
)  # fmt: skip

# Hits that diversity chooses from, for each that is wanted, and at least.
_POOL_SHARE, _LEAST_POOL = 5, 50

_AROUND = (
    "id", "document_id", "index", "n_tokens", "char_start", "char_end", "heading_path",
    "page_start", "page_end", "parent_id",
)  # fmt: skip


def assembles(options: Search) -> bool:
    """Whether the settings ask for more than the first hits of the fused order."""
    return bool(options.recency or options.max_per_doc or options.diversity)


def assemble(
    snapshot: Snapshot, units: Sequence[RankedUnit], top_k: int
) -> tuple[tuple[RankedUnit, ...], tuple[Step, ...]]:
    """The ``top_k`` units that are given, ranked anew, and what was done.

    ``units`` are best first and more than ``top_k``, so that others can move up.
    """
    options = snapshot.settings.search
    if not assembles(options):
        return tuple(units[:top_k]), ()
    started = time.perf_counter()
    chosen, done = list(units), []
    if options.recency:
        chosen = _decayed(snapshot, chosen, options.recency)
        done.append(f"scores halve in {options.recency:g} days")
    if options.max_per_doc:
        before = len(chosen)
        chosen = capped(snapshot, chosen, options.max_per_doc)
        done.append(f"{before - len(chosen)} hits beyond {options.max_per_doc} per document")
    if options.diversity:
        chosen = _diverse(snapshot, chosen, top_k, options.diversity)
        done.append(f"diversity {options.diversity:g}")
    ranked = tuple(replace(unit, rank=rank) for rank, unit in enumerate(chosen[:top_k], 1))
    return ranked, (Step("assemble", "; ".join(done), time.perf_counter() - started),)


def capped(snapshot: Snapshot, units: Iterable[RankedUnit], most: int) -> list[RankedUnit]:
    """The units without those that come after ``most`` of their document."""
    units = list(units)
    documents = snapshot.graph.documents(unit.text_unit_id for unit in units)
    seen: Counter[int] = Counter()
    kept = []
    for unit in units:
        document = documents.get(unit.text_unit_id)
        if document is not None:
            seen[document] += 1
        if document is None or seen[document] <= most:
            kept.append(unit)
    return kept


def _decayed(snapshot: Snapshot, units: Sequence[RankedUnit], half_life: float) -> list[RankedUnit]:
    ids = [unit.text_unit_id for unit in units]
    found = snapshot.store.where("text_units", "id", ids, ("id", "document_id"))
    documents = dict(found.select("id", "document_id").iter_rows())
    ages = snapshot.ages
    middle = median(ages.values()) if ages else 0.0
    # A reranker's scores may be below 0, where a factor would raise them.
    low = min(0.0, *(unit.score for unit in units)) if units else 0.0
    aged = []
    for unit in units:
        age = ages.get(documents.get(unit.text_unit_id, ""), middle)
        aged.append(replace(unit, score=low + (unit.score - low) * 2.0 ** (-age / half_life)))
    return sorted(aged, key=lambda unit: (-unit.score, unit.text_unit_id))


def document_ages(rows: Iterable[Mapping[str, Any]]) -> dict[str, float]:
    """Days by which each document is older than the newest, by id; those with a date only.

    ``rows`` have ``id``, ``metadata`` (an object) and ``creation_date``.
    """
    days: dict[str, float] = {}
    for row in rows:
        metadata = {str(key).casefold(): value for key, value in row["metadata"].items()}
        said = [metadata[key] for key in UPDATED if key in metadata]
        for value in (*said, row["creation_date"]):
            day = _day(str(value))
            if day is not None:
                days[row["id"]] = day
                break
    newest = max(days.values(), default=0.0)
    return {document_id: newest - day for document_id, day in days.items()}


def _day(text: str) -> float | None:
    """Days since year 1, the first of the month or year where no more is said."""
    parts = date_parts(text, year_alone=True)
    if not parts:
        return None
    year, month, day, hour, minute, _ = (*parts, *(1, 1, 1, 0, 0, 0)[len(parts) :])
    try:
        return date(year, month, day).toordinal() + hour / 24 + minute / 1440
    except ValueError:
        return None


def _diverse(
    snapshot: Snapshot, units: Sequence[RankedUnit], top_k: int, diversity: float
) -> list[RankedUnit]:
    pool = list(units[: max(_POOL_SHARE * top_k, _LEAST_POOL)])
    if not pool:
        return []
    ids = [unit.text_unit_id for unit in pool]
    found = snapshot.store.where("search_texts", "id", ids, ("id", "tokens"))
    words = {unit_id: frozenset(tokens.split()) for unit_id, tokens in found.iter_rows()}
    top, low = max(unit.score for unit in pool), min(unit.score for unit in pool)
    relevance = {
        unit.text_unit_id: (unit.score - low) / (top - low) if top > low else 1.0 for unit in pool
    }
    nearest = dict.fromkeys(ids, 0.0)
    taken: list[RankedUnit] = []
    while pool and len(taken) < top_k:
        best = max(
            pool,
            key=lambda unit: (
                (1 - diversity) * relevance[unit.text_unit_id]
                - diversity * nearest[unit.text_unit_id],
                -unit.rank,
            ),
        )
        pool.remove(best)
        taken.append(best)
        own = words.get(best.text_unit_id, frozenset())
        for unit in pool:
            other = words.get(unit.text_unit_id, frozenset())
            nearest[unit.text_unit_id] = max(nearest[unit.text_unit_id], _jaccard(own, other))
    return taken


def _jaccard(one: frozenset[str], other: frozenset[str]) -> float:
    both = len(one & other)
    return both / (len(one) + len(other) - both) if both else 0.0


def widen_units(snapshot: Snapshot, rows: Sequence[Mapping[str, Any]]) -> dict[str, Wider]:
    """The text around each text unit row, by id, as ``search.expand`` says; none when it is off.

    Rows are best first: a text unit that stands in the text around an earlier one is in no
    other. Nothing beyond ``search.expand_tokens``, or outside a filter, is taken in.
    """
    options = snapshot.settings.search
    if options.expand == "none" or not rows:
        return {}
    documents = list(dict.fromkeys(row["document_id"] for row in rows))
    beside = snapshot.store.where("text_units", "document_id", documents, _AROUND).to_dicts()
    if snapshot.selection is not None:
        beside = [unit for unit in beside if unit["id"] in snapshot.selection.unit_ids]
    places = {(unit["document_id"], unit["index"]): unit for unit in beside}
    by_id = {unit["id"]: unit for unit in beside}
    found = snapshot.store.where("documents", "id", documents, ("id", "text"))
    texts = dict(found.select("id", "text").iter_rows())
    page_starts = snapshot.page_starts(documents)
    wider: dict[str, Wider] = {}
    taken: set[str] = set()
    for row in rows:
        own = by_id.get(row["id"])
        if own is None or own["id"] in taken:
            continue
        chosen = _around(own, places, taken, options.expand == "parent", options.expand_tokens)
        taken.update(unit["id"] for unit in chosen)
        start = min(unit["char_start"] for unit in chosen)
        end = max(unit["char_end"] for unit in chosen)
        text = texts.get(row["document_id"], "")[start:end]
        if len(chosen) > 1 and text:
            parts = tuple(_part(unit) for unit in chosen)
            first, last = parts[0].page, max(part.page_end or 0 for part in parts) or None
            breaks = tuple(page_starts[row["document_id"]][first or 0 : last or 0])
            wider[own["id"]] = Wider(text, start, end, parts, first, last, breaks)
    return wider


def _around(
    own: Mapping[str, Any],
    places: Mapping[tuple[str, int], Mapping[str, Any]],
    taken: set[str],
    in_section: bool,
    budget: int,
) -> list[Mapping[str, Any]]:
    """The unit with those after and before it by turns, in the order of the text, as long as
    they fit; ``in_section``: those of the same parent, or under the same headings."""

    def belongs(unit: Mapping[str, Any]) -> bool:
        if not in_section:
            return True
        if own["parent_id"] is not None:
            return bool(unit["parent_id"] == own["parent_id"])
        return list(unit["heading_path"] or []) == list(own["heading_path"] or [])

    chosen, spent = [own], own["n_tokens"]
    ends = {1: own["index"], -1: own["index"]}
    while ends:
        for way in (1, -1):
            if way not in ends:
                continue
            unit = places.get((own["document_id"], ends[way] + way))
            fits = unit is not None and spent + unit["n_tokens"] <= budget
            if unit is None or not fits or unit["id"] in taken or not belongs(unit):
                del ends[way]
                continue
            spent += unit["n_tokens"]
            ends[way] += way
            chosen.append(unit)
    return sorted(chosen, key=lambda unit: int(unit["index"]))


def _part(unit: Mapping[str, Any]) -> Part:
    heading = " › ".join(unit["heading_path"] or [])
    first, last = unit["page_start"], unit["page_end"]
    return Part(unit["id"], unit["char_start"], unit["char_end"], heading, first, last)
