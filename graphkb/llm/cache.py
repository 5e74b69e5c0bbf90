"""Replies of language models, kept by everything that can change them."""

from __future__ import annotations

import errno
import json
import queue
import shutil
import sqlite3
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from graphkb.errors import StoreError
from graphkb.llm.characters import whole_characters
from graphkb.llm.keys import hidden
from graphkb.llm.memo import ByIdentity
from graphkb.tables import content_hash


def _in_order(value: Any) -> str:
    """JSON with sorted keys."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False)


_SCHEMAS = ByIdentity(_in_order)


@dataclass(frozen=True)
class Request:
    """One chat request: everything that can change the reply, and nothing else.

    ``messages`` are (role, text) pairs; ``options`` are the other parameters of the call, such
    as temperature, max_tokens and the JSON schema asked for.
    """

    base_url: str
    model: str
    messages: tuple[tuple[str, str], ...]
    options: Mapping[str, Any]

    @cached_property
    def key(self) -> str:
        """Cache key: endpoint, model, every message and every option."""
        options = ", ".join(
            f"{_in_order(name)}: {_SCHEMAS(value) if name == 'schema' else _in_order(value)}"
            for name, value in sorted(self.options.items())
        )
        parts = [part for message in self.messages for part in message]
        return content_hash(self.base_url, self.model, f"{{{options}}}", *parts)


@dataclass(frozen=True)
class Reply:
    """A model's reply; ``cached`` when it was not paid for this time."""

    text: str
    finish_reason: str
    prompt_tokens: int
    completion_tokens: int
    cached: bool = False

    @property
    def whole(self) -> bool:
        """True for a reply with text that the model ended itself."""
        return bool(self.text.strip()) and self.finish_reason == "stop"


_FIELDS = {name: type(value) for name, value in asdict(Reply("", "", 0, 0)).items()}
_TABLES = (
    "CREATE TABLE IF NOT EXISTS replies ("
    "key TEXT PRIMARY KEY, base_url TEXT, model TEXT, request TEXT, reply TEXT)",
    "CREATE TABLE IF NOT EXISTS servers ("
    "base_url TEXT, model TEXT, traits TEXT, PRIMARY KEY (base_url, model))",
)
_MOST_IN_ONE_COMMIT = 512
# Free bytes below which an I/O error is a full disk's: the least a new database and its log take.
_LEAST_FREE = 100_000


class ReplyCache:
    """``cache/llm.sqlite``: a reply is on disk before it is handed on, so a killed run pays once.

    Safe from several threads. What several calls write at the same time shares one commit.
    """

    file_name = "llm.sqlite"

    def __init__(self, folder: Path) -> None:
        self.path = folder / self.file_name
        self._reading = threading.Lock()
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._reader = self._connect()
            with self._reader:
                for statement in _TABLES:
                    self._reader.execute(statement)
        except (sqlite3.Error, OSError) as error:
            raise self._unusable(error) from error
        self._work: queue.SimpleQueue[_Write | None] = queue.SimpleQueue()
        self._writer: threading.Thread | None = None

    def _connect(self) -> sqlite3.Connection:
        database = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
        try:
            database.execute("PRAGMA journal_mode=WAL")
            # A reply costs money: it is on disk before it is handed on.
            database.execute("PRAGMA synchronous=FULL")
        except sqlite3.Error:
            database.close()
            raise
        return database

    def _unusable(self, error: Exception) -> StoreError:
        advice = "run graphkb doctor --repair, or delete the file to start a new one"
        if _is_full(error, self.path.parent):
            advice = "free disk space, then run again"
        return StoreError(f"{self.path}: the reply cache cannot be used ({error}); {advice}")

    def get(self, request: Request) -> Reply | None:
        """The kept reply to exactly this request, or None."""
        rows = self._rows("SELECT reply FROM replies WHERE key = ?", (request.key,))
        return _reply(rows[0][0]) if rows else None

    def get_many(self, requests: Sequence[Request]) -> list[Reply | None]:
        """As :meth:`get`, of each of a few hundred requests at most, in one look."""
        marks = ", ".join("?" * len(requests))
        query = f"SELECT key, reply FROM replies WHERE key IN ({marks})"
        kept = dict(self._rows(query, tuple(request.key for request in requests)))
        return [_reply(kept[r.key]) if r.key in kept else None for r in requests]

    def put(self, request: Request, reply: Reply) -> bool:
        """Keep a whole reply; False for one that is empty or was cut off, which is never kept."""
        kept = self.put_soon(request, reply)
        if kept is not None:
            kept.result()
        return kept is not None

    def put_soon(self, request: Request, reply: Reply) -> Future[None] | None:
        """As :meth:`put`, without waiting: the future is done when the reply is on disk."""
        if not reply.whole:
            return None
        values = (
            request.key,
            request.base_url,
            request.model,
            _json(_as_dict(request)),
            _json(asdict(reply)),
        )
        return self._write("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", values)

    def drop(self, request: Request) -> None:
        """Forget a reply that turned out to be unusable."""
        self._write("DELETE FROM replies WHERE key = ?", (request.key,)).result()

    def server(self, base_url: str, model: str) -> dict[str, Any]:
        """What is remembered of a server; empty when it is not known."""
        query = "SELECT traits FROM servers WHERE base_url = ? AND model = ?"
        rows = self._rows(query, (base_url, model))
        return _object(rows[0][0]) if rows else {}

    def remember_server(self, base_url: str, model: str, traits: Mapping[str, Any]) -> Future[None]:
        """Keep what a server proved; the future is done when it is on disk."""
        values = (base_url, model, _json(traits))
        return self._write("INSERT OR REPLACE INTO servers VALUES (?, ?, ?)", values)

    def stats(self) -> list[dict[str, Any]]:
        """Per endpoint and model: replies kept and the tokens they cost."""
        query = (
            "SELECT base_url, model, COUNT(*), "
            "COALESCE(SUM(json_extract(reply, '$.prompt_tokens')), 0), "
            "COALESCE(SUM(json_extract(reply, '$.completion_tokens')), 0) "
            "FROM replies WHERE json_valid(reply) GROUP BY base_url, model ORDER BY base_url, model"
        )
        names = ("base_url", "model", "replies", "prompt_tokens", "completion_tokens")
        return [dict(zip(names, row, strict=True)) for row in self._rows(query)]

    def export(self) -> Iterator[dict[str, Any]]:
        """Every kept request with its reply, in key order."""
        for key, request, reply in self._rows(
            "SELECT key, request, reply FROM replies ORDER BY key"
        ):
            if _reply(reply) is not None:
                yield {"key": key, "request": _object(request), "reply": _object(reply)}

    def clear(self) -> int:
        """Forget all replies, and what servers proved; how many replies there were."""
        count = int(self._rows("SELECT COUNT(*) FROM replies")[0][0])
        self._write("DELETE FROM servers", ())
        self._write("DELETE FROM replies", ()).result()
        with self._reading:
            self._reader.execute("VACUUM")
        return count

    def close(self) -> None:
        """Write what is waiting and close the database file."""
        if self._writer is not None:
            self._work.put(None)
            self._writer.join()
            self._writer = None
        with self._reading:
            self._reader.close()

    def _rows(self, query: str, values: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
        try:
            with self._reading:
                return self._reader.execute(query, values).fetchall()
        except sqlite3.Error as error:
            raise self._unusable(error) from error

    def _write(self, statement: str, values: tuple[Any, ...]) -> Future[None]:
        with self._reading:
            if self._writer is None:
                try:
                    database = self._connect()
                except sqlite3.Error as error:
                    raise self._unusable(error) from error
                self._writer = threading.Thread(
                    target=self._write_all, args=(database,), name="graphkb-replies", daemon=True
                )
                self._writer.start()
        write = _Write(statement, values, Future())
        self._work.put(write)
        return write.done

    def _write_all(self, database: sqlite3.Connection) -> None:
        """The writing thread: everything that waits goes into one commit."""
        try:
            while (first := self._work.get()) is not None:
                writes = [first]
                while len(writes) < _MOST_IN_ONE_COMMIT and not self._work.empty():
                    following = self._work.get()
                    if following is None:
                        self._work.put(None)
                        break
                    writes.append(following)
                self._commit(database, writes)
        finally:
            database.close()

    def _commit(self, database: sqlite3.Connection, writes: list[_Write]) -> None:
        # Of an interrupted run nobody waits any more; its replies are kept all the same.
        waiting = [write for write in writes if write.done.set_running_or_notify_cancel()]
        try:
            with database:
                for write in writes:
                    database.execute(write.statement, write.values)
        except sqlite3.Error as error:
            failure = StoreError(
                f"{self.path}: a model's reply cannot be kept ({error}); free disk space or check "
                "the folder's permissions, then run again"
            )
            for write in waiting:
                write.done.set_exception(failure)
        else:
            for write in waiting:
                write.done.set_result(None)


@dataclass(frozen=True)
class _Write:
    statement: str
    values: tuple[Any, ...]
    done: Future[None]


def _is_full(error: Exception, folder: Path) -> bool:
    """Whether an error is that of a full disk, which SQLite may call an I/O error."""
    name = getattr(error, "sqlite_errorname", "")
    if name.startswith("SQLITE_IOERR"):
        return folder.is_dir() and shutil.disk_usage(folder).free < _LEAST_FREE
    return name == "SQLITE_FULL" or getattr(error, "errno", 0) in (errno.ENOSPC, errno.EDQUOT)


def _json(value: Any) -> str:
    """JSON that SQLite can keep: half characters (lone surrogates) stay escaped."""
    text = json.dumps(value, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(value)
    return text


def _object(kept: Any) -> dict[str, Any]:
    """A row's JSON object; empty when it holds none."""
    try:
        values = json.loads(kept)
    except (ValueError, TypeError, RecursionError):
        return {}
    return values if isinstance(values, dict) else {}


def _reply(kept: Any) -> Reply | None:
    """A row's reply; None when the row is damaged or another version's."""
    values = _object(kept)
    if {name: type(value) for name, value in values.items()} != _FIELDS:
        return None
    return Reply(**{**values, "text": whole_characters(values["text"]), "cached": True})


def _as_dict(request: Request) -> dict[str, Any]:
    return {
        "base_url": request.base_url,
        "model": request.model,
        "messages": request.messages,
        # A schema is long and holds no secrets.
        "options": {
            name: value if name == "schema" else hidden(value, name)
            for name, value in request.options.items()
        },
    }
