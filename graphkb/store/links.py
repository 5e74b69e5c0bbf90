"""A version's own copy of its tables and arrays, made of hard links.

Lance and numpy files are never changed once written, so two folders can share them: a copy
costs no space and no time, and lives on when the original is cleaned up. Where links cannot be
made (another file system), files are copied.
"""

from __future__ import annotations

import os
import shutil
import uuid
from collections.abc import Callable
from pathlib import Path

from graphkb.errors import StoreError
from graphkb.store.lance import Store
from graphkb.store.manifest import Manifest
from graphkb.tables import TABLES

_LARGEST = 2**64 - 1


def link_version(source: Path, manifest: Manifest, target: Path, folder: str) -> None:
    """Link the tables of a version in ``source`` into ``target / folder``.

    Only what the pinned table versions name is taken; each table is opened and counted in its
    new place. Raises StoreError when one cannot be.
    """
    original = Store(source, manifest.tables, manifest.folder)
    copied = Store(target, manifest.tables, folder)
    for name, version in manifest.tables.items():
        tables = (original.path / f"{name}.lance", copied.path / f"{name}.lance")
        expected = original.count(name)
        _link(*tables, _named_in(tables[0], version))
        if not _is_whole(copied, name, expected):
            # Lance may write its manifests differently one day: then take every data file.
            _link(*tables, lambda path: path.parts[0] != "_versions")
            if not _is_whole(copied, name, expected):
                raise StoreError(f"{tables[0]}: cannot be copied whole; run graphkb doctor")


def link_folder(source: Path, target: Path) -> None:
    """Link every file below ``source`` to the same place below ``target``."""
    _link(source, target, lambda path: True)


def _named_in(table: Path, version: int) -> Callable[[Path], bool]:
    """Which files of a Lance table belong to one version: data and transaction files are named
    in its manifest, indexes by the bytes of their uuid; deletion files are small, so all go."""
    name = f"{_LARGEST - version}.manifest"
    if not (table / "_versions" / name).exists():
        name = f"{version}.manifest"
    try:
        text = (table / "_versions" / name).read_bytes()
    except OSError as error:
        raise StoreError(
            f"{table}: version {version} cannot be read ({error}); run graphkb doctor"
        ) from None

    def named(path: Path) -> bool:
        match path.parts[0]:
            case "_versions":
                return path.name == name
            case "_deletions":
                return True
            case "_indices":
                return _uuid_bytes(path.parts[1]) in text
            case _:
                return path.name.encode() in text

    return named


def _uuid_bytes(text: str) -> bytes:
    try:
        return uuid.UUID(text).bytes
    except ValueError:
        return text.encode()


def _link(source: Path, target: Path, wanted: Callable[[Path], bool]) -> None:
    try:
        for path in sorted(source.rglob("*")):
            place = target / path.relative_to(source)
            if path.is_file() and wanted(path.relative_to(source)) and not place.exists():
                place.parent.mkdir(parents=True, exist_ok=True)
                _link_file(path, place)
    except OSError as error:
        raise StoreError(f"{target}: cannot be written ({error.strerror or error})") from None


def _link_file(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _is_whole(store: Store, name: str, expected: int) -> bool:
    """True when a table opens, its indexes too, and every row's key can be read."""
    try:
        rows = store.read(name, TABLES[name].key).height
        store.check_indexes(name)
    except StoreError:
        return False
    return rows == expected
