"""Embedding models: :data:`EMBEDDERS` lists them, :func:`make_embedder` makes one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from graphkb.settings import Embed

Vectors = NDArray[np.float32]


class Embedder(Protocol):
    """Turns text into vectors of unit length."""

    provider: str
    model: str

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension], unit rows, in the order of ``texts``. Raises EmbeddingError."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """float32 [dimension], unit length. Raises EmbeddingError."""
        ...


def _builtin(options: Embed) -> Embedder:
    from graphkb.embed.builtin import BuiltinEmbedder

    return BuiltinEmbedder()


def _openai(options: Embed) -> Embedder:
    from graphkb.embed.endpoint import EndpointEmbedder

    return EndpointEmbedder(options)


EMBEDDERS: dict[str, Callable[[Embed], Embedder]] = {"builtin": _builtin, "openai": _openai}


def make_embedder(options: Embed) -> Embedder:
    """The embedder of the settings. Raises SettingsError when they name none."""
    return EMBEDDERS[options.provider](options)


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to unit length; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)
    return scaled
