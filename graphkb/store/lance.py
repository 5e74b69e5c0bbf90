"""The store: tables in LanceDB with their indexes, and the searches over them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from graphkb.store.database import explained, wait_for
from graphkb.store.tables import FOLDER, StoredTables, literals, quoted
from graphkb.tables import TABLES

if TYPE_CHECKING:
    import numpy as np

    from graphkb.store.exact import ExactVectors

# Below this many rows a flat scan beats an index (benchmarks/vectors.py), and indexes of a
# handful of vectors cannot be trained at all.
SCALAR_INDEX_ROWS = 10_000
VECTOR_INDEX_ROWS = 20_000

# Below these sizes vectors are held in memory and compared one and all.
_EXACT_BYTES = 128_000_000
# The index compares vectors in 8 bits. So many times the hits that are wanted are followed through
# its graph, and of so many the true distances are computed, for a recall that Lance's own choice
# does not reach (benchmarks/vectors.py).
_FOLLOWED, _REFINED = 4, 2
# Candidates that are followed at least.
_LEAST_EF = 100

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


class Store(StoredTables):
    """The LanceDB database in an output folder."""

    def __init__(self, output: Path, tables: Mapping[str, int], folder: str = FOLDER) -> None:
        super().__init__(output, tables, folder)
        self._exact: dict[int, ExactVectors] = {}

    def index(self, name: str, stemming: bool = False) -> None:
        """Build the indexes a table needs at its size, where they are not there yet.

        With ``stemming`` full text is found by the stems of English words. The index remembers
        that, so a question is always looked up the way its version was indexed.
        """
        if name not in {*_FULL_TEXT, *_SCALAR_INDEXES, "vectors"}:
            return
        counted = self._counts.get((name, self._version(name)), SCALAR_INDEX_ROWS)
        if name in _SCALAR_INDEXES and counted < SCALAR_INDEX_ROWS:
            return
        from lancedb.index import FTS, BTree, HnswSq

        live = self._writable(name)
        with explained(self.path, name):
            rows, entries = live.count_rows(), live.list_indices()
            have = {column for entry in entries for column in entry.columns}
            wanted = "tokens_stemmed" if stemming else "tokens_whole"
            names = {entry.name for entry in entries}
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
            if live.version != self._version(name):
                self._pin(name, live)
            self._counts[name, live.version] = rows

    def index_later(self, name: str, stemming: bool = False) -> None:
        """As :meth:`index`, when a table that was put off is written."""
        if name in self._later:
            self._later[f"{name}, its index"] = partial(self.index, name, stemming)

    def check_indexes(self, name: str) -> list[str]:
        """Columns with an index. Each is asked something, for only that opens its files: raises
        StoreError when one cannot be."""
        with explained(self.path, name):
            live = self.open(name)
            indexes = wait_for(live.list_indices())
            columns = sorted({column for entry in indexes for column in entry.columns})
            width = self._width() if "vector" in columns else 0
        for column in columns:
            if column == "tokens":
                self.search_text(["?"], 1, name)
            elif column == "vector":
                import numpy as np

                self._search_stored(np.ones(width, np.float32), 1, None)
            else:
                value = literals(TABLES[name], column, ["0"])
                with explained(self.path, name):
                    asked = live.query().where(f"{column} IN {value}").select([column])
                    wait_for(asked.limit(1).to_arrow())
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
        with explained(self.path, name):
            asked = self.open(name).query().nearest_to_text(query)
            if clause := self._narrowing(key):
                asked = asked.where(clause)
            found = wait_for(asked.select([key, "_score"]).limit(limit).to_arrow())
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
        from graphkb.store.exact import ExactVectors

        version, rows = self.tables["vectors"], self.count("vectors")
        known = self._exact.get(version)
        if known is None and rows < VECTOR_INDEX_ROWS:
            with explained(self.path, "vectors"):
                width = self._width()
                if 4 * rows * width > _EXACT_BYTES:
                    return None
                live = self.open("vectors")
                found = wait_for(live.query().select(["id", "language", "vector"]).to_arrow())
            vectors = found["vector"].combine_chunks().flatten().to_numpy(zero_copy_only=False)
            known = ExactVectors(
                found["id"].to_pylist(), found["language"].to_pylist(), vectors.reshape(-1, width)
            )
            self._exact.clear()
            self._exact[version] = known
        return known

    def _width(self) -> int:
        """Dimension of the vectors."""
        schema = wait_for(self.open("vectors").schema())
        return int(schema.field("vector").type.list_size)

    def _search_stored(
        self, vector: np.ndarray, limit: int, language: str | None
    ) -> list[tuple[str, float]]:
        with explained(self.path, "vectors"):
            query = self.open("vectors").query().nearest_to(vector.astype("float32"))
            # Without an index the last two say nothing.
            query = query.distance_type("dot").refine_factor(_REFINED)
            query = query.ef(max(_LEAST_EF, _FOLLOWED * limit))
            clauses = [f"language IN {quoted([language])}"] if language is not None else []
            if narrowing := self._narrowing("id"):
                clauses.append(narrowing)
            if clauses:
                query = query.where(" AND ".join(clauses))
            found = wait_for(query.select(["id", "_distance"]).limit(limit).to_arrow())
        pairs = zip(found["id"].to_pylist(), found["_distance"].to_pylist(), strict=True)
        # Lance reports the dot distance as 1 - dot product.
        return sorted(((i, 1.0 - float(d)) for i, d in pairs), key=lambda p: (-p[1], p[0]))

    def _narrowing(self, column: str) -> str:
        """SQL that lets only some text units through, named in ``column``; empty for all."""
        return ""
