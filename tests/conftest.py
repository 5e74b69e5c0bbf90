"""Shared fixtures."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_NUM_THREADS", "1")


@pytest.fixture(autouse=True)
def _no_graphkb_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings of the machine that runs the tests do not leak into them."""
    for name in list(os.environ):
        if name.startswith("GRAPHKB_"):
            monkeypatch.delenv(name)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """An empty project folder with an input folder."""
    (tmp_path / "input").mkdir()
    return tmp_path
