"""Failure browser: for each missed question, what each leg returned and where evidence was lost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from graphkb.errors import EmbeddingError, NotIndexedError
from graphkb.evaluate.questions import UNMATCHED, DocumentNames, Judgement, Question
from graphkb.evaluate.results import FUSION, Evaluation, QuestionResult
from graphkb.evaluate.run import Searchable, document_names, ranked_documents
from graphkb.types import Progress, no_progress

Place = Literal["absent", "outside", "unseen", "fused out", "cut"]
"""Where a relevant document was lost.

``absent``: no document of the knowledge base has that name. ``outside``: the filter keeps its
document out of the search. ``unseen``: it is no candidate; of
hybrid, in no leg. ``fused out``: a leg put it forward, the fused list does not hold it. ``cut``:
it is in the list, below the last cut-off.
"""

# Titles of a leg that are shown.
_TITLES = 3


@dataclass(frozen=True)
class Lost:
    """A relevant document that was missed. ``rank`` is its document rank in the method's list, or
    None; ``legs`` maps each leg to its document rank there, or None where it is no candidate."""

    item: str
    place: Place
    rank: int | None
    legs: Mapping[str, int | None]


@dataclass(frozen=True)
class Miss:
    """A question that misses evidence. ``found`` are the relevant items that were not missed, with
    their ranks; ``top`` maps the method and every leg to the titles of its first documents."""

    method: str
    id: str
    query: str
    lost: tuple[Lost, ...]
    found: Mapping[str, int]
    top: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Seen:
    """What one leg returned for a question."""

    ranks: Mapping[str, int | None]
    titles: tuple[str, ...]


def find_misses(
    project: Searchable, evaluation: Evaluation, progress: Progress = no_progress
) -> list[Miss]:
    """Every question with evidence missing from the last cut-off, by method.

    Legs that were not evaluated are asked now, for the missed questions only; one that cannot
    run is left out.
    """
    legs = _Legs(project, evaluation)
    cut = evaluation.ks[-1]
    missed = [
        (result.method, question)
        for result in evaluation.methods
        for question in result.questions
        if question.missed(cut)
    ]
    found = []
    for done, (method, question) in enumerate(missed, 1):
        found.append(_miss(method, question, legs, cut))
        progress("misses", done, len(missed))
    return found


def _miss(method: str, question: QuestionResult, legs: _Legs, cut: int) -> Miss:
    seen = {leg: legs.of(leg, question.id) for leg in legs.names if leg != method}
    own = _Seen(question.ranks, question.retrieved)
    views = {method: own} if method != FUSION else {}
    views |= {leg: found for leg, found in seen.items() if found is not None}
    lost = tuple(
        _lost(item, question, method, views, legs.unreachable(question.id, item))
        for item in question.missed(cut)
    )
    kept = {item: rank for item, rank in question.ranks.items() if rank and rank <= cut}
    top = {method: own, **views}
    titles = {name: view.titles[:_TITLES] for name, view in top.items()}
    return Miss(method, question.id, question.query, lost, kept, titles)


def _lost(
    item: str,
    question: QuestionResult,
    method: str,
    views: Mapping[str, _Seen],
    unreachable: Place | None,
) -> Lost:
    rank = question.ranks[item]
    legs = {leg: view.ranks.get(item) for leg, view in views.items()}
    place: Place
    if unreachable:
        place = unreachable
    elif rank is not None:
        place = "cut"
    elif method == FUSION and any(legs.values()):
        place = "fused out"
    else:
        place = "unseen"
    return Lost(item, place, rank, legs)


class _Legs:
    """What each leg returned for a question: from the evaluation, or asked now."""

    def __init__(self, project: Searchable, evaluation: Evaluation) -> None:
        self._project, self._evaluation = project, evaluation
        self.names = [name for name in project.search_methods if name != FUSION]
        self._asked = {question.id: question for question in evaluation.questions}
        self._known: dict[tuple[str, str], _Seen | None] = {
            (result.method, question.id): _Seen(question.ranks, question.retrieved)
            for result in evaluation.methods
            if result.method != FUSION
            for question in result.questions
        }

    @cached_property
    def _documents(self) -> DocumentNames:
        return document_names(self._project)

    def unreachable(self, question_id: str, item: str) -> Place | None:
        """``absent`` where no document has the name that the questions file gives, ``outside``
        where the filter keeps its documents out, else None."""
        asked = self._asked[question_id]
        if item in asked.outside:
            return "outside"
        keys = asked.relevant.items()
        absent = any(key.startswith(UNMATCHED) for key, name in keys if name == item)
        return "absent" if absent else None

    def of(self, leg: str, question_id: str) -> _Seen | None:
        """None where the leg cannot run."""
        key = leg, question_id
        if key not in self._known:
            self._known[key] = self._ask(leg, question_id)
        return self._known[key]

    def _ask(self, leg: str, question_id: str) -> _Seen | None:
        if leg in self._evaluation.skipped:
            return None
        asked = self._asked[question_id]
        try:
            hits = self._project.search(asked.query, top_k=self._evaluation.depth, method=leg)
        except (NotIndexedError, EmbeddingError):
            return None
        judgement = self._judge(asked.id, asked.query, asked.relevant.values())
        ranks = {key: rank for rank, key in enumerate(ranked_documents(hits, judgement), 1)}
        titles = dict.fromkeys((hit.document_id, hit.title) for hit in hits)
        return _Seen(
            {label: ranks.get(key) for key, label in judgement.labels.items()},
            tuple(title for _, title in titles)[:_TITLES],
        )

    def _judge(self, key: str, query: str, items: Iterable[str]) -> Judgement:
        return self._documents.judge(Question(key, query, tuple(items)))
