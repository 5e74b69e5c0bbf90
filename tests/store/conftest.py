"""The small project, indexed once and copied for each test."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from small import indexed, make

from graphkb.project import Project


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 1 of the small project. Not to be changed."""
    root = tmp_path_factory.mktemp("built") / "kb"
    make(root)
    return root


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    """A copy of the small project."""
    shutil.copytree(built, tmp_path / "kb")
    return tmp_path / "kb"


@pytest.fixture
def edit(kb: Path) -> Callable[[str, str, str], Project]:
    """Replaces words in an input file and indexes."""

    def edit(name: str, old: str, new: str) -> Project:
        path = kb / "input" / name
        path.write_text(path.read_text("utf8").replace(old, new), "utf8")
        return indexed(kb)

    return edit
