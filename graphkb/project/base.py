"""The version of a project that is read: found, kept open, narrowed."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Self

from graphkb.arguments import as_texts, wrong_type
from graphkb.errors import NotIndexedError, UsageError
from graphkb.forked import check_not_forked
from graphkb.settings import Settings
from graphkb.settings_file import FILE_NAME, load_settings

if TYPE_CHECKING:
    from graphkb.llm.model import Model
    from graphkb.search.snapshot import Snapshot
    from graphkb.store.manifest import Manifest


class Base:
    """Where a project lies, its settings, and the version that is read."""

    def __init__(self, root: str | Path = ".", overrides: str | Sequence[str] = ()) -> None:
        if not isinstance(root, str | os.PathLike):
            raise wrong_type("root", root, "the path of a project folder")
        self.root = Path(root)
        if not self.root.is_dir():
            found = "is a file" if self.root.exists() else "does not exist"
            raise UsageError(
                f"{self.root}: {found}; give a project folder, "
                f"or make one with: graphkb init {root}"
            )
        self.settings: Settings = load_settings(self.root, as_texts("overrides", overrides))
        self.output = self.root / "output"
        parts = (self.root / FILE_NAME, self.root / self.settings.input.folder, self.output)
        if not any(part.exists() for part in parts):
            raise UsageError(
                f"{self.root.resolve()}: no graphkb project here; make one with: "
                f"graphkb init {root}, or use --root"
            )
        self._snapshot: Snapshot | None = None
        self._pinned: tuple[Path, Manifest] | None = None
        self._filter = ""
        self._models: list[Model] = []

    def __repr__(self) -> str:
        return f"Project({str(self.root)!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of opened tables and of the model."""
        self._snapshot = None
        while self._models:
            self._models.pop().close()

    @property
    def version(self) -> int:
        """The number of the version that is read; 0 before the first run."""
        manifest = self._version()[1]
        return manifest.version if manifest else 0

    def at(self, version: str | int) -> Self:
        """This project as it was: a kept version by number or a snapshot by name, for reading.

        Raises UsageError that lists what is there when there is no such version any more.
        """
        from graphkb.store.versions import find_version

        project = copy.copy(self)
        project._snapshot, project._pinned = None, find_version(self.output, version)
        return project

    def where(self, filter: str) -> Self:
        """This project narrowed to what a filter lets through, such as ``category = 'refund' and
        updated_at >= '2024-01-01'``: searches, answers and evaluation see nothing else.

        Keys are columns of documents (path, title, language, media_type, creation_date, …), kind,
        page and heading of text units, and metadata; see :mod:`graphkb.search.where`. Raises
        UsageError, with the position, for a filter that cannot be read; an unknown key is one
        when something is asked.
        """
        from graphkb.search.where import parse_filter

        parse_filter(filter)
        project = copy.copy(self)
        project._filter = f"({self._filter}) and ({filter})" if self._filter else filter
        return project

    def _must_be_newest(self, what: str) -> None:
        check_not_forked()
        if self._pinned is not None:
            raise UsageError(f"version {self._pinned[1].version} is for reading: {what} without at")

    def _current(self) -> Snapshot:
        """The snapshot of the last committed version, kept while that version is current."""
        from graphkb.search.snapshot import Snapshot
        from graphkb.store.versions import readable

        check_not_forked()
        output, last = self._version()
        manifest = readable(self.root, output, last)
        known = self._snapshot
        if known is None or known.manifest != manifest:
            self._snapshot = known = Snapshot(self.root, manifest, self.settings, output)
        return known

    def _version(self) -> tuple[Path, Manifest | None]:
        """Where the version that is read lies, and its manifest; None before the first run."""
        from graphkb.store.manifest import read_manifest
        from graphkb.store.versions import check_still_kept

        if self._pinned is None:
            return self.output, read_manifest(self.output)
        check_still_kept(self.output, *self._pinned)
        return self._pinned

    def _with_text(self, where: str | None = None) -> Snapshot:
        """The snapshot that is searched, narrowed by the project's filter and ``where``."""
        from graphkb.search.selection import narrow

        wanted = self._filter if where is None else self.where(where)._filter
        return narrow(self._searchable(), wanted) if wanted else self._searchable()

    def _searchable(self) -> Snapshot:
        snapshot = self._current()
        if not snapshot.manifest.counts.get("text_units"):
            raise NotIndexedError(
                f"{self.root}: the index is empty; put documents into "
                f"{self.root / self.settings.input.folder} and run graphkb index"
            )
        return snapshot

    def _model(self) -> Model | None:
        """The model that answers, opened once and shared with :meth:`at`; None without one."""
        from graphkb.llm.model import make_model
        from graphkb.settings import uses_model

        if not uses_model(self.settings, "answer"):
            return None
        if not self._models and (model := make_model(self.root, self.settings.llm)):
            self._models.append(model)
        return self._models[0] if self._models else None
