"""An indexed collection that no test changes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from search.documents import make_project

from graphkb.project import Project


@pytest.fixture(scope="session")
def catalogue(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    """The collection of :mod:`search.documents`."""
    with make_project(tmp_path_factory.mktemp("catalogue")) as project:
        yield project
