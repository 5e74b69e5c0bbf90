"""Rerankers: :data:`RERANKERS` lists them, :func:`make_reranker` makes one.

A reranker reads the question and the best fused text units together and says which answer it
best. It never adds or loses one: :mod:`graphkb.search.rerank.apply` puts what it says into the
fused order, and keeps that order where it fails.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from graphkb.llm.model import Model
from graphkb.search.rerank.passages import Passages
from graphkb.settings import Rerank


@dataclass(frozen=True)
class Reranking:
    """That a search is to be reranked: the model for the ``llm`` method, where there is one, and
    when to give up (``time.monotonic()``; ``rerank.timeout`` holds in any case)."""

    model: Model | None = None
    deadline: float | None = None


@dataclass(frozen=True)
class Scores:
    """What a reranker says: the score of each passage it has one for, by the passage's place,
    higher is better; ``detail`` says it in words.

    ``absolute`` scores mean the same for every question, so that a threshold can be put on them.
    """

    by_place: Mapping[int, float]
    detail: str
    absolute: bool = True
    warnings: tuple[str, ...] = ()


class Reranker(Protocol):
    """Scores passages for their question."""

    def score(self, passages: Passages, reranking: Reranking) -> Scores:
        """Scores of some or all of the passages. Raises RerankError when there are none to be
        had, MissingExtraError when it needs a library that is not there."""
        ...


class FusedOrder:
    """Scores nothing."""

    def score(self, passages: Passages, reranking: Reranking) -> Scores:
        """No scores."""
        return Scores({}, "fused order")


def _none(root: Path, options: Rerank) -> Reranker:
    return FusedOrder()


def _http(root: Path, options: Rerank) -> Reranker:
    from graphkb.search.rerank.endpoint import EndpointReranker

    return EndpointReranker(options)


def _cross_encoder(root: Path, options: Rerank) -> Reranker:
    from graphkb.search.rerank.cross_encoder import CrossEncoderReranker

    return CrossEncoderReranker(root, options)


def _llm(root: Path, options: Rerank) -> Reranker:
    from graphkb.search.rerank.listwise import ListwiseReranker

    return ListwiseReranker(root, options)


RERANKERS: dict[str, Callable[[Path, Rerank], Reranker]] = {
    "none": _none,
    "http": _http,
    "cross_encoder": _cross_encoder,
    "llm": _llm,
}


def make_reranker(root: Path, options: Rerank) -> Reranker:
    """The reranker of the settings of the project at ``root``. Nothing is sent or loaded yet."""
    return RERANKERS[options.method](root, options)
