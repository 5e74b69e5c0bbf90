"""A server that no call can use ends the run at once, and says why and what to do."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from model_cases import ask, case, error
from model_server import Answer, ModelServer, Raw, said

from graphkb.errors import ModelUnusableError, SettingsError
from graphkb.llm.model import Model, plain

Make = Callable[..., Model]


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (case("auth_401"), ["401", "Incorrect API key provided", "llm.api_key", "check the key"]),
        (error(402, "Insufficient Balance"), ["402", "Insufficient Balance", "add credit"]),
        (error(429, "您的账户已欠费，请充值后重试"), ["429", "欠费", "add credit"]),
        (case("path_404"), ["404", "Not Found", "check llm.base_url"]),
        (case("html_200"), ["a web page instead of JSON", "check llm.base_url"]),
        (error(404, "model 'm' not found, try pulling it first"), ["has no model 'm'"]),
        (Raw((b"Ollama is running",), headers={"Content-Type": "text/plain"}),
         ["Ollama is running", "check llm.base_url"]),
    ],
    ids=lambda value: str(value)[:40],
)  # fmt: skip
def test_what_no_call_can_pass_costs_one_call_and_ends_the_run(
    server: ModelServer, make: Make, answer: Answer, words: list[str]
) -> None:
    server.play = lambda body: answer
    with pytest.raises(ModelUnusableError) as caught:
        make().ask_many([ask(str(place)) for place in range(200)], plain)
    assert len(server.requests) == 1
    for word in [server.url, *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_key_that_stops_working_ends_the_run_and_keeps_what_was_said(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return said("ok") if len(server.requests) <= 40 else error(401, "key revoked")

    server.play = play
    model = make(concurrency=4)
    heard: list[int] = []
    prompts = [ask(str(place)) for place in range(200)]
    with pytest.raises(ModelUnusableError, match="key revoked"):
        model.ask_many(prompts, plain, lambda place, outcome: heard.append(place))
    assert len(server.requests) <= 44
    server.play = lambda body: said("ok")
    model.ask_many(prompts, plain)
    assert model.usage()[0].cached == 40
    assert len(heard) == 40


def test_a_server_that_goes_down_ends_the_run_by_itself(server: ModelServer, make: Make) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return said("ok") if len(server.requests) <= 10 else error(500, "out of memory")

    server.play = play
    model = make(max_retries=1, concurrency=4)
    with pytest.raises(ModelUnusableError, match=r"server is down.*8 calls.*out of memory"):
        model.ask_many([ask(str(place)) for place in range(500)], plain)
    assert len(server.requests) < 60


def test_a_server_that_refuses_everything_ends_the_run(server: ModelServer, make: Make) -> None:
    server.play = lambda body: error(400, "unknown field top_k")
    model = make(extra_body={"top_k": 1})
    with pytest.raises(ModelUnusableError, match=r"top_k.*llm\.extra_body"):
        model.ask_many([ask(str(place)) for place in range(500)], plain)
    assert len(server.requests) < 40


def test_an_unused_port_is_told_quickly(make: Make) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{free.getsockname()[1]}/v1"
    started = time.monotonic()
    with pytest.raises(ModelUnusableError, match=r"nothing answers there.*llm\.base_url"):
        make(base_url=url, max_wait=60.0).ask(ask(), plain)
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("url", ["localhost:11434/v1", "api.deepseek.com", "", "ftp://h/v1", "://"])
def test_an_address_without_a_scheme_names_the_setting(make: Make, url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url"):
        make(base_url=url)


def test_the_key_goes_to_the_server_and_never_into_a_message(
    server: ModelServer, make: Make
) -> None:
    key = "sk-secret0123456789"
    server.play = lambda body: error(401, f"Incorrect API key provided: {key}")
    with pytest.raises(ModelUnusableError) as caught:
        make(api_key=f" {key}\n").ask(ask(), plain)
    assert server.headers[0]["authorization"] == f"Bearer {key}"
    assert key not in str(caught.value)
    assert "sk-s***" in str(caught.value)


def test_a_key_that_cannot_be_sent_is_told_before_anything_is(make: Make) -> None:
    with pytest.raises(SettingsError, match=r"llm\.api_key"):
        make(api_key="你的密钥")


def test_a_call_after_one_that_says_the_model_is_unusable_is_not_held_up(
    server: ModelServer, make: Make
) -> None:
    """The first is still on its way when the second is refused, and a third comes."""
    slow, refused = threading.Event(), threading.Event()

    def play(body: dict[str, Any]) -> Answer:
        text = body["messages"][-1]["content"]
        if text == "first":
            slow.wait(10)
        elif text == "second":
            refused.set()
            return error(402, "余额不足")
        return said(text)

    server.play = play
    model = make(concurrency=4, timeout=10)
    with ThreadPoolExecutor(3) as threads:
        first = threads.submit(model.ask, ask("first"), plain)
        time.sleep(0.2)
        with pytest.raises(ModelUnusableError):
            threads.submit(model.ask, ask("second"), plain).result(5)
        assert refused.is_set()
        third = threads.submit(model.ask, ask("third"), plain)
        assert third.result(5).value == "third"
        slow.set()
        assert first.result(5).value == "first"


def test_the_setting_of_a_model_that_is_not_there_is_named(server: ModelServer, make: Make) -> None:
    server.play = lambda body: error(404, "The model `字` does not exist")
    named: dict[str, dict[str, str]] = {
        "llm.model": {},
        "llm.extraction_model": {"extraction_model": "字"},
    }
    for setting, options in named.items():
        with pytest.raises(ModelUnusableError) as told:
            make(**options).ask(ask(role="extraction"), plain)
        assert f"correct {setting} or load it there" in str(told.value)
