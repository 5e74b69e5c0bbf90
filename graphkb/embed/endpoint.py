"""Embeddings from any OpenAI-compatible endpoint."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphkb.embed import Vectors, unit_rows
from graphkb.errors import EmbeddingError, SettingsError
from graphkb.settings import Embed

# A text that the endpoint refuses as too long is halved at most this often.
_MAX_HALVINGS = 6


class EndpointEmbedder:
    """Embeds through ``POST {base_url}/embeddings``."""

    provider = "openai"

    def __init__(self, options: Embed) -> None:
        if not options.base_url.startswith(("http://", "https://")):
            raise SettingsError(
                f"embed.base_url: {options.base_url!r} is not a URL; "
                "write for example http://localhost:11434/v1"
            )
        self.model = options.model
        self._options = options
        self._client: Any = None
        self._dimension = 0
        self.split_texts = 0

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension], unit rows. A text that is too long for the model is halved
        and the vectors of its parts averaged; ``split_texts`` counts how many were."""
        size = self._options.batch_size
        prefix = self._options.passage_prefix
        batches = [texts[i : i + size] for i in range(0, len(texts), size)]
        parts = [self._embed([prefix + text for text in batch]) for batch in batches]
        return np.concatenate(parts) if parts else np.empty((0, 0), np.float32)

    def embed_query(self, text: str) -> Vectors:
        """float32 [dimension], unit length."""
        vector: Vectors = self._embed([self._options.query_prefix + text])[0]
        return vector

    def _embed(self, texts: Sequence[str], halvings: int = 0) -> Vectors:
        import openai

        try:
            # The SDK's default (base64) is six times cheaper to decode than float lists.
            reply = self._connect().embeddings.create(model=self.model, input=list(texts))
        except openai.BadRequestError as error:
            if len(texts) > 1:
                return np.concatenate([self._embed([text], halvings) for text in texts])
            if halvings < _MAX_HALVINGS and len(texts[0]) > 1:
                middle = len(texts[0]) // 2
                halves = [texts[0][:middle], texts[0][middle:]]
                self.split_texts += halvings == 0
                vectors = [self._embed([half], halvings + 1) for half in halves]
                return unit_rows(np.mean(np.concatenate(vectors), axis=0, keepdims=True))
            raise self._failure(error) from error
        except (openai.OpenAIError, ValueError, TypeError) as error:
            # The SDK raises plain ValueError and TypeError for replies it cannot parse.
            raise self._failure(error) from error
        return self._checked(reply, len(texts))

    def _connect(self) -> Any:
        if self._client is None:
            import openai

            self._client = openai.OpenAI(
                base_url=self._options.base_url,
                api_key=self._options.api_key or "none",
                timeout=self._options.timeout,
                max_retries=3,
            )
        return self._client

    def _failure(self, error: Exception) -> EmbeddingError:
        return EmbeddingError(
            f"{self._options.base_url}: embedding with model {self.model!r} failed "
            f"({' '.join(str(error).split())[:300]}); "
            "check embed.base_url, embed.model and embed.api_key"
        )

    def _checked(self, reply: Any, expected: int) -> Vectors:
        """Vectors by their index in the reply; count, width and finiteness are checked."""
        items = sorted(reply.data or [], key=lambda item: item.index)
        where = f"{self._options.base_url}: model {self.model!r}"
        if [item.index for item in items] != list(range(expected)):
            raise EmbeddingError(
                f"{where} returned {len(items)} embeddings for {expected} texts; "
                "lower embed.batch_size or use another endpoint"
            )
        widths = {len(item.embedding) for item in items}
        if len(widths) != 1 or (self._dimension and widths != {self._dimension}) or 0 in widths:
            raise EmbeddingError(
                f"{where} returned vectors of widths {sorted(widths)}; expected one"
            )
        self._dimension = widths.pop()
        vectors = np.array([item.embedding for item in items], np.float32)
        if not np.isfinite(vectors).all():
            raise EmbeddingError(
                f"{where} returned a vector with NaN or infinity; check the server"
            )
        return unit_rows(vectors)
