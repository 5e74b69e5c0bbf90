"""One writer at a time: a lock file that says who holds it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from graphkb.errors import LockedError, StoreError


@contextmanager
def write_lock(output: Path) -> Iterator[None]:
    """Hold the write lock of an output folder.

    The operating system frees the lock when its holder dies, so a lock file left by a dead
    process is simply taken over. Raises LockedError naming the holder's pid and start time.
    """
    from filelock import FileLock, Timeout

    path = output / "write.lock"
    holder = output / "write.lock.json"
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise LockedError(
            f"{output}: another index run is active ({_describe(holder)}); wait for it to end"
        ) from None
    except OSError as error:
        raise StoreError(
            f"{output}: cannot be written ({error.strerror}); check permissions"
        ) from None
    try:
        _sign(holder)
        yield
    finally:
        holder.unlink(missing_ok=True)
        lock.release()


def _sign(holder: Path) -> None:
    try:
        holder.write_text(json.dumps({"pid": os.getpid(), "started": time.time()}), "utf-8")
    except OSError as error:
        raise StoreError(
            f"{holder}: cannot be written ({error.strerror}); check space and permissions"
        ) from None


def _describe(holder: Path) -> str:
    try:
        data = json.loads(holder.read_text("utf-8"))
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(float(data["started"])))
        return f"pid {data['pid']}, started {started}"
    except (OSError, ValueError, KeyError, TypeError):
        return "pid unknown"


def lock_state(output: Path) -> tuple[bool, str]:
    """Whether a process holds the write lock, and who does or did; ``""`` when nobody left
    a trace."""
    from filelock import FileLock, Timeout

    holder = output / "write.lock.json"
    if not holder.exists():
        return False, ""
    who = _describe(holder)
    try:
        with FileLock(output / "write.lock", timeout=0):
            return False, who
    except Timeout:
        return True, who
    except OSError:
        return False, who
