"""A project: a folder with settings, prompts, input, output and cache; the Python API."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from graphkb.arguments import as_text, as_texts, wrong_type
from graphkb.errors import UsageError
from graphkb.forked import begin_threads
from graphkb.project.asking import Asking
from graphkb.project.changing import Changing
from graphkb.project.keeping import Keeping
from graphkb.scaffold import init_project as init_project
from graphkb.types import Progress, no_progress

if TYPE_CHECKING:
    import networkx as nx
    import polars as pl

    from graphkb.evaluate.answers import AnswerEvaluation
    from graphkb.evaluate.calibrate import Calibration
    from graphkb.evaluate.fit import Fit
    from graphkb.evaluate.generate import Generated
    from graphkb.evaluate.questions import QuestionSet
    from graphkb.evaluate.results import Evaluation
    from graphkb.ingest.file_units import FileUnits


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


class Project(Asking, Changing, Keeping):
    """One knowledge base. Reading methods see the last committed version at the time of the call.

    Safe inside a running event loop (notebooks, servers): ``aquery`` and ``asearch`` do not
    block it.
    """

    methods: tuple[str, ...] = ("auto", "local", "global", "drift", "lazy", "hybrid")

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
