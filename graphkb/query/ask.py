"""One question with all that a query method may use to answer it."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphkb.llm.model import Model
from graphkb.search.rerank import Reranking


@dataclass(frozen=True)
class Turn:
    """One turn of a conversation, oldest first: what was asked and what was answered."""

    question: str
    answer: str


@dataclass(frozen=True)
class Ask:
    """A cleaned question and how it is to be answered.

    ``search`` is the question made to stand alone (equal to ``question`` without a history);
    ``also`` are further texts to search with, the question itself never among them.
    ``model`` is None where the answer is extractive. ``deadline`` is in ``time.monotonic()``
    seconds. ``community_level`` overrides the setting. Without ``reranked`` the fused order is
    kept whatever the settings say, because nothing is to be sent.
    """

    question: str
    search: str
    also: tuple[str, ...] = ()
    history: tuple[Turn, ...] = ()
    response_type: str = ""
    community_level: int | None = None
    model: Model | None = None
    deadline: float | None = None
    reranked: bool = True

    @classmethod
    def plain(cls, question: str) -> Ask:
        """A question alone, answered without a model."""
        return cls(question, question)

    def with_search(self, search: str, also: Sequence[str] = ()) -> Ask:
        """The same question, searched for in other words."""
        return replace(self, search=search, also=tuple(also))

    @property
    def reranking(self) -> Reranking | None:
        """That what is retrieved for this question is to be reranked, and by which model."""
        return Reranking(self.model, self.deadline) if self.reranked else None

    @property
    def late(self) -> bool:
        """Whether the deadline has passed."""
        return self.deadline is not None and time.monotonic() > self.deadline
