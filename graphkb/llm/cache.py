"""Replies of language models, kept by everything that can change them."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from graphkb.errors import StoreError
from graphkb.tables import content_hash


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

    @property
    def key(self) -> str:
        """Cache key: endpoint, model, every message and every option."""
        options = json.dumps(dict(self.options), sort_keys=True, ensure_ascii=False)
        parts = [part for message in self.messages for part in message]
        return content_hash(self.base_url, self.model, options, *parts)


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


class ReplyCache:
    """``cache/llm.sqlite``: each reply is written as it arrives, so a killed run pays once."""

    file_name = "llm.sqlite"

    def __init__(self, folder: Path) -> None:
        self.path = folder / self.file_name
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self._database = sqlite3.connect(self.path, timeout=30, check_same_thread=False)
            self._database.execute("PRAGMA journal_mode=WAL")
            # A reply costs money: it is on disk before the next one is asked for.
            self._database.execute("PRAGMA synchronous=FULL")
            self._database.execute(
                "CREATE TABLE IF NOT EXISTS replies ("
                "key TEXT PRIMARY KEY, base_url TEXT, model TEXT, request TEXT, reply TEXT)"
            )
        except (sqlite3.Error, OSError) as error:
            raise StoreError(
                f"{self.path}: the reply cache cannot be used ({error}); "
                "run graphkb doctor --repair, or delete the file to start a new one"
            ) from error

    def get(self, request: Request) -> Reply | None:
        """The kept reply to exactly this request, or None."""
        row = self._database.execute(
            "SELECT reply FROM replies WHERE key = ?", (request.key,)
        ).fetchone()
        return Reply(**{**json.loads(row[0]), "cached": True}) if row else None

    def put(self, request: Request, reply: Reply) -> bool:
        """Keep a whole reply; False for one that is empty or was cut off, which is never kept."""
        if not reply.whole:
            return False
        values = (
            request.key,
            request.base_url,
            request.model,
            json.dumps(asdict(request), ensure_ascii=False),
            json.dumps(asdict(reply), ensure_ascii=False),
        )
        with self._database:
            self._database.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?, ?)", values)
        return True

    def drop(self, request: Request) -> None:
        """Forget a reply that turned out to be unusable."""
        with self._database:
            self._database.execute("DELETE FROM replies WHERE key = ?", (request.key,))

    def stats(self) -> list[dict[str, Any]]:
        """Per endpoint and model: replies kept and the tokens they cost."""
        query = (
            "SELECT base_url, model, COUNT(*), "
            "SUM(json_extract(reply, '$.prompt_tokens')), "
            "SUM(json_extract(reply, '$.completion_tokens')) "
            "FROM replies GROUP BY base_url, model ORDER BY base_url, model"
        )
        names = ("base_url", "model", "replies", "prompt_tokens", "completion_tokens")
        return [dict(zip(names, row, strict=True)) for row in self._database.execute(query)]

    def export(self) -> Iterator[dict[str, Any]]:
        """Every kept request with its reply, in key order."""
        query = "SELECT key, request, reply FROM replies ORDER BY key"
        for key, request, reply in self._database.execute(query):
            yield {"key": key, "request": json.loads(request), "reply": json.loads(reply)}

    def clear(self) -> int:
        """Forget all replies; how many there were."""
        with self._database:
            gone = self._database.execute("DELETE FROM replies").rowcount
        self._database.execute("VACUUM")
        return int(gone)

    def close(self) -> None:
        """Close the database file."""
        self._database.close()
