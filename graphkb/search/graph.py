"""The graph leg: from the entities a question names to the passages that answer it.

Two views are added. Personalised PageRank spreads from the named entities over passages and
entities (after HippoRAG 2, Gutiérrez et al. 2025, here with little or no passage mass in the
reset, which measured best). Relation-aware expansion (:mod:`graphkb.search.bridge`) then reads
the sentences and typed relationships of the best passages: the entities of those that hold the
question's other words lead to the next passages, the sooner the nearer these are in meaning. No
model is used. Lexical and dense hits are starting points too where the question names nothing, or
nothing sure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from graphkb.graph.lookup import find_ids
from graphkb.graph.pagerank import personalised_pagerank
from graphkb.search import bridge
from graphkb.search.link import Seed, link
from graphkb.text.language import has_han
from graphkb.text.segment import query_tokens, search_tokens

Arrays = Mapping[str, npt.NDArray[Any]]

#: Seed weights from which a titled entity, or another one, is trusted fully.
_SURE_TITLE, _SURE_MENTION = 0.7, 0.6
#: A plain word that titles a passage is trusted in full where that passage holds this share of
#: what the best one holds of the question, else by the second share.
_AGREES, _PLAIN_TITLE = 0.8, 0.3
#: Coverage up to which a question surely needs several passages, and from which it does not.
_UNCOVERED, _COVERED = 0.5, 0.7
#: Latin seeds of less weight are plain words that happen to name an entity, too.
_PLAIN_WORDS = 0.3
#: Trust in a walk that started from another leg's hits, because no entity was named.
_UNNAMED = 0.2
_KEPT_QUESTIONS = 256


@dataclass(frozen=True)
class GraphOptions:
    """Options of the graph leg.

    ``damping``: chance that the walk goes on. ``tolerance``: residual that is not followed.
    ``sources``: passages whose sentences are read. ``expansion``: weight of the expansion
    beside PageRank (both scaled to a maximum of 1); 0 turns it off. ``fit``: how much the
    question's other words raise the passages PageRank finds, which tells the passages of one
    document apart. ``near``: how much nearness in meaning counts, beside the question's words,
    for a passage that the expansion reaches. ``prior_units``: passages of the other legs that
    the walk starts from when the question names no entity. ``doubt``: their mass beside the
    entities' where these are not trusted at all.
    """

    damping: float = 0.5
    tolerance: float = 1e-5
    sources: int = 12
    expansion: float = 0.3
    fit: float = 1.0
    near: float = 0.25
    doubt: float = 0.25
    prior_units: int = 10


@dataclass(frozen=True)
class GraphRun:
    """Hits (text unit id, score), best first, ties by id; seeds and bridges for the trace.

    ``bridges`` are the entities that led on, as (entity id, strength), strongest first.

    ``trust`` in [0, 1] says how far fusion may follow this leg: fully when the question gives
    the name of a titled passage; for other entities only while no single passage holds most of
    the question's words (``coverage``), for then that passage is the better answer.
    """

    hits: list[tuple[str, float]]
    seeds: list[Seed]
    trust: float
    coverage: float
    bridges: list[tuple[str, float]] = field(default_factory=list)


Walked = tuple[npt.NDArray[np.float64], dict[int, float]]


@dataclass(frozen=True)
class Begun:
    """What :meth:`GraphIndex.begin` finds: ``doubt`` is the mass that the walk takes from hits of
    the other legs, ``raised`` what the question's words make of the mass of each unit, ``fit`` how
    well they fit each unit that is reached, ``walked`` is None where those hits are needed."""

    seeds: list[Seed]
    trust: float
    coverage: float
    reset: dict[int, float]
    doubt: float
    wanted: bridge.Wanted
    raised: npt.NDArray[np.float64]
    fit: npt.NDArray[np.float64]
    walked: Walked | None = None


class GraphIndex:
    """The graph leg over the arrays of :func:`graphkb.graph.build.build_graph`.

    ``dictionary`` are the user's words, as given to :func:`graphkb.text.segment.search_tokens`.
    """

    def __init__(
        self,
        arrays: Arrays,
        options: GraphOptions | None = None,
        dictionary: Sequence[str] = (),
    ) -> None:
        self.arrays = arrays
        self.dictionary = tuple(dictionary)
        self.options = options or GraphOptions()
        self.n_units = len(arrays["unit_ids"])
        # A question is linked where it is routed, widened and searched for.
        self._link = lru_cache(_KEPT_QUESTIONS)(lambda query: tuple(link(self.arrays, query)))

    @cached_property
    def _norms(self) -> npt.NDArray[np.float64]:
        return bridge.length_norms(self.arrays)

    def link(self, query: str) -> list[Seed]:
        """Entities the question names, strongest first."""
        return list(self._link(query))

    def neighbours(self, entity: int) -> int:
        """Text units and entities that an entity is joined to."""
        indptr = self.arrays["indptr"]
        node = self.n_units + entity
        return int(indptr[node + 1] - indptr[node])

    def documents(self, text_unit_ids: Iterable[str]) -> dict[str, int]:
        """Number of the document of each text unit the graph knows, for :func:`fuse`."""
        wanted = list(text_unit_ids)
        numbers = self.arrays["unit_documents"]
        return {wanted[place]: int(numbers[unit]) for place, unit in self._placed(wanted)}

    def positions(self, text_unit_ids: Iterable[str]) -> list[int]:
        """Positions of the text units that the graph knows; they are its first nodes."""
        return [unit for _, unit in self._placed(list(text_unit_ids))]

    def _placed(self, text_unit_ids: Sequence[str]) -> list[tuple[int, int]]:
        """Of the ids that the graph knows, the place in the sequence and the position."""
        return find_ids(self.arrays["unit_ids"], text_unit_ids)

    def begin(self, query: str) -> Begun:
        """All of :meth:`search` that needs no other leg's hits: where the entities that the
        question names are fully trusted the walk and the sentences it leads to, too."""
        seeds = self.link(query)
        held = bridge.held_shares(self.arrays, query_tokens(query, self.dictionary))
        coverage = float(held.max(initial=0.0))
        trust = self._trust(seeds, held, coverage)
        reset = {self.n_units + seed.entity: seed.weight for seed in seeds}
        doubt = self.options.doubt * (1.0 - trust) * sum(reset.values()) if reset else 1.0
        wanted = self._wanted(query, seeds)
        fit = bridge.fit_to_words(self.arrays, wanted, self._norms)
        raised = 1.0 + self.options.fit * fit * self._titled_by(seeds)
        # What a plain word names is where to begin, and yet a word of the question: the
        # passage that is reached should hold it.
        fit = bridge.fit_to_words(self.arrays, self._wanted(query, _names(seeds)), self._norms)
        begun = Begun(seeds, trust, coverage, reset, doubt, wanted, raised, fit)
        return replace(begun, walked=self._walked(begun, reset)) if doubt <= 0 else begun

    def search(
        self,
        query: str,
        top_k: int = 100,
        lexical: Sequence[tuple[str, float]] = (),
        dense: Sequence[tuple[str, float]] = (),
        among: npt.NDArray[np.bool_] | None = None,
        begun: Begun | None = None,
    ) -> GraphRun:
        """The best ``top_k`` units for a question, of those in ``among`` (bool [n_units]) where
        that is given; the walk goes through all.

        ``lexical`` and ``dense`` are hits of the other legs (text unit id, score), best first;
        the walk starts from them when no entity is named, and otherwise also from them the less
        the named entities are trusted. ``begun`` is what :meth:`begin` gave for the question.
        """
        begun = begun or self.begin(query)
        seeds, trust, coverage = begun.seeds, begun.trust, begun.coverage
        walked = begun.walked
        if walked is None:
            reset = dict(begun.reset)
            for hits in (lexical, dense):
                reset |= _shared_out(self._from_hits(hits), begun.doubt, reset)
            if not reset:
                return GraphRun([], [], 0.0, coverage)
            walked = self._walked(begun, reset)
        scores, strengths = walked
        if self.options.expansion > 0:
            fit = begun.fit + self.options.near * self._nearness(dense)
            reached = _scaled(bridge.reach(self.arrays, strengths, fit))
            scores = scores + self.options.expansion * reached
        if among is not None:
            scores = scores * among
        ids = self.arrays["unit_ids"]
        hits = [(bytes(ids[unit]).decode(), score) for unit, score in best(scores, top_k)]
        ranked = sorted(strengths.items(), key=lambda item: (-item[1], item[0]))[:20]
        names = self.arrays["entity_ids"]
        bridges = [(bytes(names[entity]).decode(), strength) for entity, strength in ranked]
        return GraphRun(hits, seeds, trust, coverage, bridges)

    def _walked(self, begun: Begun, reset: dict[int, float]) -> Walked:
        """Scores of the units by PageRank from ``reset``, and the bridges that the best lead to."""
        scores = _scaled(self._walk(reset) * begun.raised)
        if self.options.expansion <= 0:
            return scores, {}
        sources = best(scores, self.options.sources)
        named = {seed.entity for seed in begun.seeds}
        return scores, bridge.bridges(self.arrays, begun.wanted, sources, named)

    def _walk(self, reset: dict[int, float]) -> npt.NDArray[np.float64]:
        """PageRank mass of the units."""
        return personalised_pagerank(
            self.arrays["indptr"],
            self.arrays["indices"],
            self.arrays["weights"],
            reset,
            self.options.damping,
            self.options.tolerance,
            self.arrays["strength"],
        )[: self.n_units]

    def _nearness(self, dense: Sequence[tuple[str, float]]) -> npt.NDArray[np.float64]:
        """Similarity of the dense hits from 0, the last of them, to 1, the first; else 0."""
        near = np.zeros(self.n_units)
        if not dense or dense[0][1] <= dense[-1][1]:
            return near
        top, low = dense[0][1], dense[-1][1]
        for place, unit in self._placed([text_unit_id for text_unit_id, _ in dense]):
            near[unit] = (dense[place][1] - low) / (top - low)
        return near

    def _titled_by(self, seeds: list[Seed]) -> npt.NDArray[np.bool_]:
        """Which units an entity of the question is the title of, bool [n_units]."""
        about = np.zeros(self.n_units, dtype=bool)
        indptr, titled = self.arrays["titled_indptr"], self.arrays["titled_units"]
        for seed in seeds:
            about[titled[indptr[seed.entity] : indptr[seed.entity + 1]]] = True
        return about

    def _trust(self, seeds: list[Seed], held: npt.NDArray[np.float64], coverage: float) -> float:
        titled = self.arrays["titled_indptr"]
        by_title, by_mention = 0.0, 0.0
        for seed in seeds:
            start, end = titled[seed.entity], titled[seed.entity + 1]
            if end > start:
                weight = min(1.0, seed.weight / _SURE_TITLE)
                # "Which alloy is made of …": a thing in general may be what is asked for.
                if (
                    _is_plain(seed)
                    and held[self.arrays["titled_units"][start:end]].max() < _AGREES * coverage
                ):
                    weight *= _PLAIN_TITLE
                by_title = max(by_title, weight)
            else:
                by_mention = max(by_mention, seed.weight)
        needs_more = min(1.0, max(0.0, (_COVERED - coverage) / (_COVERED - _UNCOVERED)))
        if not seeds:
            return _UNNAMED * needs_more
        from_mention = min(1.0, by_mention / _SURE_MENTION) * needs_more
        return max(by_title, from_mention)

    def _from_hits(self, hits: Sequence[tuple[str, float]]) -> dict[int, float]:
        """The first passages of another leg as starting points, falling with their rank."""
        first = [text_unit_id for text_unit_id, _ in hits[: self.options.prior_units]]
        return {unit: 1.0 / (1 + place) for place, unit in self._placed(first)}

    def _wanted(self, query: str, seeds: list[Seed]) -> bridge.Wanted:
        """The question's words that name no seed."""
        named = {t for seed in seeds for t in search_tokens(seed.surface, self.dictionary)}
        asked = [t for t in query_tokens(query, self.dictionary) if t not in named]
        return bridge.wanted_words(self.arrays, asked)


def _shared_out(
    starts: dict[int, float], mass: float, known: Mapping[int, float]
) -> dict[int, float]:
    """``mass`` shared out over the starting points, added to what they have already."""
    total = sum(starts.values()) if mass > 0 else 0.0
    if total <= 0:
        return {}
    return {node: known.get(node, 0.0) + mass * part / total for node, part in starts.items()}


def _is_plain(seed: Seed) -> bool:
    """Whether the question has it as a plain word: Latin, without a capital."""
    return not has_han(seed.surface) and seed.surface == seed.surface.lower()


def _names(seeds: list[Seed]) -> list[Seed]:
    """Seeds that are not just lower-case words of the question."""
    return [seed for seed in seeds if seed.weight >= _PLAIN_WORDS or has_han(seed.surface)]


def best(scores: npt.NDArray[np.float64], top_k: int) -> list[tuple[int, float]]:
    """Indices with the highest scores above 0 as (index, score), best first, ties by index."""
    positive = np.flatnonzero(scores > 0)
    if positive.size > top_k:
        cut = np.partition(scores[positive], positive.size - top_k)[positive.size - top_k]
        positive = positive[scores[positive] >= cut]
    order = positive[np.lexsort((positive, -scores[positive]))][:top_k]
    return [(int(unit), float(scores[unit])) for unit in order]


def _scaled(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Divided by the maximum, so that the best is 1; zeros stay zeros."""
    top = float(scores.max()) if scores.size else 0.0
    return scores / top if top > 0 else scores
