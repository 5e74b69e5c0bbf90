"""Runs that are stopped, get in each other's way, or lose their embedding server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from faults.harness import BATCH, IN_FLIGHT, Embeddings, indexed, kill, start, write_input
from law import broken, committed

import graphkb

# From this many text units on extraction runs in processes of its own.
MANY = 1_200


@pytest.fixture
def server() -> Iterator[Embeddings]:
    server = Embeddings()
    yield server
    server.close()


def write_many(root: Path) -> None:
    folder = root / "input"
    folder.mkdir(parents=True, exist_ok=True)
    rows = [
        json.dumps({"title": f"t{n}", "text": f"Ada Lin met visitor {n} in Lisbon. 陈明来访。" * 5})
        for n in range(MANY)
    ]
    (folder / "many.jsonl").write_text("\n".join(rows), "utf-8")


def wait_for(process: subprocess.Popen[bytes], stage: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if line.decode().startswith(stage):
            return
    raise AssertionError(f"the run ended before {stage}")


def interrupt(process: subprocess.Popen[bytes]) -> str:
    """SIGINT; what the run says last. It must end within seconds, with exit code 130."""
    began = time.monotonic()
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130, stderr
    assert time.monotonic() - began < 10
    assert b"Traceback" not in stderr
    return stderr.decode().splitlines()[-1]


def processes_below(pid: int) -> list[int]:
    """Ids of a process's children (Linux)."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            status = (folder / "stat").read_text()
        except OSError:
            continue
        if int(status.rsplit(")", 1)[1].split()[1]) == pid:
            found.append(int(folder.name))
    return found


def test_n09_ctrl_c_in_extraction_and_in_embedding_keeps_what_is_done(
    tmp_path: Path, server: Embeddings
) -> None:
    write_many(tmp_path)
    process = start(tmp_path)
    wait_for(process, "extract")
    time.sleep(0.3)
    assert "the next run goes on from there" in interrupt(process)
    write_input(tmp_path, 0)
    server.delay = 0.2
    process = start(tmp_path, server)
    wait_for(process, "embed")
    deadline = time.monotonic() + 30
    while len(server.asked) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    assert "the next run goes on from there" in interrupt(process)
    assert committed(tmp_path)["text_units"].height > 0
    assert len(server.asked) >= 3
    server.delay = 0
    tables = indexed(tmp_path, server)
    assert tables["vectors"].height == tables["text_units"].height
    assert server.repeated() <= BATCH * IN_FLIGHT


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="looks for processes in /proc")
def test_a_killed_run_leaves_no_processes_behind(tmp_path: Path) -> None:
    write_many(tmp_path)
    process = start(tmp_path)
    wait_for(process, "extract")
    deadline = time.monotonic() + 30
    while len(children := processes_below(process.pid)) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    assert process.stderr is not None
    process.stderr.close()
    while any(map(_runs, children)) and time.monotonic() < deadline + 10:
        time.sleep(0.1)
    assert [child for child in children if _runs(child)] == []


def _runs(pid: int) -> bool:
    try:
        return (Path("/proc") / str(pid) / "stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def test_m07_a_second_run_stops_at_once_and_a_dead_ones_lock_is_taken_over(
    tmp_path: Path, server: Embeddings
) -> None:
    write_input(tmp_path, 0)
    # Long enough for the second to begin, however slow the machine is.
    server.delay = 3
    first = start(tmp_path, server)
    wait_for(first, "embed")
    second = start(tmp_path, server)
    _, stderr = second.communicate(timeout=60)
    assert second.returncode == 1
    lines = stderr.decode().splitlines()
    assert len(lines) == 1
    assert f"another index run is active (pid {first.pid}" in lines[0]
    server.delay = 0
    _, stderr = first.communicate(timeout=120)
    assert first.returncode == 0, stderr
    tables = committed(tmp_path)
    assert broken(tables) == []
    assert tables["vectors"].height == tables["text_units"].height
    write_input(tmp_path, 1)
    assert kill(tmp_path, server, "cut", 0)
    assert (tmp_path / "output" / "write.lock.json").exists()
    third = start(tmp_path, server)
    _, stderr = third.communicate(timeout=120)
    assert third.returncode == 0, stderr


def test_m05_an_endpoint_that_fails_leaves_the_first_commit_and_the_next_run_completes(
    tmp_path: Path, server: Embeddings
) -> None:
    write_input(tmp_path, 0)
    server.fails = True
    process = start(tmp_path, server)
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 1
    last = stderr.decode().splitlines()[-1]
    assert last.startswith("error: ")
    assert server.url in last
    assert "this model is not loaded" in last
    tables = committed(tmp_path)
    assert broken(tables) == []
    assert tables["vectors"].height == 0
    assert graphkb.open(tmp_path, ["embed.when=off"]).search("Ada Lin 陈明")
    server.fails = False
    server.asked.clear()
    tables = indexed(tmp_path, server)
    assert tables["vectors"].height == tables["text_units"].height
    assert server.repeated() == 0


@pytest.mark.parametrize("count", [1, 5, 100, 300])
def test_m03_any_number_of_vectors(tmp_path: Path, server: Embeddings, count: int) -> None:
    rows = [json.dumps({"text": f"Ada Lin met visitor {n}."}) for n in range(count)]
    (tmp_path / "input").mkdir()
    (tmp_path / "input" / "r.jsonl").write_text("\n".join(rows), "utf-8")
    tables = indexed(tmp_path, server)
    assert tables["vectors"].height == count
    os.remove(tmp_path / "input" / "r.jsonl")
    (tmp_path / "input" / "one.txt").write_text("Bo Chen.", "utf-8")
    assert indexed(tmp_path, server)["vectors"].height == 1
