"""The period a question names, against the periods that titles, headings and file names name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from graphkb.search.fuse import Fused
from graphkb.search.snapshot import Snapshot
from graphkb.text.periods import agreement, periods

#: How far the score of a hit goes up or down for the period it is about.
SHARE = 0.3
#: Hits that are looked at; those far below cannot come up by it.
_LOOKED_AT = 64


def fit_periods(snapshot: Snapshot, question: str, hits: Sequence[Fused]) -> list[Fused]:
    """:func:`by_period` of the hits of a question."""
    if not periods(question):
        return list(hits)
    return by_period(hits, agreements(snapshot, question, [hit.id for hit in hits[:_LOOKED_AT]]))


def agreements(snapshot: Snapshot, question: str, ids: Sequence[str]) -> dict[str, float]:
    """How well title, headings and file name of each text unit fit the period that the question
    names, in [-1, 1] (:func:`graphkb.text.periods.agreement`); empty where it names none."""
    asked = periods(question)
    if not asked:
        return {}
    places = snapshot.places(ids)
    return {unit: agreement(asked, periods(place)) for unit, place in places.items()}


def by_period(hits: Sequence[Fused], fits: Mapping[str, float]) -> list[Fused]:
    """``hits`` with scores raised by up to three tenths where they are about the period asked for,
    and lowered where they are about another one; best first. Those that fit as well keep their
    order."""
    seen, rest = list(hits[:_LOOKED_AT]), list(hits[_LOOKED_AT:])
    fitted = [replace(hit, score=hit.score * (1 + SHARE * fits.get(hit.id, 0.0))) for hit in seen]
    return sorted(fitted, key=lambda hit: -hit.score) + rest
