"""Folders and files that may not be opened: what was read of them stays, and is said to."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import small
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import EmptiedInputError, InputSettingsError, UsageError
from graphkb.project import Project

Close = Callable[[Path], None]
NOT_OPENED = "cannot be opened; "


@pytest.fixture
def kb(tmp_path: Path) -> Project:
    folder = tmp_path / "input/部门/deep"
    folder.mkdir(parents=True)
    (folder / "heron.md").write_text("Rosa Diaz runs the Heron lab.", "utf-8")
    (folder.parent / "公司.md").write_text("陈明是青石公司的工程师。", "utf-8")
    (tmp_path / "input/valve.md").write_text("The valve of turbine T-07 failed.", "utf-8")
    return small.indexed(tmp_path)


@pytest.fixture
def close(monkeypatch: pytest.MonkeyPatch) -> Close:
    """Makes folders and files unreadable, for root too."""
    shut: set[str] = set()

    def guarded(call: Callable[..., Any]) -> Callable[..., Any]:
        def run(path: Any, *args: Any, **kwargs: Any) -> Any:
            if str(path) in shut:
                raise PermissionError(13, "Permission denied", str(path))
            return call(path, *args, **kwargs)

        return run

    monkeypatch.setattr(os, "scandir", guarded(os.scandir))
    monkeypatch.setattr(Path, "open", guarded(Path.open))
    monkeypatch.setattr(Path, "read_bytes", guarded(Path.read_bytes))
    return lambda path: shut.add(str(path))


def notices(kb: Project) -> list[str]:
    return [line for line in kb.index(embed="off").warnings if NOT_OPENED in line]


def paths(kb: Project) -> list[str]:
    return sorted(kb.table("documents")["title"].to_list())


def test_documents_below_a_closed_folder_stay_and_a_line_says_so(kb: Project, close: Close) -> None:
    before = paths(kb)
    close(kb.root / "input/部门")
    for _ in range(2):
        result = kb.index(embed="off")
        assert (result.removed, paths(kb)) == (0, before)
        assert [line for line in result.warnings if NOT_OPENED in line] == [
            "部门: cannot be opened; 2 files stay as last read; check the permissions"
        ]
        assert [item.where for item in result.refused] == ["部门"]
        assert not kb.status()["stale"]
    assert "陈明" in kb.query("谁是青石公司的工程师？").text
    assert "Rosa Diaz" in kb.query("Who runs the Heron lab?").text


def test_a_file_that_may_not_be_read_stays_too(kb: Project, close: Close) -> None:
    before = paths(kb)
    close(kb.root / "input/valve.md")
    (said,) = notices(kb)
    assert said.startswith("valve.md: cannot be opened; 1 file stays as last read")
    assert paths(kb) == before


def test_beside_a_closed_folder_files_come_and_go(kb: Project, close: Close) -> None:
    close(kb.root / "input/部门/deep")
    (kb.root / "input/valve.md").unlink()
    (kb.root / "input/泵.md").write_text("P-2 号水泵停机。", "utf-8")
    result = kb.index(embed="off")
    assert (result.added, result.removed, result.counts["documents"]) == (1, 1, 3)


def test_patterns_hold_for_what_is_below_a_closed_folder(kb: Project, close: Close) -> None:
    close(kb.root / "input/部门")
    only = Project(kb.root, ["input.include=['h*.md']"])
    assert only.index(embed="off").counts["documents"] == 1
    without = Project(kb.root, ["input.exclude=['部门']"])
    result = without.index(embed="off")
    assert result.counts["documents"] == 1
    assert not any(NOT_OPENED in line for line in result.warnings)


def test_a_closed_folder_that_nothing_was_read_of_is_no_notice(kb: Project, close: Close) -> None:
    (kb.root / "input/new").mkdir()
    close(kb.root / "input/new")
    assert notices(kb) == []


def test_a_deleted_folder_and_a_link_that_leads_nowhere_are_gone(kb: Project) -> None:
    shutil.rmtree(kb.root / "input/部门")
    (kb.root / "input/部门").symlink_to("nowhere")
    assert kb.index(embed="off").removed == 2


def test_an_input_folder_that_cannot_be_opened_is_a_mistake_in_the_settings(
    kb: Project, close: Close
) -> None:
    close(kb.root / "input")
    with pytest.raises(InputSettingsError, match=r"cannot be opened; .*input\.folder"):
        kb.index(embed="off")
    codes = [
        CliRunner().invoke(main, [name, "--root", str(kb.root)]).exit_code
        for name in ("index", "status")
    ]
    assert codes == [2, 0]
    assert kb.status()["stale"]


def lance_folders(kb: Project) -> list[str]:
    return sorted(path.name for path in kb.output.glob("lancedb*"))


def test_a_rebuild_that_is_refused_or_interrupted_leaves_nothing(kb: Project) -> None:
    def interrupt(stage: str, *_: object) -> None:
        if stage == "extract":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kb.index(interrupt, embed="off", rebuild=True)
    assert lance_folders(kb) == ["lancedb"]
    shutil.rmtree(kb.root / "input")
    (kb.root / "input").mkdir()
    with pytest.raises(EmptiedInputError):
        kb.index(embed="off", rebuild=True)
    assert lance_folders(kb) == ["lancedb"]
    assert small.problems(kb) == []
    assert "陈明" in kb.query("谁是青石公司的工程师？").text


def test_what_a_killed_rebuild_left_is_removed_by_the_next_run(kb: Project) -> None:
    (kb.output / "lancedb.7").mkdir()
    kb.index(embed="off")
    assert lance_folders(kb) == ["lancedb"]


def test_a_rebuild_keeps_the_folder_of_the_version_before(kb: Project) -> None:
    kb.index(embed="off", rebuild=True)
    kb.index(embed="off")
    assert len(lance_folders(kb)) == 2
    kb.restore(1)
    assert kb.table("documents").height == 3


def test_where_all_was_removed_a_rebuild_says_that(kb: Project) -> None:
    kb.remove(["部门/deep/heron.md", "部门/公司.md", "valve.md"])
    result = kb.index(embed="off", rebuild=True)
    (said,) = [line for line in result.warnings if "now empty" in line]
    assert said.startswith("all that was read was taken out by graphkb remove")


def test_doctor_says_that_the_project_folder_is_gone(kb: Project) -> None:
    shutil.rmtree(kb.root)
    with pytest.raises(UsageError, match="project folder does not exist any more"):
        kb.doctor()


def test_interrupted_while_it_is_loaded_the_command_says_so_in_one_line() -> None:
    code = (
        "import sys\n"
        "class Stop:\n"
        "    def find_spec(self, name, *rest):\n"
        "        if name == 'graphkb.cli':\n"
        "            raise KeyboardInterrupt\n"
        "sys.meta_path.insert(0, Stop())\n"
        "from graphkb.__main__ import main\n"
        "main()\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
