"""The connection to LanceDB, without what a folder has no use for, and what goes wrong there."""

from __future__ import annotations

import importlib.util
import os
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from graphkb.errors import StoreError

if TYPE_CHECKING:
    import lancedb

_REST_CLIENT = "lance_namespace_urllib3_client"
_RUST_PLACE = re.compile(r", /\S+\.rs:\d+")


def connect(path: Path) -> lancedb.DBConnection:
    """The database in a folder; it sees what other processes commit."""
    # LanceDB's Rust side warns on standard error about its own future API.
    os.environ.setdefault("LANCEDB_LOG", "error")
    _import_lancedb()
    import lancedb

    return lancedb.connect(str(path), read_consistency_interval=timedelta(0))


def _import_lancedb() -> None:
    """Import lancedb without the client of a REST catalogue.

    lancedb takes data classes from inside that client's package, whose ``__init__`` builds
    argument checks for every call of every endpoint: a second of CPU. An empty package in its
    place still lets the data classes be found; it is taken away afterwards, so that whoever wants
    the client gets it.
    """
    spec = None if _REST_CLIENT in sys.modules else importlib.util.find_spec(_REST_CLIENT)
    if spec is None or "lancedb" in sys.modules:
        return
    package = importlib.util.module_from_spec(spec)
    sys.modules[_REST_CLIENT] = package
    try:
        import lancedb  # noqa: F401
    finally:
        if sys.modules.get(_REST_CLIENT) is package:
            del sys.modules[_REST_CLIENT]


@contextmanager
def explained(folder: Path, name: str) -> Iterator[None]:
    """Turn what LanceDB raises into one line that names the table and the way out."""
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"{folder / name}.lance: {_first_line(error)}; check space and permissions"
        ) from error
    except (RuntimeError, ValueError, KeyError) as error:
        raise StoreError(
            f"{folder / name}.lance: {_first_line(error)}; "
            "run graphkb doctor --repair, or index with --rebuild"
        ) from error


def _first_line(error: Exception) -> str:
    """What Lance says without the places in its source code."""
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return _RUST_PLACE.split(line)[0].replace("Wrapped error: ", "")[:300]
