"""Calls that are sent before they are asked for, and prompts that are made from replies."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, said

from graphkb.errors import ModelUnusableError
from graphkb.llm.cache import Request
from graphkb.llm.model import Model, Prompt, plain

Make = Callable[..., Model]
PROMPTS = [ask(text) for text in ("Who leads Osprey?", "谁领导鱼鹰项目？", "三", "four")]


def test_what_was_started_is_not_sent_again_and_counts_as_one_call(
    server: ModelServer, make: Make
) -> None:
    model = make()
    model.start(PROMPTS[:3])
    outcomes = model.ask_many(PROMPTS, plain)
    assert [outcome.value for outcome in outcomes] == [  # type: ignore[union-attr]
        f"echo: {prompt.user}" for prompt in PROMPTS
    ]
    assert len(server.requests) == len(PROMPTS)
    (step,) = model.usage()
    assert (step.calls, step.cached) == (len(PROMPTS), 0)
    model.start(PROMPTS)
    model.ask_many(PROMPTS, plain)
    assert len(server.requests) == len(PROMPTS), "what is kept is not sent"


def test_a_reply_that_came_before_it_was_asked_for_is_new(server: ModelServer, make: Make) -> None:
    model = make()
    model.start(PROMPTS[:1])
    while model.kept(PROMPTS[0]) is None:
        pass
    assert not model.ask(PROMPTS[0], plain).reply.cached
    assert [step.cached for step in model.usage()] == [0]


def test_only_what_can_be_sent_soon_is_started(server: ModelServer, make: Make) -> None:
    held = threading.Event()

    def play(body: dict[str, Any]) -> Answer:
        held.wait(10)
        return said("好")

    server.play = play
    model = make(concurrency=2)
    taken: list[int] = []

    def prompts() -> Iterator[Prompt]:
        for number in range(1_000):
            taken.append(number)
            yield ask(str(number))

    model.start(prompts())
    assert 2 <= len(taken) < 100
    model.start(prompts())
    assert len(taken) < 100
    held.set()
    assert len(model.ask_many([ask(str(number)) for number in range(40)], plain)) == 40
    assert len(server.requests) == 40


def test_a_server_that_refuses_all_is_asked_once_and_ends_what_was_started(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: error(401, "密钥无效")
    model = make()
    model.start(PROMPTS)
    with pytest.raises(ModelUnusableError, match="密钥无效"):
        model.ask_many([*PROMPTS, ask("five")], plain)
    assert len(server.requests) == 1
    server.play = lambda body: said("ok")
    assert model.ask(PROMPTS[1], plain).value == "ok"


def test_calls_that_nobody_asked_for_end_with_the_model(server: ModelServer, make: Make) -> None:
    held = threading.Event()
    server.play = lambda body: said(str(held.wait(10)))
    model = make()
    model.start(PROMPTS)
    model.close()
    held.set()
    assert len(server.requests) <= 1


def test_a_prompt_may_be_made_from_the_reply_to_an_earlier_one(
    server: ModelServer, make: Make
) -> None:
    heard: list[str] = []

    def prompts() -> Iterator[Prompt | None]:
        yield ask("first")
        yield ask("二")
        while len(heard) < 2:
            yield None
        yield ask(f"after {sorted(heard)}")

    outcomes = make().ask_many(prompts(), plain, lambda place, outcome: heard.append(str(place)))
    assert len(outcomes) == len(server.requests) == 3
    assert server.requests[-1]["messages"][-1]["content"] == "after ['0', '1']"


def test_the_key_of_a_request_is_that_of_its_options_in_order() -> None:
    """Kept replies are found by it: it may not move."""
    schema = {"type": "object", "properties": {"答": {"type": "string"}}}
    options = {"temperature": 0.0, "schema": schema, "structured": "auto"}
    request = Request("http://h/v1", "m", (("user", "问"),), options)
    assert request.key == "2317464d8e5aee2e8b7d8cf2bf051f1e"


def test_other_work_waits_until_the_first_call_is_sent_and_not_for_its_reply(
    server: ModelServer, make: Make
) -> None:
    held = threading.Event()
    server.play = lambda body: said(str(held.wait(10)))
    model = make()
    model.start(PROMPTS)
    model.let_first_go(5)
    assert not held.is_set()
    while not server.requests:
        pass
    held.set()
    assert len(model.ask_many(PROMPTS, plain)) == len(PROMPTS)


def test_prompts_are_made_a_few_at_a_time_while_there_are_places(
    server: ModelServer, make: Make
) -> None:
    made: list[int] = []
    seen: list[int] = []

    def prompts() -> Iterator[Prompt]:
        for number in range(40):
            seen.append(len(server.requests))
            made.append(number)
            yield ask(f"第 {number} 个")
            if number == 3:
                while not server.requests:
                    pass

    model = make(concurrency=8)
    assert len(model.ask_many(prompts(), plain)) == 40
    assert seen[4] > 0, "the first is sent before all that have a place are made"
