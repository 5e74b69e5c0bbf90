from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from graphkb.ingest.isolate import _Counted, _Pool, read_files
from graphkb.ingest.process import ReadingProcess
from graphkb.ingest.read import READERS, FileReading, SourceFile, list_files, read_file
from graphkb.settings_input import Input
from graphkb.types import no_progress

REPOSITORY = Path(__file__).parents[2]
CASES = REPOSITORY / "tests" / "data" / "cases"
CONVERTERS = """
import ctypes, os, subprocess, sys, tempfile, time

def fine(path):
    print("parsers print what they like")
    os.write(1, b"also past Python")
    return f"# Title\\n\\n{path.read_text('utf-8')}"

def hangs(path):
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    path.with_suffix(".pid").write_text(str(os.getpid()))
    time.sleep(60)

def crashes(path):
    ctypes.string_at(0)

def leaves(path):
    path.with_suffix(".tmp").write_text(tempfile.mkdtemp())
    os._exit(3)

def explodes(path):
    held = []
    while True:
        held.append(bytearray(os.urandom(1_000_000)) * 20)

def recurses(path):
    return recurses(path)

def nonsense(path):
    for number in range(3, 20):
        try:
            os.write(number, b"\\xff" * 4096)
        except OSError:
            pass
    time.sleep(30)

kept = []
def keeps(path):
    kept.append(bytearray(b"x") * 200_000_000)
    return "kept"

def pages(path):
    from graphkb.ingest.records import report_page
    for number in range(12):
        time.sleep(0.4)
        report_page(number + 1, 12)
    return "all 页"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    code = tmp_path / "code"
    code.mkdir()
    (code / "odd_converters.py").write_text(CONVERTERS, "utf-8")
    monkeypatch.syspath_prepend(str(code))
    folder = tmp_path / "input"
    folder.mkdir()
    return folder


def options(**more: object) -> Input:
    names = ("fine", "hangs", "crashes", "leaves", "explodes", "recurses")
    converters = {f".{name}": f"odd_converters:{name}" for name in names}
    return Input(**{"converters": converters, "max_memory_mb": 400, **more})


def is_running(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state not in "ZX"


def wait_until(true, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not happen in time"
        time.sleep(0.02)


def test_a_file_that_breaks_its_parser_costs_only_itself(folder):
    for name in ("crashes", "explodes", "leaves", "recurses", "hangs"):
        (folder / f"b.{name}").write_text("x")
    for name in ("a.fine", "c.fine"):
        (folder / name).write_text(f"水表 and {name}", "utf-8")
    (folder / "plain.txt").write_text("plain", "utf-8")
    files = list_files(folder, Input())
    shown: list[tuple[str, int, int]] = []
    readings = read_files(files, options(max_seconds=3), lambda *step: shown.append(step), done=2)
    by_path = {file.path: reading for file, reading in zip(files, readings, strict=True)}
    texts = {path: reading.records[0].text for path, reading in by_path.items() if reading.records}
    assert texts["a.fine"] == "# Title\n\n水表 and a.fine"
    assert texts["plain.txt"] == "plain"
    assert set(texts) == {"a.fine", "c.fine", "plain.txt"}
    reasons = {
        path: reading.refused[0].reason for path, reading in by_path.items() if reading.refused
    }
    assert "crash (SIGSEGV)" in reasons["b.crashes"]
    assert "crash (exit code 3)" in reasons["b.leaves"]
    assert not Path((folder / "b.tmp").read_text()).exists()
    assert "400 MB of memory to read (input.max_memory_mb)" in reasons["b.explodes"]
    assert "s (input.max_seconds)" in reasons["b.hangs"]
    assert "odd_converters:recurses" in reasons["b.recurses"]
    assert {path for path, reading in by_path.items() if reading.given_up} == {
        "b.crashes", "b.leaves", "b.explodes", "b.hangs",
    }  # fmt: skip
    assert [step for step in shown if step[0] == "read"] == [
        ("read", 2 + done, 10) for done in range(9)
    ]
    wait_until(lambda: not is_running(int((folder / "b.pid").read_text())))


def test_workers_read_what_this_process_would(folder):
    names = ["html/noise.html", "docx_textbox.docx", "office/empty.docx", "pdf_corrupt.pdf"]
    for number, name in enumerate(names):
        source = CASES / name
        (folder / f"{number}{source.suffix}").write_bytes(source.read_bytes())
    (folder / "named.txt").write_bytes((CASES / "docx_textbox.docx").read_bytes())
    (folder / "网页.html").write_text("<title>水表</title><p>安装 &amp; 检定</p>", "utf-8")
    (folder / "deep.html").write_text("<div>" * 30_000 + "deep 深" + "</div>" * 30_000, "utf-8")
    files = list_files(folder, Input())
    assert read_files(files, Input()) == [read_file(file, Input()) for file in files]


def test_a_worker_that_talks_nonsense_is_ended(folder):
    (folder / "a.nonsense").write_text("x")
    (folder / "b.fine").write_text("x")
    (reading, fine) = read_files(
        list_files(folder, Input()),
        options(converters={name: f"odd_converters:{name[1:]}" for name in (".nonsense", ".fine")}),
    )
    assert "crash (damaged memory)" in reading.refused[0].reason
    assert fine.records


def test_memory_that_a_parser_keeps_does_not_count_against_the_next_file(folder):
    for number in range(6):
        (folder / f"{number}.keeps").write_text("x")
    readings = read_files(
        list_files(folder, Input()), options(converters={".keeps": "odd_converters:keeps"})
    )
    assert [reading.refused for reading in readings] == [()] * 6


def test_limits_on_the_size_of_files_hold_for_every_format(folder):
    for suffix in (".docx", ".pdf", ".txt", ".html", ".zip"):
        (folder / f"a{suffix}").write_bytes(b"PK\x03\x04" + bytes(2_000_000))
    readings = read_files(list_files(folder, Input()), Input(max_file_mb=1))
    assert all("input.max_file_mb (1)" in reading.refused[0].reason for reading in readings)
    assert not any(reading.given_up for reading in readings)


def test_text_starts_no_process(folder, monkeypatch):
    monkeypatch.setattr(ReadingProcess, "start", lambda self: pytest.fail("a process was started"))
    (folder / "a.txt").write_text("a", "utf-8")
    (folder / "b.jsonl").write_text('{"text": "b"}', "utf-8")
    (folder / "c.csv").write_text("title,text\nc,文\n", "utf-8")
    (folder / "d.xyz").write_bytes(b"\x00\x01\x02" * 100)
    readings = read_files(list_files(folder, Input()), Input())
    assert [len(reading.records) for reading in readings] == [1, 1, 1, 0]


def test_without_processes_files_are_read_here_and_it_is_said_once(folder, monkeypatch):
    monkeypatch.setattr(sys, "executable", str(folder / "no python"))
    for name in ("a", "b"):
        (folder / f"{name}.html").write_text(f"<p>{name} 文</p>", "utf-8")
    readings = read_files(list_files(folder, Input()), Input())
    assert [reading.records[0].text for reading in readings] == ["a 文", "b 文"]
    (note,) = [note for reading in readings for note in reading.notes]
    assert "no process can be started" in note
    assert "without limits" in note


@pytest.mark.parametrize(
    ("error", "said"),
    [(RuntimeError("坏 bad"), "RuntimeError: 坏 bad"), (RecursionError(), "nested too deeply")],
)
def test_without_processes_a_parser_that_fails_still_costs_only_its_file(
    folder, monkeypatch, error, said
):
    def fails(source: SourceFile, data: bytes, options: Input) -> FileReading:
        raise error

    monkeypatch.setattr(sys, "executable", str(folder / "no python"))
    monkeypatch.setitem(READERS, ".html", fails)
    for name in ("a.html", "b.htm"):
        (folder / name).write_text("<p>b 文</p>", "utf-8")
    bad, fine = read_files(list_files(folder, Input()), Input())
    assert said in bad.refused[0].reason
    assert "its parser failed" in bad.refused[0].reason
    assert fine.records[0].text == "b 文"


def test_an_interruption_does_not_wait_for_workers_that_have_nothing_to_do():
    started = time.monotonic()
    with _Pool([], Input(), _Counted(no_progress, 0, 0)) as pool:
        pool.processes.append(ReadingProcess(Input(), pool._serve))
        pool.processes[0].start()
    assert time.monotonic() - started < 2.5


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_no_worker_outlives_an_interrupted_or_killed_run(folder, how):
    (folder / "b.hangs").write_text("x")
    # No ``if __name__ == "__main__"``: a worker must not run the script again.
    script = folder.parent / "script.py"
    script.write_text(
        "from pathlib import Path; from graphkb.ingest.isolate import read_files\n"
        "from graphkb.ingest.read import list_files; from graphkb.settings_input import Input\n"
        f"options = Input(converters={{'.hangs': 'odd_converters:hangs'}})\n"
        f"read_files(list_files(Path({str(folder)!r}), options), options)\n",
        "utf-8",
    )
    paths = os.pathsep.join([str(REPOSITORY), str(folder.parent / "code")])
    run = subprocess.Popen(
        [sys.executable, str(script)],
        env={**os.environ, "PYTHONPATH": paths},
        stderr=subprocess.PIPE,
    )
    started = folder / "b.pid"
    wait_until(lambda: started.exists() and started.read_text())
    os.kill(run.pid, how)
    _, said = run.communicate(timeout=20)
    assert run.returncode != 0
    assert (b"KeyboardInterrupt" in said) == (how == signal.SIGINT)
    wait_until(lambda: not is_running(int(started.read_text())))


def test_it_works_inside_a_running_event_loop_and_a_thread(folder):
    (folder / "a.html").write_text("<p>loop 循环</p>", "utf-8")
    files = list_files(folder, Input())

    async def read() -> str:
        return read_files(files, Input())[0].records[0].text

    assert asyncio.run(read()) == "loop 循环"
    found: list[str] = []
    thread = threading.Thread(
        target=lambda: found.append(read_files(files, Input())[0].records[0].text)
    )
    thread.start()
    thread.join(60)
    assert found == ["loop 循环"]


def test_no_document_reaches_the_network():
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        code = (
            "import sys, socket, urllib.request\n"
            "from graphkb.ingest.worker import _refuse_network\n"
            "sys.addaudithook(_refuse_network)\n"
            f"for call in (lambda: socket.create_connection(('127.0.0.1', "
            f"{server.getsockname()[1]})),\n"
            "             lambda: urllib.request.urlopen('http://example.invalid/')):\n"
            "    try: call()\n"
            "    except OSError as error: print(error)\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.count("no network while files are read") == 2, done.stderr


def test_the_time_limit_starts_anew_with_every_page(folder):
    (folder / "a.pages").write_text("x")
    shown: list[tuple[str, int, int]] = []
    started = time.monotonic()
    readings = read_files(
        list_files(folder, Input()),
        options(converters={".pages": "odd_converters:pages"}, max_seconds=2),
        lambda *step: shown.append(step),
    )
    assert time.monotonic() - started > 4.5
    assert readings[0].records[0].text == "all 页"
    assert ("read a.pages", 9, 12) in shown
    assert shown[-1] == ("read", 1, 1)
