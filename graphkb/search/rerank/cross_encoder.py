"""Reranking by a cross-encoder on this machine: an ONNX file, or through sentence-transformers."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkb.embed.onnx import OnnxModel, onnx_file
from graphkb.errors import MissingExtraError, RerankError
from graphkb.search.rerank import Reranking, Scores
from graphkb.search.rerank.passages import Passages
from graphkb.settings import Rerank

Logits = NDArray[np.float64]
Predict = Callable[[str, Sequence[str]], Logits]
"""A question and texts to one score each, from 0 to 1."""


class CrossEncoderReranker:
    """Scores from 0 to 1: the sigmoid of the model's logit. The model is loaded with the first
    question, which takes the time that it takes. Safe to use from several threads, one of which
    computes at a time."""

    def __init__(self, root: Path, options: Rerank) -> None:
        self._root, self._options = root, options
        self._predict: Predict | None = None
        self._lock = threading.Lock()

    def score(self, passages: Passages, reranking: Reranking) -> Scores:
        """A score for every passage. Raises RerankError when the model cannot be loaded, is no
        cross-encoder, or has more batches left when the time is over; MissingExtraError without
        the libraries that it needs."""
        size, limit = self._options.batch_size, self._options.max_passage_tokens
        texts = [passages.text(place, limit) for place in range(len(passages))]
        with self._lock:
            if self._predict is None:
                self._predict = self._loaded()
            own = time.monotonic() + self._options.timeout
            end = min(own, reranking.deadline or own)
            parts: list[Logits] = []
            for at in range(0, len(texts), size):
                if parts and time.monotonic() > end:
                    raise RerankError(
                        f"rerank.model: only {at} of {len(texts)} text units were scored in "
                        f"{self._options.timeout:g} s; raise rerank.timeout or lower "
                        "rerank.candidates"
                    )
                parts.append(self._predict(passages.question, texts[at : at + size]))
        scores = np.concatenate(parts)
        found = {n: float(score) for n, score in enumerate(scores) if np.isfinite(score)}
        if texts and not found:
            raise _problem(f"{self._options.model} gives no score that is a number")
        detail = f"{len(found)} of {len(texts)} text units scored by {self._options.model}"
        return Scores(found, detail)

    def _loaded(self) -> Predict:
        name = self._options.model
        given = self._root / Path(name).expanduser()
        if (onnx := onnx_file(given)) is not None:
            return _onnx_predict(onnx)
        named_as_path = name.endswith(".onnx") or name.startswith(("/", ".", "~"))
        if named_as_path and not given.exists():
            raise _problem(f"{given} does not exist; check the path")
        return _sentence_transformers_predict(str(given) if given.is_dir() else name)


def _onnx_predict(path: Path) -> Predict:
    try:
        model = OnnxModel(path, _problem, "is no cross-encoder")
    except ImportError:
        raise MissingExtraError("rerank.method cross_encoder with an ONNX file", "rerank") from None

    def predict(question: str, texts: Sequence[str]) -> Logits:
        outputs, _ = model.run([(question, text) for text in texts])
        return _sigmoid(_one_each(np.asarray(outputs[0], np.float64), len(texts), path))

    return predict


def _problem(what: str) -> RerankError:
    return RerankError(f"rerank.model: {what}")


def _one_each(logits: Logits, texts: int, path: Path) -> Logits:
    """One logit a text; of two classes, how far the second is above the first."""
    if logits.ndim == 2 and logits.shape == (texts, 2):
        return logits[:, 1] - logits[:, 0]
    if logits.shape in ((texts,), (texts, 1)):
        return logits.reshape(texts)
    raise _problem(f"{path} is no cross-encoder: {texts} texts give the shape {logits.shape}")


def _sigmoid(logits: Logits) -> Logits:
    scores: Logits = 1 / (1 + np.exp(-np.clip(logits, -700, 700)))
    return scores


def _sentence_transformers_predict(name: str) -> Predict:
    try:
        from sentence_transformers import CrossEncoder
        from torch.nn import Sigmoid
    except ImportError:
        raise MissingExtraError(
            f"rerank.model {name!r}, which is no folder with an ONNX file,", "sentence-transformers"
        ) from None
    try:
        model = CrossEncoder(name, activation_fn=Sigmoid())
    except (OSError, ValueError, RuntimeError) as error:
        said = " ".join(str(error).split())[:200]
        raise _problem(f"{name!r} cannot be loaded ({said})") from error

    def predict(question: str, texts: Sequence[str]) -> Logits:
        pairs = [(question, text) for text in texts]
        given: Any = model.predict(pairs, batch_size=len(pairs), show_progress_bar=False)
        scores = np.asarray(given, np.float64)
        if scores.shape != (len(texts),):
            raise _problem(f"{name!r} is no cross-encoder with one score a text")
        return scores

    return predict
