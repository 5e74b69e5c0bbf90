"""A project: a folder with settings, prompts, input, output and cache; the Python API."""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphkb import __version__
from graphkb.errors import NotIndexedError, StoreError, UsageError
from graphkb.scaffold import init_project as init_project
from graphkb.settings import Settings
from graphkb.settings_file import FILE_NAME, load_settings
from graphkb.types import (
    Answer,
    Hits,
    IndexResult,
    NamedSnapshot,
    Progress,
    Restored,
    no_progress,
)

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl

    from graphkb.evaluate.run import Evaluation
    from graphkb.llm.model import Model
    from graphkb.preview import Preview
    from graphkb.query.ask import Ask
    from graphkb.query.dry_run import QueryPlan
    from graphkb.query.history import History
    from graphkb.query.stream import AnswerStream, AsyncAnswerStream
    from graphkb.search.snapshot import Snapshot
    from graphkb.store.manifest import Manifest
    from graphkb.upkeep.case import Finding
    from graphkb.upkeep.compact import Compaction
    from graphkb.upkeep.difference import Difference


def open(
    root: str | Path = ".", overrides: str | Sequence[str] = (), at: str | int | None = None
) -> Project:
    """The project at ``root``; ``overrides`` are ``section.key=value`` strings, or one such
    string; ``at`` is a kept version or a snapshot to read instead of the newest version (see
    :meth:`Project.at`).

    Raises UsageError when ``root`` is not a folder or holds no project (settings.yaml, input or
    output), SettingsError when its settings are wrong.
    """
    project = Project(root, overrides)
    return project if at is None else project.at(at)


class Project:
    """One knowledge base. Reading methods see the last committed version at the time of the call.

    Safe inside a running event loop (notebooks, servers): ``aquery`` and ``asearch`` do not
    block it.
    """

    methods: tuple[str, ...] = ("auto", "local", "global", "drift", "lazy", "hybrid")
    search_methods: tuple[str, ...] = ("hybrid", "lexical", "dense", "graph")

    def __init__(self, root: str | Path = ".", overrides: str | Sequence[str] = ()) -> None:
        self.root = Path(root)
        if not self.root.is_dir():
            found = "is a file" if self.root.exists() else "does not exist"
            raise UsageError(
                f"{self.root}: {found}; give a project folder, "
                f"or make one with: graphkb init {root}"
            )
        overrides = [overrides] if isinstance(overrides, str) else list(overrides)
        self.settings: Settings = load_settings(self.root, overrides)
        self.output = self.root / "output"
        parts = (self.root / FILE_NAME, self.root / self.settings.input.folder, self.output)
        if not any(part.exists() for part in parts):
            raise UsageError(
                f"{self.root.resolve()}: no graphkb project here; make one with: "
                f"graphkb init {root}, or use --root"
            )
        self._snapshot: Snapshot | None = None
        self._pinned: tuple[Path, Manifest] | None = None
        self._models: list[Model] = []

    def __repr__(self) -> str:
        return f"Project({str(self.root)!r})"

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of opened tables and of the model."""
        self._snapshot = None
        while self._models:
            self._models.pop().close()

    def index(
        self,
        progress: Progress = no_progress,
        *,
        embed: str | None = None,
        rebuild: bool = False,
        on_plan: Callable[[str], None] = lambda line: None,
        on_commit: Callable[[IndexResult], None] = lambda result: None,
    ) -> IndexResult:
        """Bring the knowledge base up to date with the input folder; resumes where it stopped.

        ``embed`` (later, now, off) overrides ``embed.when``; ``rebuild`` starts from nothing.
        ``on_plan`` is told first when changed settings make stages run again.
        ``on_commit`` is called after each commit: the first makes the lexical and graph legs
        searchable, the second adds the vectors.
        """
        from graphkb.pipeline import run_index

        self._must_be_newest("index")
        settings = self.settings
        if embed is not None:
            if embed not in ("later", "now", "off"):
                raise UsageError(f"embed {embed!r}: use later, now or off")
            update = settings.embed.model_copy(update={"when": embed})
            settings = settings.model_copy(update={"embed": update})
        return run_index(
            self.root,
            settings,
            progress=progress,
            rebuild=rebuild,
            on_plan=on_plan,
            on_commit=on_commit,
        )

    def preview(self, progress: Progress = no_progress, *, rebuild: bool = False) -> Preview:
        """What :meth:`index` would do now and what it costs; nothing is written or asked."""
        from graphkb.preview import preview_index

        self._must_be_newest("preview")
        return preview_index(self.root, self.settings, progress, rebuild=rebuild)

    def remove(
        self,
        documents: Sequence[str],
        progress: Progress = no_progress,
        *,
        undo: bool = False,
    ) -> IndexResult:
        """Take documents out of the knowledge base, or with ``undo`` let them in again.

        ``documents`` are paths, document ids or titles. The files stay where they are; what is
        removed stays out in later index runs. Raises UsageError for a name that fits nothing,
        before anything is changed.
        """
        from graphkb.pipeline import run_index
        from graphkb.removals import removals_after

        self._must_be_newest("remove")
        removals = removals_after(self._current().store, documents, undo)
        return run_index(self.root, self._as_embedded(), progress=progress, removals=removals)

    def _as_embedded(self) -> Settings:
        """The settings; a knowledge base without vectors gets none by a removal or a decision."""
        if self._current().manifest.embedding:
            return self.settings
        update = self.settings.embed.model_copy(update={"when": "off"})
        return self.settings.model_copy(update={"embed": update})

    def removed(self) -> pl.DataFrame:
        """Documents that were removed and stay out: path, record, title."""
        return self._current().store.read("removals")

    def find_entities(self, like: str = "") -> pl.DataFrame:
        """title, type, frequency and aliases of entities with ``like`` in a name, commonest
        first."""
        from graphkb.decisions import entities_like

        return entities_like(self._current().store, like)

    def merge_entities(
        self, name: str, other: str, into: str = "", progress: Progress = no_progress
    ) -> IndexResult:
        """Make two names one entity, called ``into`` (one of the two; default: ``other``).

        What the user decides stays through index runs and rebuilds, until a newer decision says
        otherwise or :meth:`undo_decisions`. Raises UsageError for an unknown name, with near
        ones, before anything is changed; so do the other decisions.
        """
        from graphkb.decisions import decisions_after_merge

        self._must_be_newest("merge entities")
        return self._decide(
            decisions_after_merge(self._current().store, name, other, into), progress
        )

    def split_entities(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Keep names apart from each other; one name alone: from every other name."""
        from graphkb.decisions import decisions_after_split

        self._must_be_newest("split entities")
        return self._decide(decisions_after_split(self._current().store, names), progress)

    def rename_entity(self, old: str, new: str, progress: Progress = no_progress) -> IndexResult:
        """Call an entity by another name; the old one becomes an alias, the id stays."""
        from graphkb.decisions import decisions_after_rename

        self._must_be_newest("rename an entity")
        return self._decide(decisions_after_rename(self._current().store, old, new), progress)

    def undo_decisions(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Take back the decisions that name one of ``names``; without names the newest one."""
        from graphkb.decisions import decisions_after_undo

        self._must_be_newest("undo a decision")
        return self._decide(decisions_after_undo(self._current().store, names), progress)

    def _decide(self, decisions: pl.DataFrame, progress: Progress) -> IndexResult:
        from graphkb.pipeline import run_index

        return run_index(self.root, self._as_embedded(), progress=progress, decisions=decisions)

    def cache_stats(self) -> dict[str, Any]:
        """Kept model replies by endpoint and model, number of vectors, bytes on disk."""
        from graphkb.caches import cache_stats

        return cache_stats(self.root / "cache")

    def cache_clear(self) -> dict[str, Any]:
        """Forget all model replies and vectors; what there was, and the bytes left."""
        from graphkb.caches import clear_caches

        self._must_be_newest("cache clear")
        return clear_caches(self.root / "cache", self.output)

    def cache_export(self) -> Iterator[str]:
        """Every kept model reply with its request, as JSON lines in key order."""
        from graphkb.caches import export_replies

        return export_replies(self.root / "cache")

    def _current(self) -> Snapshot:
        """The snapshot of the last committed version, kept while that version is current."""
        from graphkb.pipeline import read_dictionary
        from graphkb.search.snapshot import Snapshot
        from graphkb.store.versions import manifest_files

        output, manifest = self._version()
        if manifest is None:
            if manifest_files(output):
                raise StoreError(f"{output / 'manifest.json'}: is missing; run graphkb doctor")
            raise NotIndexedError(
                f"{self.root}: nothing is indexed yet; run: graphkb index --root {self.root}"
            )
        if lost := manifest.notes.get("lost"):
            raise NotIndexedError(
                f"{self.root}: {', '.join(lost)} must be made again after a repair; "
                f"run: graphkb index --root {self.root}"
            )
        known = self._snapshot
        if known is None or known.manifest != manifest:
            dictionary = read_dictionary(self.root, self.settings)
            self._snapshot = known = Snapshot(
                self.root, manifest, self.settings, dictionary, output
            )
        return known

    def _version(self) -> tuple[Path, Manifest | None]:
        """Where the version that is read lies, and its manifest; None before the first run."""
        from graphkb.store.manifest import read_manifest

        return self._pinned or (self.output, read_manifest(self.output))

    def at(self, version: str | int) -> Project:
        """This project as it was: a kept version by number or a snapshot by name, for reading.

        Raises UsageError that lists what is there when there is no such version any more.
        """
        from graphkb.store.versions import find_version

        project = copy.copy(self)
        project._snapshot, project._pinned = None, find_version(self.output, version)
        return project

    def _must_be_newest(self, what: str) -> None:
        if self._pinned is not None:
            raise UsageError(f"version {self._pinned[1].version} is for reading: {what} without at")

    def snapshots(self) -> list[NamedSnapshot]:
        """Named snapshots, oldest first."""
        from graphkb.store.snapshots import list_snapshots

        return list_snapshots(self.output)

    def create_snapshot(self, name: str, note: str = "") -> NamedSnapshot:
        """Keep the version that is read under a name, until :meth:`delete_snapshot`.

        Raises UsageError when the name cannot be used or is taken.
        """
        from graphkb.store.lock import write_lock
        from graphkb.store.snapshots import create_snapshot

        self._current()
        with write_lock(self.output):
            read = self._current()
            return create_snapshot(self.output, read.output, read.manifest, name, note)

    def delete_snapshot(self, name: str) -> None:
        """Remove a snapshot. Raises UsageError when there is none of that name."""
        from graphkb.store.lock import write_lock
        from graphkb.store.snapshots import delete_snapshot

        with write_lock(self.output):
            delete_snapshot(self.output, name)

    def restore(self, version: str | int) -> Restored:
        """Make a snapshot or kept version the newest version again.

        What was current is kept as an automatic snapshot. The next :meth:`index` brings the
        knowledge base up to date with the input folder again.
        """
        from graphkb.upkeep.restore import restore

        self._must_be_newest("restore")
        return restore(self.output, self.settings, str(version))

    def diff(self, a: str | int, b: str | int | None = None) -> Difference:
        """What changed from one version or snapshot to another (default: the newest version)."""
        from graphkb.upkeep.difference import difference

        new = self if b is None else self.at(b)
        return difference(self.at(a)._current().store, new._current().store)

    def compact(self) -> Compaction:
        """Free the space of what no kept version and no snapshot needs."""
        from graphkb.upkeep.compact import compact

        self._must_be_newest("compact")
        return compact(self.root, self.output)

    def doctor(self, repair: bool = False) -> list[Finding]:
        """Check that everything is there and fits together; with ``repair`` mend what is not."""
        from graphkb.upkeep.doctor import examine

        return examine(self.root, self.settings, repair)

    def _with_text(self) -> Snapshot:
        snapshot = self._current()
        if not snapshot.manifest.counts.get("text_units"):
            raise NotIndexedError(
                f"{self.root}: the index is empty; put documents into "
                f"{self.root / self.settings.input.folder} and run graphkb index"
            )
        return snapshot

    def search(self, question: str, top_k: int | None = None, method: str = "hybrid") -> Hits:
        """Ranked text units, best first. Raises UsageError for a blank question, an unknown
        method or a ``top_k`` outside 1–1000; NotIndexedError before the first index run."""
        from graphkb.query.route import clean_question
        from graphkb.search.hybrid import search
        from graphkb.search.join import search_widely

        wanted = self.settings.search.top_k if top_k is None else top_k
        if not 1 <= wanted <= 1000:
            raise UsageError(f"top_k {wanted}: use a number from 1 to 1000")
        question = clean_question(question)
        snapshot, options = self._with_text(), self.settings.search
        if method == "hybrid" and (options.multi_query or options.hyde or options.translate):
            return search_widely(snapshot, self._model(), question, wanted)
        return search(snapshot, question, wanted, method)

    async def asearch(
        self, question: str, top_k: int | None = None, method: str = "hybrid"
    ) -> Hits:
        """:meth:`search` without blocking the running event loop."""
        return await asyncio.to_thread(self.search, question, top_k, method)

    def query(
        self,
        question: str,
        method: str = "auto",
        *,
        history: History = (),
        response_type: str = "",
        community_level: int | None = None,
    ) -> Answer:
        """The answer to a question, with citations that can be checked.

        ``history`` is the conversation so far, oldest turn first: (question, answer) pairs, or
        chat messages. ``response_type`` and ``community_level`` override the settings.
        See :func:`~graphkb.query.answer.answer_question`.
        """
        from graphkb.query.answer import answer_question

        ask = self._ask(question, history, response_type, community_level)
        return answer_question(self._with_text(), ask, method)

    async def aquery(self, question: str, method: str = "auto", **options: Any) -> Answer:
        """:meth:`query` without blocking the running event loop."""
        return await asyncio.to_thread(self.query, question, method, **options)

    def stream(self, question: str, method: str = "auto", **options: Any) -> AnswerStream:
        """The answer as it comes: iterate over pieces of text; ``answer`` is :meth:`query`'s,
        as are the ``options``."""
        from graphkb.query.answer import stream_answer

        ask = self._ask(question, **options)
        return stream_answer(self._with_text(), ask, method)

    def astream(self, question: str, method: str = "auto", **options: Any) -> AsyncAnswerStream:
        """:meth:`stream` for ``async for``, without blocking the running event loop."""
        from graphkb.query.stream import AsyncAnswerStream

        return AsyncAnswerStream(lambda: self.stream(question, method, **options))

    def plan_query(self, question: str, method: str = "auto", **options: Any) -> QueryPlan:
        """The prompts that :meth:`query` would send, with tokens and price; nothing is sent."""
        from graphkb.query.dry_run import plan_query

        ask = self._ask(question, **options, with_model=False)
        return plan_query(self._with_text(), ask, method)

    def _ask(
        self,
        question: str,
        history: History = (),
        response_type: str = "",
        community_level: int | None = None,
        with_model: bool = True,
    ) -> Ask:
        from graphkb.query.ask import Ask
        from graphkb.query.history import read_turns
        from graphkb.query.route import clean_question

        question = clean_question(question)
        if community_level is not None and community_level < 0:
            raise UsageError(f"community_level {community_level}: use 0 or more")
        turns = read_turns(history)
        self._with_text()
        return Ask(
            question=question,
            search=question,
            history=turns,
            response_type=" ".join(response_type.split())[:200],
            community_level=community_level,
            model=self._model() if with_model else None,
        )

    def _model(self) -> Model | None:
        """The model that answers, opened once and shared with :meth:`at`; None without one."""
        from graphkb.llm.model import make_model
        from graphkb.settings import uses_model

        if not uses_model(self.settings, "answer"):
            return None
        if not self._models and (model := make_model(self.root, self.settings.llm)):
            self._models.append(model)
        return self._models[0] if self._models else None

    def eval(
        self, path: str | Path, methods: Sequence[str] | None = None, ks: Sequence[int] = (1, 5, 8)
    ) -> Evaluation:
        """Retrieval quality on a file of questions; see :mod:`graphkb.evaluate`."""
        from graphkb.evaluate.questions import read_questions
        from graphkb.evaluate.run import run_evaluation

        return run_evaluation(
            self, read_questions(Path(path)), list(methods or self.search_methods), list(ks)
        )

    def table(self, name: str) -> pl.DataFrame:
        """A table in GraphRAG's shape where there is one (see ``graphkb tables``), else as stored.

        Raises UsageError for an unknown name.
        """
        from graphkb.store.parquet import parquet_view
        from graphkb.tables import PARQUET, TABLES

        if name not in TABLES:
            raise UsageError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
        store = self._current().store
        return parquet_view(store, name) if name in PARQUET else store.read(name)

    def graph(self) -> nx.Graph[str]:
        """The entity graph as networkx: nodes are entity titles, edges have weight and words."""
        import networkx as nx

        store = self._current().store
        graph: nx.Graph[str] = nx.Graph()
        nodes = store.read("nodes").rename({"entity_id": "id"})
        for row in store.read("entities").join(nodes, on="id", how="left").to_dicts():
            graph.add_node(
                row["title"],
                **{key: row[key] for key in ("id", "type", "description", "rank", "community")},
            )
        for row in store.read("relationships").to_dicts():
            graph.add_edge(
                row["source"],
                row["target"],
                weight=row["weight"],
                description=row["description"],
                type=row["type"],
            )
        return graph

    def status(self) -> dict[str, Any]:
        """What is indexed: counts, version, model, bytes; version 0 before the first run.

        ``stale`` is true when the next index run has something to do; ``stale_stages`` are those
        that run again because prompts, models or settings changed.
        """
        _, manifest = self._version()
        stages = self._stale_stages()
        counts: Mapping[str, int] = manifest.counts if manifest else {}
        embedding = manifest.embedding if manifest else {}
        return {
            "root": str(self.root),
            "version": manifest.version if manifest else 0,
            "committed_at": manifest.committed_at if manifest else None,
            **{
                name: counts.get(name, 0)
                for name in (
                    "documents", "text_units", "entities", "relationships", "covariates",
                    "communities", "community_reports", "vectors",
                )
            },
            "embedding_model": (
                f"{embedding['provider']}/{embedding['model']}" if embedding else None
            ),
            "language_model": self.settings.llm.model or None,
            "extracted": self._extracted() if manifest else {},
            "sizes": self._sizes(manifest is not None),
            "stale": bool(stages) or self._is_stale(),
            "stale_stages": stages,
            "graphkb_version": __version__,
        }  # fmt: skip

    def _extracted(self) -> dict[str, int]:
        """Text units by what they were read with; of them the ``unfinished``, which are asked again
        in the next run, and those ``cut`` by the model's limits, which are not."""
        from graphkb.store.lance import Store

        output, manifest = self._version()
        assert manifest is not None
        store = Store(output, manifest.tables, manifest.folder)
        read = store.read("extractions", ("method", "status"))
        methods = ("llm", "imported", "offline")
        counts = {method: read.filter(method=method).height for method in methods}
        unfinished = read.filter(~read["status"].is_in(("done", "cut"))).height
        return {**counts, "unfinished": unfinished, "cut": read.filter(status="cut").height}

    def _sizes(self, indexed: bool) -> dict[str, int]:
        """Bytes on disk by part."""

        from graphkb.store.sizes import part_sizes

        folder = self.root / self.settings.input.folder
        size = sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())
        parts = part_sizes(self.output, self.root / "cache")
        shown = parts if indexed else {"cache": parts["cache"]}
        return {"input": size, **{name: n for name, n in shown.items() if n or name != "snapshots"}}

    def _stale_stages(self) -> list[str]:
        """Stages that the next index run does again for other reasons than documents."""
        from graphkb.pipeline import due_stages, plan, read_dictionary
        from graphkb.store.lance import Store
        from graphkb.work import Work

        output, manifest = self._version()
        if manifest is None:
            return []
        store = Store(output, manifest.tables, manifest.folder)
        dictionary = read_dictionary(self.root, self.settings)
        work = Work(self.root, self.settings, store, no_progress, dictionary)
        if self.settings.embed.when != "off":
            work.embedding = manifest.embedding
        return due_stages(manifest, plan(self.settings), work)

    def _is_stale(self) -> bool:
        """True when the input folder differs from what is indexed (by path and content)."""
        from graphkb.ingest.read import file_hash, list_files

        _, manifest = self._version()
        folder = self.root / self.settings.input.folder
        if manifest is None or not folder.is_dir() or manifest.notes.get("lost"):
            return True
        sources = self._current().store.read("sources", ("path", "file_hash"))
        known = {*sources.iter_rows(), *map(tuple, manifest.notes.get("refused", ()))}
        files = {(file.path, file_hash(file)) for file in list_files(folder, self.settings.input)}
        return known != files
