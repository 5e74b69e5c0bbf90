"""From names in sets to pairs that a model should judge, and back to larger sets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import polars as pl

from graphkb.extract.candidates import KnownName, Pair, find_candidates
from graphkb.extract.join import Decided, NameSets, alias_counts
from graphkb.extract.judge import Comparison, Side
from graphkb.text.sentences import sentence_spans

_MAX_SAYS = 240

Judged = Callable[[Sequence[Comparison]], Sequence[str]]
"""Gives a verdict on each comparison: same, different, unsure or empty."""


def join_judged(
    sets: NameSets,
    names: pl.DataFrame,
    mentions: pl.DataFrame,
    entity_evidence: pl.DataFrame,
    text_units: pl.DataFrame,
    decided: Decided,
    judged: Judged,
) -> None:
    """Join the sets whose names are judged to mean the same.

    ``names`` has name, key, root and the entity's type. What is judged different never comes
    into one set, and a name that is the same as two different ones joins neither. The key of a
    short name joins the longer one.
    """
    key_of = dict(names.select("name", "key").iter_rows())
    spelled = spellings(names, mentions)
    pairs = _likely_pairs(sets, names, spelled, key_of, mentions, text_units, decided)
    sides = _sides({root for pair in pairs for root in pair}, names, spelled, mentions,
                   entity_evidence, text_units)  # fmt: skip
    verdicts = judged([Comparison(sides[one], sides[other]) for one, other in pairs])
    verdict_of = dict(zip(pairs, verdicts, strict=True))
    same = [pair for pair in pairs if verdict_of[pair] == "same"]
    for pair in pairs:
        if verdict_of[pair] == "different":
            sets.keep_apart(*pair)
    for pair in _agreed(same, verdict_of):
        short, long = sorted(pair, key=lambda key: (len(key), key))
        sets.join(short, long, "model", 1)


def spellings(names: pl.DataFrame, mentions: pl.DataFrame) -> dict[str, str]:
    """Key to its commonest spelling, ties by name."""
    counts = mentions.group_by("name").agg(pl.len().alias("count"))
    frame = names.join(counts, on="name", how="left").with_columns(pl.col("count").fill_null(0))
    order = frame.sort(["key", "count", "name"], descending=[False, True, False])
    return dict(order.unique("key", keep="first").select("key", "name").iter_rows())


def _agreed(same: Sequence[Pair], verdict_of: Mapping[Pair, str]) -> list[Pair]:
    """Pairs that no verdict on a third name contradicts."""
    near: dict[str, set[str]] = {}
    for one, other in same:
        near.setdefault(one, set()).add(other)
        near.setdefault(other, set()).add(one)

    def different(one: str, other: str) -> bool:
        return verdict_of.get((one, other) if one < other else (other, one)) == "different"

    def contradicted(name: str, other: str) -> bool:
        """``name`` is the same as one that is not the same as ``other``."""
        return any(different(third, other) for third in near[name])

    return [p for p in same if not contradicted(*p) and not contradicted(p[1], p[0])]


def _likely_pairs(
    sets: NameSets,
    names: pl.DataFrame,
    spelled: Mapping[str, str],
    key_of: Mapping[str, str],
    mentions: pl.DataFrame,
    text_units: pl.DataFrame,
    decided: Decided,
) -> list[Pair]:
    """Candidates as pairs of roots, without those that are joined or that the user keeps apart."""
    typed = dict(names.select("key", "type").iter_rows())
    known = {key: KnownName(key, kind, spelled[key]) for key, kind in typed.items()}
    places = mentions.select("name", "text_unit_id").join(
        text_units.select(pl.col("id").alias("text_unit_id"), "document_id"), on="text_unit_id"
    )

    def documents(keys: set[str]) -> dict[str, set[str]]:
        keyed = names.filter(pl.col("key").is_in(list(keys))).select("name", "key")
        found = places.join(keyed, on="name").group_by("key").agg(pl.col("document_id").unique())
        return {key: set(ids) for key, ids in found.iter_rows()}

    aliases = {key: {*full} for key, full in alias_counts(key_of, mentions, decided).items()}
    found = find_candidates(known, key_of.items(), aliases, documents)
    root_of = dict(names.select("key", "root").iter_rows())
    pairs = set()
    for one, other in found:
        roots = sorted({root_of[one], root_of[other]})
        open_ = len(roots) == 2 and not sets.must_not_join(*roots)
        if open_ and not decided.keeps_apart(one, other) and not decided.keeps_apart(*roots):
            pairs.add((roots[0], roots[1]))
    return sorted(pairs)


def _sides(
    roots: set[str],
    names: pl.DataFrame,
    spelled: Mapping[str, str],
    mentions: pl.DataFrame,
    entity_evidence: pl.DataFrame,
    text_units: pl.DataFrame,
) -> dict[str, Side]:
    """What is shown of each root: a model's description, or the sentence of a mention.

    Of several the one of the smallest text unit id: ids are hashes, so a new unit seldom is it,
    and what was judged stays judged.
    """
    wanted = names.filter(pl.col("root").is_in(list(roots))).select("name", "root")
    described = (
        entity_evidence.filter(pl.col("description").str.strip_chars() != "")
        .join(wanted, on="name")
        .sort("root", "text_unit_id", "name", "description")
        .unique("root", keep="first", maintain_order=True)
        .select("root", "description")
    )
    says = {root: _short(text) for root, text in described.iter_rows()}
    mentioned = (
        mentions.join(wanted, on="name")
        .filter(~pl.col("root").is_in(list(says)))
        .with_columns(above=pl.col("char_start") < 0)
        .sort("root", "above", "text_unit_id", "char_start", "char_end", "name")
        .unique("root", keep="first", maintain_order=True)
        .join(text_units.select(pl.col("id").alias("text_unit_id"), "text"), on="text_unit_id")
    )
    for root, start, text in mentioned.select("root", "char_start", "text").iter_rows():
        says[root] = _sentence_at(text, max(start, 0))
    types = dict(names.select("root", "type").iter_rows())
    return {root: Side(spelled[root], types[root], says.get(root, "")) for root in roots}


def _sentence_at(text: str, place: int) -> str:
    """The sentence that holds a place of a text, of a long one the part around it; below a
    heading the sentence that follows."""
    for start, end in sentence_spans(text):
        if place < end and not text.startswith(("#", "<!--"), start):
            around = min(place - _MAX_SAYS // 3, end - _MAX_SAYS)
            return _short(text[max(start, around) : end])
    return _short(text)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return text if len(text) <= _MAX_SAYS else text[: _MAX_SAYS - 1] + "…"
