"""Two writers at once: what one decides holds beside what the other decided just before."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

from graphkb import pipeline
from graphkb.errors import UsageError
from graphkb.project import Project
from tests.small import make

Change = Callable[[Project], object]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("races")
    make(root)
    return root


@pytest.fixture
def root(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "kb")
    return tmp_path / "kb"


def between(monkeypatch: pytest.MonkeyPatch, other: Callable[[], object]) -> None:
    """``other`` happens once, when the next run is about to take the write lock."""
    real, waiting = pipeline.write_lock, [other]

    def late(output: Path) -> AbstractContextManager[None]:
        if waiting:
            waiting.pop()()
        return real(output)

    monkeypatch.setattr(pipeline, "write_lock", late)


def said(kb: Project) -> set[tuple[str, str, str]]:
    return set(kb.table("decisions").select("action", "name", "other").iter_rows())


CHANGES: list[tuple[Change, tuple[str, str, str]]] = [
    (lambda kb: kb.merge_entities("Bluestone", "Northern Seals"),
     ("merge", "Bluestone", "Northern Seals")),
    (lambda kb: kb.split_entities("Ada Lin"), ("split", "Ada Lin", "")),
    (lambda kb: kb.rename_entity("杭州", "杭州市"), ("rename", "杭州", "杭州市")),
]  # fmt: skip


@pytest.mark.parametrize(("change", "row"), CHANGES, ids=["merge", "split", "rename"])
def test_a_decision_keeps_what_another_writer_decided_meanwhile(
    root: Path, monkeypatch: pytest.MonkeyPatch, change: Change, row: tuple[str, str, str]
) -> None:
    one, other = Project(root), Project(root)
    between(monkeypatch, lambda: other.rename_entity("陈明", "陈小明"))
    change(one)
    assert said(one) == {("rename", "陈明", "陈小明"), row}


def test_taking_back_one_decision_keeps_another_one_made_meanwhile(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Project(root), Project(root)
    one.split_entities("Ada Lin")
    between(monkeypatch, lambda: other.rename_entity("陈明", "陈小明"))
    one.undo_decisions("Ada Lin")
    assert said(one) == {("rename", "陈明", "陈小明")}


def test_removals_of_two_writers_add_up_and_are_let_in_again_one_by_one(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Project(root), Project(root)
    between(monkeypatch, lambda: other.remove(["公司.md"]))
    one.remove(["osprey.md"])
    assert sorted(one.removed()["path"]) == ["osprey.md", "公司.md"]
    assert one.table("documents")["title"].to_list() == ["Valve"]
    between(monkeypatch, lambda: other.remove(["公司.md"], undo=True))
    one.remove(["osprey.md"], undo=True)
    assert one.removed().is_empty()
    assert one.table("documents").height == 3


def test_a_name_that_went_meanwhile_is_refused_and_nothing_is_changed(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = Project(root), Project(root)
    between(monkeypatch, lambda: other.remove(["公司.md"]))
    with pytest.raises(UsageError, match=r"'公司\.md' is no document"):
        one.remove(["公司.md", "osprey.md"])
    assert one.removed()["path"].to_list() == ["公司.md"]
    assert one.version == 2
