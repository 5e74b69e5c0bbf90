"""What the model of this process is asked right now, for whoever shows a run."""

from __future__ import annotations

import re
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count

_LONGEST = 60
# The first line of the first block of data in a prompt.
_DATA = re.compile(r"^<([a-z_]+)>\n\s*(\S[^\n]*)", re.MULTILINE)


@dataclass(frozen=True)
class Waiting:
    """The call that waits the longest: for how many seconds, for which step, about what (a title
    and headings, or the beginning of a text), and how many calls there are."""

    seconds: float
    step: str
    about: str
    n: int


class InFlight:
    """The calls that were sent and are not answered yet; safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._numbers = count()
        self._calls: dict[int, tuple[float, str, str]] = {}
        self._begun: Counter[str] = Counter()

    @contextmanager
    def call(self, step: str, prompt: str) -> Iterator[None]:
        """One call is in flight."""
        number = next(self._numbers)
        with self._lock:
            self._calls[number] = time.monotonic(), step, prompt
            self._begun[step] += 1
        try:
            yield
        finally:
            with self._lock:
                del self._calls[number]

    def begun(self, step: str) -> int:
        """How many calls of a step were sent until now."""
        return self._begun[step]

    def waits(self, step: str) -> bool:
        """Whether a call of a step is in flight."""
        with self._lock:
            return any(one == step for _, one, _ in self._calls.values())

    def oldest(self) -> Waiting | None:
        """The call that waits the longest; None where none is in flight."""
        with self._lock:
            n = len(self._calls)
            first = self._calls[min(self._calls)] if n else None
        if first is None:
            return None
        started, step, prompt = first
        return Waiting(time.monotonic() - started, step, about(prompt), n)


def about(prompt: str) -> str:
    r"""What a prompt is about, as it is shown.

    >>> about("Read this.\n<document>\nHandbook › Leave\n\nTen days.\n</document>")
    'Handbook › Leave'
    """
    found = _DATA.search(prompt)
    line = " ".join((found.group(2) if found else prompt.strip().partition("\n")[0]).split())
    return line if len(line) <= _LONGEST else f"{line[: _LONGEST - 1]}…"


IN_FLIGHT = InFlight()
"""The calls of this process."""
