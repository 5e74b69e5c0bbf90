"""What a dry run read of files that take long, kept for the run that follows."""

from __future__ import annotations

import contextlib
import json
import platform
import shutil
import stat
import sys
import zlib
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from graphkb import __version__
from graphkb.ingest.records import FileReading, Record, SourceFile
from graphkb.settings_input import Input
from graphkb.tables import content_hash

if TYPE_CHECKING:
    from pydantic import TypeAdapter

_FOLDER = "readings"
# Larger readings are not kept: what claims to be one would be as long in the reading as a file.
_MOST_BYTES = 200_000_000


class KeptReadings:
    """``cache/readings``: one file a reading, by the file's bytes and path, the settings of the
    input, and the versions of this program, of Python and of every package that is installed
    (any may be what a reader or a converter uses).

    It only saves time: what cannot be written or read is as if it had not been kept, and what is
    damaged is removed.
    """

    def __init__(self, cache: Path, options: Input) -> None:
        self._folder = cache / _FOLDER
        self._options = options
        self._used: set[str] = set()

    def get(self, source: SourceFile, digest: str) -> FileReading | None:
        """What was read of a file whose bytes have this hash; None where nothing is kept."""
        name = self._name(source, digest)
        path = self._folder / name
        try:
            reading = _unpacked(path)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, RecursionError, zlib.error):
            _remove(path)
            return None
        self._used.add(name)
        return reading

    def put(self, source: SourceFile, digest: str, reading: FileReading) -> None:
        """Keep what was read of a file."""
        name = self._name(source, digest)
        content = _packed(reading)
        if len(content) > _MOST_BYTES or not _says_something(reading):
            return
        new = self._folder / f".{name}"
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            _remove(new)
            new.write_bytes(zlib.compress(content, 1))
            new.replace(self._folder / name)
        self._used.add(name)

    def drop_others(self) -> None:
        """Forget what was neither asked for nor kept since this was made."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in self._used:
                    _remove(path)

    def _name(self, source: SourceFile, digest: str) -> str:
        return content_hash(self._state, source.path, digest)

    @cached_property
    def _state(self) -> str:
        # Their folders are named by package and version.
        packages = {path.name for place in sys.path for path in Path(place).glob("*.*-info")}
        program = (__version__, platform.python_version())
        return content_hash(self._options.model_dump_json(), *program, *sorted(packages))


def forget_readings(cache: Path) -> None:
    """Drop all that is kept."""
    shutil.rmtree(cache / _FOLDER, ignore_errors=True)


def _packed(reading: FileReading) -> bytes:
    return json.dumps(asdict(reading)).encode("ascii")


def _unpacked(path: Path) -> FileReading:
    """A kept reading. Raises OSError, ValueError, RecursionError or zlib.error for what is none."""
    status = path.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > _MOST_BYTES:
        raise ValueError("not a file that was written here")
    unpacker = zlib.decompressobj()
    content = unpacker.decompress(path.read_bytes(), _MOST_BYTES)
    if not unpacker.eof:
        raise ValueError("cut off, or too large")
    reading = _adapter().validate_python(json.loads(content))
    if _packed(reading) != content:
        raise ValueError("not all of it is what was written")
    if not _says_something(reading) or not all(map(_pages_fit, reading.records)):
        raise ValueError("not what a reader gives")
    return reading


@lru_cache(maxsize=1)
def _adapter() -> TypeAdapter[FileReading]:
    from pydantic import TypeAdapter

    return TypeAdapter(FileReading)


def _says_something(reading: FileReading) -> bool:
    """False for a file that would leave no trace."""
    return bool(reading.records or reading.refused)


def _pages_fit(record: Record) -> bool:
    starts = record.page_starts
    return list(starts) == sorted(starts) and all(0 <= n <= len(record.text) for n in starts)


def _remove(path: Path) -> None:
    """Remove whatever is there, where that can be done."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
