"""The files that an evaluation is written to: looked at before anything is measured, written
whole or not at all."""

from __future__ import annotations

import os
from pathlib import Path

from graphkb.errors import UsageError
from graphkb.whole_file import check_writable as check_rights
from graphkb.whole_file import write_whole


def check_writable(path: Path, what: str) -> None:
    """Raises UsageError when ``path`` cannot become a file. ``what`` names it in the message, such
    as ``--html``. Folders that are missing are no obstacle: :func:`write_text` makes them."""
    try:
        problem = _problem(path)
    except OSError as error:
        problem = f"cannot be written ({error.strerror})"
    if problem:
        raise UsageError(f"{what}: {_short(path)} {problem}")


def _problem(path: Path) -> str:
    if path.is_dir():
        return "is a folder; give the name of a file"
    if path.exists() and not path.is_file():
        return "" if os.access(path, os.W_OK) else "cannot be written (no right to)"
    target = path.resolve()
    missing = [target]
    while not (folder := missing[-1].parent).exists() and folder != folder.parent:
        missing.append(folder)
    if not folder.is_dir():
        return f"cannot be written: {folder} is not a folder"
    for part in missing:
        # Raises OSError where the file system takes no such name.
        (folder / part.name).exists()
    check_rights(target)
    return "" if os.access(folder, os.W_OK) else f"cannot be written: no right to write {folder}"


def _short(path: Path) -> str:
    text = str(path)
    return text if len(text) <= 200 else f"{text[:200]}…"


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 file as :func:`~graphkb.whole_file.write_whole` does, making its folder; a pipe
    is written to. Half a character stands as ``\\udXXX``."""
    data = text.encode("utf-8", "backslashreplace")
    if path.exists() and not path.is_file():
        path.write_bytes(data)
        return
    path.resolve().parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, data)
