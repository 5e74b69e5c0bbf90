"""Fitting evidence into a token budget."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from graphkb.text.tokens import count_tokens
from graphkb.types import Passage

Row = TypeVar("Row")

_IDS = frozenset(("id", "text_unit_id"))


def fit(
    items: Iterable[Row], budget: int, cost: Callable[[Row], int], *, at_least: int = 0
) -> tuple[list[Row], int]:
    """The longest prefix of ``items`` that costs at most ``budget``, and what it costs.

    The first ``at_least`` items are taken whatever they cost.
    """
    taken: list[Row] = []
    spent = 0
    for item in items:
        price = cost(item)
        if spent + price > budget and len(taken) >= at_least:
            break
        taken.append(item)
        spent += price
    return taken, spent


def passage_cost(passage: Passage) -> int:
    """Tokens of a passage with its title and heading."""
    return count_tokens(passage.text) + count_tokens(f"{passage.title} {passage.heading}")


def row_cost(row: Mapping[str, Any]) -> int:
    """Tokens of a row's text columns, without ids, which no model is shown."""
    return sum(
        count_tokens(value)
        for name, value in row.items()
        if isinstance(value, str) and name not in _IDS
    )
