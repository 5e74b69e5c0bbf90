"""One event loop on a background thread, shared by everything in the process that asks a model.

Callers stay synchronous, may be several threads, and may themselves run inside an event loop
(a notebook, a web server), because their loop is never used.
"""

from __future__ import annotations

import asyncio
import atexit
import os
import queue
import sys
import threading
from collections.abc import AsyncGenerator, Coroutine
from concurrent.futures import Future
from typing import Any, Protocol, TypeVar
from weakref import finalize

T = TypeVar("T")

_STOP_SECONDS = 2.0
_INTERRUPT_SECONDS = 0.2
_FINALIZE_SECONDS = 0.5


class Closing(Protocol):
    """What has connections on the loop. Closing it twice does no harm."""

    async def close(self) -> None:
        """Close them."""


class _Background:
    """The loop and its thread; ``process`` tells a fork, which has no such thread."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.open: set[Closing] = set()
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self._run, name="graphkb-llm", daemon=True)
        self.thread.start()
        atexit.register(self.stop)

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        # After the loop's own hooks, which it sets when it starts to run.
        self.loop.call_soon(lambda: sys.set_asyncgen_hooks(finalizer=self._close_later))
        self.loop.run_forever()
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        # Owners that end meanwhile take theirs out on other threads.
        while self.open:
            self.loop.run_until_complete(self.open.pop().close())
        self.loop.run_until_complete(asyncio.sleep(0))
        self.loop.close()

    def _close_later(self, abandoned: AsyncGenerator[Any, Any]) -> None:
        """Close an abandoned generator when the collector that found it, maybe on another
        thread, is done: a stream's generators close each other, and one that is being closed
        here while it is finalized there is an error."""

        def close() -> None:
            self.loop.create_task(abandoned.aclose())

        if not self.loop.is_closed():
            self.loop.call_soon_threadsafe(self.loop.call_later, _FINALIZE_SECONDS, close)

    def close(self, connections: Closing) -> None:
        if connections in self.open and not self.loop.is_closed():
            self.open.discard(connections)
            self.loop.call_soon_threadsafe(lambda: self.loop.create_task(connections.close()))

    def stop(self) -> None:
        if self.process == os.getpid() and self.thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
            self.thread.join(_STOP_SECONDS)


_lock = threading.Lock()
_running: _Background | None = None


def _background() -> _Background:
    global _running
    with _lock:
        if _running is None or _running.process != os.getpid() or not _running.thread.is_alive():
            _running = _Background()
        return _running


def background_loop() -> asyncio.AbstractEventLoop:
    """The process's loop, started at its first use."""
    return _background().loop


def submit(work: Coroutine[Any, Any, T]) -> Future[T]:
    """Start ``work`` on the background loop; cancelling the future cancels it."""
    return asyncio.run_coroutine_threadsafe(work, background_loop())


def close_with(owner: object, connections: Closing) -> None:
    """Have ``connections`` closed when their owner is gone, or when the process ends."""
    background = _background()
    background.open.add(connections)
    finalize(owner, background.close, connections).atexit = False


def take(arrivals: queue.SimpleQueue[T]) -> T:
    """The next item, however long it takes.

    A signal may be delivered to any thread, and one that waits for a lock without limit is not
    woken by it; so the wait is cut into short ones, and an interrupt is seen between them.
    """
    while True:
        try:
            return arrivals.get(timeout=_INTERRUPT_SECONDS)
        except queue.Empty:
            continue
