"""The connection to LanceDB, without what a database in a folder has no use for."""

from __future__ import annotations

import importlib.util
import os
import sys
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import lancedb

_REST_CLIENT = "lance_namespace_urllib3_client"


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
