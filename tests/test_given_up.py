"""Files that no reader survives: refused once with why, and tried again when that can help."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.project import Project

CONVERTERS = """
import os
def leaves(path):
    with path.with_suffix(".log").open("a") as log:
        log.write("x")
    if "well" in path.read_text("utf-8"):
        return "Bo Chen founded Farsail Instruments. 陈明创办了远帆仪器。"
    os._exit(9)
"""


@pytest.fixture
def root(project: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (project / "giving_up.py").write_text(CONVERTERS, "utf-8")
    monkeypatch.syspath_prepend(str(project))
    folder = project / "input"
    (folder / "bad.odd").write_text("x", "utf-8")
    (folder / "a.md").write_text("# Osprey\n\nAda Lin leads Osprey in Bergen.\n", "utf-8")
    (folder / "副本.md").write_text("# Osprey\n\nAda Lin leads Osprey in Bergen. \n", "utf-8")
    return project


def index(root: Path, seconds: int = 60, rebuild: bool = False) -> list[str]:
    """What a run refuses."""
    options = [
        "embed.when=off",
        "input.exclude=['*.log']",
        f"input.max_seconds={seconds}",
        "input.converters={'.odd': 'giving_up:leaves'}",
    ]
    result = Project(root, options).index(rebuild=rebuild)
    return [f"{item.where}: {item.reason}" for item in result.refused]


def test_a_file_is_given_up_until_it_or_a_limit_changes(root: Path) -> None:
    tried = root / "input" / "bad.log"
    refused = index(root)
    assert len(refused) == 1
    assert "bad.odd: it made its parser crash (exit code 9)" in refused[0]
    version = Project(root).status()["version"]
    assert index(root) == refused
    assert Project(root).status()["version"] == version
    (root / "input" / "b.md").write_text("陈明是青石公司的工程师。", "utf-8")
    assert index(root) == refused
    assert tried.read_text() == "x", "it was tried again for nothing"
    assert index(root, seconds=61) == refused
    assert tried.read_text() == "xx"
    assert index(root, seconds=61) == refused
    assert tried.read_text() == "xx"
    assert index(root, seconds=61, rebuild=True) == refused
    assert tried.read_text() == "xxx"
    (root / "input" / "bad.odd").write_text("well", "utf-8")
    assert index(root, seconds=61) == []
    assert "bad.odd" in Project(root).table("documents")["path"].to_list()
