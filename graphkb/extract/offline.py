"""Extraction without a model: text units to evidence of mentions, relationships and claims."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import types
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import connection

import polars as pl

from graphkb.extract.terms import terms_in_units
from graphkb.extract.unit import Evidence, TermHit, extract_unit
from graphkb.settings import Extract
from graphkb.tables import TABLES

_CHUNK = 200
_PARALLEL_FROM = 1_000

Row = tuple[str, str, str, list[TermHit]]


@dataclass(frozen=True)
class Extraction:
    """Evidence tables of some text units, in table order, without doubles."""

    mentions: pl.DataFrame
    relationships: pl.DataFrame
    claims: pl.DataFrame


def extract_units(
    text_units: pl.DataFrame,
    terms: pl.DataFrame,
    options: Extract,
    progress: Callable[[int, int], None] | None = None,
) -> Extraction:
    """Evidence of every unit. What a unit gives depends only on its row and its term hits.

    Reads the columns ``id``, ``text`` and ``context``. From 1,000 units on the work is shared
    out over processes; the result is the same for any number of them. ``progress`` is called
    with the units done and all units.
    """
    hits: dict[str, list[TermHit]] = {}
    for unit_id, term, start, end in terms_in_units(text_units, terms).iter_rows():
        hits.setdefault(unit_id, []).append((term, start, end))
    rows: list[Row] = [
        (unit_id, text, above or "", hits.get(unit_id, []))
        for unit_id, text, above in text_units.select("id", "text", "context").iter_rows()
    ]
    chunks = [rows[i : i + _CHUNK] for i in range(0, len(rows), _CHUNK)]
    workers = min(options.workers or os.cpu_count() or 1, len(chunks))
    if len(rows) < _PARALLEL_FROM or workers < 2 or multiprocessing.parent_process():
        made: Iterator[Evidence] = (extract_rows(chunk, options.claims) for chunk in chunks)
    else:
        made = _in_processes(chunks, workers, options.claims)
    parts: list[Evidence] = []
    for number, part in enumerate(made, start=1):
        parts.append(part)
        if progress is not None:
            progress(min(number * _CHUNK, len(rows)), len(rows))
    return Extraction(
        _frame("mention_evidence", [row for part in parts for row in part.mentions]),
        _frame("relationship_evidence", [row for part in parts for row in part.relationships]),
        _frame("claim_evidence", [row for part in parts for row in part.claims]),
    )


def extract_rows(rows: list[Row], with_claims: bool) -> Evidence:
    """Evidence of some units given as (id, text, context, term hits)."""
    evidence = Evidence()
    for unit_id, text, above, hits in rows:
        extract_unit(unit_id, text, above, hits, with_claims, evidence)
    return evidence


def _in_processes(chunks: list[list[Row]], workers: int, with_claims: bool) -> Iterator[Evidence]:
    """The chunks' evidence in order. Spawned, because polars and LanceDB do not survive a fork."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        futures: list[Future[Evidence]] = []
        with _without_main_module():
            for chunk in chunks:
                futures.append(pool.submit(extract_rows, chunk, with_claims))
        for future in futures:
            yield future.result()


def _end_with_parent() -> None:
    """Make this process end when the one that started it is killed: it would wait for ever."""
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        connection.wait([parent.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def _without_main_module() -> Iterator[None]:
    """Hide the caller's script while processes start.

    A spawned process imports the script it comes from, so a user's script that calls ``index``
    without an ``if __name__ == "__main__"`` guard would run itself again in every process.
    """
    main = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


def _frame(name: str, records: Sequence[tuple[object, ...]]) -> pl.DataFrame:
    table = TABLES[name]
    frame = table.of_rows(records)
    # Doubles differ at most in columns outside the key; sorting by every column first makes
    # the one that stays independent of the order in which they were found.
    return frame.sort(list(table.schema)).unique(list(table.key), keep="first", maintain_order=True)
