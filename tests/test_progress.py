from __future__ import annotations

import os
import pty
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from graphkb import progress
from graphkb.llm.in_flight import IN_FLIGHT
from graphkb.pace import Pace
from graphkb.progress import ProgressLines, shown_progress, shown_wait

REPOSITORY = Path(__file__).parents[1]


def on_terminal(*arguments: str, stream: str = "stderr") -> str:
    """What a Python run shows on a terminal of 100 columns when ``stream`` is one."""
    leader, follower = pty.openpty()
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "COLUMNS": "100", "TERM": "xterm"}
    environment.pop("NO_COLOR", None)
    other = "stdout" if stream == "stderr" else "stderr"
    process = subprocess.Popen(
        [sys.executable, *arguments],
        env=environment,
        **{stream: follower, other: subprocess.DEVNULL},
    )
    os.close(follower)
    shown = b""
    try:
        while chunk := os.read(leader, 65536):
            shown += chunk
    except OSError:  # how Linux says that the other end is closed
        pass
    os.close(leader)
    assert process.wait(timeout=60) == 0
    return shown.decode("utf8")


BARS = """
import time
from graphkb.progress import shown_progress
with shown_progress() as progress:
    for done in range(1, 401):
        progress("chunk", done, 400)
        time.sleep(0.001)
    progress.note("searchable: [bold]version 1[/bold]")
    progress("读取", 7, 0)
    progress("communities", 0, 0)
"""


def test_bars_with_counts_and_rates_on_a_terminal():
    shown = on_terminal("-c", BARS)
    assert "400/400" in shown
    assert "/s" in shown
    assert "searchable: [bold]version 1[/bold]" in shown
    assert "读取" in shown
    assert "7  " in shown
    assert "communities" in shown


def test_a_line_at_start_and_end_elsewhere(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    clock = iter(range(1000))
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with shown_progress() as display:
        for done in range(6):
            display("读取", done, 5)
        display("读取", 5, 5)
        display("communities", 0, 0)
        display("embed", 2, 9)
    assert capsys.readouterr() == ("", (
        "读取 …\n"
        "读取: 5 in 6.0 s (50/min)\n"
        "communities …\n"
        "communities: 2.0 s\n"
        "embed …\n"
        "embed: 2/9 in 2.0 s\n"
    ))  # fmt: skip


def test_long_stages_speak_every_half_minute(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    clock = iter([0, 10, 40, 50, 80, 100])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    display = ProgressLines()
    for done in (0, 10, 40, 50, 80):
        display("embed", done, 800)
    display.close()
    assert capsys.readouterr().err.splitlines() == [
        "embed …",
        "embed: 40/800 (1/s), about 13 min left",
        "embed: 80/800 (1/s), about 12 min left",
        "embed: 80/800 in 100.0 s (48/min)",
    ]


PROMPT = "Read.\n<document>\n手册 › Leave\n\nTen days.\n</document>"


def test_within_a_slow_unit_a_line_names_it(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    clock = iter([0, 5, 10, 135, 135])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    display = ProgressLines()
    display("extract", 3, 20)
    with IN_FLIGHT.call("extract", PROMPT), IN_FLIGHT.call("extract", "other"):
        display.still()
    assert capsys.readouterr().err.splitlines() == [
        "extract …",
        "extract: 3/20 calls, 2 min 15 s so far; the model has been on “手册 › Leave” and 1 more "
        "for 2 min 10 s",
    ]


def test_calls_of_a_slow_model_are_counted_and_the_time_that_is_left_is_told(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    display = ProgressLines()
    for stage, step in (("extract", "extract"), ("reports", "report")):
        display(stage, 0, 400)
        # Replies that were kept come at once and say nothing of how fast the model is.
        display(stage, 100, 400)
        for done in range(101, 131):
            now += 10
            with IN_FLIGHT.call(step, PROMPT):
                display(stage, done, 400)
        with IN_FLIGHT.call(step, PROMPT):
            display.still()
    lines = [line for line in capsys.readouterr().err.splitlines() if "30/" in line]
    assert lines[-1] == (
        "reports: 130/400 calls, 5 min 0 s so far, about 45 min left; "
        "the model has been on “手册 › Leave” for 0 s"
    )
    assert any(line.startswith("extract: 130/400 calls, 5 min 0 s so far, about 45 min left")
               for line in lines)  # fmt: skip


def test_what_was_known_before_says_nothing_of_how_fast_files_are_read(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    now = 0.0
    monkeypatch.setattr(progress.time, "monotonic", lambda: now)
    display = ProgressLines()
    for done in range(2990, 3001):
        now += 6
        display("read", done, 3000)
    display("reports", 3000, 3000)
    display("读取", 0, 3)
    display("读取", 3, 3)
    lines = capsys.readouterr().err.splitlines()
    assert "read: 2996/3000 (10/min), about 25 s left" in lines
    assert "read: 10 of 3000 in 60.0 s (10/min)" in lines
    assert "reports: 0 of 3000 in 0.0 s" in lines
    assert lines[-1] == "读取: 3 in 0.0 s"


def test_the_time_left_is_not_told_by_small_files_that_came_before_large_ones():
    pace = Pace("read", 0.0)
    for done in range(0, 10_000, 100):
        pace.reach(done, 10_500, done / 5000)
    assert pace.left(2.0) == ", about 5 s left"
    assert pace.left(30.0) == ""
    for done in range(10_000, 10_010):
        pace.reach(done, 10_500, 30 + 6.0 * (done - 10_000))
    assert pace.left(90.0) == ", about 53 min left"


def test_the_time_left_of_a_very_slow_model_is_told():
    pace = Pace("extract", 0.0)
    for done in range(6):
        pace.reach(done, 10, 90.0 * done)
    assert pace.left(450.0) == ", about 8 min left"


def test_a_stage_that_begins_anew_counts_anew():
    pace = Pace("embed", 0.0)
    for done, now in ((0, 0.0), (50, 5.0), (0, 6.0), (10, 16.0)):
        pace.reach(done, 100, now)
    assert (pace.count, pace.speed(16.0)) == ("10/100", "1/s")


def test_offline_stages_count_no_calls(capsys: pytest.CaptureFixture[str]):
    with IN_FLIGHT.call("extract", PROMPT):
        pass
    display = ProgressLines()
    for done in range(5):
        display("extract", done, 4)
    assert "calls" not in capsys.readouterr().err


def test_the_lines_come_by_themselves(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.02)
    said = threading.Event()
    with shown_progress() as display:
        display("graph", 0, 0)
        monkeypatch.setattr(display, "note", lambda text: (shown.append(text), said.set()))
        shown: list[str] = []
        assert said.wait(20)
    assert shown[0] == "graph: 0 s so far"


ASKED = """
import time
from graphkb import progress
from graphkb.llm.in_flight import IN_FLIGHT
progress._SECONDS_UNSAID = 0.0
with progress.shown_progress() as display, IN_FLIGHT.call("extract", "手册 › Leave"):
    display("extract", 1, 4)
    time.sleep(1.2)
"""


def test_the_unit_that_is_asked_stands_beside_the_bar():
    assert "1 s: 手册 › Leave" in on_terminal("-c", ASKED)


WAITED = """
import time
from graphkb import progress
from graphkb.llm.in_flight import IN_FLIGHT
progress._SECONDS_UNSAID = 0.2
with progress.shown_wait("query"):
    pass
with progress.shown_wait("query") as end, IN_FLIGHT.call("answer", "手册 › Leave"):
    time.sleep(1.2)
    end()
    import sys; print("first piece", file=sys.stderr)
    time.sleep(0.6)
"""


def test_a_wait_is_told_on_a_terminal_and_goes_away():
    shown, after = on_terminal("-c", WAITED).split("first piece")
    assert "answer: 1 s so far; the model has been on “手册 › Leave” for 1 s" in shown
    assert "\x1b[2K" in shown, "the line is wiped"
    assert "so far" not in after


def test_a_short_wait_says_nothing(capsys: pytest.CaptureFixture[str]):
    with shown_wait("query"):
        pass
    assert capsys.readouterr() == ("", "")


def test_hits_are_highlighted_and_tables_drawn_on_a_terminal():
    code = (
        "from graphkb import terminal\n"
        "from graphkb.types import Hit\n"
        "from graphkb.view.terminal import hit_lines\n"
        "import click\n"
        "hit = Hit(1, 1.0, 'u', 'd', '标题', 'a.md', '', None, 0, 9, '陈明在青石公司', {})\n"
        "click.echo(chr(10).join(hit_lines(hit, '陈明', terminal.bold, terminal.dim)))\n"
        "import polars as pl\n"
        "from graphkb.view.tables import draw\n"
        "draw(pl.DataFrame({'title': ['[red]甲[/red]' + '字' * 99]}), 3)\n"
    )
    shown = on_terminal("-c", code, stream="stdout")
    assert "\x1b[1m陈明\x1b[0m在青石公司" in shown
    assert "[red]甲[/red]" in shown
    assert "字…" in shown
    assert "1 of 3 rows" in shown
