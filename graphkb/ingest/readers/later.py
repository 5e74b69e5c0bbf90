"""Readers whose modules are imported when a file needs them."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import cast

from graphkb.ingest.records import FileReading, Reader, SourceFile
from graphkb.settings_input import Input


@dataclass(frozen=True)
class Later:
    """The reader ``name`` of the module ``graphkb.ingest.readers.<module>``."""

    module: str
    name: str

    def __call__(self, source: SourceFile, data: bytes, options: Input) -> FileReading:
        module = import_module(f"graphkb.ingest.readers.{self.module}")
        return cast(Reader, getattr(module, self.name))(source, data, options)
