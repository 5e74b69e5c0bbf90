"""Files read by a converter that the settings name: a command or a Python function."""

from __future__ import annotations

import importlib
import re
import shlex
import subprocess
import tempfile
from dataclasses import replace
from pathlib import Path

from graphkb.errors import InputError
from graphkb.ingest.readers.markdown import read_markdown
from graphkb.ingest.records import FileReading, SourceFile, is_blank
from graphkb.settings_input import Input

_FUNCTION = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
_LONGEST_SAID = 200


def seconds_allowed(source: SourceFile, options: Input) -> float:
    """How long reading a file, or one page of it, may take: a second more a megabyte."""
    return options.max_seconds + source.size / 1e6


def read_converted(source: SourceFile, options: Input) -> FileReading:
    """The Markdown that the converter of the file's suffix makes of it, as one document.

    Raises InputError, which names the converter and the setting, where it fails, takes too long
    or gives no Markdown.
    """
    converter = options.converters[source.suffix]
    named = f"the converter {converter!r} (input.converters)"
    if _FUNCTION.fullmatch(converter):
        markdown = _called(converter, named, source.location)
    else:
        markdown = _run(converter, named, source, seconds_allowed(source, options))
    if is_blank(markdown):
        raise InputError(f"{named} gave no text")
    utf8 = options.model_copy(update={"encoding": "auto"})
    reading = read_markdown(source, markdown.encode("utf-8", "surrogateescape"), utf8)
    records = tuple(
        replace(record, metadata={**record.metadata, "converter": converter})
        for record in reading.records
    )
    return replace(reading, records=records)


def _called(converter: str, named: str, path: Path) -> str:
    """``package.module:function`` called with the file's path; it returns Markdown."""
    module, name = converter.split(":")
    try:
        function = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise InputError(f"{named} cannot be imported ({error}); install or mend it") from None
    try:
        markdown = function(path)
    # It is the user's own code: whatever it raises is told of as its failure.
    except Exception as error:
        said = f"{type(error).__name__}: {error}"[:_LONGEST_SAID]
        raise InputError(f"{named} failed ({said})") from None
    if not isinstance(markdown, str):
        kind = type(markdown).__name__
        raise InputError(f"{named} gave a {kind} instead of Markdown text; return a str")
    return markdown


def _run(command: str, named: str, source: SourceFile, seconds: float) -> str:
    """The command's Markdown: a file in the folder ``{output}``, or else what it prints."""
    with tempfile.TemporaryDirectory(prefix="graphkb-") as folder:
        values = {"{input}": str(source.location.absolute()), "{output}": folder}
        try:
            words = [_filled(word, values) for word in shlex.split(command)]
            done = subprocess.run(
                words, stdin=subprocess.DEVNULL, capture_output=True, timeout=seconds, check=False
            )
        except ValueError as error:
            raise InputError(f"{named} is no command ({error}); check its quotes") from None
        except subprocess.TimeoutExpired:
            raise InputError(
                f"{named} took longer than {seconds:.0f} s; raise input.max_seconds or "
                "split the file"
            ) from None
        except OSError as error:
            raise InputError(
                f"{named} cannot be started ({error.strerror}); install it or correct the path"
            ) from None
        if done.returncode != 0:
            raise InputError(f"{named} failed with exit code {done.returncode}{_said(done.stderr)}")
        if "{output}" not in command:
            return done.stdout.decode("utf-8", "surrogateescape")
        return _written(Path(folder), named, source.stem)


def _filled(word: str, values: dict[str, str]) -> str:
    for name, value in values.items():
        word = word.replace(name, value)
    return word


def _said(stderr: bytes) -> str:
    lines = stderr.decode("utf-8", "replace").strip().splitlines()
    return f": {lines[-1][:_LONGEST_SAID]}" if lines else ""


def _written(folder: Path, named: str, stem: str) -> str:
    """The one Markdown file below the folder, or of several the one with the file's name."""
    files = sorted(folder.rglob("*.md"))
    alike = [path for path in files if path.stem == stem] if len(files) > 1 else files
    if len(alike) != 1:
        found = f"{len(files)} Markdown files" if files else "no Markdown file (*.md)"
        raise InputError(f"{named} left {found} in {{output}}; one is needed")
    return alike[0].read_bytes().decode("utf-8", "surrogateescape")
