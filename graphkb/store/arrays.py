"""Graph arrays beside the tables: one folder of .npy files a version, read memory-mapped.

``arrays.json`` in the folder says of each array its type, its shape and a hash of its bytes, so
that a lost, cut or foreign file is told from a whole one. Folders of older versions lack it.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from graphkb.errors import StoreError
from graphkb.store.manifest import replace_file, sync_folder
from graphkb.tables import content_hash

FOLDER = "graph"
FACTS = "arrays.json"

_WAY_OUT = "run graphkb doctor --repair, then graphkb index"
# Characters of the hash in a folder's name.
_NAME = 16
# Smaller files are read whole; numpy cannot map an empty array.
_PAGE = 4096


class GraphArrays(dict[str, NDArray[Any]]):
    """Arrays of one folder by name. One that is not there is damage: raises StoreError."""

    def __init__(self, folder: Path, facts: Mapping[str, Mapping[str, Any]]) -> None:
        super().__init__()
        self._folder, self._facts = folder, facts

    def __missing__(self, name: str) -> NDArray[Any]:
        raise StoreError(f"{self._folder / name}.npy: is missing; {_WAY_OUT}")

    def altered(self) -> list[str]:
        """Names of the arrays whose bytes are not those that were written, as far as
        ``arrays.json`` is there to say so. Reads every byte, about 1 GB a second."""
        facts = self._facts
        return [name for name in sorted(facts) if _hash(self[name]) != facts[name]["blake2b"]]


def write_arrays(output: Path, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write arrays into a folder below ``output/graph`` and return its path relative to ``output``.

    It is named by what they hold. A folder that is there stays, a reader may have it mapped: a
    number is added to the name. Everything is on disk for good when this returns, as the manifest
    that will name it.
    """
    facts = json.dumps({k: _facts_of(a) for k, a in arrays.items()}, indent=1, sort_keys=True)
    name = content_hash(facts)[:_NAME]
    folder = output / FOLDER / name
    try:
        for number in itertools.count(2):
            if not folder.exists():
                break
            folder = output / FOLDER / f"{name}.{number}"
        folder.mkdir(parents=True)
        for key, array in sorted(arrays.items()):
            with open(folder / f"{key}.npy", "wb") as file:
                np.save(file, array, allow_pickle=False)
                file.flush()
                os.fsync(file.fileno())
        replace_file(folder / FACTS, facts)
        for parent in (folder.parent, output):
            sync_folder(parent)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return f"{FOLDER}/{folder.name}"


def _facts_of(array: NDArray[Any]) -> dict[str, Any]:
    return {"dtype": array.dtype.str, "shape": list(array.shape), "blake2b": _hash(array)}


def _hash(array: NDArray[Any]) -> str:
    flat = np.ascontiguousarray(array).reshape(-1)
    return hashlib.blake2b(flat.view(np.uint8).data, digest_size=16).hexdigest()


def read_arrays(output: Path, relative: str) -> GraphArrays:
    """Memory-mapped arrays by name; only headers and sizes are looked at.

    Raises StoreError when the folder or an array is missing, or an array cannot be read or is
    of another type or shape than was written.
    """
    folder = output / relative
    if not relative:
        raise StoreError(f"{output / FOLDER}: the graph arrays are not made; run graphkb index")
    facts = _read_facts(folder)
    try:
        names = [path.stem for path in folder.iterdir() if path.suffix == ".npy"]
    except OSError as error:
        raise StoreError(
            f"{folder}: the graph arrays cannot be read ({error}); {_WAY_OUT}"
        ) from error
    arrays = GraphArrays(folder, facts)
    for name in sorted(facts or names):
        arrays[name] = array = _read(folder, name)
        said = facts.get(name)
        if said and (said["dtype"] != array.dtype.str or said["shape"] != list(array.shape)):
            raise StoreError(
                f"{folder / name}.npy: is another array ({array.dtype.str} {list(array.shape)}, "
                f"{FACTS} says {said['dtype']} {said['shape']}); {_WAY_OUT}"
            )
    return arrays


def _read(folder: Path, name: str) -> NDArray[Any]:
    path = folder / f"{name}.npy"
    try:
        with open(path, "rb") as file:
            size = os.fstat(file.fileno()).st_size
            if not size:
                raise ValueError("it is empty")
            if npy.read_magic(file) != (1, 0):
                raise ValueError("a format that graphkb does not write")
            shape, in_columns, dtype = npy.read_array_header_1_0(file)
            start, count = file.tell(), math.prod(shape)
            if dtype.hasobject or size != start + count * dtype.itemsize:
                raise ValueError(f"{size} bytes do not hold {dtype.str} {list(shape)}")
            order: Literal["C", "F"] = "F" if in_columns else "C"
            if size < _PAGE:
                array: NDArray[Any] = np.fromfile(file, dtype, count)
                return array.reshape(shape, order=order)
        # Plain views of the mapped memory: numpy.memmap makes every slice five times as slow,
        # and a question takes a thousand of them.
        return np.asarray(np.memmap(path, dtype, "r", start, shape, order))
    except FileNotFoundError:
        raise StoreError(f"{path}: is missing; {_WAY_OUT}") from None
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); {_WAY_OUT}") from error


def _read_facts(folder: Path) -> dict[str, dict[str, Any]]:
    """What ``arrays.json`` says by array; nothing where there is no such file."""
    path = folder / FACTS
    try:
        facts: dict[str, dict[str, Any]] = json.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, ValueError) as error:
        raise StoreError(f"{path}: cannot be read ({error}); {_WAY_OUT}") from error
    known = {"dtype", "shape", "blake2b"}
    whole = isinstance(facts, dict) and facts
    if not whole or not all(isinstance(f, dict) and known <= f.keys() for f in facts.values()):
        raise StoreError(f"{path}: does not say what the arrays are; {_WAY_OUT}")
    return facts


def array_damage(output: Path, relative: str, content: bool = False) -> str:
    """What is wrong with the arrays of a folder, and in which file; empty when nothing is.

    Looks at names, types and shapes, with ``content`` also at every byte.
    """
    try:
        arrays = read_arrays(output, relative)
    except StoreError as error:
        return str(error).removesuffix(f"; {_WAY_OUT}")
    altered = arrays.altered() if content else ()
    files = ", ".join(f"{name}.npy" for name in altered)
    return f"{output / relative}: other bytes than were written in {files}" if files else ""


def are_described(output: Path, relative: str) -> bool:
    """Whether ``arrays.json`` is there: an older graphkb wrote none."""
    return (output / relative / FACTS).is_file()


def drop_arrays(output: Path, keep: set[str]) -> None:
    """Remove array folders that are not in ``keep`` (paths relative to ``output``)."""
    base = output / FOLDER
    if not base.is_dir():
        return
    for folder in base.iterdir():
        if f"{FOLDER}/{folder.name}" not in keep:
            shutil.rmtree(folder, ignore_errors=True)
