"""The connection to LanceDB, without what a folder has no use for, and what goes wrong there."""

from __future__ import annotations

import atexit
import os
import re
import sys
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from graphkb.errors import GraphkbError, StoreError
from graphkb.forked import begin_threads
from graphkb.store.rest_client import without_rest_client

if TYPE_CHECKING:
    import lancedb

T = TypeVar("T")

# What Rust's panics over a file that cannot be are called; they have no class to import.
_PANICS = ("RustPanic", "PanicException")
_FULL = re.compile(r"No space left on device|os error 28\b")
_RUST_PLACE = re.compile(r", /\S+\.rs:\d+")
# Its Rust part can be loaded only once.
_PYTHON_OF_LANCEDB = re.compile(r"(?:lancedb|lance_namespace)(?!\._lancedb)(?:\.|\Z)")
# The first question of a process asks the store from two threads.
_IMPORTING = threading.Lock()


def connect(path: Path) -> lancedb.DBConnection:
    """The database in a folder; it sees what other processes commit. Raises UsageError in a
    process forked from one that used a database."""
    _begin()
    import lancedb

    return lancedb.connect(str(path), read_consistency_interval=timedelta(0))


def connect_for_reading(path: Path) -> lancedb.AsyncConnection:
    """The database in a folder, for :func:`wait_for`. Raises UsageError as :func:`connect` does."""
    _begin()
    import lancedb

    return wait_for(lancedb.connect_async(str(path), read_consistency_interval=timedelta(0)))


def _begin() -> None:
    begin_threads()
    # LanceDB's Rust side warns on standard error about its own future API.
    os.environ.setdefault("LANCEDB_LOG", "error")
    _import_lancedb()


def wait_for(asked: Coroutine[Any, Any, T]) -> T:
    """What LanceDB answers. It is asked on its own event loop, once a query: its synchronous
    queries go there and back some six times each, a quarter of the time of a small look-up."""
    from lancedb.background_loop import LOOP

    answer: T = LOOP.run(asked)  # type: ignore[no-untyped-call]
    return answer


def _import_lancedb() -> None:
    """Import lancedb without what takes half a second of CPU and serves no folder."""
    with _IMPORTING:
        if "lancedb" in sys.modules:
            return
        try:
            with (
                without_rest_client(),
                _models_built_at_first_use(),
                _unchecked_overrides(),
                _not_shut_down_in_forks(),
            ):
                import lancedb
        except (ImportError, AttributeError, TypeError):
            # A version that this does not suit is imported as it is, which raises what is wrong
            # with it all the same.
            for name in [name for name in sys.modules if _PYTHON_OF_LANCEDB.match(name)]:
                del sys.modules[name]
            import lancedb  # noqa: F401


@contextmanager
def _not_shut_down_in_forks() -> Iterator[None]:
    """A forked process, even one that never looks into the store, would wait at its end for
    lancedb's threads, which stayed in the parent: it leaves their end to the parent."""
    register, registered = atexit.register, []

    def noted(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Callable[..., Any]:
        if (getattr(function, "__module__", None) or "").startswith("lancedb"):
            registered.append(function)
        return register(function, *args, **kwargs)

    def forget() -> None:
        for function in registered:
            atexit.unregister(function)

    atexit.register = noted  # type: ignore[assignment]
    try:
        yield
    finally:
        atexit.register = register
        if hasattr(os, "register_at_fork"):
            os.register_at_fork(after_in_child=forget)


@contextmanager
def _models_built_at_first_use() -> Iterator[None]:
    """Data classes get their checks when one is first used (pydantic's ``defer_build``, which
    classes inherit)."""
    from pydantic import BaseModel, ConfigDict

    own = BaseModel.model_config
    BaseModel.model_config = ConfigDict(**{**own, "defer_build": True})
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
    except GraphkbError:
        raise
    except BaseException as error:
        advice = _advice(error)
        if not advice:
            raise
        raise StoreError(f"{folder / name}.lance: {_first_line(error)}; {advice}") from error


def _advice(error: BaseException) -> str:
    """What to do about something that LanceDB raised; empty where it did not come from there."""
    if _FULL.search(str(error)):
        return "free disk space, then run again"
    if isinstance(error, OSError):
        return "check space and permissions"
    is_damage = isinstance(error, RuntimeError | ValueError | KeyError)
    if is_damage or type(error).__name__ in _PANICS:
        return "run graphkb doctor --repair, or index with --rebuild"
    return ""


def _first_line(error: BaseException) -> str:
    """What Lance says without the places in its source code."""
    if type(error).__name__ in _PANICS:
        return "a file of this table is damaged"
    line = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return _RUST_PLACE.split(line)[0].replace("Wrapped error: ", "")[:300]
