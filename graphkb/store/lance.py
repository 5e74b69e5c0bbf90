"""Tables in LanceDB: read at a version, write only the rows that changed, search."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from graphkb.errors import StoreError
from graphkb.store.arrow import from_arrow, to_arrow
from graphkb.tables import TABLES, Table

if TYPE_CHECKING:
    import lancedb

FOLDER = "lancedb"

# Above this share of changed rows a table is written anew: cheaper than many small deletes.
_REWRITE_SHARE = 0.3

# Below this many rows a flat scan beats an index (measured; see DESIGN 13), and indexes of a
# handful of vectors cannot be trained at all.
SCALAR_INDEX_ROWS = 10_000
VECTOR_INDEX_ROWS = 20_000

# Before a commit no version may go, however old: the last manifest still names it.
_FOREVER = timedelta(days=36_500)
# Lance drops versions by age. What is needed is this much older than what may go, so that
# rounding of times never decides.
_MARGIN = timedelta(seconds=1)
# A table without an index is compacted when small changes left it in more pieces than this.
_MOST_FRAGMENTS = 16

_RUST_PLACE = re.compile(r", /\S+\.rs:\d+")

_SCALAR_INDEXES: dict[str, tuple[str, ...]] = {
    "documents": ("id",),
    "text_units": ("id",),
    "entities": ("id",),
    "nodes": ("entity_id",),
    "relationships": ("source_id", "target_id"),
    "mentions": ("text_unit_id", "entity_id"),
    "covariates": ("text_unit_id",),
}


def quoted(values: Iterable[str]) -> str:
    """A SQL list of string literals; quotes inside are doubled.

    >>> quoted(["a", "x' OR '1'='1"])
    "('a', 'x'' OR ''1''=''1')"
    """
    return "(" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + ")"


def _literals(table: Table, column: str, values: Sequence[str]) -> str:
    if table.schema[column] == pl.Int64():
        return "(" + ", ".join(str(int(value)) for value in values) + ")"
    return quoted(values)


class Store:
    """The LanceDB database in an output folder.

    ``tables`` pins table versions (a manifest's) and ``folder`` says where below ``output`` they
    are; a table that is not pinned does not exist. Writing methods move the pins;
    :class:`~graphkb.store.manifest.Manifest` commits them.
    """

    def __init__(self, output: Path, tables: Mapping[str, int], folder: str = FOLDER) -> None:
        self.output = output
        self.folder = folder
        self.path = output / folder
        self.tables = dict(tables)
        self._opened: dict[str, tuple[int, Any]] = {}
        self._database: lancedb.DBConnection | None = None

    def _connect(self) -> lancedb.DBConnection:
        if self._database is None:
            # LanceDB's Rust side warns on standard error about its own future API.
            os.environ.setdefault("LANCEDB_LOG", "error")
            import lancedb

            self._database = lancedb.connect(str(self.path), read_consistency_interval=timedelta(0))
        return self._database

    def open(self, name: str) -> Any:
        """The Lance table at its pinned version. Raises StoreError when it cannot be opened."""
        version = self.tables[name]
        known = self._opened.get(name)
        if known is not None and known[0] == version:
            return known[1]
        with _explained(self.path, name):
            table = self._connect().open_table(name)
            table.checkout(version)
        self._opened[name] = (version, table)
        return table

    def has(self, name: str) -> bool:
        """True when the table exists in this version."""
        return name in self.tables

    def count(self, name: str) -> int:
        """Rows of a table; 0 when it does not exist."""
        return int(self.open(name).count_rows()) if self.has(name) else 0

    def read(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A whole table as a frame, sorted by its key; empty with all columns when missing."""
        table = TABLES[name]
        if not self.has(name):
            return table.empty().select(list(columns or table.schema))
        with _explained(self.path, name):
            arrow = self.open(name).search().select(list(columns or table.schema)).limit(None)
            frame = from_arrow(arrow.to_arrow())
        return frame if columns else table.conform(frame)

    def where(
        self, name: str, column: str, values: Iterable[str], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose ``column`` is one of ``values``, in no particular order."""
        wanted = list(dict.fromkeys(values))
        selected = list(columns or TABLES[name].schema)
        if not wanted or not self.has(name):
            return TABLES[name].empty().select(selected)
        with _explained(self.path, name):
            query = self.open(name).search().where(f"{column} IN {quoted(wanted)}")
            return from_arrow(query.select(selected).limit(None).to_arrow())

    def where_numbers(
        self, name: str, column: str, values: Iterable[int], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose integer ``column`` is one of ``values``, in no particular order."""
        wanted = [str(value) for value in dict.fromkeys(values)]
        selected = list(columns or TABLES[name].schema)
        if not wanted or not self.has(name):
            return TABLES[name].empty().select(selected)
        with _explained(self.path, name):
            clause = f"{column} IN {_literals(TABLES[name], column, wanted)}"
            return from_arrow(
                self.open(name).search().where(clause).select(selected).limit(None).to_arrow()
            )

    def write(
        self,
        name: str,
        frame: pl.DataFrame,
        dimension: int | None = None,
        old: pl.DataFrame | None = None,
    ) -> bool:
        """Make the stored table equal ``frame``; True when anything changed.

        Only groups of rows (one id, or one text unit) that differ are deleted and added. ``old``
        is what :meth:`read` gives, for those who have it already.
        """
        table = TABLES[name]
        frame = table.conform(frame)
        if not self.has(name):
            self._overwrite(name, frame, dimension)
            return True
        old = self.read(name) if old is None else old
        removed, added = changed_groups(table, old, frame)
        if not removed and not added:
            return False
        group = table.key[0]
        if (len(removed) + len(added)) > _REWRITE_SHARE * max(old[group].n_unique(), 1):
            self._overwrite(name, frame, dimension)
            return True
        with _explained(self.path, name):
            live = self._writable(name)
            stale = [*removed]
            for start in range(0, len(stale), 1000):
                live.delete(f"{group} IN {_literals(table, group, stale[start : start + 1000])}")
            fresh = frame.filter(pl.col(group).cast(pl.String).is_in(added))
            if fresh.height:
                live.add(to_arrow(name, fresh, dimension))
            if live.list_indices() or _pieces(live) > _MOST_FRAGMENTS:
                live.optimize(cleanup_older_than=_FOREVER)
            self._pin(name, live)
        return True

    def _writable(self, name: str) -> Any:
        """The table at its newest version, rolled back first if an unfinished run left more."""
        live = self._connect().open_table(name)
        if live.version != self.tables[name]:
            live.checkout(self.tables[name])
            live.restore()
        return live

    def _overwrite(self, name: str, frame: pl.DataFrame, dimension: int | None) -> None:
        with _explained(self.path, name):
            data = to_arrow(name, frame, dimension)
            live = self._connect().create_table(name, data, mode="overwrite")
            self._pin(name, live)

    def _pin(self, name: str, live: Any) -> None:
        self.tables[name] = int(live.version)
        self._opened.pop(name, None)

    def index(self, name: str) -> None:
        """Build the indexes a table needs at its size, where they are not there yet."""
        from lancedb.index import FTS, BTree, HnswSq

        live = self._writable(name)
        rows = live.count_rows()
        have = {column for entry in live.list_indices() for column in entry.columns}
        with _explained(self.path, name):
            if name == "search_texts" and rows and "tokens" not in have:
                live.create_index(
                    "tokens",
                    config=FTS(
                        base_tokenizer="whitespace",
                        lower_case=False,
                        stem=False,
                        remove_stop_words=False,
                        ascii_folding=False,
                        with_position=False,
                        max_token_length=200,
                    ),
                )
            if name == "vectors" and rows >= VECTOR_INDEX_ROWS and "vector" not in have:
                live.create_index("vector", config=HnswSq(distance_type="dot"))
            if rows >= SCALAR_INDEX_ROWS:
                for column in _SCALAR_INDEXES.get(name, ()):
                    if column not in have:
                        live.create_index(column, config=BTree())
            if live.version != self.tables[name]:
                self._pin(name, live)

    def check_indexes(self, name: str) -> list[str]:
        """Columns with an index. Each is asked something, for only that opens its files: raises
        StoreError when one cannot be."""
        with _explained(self.path, name):
            live = self.open(name)
            columns = sorted({column for entry in live.list_indices() for column in entry.columns})
            width = live.schema.field("vector").type.list_size if "vector" in columns else 0
        for column in columns:
            if column == "tokens":
                self.search_text(["?"], 1)
            elif column == "vector":
                self.search_vector(np.ones(width, np.float32), 1)
            else:
                self.where(name, column, ["?"], [column])
        return columns

    def search_text(self, tokens: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Text unit ids by BM25 over ``tokens`` (any of them), best first, ties by id."""
        if not tokens or not self.count("search_texts"):
            return []
        from lancedb.query import MatchQuery

        query = MatchQuery(" ".join(tokens), "tokens")  # type: ignore[call-arg]
        with _explained(self.path, "search_texts"):
            found = (
                self.open("search_texts")
                .search(query, query_type="fts")
                .select(["id", "_score"])
                .limit(limit)
                .to_arrow()
            )
        pairs = zip(found["id"].to_pylist(), found["_score"].to_pylist(), strict=True)
        return sorted(((i, float(s)) for i, s in pairs if s > 0), key=lambda p: (-p[1], p[0]))

    def search_vector(
        self, vector: np.ndarray, limit: int, language: str | None = None
    ) -> list[tuple[str, float]]:
        """Text unit ids by cosine similarity (vectors have unit length), best first, ties by id;
        only those in ``language`` when it is given."""
        if not self.count("vectors"):
            return []
        with _explained(self.path, "vectors"):
            query = self.open("vectors").search(vector.astype(np.float32)).distance_type("dot")
            if language is not None:
                query = query.where(f"language IN {quoted([language])}", prefilter=True)
            found = query.select(["id", "_distance"]).limit(limit).to_arrow()
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        # Lance reports the dot distance as 1 - dot product.
        return sorted(((i, 1.0 - float(d)) for i, d in pairs), key=lambda p: (-p[1], p[0]))

    def compact(self, name: str) -> bool:
        """Join a table's small pieces and drop deleted rows for good; True when that moved the
        pin. No version goes: what is committed still names the old one."""
        with _explained(self.path, name):
            live = self._writable(name)
            before = live.version
            live.optimize(cleanup_older_than=_FOREVER)
            if live.version == before == self.tables[name]:
                return False
            self._pin(name, live)
        return True

    def clean_up(self, names: Iterable[str], needed: Mapping[str, int]) -> None:
        """Drop versions of tables older than the one in ``needed`` (default: the pinned one).

        Call right after a commit, with the oldest version any kept manifest of this folder names.
        """
        for name in names:
            with _explained(self.path, name):
                live = self._connect().open_table(name)
                oldest = min(needed.get(name, self.tables[name]), self.tables[name])
                age = self._age(live, name, oldest)
                if age is not None:
                    live.optimize(cleanup_older_than=age + _MARGIN)

    def _age(self, live: Any, name: str, version: int) -> timedelta | None:
        """How long ago a version was made; None when it is the first one, or not there."""
        known = {int(entry["version"]): entry["timestamp"] for entry in live.list_versions()}
        if version not in known or version == min(known):
            return None
        return timedelta(seconds=max(time.time() - known[version].timestamp(), 0.0))

    def sizes(self) -> dict[str, int]:
        """Bytes on disk by table."""
        base = self.path
        return {
            name: sum(f.stat().st_size for f in (base / f"{name}.lance").rglob("*") if f.is_file())
            for name in sorted(self.tables)
        }


def _pieces(live: Any) -> int:
    return int(live.stats()["fragment_stats"]["num_fragments"])


def changed_groups(
    table: Table, old: pl.DataFrame, new: pl.DataFrame
) -> tuple[list[str], list[str]]:
    """Group values (first key column) to delete and to add so that ``old`` becomes ``new``.

    A group whose rows differ stands in both lists. Values are given as strings, sorted.
    """
    group = table.key[0]
    rest = [column for column in table.schema if column != group]

    def digest(frame: pl.DataFrame) -> pl.DataFrame:
        return (
            frame.select(pl.col(group).cast(pl.String), pl.struct(rest).hash(seed=7).alias("h"))
            .group_by(group)
            .agg(pl.col("h").sort(), pl.len().alias("n"))
            .select(group, pl.struct("h", "n").hash(seed=7).alias("digest"))
        )

    joined = digest(old).join(
        digest(new), on=group, how="full", coalesce=True, suffix="_new", nulls_equal=True
    )
    removed = joined.filter(
        pl.col("digest").is_not_null() & pl.col("digest").ne_missing(pl.col("digest_new"))
    )
    added = joined.filter(
        pl.col("digest_new").is_not_null() & pl.col("digest").ne_missing(pl.col("digest_new"))
    )
    return sorted(removed[group].to_list()), sorted(added[group].to_list())


@contextmanager
def _explained(folder: Path, name: str) -> Iterator[None]:
    """Turn what LanceDB raises into one line that names the table and the way out."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder / name}.lance: {_first_line(error)}; check space and permissions"
        ) from error
    except (RuntimeError, ValueError, KeyError) as error:
        raise StoreError(
            f"{folder / name}.lance: {_first_line(error)}; "
            "run graphkb doctor --repair, or index with --rebuild"
        ) from error


def _first_line(error: Exception) -> str:
    """What Lance says without the places in its source code."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return _RUST_PLACE.split(line)[0].replace("Wrapped error: ", "")[:300]
