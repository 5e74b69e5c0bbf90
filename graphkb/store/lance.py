"""Tables in LanceDB: read at a version, write only the rows that changed, search."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from graphkb.errors import StoreError
from graphkb.store.arrow import from_arrow, to_arrow
from graphkb.store.database import connect
from graphkb.store.exact import ExactVectors
from graphkb.store.kept import KeptTable
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

# Below these sizes vectors are held in memory and compared one and all.
_EXACT_BYTES = 128_000_000
# The index compares vectors in 8 bits. So many times the hits that are wanted are followed through
# its graph, and of so many the true distances are computed: among 98,928 vectors, 100 wanted,
# recall@20 is 0.987 (0.910 as Lance has it), for 14 ms (8).
_FOLLOWED, _REFINED = 4, 2
# Candidates that are followed at least.
_LEAST_EF = 100
# Tables of so many rows are held in memory by who looks rows up in them more than once: a
# look-up costs 0.1 ms there and 5 ms in the store.
_KEPT_ROWS = 20_000

# Before a commit no version may go, however old: the last manifest still names it.
_FOREVER = timedelta(days=36_500)
# Lance drops versions by age. What is needed is this much older than what may go, so that
# rounding of times never decides.
_MARGIN = timedelta(seconds=1)
# A table without an index is compacted when small changes left it in more pieces than this.
_MOST_FRAGMENTS = 16

_RUST_PLACE = re.compile(r", /\S+\.rs:\d+")

# Tables with a full-text index over their column tokens, and the column of the text unit.
_FULL_TEXT = {"search_texts": "id", "questions": "text_unit_id"}

_SCALAR_INDEXES: dict[str, tuple[str, ...]] = {
    "documents": ("id",),
    "text_units": ("id",),
    "entities": ("id",),
    "nodes": ("entity_id",),
    "relationships": ("id", "source_id", "target_id"),
    "mentions": ("text_unit_id", "entity_id"),
    "covariates": ("text_unit_id",),
    "community_reports": ("community",),
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
        self._tables = dict(tables)
        self._later: dict[str, Callable[[], None]] = {}
        self._opened: dict[str, tuple[int, Any]] = {}
        self._kept: dict[tuple[str, str, tuple[str, ...]], KeptTable] = {}
        self._exact: dict[int, ExactVectors] = {}
        self._counts: dict[tuple[str, int], int] = {}
        self._database: lancedb.DBConnection | None = None

    @property
    def tables(self) -> dict[str, int]:
        """Pinned versions by table, when all that was put off is written."""
        while self._later:
            self.write_next()
        return self._tables

    def write_next(self) -> bool:
        """Write one of the tables that :meth:`write` put off; False when none is left."""
        name = next(iter(self._later), None)
        if name is not None:
            self._later.pop(name)()
        return name is not None

    def _connect(self) -> lancedb.DBConnection:
        if self._database is None:
            self._database = connect(self.path)
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
        return name in self._tables or name in self._later

    def count(self, name: str) -> int:
        """Rows of a table; 0 when it does not exist."""
        if not self.has(name):
            return 0
        key = name, self.tables[name]
        if key not in self._counts:
            self._counts[key] = int(self.open(name).count_rows())
        return self._counts[key]

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
        kept = self._kept_rows(name, column, tuple(selected))
        if kept is not None:
            return kept.rows(wanted)
        with _explained(self.path, name):
            query = self.open(name).search().where(f"{column} IN {quoted(wanted)}")
            return from_arrow(query.select(selected).limit(None).to_arrow())

    def _kept_rows(self, name: str, column: str, columns: tuple[str, ...]) -> KeptTable | None:
        """The table in memory from the second look-up on, where it is small."""
        version = self.tables[name]
        key = (name, column, columns)
        known = self._kept.get(key)
        if known is None or known.version != version:
            self._kept[key] = KeptTable(version, column, self.count(name) <= _KEPT_ROWS)
            return None
        if known.small and known.frame is None:
            known.keep(self.read(name, list(dict.fromkeys((*columns, column)))), columns)
        return known if known.small else None

    def where_numbers(
        self, name: str, column: str, values: Iterable[int], columns: Sequence[str] | None = None
    ) -> pl.DataFrame:
        """Rows whose integer ``column`` is one of ``values``, in no particular order."""
        numbers = list(dict.fromkeys(values))
        wanted = [str(value) for value in numbers]
        selected = list(columns or TABLES[name].schema)
        if not wanted or not self.has(name):
            return TABLES[name].empty().select(selected)
        kept = self._kept_rows(name, column, tuple(selected))
        if kept is not None:
            return kept.rows(numbers)
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
        later: bool = False,
    ) -> bool:
        """Make the stored table equal ``frame``; True when anything changed.

        With ``later`` a table that is not there yet is written when the store is looked into
        next, or by :meth:`write_next`.

        Only groups of rows (one id, or one text unit) that differ are deleted and added. ``old``
        is what :meth:`read` gives, for those who have it already.
        """
        table = TABLES[name]
        frame = table.conform(frame)
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
        self._tables[name] = int(live.version)
        self._opened.pop(name, None)

    def index(self, name: str, stemming: bool = False) -> None:
        """Build the indexes a table needs at its size, where they are not there yet.

        With ``stemming`` full text is found by the stems of English words. The index remembers
        that, so a question is always looked up the way its version was indexed.
        """
        from lancedb.index import FTS, BTree, HnswSq

        live = self._writable(name)
        rows = live.count_rows()
        have = {column for entry in live.list_indices() for column in entry.columns}
        with _explained(self.path, name):
            wanted = "tokens_stemmed" if stemming else "tokens_whole"
            names = {entry.name for entry in live.list_indices()}
            if name in _FULL_TEXT and rows and wanted not in names:
                live.create_index(
                    "tokens",
                    config=FTS(
                        base_tokenizer="whitespace",
                        language="English",
                        lower_case=False,
                        stem=stemming,
                        remove_stop_words=False,
                        ascii_folding=False,
                        with_position=False,
                        max_token_length=200,
                    ),
                    name=wanted,
                )
                for old in names & {"tokens_stemmed", "tokens_whole"}:
                    live.drop_index(old)
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
                self.search_text(["?"], 1, name)
            elif column == "vector":
                self._search_stored(np.ones(width, np.float32), 1, None)
            else:
                value = _literals(TABLES[name], column, ["0"])
                with _explained(self.path, name):
                    asked = live.search().where(f"{column} IN {value}").select([column])
                    asked.limit(1).to_arrow()
        return columns

    def search_text(
        self, tokens: Sequence[str], limit: int, name: str = "search_texts"
    ) -> list[tuple[str, float]]:
        """Text unit ids by BM25 over ``tokens`` (any of them), best first, ties by id.

        In the table ``questions`` a text unit stands where its best question stands.
        """
        if not tokens or not self.count(name):
            return []
        key = _FULL_TEXT[name]
        from lancedb.query import MatchQuery

        query = MatchQuery(" ".join(tokens), "tokens")  # type: ignore[call-arg]
        with _explained(self.path, name):
            asked = self.open(name).search(query, query_type="fts")
            if clause := self._narrowing(key):
                asked = asked.where(clause, prefilter=True)
            found = asked.select([key, "_score"]).limit(limit).to_arrow()
        best: dict[str, float] = {}
        for unit_id, score in zip(found[key].to_pylist(), found["_score"].to_pylist(), strict=True):
            if score > 0:
                best[unit_id] = max(best.get(unit_id, 0.0), float(score))
        return sorted(best.items(), key=lambda pair: (-pair[1], pair[0]))

    def search_vector(
        self, vector: np.ndarray, limit: int, language: str | None = None
    ) -> list[tuple[str, float]]:
        """Text unit ids by cosine similarity (vectors have unit length), best first, ties by id;
        only those in ``language`` when it is given.

        Exact where the vectors are few; among :data:`VECTOR_INDEX_ROWS` and more by the index.
        """
        if not self.count("vectors"):
            return []
        exact = self._exact_vectors()
        if exact is not None:
            return exact.search(vector, limit, language, self._among)
        return self._search_stored(vector, limit, language)

    @property
    def _among(self) -> Set[str] | None:
        """The text units that searches give; None for all."""
        return None

    def _exact_vectors(self) -> ExactVectors | None:
        """The vectors in memory where they are few, read at first use."""
        version = self.tables["vectors"]
        known = self._exact.get(version)
        if known is None:
            live = self.open("vectors")
            with _explained(self.path, "vectors"):
                rows, width = live.count_rows(), live.schema.field("vector").type.list_size
                if rows >= VECTOR_INDEX_ROWS or 4 * rows * width > _EXACT_BYTES:
                    return None
                found = live.search().select(["id", "language", "vector"]).limit(None).to_arrow()
            vectors = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            known = ExactVectors(
                found["id"].to_pylist(), found["language"].to_pylist(), vectors.reshape(-1, width)
            )
            self._exact.clear()
            self._exact[version] = known
        return known

    def _search_stored(
        self, vector: np.ndarray, limit: int, language: str | None
    ) -> list[tuple[str, float]]:
        with _explained(self.path, "vectors"):
            query = self.open("vectors").search(vector.astype(np.float32)).distance_type("dot")
            # Without an index both say nothing.
            query = query.refine_factor(_REFINED).ef(max(_LEAST_EF, _FOLLOWED * limit))
            clauses = [f"language IN {quoted([language])}"] if language is not None else []
            if narrowing := self._narrowing("id"):
                clauses.append(narrowing)
            if clauses:
                query = query.where(" AND ".join(clauses), prefilter=True)
            found = query.select(["id", "_distance"]).limit(limit).to_arrow()
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        # Lance reports the dot distance as 1 - dot product.
        return sorted(((i, 1.0 - float(d)) for i, d in pairs), key=lambda p: (-p[1], p[0]))

    def _narrowing(self, column: str) -> str:
        """SQL that lets only some text units through, named in ``column``; empty for all."""
        return ""

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
