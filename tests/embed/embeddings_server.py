"""An OpenAI-compatible embeddings endpoint on loopback; its answer is a function of the request."""

from __future__ import annotations

import base64
import contextlib
import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np

REPLIES = Path(__file__).parents[1] / "data" / "cases" / "replies" / "http"


@dataclass(frozen=True)
class Answer:
    """What is sent back: ``raw`` as it stands, or ``body`` as JSON; a Content-Length in
    ``headers`` is sent as given, and the connection closed after it."""

    status: int
    body: Any = None
    headers: Mapping[str, str] = field(default_factory=dict)
    raw: str | None = None


def recorded(name: str) -> Answer:
    """A recorded reply of the case bank."""
    found = json.loads((REPLIES / f"{name}.json").read_text("utf-8"))
    return Answer(found["status"], found["body"], found["headers"], found.get("raw_body"))


def refused(status: int, message: str, **headers: str) -> Answer:
    """An error in OpenAI's form."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Answer(status, {"error": {"message": message}}, named)


def vector_of(text: str, width: int = 4) -> list[float]:
    """A vector that tells texts apart."""
    return [float(len(text)), 1.0, float(text.count("青")), *[0.5] * (width - 3)]


def embedded(body: dict[str, Any], width: int = 4, encoding: str = "") -> Answer:
    """Vectors of all texts, in the encoding that was asked for, last text first."""
    asked = encoding or body.get("encoding_format", "float")

    def encode(values: list[float]) -> Any:
        if asked == "base64":
            return base64.b64encode(np.array(values, "<f4").tobytes()).decode()
        return values

    items = [
        {"object": "embedding", "index": place, "embedding": encode(vector_of(text, width))}
        for place, text in enumerate(body["input"])
    ]
    return Answer(200, {"object": "list", "data": items[::-1], "model": "m", "usage": {}})


class EmbeddingsServer:
    """``asked`` are the lists of texts of each request, ``flying`` the most requests at once."""

    def __init__(self) -> None:
        self.play: Callable[[dict[str, Any]], Answer] = embedded
        self.delay = 0.0
        self.bodies: list[dict[str, Any]] = []
        self.keys: list[str] = []
        self.paths: list[str] = []
        self.times: list[float] = []
        self.flying = 0
        self._now = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.bodies.append(body)
                outer.paths.append(self.path)
                outer.keys.append(self.headers.get("Authorization", ""))
                outer.times.append(time.monotonic())
                with outer.counted():
                    time.sleep(outer.delay)
                    answer = outer.play(body)
                self.answer(answer)

            def answer(self, answer: Answer) -> None:
                raw = json.dumps(answer.body) if answer.raw is None else answer.raw
                payload = raw.encode()
                self.send_response(answer.status)
                headers = {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(payload)),
                    **answer.headers,
                }
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                with contextlib.suppress(OSError):  # who asked may have given up
                    self.wfile.write(payload)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    @contextmanager
    def counted(self) -> Iterator[None]:
        """One request more is being answered."""
        with self._lock:
            self._now += 1
            self.flying = max(self.flying, self._now)
        yield
        with self._lock:
            self._now -= 1

    @property
    def asked(self) -> list[list[str]]:
        """The texts of each request."""
        return [body["input"] for body in self.bodies]

    @property
    def texts(self) -> list[str]:
        """Every text that was sent, as often as it was."""
        return [text for texts in self.asked for text in texts]

    def forget(self) -> None:
        """What was asked so far."""
        self.bodies.clear()
        self.keys.clear()
        self.times.clear()


@contextmanager
def embeddings_server() -> Iterator[EmbeddingsServer]:
    """A server for the length of a ``with`` block."""
    server = EmbeddingsServer()
    try:
        yield server
    finally:
        server.http.shutdown()
        server.http.server_close()
