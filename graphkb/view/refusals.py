"""What was not read, for a terminal: a few lines however much it is."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from itertools import zip_longest
from pathlib import PurePosixPath

from graphkb.ingest.containers import is_container_name
from graphkb.types import Refused
from graphkb.view.terminal import one_line

MOST_REFUSED = 20
_NAMED = 3


def refused_lines(refused: Sequence[Refused], before: Sequence[Refused] = ()) -> list[str]:
    """How many files were not read, then :func:`unread_lines`; empty where all were.

    Of those that were told of ``before`` there is one line at the end.
    """
    known = set(before)
    new = [item for item in refused if item not in known]
    lines = (
        [f"not read ({len(new):,}):", *(f"  {line}" for line in unread_lines(new))] if new else []
    )
    if n := len(refused) - len(new):
        lines.append(f"left out as before: {n:,} (graphkb status lists them)")
    return lines


def unread_lines(refused: Sequence[Refused]) -> list[str]:
    """What was not read and why: each by itself, or where they are more than 20, together those
    in one archive or mail that have the same reason, and if need be such files too.

    Files stand before what is inside archives, and the largest group of each archive before the
    second of any, so that no archive hides another. At most 21 lines, the last says how many more.
    """
    groups = [[item] for item in refused]
    if len(groups) > MOST_REFUSED:
        files = [item for item in refused if not _container(item.where)]
        inside = _inside(refused)
        fit = len(files) + len(inside) <= MOST_REFUSED
        groups = ([[item] for item in files] if fit else _by_reason(files)) + inside
    else:
        groups.sort(key=lambda group: _container(group[0].where) != "")
    lines = [f"{_names(group)}: {one_line(group[0].reason)}" for group in groups[:MOST_REFUSED]]
    more = sum(map(len, groups[MOST_REFUSED:]))
    return lines + ([f"… and {more:,} more (--json lists all)"] if more else [])


def _inside(refused: Sequence[Refused]) -> list[list[Refused]]:
    """What is inside archives and mails by container and reason."""
    by_place: dict[str, list[Refused]] = defaultdict(list)
    for item in refused:
        if place := _container(item.where):
            by_place[place].append(item)
    ranked = [sorted(_by_reason(items), key=len, reverse=True) for items in by_place.values()]
    return [group for rank in zip_longest(*ranked) for group in rank if group is not None]


def _by_reason(items: Sequence[Refused]) -> list[list[Refused]]:
    groups: dict[str, list[Refused]] = defaultdict(list)
    for item in items:
        groups[item.reason].append(item)
    return list(groups.values())


def _container(where: str) -> str:
    """The outermost archive or mail that the path leads into; empty for a file of its own."""
    parts = PurePosixPath(where).parts
    for at, part in enumerate(parts[:-1]):
        if is_container_name(part):
            return "/".join(parts[: at + 1])
    return ""


def _names(group: Sequence[Refused]) -> str:
    """The first of the paths and how many more."""
    shown = ", ".join(one_line(item.where) for item in group[:_NAMED])
    more = len(group) - _NAMED
    return f"{shown} and {more:,} more" if more > 0 else shown
