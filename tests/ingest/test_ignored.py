"""What repositories leave out is left out, and a note says so."""

from __future__ import annotations

from pathlib import Path

from graphkb.ingest.folder import list_files
from graphkb.settings_input import Input


def make(folder: Path, files: dict[str, str]) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


def paths(folder: Path, **options: bool) -> tuple[list[str], list[str]]:
    notes: list[str] = []
    files = list_files(folder, Input(**options), notes)  # type: ignore[arg-type]
    return [file.path for file in files], notes


def test_gitignore_files_hold_for_their_folder_and_below(tmp_path: Path) -> None:
    make(tmp_path, {
        ".gitignore": "# 生成\n*.log\n/build/\ndocs/*\n!docs/保留.md\n",
        "a.log": "x", "sub/b.log": "x", "keep.md": "x", "build/x.md": "x", "sub/build/y.md": "x",
        "docs/a.md": "x", "docs/保留.md": "x",
        "sub/.gitignore": "!b.log\n私有/\n", "sub/私有/c.md": "x", "私有/d.md": "x",
    })  # fmt: skip
    found, notes = paths(tmp_path)
    assert found == ["docs/保留.md", "keep.md", "sub/b.log", "sub/build/y.md", "私有/d.md"]
    assert notes == [
        "left out: 4 that .gitignore names (a.log, build/, docs/a.md, …); "
        "set input.gitignore: false to read them"
    ]


def test_dependencies_caches_lock_and_minified_files_are_left_out(tmp_path: Path) -> None:
    make(tmp_path, {
        "node_modules/x/index.js": "x", "app/__pycache__/a.txt": "x", "app/a.py": "x = 1",
        "package-lock.json": "{}", "web/jquery.min.js": "x", "Cargo.lock": "x",
    })  # fmt: skip
    found, notes = paths(tmp_path)
    assert found == ["app/a.py"]
    assert notes == [
        "left out: 5 of dependencies, caches, lock and minified files (Cargo.lock, "
        "app/__pycache__/, node_modules/, …); set input.gitignore: false to read them"
    ]
    assert len(paths(tmp_path, gitignore=False)[0]) == 6


def test_nothing_left_out_gives_no_note_and_odd_files_no_error(tmp_path: Path) -> None:
    make(tmp_path, {"a.md": "x", "b/c.md": "x"})
    (tmp_path / "b" / ".gitignore").write_bytes(b"\xff\xfe[\x00\n!\n\\\n[a\n*.tmp\n")
    (tmp_path / "b" / "d.tmp").write_text("x")
    found, notes = paths(tmp_path)
    assert found == ["a.md", "b/c.md"]
    assert "b/d.tmp" in notes[0]
    (tmp_path / "b" / "d.tmp").unlink()
    assert paths(tmp_path) == (["a.md", "b/c.md"], [])
