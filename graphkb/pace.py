"""How fast a stage of a run goes on, and how long it will still take."""

from __future__ import annotations

from collections import deque

from graphkb.llm.in_flight import IN_FLIGHT

# Time is left to be told once so many are done, and it is told by what was done lately.
_FEW, _LATELY = 3, 120.0
# What is done in less time says nothing of how fast it is.
_NO_TIME = 0.1
# The stages that count calls, and the step that these are of.
_CALLS = {"extract": "extract", "reports": "report"}


class Pace:
    """The pace of one stage that began at ``started`` (``time.monotonic()`` seconds)."""

    def __init__(self, stage: str, started: float) -> None:
        self.started = started
        self.done = self.total = self.known = 0
        self._step = _CALLS.get(stage, "")
        self._begun = IN_FLIGHT.begun(self._step)
        # When how much was done, a second apart.
        self._seen: deque[tuple[float, int]] = deque()
        # What was done already at the first look, and at the end of the first second.
        self._first = started, 0
        self._at_once = started, 0

    def reach(self, done: int, total: int, now: float) -> None:
        """So much is done."""
        if done < self.done:
            # All is done once more.
            self._seen.clear()
        self.done, self.total = done, total
        if not self._seen:
            # Who looks first after one was done knew nothing before.
            self.known = done if done > 1 else 0
            self._first = self._at_once = now, self.known
        elif now - self._first[0] < 1:
            self._at_once = now, done
        if self._seen and now - self._seen[-1][0] < 1:
            # What is known already, as replies that were kept, is done at once.
            now = self._seen.pop()[0]
        self._seen.append((now, done))
        while len(self._seen) > 2 and now - self._seen[1][0] > _LATELY:
            if done - self._seen[1][1] < _FEW:
                break
            self._seen.popleft()

    @property
    def count(self) -> str:
        """What is done, of how much while that is not all; calls, where they are."""
        some = self.total and self.done < self.total
        return f"{self.done}/{self.total}{self.unit}" if some else f"{self.done}{self.unit}"

    @property
    def work(self) -> str:
        """What was done in this stage: what was known before is not among it.

        >>> pace = Pace("read", 0.0)
        >>> for done in (2990, 2995, 3000): pace.reach(done, 3000, 1.0)
        >>> pace.work
        '10 of 3000'
        """
        if not self.known or self.done < self.total:
            return self.count
        return f"{self.done - self.known} of {self.total}{self.unit}"

    def speed(self, now: float) -> str:
        """How fast it went, without what was known before or at once; empty where too little
        was done, or in too short a time, to tell.

        >>> pace = Pace("extract", 0.0)
        >>> for done, now in ((0, 0.0), (100, 0.2), (101, 10.2), (102, 20.2)):
        ...     pace.reach(done, 400, now)
        >>> pace.speed(20.2)
        '6/min'
        """
        since, before = self._at_once
        if self.done == before:
            since, before = self._first
        if self.done == before or now - since < _NO_TIME:
            return ""
        return rate(self.done - before, now - since)

    @property
    def unit(self) -> str:
        """`` calls`` where the stage asks a model, else nothing."""
        asks = IN_FLIGHT.begun(self._step) > self._begun or IN_FLIGHT.waits(self._step)
        return " calls" if self._step and asks else ""

    def left(self, now: float) -> str:
        """``, about 6 min left``, or nothing where that cannot be told yet.

        >>> pace = Pace("embed", 0.0)
        >>> for done in range(0, 40, 4): pace.reach(done, 100, done / 2)
        >>> pace.left(20.0)
        ', about 35 s left'
        """
        if not self._seen or self.done >= self.total:
            return ""
        since, before = self._seen[0]
        done = self.done - before
        if done < _FEW or now <= since:
            return ""
        half = (now - since) / 2
        late = self.done - max(n for at, n in self._seen if at <= now - half)
        if late < done / 4 and half > 5:
            # As where many small files come before a few large ones.
            if late < _FEW:
                return ""
            since, done = now - half, late
        return f", about {rounded((self.total - self.done) * (now - since) / done)} left"


def rate(done: int, seconds: float) -> str:
    """
    >>> rate(300, 2.0), rate(1, 4.0), rate(1, 240.0), rate(1, 0.0)
    ('150/s', '15/min', '15/h', '-/s')
    """
    if seconds <= 0:
        return "-/s"
    for size, unit in ((1.0, "s"), (60.0, "min")):
        if done / seconds * size >= 1:
            return f"{done / seconds * size:.0f}/{unit}"
    return f"{done / seconds * 3600:.0f}/h"


def duration(seconds: float) -> str:
    """
    >>> duration(42.4), duration(131), duration(7261)
    ('42 s', '2 min 11 s', '2 h 1 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    minutes, rest = divmod(whole, 60)
    return f"{minutes} min {rest} s" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def rounded(seconds: float) -> str:
    """A time that is only guessed.

    >>> rounded(3), rounded(63), rounded(400), rounded(7261)
    ('5 s', '65 s', '7 min', '2 h 1 min')
    """
    if seconds < 90:
        return f"{max(5, 5 * round(seconds / 5))} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"
