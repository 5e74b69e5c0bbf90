"""What changed between two versions, from documents to communities."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from graphkb.ingest.renamed import COLUMNS, renamed_files
from graphkb.store.lance import Store
from graphkb.text.sentences import sentence_spans

Row = dict[str, Any]
Lists = dict[str, list[Row]]

_SHOWN = 300
# Communities that share less than this part of their entities are not the same one.
_SAME_COMMUNITY = 0.3


@dataclass(frozen=True)
class Difference:
    """By part (``documents``, …) and kind (``added``, ``removed``, ``changed``, ``renamed`` or
    ``moved``) the rows that differ; see :func:`difference` for what a row holds."""

    parts: Mapping[str, Lists]

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Number of rows by part and kind."""
        return {
            part: {kind: len(rows) for kind, rows in lists.items()}
            for part, lists in self.parts.items()
        }

    def to_dict(self) -> dict[str, Any]:
        """Counts and rows as plain JSON values."""
        return {"counts": self.counts, **self.parts}


def difference(old: Store, new: Store) -> Difference:
    """Everything that differs, ordered by path or title.

    A changed document says sentence by sentence what the old text said and what the new says; a
    file that was renamed what it was called (``old_path``) and how many documents it holds. A
    community that moved is one that shares at least a third of its entities with one of before.
    """
    return Difference(
        {
            "documents": _documents(old, new),
            "text_units": _text_units(old, new),
            "entities": _entities(old, new),
            "relationships": _relationships(old, new),
            "communities": _communities(old, new),
        }
    )


def _short(text: str, length: int = _SHOWN) -> str:
    text = " ".join(text.split())
    return text if len(text) <= length else text[: length - 1] + "…"


def _apart(old: pl.DataFrame, new: pl.DataFrame, on: list[str]) -> tuple[list[Row], list[Row]]:
    """Rows only in ``old`` and rows only in ``new``."""
    gone = old.join(new.select(on), on=on, how="anti").to_dicts()
    return gone, new.join(old.select(on), on=on, how="anti").to_dicts()


def _documents(old: Store, new: Store) -> Lists:
    columns = (*COLUMNS, "text")
    before_all, after_all = old.read("documents", columns), new.read("documents", columns)
    gone, come = _apart(before_all, after_all, ["id", "content_hash"])
    changed: list[Row] = []
    for keys in (("id",), ("path", "title"), ("path",)):
        # Rows of one file have its path: only a name that stands once on each side is a pair.
        before, after = _unique(gone, keys), _unique(come, keys)
        for key in before.keys() & after.keys():
            row = after[key]
            texts = before[key]["text"], row["text"]
            changed.append(_named(row) | {"changes": _changes(*texts)})
            gone.remove(before[key])
            come.remove(row)
    return {
        "added": _by_path(map(_named, come)),
        "removed": _by_path(map(_named, gone)),
        "changed": _by_path(changed),
        "renamed": renamed_files(before_all, after_all).to_dicts(),
    }


def _unique(rows: list[Row], keys: tuple[str, ...]) -> dict[tuple[Any, ...], Row]:
    """Rows by the values of ``keys``, those that share them left out."""
    found = defaultdict(list)
    for row in rows:
        found[tuple(row[key] for key in keys)].append(row)
    return {key: same[0] for key, same in found.items() if len(same) == 1}


def _named(row: Row) -> Row:
    return {"path": row["path"], "title": row["title"]}


def _by_path(rows: Iterable[Row]) -> list[Row]:
    return sorted(rows, key=lambda row: (row["path"] or "", row["title"] or ""))


def _changes(old: str, new: str) -> list[Row]:
    """``{"old": …, "new": …}`` for each run of sentences that differs, in order."""
    before, after = ([text[a:b] for a, b in sentence_spans(text)] for text in (old, new))
    found = []
    for tag, a, b, c, d in difflib.SequenceMatcher(None, before, after).get_opcodes():
        if tag != "equal":
            pair = (_short(" ".join(part)) for part in (before[a:b], after[c:d]))
            found.append(dict(zip(("old", "new"), pair, strict=True)))
    return found


def _text_units(old: Store, new: Store) -> Lists:
    def units(store: Store) -> pl.DataFrame:
        documents = store.read("documents", ("id", "path", "title")).rename({"id": "document_id"})
        frame = store.read("text_units", ("id", "document_id", "index", "text"))
        return frame.join(documents, on="document_id", how="left")

    def shown(rows: list[Row]) -> list[Row]:
        rows.sort(key=lambda row: (row["path"] or "", row["title"] or "", row["index"]))
        return [{"id": row["id"], **_named(row), "text": _short(row["text"])} for row in rows]

    gone, come = _apart(units(old), units(new), ["id"])
    return {"added": shown(come), "removed": shown(gone)}


def _entities(old: Store, new: Store) -> Lists:
    columns = ("id", "title", "type", "description", "aliases")
    before, after = old.read("entities", columns), new.read("entities", columns)
    gone, come = _apart(before, after, ["id"])

    def shown(rows: list[Row]) -> list[Row]:
        named = ({"title": row["title"], "type": row["type"]} for row in rows)
        return sorted(named, key=lambda row: (row["title"], row["type"]))

    changed = []
    for row in before.join(after, on="id", suffix="_new").sort("title").iter_rows(named=True):
        fields = {
            column: {"old": row[column], "new": row[f"{column}_new"]}
            for column in columns[1:]
            if row[column] != row[f"{column}_new"]
        }
        if fields:
            changed.append({"title": row["title"], "type": row["type"], "fields": fields})
    return {"added": shown(come), "removed": shown(gone), "changed": changed}


def _relationships(old: Store, new: Store) -> Lists:
    columns = ("id", "source", "target", "type", "description", "weight")
    before, after = old.read("relationships", columns), new.read("relationships", columns)
    gone, come = _apart(before, after, ["id"])
    order = ["source", "target", "type"]

    def shown(rows: list[Row]) -> list[Row]:
        kept = ({key: row[key] for key in (*order, "description", "weight")} for row in rows)
        return sorted(kept, key=lambda row: [row[key] for key in order])

    both = before.join(after.select("id", new_weight="weight"), on="id")
    moved = both.filter((pl.col("weight") - pl.col("new_weight")).abs() > 1e-9).sort(order)
    changed = moved.select(*order, old_weight="weight", new_weight="new_weight").to_dicts()
    return {"added": shown(come), "removed": shown(gone), "changed": changed}


def _communities(old: Store, new: Store) -> Lists:
    titles = {
        entity: title
        for store in (old, new)
        for entity, title in store.read("entities", ("id", "title")).iter_rows()
    }

    def sets(store: Store) -> dict[tuple[int, frozenset[str]], str]:
        frame = store.read("communities", ("level", "entity_ids", "title"))
        return {(level, frozenset(ids)): title for level, ids, title in frame.iter_rows()}

    before, after = sets(old), sets(new)
    gone = {key: title for key, title in before.items() if key not in after}
    come = {key: title for key, title in after.items() if key not in before}
    moved = []
    for one, two in _pairs(list(gone), list(come)):
        moved.append(
            {
                "title": come.pop(two),
                "level": two[0],
                "added": sorted(titles[entity] for entity in two[1] - one[1]),
                "removed": sorted(titles[entity] for entity in one[1] - two[1]),
            }
        )
        del gone[one]

    def shown(found: Mapping[tuple[int, frozenset[str]], str]) -> list[Row]:
        rows = [{"title": t, "level": level, "size": len(ids)} for (level, ids), t in found.items()]
        return sorted(rows, key=lambda row: (row["level"], row["title"], row["size"]))

    moved.sort(key=lambda row: (row["level"], row["title"]))
    return {"added": shown(come), "removed": shown(gone), "moved": moved}


_Key = tuple[int, frozenset[str]]


def _pairs(old: list[_Key], new: list[_Key]) -> list[tuple[_Key, _Key]]:
    """Communities of the same level that are mostly the same, the most alike first."""
    at: dict[tuple[int, str], list[int]] = defaultdict(list)
    for number, (level, ids) in enumerate(new):
        for entity in ids:
            at[level, entity].append(number)
    alike = []
    for place, (level, ids) in enumerate(old):
        for number in {number for entity in ids for number in at[level, entity]}:
            share = len(ids & new[number][1]) / len(ids | new[number][1])
            if share >= _SAME_COMMUNITY:
                alike.append((-share, place, number))
    pairs, used_old, used_new = [], set(), set()
    for _, place, number in sorted(alike):
        if place not in used_old and number not in used_new:
            used_old.add(place)
            used_new.add(number)
            pairs.append((old[place], new[number]))
    return pairs
