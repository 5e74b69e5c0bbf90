from __future__ import annotations

import os

import pytest

from graphkb.errors import InputSettingsError
from graphkb.ingest.isolate import read_files
from graphkb.ingest.read import file_hash, list_files, read_file
from graphkb.settings_input import Input


def paths(folder, **options):
    return [file.path for file in list_files(folder, Input(**options))]


def write(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"Text of {name}.", encoding="utf-8")


def test_case_b01_b05_files_at_any_depth_without_the_system_ones(tmp_path):
    write(tmp_path, "b/readme.md", "a/readme.md", "c/d/e/f.txt", "one.txt")
    write(tmp_path, ".DS_Store", "a/Thumbs.db", "~$x.docx", ".git/x.txt", "__MACOSX/y.txt")
    assert paths(tmp_path) == ["a/readme.md", "b/readme.md", "c/d/e/f.txt", "one.txt"]


def test_any_name_is_read(tmp_path):
    names = ["a b.txt", 'it\'s "q".txt', "100%#1.txt", "😀.txt", "中文 文件.md", "[x].txt"]
    write(tmp_path, *names)
    (tmp_path / os.fsdecode(b"\xc4\xe3\xff.txt")).write_text("Ada.")
    files = list_files(tmp_path, Input())
    assert [file.path for file in files] == sorted([*names, "\\xc4\\xe3\\xff.txt"])
    assert all(read_file(file, Input()).records for file in files)


def test_patterns_choose_by_name_and_by_folder(tmp_path):
    write(tmp_path, "a.md", "x/b.md", "x/c.txt", "drafts/d.md", "x/drafts/e.md")
    assert paths(tmp_path, include=["*.md"], exclude=["drafts"]) == ["a.md", "x/b.md"]
    assert paths(tmp_path, include=["x/*"]) == ["x/b.md", "x/c.txt", "x/drafts/e.md"]
    assert paths(tmp_path, include=["x/**/*.md"]) == ["x/b.md", "x/drafts/e.md"]
    assert paths(tmp_path, include=["[ab].md"]) == ["a.md", "x/b.md"]


def test_links_neither_hang_nor_double_files(tmp_path):
    outside = tmp_path / "outside"
    folder = tmp_path / "input"
    write(outside, "far.txt")
    write(folder, "near/one.txt")
    (folder / "loop").symlink_to(folder)
    (folder / "self").symlink_to("self")
    (folder / "gone.txt").symlink_to("nowhere")
    (folder / "far1").symlink_to(outside)
    (folder / "far2").symlink_to(outside)
    files = {file.path: file for file in list_files(folder, Input(follow_links=True))}
    assert len([path for path in files if path.endswith("far.txt")]) == 1
    assert {"near/one.txt", "self", "gone.txt"} < set(files)
    for name in ("self", "gone.txt"):
        file_hash(files[name])
        assert "cannot be read" in read_file(files[name], Input()).refused[0].reason


def test_links_that_lead_out_are_refused_with_their_target(tmp_path):
    folder = tmp_path / "input"
    write(tmp_path, "秘密/far.txt", "key.txt")
    write(folder, "near/one.txt")
    (folder / "far").symlink_to(tmp_path / "秘密")
    (folder / "key.txt").symlink_to(tmp_path / "key.txt")
    (folder / "up").symlink_to(tmp_path)
    (folder / "inside.txt").symlink_to("near/one.txt")
    (folder / "loop").symlink_to("near")
    files = list_files(folder, Input())
    assert [file.path for file in files] == ["far", "inside.txt", "key.txt", "near/one.txt", "up"]
    readings = dict(zip([file.path for file in files], read_files(files, Input()), strict=True))
    for name, target in (("far", "秘密"), ("key.txt", "key.txt"), ("up", "")):
        (refused,) = readings[name].refused
        assert refused.reason == (
            f"a link that leads out of the input folder, to {str(tmp_path / target).rstrip('/')}; "
            "set input.follow_links: true to read what is there, or put a copy in its place"
        )
    assert readings["inside.txt"].records
    hashes = [file_hash(file) for file in files]
    (folder / "far").unlink()
    (folder / "far").symlink_to(tmp_path / "input/..")
    assert file_hash(list_files(folder, Input())[0]) != hashes[0]
    (folder / "far").unlink()
    (folder / "far").symlink_to(tmp_path / "秘密")
    assert paths(folder, follow_links=True) == [
        "far/far.txt", "inside.txt", "key.txt", "near/one.txt"
    ]  # fmt: skip


def test_a_pipe_is_refused_and_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "pipe.txt")
    (file,) = list_files(tmp_path, Input())
    assert file_hash(file)
    assert "neither a file nor a folder" in read_file(file, Input()).refused[0].reason


def test_a_missing_folder_and_a_file_say_what_to_do(tmp_path):
    with pytest.raises(InputSettingsError, match=r"nowhere does not exist; .*input\.folder"):
        list_files(tmp_path / "nowhere", Input())
    write(tmp_path, "one.txt")
    with pytest.raises(InputSettingsError, match=r"one\.txt is a file; .*input\.folder"):
        list_files(tmp_path / "one.txt", Input())
