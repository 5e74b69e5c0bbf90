"""The documents that a filter lets through, and a snapshot narrowed to them.

A filter is decided once a version: over the documents' columns and metadata, and over the text
units where it speaks of them. What follows is a set of text unit ids that the store takes as a
prefilter (:mod:`graphkb.store.narrowed`) and the graph leg as a mask, so that ``top_k`` hits are
``top_k`` hits that match.
"""

from __future__ import annotations

import copy
import difflib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import polars as pl

from graphkb.errors import UsageError
from graphkb.search.values import Scalar
from graphkb.search.where import Comparison, Filter, comparisons_of, parse_filter
from graphkb.store.narrowed import NarrowedStore

if TYPE_CHECKING:
    from graphkb.search.snapshot import Snapshot

DOCUMENT_KEYS = ("id", "title", "path", "language", "media_type", "creation_date", "n_pages")
"""Columns of ``documents`` that a filter may name."""
UNIT_KEYS = ("kind", "page", "heading")
"""What a filter may ask of a text unit: its kind, its pages, the headings above it."""
METADATA = "metadata."
"""Before a metadata key that is called like a column."""

_SHOWN = 5
_KEYS_SHOWN = 30
# Narrowed snapshots that are kept; a long-running server may see many filters.
_KEPT = 32


@dataclass(frozen=True)
class Selection:
    """What a filter lets through in one version.

    ``unit_ids`` are the text units of ``n_documents`` documents, of ``total`` in all.
    ``problem`` says, when there are none, why.
    """

    expression: str
    n_documents: int
    unit_ids: frozenset[str]
    total: int
    problem: str = ""
    _masks: dict[int, npt.NDArray[np.bool_]] = field(default_factory=dict, repr=False)

    def mask(self, unit_ids: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Which of the graph's text units (bytes, sorted) are let through."""
        key = len(unit_ids)
        if key not in self._masks:
            wanted = np.array([unit_id.encode() for unit_id in self.unit_ids], dtype="S")
            self._masks[key] = np.isin(unit_ids, wanted, assume_unique=True)
        return self._masks[key]

    def holds(self, unit_ids: Iterable[str]) -> bool:
        """Whether all that something rests on is let through."""
        return self.unit_ids.issuperset(unit_ids)


def narrow(snapshot: Snapshot, expression: str) -> Snapshot:
    """The same version, in which searches find only what the filter lets through.

    Raises UsageError for a filter that cannot be read or names a key that no document has.
    """
    kept = snapshot.narrowed
    known = kept.get(expression)
    if known is None or known.settings is not snapshot.settings:
        while len(kept) >= _KEPT:
            kept.pop(next(iter(kept)))
        kept[expression] = known = narrow_to(snapshot, select(snapshot, expression))
    return known


def narrow_to(snapshot: Snapshot, selection: Selection) -> Snapshot:
    """The same version, in which searches find only the selected text units."""
    # What is opened at first use is opened now, so that every narrowed snapshot shares it.
    _ = snapshot.graph, snapshot.vocabulary, snapshot.reranker, snapshot.dense_problem()
    others: frozenset[str] = frozenset()
    if 2 * len(selection.unit_ids) > selection.total:
        everything = snapshot.store.read("text_units", ("id",))["id"].to_list()
        others = frozenset(everything) - selection.unit_ids
    narrowed = copy.copy(snapshot)
    narrowed.selection, narrowed.whole = selection, snapshot
    narrowed.store = NarrowedStore(snapshot.store, selection.unit_ids, others, selection.total)
    return narrowed


def select(snapshot: Snapshot, expression: str) -> Selection:
    """The text units that a filter lets through. Raises UsageError as :func:`narrow` does."""
    wanted = parse_filter(expression)
    columns = (*DOCUMENT_KEYS, "metadata")
    documents = [_Document(row) for row in snapshot.store.read("documents", columns).to_dicts()]
    _check_keys(wanted, documents)
    units = snapshot.store.read("text_units", ("id", "document_id"))
    if any(comparison.key in UNIT_KEYS for comparison in comparisons_of(wanted)):
        chosen = _units_that_match(snapshot, wanted, documents)
    else:
        matching = [d.row["id"] for d in documents if wanted.holds(d.values)]
        chosen = units.filter(pl.col("document_id").is_in(matching))
    problem = "" if chosen.height else _nothing(expression, wanted, documents)
    return Selection(
        expression=expression,
        n_documents=chosen["document_id"].n_unique(),
        unit_ids=frozenset(chosen["id"].to_list()),
        total=units.height,
        problem=problem,
    )


class _Document:
    """A document's row, looked into by the keys of a filter."""

    def __init__(self, row: dict[str, Any]) -> None:
        self.row = row
        found = json.loads(row["metadata"] or "{}")
        self.metadata: dict[str, Any] = found if isinstance(found, dict) else {}

    def values(self, key: str) -> list[Scalar]:
        """What the document has for a key; empty where it lacks it."""
        if key in DOCUMENT_KEYS:
            return _flat(self.row[key])
        return _flat(_inside(self.metadata, key.removeprefix(METADATA)))

    def values_in(self, unit: Mapping[str, Any], key: str) -> list[Scalar]:
        """What one of its text units has for a key."""
        if key == "kind":
            return _flat(unit["kind"])
        if key == "heading":
            return _flat(unit["heading_path"])
        if key == "page":
            first, last = unit["page_start"], unit["page_end"]
            return [] if first is None else list(range(first, (last or first) + 1))
        return self.values(key)


def _inside(metadata: Mapping[str, Any], key: str) -> Any:
    """The value of a key, its case as written or else any; ``a.b`` also leads into an object."""
    if key in metadata:
        return metadata[key]
    folded = {name.casefold(): value for name, value in metadata.items()}
    if key.casefold() in folded:
        return folded[key.casefold()]
    outer, _, inner = key.partition(".")
    inside = metadata.get(outer)
    return _inside(inside, inner) if inner and isinstance(inside, dict) else None


def _flat(value: Any) -> list[Scalar]:
    if isinstance(value, list):
        return [inner for one in value for inner in _flat(one)]
    return [value] if isinstance(value, str | int | float) and value != "" else []


def _units_that_match(
    snapshot: Snapshot, wanted: Filter, documents: Sequence[_Document]
) -> pl.DataFrame:
    """id and document_id of the text units that pass."""
    by_id = {document.row["id"]: document for document in documents}
    columns = ("id", "document_id", "kind", "heading_path", "page_start", "page_end")
    units = snapshot.store.read("text_units", columns)
    passed = [
        row["document_id"] in by_id
        and wanted.holds(partial(by_id[row["document_id"]].values_in, row))
        for row in units.iter_rows(named=True)
    ]
    return units.filter(pl.Series(passed, dtype=pl.Boolean)).select("id", "document_id")


def _check_keys(wanted: Filter, documents: Sequence[_Document]) -> None:
    """Raises UsageError for a key that is no column and in no document's metadata."""
    counts = Counter(name for d in documents for name in d.metadata)
    known = [*DOCUMENT_KEYS, *UNIT_KEYS, *(name for name, _ in counts.most_common())]
    for comparison in comparisons_of(wanted):
        if comparison.key in known or any(
            _inside(d.metadata, comparison.key.removeprefix(METADATA)) is not None
            for d in documents
        ):
            continue
        near = difflib.get_close_matches(comparison.key.casefold(), known, n=1, cutoff=0.6)
        hint = f"did you mean {near[0]!r}? " if near else ""
        more = f" and {len(known) - _KEYS_SHOWN} more" if len(known) > _KEYS_SHOWN else ""
        raise UsageError(
            f"filter: unknown key {comparison.key!r} at character {comparison.position}; {hint}"
            f"known: {', '.join(known[:_KEYS_SHOWN])}{more}"
        )


def _nothing(expression: str, wanted: Filter, documents: Sequence[_Document]) -> str:
    """Why nothing passes: the first comparison that no document passes, and what there is."""
    told = f"no document matches the filter {expression}"
    for comparison in comparisons_of(wanted):
        if comparison.key not in UNIT_KEYS and not any(
            comparison.holds(d.values) for d in documents
        ):
            return f"{told}{_instead(comparison, documents)}"
    return told


def _instead(comparison: Comparison, documents: Sequence[_Document]) -> str:
    counts = Counter(
        str(value) for d in documents for value in dict.fromkeys(d.values(comparison.key))
    )
    given = str(comparison.values[0]) if comparison.values else ""
    near = difflib.get_close_matches(given, counts, n=_SHOWN, cutoff=0.6)
    common = [value for value, _ in counts.most_common(_SHOWN)]
    shown = list(dict.fromkeys([*near, *common]))[:_SHOWN]
    more = ", …" if len(counts) > len(shown) else ""
    return f"; {comparison.key} is {', '.join(map(repr, shown))}{more}" if shown else ""
