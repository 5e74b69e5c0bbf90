"""Projects whose documents a deterministic model reads."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

from model_server import Answer, ModelServer, model_server, said

import graphkb
from graphkb.project import Project

Reply = Callable[[str], Answer]
"""The passage of a prompt, with its title, to an answer."""

OFFLINE_ELSEWHERE = [
    "embed.when=off", "parquet=off", "report.method=offline", "describe.method=offline",
    "llm.model=reader", "llm.max_retries=0", "llm.max_wait=1",
]  # fmt: skip


def records(*facts: tuple[str, str, str], types: Mapping[str, str] | None = None) -> str:
    """A reply with these facts and their ends as entities."""
    names = dict.fromkeys(name for source, _, target in facts for name in (source, target))
    entities = [[name, (types or {}).get(name, "PERSON"), f"about {name}"] for name in names]
    return json.dumps(
        {"entities": entities, "relationships": [[*fact, "8"] for fact in facts], "claims": []},
        ensure_ascii=False,
    )


def passage_of(body: dict[str, Any]) -> str:
    """What stands in the block of a request's first question."""
    users = [m["content"] for m in body["messages"] if m["role"] == "user"]
    found = re.search(r"<document>\n(.*)\n</document>", users[0], re.DOTALL)
    return found.group(1) if found else ""


def capitals(passage: str) -> Answer:
    """Every pair of neighbouring capitalised or Chinese bracketed names is a fact: a model that
    depends on nothing but the passage."""
    names = re.findall(r"[A-Z][a-z]+ [A-Z][a-z]+|《[^》]+》", passage)
    facts = [(a, "meets", b) for a, b in pairwise(names) if a != b]
    if facts:
        return said(records(*facts))
    entities = [[name, "PERSON", ""] for name in dict.fromkeys(names)]
    return said(json.dumps({"entities": entities, "relationships": [], "claims": []}))


class Reader:
    """A project and the server that reads it; ``reply`` may be changed between runs."""

    def __init__(self, root: Path, server: ModelServer, reply: Reply) -> None:
        self.root, self.server, self.reply = root, server, reply
        self.settings = [*OFFLINE_ELSEWHERE, f"llm.base_url={server.url}"]
        self._lock = threading.Lock()
        self.passages: list[str] = []
        server.play = self._play

    def _play(self, body: dict[str, Any]) -> Answer:
        passage = passage_of(body)
        with self._lock:
            self.passages.append(passage)
        return self.reply(passage)

    def put(self, **texts: str) -> Reader:
        (self.root / "input").mkdir(exist_ok=True)
        for name, text in texts.items():
            (self.root / "input" / f"{name}.txt").write_text(text, "utf-8")
        return self

    def project(self, *overrides: str) -> Project:
        return graphkb.open(self.root, [*self.settings, *overrides])

    def index(self, *overrides: str, **options: Any) -> tuple[Project, Any]:
        """The project and its result; ``passages`` are those asked in this run."""
        self.passages.clear()
        project = self.project(*overrides)
        return project, project.index(**options)


@contextmanager
def reader(root: Path, reply: Reply = capitals) -> Iterator[Reader]:
    """A reader of the project at ``root`` for the length of a ``with`` block."""
    with model_server() as server:
        yield Reader(root, server, reply)


def relationships(project: Project) -> set[tuple[str, str, str]]:
    """(source, type, target) of every relationship that a model gave."""
    table = project.table("relationships")
    return {
        (row["source"], row["type"], row["target"])
        for row in table.to_dicts()
        if row["type"] != "RELATED"
    }


def extractions(project: Project) -> list[dict[str, Any]]:
    """The rows of ``extractions``."""
    rows: Sequence[dict[str, Any]] = project._current().store.read("extractions").to_dicts()
    return list(rows)
