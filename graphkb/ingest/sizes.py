"""How large text units are: counts, medians, and which ones stand out."""

from __future__ import annotations

from typing import Any

import polars as pl

#: Fewer tokens say too little alone, unless they are a row with its columns or code.
SHORT = 20
_WHOLE = frozenset("row code question".split())
_ENDS = r"[。！？!?….;；:：|][\"'”’」』）)\]】]*$"
_NAMED = 5


def unit_sizes(text_units: pl.DataFrame, size: int) -> dict[str, Any]:
    """Number of units, ``median`` and ``longest`` in tokens, over all and by ``kinds``; how many
    are ``short`` (below 20 tokens, where the document has others) and ``cut`` (of prose, at the
    limit ``size`` and not at the end of a sentence); ``outliers``: the first of both, with why.

    Reads the columns id, document_id, kind, n_tokens and text.
    """
    facts = text_units.select(
        "id", "document_id", "kind", "n_tokens", ending=pl.col("text").str.slice(-8)
    )
    several = pl.len().over("document_id") > 1
    short = (pl.col("n_tokens") < SHORT) & ~pl.col("kind").is_in(list(_WHOLE)) & several
    full = pl.col("n_tokens") >= size - max(1, size // 20)
    cut = (pl.col("kind") == "prose") & full & ~pl.col("ending").str.contains(_ENDS)
    facts = facts.with_columns(short=short, cut=cut)
    why = pl.when("short").then(pl.lit("short")).otherwise(pl.lit("cut")).alias("why")
    outliers = facts.filter(pl.col("short") | pl.col("cut")).sort("document_id", "id")
    kinds = {
        kind: _summary(facts.filter(kind=kind)) for kind in sorted(facts["kind"].unique().to_list())
    }
    return {
        **_summary(facts),
        "kinds": kinds,
        "short": int(facts["short"].sum()),
        "cut": int(facts["cut"].sum()),
        "outliers": outliers.head(_NAMED).select("id", "document_id", "n_tokens", why).to_dicts(),
    }


def _summary(units: pl.DataFrame) -> dict[str, int]:
    tokens = units["n_tokens"].sort()
    if tokens.is_empty():
        return {"count": 0, "median": 0, "longest": 0}
    return {
        "count": len(tokens),
        "median": int(tokens[len(tokens) // 2]),
        "longest": int(tokens[-1]),
    }
