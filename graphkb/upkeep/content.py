"""Checks of what a version holds: its tables, their ids, the graph arrays, the indexes."""

from __future__ import annotations

from functools import partial

import numpy as np
import polars as pl

from graphkb.errors import StoreError
from graphkb.graph.build import build_graph
from graphkb.graph.rows import TABLES as ROW_TABLES
from graphkb.graph.rows import row_arrays
from graphkb.search.vocabulary import build_vocabulary
from graphkb.store.arrays import read_arrays
from graphkb.tables import TABLES
from graphkb.upkeep.case import Case, Finding, Found

_AGAIN = "graphkb doctor --repair, then graphkb index makes it again"

# (table, column, table it points to, column there); -1 points nowhere.
REFERENCES = (
    ("text_units", "document_id", "documents", "id"),
    ("mention_evidence", "text_unit_id", "text_units", "id"),
    ("relationship_evidence", "text_unit_id", "text_units", "id"),
    ("claim_evidence", "text_unit_id", "text_units", "id"),
    ("mentions", "entity_id", "entities", "id"),
    ("mentions", "text_unit_id", "text_units", "id"),
    ("relationships", "source_id", "entities", "id"),
    ("relationships", "target_id", "entities", "id"),
    ("relationships", "source", "entities", "title"),
    ("relationships", "target", "entities", "title"),
    ("relationships", "text_unit_ids", "text_units", "id"),
    ("covariates", "text_unit_id", "text_units", "id"),
    ("covariates", "subject_id", "entities", "title"),
    ("covariates", "object_id", "entities", "title"),
    ("merges", "into", "entities", "title"),
    ("nodes", "entity_id", "entities", "id"),
    ("nodes", "community", "communities", "community"),
    ("communities", "entity_ids", "entities", "id"),
    ("communities", "parent", "communities", "community"),
    ("communities", "children", "communities", "community"),
    ("community_reports", "community", "communities", "community"),
    ("community_reports", "parent", "communities", "community"),
    ("community_reports", "children", "communities", "community"),
    ("search_texts", "id", "text_units", "id"),
    ("questions", "text_unit_id", "text_units", "id"),
    ("vectors", "id", "text_units", "id"),
)  # fmt: skip
# The other way round: every row there has one here; of communities those of report.min_size.
COMPLETE = (
    ("search_texts", "id", "text_units", "id"),
    ("nodes", "entity_id", "entities", "id"),
    ("community_reports", "community", "communities", "community"),
)
# Columns that say which rows these are.
_SIZES = {"communities": ("size",)}


_SPANS = {
    "documents": ("id", "text"),
    "text_units": ("id", "document_id", "char_start", "char_end", "text"),
}


def check_tables(case: Case) -> Found:
    """Every table opens at its version, its ids can be read, and it has as many rows as the
    manifest says."""
    whole = 0
    for name in sorted(case.manifest.tables):
        folder = case.store.path / f"{name}.lance"
        what = "the table's folder is missing"
        if folder.is_dir():
            what = _damage(case, name)
        if what:
            finding = Finding("tables", False, str(folder), what, _AGAIN)
            yield finding, partial(case.lose, name)
        whole += not what
    if whole == len(case.manifest.tables):
        what = f"{whole} tables open at version {case.manifest.version}"
        yield Finding("tables", True, str(case.store.path), what), None


def _damage(case: Case, name: str) -> str:
    """What is wrong with a table; empty when nothing is."""
    pointing = [column for table, column, _, _ in REFERENCES if table == name]
    pointed = [key for _, _, table, key in REFERENCES if table == name]
    columns = dict.fromkeys([*TABLES[name].key, *pointing, *pointed, *_SIZES.get(name, ())])
    try:
        frame = case.store.read(name, list(columns))
    except StoreError as error:
        prefix = f"{case.store.path / name}.lance: "
        return str(error).removeprefix(prefix).split("; run graphkb doctor")[0]
    stated = case.manifest.counts.get(name, frame.height)
    if stated != frame.height:
        return f"has {frame.height} rows, the manifest says {stated}"
    case.frames[name] = frame
    return ""


def check_references(case: Case) -> Found:
    """No id points to a row that is not there, and no row is without those made for it."""
    problems = 0
    for table, column, other, key in REFERENCES:
        if table in case.frames and other in case.frames:
            ids = _distinct(case.frames[table], column)
            missing = ids.join(_distinct(case.frames[other], key), on="id", how="anti")
            if missing.height:
                problems += 1
                what = f"{missing.height} values are in no {other}.{key}, such as "
                what += str(missing["id"].sort()[0])
                finding = Finding("references", False, f"{table}.{column}", what, _AGAIN)
                yield finding, partial(case.again, table)
    for table, column, other, key in COMPLETE:
        if table in case.frames and other in case.frames:
            ids = _distinct(_complete(case, table, case.frames[other]), key)
            missing = ids.join(_distinct(case.frames[table], column), on="id", how="anti")
            if missing.height:
                problems += 1
                what = f"{missing.height} rows of {other} have none here"
                finding = Finding("references", False, table, what, _AGAIN)
                yield finding, partial(case.again, table)
    if not problems:
        what = f"{len(REFERENCES)} id columns point to rows that are there"
        yield Finding("references", True, str(case.store.path), what), None


def check_spans(case: Case) -> Found:
    """Every text unit is the piece of its document that it says: what answers quote and cite."""
    if not {"documents", "text_units"} <= case.frames.keys():
        return
    read: dict[str, pl.DataFrame] = {}
    for name, columns in _SPANS.items():
        try:
            read[name] = case.store.read(name, columns)
        except StoreError as error:
            what = str(error).split("; run graphkb doctor")[0]
            yield Finding("spans", False, name, what, _AGAIN), partial(case.lose, name)
            return
    text_of = dict(read["documents"].iter_rows())
    wrong = sorted(
        unit_id
        for unit_id, document_id, start, end, text in read["text_units"].iter_rows()
        if document_id in text_of and text_of[document_id][start:end] != text
    )
    if wrong:
        what = f"{len(wrong)} rows are no piece of their document, such as {wrong[0]}"
        finding = Finding("spans", False, "text_units.text", what, _AGAIN)
        yield finding, partial(case.again, "text_units")
    else:
        what = f"{case.frames['text_units'].height} text units are pieces of their documents"
        yield Finding("spans", True, str(case.store.path), what), None


def _complete(case: Case, table: str, frame: pl.DataFrame) -> pl.DataFrame:
    """Rows of ``frame`` that ``table`` must have one for, by the settings it was made with."""
    if table != "community_reports":
        return frame
    report = case.manifest.notes.get("settings", {}).get("report", {})
    return frame.filter(pl.col("size") >= report.get("min_size", case.settings.report.min_size))


def _distinct(frame: pl.DataFrame, column: str) -> pl.DataFrame:
    values = frame.select(pl.col(column).alias("id"))
    if isinstance(values.schema["id"], pl.List):
        values = values.explode("id")
    values = values.drop_nulls().unique()
    return values.filter(pl.col("id") != -1) if values.schema["id"] == pl.Int64 else values


def check_arrays(case: Case) -> Found:
    """The graph arrays are all there and belong to the tables."""
    where = str(case.output / (case.manifest.graph or "graph"))
    if not case.manifest.graph:
        yield Finding("graph", False, where, "not made yet", "graphkb index makes it"), None
        return

    def mend() -> str:
        case.no_arrays = True
        return "graphkb index will make them again"

    what = _array_damage(case)
    if what:
        yield Finding("graph", False, where, what, _AGAIN.replace("it", "them")), mend
    else:
        yield Finding("graph", True, where, "the arrays fit the tables"), None


def _array_damage(case: Case) -> str:
    folder = case.output / case.manifest.graph
    try:
        arrays = read_arrays(case.output, case.manifest.graph)
    except StoreError as error:
        what = str(error).split("; run graphkb doctor")[0]
        return what.removeprefix(str(folder)).lstrip("/\\: ")
    if altered := arrays.altered():
        return f"other bytes than were written: {', '.join(f'{name}.npy' for name in altered)}"
    if missing := sorted(_array_names() - arrays.keys()):
        return f"{', '.join(f'{name}.npy' for name in missing)}: is missing"
    for key, name in (("unit_ids", "text_units"), ("entity_ids", "entities")):
        if name in case.frames:
            ids = np.array([i.encode() for i in case.frames[name]["id"].sort()], dtype=bytes)
            if not np.array_equal(arrays[key], ids):
                return f"{key}.npy: other {name} than the table's"
    nodes = len(arrays["unit_ids"]) + len(arrays["entity_ids"])
    edges = len(arrays["indices"])
    if len(arrays["indptr"]) != nodes + 1 or int(arrays["indptr"][-1]) != edges:
        return f"indptr.npy does not fit {nodes} nodes and {edges} edges"
    if len(arrays["weights"]) != edges or len(arrays["strength"]) != nodes:
        return f"weights.npy or strength.npy does not fit {nodes} nodes and {edges} edges"
    if edges and int(arrays["indices"].max()) >= nodes:
        return "indices.npy points to nodes that are not there"
    return ""


def _array_names() -> set[str]:
    """Names of the arrays a version has, by making those of nothing."""
    texts = TABLES["search_texts"].empty()
    arrays = build_graph(
        TABLES["entities"].empty(),
        TABLES["mentions"].empty(),
        TABLES["relationships"].empty(),
        TABLES["text_units"].empty(),
        texts,
    )
    rows = row_arrays(*(TABLES[name].empty() for name in ROW_TABLES))
    return {*arrays, *rows, *build_vocabulary(texts)}


def check_indexes(case: Case) -> Found:
    """The full-text index is there, and every index opens."""
    for name in sorted(case.frames):
        where = str(case.store.path / f"{name}.lance")
        try:
            indexed = case.store.check_indexes(name)
        except StoreError as error:
            what = str(error).removeprefix(f"{where}: ").split("; run graphkb doctor")[0]
            yield Finding("indexes", False, where, what, _AGAIN), partial(case.lose, name)
            continue
        if name == "search_texts" and case.frames[name].height:
            if "tokens" in indexed:
                yield Finding("indexes", True, where, "the full-text index is there"), None
            else:
                advice = "graphkb doctor --repair builds it"
                finding = Finding("indexes", False, where, "no full-text index", advice)
                yield finding, partial(_build_index, case, name)


def _build_index(case: Case, name: str) -> str:
    text = case.manifest.notes.get("settings", {}).get("text", {})
    case.store.index(name, bool(text.get("stemming")))
    return "built"
