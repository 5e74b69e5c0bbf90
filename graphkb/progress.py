"""How a long run shows itself on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

import click

from graphkb.llm.in_flight import IN_FLIGHT, Waiting
from graphkb.pace import Pace, duration

_SECONDS_BETWEEN_LINES = 30.0
# How often in that time it is looked whether anything was said.
_LOOKS = 10
_SECONDS_LOOKED_BACK = 300.0
# A call that takes no longer is not named beside its bar.
_SECONDS_UNSAID = 3.0


class ProgressDisplay(Protocol):
    """A :data:`graphkb.types.Progress` that can also print a line in between."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...

    def note(self, text: str) -> None:
        """One line that stays."""
        ...


@contextlib.contextmanager
def shown_progress() -> Iterator[ProgressDisplay]:
    """A bar with counts and rates when stderr is a terminal, plain lines otherwise."""
    if not sys.stderr.isatty():
        lines = ProgressLines()
        try:
            yield lines
            lines.close()
        finally:
            lines.end()
        return
    with _bars() as display:
        yield display


@contextlib.contextmanager
def shown_wait(what: str) -> Iterator[Callable[[], None]]:
    """Says on stderr how long ``what`` takes and what the model is asked: after some seconds in a
    line that goes away on a terminal, every half minute in plain lines elsewhere.

    What it yields ends that early, for who prints before the end of the block.
    """
    over = threading.Event()
    show = _wait_beside if sys.stderr.isatty() else _wait_lines
    watch = threading.Thread(target=show, args=(what, over), daemon=True)
    watch.start()

    def end() -> None:
        over.set()
        watch.join()

    try:
        yield end
    finally:
        end()


def _wait_lines(what: str, over: threading.Event) -> None:
    started = time.monotonic()
    while not over.wait(_SECONDS_BETWEEN_LINES):
        click.echo(_so_far(what, time.monotonic() - started), err=True)


def _wait_beside(what: str, over: threading.Event) -> None:
    started = time.monotonic()
    if over.wait(_SECONDS_UNSAID):
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    console = Console(stderr=True)
    with Live(console=console, transient=True, auto_refresh=False, redirect_stdout=False) as live:
        while True:
            text = _so_far(what, time.monotonic() - started)
            live.update(Text(text, style="dim", no_wrap=True, overflow="ellipsis"), refresh=True)
            if over.wait(0.5):
                return


def _so_far(what: str, seconds: float) -> str:
    """The step of the call that waits the longest (else ``what``), and for how long."""
    waiting = IN_FLIGHT.oldest()
    asked = f"; {_asked(waiting)}" if waiting else ""
    return f"{waiting.step if waiting else what}: {duration(seconds)} so far{asked}"


class ProgressLines:
    """A line at a stage's start and end, and every half minute in between, with the time that is
    left, also while nothing is done: then with what the model is asked."""

    def __init__(self) -> None:
        self._stage = self._ended = ""
        self._lines = 0
        self._pace, self._said = Pace("", 0.0), 0.0
        self._over = threading.Event()
        self._watch: threading.Thread | None = None

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == self._ended and done >= total:
            return
        now = time.monotonic()
        if stage != self._stage:
            self.close()
            self._stage, self._pace, self._said = stage, Pace(stage, now), now
            self.note(f"{stage} …")
            self._start_watch()
        pace = self._pace
        pace.reach(done, total, now)
        if total and done >= total:
            self.close()
        elif now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            self.note(f"{stage}: {pace.count}{_in_brackets(pace.speed(now))}{pace.left(now)}")

    def note(self, text: str) -> None:
        self._lines += 1
        click.echo(text, err=True)

    def _start_watch(self) -> None:
        if self._watch is None:
            self._watch = threading.Thread(target=self._watched, daemon=True)
            self._watch.start()

    def _watched(self) -> None:
        said = quiet = 0
        while not self._over.wait(_SECONDS_BETWEEN_LINES / _LOOKS):
            quiet = quiet + 1 if said == self._lines else 0
            if quiet >= _LOOKS and self._stage:
                self.still()
                quiet = 0
            said = self._lines

    def still(self) -> None:
        """A line that says how long the running stage takes, and what the model is asked."""
        pace, now = self._pace, time.monotonic()
        count = f"{pace.count}, " if pace.total else ""
        asked = f"; {_asked(waiting)}" if (waiting := IN_FLIGHT.oldest()) else ""
        so_far = f"{duration(now - pace.started)} so far{pace.left(now)}"
        self.note(f"{self._stage}: {count}{so_far}{asked}")

    def end(self) -> None:
        """Nothing is shown from now on."""
        self._over.set()

    def close(self) -> None:
        """The end line of the running stage."""
        if self._stage:
            pace = self._pace
            now = time.monotonic()
            work = f"{pace.work} in " if pace.done else ""
            speed = _in_brackets(pace.speed(now))
            self.note(f"{self._stage}: {work}{now - pace.started:.1f} s{speed}")
            self._ended, self._stage = self._stage, ""


def _in_brackets(speed: str) -> str:
    return f" ({speed})" if speed else ""


def _asked(waiting: Waiting) -> str:
    """What the model is asked, and for how long."""
    others = f" and {waiting.n - 1} more" if waiting.n > 1 else ""
    return f"the model has been on “{waiting.about}”{others} for {duration(waiting.seconds)}"


@contextlib.contextmanager
def _bars() -> Iterator[ProgressDisplay]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        ProgressColumn,
        Task,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )
    from rich.table import Column
    from rich.text import Text

    class AskedColumn(ProgressColumn):
        """What the model is asked, beside the stage that runs."""

        # Rich keeps what a column showed for a while; the seconds go on.
        max_refresh = 0.5

        def render(self, task: Task) -> Text:
            waiting = IN_FLIGHT.oldest()
            if task.finished or waiting is None or waiting.seconds < _SECONDS_UNSAID:
                return Text("")
            return Text(f"{duration(waiting.seconds)}: {waiting.about}", style="dim")

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[work]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        AskedColumn(table_column=Column(no_wrap=True, overflow="ellipsis", ratio=1)),
        console=Console(stderr=True),
        # A call may take a minute; by default rich looks half a minute back.
        speed_estimate_period=_SECONDS_LOOKED_BACK,
    )

    class Bars:
        def __init__(self) -> None:
            self._tasks: dict[str, tuple[TaskID, Pace]] = {}
            self._last = ""

        def __call__(self, stage: str, done: int, total: int) -> None:
            if stage != self._last:
                self.finish()
                self._last = stage
            if stage not in self._tasks:
                task = bars.add_task(stage, total=None, work="")
                self._tasks[stage] = task, Pace(stage, time.monotonic())
            (task, pace), now = self._tasks[stage], time.monotonic()
            pace.reach(done, total, now)
            count = f"{done}/{total}" if total else str(done)
            work = f"{count}{pace.unit}  {pace.speed(now)}" if done or total else ""
            bars.update(task, completed=done, total=total or None, work=work)

        def finish(self) -> None:
            """A stage that never knew its total is done when the next one starts."""
            if self._last:
                task, _ = self._tasks[self._last]
                if bars.tasks[task].total is None:
                    bars.update(task, total=1, completed=1)

        def note(self, text: str) -> None:
            bars.console.print(text, markup=False, highlight=False)

    with bars:
        display = Bars()
        yield display
        display.finish()
