"""A deterministic OpenAI-compatible server on loopback, in a process of its own.

It answers as a fixed model would, after a given latency, and counts what it was asked, so that
what is measured is the asking program alone. ``play`` maps a chat request to the reply's text.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import json
import multiprocessing
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any

import numpy as np

from graphkb.text.tokens import count_tokens

Play = Callable[[dict[str, Any]], str]
DIMENSION = 64


@dataclass
class Loopback:
    """Where the server listens; :meth:`counts` says what it has answered so far."""

    url: str

    def counts(self) -> dict[str, Any]:
        """chat calls, prompt and reply tokens (o200k_base), texts embedded."""
        with urllib.request.urlopen(self.url.replace("/v1", "/counts")) as reply:
            found: dict[str, Any] = json.load(reply)
        return found


class _Server:
    def __init__(self, play: Play, latency: float) -> None:
        self.play, self.latency = play, latency
        self.prompts: list[str] = []
        self.replies: list[str] = []
        self.embedded = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                verb, path, _ = head.split(" ", 2)
                length = next(
                    (
                        int(line.split(":")[1])
                        for line in head.split("\r\n")
                        if line.lower().startswith("content-length")
                    ),
                    0,
                )
                raw = await reader.readexactly(length)
                body = json.loads(raw) if verb == "POST" else {}
                data = json.dumps(await self.answer(path, body)).encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
                    + f"content-length: {len(data)}\r\n\r\n".encode()
                    + data
                )
                await writer.drain()
        except (asyncio.IncompleteReadError, ConnectionError):
            writer.close()

    async def answer(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        if path.endswith("/counts"):
            return {
                "calls": len(self.prompts),
                "prompt_tokens": sum(map(count_tokens, self.prompts)),
                "reply_tokens": sum(map(count_tokens, self.replies)),
                "embedded": self.embedded,
            }
        if path.endswith("/embeddings"):
            texts = body["input"] if isinstance(body["input"], list) else [body["input"]]
            self.embedded += len(texts)
            as_text = body.get("encoding_format") == "base64"
            data = [
                {"object": "embedding", "index": place, "embedding": _vector(text, as_text)}
                for place, text in enumerate(texts)
            ]
            usage = {"prompt_tokens": 1, "total_tokens": 1}
            return {"object": "list", "data": data, "model": body["model"], "usage": usage}
        self.prompts.append("\n".join(str(m.get("content")) for m in body["messages"]))
        text = self.play(body)
        self.replies.append(text)
        if self.latency:
            await asyncio.sleep(self.latency)
        return completion(body, text)


def completion(body: dict[str, Any], text: str) -> dict[str, Any]:
    """A chat completion; a request with tools is answered by a call of the first one."""
    message: dict[str, Any] = {"role": "assistant", "content": text}
    if body.get("tools"):
        function = {"name": body["tools"][0]["function"]["name"], "arguments": text}
        call = {"id": "c", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    n_prompt = sum(len(str(m.get("content"))) for m in body["messages"]) // 4
    usage = {"prompt_tokens": n_prompt, "completion_tokens": len(text) // 4,
             "total_tokens": n_prompt + len(text) // 4}  # fmt: skip
    return {"id": "x", "object": "chat.completion", "created": 0, "model": body["model"],
            "choices": [choice], "usage": usage}  # fmt: skip


def _vector(text: Any, as_text: bool) -> Any:
    seed = int.from_bytes(hashlib.sha256(str(text).encode()).digest()[:4], "big")
    vector = np.random.default_rng(seed).standard_normal(DIMENSION).astype(np.float32)
    vector /= np.linalg.norm(vector)
    return base64.b64encode(vector.tobytes()).decode() if as_text else vector.tolist()


def _main(play: Play, latency: float, answer: Connection) -> None:
    async def run() -> None:
        server = await asyncio.start_server(_Server(play, latency).serve, "127.0.0.1", 0)
        answer.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


@contextmanager
def loopback(play: Play, latency: float = 0.0) -> Iterator[Loopback]:
    """The server for the length of a ``with`` block. ``play`` must be importable."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_main, args=(play, latency, there), daemon=True)
    process.start()
    try:
        yield Loopback(f"http://127.0.0.1:{here.recv()}/v1")
    finally:
        process.terminate()
        process.join()
