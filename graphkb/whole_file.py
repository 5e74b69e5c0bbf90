"""A user's file written whole or not at all, with its permissions, through its link."""

from __future__ import annotations

import errno
import os
import secrets
from pathlib import Path

_ANY_WRITE = 0o222
_NEW = 0o666


def write_whole(path: Path, content: bytes, like: Path | None = None) -> None:
    """Replace what a file holds, or make it; a new file gets the permissions of ``like``.

    The file keeps its permissions, and a link goes on pointing to it. Several processes may do so
    at once: each writes a file of its own name before it takes the place of the old one. Raises
    OSError, with nothing changed, also for a file that is read-only.
    """
    target = Path(os.path.realpath(path))
    model = next((file for file in (target, like) if file is not None and file.exists()), None)
    mode = None if model is None else model.stat().st_mode & 0o777
    check_writable(path)
    # A part of the name: the whole may be as long as the file system takes.
    whole = target.with_name(f"{target.name[:40]}.{secrets.token_hex(4)}.new")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    handle = os.open(whole, flags, _NEW if mode is None else mode | 0o200)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        if mode is not None:
            whole.chmod(mode)
        os.replace(whole, target)
    except OSError:
        whole.unlink(missing_ok=True)
        raise


def check_writable(path: Path) -> None:
    """Raises PermissionError for a file that is there and read-only."""
    # The system lets root write anything; a file that nobody may write is meant to stay.
    if path.exists() and not (path.stat().st_mode & _ANY_WRITE and os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, "it is read-only", str(path))
