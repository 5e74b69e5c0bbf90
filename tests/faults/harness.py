"""Real index runs in their own processes, killed where it hurts, and what must hold afterwards."""

from __future__ import annotations

import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import fixed_model
import polars as pl
from law import Tables, broken, committed, differences
from model_server import said
from test_change_law import CHINESE, ENGLISH

import graphkb
from graphkb.store.manifest import read_manifest
from graphkb.tables import PARQUET

REPOSITORY = Path(__file__).parents[2]
BATCH, IN_FLIGHT = 4, 2
# A reply is taken to have reached the asking process after so many seconds.
ARRIVAL = 0.25
STAGES = (
    "read", "cut", "terms", "extract", "resolve", "communities", "reports", "tokens", "graph",
    "searchable", "embed", "vectors complete",
)  # fmt: skip


class Embeddings:
    """An embedding server on loopback that counts what it was asked and what it answered."""

    def __init__(self, delay: float = 0.0) -> None:
        self.delay, self.fails = delay, False
        self.asked: list[list[str]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.asked.append(body["input"])
                time.sleep(outer.delay)
                status, reply = outer.reply(body["input"])
                payload = json.dumps(reply).encode()
                try:
                    self.send_response(status)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                except OSError:
                    pass  # the asking process was killed

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def reply(self, texts: list[str]) -> tuple[int, dict[str, Any]]:
        if self.fails:
            return 400, {"error": {"message": "this model is not loaded"}}
        data = [
            {"object": "embedding", "index": number, "embedding": [float(len(text)), 1.0, 2.0]}
            for number, text in enumerate(texts)
        ]
        return 200, {"object": "list", "data": data, "model": "m", "usage": {}}

    def repeated(self) -> int:
        """How often a text was asked for again."""
        counts = Counter(text for batch in self.asked for text in batch)
        return sum(count - 1 for count in counts.values())

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


class _Quiet(ThreadingHTTPServer):
    """Says nothing of connections that end with the process at their other end."""

    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)  # type: ignore[arg-type]


class Models:
    """A language model on loopback that remembers when each distinct request was answered."""

    def __init__(self, delay: float) -> None:
        self.answered: dict[str, list[float]] = {}
        self.again: list[str] = []
        self.killed = 0.0
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                raw = self.rfile.read(int(self.headers["Content-Length"]))
                outer.note(raw.decode())
                time.sleep(delay)
                _, data = said(fixed_model.play(json.loads(raw)))
                payload = json.dumps(data).encode()
                try:
                    self.send_response(200)
                    self.send_header("Content-Type", "application/json")
                    self.send_header("Content-Length", str(len(payload)))
                    self.end_headers()
                    self.wfile.write(payload)
                    outer.answered.setdefault(raw.decode(), []).append(time.monotonic())
                except OSError:
                    self.close_connection = True  # the asking process was killed

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = _Quiet(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def note(self, request: str) -> None:
        """Remember a request whose reply had come well before the kill."""
        before = [at for at in self.answered.get(request, []) if at < self.killed - ARRIVAL]
        if self.killed and before:
            self.again.append(request)

    def renew(self) -> None:
        """Forget everything: a scenario begins again."""
        self.answered.clear()
        self.again.clear()
        self.killed = 0.0

    def repeated(self) -> int:
        """How many replies were paid for twice."""
        return len(self.again)

    def close(self) -> None:
        self.http.shutdown()
        self.http.server_close()


Server = Embeddings | Models


def options(server: Server | None) -> list[str]:
    """Settings of a small project, with vectors or a language model from ``server`` where there
    is one."""
    common = ["chunks.size=90", "chunks.overlap=0", "cluster.max_cluster_size=4"]
    if server is None:
        return [*common, "embed.when=off"]
    if isinstance(server, Models):
        return [
            *common, "embed.when=off", f"llm.base_url={server.url}", "llm.model=fixed",
            "llm.concurrency=4", "resolve.method=llm", "describe.max_tokens=50",
            "report.model_share=0.5",
        ]  # fmt: skip
    return [
        *common, "embed.when=later", "embed.provider=openai", f"embed.base_url={server.url}",
        "embed.model=m", f"embed.batch_size={BATCH}", "embed.timeout=20",
        f"embed.concurrency={IN_FLIGHT}",
    ]  # fmt: skip


def write_input(root: Path, number: int) -> None:
    """Two dozen documents, of which another ``number`` changes, adds and leaves out some."""
    folder = root / "input"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    for place in range(24):
        if number and place % 7 == 3:
            continue
        chance = random.Random(place if place % 5 or not number else 1000 + place)
        body = chance.sample(ENGLISH + CHINESE, 8)
        (folder / f"文{place}.md").write_text(f"# Part {place}\n\n" + "\n".join(body), "utf-8")
    for place in range(4 * number):
        rows = [{"id": f"{place}", "title": "Gila monster", "text": CHINESE[place]}]
        (folder / f"new{place}.jsonl").write_text(json.dumps(rows[0]), "utf-8")


def indexed(root: Path, server: Server | None = None) -> Tables:
    """Index in this process to the end; the tables."""
    graphkb.open(root, options(server)).index()
    return committed(root)


def start(root: Path, server: Server | None = None) -> subprocess.Popen[bytes]:
    """``graphkb index`` in a new process, progress lines on its stderr."""
    sets = [part for option in options(server) for part in ("--set", option)]
    return subprocess.Popen(
        [sys.executable, "-m", "graphkb", "index", "--root", str(root), *sets],
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"},
    )  # fmt: skip


def seconds_of(root: Path, server: Server | None = None) -> float:
    """How long a whole run in a new process takes from its first progress line on."""
    process = start(root, server)
    assert process.stderr is not None
    process.stderr.readline()
    began = time.monotonic()
    said = process.stderr.read()
    assert process.wait() == 0, said
    process.stderr.close()
    return time.monotonic() - began


def kill(root: Path, server: Server | None, stage: str | None, delay: float) -> bool:
    """Start a run, SIGKILL it ``delay`` seconds after the first progress line that begins with
    ``stage`` (None: the first line); False when it was over before."""
    process = start(root, server)
    assert process.stderr is not None
    for line in process.stderr:
        if stage is None or line.decode("utf-8", "replace").startswith(stage):
            break
    time.sleep(delay)
    process.kill()
    process.stderr.read()
    process.stderr.close()
    return process.wait() != 0


def problems(root: Path, whole: Sequence[Tables]) -> list[str]:
    """What is wrong right after a kill: the last version must be one of ``whole``, and read."""
    if read_manifest(root / "output") is None:
        return []
    found = committed(root)
    said = broken(found)
    if all(differences(found, expected) for expected in whole):
        said.append("the version that reads is none of the whole ones")
    hits = graphkb.open(root, options(None)).search("Ada Lin 陈明")
    return said if hits else [*said, "search finds nothing"]


def unfinished(root: Path, expected: Tables) -> list[str]:
    """What is wrong after the run that goes on: tables, and the Parquet files beside them."""
    said = differences(committed(root), expected)
    tables = committed(root)
    for name in PARQUET:
        height = pl.read_parquet(root / "output" / f"{name}.parquet").height
        if height != tables[name].height:
            said.append(f"{name}.parquet: {height} rows, stored are {tables[name].height}")
    return said


class Killer:
    """One scenario, prepared once and killed again and again, each time from its start.

    ``kind`` is ``first`` (nothing indexed), ``update`` (after edits), ``vectors`` (nothing
    indexed, embeddings from a server), ``model`` or ``model update`` (a language model from a
    server, nothing indexed or after edits).
    """

    def __init__(self, folder: Path, kind: str) -> None:
        self.kind, self.folder = kind, folder
        self.server: Server | None = None
        if kind == "vectors":
            self.server = Embeddings(delay=0.02)
        elif kind.startswith("model"):
            self.server = Models(delay=0.02)
        model = self.server if isinstance(self.server, Models) else None
        self.base, self.root = folder / "base", folder / "killed"
        fresh = folder / "fresh"
        write_input(self.base, 0)
        self.whole = []
        if kind.endswith("update"):
            self.whole.append(indexed(self.base, model))
            write_input(self.base, 1)
        shutil.copytree(self.base / "input", fresh / "input")
        self.expected = indexed(fresh, model)
        self.whole.append(self.expected)
        self._renew()
        self.seconds = seconds_of(self.root, self.server)

    def _renew(self) -> None:
        shutil.rmtree(self.root, ignore_errors=True)
        shutil.copytree(self.base, self.root)
        if isinstance(self.server, Models):
            self.server.renew()
        elif self.server is not None:
            self.server.asked.clear()

    def once(self, chance: random.Random) -> tuple[str, list[str]]:
        """Kill at a random moment, look, go on, look again: where it was, and what is wrong."""
        self._renew()
        stage = chance.choice([None, *STAGES[: 12 if self.kind == "vectors" else 10]])
        delay = chance.uniform(0, self.seconds) if stage is None else chance.uniform(0, 0.06)
        where = f"{self.kind}, {delay:.3f} s after {stage or 'the start'}"
        if not kill(self.root, self.server, stage, delay):
            where += " (over already)"
        if isinstance(self.server, Models):
            self.server.killed = time.monotonic()
        said = problems(self.root, self.whole)
        indexed(self.root, self.server)
        said += unfinished(self.root, self.expected)
        if isinstance(self.server, Models) and self.server.repeated():
            said.append(f"{self.server.repeated()} replies were paid for twice")
        elif isinstance(self.server, Embeddings):
            vectors, units = (committed(self.root)[name] for name in ("vectors", "text_units"))
            if sorted(vectors["id"]) != sorted(units["id"]):
                said.append("not every text unit has a vector")
            if self.server.repeated() > BATCH * IN_FLIGHT:
                said.append(f"{self.server.repeated()} texts were embedded again")
        return where, said

    def close(self) -> None:
        if self.server is not None:
            self.server.close()
        shutil.rmtree(self.folder, ignore_errors=True)
