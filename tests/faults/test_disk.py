"""A disk that is full or may not be written: one clear line, the last version reads, and the
next run finishes."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from faults.harness import REPOSITORY, indexed, options, write_input
from law import broken, committed, differences

import graphkb
from graphkb.embed.cache import VectorCache
from graphkb.errors import StoreError
from graphkb.llm.cache import Reply, ReplyCache, Request

SIZE = 8_000_000


def index(root: Path) -> subprocess.CompletedProcess[str]:
    sets = [part for option in options(None) for part in ("--set", option)]
    return subprocess.run(
        [sys.executable, "-m", "graphkb", "index", "--root", str(root), *sets],
        capture_output=True, check=False, encoding="utf-8",
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def error_of(done: subprocess.CompletedProcess[str], code: int = 1) -> str:
    """The one error line of a failed run, everything else on stderr being progress."""
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, done.stderr
    assert done.stderr.splitlines()[-1] == lines[0]
    assert "Traceback" not in done.stderr
    assert "panicked" not in done.stderr
    return lines[0]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A project whose output folder is a file system of its own of 8 MB."""
    root = tmp_path / "kb"
    output = root / "output"
    output.mkdir(parents=True)
    command = ["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", str(output)]
    if sys.platform != "linux" or os.geteuid() != 0 or not shutil.which("mount"):
        pytest.skip("a file system of a given size can only be mounted by root on Linux")
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this machine does not let root mount a tmpfs")
    try:
        yield root
    finally:
        subprocess.run(["umount", "-l", str(output)], check=True)


def fill(folder: Path, free: int) -> Path:
    """A file that leaves ``free`` bytes."""
    filler = folder / "filler"
    status = os.statvfs(folder)
    filler.write_bytes(b"\0" * max(status.f_bavail * status.f_frsize - free, 0))
    return filler


def finishes_as_if_nothing_had_been(root: Path) -> None:
    expected = root.parent / "expected"
    shutil.rmtree(expected, ignore_errors=True)
    shutil.copytree(root / "input", expected / "input")
    assert differences(indexed(root), indexed(expected)) == []


@pytest.mark.parametrize("free", [0, 60_000, 250_000])
def test_a_full_disk_is_one_line_and_the_next_run_finishes(small_disk: Path, free: int) -> None:
    write_input(small_disk, 0)
    before = indexed(small_disk)
    write_input(small_disk, 1)
    filler = fill(small_disk / "output", free)
    error = error_of(index(small_disk))
    assert str(small_disk / "output") in error
    assert "space" in error.lower()
    after = committed(small_disk)
    assert broken(after) == []
    assert differences(after, before) == []
    assert graphkb.open(small_disk, options(None)).search("Ada Lin 陈明")
    filler.unlink()
    finishes_as_if_nothing_had_been(small_disk)


def test_a_disk_that_is_full_at_the_first_run(small_disk: Path) -> None:
    write_input(small_disk, 0)
    filler = fill(small_disk / "output", 100_000)
    assert "space" in error_of(index(small_disk)).lower()
    assert not (small_disk / "output" / "manifest.json").exists()
    filler.unlink()
    finishes_as_if_nothing_had_been(small_disk)


def test_a_read_only_output_folder(small_disk: Path) -> None:
    write_input(small_disk, 0)
    before = indexed(small_disk)
    write_input(small_disk, 1)
    output = str(small_disk / "output")
    subprocess.run(["mount", "-o", "remount,ro", output], check=True)
    error = error_of(index(small_disk))
    assert output in error
    assert "Read-only" in error
    assert differences(committed(small_disk), before) == []
    assert graphkb.open(small_disk, options(None)).search("Ada Lin 陈明")
    subprocess.run(["mount", "-o", "remount,rw", output], check=True)
    finishes_as_if_nothing_had_been(small_disk)


def test_a_full_disk_below_the_vector_cache_says_so(small_disk: Path) -> None:
    folder = small_disk / "output"
    cache = VectorCache(folder)
    filler = fill(folder, 0)
    keys = [str(number) for number in range(400)]
    vectors = np.ones((400, 384), dtype=np.float32)
    with pytest.raises(StoreError, match=r"vectors\.sqlite.*full.*check space"):
        cache.put(keys, vectors)
    filler.unlink()
    cache.put(keys, vectors)
    assert len(cache.get(keys)) == 400
    cache.close()


def test_a_full_disk_below_the_reply_cache_costs_no_paid_reply(small_disk: Path) -> None:
    folder = small_disk / "output"
    request = Request("http://h/v1", "m", (("user", "谁？ Who?"),), {})
    filler = fill(folder, 0)
    with pytest.raises(StoreError, match=r"llm\.sqlite.*; free disk space, then run again$"):
        ReplyCache(folder)
    filler.unlink()
    cache = ReplyCache(folder)
    cache.put(request, Reply("陈明", "stop", 1, 1))
    cache.close()
    filler = fill(folder, 0)
    with pytest.raises(StoreError, match=r"llm\.sqlite.*; free disk space, then run again$"):
        ReplyCache(folder)
    filler.unlink()
    cache = ReplyCache(folder)
    kept = cache.get(request)
    assert kept is not None
    assert kept.text == "陈明"
    cache.close()


def test_n17_an_output_that_is_a_file_and_inputs_that_are_not_there(tmp_path: Path) -> None:
    write_input(tmp_path, 0)
    (tmp_path / "settings.yaml").write_text("", "utf-8")  # a project also without its input
    (tmp_path / "output").write_text("mine", "utf-8")
    assert str(tmp_path / "output") in error_of(index(tmp_path))
    assert (tmp_path / "output").read_text("utf-8") == "mine"
    (tmp_path / "output").unlink()
    shutil.rmtree(tmp_path / "input")
    missing = error_of(index(tmp_path), 2)
    assert str(tmp_path / "input") in missing
    (tmp_path / "input").mkdir()
    assert "no documents found" in error_of(index(tmp_path))
    (tmp_path / "input").rmdir()
    (tmp_path / "input").write_text("one document", "utf-8")
    assert str(tmp_path / "input") in error_of(index(tmp_path), 2)
    assert not (tmp_path / "output" / "manifest.json").exists()


def test_n17_an_input_folder_that_goes_away_leaves_the_last_version(tmp_path: Path) -> None:
    write_input(tmp_path, 0)
    before = indexed(tmp_path)
    (tmp_path / "input").rename(tmp_path / "elsewhere")
    assert str(tmp_path / "input") in error_of(index(tmp_path), 2)
    assert differences(committed(tmp_path), before) == []
