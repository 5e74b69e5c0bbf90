"""How a long run shows itself on stderr: bars on a terminal, plain lines elsewhere."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Iterator
from typing import Protocol

import click

_SECONDS_BETWEEN_LINES = 30.0


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
        yield lines
        lines.close()
        return
    with _bars() as display:
        yield display


class ProgressLines:
    """A line at a stage's start and end, and every half minute in between."""

    def __init__(self) -> None:
        self._stage = self._ended = ""
        self._done = self._total = 0
        self._started = self._said = 0.0

    def __call__(self, stage: str, done: int, total: int) -> None:
        if stage == self._ended and done >= total:
            return
        now = time.monotonic()
        if stage != self._stage:
            self.close()
            self._stage, self._started, self._said = stage, now, now
            self.note(f"{stage} …")
        self._done, self._total = done, total
        if total and done >= total:
            self.close()
        elif now - self._said > _SECONDS_BETWEEN_LINES:
            self._said = now
            self.note(f"{stage}: {_count(done, total)} ({_rate(done, now - self._started)})")

    def note(self, text: str) -> None:
        click.echo(text, err=True)

    def close(self) -> None:
        """The end line of the running stage."""
        if self._stage:
            seconds = time.monotonic() - self._started
            work = f"{_count(self._done, self._total)} in " if self._done else ""
            rate = f" ({_rate(self._done, seconds)})" if self._done else ""
            self.note(f"{self._stage}: {work}{seconds:.1f} s{rate}")
            self._ended, self._stage = self._stage, ""


def _count(done: int, total: int) -> str:
    return f"{done}/{total}" if total and done < total else str(done)


def _rate(done: int, seconds: float) -> str:
    return f"{done / seconds:.0f}/s" if seconds > 0 else "-/s"


@contextlib.contextmanager
def _bars() -> Iterator[ProgressDisplay]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskID,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    bars = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[work]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
    )

    class Bars:
        def __init__(self) -> None:
            self._tasks: dict[str, tuple[TaskID, float]] = {}
            self._last = ""

        def __call__(self, stage: str, done: int, total: int) -> None:
            if stage != self._last:
                self.finish()
                self._last = stage
            if stage not in self._tasks:
                task = bars.add_task(stage, total=None, work="")
                self._tasks[stage] = task, time.monotonic()
            task, started = self._tasks[stage]
            count = f"{done}/{total}" if total else str(done)
            work = f"{count}  {_rate(done, time.monotonic() - started)}" if done or total else ""
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
