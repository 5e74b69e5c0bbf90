"""Looking at a knowledge base while another process writes it: no damage that is none."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner
from small import manifest_of, problems, the_problem

from graphkb.cli import main
from graphkb.project import Project
from graphkb.store import versions
from graphkb.store.lock import write_lock
from graphkb.store.sizes import part_sizes
from graphkb.upkeep import doctor, surroundings
from graphkb.upkeep.case import Case, Found

Edit = Callable[[str, str, str], Project]


def test_files_that_follow_a_commit_are_no_damage_while_a_run_is_active(kb: Path) -> None:
    (kb / "output" / "documents.parquet").unlink()
    (kb / "output" / "manifest.json.12.tmp").write_text("")
    assert {finding.check for finding in problems(Project(kb))} == {"parquet", "leftovers"}
    with write_lock(kb / "output"):
        assert problems(Project(kb)) == []
        done = CliRunner().invoke(main, ["doctor", "--root", str(kb)])
    assert done.exit_code == 0, done.output
    assert done.output.count("an index run is active") == 1
    assert "healthy" in done.output


def test_damage_of_what_is_committed_is_found_while_a_run_is_active(kb: Path) -> None:
    shutil.rmtree(kb / "output" / manifest_of(kb).graph)
    with write_lock(kb / "output"):
        assert the_problem(Project(kb)).check == "graph"
        done = CliRunner().invoke(main, ["doctor", "--root", str(kb)])
    assert done.exit_code == 1
    assert done.output.count("an index run is active") == 1


@pytest.mark.parametrize("commits", [1, 9])
def test_a_version_that_a_run_replaced_meanwhile_is_not_damaged(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch, commits: int
) -> None:
    """With nine commits there is one for every look: a version that is let go of is none."""
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    replaced: list[int] = []

    def replace(case: Case) -> Found:
        if len(replaced) < commits:
            replaced.append(case.manifest.version)
            edit("osprey.md", "Osprey", "Osprey again")
            shutil.rmtree(kb / "output" / case.manifest.graph, ignore_errors=True)
        yield from ()

    monkeypatch.setattr(doctor, "CHECKS", (replace, *doctor.CHECKS))
    assert problems(Project(kb)) == []
    assert replaced == [1, 2][:commits]


def test_versions_and_snapshots_let_go_of_meanwhile_are_not_damaged(
    kb: Path, edit: Edit, monkeypatch: pytest.MonkeyPatch
) -> None:
    project = edit("osprey.md", "Ada Lin", "Bo Berg")
    project.create_snapshot("一")
    unreadable, arrays = surroundings._unreadable, project.at(1)._current().manifest.graph

    def gone(output: Path, manifest: object) -> str:
        (kb / "output" / "manifests" / "1.json").unlink(missing_ok=True)
        for folder in ("snapshots/一", arrays):
            shutil.rmtree(kb / "output" / folder, ignore_errors=True)
        return unreadable(output, manifest) or "half of it is gone"

    with monkeypatch.context() as patch:
        patch.setattr(surroundings, "_unreadable", gone)
        assert problems(project) == []
    assert problems(project) == []


def test_sizes_are_told_while_folders_go(kb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, stat = part_sizes(kb / "output", kb / "cache"), Path.stat

    def racing(self: Path, **options: bool) -> object:
        facts = stat(self, **options)
        if self.is_relative_to(kb / "output" / "lancedb" / "documents.lance"):
            shutil.rmtree(kb / "output" / "lancedb", ignore_errors=True)
        return facts

    monkeypatch.setattr(Path, "stat", racing)
    sizes = part_sizes(kb / "output", kb / "cache")
    assert 0 < sizes["tables"] < whole["tables"]
    assert sizes["graph"] == whole["graph"] > 0
