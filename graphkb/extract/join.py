"""Sets of name keys that mean one entity: the user's decisions, then the texts, then rules.

Every join is recorded. What the user keeps apart no rule brings together.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import polars as pl

from graphkb.text.names import name_key

_HONORIFIC = re.compile(
    r"\A(?:mr|mrs|ms|dr|prof|professor|sir|president|minister|general|captain|king|queen|prince|"
    r"princess|emperor|empress|pope|lord|lady|saint|st|bishop|archbishop|cardinal|senator|"
    r"governor|judge|justice|colonel|lieutenant|major|admiral) (?=\w+ \w)"
    r"|(?:先生|女士|教授|博士|院士|老师|主席|总统|总理|部长|主任|书记|董事长|总经理|同志)\Z"
)
_LEGAL_FORM = re.compile(
    r" (?:inc|corp|corporation|ltd|llc|plc|gmbh|co|co ltd)\Z|(?:股份)?有限(?:责任)?公司\Z"
)


@dataclass(frozen=True)
class Decided:
    """The user's decisions that hold, as name keys: a newer one wins over what it contradicts.

    ``joins`` are (key, key of the entity it belongs to), oldest first; ``apart`` are pairs that
    may not be one entity; nothing but a newer decision of the user joins what is ``alone``.
    ``titles`` are (number, name) of renames, ``into`` (number, key) of the entity whose name a
    merge keeps: the highest number gives an entity its title.
    """

    joins: tuple[tuple[str, str], ...] = ()
    apart: tuple[tuple[str, str], ...] = ()
    alone: frozenset[str] = frozenset()
    titles: tuple[tuple[int, str], ...] = ()
    into: tuple[tuple[int, str], ...] = ()

    def keeps_apart(self, one: str, other: str) -> bool:
        """Whether the user said that these two keys are not the same."""
        return (
            bool({one, other} & self.alone)
            or (one, other) in self.apart
            or (other, one) in self.apart
        )


def read_decisions(decisions: pl.DataFrame) -> Decided:
    """What holds of the decisions table."""
    joins: list[tuple[str, str]] = []
    apart: list[tuple[str, str]] = []
    alone: set[str] = set()
    titles: list[tuple[int, str]] = []
    into: list[tuple[int, str]] = []
    sets = NameSets()
    columns = decisions.sort("number", descending=True).select("number", "action", "name", "other")
    for number, action, name, other in columns.iter_rows():
        one, two = name_key(name), name_key(other)
        if action == "split":
            if not other:
                alone.add(one)
            elif sets.root(one) != sets.root(two):
                apart.append((one, two))
                sets.keep_apart(one, two)
        elif one == two or not ({one, two} & alone or sets.must_not_join(one, two)):
            # A renamed entity keeps its id, so its new name joins the old one.
            join = (two, one) if action == "rename" else (one, two)
            sets.join(*join, "user", 1)
            joins.append(join)
            (titles if action == "rename" else into).append(
                (number, other if action == "rename" else two)
            )
    return Decided(
        tuple(reversed(joins)), tuple(apart), frozenset(alone), tuple(titles), tuple(into)
    )


@dataclass
class NameSets:
    """Disjoint sets of name keys, each with a root; ``records`` are (key, into, rule, evidence)
    of every join."""

    parents: dict[str, str] = field(default_factory=dict)
    records: list[tuple[str, str, str, int]] = field(default_factory=list)
    _others: dict[str, set[str]] = field(default_factory=dict)

    def root(self, key: str) -> str:
        """The key that stands for the set ``key`` is in."""
        while key in self.parents:
            key = self.parents[key]
        return key

    def keep_apart(self, one: str, other: str) -> None:
        """Never join the sets of these keys; without effect when they are one already."""
        one, other = self.root(one), self.root(other)
        if one != other:
            self._others.setdefault(one, set()).add(other)
            self._others.setdefault(other, set()).add(one)

    def must_not_join(self, one: str, other: str) -> bool:
        """Whether one set of both would hold a pair that is to stay apart."""
        return self.root(other) in self._others.get(self.root(one), ())

    def join(self, key: str, into: str, rule: str, evidence: int) -> bool:
        """Put the set of ``key`` into that of ``into``; False when they are one or must not be."""
        one, other = self.root(key), self.root(into)
        if one == other or self.must_not_join(one, other):
            return False
        self.parents[one] = other
        self.records.append((key, into, rule, evidence))
        for apart in self._others.pop(one, ()):
            self._others[apart].remove(one)
            self.keep_apart(apart, other)
        return True

    def roots(self, keys: Iterable[str]) -> dict[str, str]:
        """``keys`` that are joined to their root, which is one of ``keys`` too."""
        known = sorted(keys)
        standing: dict[str, str] = {}
        for key in known:  # a root of which no text speaks any more gives way to its first key
            standing.setdefault(self.root(key), key)
        standing.update({key: key for key in known if key in standing})
        found = {key: standing[self.root(key)] for key in known}
        return {key: root for key, root in found.items() if key != root}


def with_new_titles(names: pl.DataFrame, decided: Decided) -> pl.DataFrame:
    """``names`` (name, key) with ``wish``, the number of the decision that makes a name the title
    (else 0), and with the titles that only the user uses where their entity is there."""
    sets = NameSets()
    for key, into in decided.joins:
        sets.join(key, into, "user", 1)
    known = set(names["key"].to_list())
    there = {sets.root(key) for key in known} if decided.titles else set()
    titles = {
        title: number
        for number, title in sorted(decided.titles)
        if sets.root(name_key(title)) in there
    }
    new = sorted(titles.keys() - set(names["name"].to_list()))
    added = pl.DataFrame(
        {"name": new, "key": [name_key(name) for name in new]}, schema=names.schema
    )
    wished = {key: number for number, key in sorted(decided.into)}
    return (
        pl.concat([names, added])
        .sort("name")
        .with_columns(
            wish=pl.max_horizontal(
                pl.col("name").replace_strict(titles, default=0, return_dtype=pl.Int64),
                pl.col("key").replace_strict(wished, default=0, return_dtype=pl.Int64),
            )
            if titles or wished
            else pl.lit(0, pl.Int64)
        )
    )


def alias_counts(
    key_of: Mapping[str, str], mentions: pl.DataFrame, decided: Decided
) -> dict[str, dict[str, int]]:
    """Second names: key to the keys it is given to, with how many mentions say so."""
    targets: dict[str, dict[str, int]] = {}
    pairs = mentions.filter(pl.col("alias_of").is_not_null()).group_by("name", "alias_of").len()
    for name, full, count in pairs.sort("name", "alias_of").iter_rows():
        short, long = key_of[name], key_of[full]
        if short != long and not decided.keeps_apart(short, long):
            counts = targets.setdefault(short, {})
            counts[long] = counts.get(long, 0) + count
    return targets


def join_by_rules(key_of: Mapping[str, str], mentions: pl.DataFrame, decided: Decided) -> NameSets:
    """The keys of all names in sets, as the user, the texts and the forms of the names say."""
    keys = set(key_of.values())
    sets = NameSets()
    for pair in decided.apart:
        sets.keep_apart(*pair)
    for key, into in decided.joins:
        sets.join(key, into, "user", 1)
    targets = alias_counts(key_of, mentions, decided)
    for short in sorted(targets.keys() - _headed(mentions, key_of)):
        roots = {sets.root(long) for long in targets[short]} - {sets.root(short)}
        if len(roots) == 1:
            sets.join(short, roots.pop(), "alias", sum(targets[short].values()))
    for rule, pattern in (("honorific", _HONORIFIC), ("legal form", _LEGAL_FORM)):
        for key in sorted(keys):
            plain = pattern.sub("", key).strip()
            long_enough = len(plain) >= 4 or rule == "honorific"  # 山东有限公司 is not 山东
            known = plain != key and plain in keys and not decided.keeps_apart(key, plain)
            if known and long_enough:
                sets.join(key, plain, rule, 1)
    return sets


def _headed(mentions: pl.DataFrame, key_of: Mapping[str, str]) -> set[str]:
    """Keys that stand above a unit as a name of their own: a document about casinos is not the
    one about the film Casino."""
    heads = mentions.filter((pl.col("char_start") < 0) & pl.col("alias_of").is_null())
    return {key_of[name] for name in heads["name"].unique().to_list()}
