"""Dense leg: nearest text units by embedding, through the store's vectors."""

from __future__ import annotations

from graphkb.embed import Embedder
from graphkb.store.lance import Store


def search_dense(
    store: Store, question: str, embedder: Embedder, limit: int
) -> list[tuple[str, float]]:
    """Text unit ids with their cosine similarity, best first, ties by id.

    Raises EmbeddingError when the question cannot be embedded.
    """
    return store.search_vector(embedder.embed_query(question), limit)
