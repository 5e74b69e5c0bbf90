"""A model on a loopback server, with waits short enough for tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, model_server

from graphkb.llm.model import Model, make_model
from graphkb.settings import LanguageModel

Make = Callable[..., Model]


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def make(server: ModelServer, tmp_path: Path) -> Iterator[Make]:
    """Makes models of this server; keywords are settings of the section ``llm``."""
    made: list[Model] = []

    def make(**options: Any) -> Model:
        known = {"model": "m", "base_url": server.url, "max_wait": 0.02, "timeout": 5.0}
        model = make_model(tmp_path, LanguageModel(**{**known, **options}))
        assert model is not None
        made.append(model)
        return model

    yield make
    for model in made:
        model.close()


@pytest.fixture
def model(make: Make) -> Model:
    return make()
