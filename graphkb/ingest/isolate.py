"""Files read by processes of their own, so that one that hangs or crashes its parser costs only
itself.

Plain text, code, Markdown, CSV and JSON are read in this process; the others in a few worker
processes (:mod:`graphkb.ingest.worker`), which are started when there is such a file and end with
the call: one file each, or of a large one some pages each (:mod:`graphkb.ingest.shares`). They are
new interpreters, so it makes no difference whether the caller is a
script, a notebook or runs an event loop.
"""

from __future__ import annotations

import os
import queue
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from graphkb.errors import InputError
from graphkb.ingest.detect import find_reader, read_data
from graphkb.ingest.process import ReadingProcess, WorkerStartError, parser_failed
from graphkb.ingest.read import read_bytes, read_file
from graphkb.ingest.readers import READERS
from graphkb.ingest.readers.code import read_code
from graphkb.ingest.readers.json_ import read_json, read_json_lines
from graphkb.ingest.readers.markdown import read_markdown
from graphkb.ingest.readers.tabular import read_table
from graphkb.ingest.readers.text import read_text
from graphkb.ingest.records import FileReading, Reader, SourceFile
from graphkb.ingest.shares import Join, Part, Shared, Task, Whole
from graphkb.ingest.worker import why_failed
from graphkb.settings_input import Input
from graphkb.types import Progress, Refused, no_progress

__all__ = ["IN_PROCESS", "is_costly", "read_files"]

IN_PROCESS: frozenset[Reader] = frozenset(
    {read_code, read_json, read_json_lines, read_markdown, read_table, read_text}
)
"""Readers that are trusted with what they get."""
_LARGE = 20_000_000
_MOST_PROCESSES = 4
_SECONDS_BETWEEN_LOOKS = 0.1
# Pages of a file are shown once the others are done or it takes this long.
_SECONDS_UNTIL_PAGES = 3.0
_PACKED = (b"PK", b"\xd0\xcf\x11\xe0")


def read_files(
    files: Sequence[SourceFile],
    options: Input,
    progress: Progress = no_progress,
    *,
    done: int = 0,
) -> list[FileReading]:
    """What each file gave, in the order of ``files``; never raises for a bad one.

    ``progress`` is told how many files are read, counted from ``done``, and of one that takes
    long how many pages. Reading a file, or a page where its reader reports pages, may take
    ``options.max_seconds`` and ``options.max_memory_mb``; one that needs more is refused.
    Interrupting it ends the workers at once.
    """
    readings: list[FileReading | None] = [None] * len(files)
    counted = _Counted(progress, done, done + len(files))
    progress("read", done, done + len(files))
    with _Pool(files, options, counted) as pool:
        later: list[int] = []
        for place, source in enumerate(files):
            if is_costly(source, options):
                pool.add(place)
            else:
                later.append(place)
        for place in later:
            reading = _read_here(files[place], options)
            if reading is None:
                pool.add(place)
            else:
                readings[place] = reading
                counted.file()
            pool.look()
        for place, reading in pool.rest():
            readings[place] = reading
    return [reading for reading in readings if reading is not None]


def is_costly(source: SourceFile, options: Input) -> bool:
    """Whether a file's name alone says that it is read by a worker."""
    if source.size == 0 or source.leads_to:
        return False
    if source.suffix in options.converters:
        return True
    reader = READERS.get(source.suffix)
    if reader is None:
        return False
    return reader not in IN_PROCESS or source.size > _LARGE


def _read_here(source: SourceFile, options: Input) -> FileReading | None:
    """What a file gave that is plain or not readable at all; None where a worker must read it."""
    try:
        data = read_bytes(source, options)
        if not data:
            return read_data(source, data, options)
        if data.startswith(_PACKED):
            return None
        reader = find_reader(source, data)
    except InputError as error:
        return FileReading(refused=(Refused(source.path, str(error)),))
    return read_data(source, data, options, reader) if reader in IN_PROCESS else None


def _read_without_limits(source: SourceFile, options: Input) -> FileReading:
    """What a file gave that a worker should read, where none can be started."""
    try:
        return read_file(source, options)
    # As in a worker, what any parser may raise on any damaged file costs that file only.
    except Exception as error:
        return parser_failed(source, why_failed(error))


class _Counted:
    """Files done, for a progress display."""

    def __init__(self, progress: Progress, done: int, total: int) -> None:
        self.progress, self.done, self.total = progress, done, total

    def file(self) -> None:
        self.done += 1
        self.progress("read", self.done, self.total)

    def pages(self, path: str, done: int, total: int) -> None:
        self.progress(f"read {path}", done, total)


@dataclass
class _Pages:
    """How far a file is that workers read, and since when; ``done`` by part."""

    started: float
    done: dict[int, int] = field(default_factory=dict)
    total: int = 0
    shown: int = 0


@dataclass(frozen=True)
class _Errand:
    """What one worker is to do about a file; ``part`` is the place of a part among its parts."""

    place: int
    task: Task
    part: int = 0


_Result = FileReading | Shared | bytes | BaseException


class _Pool:
    """Worker processes, each with a thread of this process that waits for it."""

    def __init__(self, files: Sequence[SourceFile], options: Input, counted: _Counted) -> None:
        self.files, self.options, self.counted = files, options, counted
        self.most = min(_MOST_PROCESSES, os.cpu_count() or 1)
        self.errands: queue.SimpleQueue[_Errand | None] = queue.SimpleQueue()
        self.results: queue.SimpleQueue[tuple[_Errand, _Result]] = queue.SimpleQueue()
        self.processes: list[ReadingProcess] = []
        self.waiting: set[int] = set()
        self.open = 0
        self.parts: dict[int, list[bytes | None]] = {}
        self.pages: dict[int, _Pages] = {}
        self.found: list[tuple[int, FileReading]] = []
        self.told = False

    def __enter__(self) -> _Pool:
        return self

    def __exit__(self, *error: object) -> None:
        # Threads that wait for a file go on at once and see that there are no more.
        for _ in self.processes:
            self.errands.put(None)
        for process in self.processes:
            process.close()

    def add(self, place: int) -> None:
        """Have a file read by the next worker that is free."""
        self.waiting.add(place)
        self._send(_Errand(place, Whole(self.most)))

    def _send(self, errand: _Errand) -> None:
        self.errands.put(errand)
        self.open += 1
        if len(self.processes) < min(self.most, self.open):
            process = ReadingProcess(self.options, self._serve)
            self.processes.append(process)
            process.start()

    def _serve(self, process: ReadingProcess) -> None:
        """What a thread does: hand errands to its process until there are no more."""
        while (errand := self.errands.get()) is not None and not process.closed:
            place = errand.place
            result: _Result = b""
            # Of a file that is refused already the other parts are not read.
            if place in self.waiting:
                self.pages.setdefault(place, _Pages(time.monotonic()))
                try:
                    result = process.read(self.files[place], self._page(errand), errand.task)
                # Raised again by the thread that waits for the result.
                except BaseException as error:
                    result = error
            self.results.put((errand, result))

    def _page(self, errand: _Errand) -> Callable[[int, int], None]:
        def said(done: int, total: int) -> None:
            pages = self.pages.get(errand.place)
            if pages is not None:
                pages.done[errand.part] = done
                if not isinstance(errand.task, Part):
                    pages.total = total

        return said

    def look(self) -> None:
        """Take what is there and end the workers whose time is up."""
        while not self.results.empty():
            self._take(*self.results.get())
        for process in self.processes:
            process.end_overdue()

    def rest(self) -> list[tuple[int, FileReading]]:
        """Wait for all that was added."""
        while self.waiting:
            try:
                self._take(*self.results.get(timeout=_SECONDS_BETWEEN_LOOKS))
            except queue.Empty:
                self._show_pages()
            self.look()
        return self.found

    def _take(self, errand: _Errand, result: _Result) -> None:
        """What became of an errand: the file is read, or there are more to send."""
        place = errand.place
        self.open -= 1
        if place not in self.waiting:
            return
        if isinstance(result, Shared):
            self.parts[place] = [None] * len(result.parts)
            self.pages[place].total = result.parts[-1].pages.stop
            for number, part in enumerate(result.parts):
                self._send(_Errand(place, part, number))
        elif isinstance(result, bytes):
            parts = self.parts[place]
            parts[errand.part] = result
            if all(part is not None for part in parts):
                join = Join(tuple(part for part in self.parts.pop(place) if part is not None))
                self._send(_Errand(place, join, len(parts)))
        elif isinstance(result, WorkerStartError):
            self._done(place, self._read_here(place, result))
        elif isinstance(result, BaseException):
            raise result
        else:
            self._done(place, result)

    def _read_here(self, place: int, error: WorkerStartError) -> FileReading:
        notes = () if self.told else (f"{error}; files are read here, without limits",)
        self.told = True
        here = _read_without_limits(self.files[place], self.options)
        return replace(here, notes=(*notes, *here.notes))

    def _done(self, place: int, reading: FileReading) -> None:
        self.waiting.discard(place)
        self.pages.pop(place, None)
        self.parts.pop(place, None)
        self.found.append((place, reading))
        self.counted.file()

    def _show_pages(self) -> None:
        """Of the first file that takes long, how many of its pages are done."""
        now = time.monotonic()
        for place, pages in sorted(self.pages.copy().items()):
            if pages.total and now - pages.started > _SECONDS_UNTIL_PAGES:
                done = sum(pages.done.copy().values())
                if done > pages.shown:
                    pages.shown = done
                    self.counted.pages(self.files[place].path, done, pages.total)
                return
