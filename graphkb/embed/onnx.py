"""Models in ONNX files as exporters lay them out: the file, its tokenizer, how long it reads."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkb.errors import EmbeddingError, GraphkbError

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


class OnnxModel:
    """An ONNX file and its tokenizer, on the processor."""

    def __init__(self, path: Path, problem: Callable[[str], GraphkbError], otherwise: str) -> None:
        """``problem`` makes an error of what is wrong; ``otherwise`` is said of a file that does
        not read text. Raises these, ImportError without onnxruntime and tokenizers."""
        import onnxruntime
        from tokenizers import Tokenizer

        vocabulary = tokenizer_file(path)
        if vocabulary is None:
            raise problem(f"{path.parent / _TOKENIZER} is missing; put it there")
        try:
            self._tokenizer: Any = Tokenizer.from_file(str(vocabulary))
            self._session: Any = onnxruntime.InferenceSession(
                str(path), providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise problem(f"{path} cannot be loaded ({_said(error)})") from error
        self.path, self.folder, self._problem = path, vocabulary.parent, problem
        self._tokenizer.enable_truncation(model_length(self._tokenizer, self.folder))
        if self._tokenizer.padding is None:
            self._tokenizer.enable_padding()
        self._wanted = [node.name for node in self._session.get_inputs()]
        if unknown := [name for name in self._wanted if name not in _INPUTS]:
            raise problem(f"{path} {otherwise}: it reads {unknown[0]!r}")

    def run(
        self, texts: Sequence[str] | Sequence[tuple[str, str]]
    ) -> tuple[list[NDArray[Any]], NDArray[np.int64]]:
        """All outputs for texts, or for pairs of them, and which tokens are no padding, int64
        [n, tokens]."""
        try:
            encodings = self._tokenizer.encode_batch(list(texts))
            fields = {
                "input_ids": [encoding.ids for encoding in encodings],
                "attention_mask": [encoding.attention_mask for encoding in encodings],
                "token_type_ids": [encoding.type_ids for encoding in encodings],
            }
            feed = {name: np.array(fields[name], np.int64) for name in self._wanted}
            outputs = [np.asarray(output) for output in self._session.run(None, feed)]
        except Exception as error:  # both libraries raise bare exceptions of their own
            raise self._problem(f"{self.path} cannot be run ({_said(error)})") from error
        return outputs, np.array(fields["attention_mask"], np.int64)


def load_onnx(path: Path) -> Callable[[Sequence[str]], NDArray[np.float32]]:
    """A function from texts to vectors, float32 [n, dimension].

    A model that gives one vector a text is taken at its word; of one that gives a vector a token
    the first token's is taken where ``1_Pooling/config.json`` says so, else their mean. Raises
    EmbeddingError, ImportError without onnxruntime and tokenizers.
    """
    model = OnnxModel(path, _problem, "does not embed text")
    first_token = _pools_by_first_token(model.folder)

    def encode(texts: Sequence[str]) -> NDArray[np.float32]:
        outputs, mask = model.run(texts)
        whole = [output for output in outputs if output.ndim == 2 and len(output) == len(texts)]
        if whole:
            return whole[-1].astype(np.float32)
        if outputs[0].ndim != 3:
            raise _problem(
                f"{path} does not embed text: {len(texts)} texts give the shape {outputs[0].shape}"
            )
        return _pooled(outputs[0], mask, first_token)

    return encode


def _problem(what: str) -> EmbeddingError:
    return EmbeddingError(f"embed.model: {what}")


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
