"""The reply cache and the chat client, against a real deterministic server on loopback."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_server import ModelServer, Play, model_server, said

from graphkb.errors import LanguageModelError, StoreError
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.client import ChatClient


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    cache = ReplyCache(tmp_path)
    yield cache
    cache.close()


def request(server: ModelServer, text: str = "陈明是谁？", **options: Any) -> Request:
    return Request(server.url, "m", (("system", "be short"), ("user", text)), options)


def test_the_same_request_is_paid_for_once_even_by_a_new_process(
    server: ModelServer, cache: ReplyCache, tmp_path: Path
) -> None:
    first = ChatClient(cache).complete(request(server))
    assert (first.text, first.cached, first.prompt_tokens) == ("echo: 陈明是谁？", False, 7)
    again = ReplyCache(tmp_path)
    second = ChatClient(again).complete(request(server))
    again.close()
    assert second == replace(first, cached=True)
    assert len(server.requests) == 1


def test_everything_that_can_change_a_reply_changes_the_key(server: ModelServer) -> None:
    base = request(server, temperature=0)
    others = [
        replace(base, base_url="http://other/v1"),
        replace(base, model="m2"),
        replace(base, messages=(("system", "be long"), *base.messages[1:])),
        replace(base, messages=(("user", "be short"), *base.messages[1:])),
        replace(base, options={"temperature": 1}),
        replace(base, options={"temperature": 0, "max_tokens": 5}),
        replace(base, options={"temperature": 0, "response_format": {"type": "json_object"}}),
    ]
    assert len({other.key for other in [base, *others]}) == len(others) + 1
    assert base.key == request(server, temperature=0).key


@pytest.mark.parametrize(
    "play",
    [
        lambda body: said("cut of", "length"),
        lambda body: said(""),
        lambda body: said("   "),
        lambda body: said("blocked", "content_filter"),
    ],
)
def test_cut_and_empty_replies_are_returned_but_never_kept(
    server: ModelServer, cache: ReplyCache, play: Play
) -> None:
    server.play = play
    client = ChatClient(cache)
    assert not client.complete(request(server)).whole
    server.play = lambda body: said("good")
    assert client.complete(request(server)).text == "good"
    assert len(server.requests) == 2
    assert cache.stats()[0]["replies"] == 1


@pytest.mark.parametrize(
    ("play", "message"),
    [
        (lambda body: (401, {"error": {"message": "bad key"}}), "bad key"),
        (lambda body: (200, {"object": "chat.completion", "choices": []}), "without choices"),
        (lambda body: (404, {"detail": "Not Found"}), "404"),
    ],
)
def test_failures_name_the_endpoint_and_are_not_kept(
    server: ModelServer, cache: ReplyCache, play: Play, message: str
) -> None:
    server.play = play
    with pytest.raises(LanguageModelError, match=message) as caught:
        ChatClient(cache, max_retries=0).complete(request(server))
    assert server.url in str(caught.value)
    assert cache.stats() == []


def test_stats_export_drop_and_clear(server: ModelServer, cache: ReplyCache) -> None:
    client = ChatClient(cache)
    client.complete(request(server, "一"))
    client.complete(request(server, "two"))
    row = {"base_url": server.url, "model": "m", "replies": 2,
           "prompt_tokens": 14, "completion_tokens": 6}  # fmt: skip
    assert cache.stats() == [row]
    exported = list(cache.export())
    assert {line["reply"]["text"] for line in exported} == {"echo: 一", "echo: two"}
    cache.drop(request(server, "一"))
    assert cache.get(request(server, "一")) is None
    assert cache.clear() == 1
    assert cache.stats() == []


def test_a_reply_is_on_disk_before_it_is_returned(
    server: ModelServer, cache: ReplyCache, tmp_path: Path
) -> None:
    ChatClient(cache).complete(request(server))
    other = sqlite3.connect(tmp_path / "llm.sqlite")
    assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (1,)
    other.close()


def test_a_corrupt_cache_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "llm.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"llm\.sqlite.*doctor"):
        ReplyCache(tmp_path)


def test_a_broken_reply_is_never_whole() -> None:
    assert Reply("x", "stop", 0, 0).whole
    assert not Reply("x", "", 0, 0).whole
