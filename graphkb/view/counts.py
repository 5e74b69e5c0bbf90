"""Counts in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

# Words of the summary by table name; the rest of a result's counts are not for people.
COUNTED = {
    "documents": "documents",
    "text_units": "text units",
    "entities": "entities",
    "relationships": "relationships",
    "covariates": "claims",
    "communities": "communities",
    "community_reports": "reports",
    "vectors": "vectors",
}


def counts_line(counts: Mapping[str, Any]) -> str:
    """``12 documents · 31 text units · …`` for the counts that are there."""
    return " · ".join(
        f"{counts[name]} {noun(counts[name], words)}"
        for name, words in COUNTED.items()
        if name in counts
    )


def noun(count: int, plural: str) -> str:
    """An English plural, or its singular for a count of one.

    >>> noun(1, "entities"), noun(1, "text units"), noun(2, "calls"), noun(1, "cached")
    ('entity', 'text unit', 'calls', 'cached')
    """
    if count != 1 or not plural.endswith("s"):
        return plural
    return plural[:-3] + "y" if plural.endswith("ies") else plural[:-1]
