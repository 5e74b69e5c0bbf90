"""Single values of settings.yaml replaced, with every comment and all other lines as they are."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from graphkb.errors import SettingsError
from graphkb.settings_file import FILE_NAME


def write_settings(root: Path, values: Mapping[str, Any]) -> Path:
    """Put ``section.key`` values into the project's settings.yaml; the old file is kept as
    ``.bak``.

    Raises SettingsError, with nothing written, when the file is laid out in a way that cannot be
    edited line by line.
    """
    path = root / FILE_NAME
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        text = ""
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path}: cannot be read as UTF-8 text ({error})") from None
    edited = edit_settings(text, values, str(path))
    if path.exists():
        shutil.copyfile(path, path.with_name(f"{path.name}.bak"))
    whole = path.with_name(f"{path.name}.new")
    whole.write_bytes(edited.encode())
    os.replace(whole, path)
    return path


def edit_settings(text: str, values: Mapping[str, Any], where: str = FILE_NAME) -> str:
    """``text`` with ``section.key`` values replaced, or put in where they are not there.

    >>> print(edit_settings("search:  # legs\\n  top_k: 8  # hits\\n", {"search.top_k": 5}), end="")
    search:  # legs
      top_k: 5  # hits
    """
    end = "\r\n" if "\r\n" in text else "\n"
    lines = text.splitlines()
    for key, value in values.items():
        section, _, name = key.partition(".")
        lines = _with(lines, section, name, _flow(value))
    edited = end.join(lines) + end
    _check(text, edited, values, where)
    return edited


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
    comment = _comment(lines[place].split(":", 1)[1])
    own_end = _block_end(lines, place, indent)
    return [*lines[:place], f"{' ' * indent}{name}: {value}{comment}", *lines[own_end:]]


def _comment(rest: str) -> str:
    """What stands behind the value in a line, white space included.

    >>> _comment(" 'a # b'  # c"), _comment("  # c"), _comment(" a#b")
    ('  # c', '  # c', '')
    """
    try:
        node = yaml.compose(rest, yaml.SafeLoader)
    except yaml.YAMLError:
        return ""
    return rest[node.end_mark.index :] if node is not None else rest


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


def _check(before: str, after: str, values: Mapping[str, Any], where: str) -> None:
    """Read both: nothing but the values may differ."""
    try:
        wanted = yaml.safe_load(before) or {}
        for key, value in values.items():
            section, _, name = key.partition(".")
            wanted[section] = {**(wanted.get(section) or {}), name: value}
        same = yaml.safe_load(after) == wanted
    except (yaml.YAMLError, TypeError, AttributeError, ValueError):
        same = False
    if not same:
        raise SettingsError(
            f"{where}: cannot be edited line by line; set these yourself: "
            + "; ".join(f"{key}: {_flow(value)}" for key, value in values.items())
        )
