"""Best-first search over communities and text units within a relevance budget.

After LazyGraphRAG (Edge et al., Microsoft Research, November 2024): text units are taken in the
order of retrieval, grouped by the leaf community their entities stand in; a rater says which are
relevant; communities that prove relevant give more of their units, those that do not are given
up. Nothing but the graph is needed: no reports, and no communities either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from graphkb.search.hybrid import Retrieval, retrieve
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.tokens import count_tokens
from graphkb.types import Passage

#: A text unit rated so or higher, from 0 to 10, is relevant.
RELEVANT = 5.0

# Constant of reciprocal rank fusion over the questions; small, because the first hits of a
# sub-question matter more than middling hits of all.
_RRF = 10
# Units of a community that are tried before anything is known of it, and irrelevant ones in a
# row after which it is given up.
_TRIED_FIRST, _GIVE_UP = 3, 3
# What an untried community counts beside the rating (0 to 1) of a tried one.
_UNTRIED = 0.5
# Further units that a relevant community gives, and the most that one of them counts beside a
# retrieved unit (0 to 1).
_MEMBERS, _MEMBER_SCORE = 30, 0.1

_NOWHERE = -1

Rate = Callable[[Sequence[Passage]], Sequence[float]]
"""Ratings from 0 to 10 of some text units, in their order."""


@dataclass(frozen=True)
class Candidates:
    """Text units to rate, with their scores in (0, 1], and how each question was looked up."""

    scores: Mapping[str, float]
    each: tuple[tuple[str, Retrieval], ...]

    @property
    def found(self) -> Retrieval:
        """How the question itself was looked up."""
        return self.each[0][1]


def find_candidates(snapshot: Snapshot, questions: Sequence[str], limit: int) -> Candidates:
    """The best text units of all questions, the first of which is the question itself."""
    runs = [retrieve(snapshot, question, limit) for question in questions]
    fused: dict[str, float] = {}
    for run in runs:
        for unit in run.units:
            fused[unit.text_unit_id] = fused.get(unit.text_unit_id, 0.0) + 1 / (_RRF + unit.rank)
    top = max(fused.values(), default=1.0)
    scores = {unit_id: score / top for unit_id, score in fused.items()}
    return Candidates(scores, tuple(zip(questions, runs, strict=True)))


@dataclass
class _Group:
    """Units of one community that wait, best first, and the ratings of those that were read.

    Units that stand in no community are one group, which says nothing of each other.
    """

    lone: bool = False
    waiting: list[str] = field(default_factory=list)
    ratings: list[float] = field(default_factory=list)
    opened: bool = False

    @property
    def warmth(self) -> float:
        if self.lone or not self.ratings:
            return _UNTRIED
        return sum(self.ratings) / len(self.ratings) / 10

    @property
    def hopeless(self) -> bool:
        last = self.ratings[-_GIVE_UP:]
        return not self.lone and len(last) == _GIVE_UP and max(last) < RELEVANT


class LazySearch:
    """Which text units to rate next, and what was found: see :meth:`run`."""

    def __init__(self, snapshot: Snapshot, scores: Mapping[str, float]) -> None:
        self._snapshot = snapshot
        self._scores = dict(scores)
        self._passages: dict[str, Passage] = {}
        self._groups = {_NOWHERE: _Group(lone=True)}
        self.home = _communities(snapshot, scores)
        self.rated: dict[str, float] = {}
        for unit_id in sorted(scores, key=lambda unit_id: (-scores[unit_id], unit_id)):
            self._groups.setdefault(self.home[unit_id], _Group()).waiting.append(unit_id)

    @property
    def relevant(self) -> list[Passage]:
        """Relevant text units, best rated first, then by retrieval; ``score`` is the rating."""
        ids = [unit_id for unit_id, rating in self.rated.items() if rating >= RELEVANT]
        ids.sort(key=lambda unit_id: (-self.rated[unit_id], -self._scores[unit_id], unit_id))
        return [replace(self._passages[i], score=self.rated[i]) for i in ids]

    @property
    def given_up(self) -> int:
        """Communities that were left with units unread."""
        return sum(group.hopeless and bool(group.waiting) for group in self._groups.values())

    def run(
        self, rate: Rate, budget: int, at_a_time: int, enough: int, late: Callable[[], bool]
    ) -> None:
        """Rate up to ``budget`` text units, ``at_a_time`` in a round.

        Ends early when nothing hopeful waits, when the relevant units fill ``enough`` tokens,
        or, after the first round, when ``late`` says so.
        """
        while len(self.rated) < budget and not (self.rated and late()):
            batch = self._next(min(at_a_time, budget - len(self.rated)))
            if not batch:
                break
            rows = self._snapshot.units(batch)
            passages = [passage_of(row, self._scores[row["id"]]) for row in rows]
            for passage, rating in zip(passages, rate(passages), strict=True):
                unit_id = passage.text_unit_id
                self._passages[unit_id], self.rated[unit_id] = passage, rating
                self._groups[self.home[unit_id]].ratings.append(rating)
            if sum(count_tokens(passage.text) for passage in self.relevant) >= enough:
                break
            self._open_relevant()

    def _next(self, wanted: int) -> list[str]:
        """The most promising waiting units, a few of each community that was not tried."""
        ranked: list[tuple[float, str, _Group]] = []
        for group in self._groups.values():
            if not group.hopeless:
                tried = group.lone or group.ratings
                some = group.waiting if tried else group.waiting[:_TRIED_FIRST]
                ranked += [(-self._scores[i] - group.warmth, i, group) for i in some]
        ranked.sort(key=lambda item: item[:2])
        for _, unit_id, group in ranked[:wanted]:
            group.waiting.remove(unit_id)
        return [unit_id for _, unit_id, _ in ranked[:wanted]]

    def _open_relevant(self) -> None:
        """Let communities in which something relevant was found give their other units."""
        fresh = {
            number: group
            for number, group in self._groups.items()
            if not group.lone and not group.opened and max(group.ratings, default=0) >= RELEVANT
        }
        if not fresh:
            return
        for number, unit_id, share in _members(self._snapshot, sorted(fresh)):
            group = fresh[number]
            group.opened = True
            if unit_id not in self._scores and len(group.waiting) < _MEMBERS:
                self._scores[unit_id], self.home[unit_id] = _MEMBER_SCORE * share, number
                group.waiting.append(unit_id)


def _communities(snapshot: Snapshot, unit_ids: Iterable[str]) -> dict[str, int]:
    """The leaf community that each text unit's entities stand in most; ties by number."""
    ids = list(unit_ids)
    mentions = snapshot.store.where(
        "mentions", "text_unit_id", ids, ("entity_id", "text_unit_id")
    ).unique()
    nodes = snapshot.store.where(
        "nodes", "entity_id", mentions["entity_id"].unique(), ("entity_id", "community")
    )
    pairs = mentions.join(nodes.filter(pl.col("community") >= 0), on="entity_id")
    counts = pairs.group_by("text_unit_id", "community").len()
    best = counts.sort(["len", "community"], descending=[True, False])
    home = dict.fromkeys(ids, _NOWHERE)
    for row in best.unique("text_unit_id", keep="first", maintain_order=True).to_dicts():
        home[row["text_unit_id"]] = row["community"]
    return home


def _members(snapshot: Snapshot, numbers: Sequence[int]) -> list[tuple[int, str, float]]:
    """(community, text unit, share of the community's entities in it), highest share first."""
    found = snapshot.store.where_numbers(
        "communities", "community", numbers, ("community", "entity_ids", "size")
    )
    members = found.explode("entity_ids").rename({"entity_ids": "entity_id"})
    mentions = snapshot.store.where(
        "mentions", "entity_id", members["entity_id"].unique(), ("entity_id", "text_unit_id")
    ).unique()
    counts = members.join(mentions, on="entity_id").group_by("community", "text_unit_id", "size")
    shares = counts.len().with_columns((pl.col("len") / pl.col("size")).alias("share"))
    order = ["share", "community", "text_unit_id"]
    if snapshot.selection is not None:
        shares = shares.filter(pl.col("text_unit_id").is_in(snapshot.selection.unit_ids))
    ranked = shares.sort(order, descending=[True, False, False])
    return list(ranked.select("community", "text_unit_id", "share").iter_rows())
