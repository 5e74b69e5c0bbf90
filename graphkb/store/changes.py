"""Which rows of a table differ from those that are stored."""

from __future__ import annotations

import polars as pl

from graphkb.tables import Table


def changed_groups(
    table: Table, old: pl.DataFrame, new: pl.DataFrame
) -> tuple[list[str], list[str]]:
    """Group values (first key column) to delete and to add so that ``old`` becomes ``new``.

    A group whose rows differ stands in both lists. Values are given as strings, sorted.
    """
    if old.equals(new):
        return [], []
    group = table.key[0]
    # Rows are distinct: their key is in them.
    before, after = old.hash_rows(seed=7), new.hash_rows(seed=7)
    gone, come = ~before.is_in(after.implode()), ~after.is_in(before.implode())
    moved = pl.concat([old[group].filter(gone), new[group].filter(come)]).unique()
    return _moved(old[group], moved), _moved(new[group], moved)


def _moved(groups: pl.Series, moved: pl.Series) -> list[str]:
    found = groups.filter(groups.is_in(moved.implode())).unique()
    return found.cast(pl.String).sort().to_list()
