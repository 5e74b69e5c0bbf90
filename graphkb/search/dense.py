"""Dense leg: nearest text units by embedding, through the store's vectors."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from graphkb.embed import Embedder
from graphkb.store.lance import Store

Run = list[tuple[str, float]]

# Hits whose mean similarity stands for "unrelated" in one language.
_BACKGROUND = slice(10, 50)


def search_dense(store: Store, question: str, embedder: Embedder, limit: int) -> Run:
    """Text unit ids with their cosine similarity, best first, ties by id.

    Raises EmbeddingError when the question cannot be embedded.
    """
    return store.search_vector(embedder.embed_query(question), limit)


def search_across_languages(
    store: Store, question: str, embedder: Embedder, limit: int, languages: Sequence[str]
) -> Run:
    """Text unit ids with similarity above their language's background, best first, ties by id.

    Multilingual models place any two texts of one language closer together than related texts
    of two, so a question whose words stand nowhere is compared within each language: from every
    similarity the mean of that language's hits 11 to 50 (or of all, where there are fewer) is
    taken. Raises EmbeddingError when the question cannot be embedded.
    """
    vector = embedder.embed_query(question)
    merged: Run = []
    for language in languages:
        run = store.search_vector(vector, max(limit, _BACKGROUND.stop), language)
        if run:
            scores = np.array([score for _, score in run])
            background = scores[_BACKGROUND] if len(scores) > _BACKGROUND.stop else scores
            merged.extend((unit_id, score - float(background.mean())) for unit_id, score in run)
    return sorted(merged, key=lambda hit: (-hit[1], hit[0]))[:limit]
