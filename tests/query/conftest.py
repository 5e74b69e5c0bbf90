"""An indexed collection, a loopback model server and a model of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from model_server import ModelServer, model_server, said
from query.gathering import make_asker, make_snapshot

from graphkb.llm.model import Model
from graphkb.search.snapshot import Snapshot


@pytest.fixture(scope="session")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """The collection of :mod:`query.gathering`."""
    return make_snapshot(tmp_path_factory.mktemp("collection"))


@pytest.fixture(scope="session")
def shared_server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def server(shared_server: ModelServer) -> ModelServer:
    """A server that has seen nothing; say what it plays."""
    shared_server.requests = []
    shared_server.play = lambda body: said("")
    return shared_server


@pytest.fixture
def model(server: ModelServer, tmp_path: Path) -> Iterator[Model]:
    model = make_asker(server.url, tmp_path)
    yield model
    model.close()
