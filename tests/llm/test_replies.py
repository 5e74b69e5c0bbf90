"""The reply cache: what is kept, under which key, and when it is on disk."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from model_cases import ask
from model_server import ModelServer, Play, said

from graphkb.errors import ModelFailure, StoreError
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.model import Model, Prompt, Said, make_model, plain
from graphkb.settings import LanguageModel

GOOD = Reply("好", "stop", 7, 3)


@pytest.fixture
def cache(tmp_path: Path) -> Iterator[ReplyCache]:
    cache = ReplyCache(tmp_path)
    yield cache
    cache.close()


def request(text: str = "陈明是谁？", **options: Any) -> Request:
    return Request("http://h/v1", "m", (("system", "be short"), ("user", text)), options)


def kept(folder: Path) -> int:
    database = sqlite3.connect(folder / "cache" / "llm.sqlite")
    count = database.execute("SELECT COUNT(*) FROM replies").fetchone()[0]
    database.close()
    return int(count)


def test_the_same_prompt_is_paid_for_once_even_by_a_new_process(
    server: ModelServer, make: Callable[..., Model]
) -> None:
    first = make().ask(ask(), plain)
    assert (first.value, first.reply.cached) == ("echo: 陈明是谁？", False)
    again = make()
    second = again.ask(ask(), plain)
    assert second.reply == replace(first.reply, cached=True)
    assert len(server.requests) == 1
    assert [(use.calls, use.cached) for use in again.usage()] == [(0, 1)]


def test_equal_prompts_in_flight_at_the_same_time_are_sent_once(
    server: ModelServer, model: Model
) -> None:
    model.ask(ask("first"), plain)
    server.play = lambda body: time.sleep(0.05) or said("same")  # type: ignore[func-returns-value]
    outcomes = model.ask_many([ask("again")] * 20, plain)
    assert {outcome.value for outcome in outcomes} == {"same"}  # type: ignore[union-attr]
    assert len(server.requests) == 2


def test_everything_that_can_change_a_reply_changes_the_key() -> None:
    base = request(temperature=0)
    others = [
        replace(base, base_url="http://other/v1"),
        replace(base, model="m2"),
        replace(base, messages=(("system", "be long"), *base.messages[1:])),
        replace(base, messages=(("user", "be short"), *base.messages[1:])),
        replace(base, options={"temperature": 1}),
        replace(base, options={"temperature": 0, "max_tokens": 5}),
        replace(base, options={"temperature": 0, "schema": {"type": "object"}}),
    ]
    assert len({other.key for other in [base, *others]}) == len(others) + 1
    assert base.key == request(temperature=0).key


@pytest.mark.parametrize(
    ("changed", "prompt"),
    [
        ({"temperature": 1.0}, ask()),
        ({"temperature": None}, ask()),
        ({"max_tokens": 9}, ask()),
        ({"extra_body": {"top_k": 3}}, ask()),
        ({"answer_model": "m2"}, ask()),
        ({}, ask(max_tokens=9)),
        ({}, ask(schema={"type": "object"})),
        ({}, ask(history=(("user", "早"), ("assistant", "早")))),
    ],
)
def test_a_setting_that_changes_the_request_is_paid_for_again(
    server: ModelServer, make: Callable[..., Model], changed: dict[str, Any], prompt: Prompt
) -> None:
    make().ask(ask(), plain)
    make(**changed).ask(prompt, plain)
    assert len(server.requests) == 2


@pytest.mark.parametrize("address", ["{}/", "{}/chat/completions", "{}/chat/completions/"])
def test_spellings_of_one_endpoint_share_their_replies(
    server: ModelServer, make: Callable[..., Model], address: str
) -> None:
    make().ask(ask(), plain)
    assert make(base_url=address.format(server.url)).ask(ask(), plain).reply.cached
    assert server.paths == ["/v1/chat/completions"]


@pytest.mark.parametrize(
    "play",
    [
        lambda body: said("cut of", "length"),
        lambda body: said(""),
        lambda body: said("   "),
        lambda body: said("blocked", "content_filter"),
        lambda body: said("<think>never ends"),
    ],
)
def test_cut_and_empty_replies_are_failures_and_never_kept(
    server: ModelServer, model: Model, tmp_path: Path, play: Play
) -> None:
    server.play = play
    with pytest.raises(ModelFailure):
        model.ask(ask(), plain)
    assert kept(tmp_path) == 0
    server.play = lambda body: said("good")
    assert model.ask(ask(), plain).value == "good"
    assert kept(tmp_path) == 1


def test_stats_export_drop_and_clear(cache: ReplyCache) -> None:
    cache.put(request("一"), GOOD)
    cache.put(request("two"), replace(GOOD, text="good"))
    row = {"base_url": "http://h/v1", "model": "m", "replies": 2,
           "prompt_tokens": 14, "completion_tokens": 6}  # fmt: skip
    assert cache.stats() == [row]
    assert {line["reply"]["text"] for line in cache.export()} == {"好", "good"}
    cache.drop(request("一"))
    assert cache.get(request("一")) is None
    assert cache.clear() == 1
    assert cache.stats() == []


def test_a_reply_is_on_disk_when_put_returns(cache: ReplyCache, tmp_path: Path) -> None:
    cache.put(request(), GOOD)
    other = sqlite3.connect(tmp_path / "llm.sqlite")
    assert other.execute("SELECT COUNT(*) FROM replies").fetchone() == (1,)
    other.close()


def test_many_threads_write_and_read_at_once(cache: ReplyCache) -> None:
    def work(number: int) -> None:
        for place in range(20):
            mine = request(f"{number} {place}")
            cache.put(mine, GOOD)
            assert cache.get(mine) == replace(GOOD, cached=True)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert cache.stats()[0]["replies"] == 160


def test_writes_that_wait_together_share_commits(
    cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    commits: list[int] = []
    commit = ReplyCache._commit

    def counted(self: ReplyCache, database: Any, writes: list[Any]) -> None:
        commits.append(len(writes))
        time.sleep(0.01)
        commit(self, database, writes)

    monkeypatch.setattr(ReplyCache, "_commit", counted)
    for waiting in [cache.put_soon(request(str(place)), GOOD) for place in range(100)]:
        assert waiting is not None
        waiting.result()
    assert sum(commits) == 100
    assert len(commits) < 10


def test_a_reply_is_kept_although_nobody_waits_for_it_any_more(
    cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = ReplyCache._commit
    gone = threading.Event()

    def late(self: ReplyCache, database: Any, writes: list[Any]) -> None:
        gone.wait(5)
        commit(self, database, writes)

    monkeypatch.setattr(ReplyCache, "_commit", late)
    waiting = cache.put_soon(request("一"), GOOD)
    assert waiting is not None
    assert waiting.cancel()
    gone.set()
    assert cache.put(request("二"), GOOD)
    assert cache.get(request("一")) == cache.get(request("二")) == replace(GOOD, cached=True)


def test_a_corrupt_cache_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "llm.sqlite").write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"llm\.sqlite.*doctor"):
        ReplyCache(tmp_path)


def test_a_reply_that_cannot_be_kept_ends_the_run_with_the_file_named(
    server: ModelServer, model: Model, tmp_path: Path
) -> None:
    model.ask(ask(), plain)
    database = sqlite3.connect(tmp_path / "cache" / "llm.sqlite")
    database.execute("DROP TABLE replies")
    database.commit()
    database.close()
    with pytest.raises(StoreError, match=r"llm\.sqlite"):
        model.ask_many([ask(str(place)) for place in range(50)], plain)
    assert len(server.requests) < 50


def test_a_cache_that_can_no_longer_be_opened_is_told(
    cache: ReplyCache, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*arguments: object, **options: object) -> None:
        raise sqlite3.OperationalError("unable to open database file")

    monkeypatch.setattr(sqlite3, "connect", refuse)
    with pytest.raises(StoreError, match="unable to open"):
        cache.put(request(), GOOD)
    monkeypatch.undo()
    assert cache.put(request(), GOOD)


def test_a_broken_reply_is_never_whole() -> None:
    assert Reply("x", "stop", 0, 0).whole
    assert not Reply("x", "", 0, 0).whole


RUN = """
import sys
from pathlib import Path
from graphkb.llm.model import Prompt, make_model, plain
from graphkb.settings import LanguageModel
model = make_model(Path(sys.argv[2]), LanguageModel(model="m", base_url=sys.argv[1]))
prompts = [Prompt("extract", "be short", f"问题 {place}") for place in range(400)]
def told(place, outcome):
    print(place, flush=True)
model.ask_many(prompts, plain, told)
"""


def test_replies_handed_over_before_a_kill_are_never_paid_again(
    server: ModelServer, tmp_path: Path
) -> None:
    command = [sys.executable, "-c", RUN, server.url, str(tmp_path)]
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    handed = [int(child.stdout.readline()) for _ in range(25)]
    os.kill(child.pid, signal.SIGKILL)
    handed += [int(line) for line in child.stdout.read().split()]
    child.stdout.close()
    child.wait()
    seen = len(server.requests)
    model = make_model(tmp_path, LanguageModel(model="m", base_url=server.url))
    assert model is not None
    prompts = [Prompt("extract", "be short", f"问题 {place}") for place in handed]
    outcomes = model.ask_many(prompts, plain)
    model.close()
    assert all(isinstance(outcome, Said) and outcome.reply.cached for outcome in outcomes)
    # Calls in flight at the kill may still arrive; none of those handed over does.
    late = {body["messages"][-1]["content"] for body in server.requests[seen:]}
    assert not late & {prompt.user for prompt in prompts}
