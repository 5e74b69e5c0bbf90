"""Temporary folders that do not outlive a program that was killed."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

_PREFIX = "graphkb-read-"
_LOCK = ".graphkb.lock"
# A folder is made a moment before its lock is.
_SECONDS_TO_LOCK = 60.0


class ScratchFolder:
    """A new temporary folder, at ``path``, which is locked as long as it is in use.

    Making one removes those that killed programs have left: nobody holds their locks.
    """

    def __init__(self) -> None:
        _remove_abandoned(Path(tempfile.gettempdir()))
        self._folder = tempfile.TemporaryDirectory(prefix=_PREFIX, ignore_cleanup_errors=True)
        self.path = self._folder.name
        self._lock = _lock(Path(self.path))
        # Where the file system has no locks the folder is as any other.
        with contextlib.suppress(OSError, NotImplementedError):
            self._lock.acquire(timeout=0)

    def remove(self) -> None:
        """Remove the folder with what is in it."""
        self._lock.release()
        self._folder.cleanup()


def _lock(folder: Path) -> FileLock:
    return FileLock(folder / _LOCK, thread_local=False)


def _remove_abandoned(parent: Path) -> None:
    for folder in _own_folders(parent):
        lock = _lock(folder)
        with contextlib.suppress(OSError, NotImplementedError, Timeout):
            lock.acquire(timeout=0)
            lock.release()
            shutil.rmtree(folder, ignore_errors=True)


def _own_folders(parent: Path) -> Iterator[Path]:
    """This user's folders of that prefix that are not just being made."""
    with contextlib.suppress(OSError), os.scandir(parent) as entries:
        for entry in entries:
            if not entry.name.startswith(_PREFIX) or not entry.is_dir(follow_symlinks=False):
                continue
            facts = entry.stat(follow_symlinks=False)
            is_own = not hasattr(os, "getuid") or facts.st_uid == os.getuid()
            if is_own and time.time() - facts.st_mtime > _SECONDS_TO_LOCK:
                yield Path(entry.path)
