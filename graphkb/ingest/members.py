"""What containers hold, each member read as a file of its own: archives, mails, mailboxes."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from graphkb.errors import InputError
from graphkb.ingest.folder import is_excluded, is_left_out
from graphkb.ingest.records import Allowance, FileReading, SourceFile
from graphkb.settings_input import Input
from graphkb.types import Refused

MOST_NESTED = 3
_OUTSIDE = re.compile(r"/|[A-Za-z]:|.*(?:^|/)\.\.(?:/|$)", re.DOTALL)
_CONTROLS = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")


@dataclass(frozen=True)
class Member:
    """A file in a container: its name there with ``/``, bytes unpacked, and how to get them.

    ``read`` raises InputError where the bytes cannot be had. ``problem`` says why it is not to
    be read at all.
    """

    name: str
    size: int
    read: Callable[[], bytes]
    problem: str = ""


def read_members(source: SourceFile, members: Iterable[Member], options: Input) -> FileReading:
    """The documents of all members, by their path in the container.

    Hidden files and what ``input.exclude`` names are left out silently. Of members with one
    name the last is read, as unpacking would leave it. Refused are names that lead out of the
    container, members larger than ``input.max_file_mb``, and what would unpack to more than the
    source's allowance. Raises InputError where the container is nested too deeply.
    """
    if source.depth >= MOST_NESTED:
        raise InputError(f"packed in {source.depth} other containers; unpack it by hand")
    allowance = source.allowance or Allowance()
    readings: dict[str, FileReading] = {}
    for member in members:
        path = _CONTROLS.sub(" ", member.name).removeprefix("./")
        where = f"{source.path}/{path}" if path else source.path
        if any(is_left_out(part) for part in path.split("/")[:-1] if part != ".."):
            continue
        name = path.rpartition("/")[2]
        if (name != ".." and is_left_out(name)) or is_excluded(where, options):
            continue
        inner = replace(
            source, path=where, size=member.size, depth=source.depth + 1, allowance=allowance
        )
        try:
            reading = _read(inner, member, path, options)
        except _TooMuchError as error:
            rest = Refused(source.path, f"{error}; the rest of it is left out, split it")
            readings[""] = FileReading(refused=(rest,))
            break
        if path in readings:
            note = f"{where}: held twice; the last one is read"
            reading = replace(reading, notes=(note, *reading.notes))
        readings[path] = reading
    return _together(readings)


class _TooMuchError(Exception):
    """The allowance is used up, and by what."""


def _read(inner: SourceFile, member: Member, path: str, options: Input) -> FileReading:
    # The readers of containers lead here, and from here any reader is reached.
    from graphkb.ingest.detect import read_data

    problem = member.problem
    if _OUTSIDE.match(path):
        problem = "its name leads out of the archive; left out"
    elif member.size > options.max_file_mb * 1_000_000:
        problem = problem or (
            f"{member.size / 1e6:.1f} MB is larger than input.max_file_mb "
            f"({options.max_file_mb:g}); split the file or raise that setting"
        )
    if problem:
        return FileReading(refused=(Refused(inner.path, problem),))
    assert inner.allowance is not None
    inner.allowance.members -= 1
    inner.allowance.bytes -= member.size
    if inner.allowance.members < 0:
        raise _TooMuchError(f"holds more than {Allowance.members:,} members")
    if inner.allowance.bytes < 0:
        raise _TooMuchError(f"would unpack to more than {Allowance.bytes / 1e6:,.0f} MB")
    try:
        data = member.read()
    except InputError as error:
        return FileReading(refused=(Refused(inner.path, str(error)),))
    reading = read_data(inner, data, options)
    records = tuple(
        replace(record, member=f"{path}/{record.member}" if record.member else path)
        for record in reading.records
    )
    return replace(reading, records=records)


def _together(readings: dict[str, FileReading]) -> FileReading:
    """All readings as one, by path, so that packing in another order changes nothing."""
    ordered = [readings[path] for path in sorted(readings)]
    return FileReading(
        tuple(record for reading in ordered for record in reading.records),
        tuple(refused for reading in ordered for refused in reading.refused),
        tuple(note for reading in ordered for note in reading.notes),
    )
