"""Graph arrays beside the tables: one folder of .npy files a version, read memory-mapped."""

from __future__ import annotations

import itertools
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from graphkb.errors import StoreError

FOLDER = "graph"


def write_arrays(output: Path, name: str, arrays: Mapping[str, NDArray[Any]]) -> str:
    """Write arrays into ``output/graph/<name>`` and return that path relative to ``output``.

    A folder that is there stays, a reader may have it mapped: a number is added to the name.
    """
    folder = output / FOLDER / name
    try:
        for number in itertools.count(2):
            if not folder.exists():
                break
            folder = output / FOLDER / f"{name}.{number}"
        folder.mkdir(parents=True)
        for key, array in sorted(arrays.items()):
            np.save(folder / f"{key}.npy", array, allow_pickle=False)
    except OSError as error:
        raise StoreError(f"{folder}: cannot be written ({error.strerror or error})") from error
    return f"{FOLDER}/{folder.name}"


def read_arrays(output: Path, relative: str) -> dict[str, NDArray[Any]]:
    """Memory-mapped arrays by name. Raises StoreError when the folder is missing or damaged."""
    folder = output / relative
    if not relative:
        raise StoreError(f"{output / FOLDER}: the graph arrays are not made; run graphkb index")
    arrays: dict[str, NDArray[Any]] = {}
    try:
        for path in sorted(folder.iterdir()):
            if path.suffix == ".npy":
                # numpy cannot map an empty array.
                small = path.stat().st_size < 4096
                mapped = np.load(path, mmap_mode=None if small else "r")
                # Plain views of the mapped memory: numpy.memmap makes every slice five times as
                # slow, and a question takes a thousand of them.
                arrays[path.stem] = np.asarray(mapped)
    except (OSError, ValueError) as error:
        raise StoreError(
            f"{folder}: the graph arrays cannot be read ({error}); "
            "run graphkb doctor --repair, then graphkb index"
        ) from error
    return arrays


def drop_arrays(output: Path, keep: set[str]) -> None:
    """Remove array folders that are not in ``keep`` (paths relative to ``output``)."""
    base = output / FOLDER
    if not base.is_dir():
        return
    for folder in base.iterdir():
        if f"{FOLDER}/{folder.name}" not in keep:
            shutil.rmtree(folder, ignore_errors=True)
