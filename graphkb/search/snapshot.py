"""One committed version of a knowledge base, opened for reading: what every query looks into."""

from __future__ import annotations

import json
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

from graphkb.embed import Embedder, make_embedder, options_of_vectors
from graphkb.errors import GraphkbError
from graphkb.graph.rows import TABLES as ROW_TABLES
from graphkb.graph.rows import row_arrays
from graphkb.search.file_names import FileNames
from graphkb.search.rows import unit_rows
from graphkb.search.vocabulary import Vocabulary
from graphkb.settings import Rerank, Settings
from graphkb.store.arrays import read_arrays
from graphkb.store.lance import Store
from graphkb.store.manifest import Manifest
from graphkb.text.names import fold
from graphkb.text.table_rows import columns_of
from graphkb.types import Passage

if TYPE_CHECKING:
    from graphkb.search.graph import GraphIndex
    from graphkb.search.rerank import Reranker
    from graphkb.search.selection import Selection
    from graphkb.text.sheets import SheetMap


class Snapshot:
    """Tables, graph arrays and embedder of one version. Cheap to make; parts load at first use."""

    def __init__(
        self,
        root: Path,
        manifest: Manifest,
        settings: Settings,
        output: Path | None = None,
    ) -> None:
        # A named snapshot is laid out like an output folder and stands in for it.
        self.root, self.output = root, output or root / "output"
        self.manifest, self.settings = manifest, settings
        self.store = Store(self.output, manifest.tables, manifest.folder)
        self._reranker: tuple[Rerank, Reranker] | None = None
        # Sheets of workbooks that were cited or shown, None for other documents.
        self.sheet_maps: dict[str, SheetMap | None] = {}
        # What a filter lets through and the snapshot that it was narrowed from; those made of it.
        self.selection: Selection | None = None
        self.narrowed: dict[str, Snapshot] = {}
        self.whole: Snapshot | None = None

    @cached_property
    def dictionary(self) -> tuple[str, ...]:
        """The user's words that this version was indexed with, sorted, whatever the settings say
        since: a question must be cut into words as the texts were."""
        own = self.store.where("terms", "origin", ["user"], ("term",))
        return tuple(sorted(own["term"]))

    @cached_property
    def _arrays(self) -> dict[str, Any]:
        arrays = read_arrays(self.output, self.manifest.graph)
        if "unit_row" not in arrays:
            # Made by a graphkb that read these rows from the tables at every question.
            arrays |= row_arrays(*map(self.store.read, ROW_TABLES))
        return arrays

    @cached_property
    def graph(self) -> GraphIndex:
        """The passage–entity graph."""
        from graphkb.search.graph import GraphIndex

        return GraphIndex(self._arrays, dictionary=self.dictionary)

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """Document frequencies of tokens."""
        return Vocabulary(self._arrays)

    @cached_property
    def embedder(self) -> Embedder | None:
        """The embedder that made this version's vectors, also where the settings name another
        one since; None when there are no vectors. Raises SettingsError when it cannot be made."""
        made_with = self.manifest.embedding
        if not made_with or self.settings.embed.when == "off":
            return None
        options = options_of_vectors(made_with, self.settings.embed)
        return make_embedder(options, made_with["dimension"])

    @property
    def reranker(self) -> Reranker:
        """The reranker of the settings; it remembers how its server wants to be asked."""
        from graphkb.search.rerank import make_reranker

        options = self.settings.rerank
        # A copy of this snapshot may have other settings.
        if self._reranker is None or self._reranker[0] != options:
            self._reranker = options, make_reranker(self.root, options)
        return self._reranker[1]

    @property
    def outdated_vectors(self) -> str:
        """A warning when the vectors are those of another model than the settings name, or not all
        made yet."""
        made_with = self.manifest.embedding
        options = self.settings.embed
        if not made_with:
            return ""
        if options_of_vectors(made_with, options) is options:
            return self._missing_vectors
        old = f"{made_with['provider']}/{made_with['model']}"
        return (
            f"the vectors are still those of {old}, the settings say "
            f"{options.provider}/{options.model}; run graphkb index"
        )

    @property
    def _missing_vectors(self) -> str:
        counts = self.manifest.counts
        total = counts.get("text_units", 0)
        # Those that the model cannot embed were named when the vectors were made.
        refused = int(self.manifest.embedding.get("without", 0))
        missing = total - counts.get("vectors", 0) - refused
        if missing <= 0:
            return ""
        return (
            f"{missing:,} of {total:,} text units have no vector yet and are found by words and "
            "graph alone; graphkb index makes them"
        )

    @property
    def languages(self) -> list[str]:
        """Languages of at least one text unit in fifty, sorted."""
        counts: dict[str, int] = dict(self.manifest.notes.get("languages", {}))
        total = sum(counts.values())
        return sorted(code for code, n in counts.items() if code != "und" and n * 50 >= total)

    def dense_problem(self) -> str | None:
        """Why there is no dense leg in this version, or None when there is one."""
        if self.settings.embed.when == "off":
            return "embed.when is off: no dense leg"
        if not self.manifest.embedding:
            return "the vectors are not made yet: no dense leg"
        try:
            return None if self.embedder else "no embedding model"
        except GraphkbError as error:
            return f"no dense leg: {error}"

    @cached_property
    def document_names(self) -> frozenset[str]:
        """Titles, names of files with and without their suffix, and names of folders, folded."""
        names: set[str] = set()
        for title, path in self.store.read("documents", ("title", "path")).iter_rows():
            parts = PurePosixPath(fold(path or "")).parts
            names.update((fold(title or ""), *parts, PurePosixPath(*parts[-1:]).stem))
        return frozenset(names - {""})

    @cached_property
    def file_names(self) -> FileNames:
        """What the files of all documents are called."""
        rows = self.store.read("documents", ("id", "path")).iter_rows()
        folder = (self.root / self.settings.input.folder).absolute().as_posix()
        return FileNames(((document_id, path or "") for document_id, path in rows), folder)

    @cached_property
    def ages(self) -> dict[str, float]:
        """Days by which each dated document is older than the newest one, by document id."""
        from graphkb.search.assemble import document_ages

        rows = self.store.read("documents", ("id", "metadata", "creation_date")).to_dicts()
        for row in rows:
            row["metadata"] = json.loads(row["metadata"] or "{}")
        return document_ages(rows)

    def units(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        """Text unit rows by id, in the order of ``ids``, with title and path of their document,
        and the ``page_breaks`` of :class:`~graphkb.types.Passage`."""
        rows = unit_rows(self._arrays, dict.fromkeys(ids))
        for row in rows:
            row["page_breaks"] = tuple(row["page_breaks"])
        return rows

    def places(self, ids: Iterable[str]) -> dict[str, str]:
        """Title and file name of the document and the headings above each text unit, a line each,
        by id of the text unit."""
        return {row["id"]: _place(row) for row in unit_rows(self._arrays, dict.fromkeys(ids))}

    def page_starts(self, document_ids: Iterable[str]) -> dict[str, list[int]]:
        """Offsets in the text at which the pages of documents begin, by id; ascending."""
        found = self.store.where("documents", "id", document_ids, ("id", "page_starts"))
        return {row["id"]: list(row["page_starts"] or []) for row in found.to_dicts()}


def _place(row: dict[str, Any]) -> str:
    return "\n".join((row["title"], PurePosixPath(row["path"]).stem, *(row["heading_path"] or [])))


def heading_of(row: dict[str, Any]) -> str:
    """Headings above a text unit, outermost first, joined by ›."""
    return " › ".join(row["heading_path"] or [])


def passage_of(row: dict[str, Any], score: float) -> Passage:
    """The passage of a text unit row made by :meth:`Snapshot.units`."""
    return Passage(
        kind="text_unit",
        text=row["text"],
        score=score,
        text_unit_id=row["id"],
        document_id=row["document_id"],
        title=row["title"] or "",
        path=row["path"] or "",
        heading=heading_of(row),
        page=row["page_start"],
        char_start=row["char_start"],
        char_end=row["char_end"],
        columns=columns_of(row["text"], row["context"] or ""),
        page_end=row["page_end"],
        page_breaks=row["page_breaks"],
    )
