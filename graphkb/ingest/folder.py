"""The files of the input folder."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path

from graphkb.errors import InputSettingsError
from graphkb.ingest.ignored import Ignored
from graphkb.ingest.records import SourceFile
from graphkb.settings_input import Input

_NEVER = frozenset({"thumbs.db", "desktop.ini", "__macosx"})


def list_files(
    folder: Path,
    options: Input,
    left_out: list[str] | None = None,
    closed: list[SourceFile] | None = None,
) -> list[SourceFile]:
    """Every file below ``folder`` that the patterns let through, at any depth, by path.

    Hidden files and folders, Thumbs.db, ``~$`` lock files and __MACOSX are left out. A pattern
    without ``/`` matches names at any depth, one with ``/`` the path below the folder; one that
    names a folder takes all below it. Links to folders inside are not followed (they are met
    anyway). A link that leads out of the folder is listed and not followed, so that reading it
    says where it leads; with ``input.follow_links`` it is, a folder once however many links lead
    there. What cannot be opened is listed too. With ``input.gitignore`` what repositories leave
    out is left out; a line that says so is added to ``left_out``. Folders that cannot be opened
    and are not excluded are added to ``closed``, whatever is included.

    Raises InputSettingsError where the folder is missing, is a file or cannot be opened.
    """
    # Unlike Path.exists these do not raise where a folder above may not be entered.
    if not os.path.exists(folder):
        if not os.access(_nearest(folder), os.X_OK):
            raise _not_opened(folder)
        raise InputSettingsError(
            f"the input folder {_shown(str(folder))} does not exist; "
            "create it and put documents in, or change the setting input.folder"
        )
    if not os.path.isdir(folder):
        raise InputSettingsError(
            f"the input folder {_shown(str(folder))} is a file; "
            "move the file into a folder and set input.folder to that folder"
        )
    include = [_pattern(pattern) for pattern in options.include]
    exclude = [_pattern(pattern) for pattern in options.exclude]
    ignored = Ignored() if options.gitignore else None
    shut: list[SourceFile] = []
    found = _walk(folder, ignored, shut, follow_links=options.follow_links)
    files = [
        file
        for file in [*found, *shut]
        if any(pattern.fullmatch(file.path) for pattern in include)
        and not any(pattern.fullmatch(file.path) for pattern in exclude)
    ]
    if closed is not None:
        closed += [file for file in shut if not is_excluded(file.path, options)]
    if ignored is not None and left_out is not None:
        left_out += ignored.notes()
    return sorted(files, key=lambda file: (file.path, os.fsencode(file.location)))


def is_excluded(path: str, options: Input) -> bool:
    """True for a path that ``input.exclude`` leaves out."""
    return any(_pattern(pattern).fullmatch(path) for pattern in options.exclude)


def is_wanted(path: str, options: Input) -> bool:
    """True for a path that ``input.include`` and ``input.exclude`` let through."""
    included = any(_pattern(pattern).fullmatch(path) for pattern in options.include)
    return included and not is_excluded(path, options)


def _nearest(folder: Path) -> str:
    """The nearest folder above that is there."""
    return str(next(above for above in folder.absolute().parents if os.path.exists(above)))


def _not_opened(folder: str | Path) -> InputSettingsError:
    return InputSettingsError(
        f"the input folder {_shown(str(folder))} cannot be opened; check its permissions, "
        "or change the setting input.folder"
    )


def _walk(
    folder: Path, ignored: Ignored | None, shut: list[SourceFile], *, follow_links: bool
) -> list[SourceFile]:
    """Files below a folder; folders that cannot be opened are added to ``shut``."""
    root = os.path.realpath(folder)
    seen = {root}
    stack = [(str(folder), "")]
    files: list[SourceFile] = []
    while stack:
        location, below = stack.pop()
        try:
            with os.scandir(location) as found:
                entries = sorted(found, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            if below:
                shut.append(SourceFile(_shown(below), Path(location), 0))
                continue
            raise _not_opened(location) from None
        if ignored is not None and any(entry.name == ".gitignore" for entry in entries):
            ignored.enter(location, _shown(below))
        for entry in entries:
            if is_left_out(entry.name):
                continue
            path = f"{below}/{entry.name}" if below else entry.name
            is_folder = _is_folder(entry)
            if ignored is not None and ignored.leaves_out(
                _shown(path), _shown(entry.name), is_folder=is_folder
            ):
                continue
            if not follow_links and _leads_out(entry, root):
                target = _shown(os.path.realpath(entry.path))
                files.append(SourceFile(_shown(path), Path(entry.path), 0, leads_to=target))
            elif is_folder:
                if _is_new_folder(entry, root, seen):
                    stack.append((entry.path, path))
            else:
                files.append(SourceFile(_shown(path), Path(entry.path), _size(entry)))
    return files


def is_left_out(name: str) -> bool:
    """True for names of files and folders that are never documents.

    >>> is_left_out("__MACOSX"), is_left_out(".git"), is_left_out("a.txt")
    (True, True, False)
    """
    return name.startswith((".", "~$")) or name.casefold() in _NEVER


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:
        return False


def _leads_out(entry: os.DirEntry[str], root: str) -> bool:
    """Whether an entry is a link to what is there and not below the folder."""
    if not entry.is_symlink():
        return False
    real = os.path.realpath(entry.path)
    below = real == root or real.startswith(root.rstrip(os.sep) + os.sep)
    return not below and os.path.exists(real)


def _is_new_folder(entry: os.DirEntry[str], root: str, seen: set[str]) -> bool:
    """False for a linked folder that is met elsewhere, so that loops of links end."""
    if not entry.is_symlink():
        return True
    real = os.path.realpath(entry.path)
    inside = real == root or real.startswith(root.rstrip(os.sep) + os.sep)
    above = root.startswith(real.rstrip(os.sep) + os.sep)
    if inside or above or any(real.startswith(other + os.sep) for other in seen - {root}):
        return False
    if real in seen:
        return False
    seen.add(real)
    return True


def _size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat().st_size
    except OSError:
        return 0


def _shown(name: str) -> str:
    """The name as valid text: bytes that are not UTF-8 become ``\\xNN``."""
    return os.fsencode(name).decode("utf-8", "backslashreplace").replace(os.sep, "/")


@lru_cache(maxsize=256)
def _pattern(pattern: str) -> re.Pattern[str]:
    """A glob as a regular expression over the path below the folder."""
    pattern = pattern.replace("\\", "/").removeprefix("./").lstrip("/")
    below = pattern.endswith("/")
    pattern = pattern.rstrip("/")
    prefix = "" if "/" in pattern else r"(?:.*/)?"
    parts = re.findall(r"\*\*/|\*\*|\*|\?|\[!?[^\]/]+\]|.", pattern, re.DOTALL)
    body = "".join(_glob_part(part) for part in parts)
    return re.compile(prefix + body + (r"/.*" if below else r"(?:/.*)?"), re.DOTALL)


def _glob_part(part: str) -> str:
    if part == "**/":
        return r"(?:.*/)?"
    if part == "**":
        return r".*"
    if part == "*":
        return r"[^/]*"
    if part == "?":
        return r"[^/]"
    if len(part) > 2 and part.startswith("["):
        inside = part[1:-1]
        negated = inside.startswith("!")
        characters = re.sub(r"([\\\[\]^&~|])", r"\\\1", inside[negated:])
        # A range written backwards ([z-a]) is no range; its characters are then meant as such.
        if re.search(r"(.)-(.)", characters) and any(
            a > b for a, b in re.findall(r"(.)-(.)", characters)
        ):
            characters = characters.replace("-", r"\-")
        return f"[{'^' if negated else ''}{characters}]"
    return re.escape(part)
