"""Documents that are gone from the input folder at once: all are refused, most are warned of."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
import small
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import EmptiedInputError
from graphkb.project import Project
from graphkb.store.manifest import read_manifest

ANSWERS = "Who leads the Osprey project?", "谁是青石公司的工程师？"


@pytest.fixture
def kb(tmp_path: Path) -> Project:
    return small.make(tmp_path)


def empty(kb: Project) -> None:
    shutil.rmtree(kb.root / "input")
    (kb.root / "input").mkdir()


def unchanged(kb: Project) -> bool:
    texts = [kb.query(question).text for question in ANSWERS]
    return kb.version == 1 and "Ada Lin" in texts[0] and "陈明" in texts[1]


def run(kb: Project, *arguments: str) -> tuple[int, str]:
    options = ["--root", str(kb.root), "--set", "embed.when=off"]
    result = CliRunner().invoke(main, [*arguments, *options])
    return result.exit_code, result.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    "arguments",
    [
        ["index"],
        ["index", "--dry-run"],
        ["index", "--rebuild"],
        ["remove", "公司.md"],
        ["entities", "rename", "Osprey", "Sea Eagle"],
    ],
)
def test_an_emptied_folder_is_refused_by_everything_that_reads_it(
    kb: Project, arguments: list[str]
) -> None:
    empty(kb)
    code, line = run(kb, *arguments)
    assert code == 2
    gone = "2 documents" if arguments[0] == "remove" else "3 documents"
    for said in (f"{kb.root / 'input'}: no documents found", "input.include ['**/*']", gone,
                 "nothing was changed", "graphkb index --allow-empty"):  # fmt: skip
        assert said in line
    assert unchanged(kb)


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("input.include=['*.zzz']", "input.include ['*.zzz']"),
        ("input.exclude=['*.md']", "input.exclude ['*.md']"),
        ("input.max_file_mb=0.00001", "no text in 3 file(s): osprey.md: "),
    ],
)
def test_settings_that_leave_nothing_are_refused_and_named(
    kb: Project, override: str, said: str
) -> None:
    wrong = Project(kb.root, [override, "embed.when=off"])
    for run_it in (wrong.index, wrong.preview):
        with pytest.raises(EmptiedInputError, match="3 documents would be removed") as refused:
            run_it()
        assert said in str(refused.value)
    assert unchanged(kb)


def test_files_that_git_leaves_out_are_named(kb: Project) -> None:
    (kb.root / "input/.gitignore").write_text("*.md\n", "utf-8")
    with pytest.raises(EmptiedInputError, match=r"left out: 3 that \.gitignore names"):
        kb.index(embed="off")


def test_allowed_the_knowledge_base_becomes_empty_and_says_how_to_go_back(kb: Project) -> None:
    empty(kb)
    assert len(kb.preview(allow_empty=True).removed) == 3
    result = kb.index(embed="off", allow_empty=True)
    assert (result.removed, result.counts["documents"]) == (3, 0)
    assert any("graphkb snapshot restore 1 goes back" in line for line in result.warnings)
    kb.restore(1)
    assert kb.table("documents").height == 3
    code, _ = run(kb, "index", "--allow-empty")
    assert (code, kb.table("documents").height) == (0, 0)


def test_removing_the_last_document_by_name_needs_no_leave(kb: Project) -> None:
    result = kb.remove(["osprey.md", "公司.md", "valve.md"])
    assert (result.removed, result.counts["documents"]) == (3, 0)
    assert not any("are no longer read" in line for line in result.warnings)


def test_an_empty_folder_at_first_is_nothing_to_index_also_when_that_is_allowed(
    tmp_path: Path,
) -> None:
    (tmp_path / "input").mkdir()
    for more in ([], ["--allow-empty"]):
        code, line = run(Project(tmp_path), "index", *more)
        assert (code, "no documents found" in line) == (1, True)
    assert read_manifest(tmp_path / "output") is None


@pytest.mark.parametrize("rebuild", [False, True])
def test_more_than_half_of_many_documents_is_warned_of(tmp_path: Path, rebuild: bool) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(38):
        name, text = ("手册", "号机组") if number % 2 else ("manual", "is a turbine")
        (folder / f"{name}{number}.txt").write_text(f"T-{number} {text}.", "utf-8")
    kb = small.indexed(Project(tmp_path).root)
    for number in range(19):
        next(folder.glob(f"*[a-z手册]{number}.txt")).unlink()
    half = kb.index(embed="off", rebuild=rebuild)
    assert not any("are no longer read" in line for line in half.warnings)
    kb.restore(1)
    next(folder.glob("*30.txt")).unlink()
    said = [line for line in kb.preview(rebuild=rebuild).warnings if "are no longer read" in line]
    result = kb.index(embed="off", rebuild=rebuild)
    assert said == [line for line in result.warnings if "are no longer read" in line]
    assert said[0].startswith(f"20 of 38 documents are no longer read from {folder}")
    assert said[0].endswith(f"graphkb snapshot restore {kb.version - 1} goes back (for an hour)")
    kb.restore(kb.version - 1)
    assert kb.table("documents").height == 38


def test_files_that_moved_or_changed_have_not_vanished(tmp_path: Path) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(24):
        (folder / f"{number}.txt").write_text(f"第 {number} 号阀门 valve {number}.", "utf-8")
    kb = small.indexed(tmp_path)
    for number in range(12):
        (folder / f"{number}.txt").rename(folder / f"moved {number}.txt")
    for number in range(12, 24):
        (folder / f"{number}.txt").write_text(f"第 {number} 号水泵 pump {number}.", "utf-8")
    assert not any("no longer read" in line for line in kb.index(embed="off").warnings)


def test_most_of_a_small_folder_left_out_by_a_pattern_is_warned_of(tmp_path: Path) -> None:
    folder = tmp_path / "input"
    folder.mkdir()
    for number in range(9):
        name = f"阀门{number}.txt" if number < 5 else f"pump {number}.md"
        (folder / name).write_text(f"P-{number} 号水泵 pump.", "utf-8")
    small.indexed(tmp_path)
    kb = Project(tmp_path, ['input.include=["*.md"]'])
    said = [line for line in kb.index(embed="off").warnings if "are no longer read" in line]
    assert [line[:14] for line in said] == ["5 of 9 documen"]
