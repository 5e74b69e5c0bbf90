"""Tables in LanceDB: read at a version, write only the rows that changed."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from datetime import timedelta
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from graphkb.forked import check_not_forked
from graphkb.store.arrow import from_arrow, to_arrow
from graphkb.store.changes import changed_groups
from graphkb.store.database import connect, connect_for_reading, explained, wait_for
from graphkb.store.kept import KeptTable
from graphkb.tables import TABLES, Table

if TYPE_CHECKING:
    import lancedb

FOLDER = "lancedb"

# Above this share of changed rows a table is written anew: cheaper than many small deletes.
_REWRITE_SHARE = 0.3

# Tables of so many rows are held in memory by who looks rows up in them more than once: every
# look-up in the store is a query of its own.
_KEPT_ROWS = 20_000

# But not texts of whole documents, which have any length.
_NEVER_KEPT = ("documents", "text")

# Before a commit no version may go, however old: the last manifest still names it.
_FOREVER = timedelta(days=36_500)
# Lance drops versions by age. What is needed is this much older than what may go, so that
# rounding of times never decides.
_MARGIN = timedelta(seconds=1)
# Columns whose index is brought up to date with every change.
_INDEXED = ("tokens", "vector")
# A table without one is compacted when small changes left it in more pieces than this.
_MOST_FRAGMENTS = 16


def quoted(values: Iterable[str]) -> str:
    """A SQL list of string literals; quotes inside are doubled.

    >>> quoted(["a", "x' OR '1'='1"])
    "('a', 'x'' OR ''1''=''1')"
    """
    return "(" + ", ".join("'" + value.replace("'", "''") + "'" for value in values) + ")"


def literals(table: Table, column: str, values: Iterable[str | int]) -> str:
    """A SQL list of literals of a column's type."""
    if table.schema[column] == pl.Int64():
        return "(" + ", ".join(str(int(value)) for value in values) + ")"
    return quoted(map(str, values))


class StoredTables:
    """Tables of the LanceDB database in an output folder, at their versions.

    ``tables`` pins table versions (a manifest's) and ``folder`` says where below ``output`` they
    are; a table that is not pinned does not exist. Writing methods move the pins;
    :class:`~graphkb.store.manifest.Manifest` commits them.
    """

    def __init__(self, output: Path, tables: Mapping[str, int], folder: str = FOLDER) -> None:
        self.output = output
        self.folder = folder
        self.path = output / folder
        self._tables = dict(tables)
        self._later: dict[str, Callable[[], None]] = {}
        self._behind: Future[None] | None = None
        self._opened: dict[str, tuple[int, lancedb.AsyncTable]] = {}
        self._kept: dict[tuple[str, str, tuple[str, ...]], KeptTable] = {}
        self._counts: dict[tuple[str, int], int] = {}
        self._database: lancedb.DBConnection | None = None
        self._readers: lancedb.AsyncConnection | None = None

    @property
    def tables(self) -> dict[str, int]:
        """Pinned versions by table, when all that was put off is written. Raises UsageError in
        a forked process, where no table can be read."""
        check_not_forked()
        while self._later or self._behind is not None:
            behind, self._behind = self._behind, None
            if behind is None:
                self._write_first()
            else:
                behind.result()
        return self._tables

    def write_next(self) -> bool:
        """Write one of the tables that :meth:`write` put off; False when none is left, or
        :meth:`write_behind` is at it."""
        if not self._later or (self._behind is not None and not self._behind.done()):
            return False
        self._write_first()
        return True

    def write_behind(self) -> None:
        """Write what was put off on another thread, where the database was opened before.
        :attr:`tables` waits for it, and raises what went wrong."""
        # A connection that is asked for its truth lists its tables.
        if (self._database is None and self._readers is None) or not self._later:
            return
        if self._behind is not None:
            if not self._behind.done():
                return
            self._behind.result()
        thread = ThreadPoolExecutor(1, "graphkb-tables")
        self._behind = thread.submit(self._write_all)
        thread.shutdown(wait=False)

    def settle(self) -> None:
        """Write nothing more of what was put off, and wait for what is being written."""
        self._later = {}
        if self._behind is not None:
            wait([self._behind])

    def _write_all(self) -> None:
        while self._later:
            self._write_first()

    def _write_first(self) -> None:
        later = self._later
        name = next(iter(later), None)
        if name is not None:
            later[name]()
            later.pop(name)

    def _connect(self) -> lancedb.DBConnection:
        if self._database is None:
            self._database = connect(self.path)
        return self._database

    def open(self, name: str) -> lancedb.AsyncTable:
        """The Lance table at its pinned version, for :func:`~graphkb.store.database.wait_for`.
        Raises StoreError when it cannot be opened."""
        version = self.tables[name]
        known = self._opened.get(name)
        if known is not None and known[0] == version:
            return known[1]
        if self._readers is None:
            self._readers = connect_for_reading(self.path)
        with explained(self.path, name):
            table = wait_for(_open_at(self._readers, name, version))
        self._opened[name] = (version, table)
        return table

    def has(self, name: str) -> bool:
        """True when the table exists in this version."""
        return name in self._tables or name in self._later

    def count(self, name: str) -> int:
        """Rows of a table; 0 when it does not exist."""
        if not self.has(name):
            return 0
        key = name, self.tables[name]
        if key not in self._counts:
            self._counts[key] = wait_for(self.open(name).count_rows())
        return self._counts[key]

    def read(self, name: str, columns: Sequence[str] | None = None) -> pl.DataFrame:
        """A whole table as a frame, sorted by its key; empty with all columns when missing."""
        table = TABLES[name]
        if not self.has(name):
            return table.empty().select(list(columns or table.schema))
        with explained(self.path, name):
            live = self.open(name)
            source = live.query().select(list(columns)) if columns else live
            frame = from_arrow(wait_for(source.to_arrow()))
        return frame if columns else table.conform(frame)

    def where(
        self, name: str, column: str, values: Iterable[str], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose ``column`` is one of ``values``, in no particular order."""
        return self._rows(name, column, values, columns)

    def where_numbers(
        self, name: str, column: str, values: Iterable[int], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose integer ``column`` is one of ``values``, in no particular order."""
        return self._rows(name, column, values, columns)

    def _rows(
        self, name: str, column: str, values: Iterable[str | int], columns: Sequence[str] | None
    ) -> pl.DataFrame:
        wanted = list(dict.fromkeys(values))
        selected = list(columns or TABLES[name].schema)
        if not wanted or not self.has(name):
            return TABLES[name].empty().select(selected)
        kept = self._kept_rows(name, column, tuple(selected))
        if kept is not None:
            return kept.rows(wanted)
        with explained(self.path, name):
            clause = f"{column} IN {literals(TABLES[name], column, wanted)}"
            query = self.open(name).query().where(clause).select(selected)
            return from_arrow(wait_for(query.to_arrow()))

    def _kept_rows(self, name: str, column: str, columns: tuple[str, ...]) -> KeptTable | None:
        """The table in memory from the second look-up on, where it is small."""
        version = self.tables[name]
        key = (name, column, columns)
        known = self._kept.get(key)
        if known is None or known.version != version:
            small = self.count(name) <= _KEPT_ROWS and _NEVER_KEPT not in zip(repeat(name), columns)
            self._kept[key] = KeptTable(version, column, small)
            return None
        if known.small and known.frame is None:
            known.keep(self.read(name, list(dict.fromkeys((*columns, column)))), columns)
        return known if known.small else None

    def write(
        self,
        name: str,
        frame: pl.DataFrame,
        dimension: int | None = None,
        old: pl.DataFrame | None = None,
        later: bool = False,
        conformed: bool = False,
    ) -> bool:
        """Make the stored table equal ``frame``; True when anything changed.

        With ``later`` a table that is not there yet is written when the store is looked into
        next, or by :meth:`write_next`.

        Only groups of rows (one id, or one text unit) that differ are deleted and added. ``old``
        is what :meth:`read` gives, for those who have it already; ``conformed`` says that
        ``frame`` is as :meth:`~graphkb.tables.Table.conform` gives it.
        """
        table = TABLES[name]
        frame = frame if conformed else table.conform(frame)
        if not self.has(name):
            if later:
                self._later[name] = partial(self._overwrite, name, frame, dimension)
            else:
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
        with explained(self.path, name):
            live = self._writable(name)
            stale = [*removed]
            for start in range(0, len(stale), 1000):
                live.delete(f"{group} IN {literals(table, group, stale[start : start + 1000])}")
            fresh = frame.filter(pl.col(group).cast(pl.String).is_in(added))
            if fresh.height:
                live.add(to_arrow(name, fresh, dimension))
            # A look-up by id reads new rows beside its index; words and vectors need one index.
            needs_index = {*_INDEXED}.intersection(
                column for entry in live.list_indices() for column in entry.columns
            )
            if needs_index or _pieces(live) > _MOST_FRAGMENTS:
                live.optimize(cleanup_older_than=_FOREVER)
            self._pin(name, live)
        return True

    def _writable(self, name: str) -> Any:
        """The table at its newest version, rolled back first if an unfinished run left more."""
        version = self._version(name)
        live = self._connect().open_table(name)
        if live.version != version:
            live.checkout(version)
            live.restore()
        return live

    def _overwrite(self, name: str, frame: pl.DataFrame, dimension: int | None) -> None:
        with explained(self.path, name):
            data = to_arrow(name, frame, dimension)
            live = self._connect().create_table(name, data, mode="overwrite")
            self._pin(name, live)
            self._counts[name, live.version] = frame.height

    def _version(self, name: str) -> int:
        """The version that is pinned when the table is written, of what else was put off nothing
        need be."""
        return (self.tables if name in self._later else self._tables)[name]

    def _pin(self, name: str, live: Any) -> None:
        self._tables[name] = int(live.version)
        self._opened.pop(name, None)

    def compact(self, name: str) -> bool:
        """Join a table's small pieces and drop deleted rows for good; True when that moved the
        pin. No version goes: what is committed still names the old one."""
        with explained(self.path, name):
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
            with explained(self.path, name):
                live = self._connect().open_table(name)
                oldest = min(needed.get(name, self.tables[name]), self.tables[name])
                age = self._age(live, oldest)
                if age is not None:
                    live.optimize(cleanup_older_than=age + _MARGIN)

    def _age(self, live: Any, version: int) -> timedelta | None:
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


async def _open_at(
    database: lancedb.AsyncConnection, name: str, version: int
) -> lancedb.AsyncTable:
    table = await database.open_table(name)
    await table.checkout(version)
    return table


def _pieces(live: Any) -> int:
    return int(live.stats()["fragment_stats"]["num_fragments"])
