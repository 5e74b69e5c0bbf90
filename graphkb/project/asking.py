"""Searching a project and asking it."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from graphkb.arguments import as_number, as_text, as_texts
from graphkb.errors import NotIndexedError
from graphkb.project.base import Base
from graphkb.types import Answer, Hits

if TYPE_CHECKING:
    from graphkb.explanation import Explanation
    from graphkb.query.ask import Ask
    from graphkb.query.dry_run import QueryPlan
    from graphkb.query.history import History
    from graphkb.query.repository import RepositoryMap
    from graphkb.query.stream import AnswerStream, AsyncAnswerStream
    from graphkb.search.rerank import Reranking


class Asking(Base):
    """What is asked of the version that is read."""

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

    async def asearch(
        self,
        question: str,
        top_k: int | None = None,
        method: str = "hybrid",
        where: str | None = None,
    ) -> Hits:
        """:meth:`search` without blocking the running event loop."""
        return await asyncio.to_thread(self.search, question, top_k, method, where)

    def _reranking(self) -> Reranking:
        """How :meth:`search` reranks: with the model where that does it."""
        from graphkb.search.rerank import Reranking

        by_model = self.settings.rerank.method == "llm"
        return Reranking(self._model() if by_model else None)

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

    def map(self, paths: str | Sequence[str] = (), tokens: int = 1000) -> RepositoryMap:
        """The most important definitions of the indexed code within ``tokens``, by file; of the
        files, folders or patterns in ``paths`` where any are given.

        Raises UsageError where no code is indexed or nothing fits the paths.
        """
        from graphkb.query.repository import map_repository

        wanted, room = as_texts("paths", paths), as_number("tokens", tokens, 1)
        return map_repository(self._current(), wanted, room)

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
