"""A deterministic OpenAI-compatible chat server on loopback, for tests."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Play = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
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


class ModelServer:
    """``requests`` are the bodies seen; set ``play`` to say what is answered."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.play: Play = lambda body: said("echo: " + body["messages"][-1]["content"])
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                status, data = outer.play(body)
                payload = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
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
