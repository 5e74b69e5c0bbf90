"""What a dry run read of files that take long, kept for the run that follows."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import shutil
import zlib
from dataclasses import replace
from pathlib import Path

from graphkb import __version__
from graphkb.ingest import frames
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Input
from graphkb.tables import content_hash

_FOLDER = "readings"
# What is read depends on whether these are installed.
_LIBRARIES = ("pypdfium2", "pdfplumber", "rapidocr_onnxruntime", "onnxruntime", "cv2", "PIL")


class KeptReadings:
    """``cache/readings``: one file a reading, by the file's bytes and path, the settings of the
    input, the program's version and the libraries that are there.

    It only saves time: what cannot be written or read is as if it had not been kept.
    """

    def __init__(self, cache: Path, options: Input) -> None:
        self._folder = cache / _FOLDER
        there = [name for name in _LIBRARIES if importlib.util.find_spec(name)]
        self._state = content_hash(options.model_dump_json(), __version__, *there)
        self._used: set[str] = set()

    def get(self, source: SourceFile, digest: str) -> FileReading | None:
        """What was read of a file whose bytes have this hash; None where nothing is kept."""
        name = self._name(source, digest)
        try:
            message = json.loads(zlib.decompress((self._folder / name).read_bytes()))
            reading = frames.unpack_reading(message)
        except (OSError, ValueError, KeyError, TypeError, zlib.error):
            return None
        self._used.add(name)
        return replace(reading, given_up=message["given_up"])

    def put(self, source: SourceFile, digest: str, reading: FileReading) -> None:
        """Keep what was read of a file."""
        name = self._name(source, digest)
        packed = zlib.compress(frames.pack_reading(reading, given_up=reading.given_up), 1)
        with contextlib.suppress(OSError):
            self._folder.mkdir(parents=True, exist_ok=True)
            new = self._folder / f".{name}"
            new.write_bytes(packed)
            new.replace(self._folder / name)
        self._used.add(name)

    def drop_others(self) -> None:
        """Forget what was neither asked for nor kept since this was made."""
        with contextlib.suppress(OSError):
            for path in self._folder.iterdir():
                if path.name not in self._used:
                    path.unlink()

    def _name(self, source: SourceFile, digest: str) -> str:
        return content_hash(self._state, source.path, digest)


def forget_readings(cache: Path) -> None:
    """Drop all that is kept."""
    shutil.rmtree(cache / _FOLDER, ignore_errors=True)
