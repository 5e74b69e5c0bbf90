"""Asking from threads, event loops and interrupted programs, with short prompts and long ones."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, said

from graphkb.errors import ModelFailure, SettingsError
from graphkb.llm.model import Model, Said, plain
from graphkb.llm.transport import environment_proxy

Make = Callable[..., Model]
LONG = "电表由 Bluestone 制造。The meter is made by Bluestone. " * 300


def failure(model: Model, **fields: Any) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        model.ask(ask(**fields), plain)
    return caught.value


def test_replies_come_in_the_order_of_the_prompts_and_told_in_the_callers_thread(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        number = int(body["messages"][-1]["content"])
        time.sleep(0.02 if number % 2 else 0)
        return said(str(number))

    server.play = play
    threads: set[int] = set()
    places: list[int] = []

    def heard(place: int, outcome: object) -> None:
        threads.add(threading.get_ident())
        places.append(place)

    outcomes = make().ask_many([ask(str(place)) for place in range(40)], plain, heard)
    assert [outcome.value for outcome in outcomes] == [str(n) for n in range(40)]  # type: ignore[union-attr]
    assert threads == {threading.get_ident()}
    assert sorted(places) == list(range(40))
    assert places != sorted(places)


def test_other_work_is_done_in_steps_while_replies_are_awaited_and_the_rest_is_left(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.05)
        return said("好")

    server.play = play
    done: list[int] = []

    def work() -> Iterator[None]:
        for step in range(100_000):
            time.sleep(0.002)
            done.append(step)
            yield

    steps = work()
    model = make(concurrency=2)
    outcomes = model.ask_many([ask(str(place)) for place in range(8)], plain, meanwhile=steps)
    assert [outcome.value for outcome in outcomes] == ["好"] * 8  # type: ignore[union-attr]
    assert 10 < len(done) < 1_000
    next(steps)
    assert done == list(range(len(done)))


def test_no_more_calls_are_in_flight_than_allowed(server: ModelServer, make: Make) -> None:
    lock = threading.Lock()
    now = most = 0

    def play(body: dict[str, Any]) -> Answer:
        nonlocal now, most
        with lock:
            now += 1
            most = max(most, now)
        time.sleep(0.01)
        with lock:
            now -= 1
        return said("ok")

    server.play = play
    model = make(concurrency=3)
    threads = [
        threading.Thread(
            target=model.ask_many, args=([ask(f"{n} {place}") for place in range(15)], plain)
        )
        for n in range(3)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 3


def test_it_works_inside_a_running_event_loop(model: Model) -> None:
    async def notebook() -> list[str]:
        outcomes = model.ask_many([ask("一"), ask("二")], plain)
        return [outcome.value for outcome in outcomes]  # type: ignore[union-attr]

    assert asyncio.run(notebook()) == ["echo: 一", "echo: 二"]


def test_an_interrupt_stops_at_once_and_the_model_can_be_used_again(
    server: ModelServer, model: Model
) -> None:
    def interrupted(place: int, outcome: object) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        model.ask_many([ask(str(place)) for place in range(300)], plain, interrupted)
    assert len(server.requests) < 60
    assert model.ask(ask("again"), plain).value == "echo: again"


def test_nothing_to_ask_asks_nothing(server: ModelServer, model: Model) -> None:
    assert model.ask_many([], plain) == []
    assert server.requests == []


def test_a_proxy_of_the_environment_is_not_used_for_this_machine(
    server: ModelServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    assert make().ask(ask(), plain).value == "echo: 陈明是谁？"


@pytest.fixture
def environment(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """An environment that names no proxy."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    return monkeypatch


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_a_far_server_is_asked_over_the_proxy_of_the_environment(
    server: ModelServer, make: Make, environment: pytest.MonkeyPatch, name: str
) -> None:
    environment.setenv(name, server.url.replace("http://", "http://me:word@").removesuffix("/v1"))
    far = "http://model.example/v1"
    assert make(base_url=far).ask(ask(), plain).value == "echo: 陈明是谁？"
    assert server.paths == [f"{far}/chat/completions"]
    assert server.headers[0]["proxy-authorization"] == "Basic bWU6d29yZA=="
    environment.setenv("no_proxy", "model.example")
    assert environment_proxy(far) == ""


def test_a_proxy_that_cannot_be_used_is_named_without_its_password(
    make: Make, environment: pytest.MonkeyPatch
) -> None:
    environment.setenv("ALL_PROXY", "socks5://me:word@127.0.0.1:1080")
    with pytest.raises(SettingsError, match="no HTTP proxy; set HTTPS_PROXY") as caught:
        make(base_url="https://model.example/v1").ask(ask(), plain)
    assert "word" not in str(caught.value)


@pytest.mark.parametrize("concurrency", [1, 8])
def test_what_is_kept_and_what_is_asked_twice_costs_one_call(
    server: ModelServer, make: Make, concurrency: int
) -> None:
    model = make(concurrency=concurrency)
    model.ask(ask("kept"), plain)
    texts = ["一", "kept", "二", "一", *map(str, range(40)), "一", "7"]
    outcomes = model.ask_many([ask(text) for text in texts], plain)
    values = [outcome.value for outcome in outcomes if isinstance(outcome, Said)]
    assert values == [f"echo: {text}" for text in texts]
    assert len(server.requests) == len({*texts})


def test_half_a_character_does_not_stop_a_call(server: ModelServer, model: Model) -> None:
    assert model.ask(ask("half \ud83d end"), plain).value == "echo: half ? end"
    server.play = lambda body: said("half \ud83d end")
    assert model.ask(ask("二"), plain).value == "half ? end"


def test_a_server_that_cuts_prompts_silently_is_found_out(
    server: ModelServer,
    model: Model,
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        status, data = said("nothing found")  # type: ignore[misc]
        return status, {**data, "usage": {"prompt_tokens": 1024, "completion_tokens": 3}}

    server.play = play
    model.ask_many([ask(LONG), ask(LONG + "二")], plain)
    warning = "the prompt was longer than the server's window: it read only 1024 of about"
    assert [warning in told and "num_ctx" in told for told in model.warnings()] == [True]


def test_a_server_that_reads_everything_causes_no_warning(
    server: ModelServer,
    model: Model,
) -> None:
    server.play = lambda body: said("ok")
    model.ask(ask(LONG), plain)
    assert model.warnings() == ()


def test_a_prompt_beyond_the_window_that_was_told_is_not_sent(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: error(400, "This model's maximum context length is 300 tokens.")
    model = make()
    assert failure(model, text="短 text " * 200).kind == "context"
    assert model.window("answer") == 300
    told = failure(model, text="长 text " * 200)
    assert told.kind == "context"
    assert "more than 300" in str(told)
    assert len(server.requests) == 1
    assert failure(make(context_tokens=20), text="又长 text " * 20).kind == "context"
    assert len(server.requests) == 1
