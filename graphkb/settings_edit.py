"""Single values of settings.yaml replaced, with every comment and all other lines as they are."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from graphkb.errors import LockedError, SettingsError
from graphkb.settings_file import FILE_NAME
from graphkb.whole_file import check_writable, write_whole

# Seconds for which another process that edits is waited for.
_PATIENCE = 30.0
_NEW_LINE = re.compile(r"\r?\n")
_BEFORE_COMMENT = re.compile(r"(?:(?<=\s)|^)#", re.MULTILINE)


@dataclass(frozen=True)
class SettingsWritten:
    """The file that was written, and the one that holds what it said before, if that was kept."""

    path: Path
    backup: Path | None


@contextmanager
def edit_lock(root: Path) -> Iterator[None]:
    """Hold the lock under which the project's settings and dictionary are read and rewritten; a
    thread that holds it may take it again.

    Raises LockedError when another process holds it for too long, SettingsError when it cannot be
    made.
    """
    from filelock import FileLock, Timeout

    output = root / "output"
    lock = FileLock(output / "edit.lock", timeout=_PATIENCE, is_singleton=True)
    try:
        output.mkdir(exist_ok=True)
        lock.acquire()
    except Timeout:
        raise LockedError(
            f"{root}: another process is editing the settings for {_PATIENCE:g} s; try again later"
        ) from None
    except OSError as error:
        raise SettingsError(
            f"{output}: cannot be written ({error.strerror}); check permissions"
        ) from None
    try:
        yield
    finally:
        lock.release()


def write_settings(root: Path, values: Mapping[str, Any], keep_old: bool = True) -> SettingsWritten:
    """Put ``section.key`` values into the project's settings.yaml.

    With ``keep_old`` the old file is kept as settings.yaml.bak, or under the next free number
    (.bak2, .bak3) where that holds something else. Raises SettingsError, with nothing written,
    when the file is read-only, or laid out in a way that cannot be edited line by line.
    """
    path = root / FILE_NAME
    with edit_lock(root):
        try:
            before = path.read_bytes() if path.exists() else b""
            text = before.decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise SettingsError(f"{path}: cannot be read as UTF-8 text ({error})") from None
        edited = edit_settings(text, values, str(path))
        backup = None
        try:
            check_writable(path)
            if keep_old and path.exists():
                backup = _backup(path, before)
            write_whole(path, edited.encode())
        except OSError as error:
            raise SettingsError(
                f"{path}: cannot be written ({error.strerror}); check permissions and space, or "
                f"set these yourself: {_as_told(values)}"
            ) from None
    return SettingsWritten(path, backup)


def _backup(path: Path, before: bytes) -> Path:
    """A file beside it that holds the old content."""
    number = 1
    while True:
        backup = path.with_name(f"{path.name}.bak{number if number > 1 else ''}")
        if not backup.exists():
            write_whole(backup, before, like=path)
            return backup
        if backup.is_file() and backup.read_bytes() == before:
            return backup
        number += 1


def edit_settings(text: str, values: Mapping[str, Any], where: str = FILE_NAME) -> str:
    """``text`` with ``section.key`` values replaced, or put in where they are not there.

    Where a value of several lines becomes one, those of its lines that hold a comment stay above
    it as comments. Raises SettingsError when that cannot be done line by line.

    >>> print(edit_settings("search:  # legs\\n  top_k: 8  # hits\\n", {"search.top_k": 5}), end="")
    search:  # legs
      top_k: 5  # hits
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = _NEW_LINE.split(text)
    if not lines[-1]:
        lines.pop()
    try:
        for key, value in values.items():
            section, _, name = key.partition(".")
            lines = _with(lines, section, name, _flow(value))
        edited = end.join(lines) + end
        same = yaml.safe_load(edited) == _wanted(text, values)
    except (yaml.YAMLError, TypeError, AttributeError, ValueError):
        same = False
    if not same:
        raise SettingsError(
            f"{where}: cannot be edited line by line; set these yourself: {_as_told(values)}"
        )
    return edited


def _wanted(text: str, values: Mapping[str, Any]) -> Any:
    """What the edited file must hold: nothing but the values may differ."""
    wanted = yaml.safe_load(text) or {}
    for key, value in values.items():
        section, _, name = key.partition(".")
        wanted[section] = {**(wanted.get(section) or {}), name: value}
    return wanted


def _as_told(values: Mapping[str, Any]) -> str:
    return "; ".join(f"{key}: {_flow(value)}" for key, value in values.items())


def setting_lines(values: Mapping[str, Any]) -> list[str]:
    """The values as settings.yaml says them.

    >>> setting_lines({"search.fusion": "rrf", "search.weights": {"graph": 0.4}})
    ['search:', '  fusion: rrf', '  weights: {graph: 0.4}']
    """
    lines: list[str] = []
    for key, value in values.items():
        section, _, name = key.partition(".")
        lines += [f"{section}:"] * (f"{section}:" not in lines)
        lines.append(f"  {name}: {_flow(value)}")
    return lines


def _flow(value: Any) -> str:
    dumped = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return dumped.replace("\n...", "").strip()


def _with(lines: list[str], section: str, name: str, value: str) -> list[str]:
    start = _find(lines, 0, len(lines), "", section)
    if start is None:
        return [*lines, f"{section}:", f"  {name}: {value}"]
    stop = _block_end(lines, start, 0)
    indent = next((_indent(line) for line in lines[start + 1 : stop] if _is_code(line)), 2)
    place = _find(lines, start + 1, stop, " " * indent, name)
    if place is None:
        return [*lines[: start + 1], f"{' ' * indent}{name}: {value}", *lines[start + 1 :]]
    own_end = _block_end(lines, place, indent)
    first, *more = _own_comments(lines, place, own_end)
    kept = [
        " " * indent + (line.strip() if line.lstrip().startswith("#") else f"# {line.strip()}")
        for line, comment in zip(lines[place + 1 : own_end], more, strict=True)
        if comment
    ]
    made = f"{' ' * indent}{name}: {value}{first}"
    return [*lines[:place], *kept, made, *lines[own_end:]]


def _own_comments(lines: list[str], start: int, stop: int) -> list[str]:
    """The comment of each line from ``start`` to ``stop``, white space before it included; empty
    for none. Raises YAMLError for what is no YAML.

    >>> _own_comments(["a: 'x # y'  # z", "b: [1, # one", "  2]", "# end"], 0, 4)
    ['  # z', ' # one', '', '# end']
    """
    text = "\n".join(lines)
    # A # inside a text begins no comment.
    texts = [
        (token.start_mark.index, token.end_mark.index)
        for token in yaml.scan(text, yaml.SafeLoader)
        if isinstance(token, yaml.ScalarToken)
    ]
    comments = []
    offset = sum(len(line) + 1 for line in lines[:start])
    for line in lines[start:stop]:
        places = (
            found.start()
            for found in _BEFORE_COMMENT.finditer(line)
            if not any(begin <= offset + found.start() < end for begin, end in texts)
        )
        place = next(places, None)
        before = line[:place].rstrip() if place is not None else line
        comments.append(line[len(before) :])
        offset += len(line) + 1
    return comments


def _find(lines: list[str], start: int, stop: int, indent: str, name: str) -> int | None:
    pattern = re.compile(rf"{indent}{re.escape(name)}\s*:(?:\s|$)")
    return next((at for at in range(start, stop) if pattern.match(lines[at])), None)


def _block_end(lines: list[str], start: int, indent: int) -> int:
    """The line behind what belongs to the key at ``start``; blank lines and comments behind its
    last value belong to what follows."""
    end = start + 1
    for at in range(start + 1, len(lines)):
        if not _is_code(lines[at]):
            continue
        item = lines[at].lstrip().startswith("- ") and _indent(lines[at]) == indent
        if _indent(lines[at]) <= indent and not item:
            break
        end = at + 1
    return end


def _is_code(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith("#")


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
