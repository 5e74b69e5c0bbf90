"""A large file read by several processes, each some of its pages, and then joined by one."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.errors import InputError
from graphkb.ingest.detect import checked, find_reader
from graphkb.ingest.read import read_bytes, read_file
from graphkb.ingest.readers import READERS
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input
from graphkb.types import Refused

# Parts are more than processes, so that none waits long for the last one; and they are no larger
# than memory that pages leave behind allows.
_PARTS = 8
_LARGEST_PART = 100
# A PDF says that it is one within so many bytes.
_HEAD = 1024


@dataclass(frozen=True)
class Whole:
    """The whole file is to be read; with ``processes`` above 1 it may be shared by so many."""

    processes: int = 1


@dataclass(frozen=True)
class Part:
    """Its pages with these numbers, from 0, are to be read."""

    pages: range


@dataclass(frozen=True)
class Join:
    """All its parts, in their order, are to be made one document."""

    parts: tuple[bytes, ...]


Task = Whole | Part | Join


@dataclass(frozen=True)
class Shared:
    """The file is better read in these parts."""

    parts: tuple[Part, ...]


def do_task(source: SourceFile, options: Input, task: Task) -> FileReading | Shared | bytes:
    """What a file gave, or the parts in which to read it, or one part read. Never raises for a bad
    file: the reading says why it is refused."""
    from graphkb.ingest.ocr import most_threads
    from graphkb.ingest.readers.pdf import join_pdf, read_pdf_part

    if isinstance(task, Whole):
        parts = _parts(source, options, task.processes) if task.processes > 1 else ()
        return Shared(parts) if parts else read_file(source, options)
    try:
        data = read_bytes(source, options)
        if isinstance(task, Part):
            most_threads.set(1)
            return read_pdf_part(data, options, task.pages)
        return checked(source, join_pdf(source, data, options, task.parts))
    except InputError as error:
        return FileReading(refused=(Refused(source.path, str(error)),))


def _parts(source: SourceFile, options: Input, processes: int) -> tuple[Part, ...]:
    """The parts of a file that is worth sharing, else none."""
    from graphkb.ingest.readers.pdf import pages_apart

    if source.suffix in options.converters:
        return ()
    try:
        if source.suffix != ".pdf" and not _begins_like_pdf(source):
            return ()
        data = read_bytes(source, options)
        if find_reader(source, data) is not READERS[".pdf"]:
            return ()
    except InputError:
        return ()
    total, least = pages_apart(data, options)
    if not least:
        return ()
    size = min(_LARGEST_PART, max(least, math.ceil(total / (_PARTS * processes))))
    return tuple(_cut(total, size))


def _begins_like_pdf(source: SourceFile) -> bool:
    """Whether a file may be a PDF under another name; the others are not read twice for it."""
    with contextlib.suppress(OSError), source.location.open("rb") as file:
        return b"%PDF" in file.read(_HEAD)
    return False


def _cut(total: int, size: int) -> Sequence[Part]:
    return [Part(range(start, min(start + size, total))) for start in range(0, total, size)]
