"""One worker process and the thread that waits for it."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import graphkb
from graphkb.errors import GraphkbError
from graphkb.ingest import frames
from graphkb.ingest.convert import seconds_allowed
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.ingest.scratch import ScratchFolder
from graphkb.ingest.shares import Part, Shared, Task, Whole
from graphkb.ingest.worker import OUT_OF_MEMORY
from graphkb.settings_input import Input
from graphkb.types import Refused

_Result = TypeVar("_Result", FileReading, bytes)
_WHOLE = Whole()
_SECONDS_TO_START = 120.0
# A converter's own time limit ends first and says more.
_SECONDS_MORE_FOR_CONVERTERS = 2.0
_SECONDS_TO_END = 5.0
_SCRATCH_VARIABLES = ("TMPDIR", "TEMP", "TMP")
# Not ``-m``: what the current folder holds must not shadow modules, nor ``__main__`` run again.
_PROGRAM = (
    "import sys; sys.path.insert(0, sys.argv[1]); from graphkb.ingest.worker import main; "
    "main(int(sys.argv[2]), int(sys.argv[3]))"
)


class WorkerStartError(GraphkbError):
    """No process for reading files can be started here."""


class ReadingProcess:
    """A process that reads one file after another; it is started for the first one and again
    after one that it did not survive."""

    def __init__(self, options: Input, serve: Callable[[ReadingProcess], None]) -> None:
        self.options = options
        self.closed = False
        self._thread = threading.Thread(target=serve, args=(self,), daemon=True)
        self._child: subprocess.Popen[bytes] | None = None
        self._deadline: float | None = None
        self._seconds = 0.0
        self._overdue = False
        self._lock = threading.Lock()
        # What a parser leaves there when it is ended goes with it.
        self._scratch = ScratchFolder()

    def start(self) -> None:
        """Begin to serve in a thread."""
        self._thread.start()

    def read(
        self, source: SourceFile, on_page: Callable[[int, int], None], task: Task = _WHOLE
    ) -> FileReading | Shared | bytes:
        """What :func:`graphkb.ingest.shares.do_task` gave, or the refusal of a file that the
        process could not read. Raises WorkerStartError where no process can be started."""
        gone = self._child is not None and self._child.poll() is not None
        if self._overdue or gone:
            self._end()
        child = self._child or self._started()
        self._seconds = seconds_allowed(source, self.options)
        if source.suffix in self.options.converters:
            self._seconds += _SECONDS_MORE_FOR_CONVERTERS
        assert child.stdin
        assert child.stdout
        self._overdue = False
        self._deadline = time.monotonic() + self._seconds
        try:
            frames.send(child.stdin, pickle.dumps((source, self.options, task)))
            most = self.options.max_memory_mb * 1e6
            while (reply := frames.receive(child.stdout, most)) is not None:
                message = json.loads(reply)
                if message["kind"] == "page":
                    self._deadline = time.monotonic() + self._seconds
                    on_page(message["done"], message["total"])
                elif message["kind"] == "shared":
                    return Shared(tuple(Part(range(*ends)) for ends in message["parts"]))
                elif message["kind"] == "part":
                    part = frames.receive(child.stdout, most)
                    if part is None:
                        break
                    return self._rested(message, part)
                elif message["kind"] == "read":
                    return self._rested(message, frames.unpack_reading(message))
                else:
                    return parser_failed(source, message["why"])
        except OSError:
            pass
        except (ValueError, KeyError, TypeError):
            self._kill()
            self._end()
            return _crashed(source, "damaged memory")
        finally:
            self._deadline = None
        return self._lost(source)

    def _rested(self, message: dict[str, Any], result: _Result) -> _Result:
        """The result; a process that kept too much memory for it is ended."""
        if message["tired"]:
            self._end()
        return result

    def _started(self) -> subprocess.Popen[bytes]:
        """A new process that has said that it is ready."""
        package = str(Path(graphkb.__file__).parents[1])
        environment = {**os.environ, **dict.fromkeys(_SCRATCH_VARIABLES, self._scratch.path)}
        limits = [str(os.getpid()), str(self.options.max_memory_mb)]
        try:
            with self._lock:
                if self.closed:
                    raise WorkerStartError("reading was interrupted")
                child = self._child = subprocess.Popen(
                    [sys.executable, "-P", "-c", _PROGRAM, package, *limits],
                    env=environment,
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    start_new_session=True,
                )
            assert child.stdin
            assert child.stdout
            self._deadline = time.monotonic() + _SECONDS_TO_START
            frames.send(child.stdin, pickle.dumps(sys.path))
            ready = frames.receive(child.stdout)
        except OSError as error:
            raise WorkerStartError(f"no process can be started ({error})") from None
        finally:
            self._deadline = None
        if ready is None:
            code = self._end()
            raise WorkerStartError(f"the reading process did not start (exit code {code})")
        return child

    def end_overdue(self) -> None:
        """End the process where its time is up; :meth:`read` then says so."""
        if self._deadline is not None and time.monotonic() > self._deadline:
            self._overdue = True
            self._deadline = None
            self._kill()

    def close(self) -> None:
        """End the process and its thread."""
        with self._lock:
            self.closed = True
        self._kill()
        self._thread.join(_SECONDS_TO_END)
        self._end()
        self._scratch.remove()

    def _kill(self) -> None:
        """End the process and what it has started."""
        child = self._child
        if child is None or child.poll() is not None:
            return
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if sys.platform == "win32":
                child.kill()
            else:
                os.killpg(child.pid, signal.SIGKILL)

    def _end(self) -> int:
        """The process's exit code, waiting for its end; 0 where there is none."""
        child, self._child = self._child, None
        if child is None:
            return 0
        for stream in (child.stdin, child.stdout):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()
        try:
            return child.wait(_SECONDS_TO_END)
        except subprocess.TimeoutExpired:
            child.kill()
            return child.wait()

    def _lost(self, source: SourceFile) -> FileReading:
        """Why the process is gone, as the refusal of the file it read."""
        code = self._end()
        if self._overdue:
            return _refused(
                source,
                f"not read within {self._seconds:.0f} s (input.max_seconds); raise that setting "
                "or split the file",
                given_up=True,
            )
        if code == OUT_OF_MEMORY:
            return _refused(
                source,
                f"needs more than {self.options.max_memory_mb:,} MB of memory to read "
                "(input.max_memory_mb); raise that setting or split the file",
                given_up=True,
            )
        if sys.platform != "win32" and code == -signal.SIGKILL:
            return _refused(
                source,
                "its reading process was ended by the system, probably for want of memory; "
                "index again when more is free or lower input.max_memory_mb",
            )
        return _crashed(source, _ending(code))


def parser_failed(source: SourceFile, why: str) -> FileReading:
    """The refusal of a file on which its parser raised what no reader foresees."""
    return _refused(
        source,
        f"its parser failed ({why}); the file is damaged or odd: save it anew or in another format",
    )


def _crashed(source: SourceFile, how: str) -> FileReading:
    reason = f"it made its parser crash ({how}); save it anew or in another format"
    return _refused(source, reason, given_up=True)


def _ending(code: int) -> str:
    if code < 0:
        with contextlib.suppress(ValueError):
            return signal.Signals(-code).name
    return f"exit code {code}"


def _refused(source: SourceFile, reason: str, *, given_up: bool = False) -> FileReading:
    return FileReading(refused=(Refused(source.path, reason),), given_up=given_up)
