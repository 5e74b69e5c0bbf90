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
    """Import lancedb without what takes half a second of CPU and serves no folder."""
    if "lancedb" in sys.modules:
        return
    with _without_rest_client(), _models_built_at_first_use(), _unchecked_overrides():
        import lancedb  # noqa: F401


@contextmanager
def _without_rest_client() -> Iterator[None]:
    """An empty package in the place of a REST catalogue's client, whose ``__init__`` builds
    argument checks for every call of every endpoint: lancedb takes data classes from inside it,
    which are found all the same. It is taken away afterwards, so that whoever wants the client
    gets it."""
    spec = None if _REST_CLIENT in sys.modules else importlib.util.find_spec(_REST_CLIENT)
    if spec is None:
        yield
        return
    package = importlib.util.module_from_spec(spec)
    sys.modules[_REST_CLIENT] = package
    try:
        yield
    finally:
        if sys.modules.get(_REST_CLIENT) is package:
            del sys.modules[_REST_CLIENT]


@contextmanager
def _models_built_at_first_use() -> Iterator[None]:
    """The two hundred data classes of that catalogue get their checks when one is first used
    (pydantic's ``defer_build``, which classes inherit)."""
    from pydantic import BaseModel, ConfigDict

    own = BaseModel.model_config
    BaseModel.model_config = ConfigDict(**own, defer_build=True)
    try:
        yield
    finally:
        BaseModel.model_config = own


@contextmanager
def _unchecked_overrides() -> Iterator[None]:
    """The plain mark of typing, which lancedb takes itself from Python 3.12 on, in the place of
    a decorator that disassembles each class body again for each of its methods."""
    try:
        import overrides
        from typing_extensions import override
    except ImportError:
        yield
        return
    own = overrides.override
    overrides.override = override  # type: ignore[assignment]
    try:
        yield
    finally:
        overrides.override = own


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
