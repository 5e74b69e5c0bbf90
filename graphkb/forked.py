"""Forked processes: the threads of polars and LanceDB stay behind in the parent, and what waits
for them waits for ever."""

from __future__ import annotations

import os

from graphkb.errors import UsageError

_process: int | None = None


def begin_threads() -> None:
    """Note that from here on this process uses libraries that run threads. Raises UsageError as
    :func:`check_not_forked` does."""
    global _process
    check_not_forked()
    _process = os.getpid()


def check_not_forked() -> None:
    """Raises UsageError in a process forked from one that had begun threads."""
    if _process is not None and _process != os.getpid():
        raise UsageError(
            f"this process was forked from one (pid {_process}) that has read or written a "
            "knowledge base, and its threads are not here; start it by spawn or forkserver, "
            'multiprocessing.get_context("spawn"), or fork before the first question'
        )
