"""What the user says of entities: which names are one, which are not, what they are called.

Decisions are rows of a table of their own that resolution reads; they stay through index runs
and rebuilds until they are taken back. The newest one wins over what it contradicts.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import polars as pl

from graphkb.errors import UsageError
from graphkb.store.lance import Store
from graphkb.tables import TABLES
from graphkb.text.names import fold, name_key
from graphkb.text.visible import first_unseen

_NEAR = 3
_NEAR_ENOUGH = 50.0


def decisions_after_merge(store: Store, name: str, other: str, into: str = "") -> pl.DataFrame:
    """The decisions after two names are said to mean one entity, called ``into`` (one of them;
    default: ``other``). Raises UsageError for an unknown name."""
    names = _Names(store)
    one, two = names.known(name), names.known(other)
    if name_key(one) == name_key(two):
        raise UsageError(
            f"{name!r} and {other!r} are written alike but for case, width, script and marks: "
            "they are one entity already"
        )
    kept = names.known(into) if into else two
    if name_key(kept) not in (name_key(one), name_key(two)):
        raise UsageError(f"--into {into!r}: give one of the two names, {one!r} or {two!r}")
    if name_key(kept) == name_key(one):
        one, two = two, kept
    return _added(store, [("merge", one, two)])


def decisions_after_split(store: Store, given: Sequence[str]) -> pl.DataFrame:
    """The decisions after names are said to stay apart; one name alone: from every other name.

    Raises UsageError for an unknown name, and for two that are written alike: ids are made of
    names, so those are always one entity.
    """
    if not given:
        raise UsageError("give the names that are to stay apart")
    known = _Names(store)
    names = [known.known(name) for name in given]
    for one, other in combinations(names, 2):
        if name_key(one) == name_key(other):
            raise UsageError(
                f"{one!r} and {other!r} are written alike but for case, width, script and marks: "
                "they cannot be two entities"
            )
    if len(names) == 1:
        return _added(store, [("split", names[0], "")])
    return _added(store, [("split", one, other) for one, other in combinations(names, 2)])


def decisions_after_rename(store: Store, old: str, new: str) -> pl.DataFrame:
    """The decisions after an entity gets another name. Raises UsageError for an unknown old name,
    and for a new one that is empty, holds what nobody sees, or is another entity's."""
    names = _Names(store)
    name, wanted = names.known(old), " ".join(new.split())
    if not name_key(wanted):
        raise UsageError(f"{new!r} is no name; give the entity's new name")
    if unseen := first_unseen(wanted):
        raise UsageError(
            f"{new!r} cannot be a name: it holds the character U+{ord(unseen):04X}, which nobody "
            "sees; leave it out"
        )
    holder = names.entity(wanted)
    if holder is not None and holder != names.entity(name):
        raise UsageError(
            f"{wanted!r} is a name of the entity {holder!r} already; to make them one: "
            f"graphkb entities merge {name!r} {wanted!r}"
        )
    return _added(store, [("rename", name, wanted)])


def decisions_after_undo(store: Store, given: Sequence[str]) -> pl.DataFrame:
    """The decisions without those that name one of ``given``; without the newest when none is
    given. Raises UsageError when there is nothing to take back."""
    decisions = store.read("decisions")
    if not decisions.height:
        raise UsageError("there are no decisions to take back")
    if not given:
        return decisions.sort("number").head(-1)
    keys = decisions.select(pl.col("name", "other").map_elements(name_key, return_dtype=pl.String))
    taken = pl.Series([False] * decisions.height)
    for name in given:
        key = name_key(name)
        fits = pl.Series([key in pair for pair in keys.iter_rows()], dtype=pl.Boolean)
        if not fits.any():
            raise UsageError(f"no decision names {name!r}; graphkb entities decisions lists them")
        taken |= fits
    return decisions.filter(~taken)


def entities_like(store: Store, text: str = "") -> pl.DataFrame:
    """title, type, frequency and aliases of the entities with ``text`` in a name (case, width
    and script aside), the most frequent first."""
    entities = store.read("entities", ["title", "type", "frequency", "aliases"])
    if text.strip():
        wanted = fold(text.strip())
        fits = [
            any(wanted in fold(name) for name in (title, *aliases))
            for title, aliases in entities.select("title", "aliases").iter_rows()
        ]
        entities = entities.filter(pl.Series(fits, dtype=pl.Boolean))
    return entities.sort(["frequency", "title"], descending=[True, False])


def _added(store: Store, rows: Sequence[tuple[str, str, str]]) -> pl.DataFrame:
    """The decisions with new ones behind the old; one that says the same as an old one takes
    its place."""
    table = TABLES["decisions"]
    old = store.read("decisions")
    first = (old["number"].to_list() or [0])[-1] + 1
    new = pl.DataFrame(
        [(first + place, *row) for place, row in enumerate(rows)],
        schema=table.schema,
        orient="row",
    )
    kept = old.join(new, on=["action", "name", "other"], how="anti")
    return table.conform(pl.concat([kept, new]))


class _Names:
    """Every title and alias with its entity, looked up as written and by its key."""

    def __init__(self, store: Store) -> None:
        entities = store.read("entities", ["title", "aliases"])
        self._titles: dict[str, str] = {}
        self._spelled: dict[str, str] = {}
        rows = entities.sort("title").rows()
        names = [(title, title) for title, _ in rows]
        names += [(name, title) for title, aliases in rows for name in aliases]
        for name, title in names:
            self._titles.setdefault(name, title)
            self._spelled.setdefault(name_key(name), name)

    def known(self, name: str) -> str:
        """``name`` as it is written in the knowledge base. Raises UsageError with near ones."""
        if name in self._titles:
            return name
        found = self._spelled.get(name_key(name))
        if found is None or not name.strip():
            raise UsageError(f"{name!r} is the name of no entity{self._near(name)}")
        return found

    def entity(self, name: str) -> str | None:
        """The title of the entity that has this name."""
        found = self._titles.get(name) or self._spelled.get(name_key(name))
        return self._titles.get(found) if found else None

    def _near(self, name: str) -> str:
        from rapidfuzz import fuzz, process

        found = process.extract(
            name, list(self._titles), scorer=fuzz.ratio, processor=fold, limit=_NEAR,
            score_cutoff=_NEAR_ENOUGH,
        )  # fmt: skip
        if not found:
            return "; graphkb entities list --like TEXT finds names"
        return f", did you mean {' or '.join(repr(near) for near, _, _ in found)}?"
