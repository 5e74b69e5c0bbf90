"""Which text units a model is worth reading for, decided for each by itself.

A model adds most where prose names many things: what joins them is what the offline extraction
cannot say. Tables, code and lists it reads as well as a model does. So the worth of a unit is

    names / (names + 6) · characters / (characters + 400)

over the distinct names found in its prose and the characters of that prose (a Chinese one counts
as 2.5). A unit is read when its worth is above a threshold that depends on nothing but the share
that is wanted: whether a unit is read never depends on other units, so that one more document
changes nothing for the rest. The thresholds are the quantiles of the worth over the benchmark sets
and the sample project; a corpus of long prose gets more than its share, one of tables less.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Mapping, Set

import polars as pl

from graphkb.text.language import HAN
from graphkb.text.sentences import sentence_spans

_NAMES, _CHARACTERS = 6.0, 400.0
_HAN_MORE = 1.5
_SHORTEST_SENTENCE = 20
_NO_PROSE = ("#", "|", "-", "*", ">", "```", "<")
_HAN = re.compile(f"[{HAN}]")
#: Share of units wanted, and the worth that this share of units exceeds.
_THRESHOLDS = (
    (0.0, 1.0), (0.05, 0.59), (0.1, 0.53), (0.2, 0.445), (0.3, 0.387), (0.4, 0.342), (0.5, 0.294),
    (0.6, 0.236), (0.7, 0.187), (0.8, 0.134), (0.9, 0.065), (0.99, 0.0), (1.0, -1.0),
)  # fmt: skip


def worth(text: str, kind: str, names: Set[str]) -> float:
    """Worth of a unit in [0, 1); ``kind`` is text_units.kind, ``names`` what was found in it."""
    if kind != "prose":
        return 0.0
    prose = [
        text[start:end]
        for start, end in sentence_spans(text)
        if not text.startswith(_NO_PROSE, start) and end - start >= _SHORTEST_SENTENCE
    ]
    said = "\n".join(prose)
    characters = len(said) + _HAN_MORE * len(_HAN.findall(said))
    inside = sum(name in said for name in names)
    return inside / (inside + _NAMES) * characters / (characters + _CHARACTERS)


def threshold(share: float) -> float:
    """The worth that about this share of text units exceeds; the ends are exact.

    >>> threshold(0.0), threshold(1.0)
    (1.0, -1.0)
    """
    after = min(bisect_right(_THRESHOLDS, (share, 2.0)), len(_THRESHOLDS) - 1)
    (share_a, worth_a), (share_b, worth_b) = _THRESHOLDS[after - 1 : after + 1]
    return worth_a + (worth_b - worth_a) * (share - share_a) / (share_b - share_a)


def worth_reading(units: pl.DataFrame, mentions: pl.DataFrame, share: float) -> pl.Series:
    """Ids of the units that a model should read, in their order.

    ``mentions`` is their offline mention_evidence.
    """
    names: Mapping[str, set[str]] = {}
    placed = mentions.filter(pl.col("char_start") >= 0).group_by("text_unit_id")
    names = {unit: set(found) for unit, found in placed.agg("surface").iter_rows()}
    least = threshold(share)
    chosen = [
        unit_id
        for unit_id, text, kind in units.select("id", "text", "kind").iter_rows()
        if worth(text, kind, names.get(unit_id, set())) > least
    ]
    return pl.Series("id", chosen, dtype=pl.String)
