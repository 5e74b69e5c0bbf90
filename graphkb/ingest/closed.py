"""Files and folders of the input folder that may not be opened: what was read of them stays."""

from __future__ import annotations

import errno
import stat
from collections.abc import Iterable
from pathlib import Path

from graphkb.ingest.folder import is_wanted
from graphkb.ingest.records import SourceFile
from graphkb.settings_input import Input

# A file that is gone, and a link that leads nowhere.
_ABSENT = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_NAMED = 3


def closed_among(sources: Iterable[SourceFile]) -> list[SourceFile]:
    """Those that are there, as far as can be told, and cannot be opened, once each; a folder is
    among the listed only where that failed."""
    return [source for source in dict.fromkeys(sources) if _is_closed(source)]


def _is_closed(source: SourceFile) -> bool:
    if source.leads_to:
        return False
    try:
        mode = source.location.stat().st_mode
        if stat.S_ISREG(mode):
            source.location.open("rb").close()
    except OSError as error:
        return error.errno not in _ABSENT
    return stat.S_ISDIR(mode)


def behind_closed(
    known: Iterable[tuple[str, str]], folder: Path, closed: Iterable[SourceFile], options: Input
) -> list[tuple[SourceFile, str]]:
    """Those of the ``known`` files (path, hash) that are ``closed`` or below a closed folder, by
    path; without those that the patterns leave out by now."""
    places = {source.path for source in closed}
    return [
        (SourceFile(path, folder / path, 0), digest)
        for path, digest in sorted(set(known))
        if not places.isdisjoint(_with_folders(path)) and is_wanted(path, options)
    ]


def closed_warning(closed: Iterable[SourceFile], kept: Iterable[SourceFile]) -> str:
    """A line that says which of the ``closed`` files and folders had what is ``kept``."""
    paths = {source.path for source in kept}
    around = {place for path in paths for place in _with_folders(path)}
    places = [source.path for source in closed if source.path in around]
    names = ", ".join(places[:_NAMED])
    more = f" (+{len(places) - _NAMED} more)" if len(places) > _NAMED else ""
    stay = f"{len(paths):,} files stay" if len(paths) != 1 else "1 file stays"
    return f"{names}{more}: cannot be opened; {stay} as last read; check the permissions"


def _with_folders(path: str) -> list[str]:
    """A path and those of the folders around it."""
    parts = path.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]
