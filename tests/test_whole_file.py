"""A file is replaced whole, keeps its permissions, and stays behind its link."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from graphkb.whole_file import write_whole

posix = pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


@posix
def test_permissions_stay(tmp_path: Path) -> None:
    file, new = tmp_path / "我的.yaml", tmp_path / "new.bak"
    file.write_bytes(b"old")
    file.chmod(0o600)
    write_whole(file, b"new")
    assert (file.read_bytes(), mode(file)) == (b"new", 0o600)
    write_whole(new, b"copy", like=file)
    assert mode(new) == 0o600


@posix
def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "kept").mkdir()
    real, link = tmp_path / "kept/real.txt", tmp_path / "词.txt"
    link.symlink_to(Path("kept/real.txt"))
    for content in (b"made", b"replaced"):
        write_whole(link, content)
        assert link.is_symlink()
        assert real.read_bytes() == content
    assert [file.name for file in real.parent.iterdir()] == ["real.txt"]


def test_a_read_only_file_is_left_alone_by_root_too(tmp_path: Path) -> None:
    file = tmp_path / "file.txt"
    file.write_bytes(b"old")
    file.chmod(0o444)
    with pytest.raises(PermissionError, match="it is read-only"):
        write_whole(file, b"new")
    file.chmod(0o644)
    assert [one.read_bytes() for one in tmp_path.iterdir()] == [b"old"]


def test_what_cannot_be_replaced_leaves_nothing_behind(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    with pytest.raises(OSError):
        write_whole(folder, b"x")
    assert [one.name for one in tmp_path.iterdir()] == ["folder"]
