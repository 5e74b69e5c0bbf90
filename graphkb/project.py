"""A project: a folder with settings, prompts, input, output and cache; the Python API."""

from __future__ import annotations

import asyncio
import copy
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphkb.arguments import as_number, as_text, as_texts, wrong_type
from graphkb.errors import NotIndexedError, UsageError
from graphkb.forked import begin_threads, check_not_forked
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

    from graphkb.evaluate.answers import AnswerEvaluation
    from graphkb.evaluate.calibrate import Calibration
    from graphkb.evaluate.fit import Fit
    from graphkb.evaluate.generate import Generated
    from graphkb.evaluate.questions import QuestionSet
    from graphkb.evaluate.results import Evaluation
    from graphkb.explanation import Explanation
    from graphkb.ingest.file_units import FileUnits
    from graphkb.llm.model import Model
    from graphkb.preview import Preview
    from graphkb.query.ask import Ask
    from graphkb.query.dry_run import QueryPlan
    from graphkb.query.history import History
    from graphkb.query.repository import RepositoryMap
    from graphkb.query.stream import AnswerStream, AsyncAnswerStream
    from graphkb.search.rerank import Reranking
    from graphkb.search.snapshot import Snapshot
    from graphkb.store.lance import Store
    from graphkb.store.manifest import Manifest
    from graphkb.terms import TermsChange
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

    def __enter__(self) -> Project:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    @property
    def search_methods(self) -> tuple[str, ...]:
        """What :meth:`search` can be asked for in the version that is read: ``question`` only
        where it has questions (``questions.method``)."""
        from graphkb.search.hybrid import SEARCH_METHODS
        from graphkb.search.questions import question_problem

        try:
            problem = question_problem(self._current().store)
        except NotIndexedError as error:
            problem = str(error)
        return tuple(name for name in SEARCH_METHODS if name != "question" or not problem)

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
        allow_empty: bool = False,
        on_plan: Callable[[str], None] = lambda line: None,
        on_commit: Callable[[IndexResult], None] = lambda result: None,
    ) -> IndexResult:
        """Bring the knowledge base up to date with the input folder; resumes where it stopped.

        ``embed`` (later, now, off) overrides ``embed.when``; ``rebuild`` starts from nothing.
        Where the input folder has no readable document any more this raises EmptiedInputError and
        changes nothing, but with ``allow_empty`` it empties the knowledge base.
        ``on_plan`` is told first when changed settings make stages run again.
        ``on_commit`` is called after each commit: the first makes the lexical and graph legs
        searchable, the second adds the vectors.
        """
        from graphkb.pipeline import run_index

        self._must_be_newest("index")
        begin_threads()
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
            allow_empty=allow_empty,
            on_plan=on_plan,
            on_commit=on_commit,
        )

    def preview(
        self, progress: Progress = no_progress, *, rebuild: bool = False, allow_empty: bool = False
    ) -> Preview:
        """What :meth:`index` would do now and what it costs; nothing is written or asked. Raises
        what it would raise."""
        from graphkb.preview import preview_index

        self._must_be_newest("preview")
        begin_threads()
        return preview_index(
            self.root, self.settings, progress, rebuild=rebuild, allow_empty=allow_empty
        )

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
        names = as_texts("documents", documents)
        return run_index(
            self.root,
            self._as_embedded(),
            progress=progress,
            removals=lambda store: removals_after(store, names, undo),
        )

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

        return entities_like(self._current().store, as_text("like", like))

    def terms(self, like: str = "") -> pl.DataFrame:
        """Terms of the version that is read, with ``like`` in them: term, origin (user, mined or
        title), frequency, document_frequency, cohesion, entropy, example."""
        from graphkb.terms import list_terms

        return list_terms(self._current().store, as_text("like", like))

    def mine_terms(self, min_frequency: int = 5, limit: int = 0) -> pl.DataFrame:
        """Terms that the texts propose for the user's dictionary, best first, with a score; see
        :func:`graphkb.terms.mine_terms`."""
        from graphkb.terms import mine_terms

        least, most = as_number("min_frequency", min_frequency, 1), as_number("limit", limit, 0)
        snapshot = self._current()
        return mine_terms(snapshot.store, least, snapshot.dictionary, most)

    def add_terms(self, *words: str) -> TermsChange:
        """Put words into the user's dictionary; they count from the next :meth:`index`."""
        from graphkb.terms import add_terms

        given = as_texts("words", words)
        return self._with_dictionary(add_terms(self.root, self.settings, given))

    def remove_terms(self, *words: str) -> TermsChange:
        """Take words out of the user's dictionary."""
        from graphkb.terms import remove_terms

        given = as_texts("words", words)
        return self._with_dictionary(remove_terms(self.root, self.settings, given))

    def _with_dictionary(self, change: TermsChange) -> TermsChange:
        from graphkb.terms import with_dictionary

        self.settings = with_dictionary(self.root, self.settings, change)
        return change

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
        _names(name=name, other=other, into=into)
        return self._decide(lambda store: decisions_after_merge(store, name, other, into), progress)

    def split_entities(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Keep names apart from each other; one name alone: from every other name."""
        from graphkb.decisions import decisions_after_split

        self._must_be_newest("split entities")
        given = as_texts("names", names)
        return self._decide(lambda store: decisions_after_split(store, given), progress)

    def rename_entity(self, old: str, new: str, progress: Progress = no_progress) -> IndexResult:
        """Call an entity by another name; the old one becomes an alias, the id stays."""
        from graphkb.decisions import decisions_after_rename

        self._must_be_newest("rename an entity")
        _names(old=old, new=new)
        return self._decide(lambda store: decisions_after_rename(store, old, new), progress)

    def undo_decisions(self, *names: str, progress: Progress = no_progress) -> IndexResult:
        """Take back the decisions that name one of ``names``; without names the newest one."""
        from graphkb.decisions import decisions_after_undo

        self._must_be_newest("undo a decision")
        given = as_texts("names", names)
        return self._decide(lambda store: decisions_after_undo(store, given), progress)

    def _decide(
        self, decisions: Callable[[Store], pl.DataFrame], progress: Progress
    ) -> IndexResult:
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

    def at(self, version: str | int) -> Project:
        """This project as it was: a kept version by number or a snapshot by name, for reading.

        Raises UsageError that lists what is there when there is no such version any more.
        """
        from graphkb.store.versions import find_version

        project = copy.copy(self)
        project._snapshot, project._pinned = None, find_version(self.output, version)
        return project

    def where(self, filter: str) -> Project:
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
        from graphkb.text.visible import visible

        name, note = as_text("name", name), visible(as_text("note", note))
        self._current()
        with write_lock(self.output):
            read = self._current()
            return create_snapshot(self.output, read.output, read.manifest, name, note)

    def delete_snapshot(self, name: str) -> None:
        """Remove a snapshot. Raises UsageError when there is none of that name."""
        from graphkb.store.lock import write_lock
        from graphkb.store.snapshots import delete_snapshot

        with write_lock(self.output):
            delete_snapshot(self.output, as_text("name", name))

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

    def search(
        self,
        question: str,
        top_k: int | None = None,
        method: str = "hybrid",
        where: str | None = None,
    ) -> Hits:
        """Ranked text units, best first; with ``where`` the best of those that match a filter
        (see :meth:`where`). Raises UsageError for a blank question, an unknown method, a wrong
        filter or a ``top_k`` outside 1–1000; NotIndexedError before the first index run."""
        from graphkb.query.absent_files import absent_files
        from graphkb.query.route import clean_question
        from graphkb.search.hybrid import search
        from graphkb.search.join import search_widely

        wanted = self.settings.search.top_k if top_k is None else as_number("top_k", top_k, 1, 1000)
        question = clean_question(question)
        snapshot, options = self._with_text(where), self.settings.search
        by_model = bool(options.multi_query or options.hyde or options.translate)
        if method == "hybrid" and (by_model or options.decompose or options.other_names):
            model = self._model() if by_model else None
            hits = search_widely(snapshot, model, question, wanted, self._reranking())
        else:
            hits = search(snapshot, question, wanted, method, self._reranking())
        return absent_files(snapshot, question, hits)

    def _reranking(self) -> Reranking:
        """How :meth:`search` reranks: with the model where that does it."""
        from graphkb.search.rerank import Reranking

        by_model = self.settings.rerank.method == "llm"
        return Reranking(self._model() if by_model else None)

    def map(self, paths: str | Sequence[str] = (), tokens: int = 1000) -> RepositoryMap:
        """The most important definitions of the indexed code within ``tokens``, by file; of the
        files, folders or patterns in ``paths`` where any are given.

        Raises UsageError where no code is indexed or nothing fits the paths.
        """
        from graphkb.query.repository import map_repository

        wanted, room = as_texts("paths", paths), as_number("tokens", tokens, 1)
        return map_repository(self._current(), wanted, room)

    def explain(
        self,
        question: str,
        document: str,
        unit: str = "",
        top_k: int | None = None,
        where: str | None = None,
    ) -> Explanation:
        """Why a document (path, id or title) was, or was not, among the hits of
        :meth:`search`: words, legs, named entities, the way through the graph, scores, and where
        it was cut. ``unit`` looks at one text unit of it (its id, or how that begins).

        Raises UsageError for a document or text unit that is not there, with near names.
        """
        from graphkb.query.route import clean_question
        from graphkb.search.explain import explain

        top_k = None if top_k is None else as_number("top_k", top_k, 1, 1000)
        question = clean_question(question)
        document, unit = as_text("document", document), as_text("unit", unit)
        snapshot = self._with_text(where)
        return explain(snapshot, question, document, unit, top_k, self._reranking())

    async def asearch(
        self,
        question: str,
        top_k: int | None = None,
        method: str = "hybrid",
        where: str | None = None,
    ) -> Hits:
        """:meth:`search` without blocking the running event loop."""
        return await asyncio.to_thread(self.search, question, top_k, method, where)

    def query(
        self,
        question: str,
        method: str = "auto",
        *,
        history: History = (),
        response_type: str = "",
        community_level: int | None = None,
        where: str | None = None,
    ) -> Answer:
        """The answer to a question, with citations that can be checked.

        ``history`` is the conversation so far, oldest turn first: (question, answer) pairs, or
        chat messages. ``response_type`` and ``community_level`` override the settings; with
        ``where`` the answer is made from what matches a filter (see :meth:`where`).
        See :func:`~graphkb.query.answer.answer_question`.
        """
        from graphkb.query.answer import answer_question

        ask = self._ask(question, history, response_type, community_level)
        return answer_question(self._with_text(where), ask, method)

    async def aquery(self, question: str, method: str = "auto", **options: Any) -> Answer:
        """:meth:`query` without blocking the running event loop."""
        return await asyncio.to_thread(self.query, question, method, **options)

    def stream(self, question: str, method: str = "auto", **options: Any) -> AnswerStream:
        """The answer as it comes: iterate over pieces of text; ``answer`` is :meth:`query`'s,
        as are the ``options``. Iterating raises UsageError where the version that is read was let
        go of since."""
        from graphkb.query.answer import stream_answer
        from graphkb.query.stream import while_kept
        from graphkb.store.versions import check_still_kept

        snapshot = self._with_text(options.pop("where", None))
        stream = stream_answer(snapshot, self._ask(question, **options), method)
        version = snapshot.output, snapshot.manifest
        return while_kept(stream, lambda: check_still_kept(self.output, *version))

    def astream(self, question: str, method: str = "auto", **options: Any) -> AsyncAnswerStream:
        """:meth:`stream` for ``async for``, without blocking the running event loop."""
        from graphkb.query.stream import AsyncAnswerStream

        return AsyncAnswerStream(lambda: self.stream(question, method, **options))

    def plan_query(self, question: str, method: str = "auto", **options: Any) -> QueryPlan:
        """The prompts that :meth:`query` would send, with tokens and price; nothing is sent."""
        from graphkb.query.dry_run import plan_query

        snapshot = self._with_text(options.pop("where", None))
        return plan_query(snapshot, self._ask(question, **options, with_model=False), method)

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
        from graphkb.text.visible import visible

        question = clean_question(question)
        if community_level is not None:
            community_level = as_number("community_level", community_level, 0)
        form = " ".join(visible(as_text("response_type", response_type)).split())
        turns = read_turns(history)
        self._with_text()
        return Ask(
            question=question,
            search=question,
            history=turns,
            response_type=form[:200],
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

    @property
    def version(self) -> int:
        """The number of the version that is read; 0 before the first run."""
        manifest = self._version()[1]
        return manifest.version if manifest else 0

    def eval(
        self,
        path: str | Path | QuestionSet,
        methods: Sequence[str] | None = None,
        ks: Sequence[int] = (1, 5, 8),
        progress: Progress = no_progress,
    ) -> Evaluation:
        """Retrieval quality on a file of questions; see
        :func:`~graphkb.evaluate.run.run_evaluation`."""
        from graphkb.evaluate.questions import question_set_of
        from graphkb.evaluate.run import documents_inside, run_evaluation

        asked, candidates = question_set_of(path), self.settings.search.candidates
        inside = documents_inside(self._with_text())
        return run_evaluation(
            self, asked, as_texts("methods", methods or ()), list(ks), progress, candidates, inside
        )

    def tune_fusion(
        self,
        questions: str | Path | QuestionSet,
        seed: int = 42,
        progress: Progress = no_progress,
    ) -> Fit:
        """The best way of joining the legs for a file of questions, and whether its gain holds on
        questions that it was not chosen on; see :func:`~graphkb.evaluate.fit.fit_fusion`."""
        from graphkb.evaluate.fit import fit_fusion
        from graphkb.evaluate.questions import question_set_of
        from graphkb.evaluate.run import document_names

        asked = question_set_of(questions)
        return fit_fusion(self._with_text(), asked, document_names(self), seed, progress)

    def calibrate(
        self,
        questions: str | Path | QuestionSet,
        methods: Sequence[str] = (),
        rate: float = 0.05,
        seed: int = 42,
        progress: Progress = no_progress,
    ) -> Calibration:
        """The refusal threshold at a share ``rate`` of false refusals, from questions with answers
        and without; see :func:`~graphkb.evaluate.calibrate.calibrate_refusal`."""
        from graphkb.evaluate.calibrate import calibrate_refusal
        from graphkb.evaluate.questions import question_set_of
        from graphkb.evaluate.run import document_names, documents_inside

        snapshot = self._with_text()
        asked, names = question_set_of(questions), document_names(self, documents_inside(snapshot))
        wanted = as_texts("methods", methods)
        return calibrate_refusal(snapshot, asked, names, wanted, rate, seed, progress)

    def eval_answers(
        self,
        questions: str | Path | QuestionSet,
        methods: Sequence[str] = (),
        judge: bool = False,
        progress: Progress = no_progress,
    ) -> AnswerEvaluation:
        """Whole answers to a file of questions, measured; with ``judge`` the model also judges
        support. See :func:`~graphkb.evaluate.answers.evaluate_answers`."""
        from graphkb.evaluate.answers import evaluate_answers
        from graphkb.evaluate.questions import question_set_of

        asked, model = question_set_of(questions), self._model() if judge else None
        if judge and model is None:
            raise UsageError("judging needs a language model; set llm.model, or judge by words")
        wanted = as_texts("methods", methods)
        return evaluate_answers(self, self._with_text(), asked, wanted, model, progress)

    def make_questions(
        self, n: int = 50, seed: int = 42, with_model: bool = True, progress: Progress = no_progress
    ) -> Generated:
        """Questions with known answers made from the documents, to measure with; by the model too
        where one is configured. See :func:`~graphkb.evaluate.generate.generate_questions`."""
        from graphkb.evaluate.generate import generate_questions

        model = self._model() if with_model else None
        return generate_questions(self._with_text(), n, model, seed, progress)

    def chunks(self, file: str | Path) -> FileUnits:
        """The text units that the settings make of a file, wherever it lies; nothing is indexed.

        Raises InputError where there is no such file, or nothing in it that can be read.
        """
        from graphkb.ingest.file_units import cut_file

        begin_threads()
        if not isinstance(file, str | os.PathLike):
            raise wrong_type("file", file, "the path of a file")
        return cut_file(Path(file), self.settings)

    def table(self, name: str) -> pl.DataFrame:
        """A table in GraphRAG's shape where there is one (see ``graphkb tables``), else as stored.

        Raises UsageError for an unknown name.
        """
        from graphkb.store.parquet import parquet_view
        from graphkb.tables import PARQUET, TABLES

        if as_text("name", name) not in TABLES:
            raise UsageError(f"unknown table {name!r}; known: {', '.join(TABLES)}")
        store = self._current().store
        return parquet_view(store, name) if name in PARQUET else store.read(name)

    def graph(self) -> nx.Graph[str]:
        """The entity graph as networkx: nodes are entity titles, edges have weight and words.

        Of two entities with several relationships the weights are added, and the words and types
        stand one after the other, strongest first.
        """
        from graphkb.network import entity_network

        return entity_network(self._current().store)

    def status(self) -> dict[str, Any]:
        """What is indexed: counts, version, model, bytes; version 0 before the first run.

        ``stale`` is true when the next index run has something to do; ``stale_stages`` are those
        that run again because prompts, models or settings changed.
        """
        from graphkb.status import status_of

        return status_of(self.root, self.settings, self.output, *self._version())


def _names(**given: str) -> None:
    """Raises UsageError for a name that is no text."""
    for argument, name in given.items():
        as_text(argument, name)
