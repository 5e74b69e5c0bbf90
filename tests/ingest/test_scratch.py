"""Temporary folders: removed after use, and those of killed programs when the next one starts."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from graphkb.ingest.scratch import ScratchFolder
from graphkb.project import init_project

KILLED = """
import os, signal, sys, time
from pathlib import Path
from graphkb.ingest.scratch import ScratchFolder
folder = ScratchFolder()
(Path(folder.path) / "残留 left.txt").write_text("x")
print(folder.path, flush=True)
sys.stdin.read()
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


def aged(folder: Path) -> Path:
    os.utime(folder, (0, 0))
    return folder


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("name", ["SIGKILL", "SIGTERM"])
def test_a_folder_is_kept_while_its_program_runs_and_goes_after_it_was_killed(place, name):
    environment = {**os.environ, "TMPDIR": str(place)}
    with subprocess.Popen(
        [sys.executable, "-c", KILLED], env=environment, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    ) as program:  # fmt: skip
        assert program.stdout
        left = aged(Path(program.stdout.readline().strip()))
        assert left.parent == place
        ScratchFolder().remove()
        assert [path.name for path in left.glob("*.txt")] == ["残留 left.txt"]
        program.send_signal(getattr(signal, name))
        program.wait(20)
    aged(left)
    assert left.exists()
    ScratchFolder().remove()
    assert list(place.iterdir()) == []


def test_folders_of_others_and_new_ones_stay(place):
    for name in ("graphkb-mine", "other"):
        aged_folder = place / name
        aged_folder.mkdir()
        aged(aged_folder)
    (place / "graphkb-read-new").mkdir()
    (place / "graphkb-read-file").write_text("x")
    (place / "graphkb-read-link").symlink_to(place / "other")
    before = sorted(place.iterdir())
    folder = ScratchFolder()
    assert Path(folder.path).is_dir()
    folder.remove()
    assert sorted(place.iterdir()) == before


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_command_that_is_told_to_end_leaves_nothing(tmp_path):
    root, place = tmp_path / "kb", tmp_path / "tmp"
    place.mkdir()
    init_project(root)
    (root / "input" / "慢 slow.odd").write_text("x")
    environment = {**os.environ, "TMPDIR": str(place)}
    hangs = """input.converters={".odd": "sh -c 'sleep 60' {input}"}"""
    command = [sys.executable, "-m", "graphkb", "index", "--root", str(root), "--set", hangs]
    with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as program:
        for _ in range(400):
            if any(place.glob("graphkb-read-*/graphkb-*")) or program.poll() is not None:
                break
            time.sleep(0.05)
        assert program.poll() is None
        program.terminate()
        assert program.wait(20) == 143
    assert list(place.iterdir()) == []
