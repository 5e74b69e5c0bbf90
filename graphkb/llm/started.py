"""Calls that are sent before anybody asks for their replies."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, wait

from graphkb.errors import GraphkbError
from graphkb.llm.cache import Reply
from graphkb.llm.calls import Batch

# Seconds between two looks at how many are sent.
_LOOK = 0.003


class Started:
    """Calls on their way, or answered, by the key of their request, until they are taken.

    They end together with the calls of who takes them (:meth:`batch`).
    """

    def __init__(self) -> None:
        self._batch = Batch()
        self._calls: dict[str, Future[Reply]] = {}
        self._open: set[Future[Reply]] = set()

    def __contains__(self, key: str) -> bool:
        return key in self._calls

    def batch(self) -> Batch:
        """That of the calls; a new one where there are none."""
        if not self._calls:
            self._batch = Batch()
        return self._batch

    @property
    def n_open(self) -> int:
        """Calls that have no reply yet."""
        self._open = {future for future in self._open if not future.done()}
        return len(self._open)

    def add(self, key: str, future: Future[Reply]) -> None:
        """Keep a call of :meth:`batch`."""
        self._calls[key] = future
        self._open.add(future)

    def take(self, key: str) -> Future[Reply] | None:
        """The call, which is then the caller's."""
        return self._calls.pop(key, None)

    def wait_until_sent(self, n_sent: Callable[[], int], most: int, seconds: float) -> None:
        """Until so many of them are sent, all of fewer, or one has failed before, or so long."""
        end = time.monotonic() + seconds
        wanted = min(most, len(self._calls))
        while n_sent() < wanted and time.monotonic() < end:
            if any(future.done() and future.exception() for future in self._calls.values()):
                return
            time.sleep(_LOOK)

    def finish(self, error: GraphkbError, seconds: float) -> None:
        """Send none of them any more; those on their way may end, because they are paid for."""
        left = list(self._calls.values())
        self._batch.ended = self._batch.ended or error
        wait(left, seconds)
        self.cancel()

    def cancel(self) -> None:
        """Forget all of them."""
        for future in self._calls.values():
            future.cancel()
        self._calls.clear()
        self._open.clear()
