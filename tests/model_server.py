"""A deterministic OpenAI-compatible chat server on loopback, for tests."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Raw:
    """An answer byte for byte: each segment is sent by itself. Without segments, and with
    ``close``, the connection ends; a Content-Length among the headers is sent as it is."""

    segments: Sequence[bytes] = ()
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=lambda: {"Content-Type": "application/json"})
    close: bool = False


Answer = tuple[int, dict[str, Any]] | Raw
Play = Callable[[dict[str, Any]], Answer]
"""A request's body to a status and a reply."""


def said(text: str, finish_reason: str = "stop") -> tuple[int, dict[str, Any]]:
    """A chat completion with this text."""
    choice = {
        "index": 0, "finish_reason": finish_reason,
        "message": {"role": "assistant", "content": text},
    }  # fmt: skip
    usage = {"prompt_tokens": 7, "completion_tokens": 3, "total_tokens": 10}
    return 200, {"id": "x", "object": "chat.completion", "created": 0, "model": "m",
                 "choices": [choice], "usage": usage}  # fmt: skip


def prompt_of(body: dict[str, Any]) -> str:
    """Everything a request says, joined."""
    return "\n".join(str(message["content"]) for message in body["messages"])


def _events(data: dict[str, Any]) -> bytes:
    """A completion as server-sent events, a few characters each."""
    choice = data["choices"][0]
    text = choice["message"]["content"] or ""
    deltas = [{"content": text[i : i + 5]} for i in range(0, len(text), 5)]
    base = {"id": "x", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    chunks = [{**base, "choices": [{"index": 0, "delta": delta}]} for delta in deltas]
    end = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    chunks += [{**base, "choices": [end]}, {**base, "choices": [], "usage": data.get("usage")}]
    lines = [f"data: {json.dumps(chunk, ensure_ascii=False)}\n\n" for chunk in chunks]
    return "".join([*lines, "data: [DONE]\n\n"]).encode()


class _Server(ThreadingHTTPServer):
    """Takes as many connections at once as a client may open."""

    request_queue_size = 256
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that goes away, because it was killed or its time is over, is no error."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class ModelServer:
    """``requests`` are the bodies seen, ``headers`` and ``paths`` what came with them; set ``play``
    to say what is answered."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.paths: list[str] = []
        self.play: Play = lambda body: said("echo: " + body["messages"][-1]["content"])
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_POST(self) -> None:
                size = int(self.headers["Content-Length"])
                content = self.rfile.read(size)
                if len(content) < size:
                    self.close_connection = True  # The client is gone.
                    return
                body = json.loads(content)
                outer.requests.append(body)
                outer.headers.append({name.lower(): value for name, value in self.headers.items()})
                outer.paths.append(self.path)
                answer = outer.play(body)
                if isinstance(answer, Raw):
                    self.send_raw(answer)
                    return
                status, data = answer
                streamed = body.get("stream") and status == 200 and data.get("choices")
                payload = _events(data) if streamed else json.dumps(data).encode()
                kind = "text/event-stream" if streamed else "application/json"
                self.send_response(status)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def send_raw(self, answer: Raw) -> None:
                self.close_connection = answer.close
                if not answer.segments:
                    return
                headers = dict(answer.headers)
                if not answer.close:
                    size = sum(len(segment) for segment in answer.segments)
                    headers.setdefault("Content-Length", str(size))
                self.send_response(answer.status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                for segment in answer.segments:
                    self.wfile.write(segment)
                    self.wfile.flush()
                    time.sleep(0.01 if len(answer.segments) > 1 else 0)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = _Server(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"

    def close(self) -> None:
        """Stop answering."""
        self.http.shutdown()
        self.http.server_close()


@contextmanager
def model_server(play: Play | None = None) -> Iterator[ModelServer]:
    """A server for the length of a ``with`` block."""
    server = ModelServer()
    if play is not None:
        server.play = play
    try:
        yield server
    finally:
        server.close()
