"""Lexical leg: BM25 through the store's full-text index, over jieba and word tokens."""

from __future__ import annotations

from collections.abc import Sequence

from graphkb.store.lance import Store
from graphkb.text.segment import query_tokens


def search_lexical(
    store: Store, question: str, dictionary: Sequence[str], limit: int
) -> list[tuple[str, float]]:
    """Text unit ids with their BM25 score, best first, ties by id; empty when nothing matches."""
    return store.search_text(query_tokens(question, dictionary), limit)
