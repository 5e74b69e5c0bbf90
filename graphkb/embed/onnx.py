"""Models in ONNX files as exporters lay them out: the file, its tokenizer, how long it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkb.errors import EmbeddingError

_FILES = ("model.onnx", "onnx/model.onnx", "model_quantized.onnx", "onnx/model_quantized.onnx")
_TOKENIZER = "tokenizer.json"
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")
# Tokens that a model reads whose files do not say how many.
_USUAL_LENGTH = 512
_LONGEST = 8192


def onnx_file(given: Path) -> Path | None:
    """The ONNX file that a path names, or that lies in the folder it names."""
    if given.is_dir():
        return next((given / name for name in _FILES if (given / name).is_file()), None)
    return given if given.suffix == ".onnx" and given.is_file() else None


def tokenizer_file(path: Path) -> Path | None:
    """The tokenizer of an ONNX file: beside it, or in the folder above."""
    beside = (path.parent / _TOKENIZER, path.parent.parent / _TOKENIZER)
    return next((file for file in beside if file.is_file()), None)


def model_length(tokenizer: Any, folder: Path) -> int:
    """Tokens that the model reads at once."""
    if tokenizer.truncation is not None:
        return int(tokenizer.truncation["max_length"])
    try:
        told = json.loads((folder / "tokenizer_config.json").read_text("utf-8"))
        length = int(told["model_max_length"])
    except (OSError, ValueError, KeyError, TypeError, OverflowError):
        return _USUAL_LENGTH
    # Models without a limit say 1e30.
    return length if 0 < length <= _LONGEST else _USUAL_LENGTH


def load_onnx(path: Path) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """A function from texts to vectors, float32 [n, dimension].

    A model that gives one vector a text is taken at its word; of one that gives a vector a token
    the first token's is taken where ``1_Pooling/config.json`` says so, else their mean. Raises
    EmbeddingError, ImportError without onnxruntime and tokenizers.
    """
    import onnxruntime
    from tokenizers import Tokenizer

    vocabulary = tokenizer_file(path)
    if vocabulary is None:
        raise EmbeddingError(f"embed.model: {path.parent / _TOKENIZER} is missing; put it there")
    try:
        tokenizer = Tokenizer.from_file(str(vocabulary))
        session = onnxruntime.InferenceSession(str(path), providers=["CPUExecutionProvider"])
    except Exception as error:  # both libraries raise bare exceptions of their own
        raise EmbeddingError(f"embed.model: {path} cannot be loaded ({_said(error)})") from error
    tokenizer.enable_truncation(model_length(tokenizer, vocabulary.parent))
    if tokenizer.padding is None:
        tokenizer.enable_padding()
    wanted = [node.name for node in session.get_inputs()]
    if unknown := [name for name in wanted if name not in _INPUTS]:
        raise EmbeddingError(f"embed.model: {path} reads {unknown[0]!r}: it does not embed text")
    first_token = _pools_by_first_token(vocabulary.parent)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        try:
            encodings = tokenizer.encode_batch(list(texts))
            fields = {
                "input_ids": [encoding.ids for encoding in encodings],
                "attention_mask": [encoding.attention_mask for encoding in encodings],
                "token_type_ids": [encoding.type_ids for encoding in encodings],
            }
            feed = {name: np.array(fields[name], np.int64) for name in wanted}
            outputs = [np.asarray(output) for output in session.run(None, feed)]
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise EmbeddingError(f"embed.model: {path} cannot embed ({_said(error)})") from error
        whole = [output for output in outputs if output.ndim == 2 and len(output) == len(texts)]
        if whole:
            return whole[-1].astype(np.float32)
        if outputs[0].ndim != 3:
            raise EmbeddingError(
                f"embed.model: {path} gives the shape {outputs[0].shape} for {len(texts)} texts: "
                "it does not embed text"
            )
        return _pooled(outputs[0], np.array(fields["attention_mask"]), first_token)

    return encode


def _pools_by_first_token(folder: Path) -> bool:
    try:
        told = json.loads((folder / "1_Pooling" / "config.json").read_text("utf-8"))
        return bool(told.get("pooling_mode_cls_token"))
    except (OSError, ValueError, AttributeError):
        return False


def _pooled(tokens: NDArray[Any], mask: NDArray[Any], first_token: bool) -> NDArray[np.float32]:
    """One vector a text, of [n, tokens, dimension]."""
    if first_token:
        return np.asarray(tokens[:, 0], np.float32)
    weight = mask[:, :, None].astype(np.float32)
    return np.asarray((tokens * weight).sum(1) / np.maximum(weight.sum(1), 1), np.float32)


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:200]
