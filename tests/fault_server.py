"""A chat server on loopback that fails a share of its calls, in every way that servers do.

Whether a request fails, and how, follows from the seed, its prompt and how often this prompt was
asked before: never from the order in which requests arrive. So every run is the same, whatever
the number of calls in flight.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

Reply = Callable[[dict[str, Any]], str]
Writer = asyncio.StreamWriter

_FAR_DATE = "Wed, 21 Oct 2099 07:28:00 GMT"
_HUNG_SECONDS = 30.0


@dataclass(frozen=True)
class Turn:
    """One request to be failed: where the answer goes, and the text that would have been right."""

    writer: Writer
    text: str

    async def send(
        self, status: int, body: str, headers: Sequence[str] = (), length: int | None = None,
        kind: str = "application/json",
    ) -> None:  # fmt: skip
        """Write an answer; a ``length`` beyond the body makes it a cut one."""
        data = body.encode()
        lines = [
            f"HTTP/1.1 {status} X", f"Content-Type: {kind}",
            f"Content-Length: {len(data) if length is None else length}", *headers,
        ]  # fmt: skip
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + data)
        await self.writer.drain()
        if length is not None:
            self.writer.close()


def completion(text: str | None, finish_reason: str = "stop") -> str:
    """The JSON of a chat completion."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": finish_reason, "message": message}
    usage = {"prompt_tokens": 20, "completion_tokens": 10, "total_tokens": 30}
    return json.dumps({"id": "x", "choices": [choice], "usage": usage}, ensure_ascii=False)


def _error(message: str) -> str:
    return json.dumps({"error": {"message": message}})


async def _hung(turn: Turn) -> None:
    await asyncio.sleep(_HUNG_SECONDS)


async def _half_closed(turn: Turn) -> None:
    turn.writer.close()


async def _slow(turn: Turn) -> None:
    await asyncio.sleep(0.1)
    await turn.send(200, completion(turn.text))


FAULTS: dict[str, Callable[[Turn], Awaitable[None]]] = {
    "429 seconds": lambda t: t.send(429, _error("slow down"), ["Retry-After: 0.02"]),
    "429 date": lambda t: t.send(429, _error("slow down"), [f"Retry-After: {_FAR_DATE}"]),
    "429": lambda t: t.send(429, _error("too many requests")),
    "500": lambda t: t.send(500, _error("internal error")),
    "502 page": lambda t: t.send(502, "<html><h1>502</h1></html>", kind="text/html"),
    "503": lambda t: t.send(503, _error("model loading"), ["Retry-After: 0.01"]),
    "hung": _hung,
    "half closed": _half_closed,
    "cut body": lambda t: t.send(200, completion(t.text)[:40], length=900),
    "no choices": lambda t: t.send(200, '{"id": "x", "choices": []}'),
    "null content": lambda t: t.send(200, completion(None)),
    "no JSON": lambda t: t.send(200, completion("I am sorry, here you are: {")),
    "slow": _slow,
}


class FaultServer:
    """Fails ``share`` of the calls by ``kinds`` of :data:`FAULTS`; ``reply`` gives the text of
    the others. ``requests`` are the bodies seen, ``faults`` counts what was played."""

    def __init__(
        self, reply: Reply, share: float = 0.3, seed: int = 0, kinds: Sequence[str] = (*FAULTS,)
    ) -> None:
        self.reply = reply
        self.share = share
        self.seed = seed
        self.kinds = kinds
        self.requests: list[dict[str, Any]] = []
        self.faults: Counter[str] = Counter()
        self._seen: Counter[str] = Counter()
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()
        self._ready.wait(10)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._server = self._loop.run_until_complete(
            asyncio.start_server(self._connection, "127.0.0.1", 0, backlog=256)
        )
        port = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{port}/v1"
        self._ready.set()
        self._loop.run_forever()
        self._server.close()
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: Writer) -> None:
        try:
            while not writer.is_closing():
                head = await reader.readuntil(b"\r\n\r\n")
                size = head.lower().split(b"content-length:")[1].split(b"\r\n")[0]
                body = json.loads(await reader.readexactly(int(size)))
                await self._answer(body, Turn(writer, self.reply(body)))
        except (asyncio.IncompleteReadError, ConnectionError, asyncio.CancelledError):
            pass
        finally:
            writer.close()

    async def _answer(self, body: dict[str, Any], turn: Turn) -> None:
        self.requests.append(body)
        fault = self._fault(json.dumps(body["messages"], ensure_ascii=False))
        if fault:
            self.faults[fault] += 1
            await FAULTS[fault](turn)
        else:
            await turn.send(200, completion(turn.text))

    def _fault(self, prompt: str) -> str:
        self._seen[prompt] += 1
        drawn = hashlib.sha256(f"{self.seed}\n{self._seen[prompt]}\n{prompt}".encode()).digest()
        if int.from_bytes(drawn[:4], "big") / 2**32 >= self.share:
            return ""
        return self.kinds[int.from_bytes(drawn[4:8], "big") % len(self.kinds)]

    def close(self) -> None:
        """Stop answering."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)


@contextmanager
def fault_server(
    reply: Reply, share: float = 0.3, seed: int = 0, kinds: Sequence[str] = (*FAULTS,)
) -> Iterator[FaultServer]:
    """A server for the length of a ``with`` block."""
    server = FaultServer(reply, share, seed, kinds)
    try:
        yield server
    finally:
        server.close()
