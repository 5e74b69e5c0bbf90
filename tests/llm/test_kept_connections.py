"""Connections that a server closes while they are kept; and what is shown of calls in flight."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
from fault_server import completion
from model_server import ModelServer, said

from graphkb.errors import GraphkbError
from graphkb.llm.in_flight import IN_FLIGHT, Waiting, about
from graphkb.llm.model import Model, Prompt, make_model, plain
from graphkb.settings import LanguageModel

Make = Callable[..., Model]


class Closing:
    """A server that answers ``answers`` requests on each connection and then closes it as soon as
    another one arrives; ``connections`` and ``requests`` count what came."""

    def __init__(self, answers: int) -> None:
        self.answers = answers
        self.connections = self.requests = 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._serve, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.listener.getsockname()[1]}/v1"

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        body = completion("good").encode()
        head = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}"
        with closing(connection), connection.makefile("rb") as file:
            for number in range(self.answers + 1):
                length = 0
                while line := file.readline().strip():
                    if line.lower().startswith(b"content-length:"):
                        length = int(line.split(b":")[1])
                if not length:
                    return
                file.read(length)
                self.requests += 1
                if number == self.answers:
                    return
                connection.sendall(f"{head}\r\n\r\n".encode() + body)


@contextmanager
def closing_server(answers: int) -> Iterator[Closing]:
    server = Closing(answers)
    with closing(server.listener):
        yield server


@contextmanager
def model_of(server: Closing, root: Path) -> Iterator[Model]:
    model = make_model(root, LanguageModel(model="m", base_url=server.url, max_retries=0))
    assert model is not None
    with closing(model):
        yield model


def test_a_kept_connection_that_is_closed_costs_no_try(tmp_path: Path) -> None:
    with closing_server(1) as server, model_of(server, tmp_path) as model:
        for text in ("one", "二", "three"):
            assert model.ask(Prompt("answer", "", text), plain).value == "good"
        assert server.connections == 3
        assert sum(step.retries + step.failed for step in model.usage()) == 0


def test_a_new_connection_that_is_closed_is_a_failure(tmp_path: Path) -> None:
    with closing_server(0) as server, model_of(server, tmp_path) as model:
        with pytest.raises(GraphkbError):
            model.ask(Prompt("answer", "", "one"), plain)
        assert server.requests == 1


def test_what_is_asked_is_known_until_it_is_answered(make: Make, server: ModelServer) -> None:
    seen: list[Waiting | None] = []

    def play(body: dict[str, Any]) -> Any:
        seen.append(IN_FLIGHT.oldest())
        return said("good")

    server.play = play
    prompt = Prompt("extract", "Read.", "<document>\n员工手册 › 年假\n\n十天。\n</document>")
    assert make().ask(prompt, plain).value == "good"
    (waiting,) = seen
    assert waiting is not None
    assert (waiting.step, waiting.about, waiting.n) == ("extract", "员工手册 › 年假", 1)
    assert waiting.seconds >= 0
    assert IN_FLIGHT.oldest() is None


@pytest.mark.parametrize(
    ("prompt", "shown"),
    [
        ("Who leads?\nSay it.", "Who leads?"),
        ("<entity>\n\n  Ada   Lin\n</entity>", "Ada Lin"),
        ("长" * 80, "长" * 59 + "…"),
        ("", ""),
    ],
)
def test_what_a_prompt_is_about_is_one_short_line(prompt: str, shown: str) -> None:
    assert about(prompt) == shown
