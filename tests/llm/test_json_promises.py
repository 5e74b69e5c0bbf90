"""Servers that take a way of asking for JSON and do not keep it: each reply is judged by the way
its own request was sent."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, said

from graphkb.llm.cache import ReplyCache, Request
from graphkb.llm.model import Model, Prompt, Said
from graphkb.llm.servers import ServerMemory
from graphkb.llm.structured import json_parser

Make = Callable[..., Model]
SCHEMA = {
    "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
    "additionalProperties": False,
}  # fmt: skip
PARSE = json_parser(SCHEMA)
CLEAN = '{"a": "陈明"}'
FENCED = f"Here it is:\n```json\n{CLEAN}\n```"
PROSE = "Sure! The text talks about several people."


def prompts(n: int, word: str = "用 JSON 回答") -> list[Prompt]:
    return [ask(f"{word} {place}", schema=SCHEMA, max_tokens=900) for place in range(n)]


def form(body: dict[str, Any]) -> str:
    return str(body.get("response_format", {}).get("type", "text"))


def playing(replies: dict[str, str]) -> Callable[[dict[str, Any]], Answer]:
    """A server with its own reply to each way of asking."""

    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.02)
        return said(replies[form(body)])

    return play


@pytest.mark.parametrize("word", ["用 JSON 回答", "answer in JSON"])
@pytest.mark.parametrize("concurrency", [1, 8])
def test_replies_in_flight_do_not_take_json_mode_from_a_server_that_ignores_schemas(
    server: ModelServer, make: Make, concurrency: int, word: str
) -> None:
    replies = {"json_schema": FENCED, "json_object": CLEAN, "text": PROSE}
    server.play = playing(replies)
    outcomes = make(concurrency=concurrency).ask_many(prompts(40, word), PARSE)
    assert all(isinstance(outcome, Said) for outcome in outcomes)
    forms = Counter(form(body) for body in server.requests)
    assert forms["text"] == 0
    assert forms["json_object"] >= 10
    assert len(server.requests) == 40
    make().ask(ask("later, JSON", schema=SCHEMA), PARSE)
    assert form(server.requests[-1]) == "json_object"


def test_a_server_that_ignores_json_mode_too_is_asked_for_plain_text(
    server: ModelServer, make: Make
) -> None:
    server.play = playing({"json_schema": FENCED, "json_object": PROSE, "text": CLEAN})
    outcomes = make(concurrency=4).ask_many(prompts(40), PARSE)
    assert sum(isinstance(outcome, Said) for outcome in outcomes) >= 36
    assert form(server.requests[-1]) == "text"
    assert len(server.requests) <= 1.6 * 40
    make().ask(ask("later, JSON", schema=SCHEMA), PARSE)
    assert form(server.requests[-1]) == "text"


def test_each_reply_counts_for_the_way_in_which_it_was_asked_for(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    memory = ServerMemory(cache, "http://h/v1")
    made = [Request("http://h/v1", "m", (("user", str(n)),), {"schema": SCHEMA}) for n in range(7)]

    async def noted(*replies: tuple[int, bool]) -> str:
        for place, strict in replies:
            await memory.note_json(made[place], strict)
        return memory.traits("m").mode

    async def run() -> None:
        for request in made[:5]:
            memory.note_sent(request, memory.traits("m"))
        assert await noted((0, False), (1, False)) == "json"
        # Late replies to schemas: two break the promise, one keeps it.
        assert await noted((2, False), (3, False), (4, True)) == "json"
        assert not memory.trusts(made[0])
        for request in made[5:]:
            memory.note_sent(request, memory.traits("m"))
        assert await noted((5, False)) == "json"
        assert await noted((6, False)) == "text"

    asyncio.run(run())
    cache.close()


def remember(folder: Path, server: ModelServer, traits: dict[str, Any]) -> None:
    """Traits that an earlier version kept."""
    cache = ReplyCache(folder)
    cache.remember_server(server.url, "m", traits).result()
    cache.close()


def test_plain_text_that_an_earlier_version_settled_for_gives_way_to_json_mode(
    server: ModelServer, make: Make, tmp_path: Path
) -> None:
    make().close()
    remember(next(tmp_path.rglob("llm.sqlite")).parent, server, {"mode": "text"})
    server.play = playing({"json_schema": FENCED, "json_object": CLEAN, "text": PROSE})
    make().ask_many(prompts(6), PARSE)
    assert {form(body) for body in server.requests} == {"json_object"}


def test_json_mode_that_is_refused_again_is_not_tried_a_second_time(
    server: ModelServer, make: Make, tmp_path: Path
) -> None:
    make().close()
    remember(next(tmp_path.rglob("llm.sqlite")).parent, server, {"mode": "text"})

    def play(body: dict[str, Any]) -> Answer:
        refused = error(400, "response_format is not supported")
        return said(CLEAN) if form(body) == "text" else refused

    server.play = play
    make().ask_many(prompts(6), PARSE)
    make().ask_many(prompts(4, "again, JSON"), PARSE)
    assert [form(body) for body in server.requests] == ["json_object"] + ["text"] * 10
