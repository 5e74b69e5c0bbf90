"""The process that reads files for another one (:mod:`graphkb.ingest.process`).

It reads requests (pickled ``(SourceFile, Input, Task)``) from standard input and answers on
standard output, see :mod:`graphkb.ingest.frames`. It ends when its parent does, when it needs more
memory than it may, and when its input ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pickle
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from graphkb.ingest import frames
from graphkb.ingest.records import FileReading, page_listener

if TYPE_CHECKING:
    from graphkb.ingest.shares import Shared

OUT_OF_MEMORY = 77
"""Exit code of a process that needed more memory than it may."""
_NUMBERS_OF_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS",
)  # fmt: skip
_SECONDS_BETWEEN_LOOKS = 0.05
_SECONDS_BETWEEN_PAGES = 0.2
_DIE_WITH_PARENT = 1  # PR_SET_PDEATHSIG of Linux


class _Network:
    """Whether this process may reach the network."""

    allowed = False


def main(parent: int, memory_mb: int) -> None:
    """Serve requests of the process ``parent`` within so many megabytes of memory."""
    requests, replies = _own_streams()
    _end_with(parent)
    threading.Thread(target=_watch, args=(parent, memory_mb), daemon=True).start()
    sys.addaudithook(_refuse_network)
    hello = frames.receive(requests)
    if hello is None:
        return
    sys.path[:] = pickle.loads(hello)
    with _one_thread():
        from graphkb.ingest.shares import do_task

    frames.send(replies, frames.pack("ready"))
    while (request := frames.receive(requests)) is not None:
        source, options, task = pickle.loads(request)
        page_listener.set(_Pages(replies))
        is_converted = source.suffix in options.converters
        _Network.allowed = is_converted
        _bound_memory(None if is_converted else memory_mb)
        try:
            reply = _packed(do_task(source, options, task), memory_mb)
        except MemoryError:
            os._exit(OUT_OF_MEMORY)
        # What any parser may raise on any damaged file costs that file only.
        except Exception as error:
            reply = [frames.pack("failed", why=why_failed(error))]
        for message in reply:
            frames.send(replies, message)


def why_failed(error: Exception) -> str:
    """What a parser raised, in a few words."""
    if isinstance(error, RecursionError):
        return "it is nested too deeply"
    return f"{type(error).__name__}: {str(error)[:200]}"


def resident_mb() -> float:
    """Memory this process uses now; where only its peak is known that; 0 where neither is."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 1e6
    except (OSError, ValueError):
        pass
    try:
        import resource
    except ImportError:
        return 0.0
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


class _Pages:
    """Tells the parent how many pages are done, not more than a few times a second."""

    def __init__(self, replies: BinaryIO) -> None:
        self.replies = replies
        self.said = 0.0

    def __call__(self, done: int, total: int) -> None:
        now = time.monotonic()
        if now - self.said >= _SECONDS_BETWEEN_PAGES or done == total:
            self.said = now
            frames.send(self.replies, frames.pack("page", done=done, total=total))


def _packed(result: FileReading | Shared | bytes, memory_mb: int) -> list[bytes]:
    """The messages that say it."""
    # What a parser keeps must not count against the next file.
    tired = resident_mb() > memory_mb / 2
    if isinstance(result, FileReading):
        messages = [frames.pack_reading(result, tired=tired)]
    elif isinstance(result, bytes):
        messages = [frames.pack("part", tired=tired), result]
    else:
        ends = [[part.pages.start, part.pages.stop] for part in result.parts]
        messages = [frames.pack("shared", parts=ends)]
    if max(map(len, messages)) > memory_mb * 500_000:
        raise MemoryError
    return messages


def _own_streams() -> tuple[BinaryIO, BinaryIO]:
    """Standard input and output for messages alone; what parsers print goes nowhere."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    nowhere = os.open(os.devnull, os.O_RDWR)
    for number in (0, 1, 2):
        os.dup2(nowhere, number)
    return requests, replies


def _end_with(parent: int) -> None:
    """On Linux the kernel ends this process with its parent; elsewhere :func:`_watch` does."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_DIE_WITH_PARENT, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def _bound_memory(memory_mb: int | None) -> None:
    """A ceiling on allocated memory for what grows faster than :func:`_watch` can see.

    None takes it away: what a converter starts would inherit it.
    """
    if sys.platform == "linux":
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = hard if memory_mb is None else (memory_mb + memory_mb // 2) * 1_000_000
        if hard == resource.RLIM_INFINITY or most < hard:
            resource.setrlimit(resource.RLIMIT_DATA, (most, hard))


@contextlib.contextmanager
def _one_thread() -> Iterator[None]:
    """Libraries imported here start no threads of their own; programs started later may."""
    added = [name for name in _NUMBERS_OF_THREADS if name not in os.environ]
    os.environ.update(dict.fromkeys(added, "1"))
    yield
    for name in added:
        del os.environ[name]


def _watch(parent: int, memory_mb: int) -> None:
    """End this process when its parent is gone or its memory is used up."""
    while True:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        if resident_mb() > memory_mb:
            os._exit(OUT_OF_MEMORY)
        if sys.platform != "win32" and os.getppid() != parent:
            os._exit(1)


def _refuse_network(event: str, arguments: tuple[Any, ...]) -> None:
    """No document reaches the network, whatever its parser would load."""
    if _Network.allowed or event not in ("socket.connect", "socket.sendto", "socket.getaddrinfo"):
        return
    if event != "socket.getaddrinfo":
        local = getattr(socket, "AF_UNIX", None)
        if local is not None and arguments[0].family == local:
            return
    raise PermissionError("no network while files are read")
