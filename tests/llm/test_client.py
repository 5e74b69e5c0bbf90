"""One call against servers that fail: repeats what can pass, says what cannot."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from model_cases import ask, case, error
from model_server import Answer, ModelServer, Raw, said

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.model import Model, Said, plain

Make = Callable[..., Model]


def turns(*answers: Answer) -> Callable[[dict[str, Any]], Answer]:
    """Plays answers one after the other; the last one again and again."""
    left = list(answers)
    return lambda body: left.pop(0) if len(left) > 1 else left[0]


def failure(model: Model, **fields: Any) -> ModelFailure:
    with pytest.raises(ModelFailure) as caught:
        model.ask(ask(**fields), plain)
    return caught.value


@pytest.mark.parametrize(
    "name",
    ["rate_429_seconds", "rate_429_date", "rate_429_no_header", "server_503", "bad_gateway",
     "truncated_body"],
)  # fmt: skip
def test_a_passing_failure_is_repeated_until_it_passes(
    server: ModelServer, model: Model, name: str
) -> None:
    server.play = turns(case(name), case(name), case(name), said("好"))
    assert model.ask(ask(), plain).value == "好"
    use = model.usage()[0]
    assert (use.calls, use.retries, use.failed) == (1, 3, 0)


@pytest.mark.parametrize(
    "broken",
    [
        Raw(close=True),
        Raw((b'{"id": "x", "cho',), headers={"Content-Type": "application/json"}),
        Raw((b"",), headers={"Content-Type": "application/json"}),
        error(408, "timeout"),
        error(409, "conflict"),
        error(425, "too early"),
        (200, {"error": {"message": "upstream failed", "code": 502}}),
        (200, {"error": {"message": "upstream failed"}}),
        (200, {"choices": [{"finish_reason": "insufficient_system_resource",
                            "message": {"content": "ha"}}]}),
    ],
    ids=lambda answer: str(answer)[:60],
)  # fmt: skip
def test_a_broken_answer_is_repeated(server: ModelServer, model: Model, broken: Answer) -> None:
    server.play = turns(broken, broken, said("ok"))
    assert model.ask(ask(), plain).value == "ok"
    assert len(server.requests) == 3


def test_a_hung_server_is_given_its_time_and_asked_again(server: ModelServer, make: Make) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if len(server.requests) == 1:
            time.sleep(0.3)
        return said("late")

    server.play = play
    model = make(timeout=0.1)
    assert model.ask(ask(), plain).value == "late"
    assert model.usage()[0].retries == 1


def test_a_server_that_hangs_from_the_first_call_on_ends_the_run_after_three_time_outs(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.3)
        return said("late")

    server.play = play
    with pytest.raises(ModelUnusableError) as told:
        make(timeout=0.1, concurrency=4).ask_many([ask(str(n)) for n in range(20)], plain)
    assert len(server.requests) < 2 * 20, "not each question is tried three times"
    assert f"{server.url}: no reply within 0.1 s (llm.timeout)" in str(told.value)
    assert "hangs" in str(told.value)


def test_the_others_wait_for_a_moment_and_not_for_the_whole_first_reply(
    server: ModelServer, make: Make
) -> None:
    arrivals: list[float] = []
    all_there = threading.Event()

    def play(body: dict[str, Any]) -> Answer:
        arrivals.append(time.monotonic())
        if len(arrivals) == 4:
            all_there.set()
        return said(str(all_there.wait(10)))

    server.play = play
    outcomes = make(concurrency=4).ask_many([ask(text) for text in "一二3 4"], plain)
    assert [outcome.value for outcome in outcomes if isinstance(outcome, Said)] == ["True"] * 5
    assert arrivals[1] - arrivals[0] >= 0.045, "what is refused is refused by then"


def test_a_wrong_key_that_is_refused_late_costs_no_more_than_what_is_in_flight(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        time.sleep(0.3)
        return error(401, "密钥错误")

    server.play = play
    model = make(concurrency=4)
    with pytest.raises(ModelUnusableError):
        model.ask_many([ask(str(n)) for n in range(40)], plain)
    assert len(server.requests) <= 4
    with pytest.raises(ModelUnusableError):
        model.ask_many([ask(f"again {n}") for n in range(40)], plain)
    assert len(server.requests) <= 8


def test_a_server_that_answered_once_is_tried_to_the_end(server: ModelServer, make: Make) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if len(server.requests) > 1:
            time.sleep(0.3)
        return said("ok")

    server.play = play
    model = make(timeout=0.1, max_retries=4)
    assert model.ask(ask("一"), plain).value == "ok"
    assert "failed after 5 tries" in str(failure(model, text="二"))


def test_retries_end_and_the_last_failure_is_told(server: ModelServer, make: Make) -> None:
    server.play = lambda body: error(503, "模型加载中")
    told = failure(make(max_retries=2))
    assert len(server.requests) == 3
    assert told.kind == "server"
    assert "failed after 3 tries (the last: 503: 模型加载中)" in str(told)
    assert server.url in str(told)


def test_a_429_makes_everyone_wait_as_long_as_it_asks(server: ModelServer, make: Make) -> None:
    arrivals: list[float] = []

    def play(body: dict[str, Any]) -> Answer:
        arrivals.append(time.monotonic())
        if len(arrivals) == 4:
            return error(429, "slow down", Retry_After="0.4")
        time.sleep(0.05)
        return said("ok")

    server.play = play
    model = make(max_wait=5.0, concurrency=4)
    model.ask_many([ask(str(place)) for place in range(16)], plain)
    in_flight = [moment for moment in arrivals if 0.1 < moment - arrivals[3] < 0.39]
    assert in_flight == []
    assert arrivals[-1] - arrivals[3] >= 0.4
    assert "asked once to slow down; 0.4 s were waited" in model.warnings()[0]
    assert 0.3 < model.waited() < 0.5


def test_a_date_far_in_the_future_is_waited_for_no_longer_than_max_wait(
    server: ModelServer, make: Make
) -> None:
    server.play = turns(case("rate_429_date"), said("ok"))
    started = time.monotonic()
    assert make(max_wait=0.1).ask(ask(), plain).value == "ok"
    assert 0.1 <= time.monotonic() - started < 2


def test_calls_wait_their_turn_at_a_server_that_takes_one_at_a_time(
    server: ModelServer, make: Make
) -> None:
    busy = threading.Lock()

    def play(body: dict[str, Any]) -> Answer:
        if not busy.acquire(blocking=False):
            return error(429, "one at a time", Retry_After="0.01")
        time.sleep(0.01)
        busy.release()
        return said("ok")

    server.play = play
    model = make(max_retries=3)
    outcomes = model.ask_many([ask(str(place)) for place in range(40)], plain)
    assert all(isinstance(outcome, Said) for outcome in outcomes)
    assert len(server.requests) < 100


@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (error(400, "This model's maximum context length is 10 tokens"), "context", "window"),
        (error(413, "too large"), "context", "window"),
        (error(400, "Input data may contain inappropriate content."), "refused", "inappropriate"),
        (error(422, "messages: wrong"), "refused", "messages: wrong"),
        ((200, {"choices": [{"message": {"content": None, "refusal": "I cannot"}}]}),
         "refused", "I cannot"),
    ],
)  # fmt: skip
def test_a_refused_call_is_not_repeated(
    server: ModelServer, model: Model, answer: Answer, kind: str, words: str
) -> None:
    server.play = lambda body: answer
    told = failure(model)
    assert (told.kind, len(server.requests)) == (kind, 1)
    assert words in str(told)
    assert model.usage()[0].failed == 1


@pytest.mark.parametrize(
    "name", ["choices_empty", "choices_null", "content_filter", "content_null_stop"]
)
def test_a_reply_without_text_is_said_to_be_empty(
    server: ModelServer, make: Make, name: str
) -> None:
    server.play = lambda body: case(name) if "bad" in str(body) else said("ok")
    outcomes = make(max_retries=1).ask_many([ask("bad"), ask("one"), ask("二")], plain)
    assert isinstance(outcomes[0], ModelFailure)
    assert outcomes[0].kind == "empty"
    assert "content filter" in str(outcomes[0])
    assert [outcome.value for outcome in outcomes[1:]] == ["ok", "ok"]  # type: ignore[union-attr]


def test_reasoning_that_uses_the_limit_up_names_the_setting_to_raise(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: case("length_null_content")
    told = failure(make(max_tokens=100))
    assert told.kind == "truncated"
    assert "reasoning used up the token limit" in str(told)
    assert "raise llm.max_tokens" in str(told)
    assert len(server.requests) == 1


def test_a_reasoning_model_gets_no_limit_meant_for_the_reply_alone(
    server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return case("length_null_content") if "max_tokens" in body else said("ok")

    server.play = play
    assert model.ask(ask("一", max_tokens=50), plain).value == "ok"
    assert model.ask(ask("二", max_tokens=50), plain).value == "ok"
    assert len(server.requests) == 3


def test_a_cut_reply_brings_the_text_so_far(server: ModelServer, model: Model) -> None:
    server.play = lambda body: said("陈明是工程", "length")
    told = failure(model)
    assert (told.kind, told.text) == ("truncated", "陈明是工程")
    assert "llm.max_tokens" in str(told)


def test_only_content_is_used_and_reasoning_is_left_out(server: ModelServer, model: Model) -> None:
    server.play = lambda body: case("reasoning_content")
    assert model.ask(ask(), plain).value.startswith('{"title": "Meter group"')
    server.play = lambda body: said("<think>草稿</think>\n答案")
    assert model.ask(ask("二"), plain).value == "答案"


def test_content_in_parts_is_joined(server: ModelServer, model: Model) -> None:
    parts = [{"type": "thinking", "thinking": []}, {"type": "text", "text": "a"},
             {"type": "text", "text": "b"}]  # fmt: skip
    server.play = lambda body: (200, {"choices": [{"message": {"content": parts}}]})
    assert model.ask(ask(), plain).value == "ab"
