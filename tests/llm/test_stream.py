"""Streamed replies, from servers that stream well, badly or not at all."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, Raw, said

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.model import Model

Make = Callable[..., Model]
EVENTS = {"Content-Type": "text/event-stream"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 4}
DONE = "data: [DONE]\n\n"


def event(text: str | None = None, end: str | None = None, **more: Any) -> str:
    """One server-sent event; without a text or an end its choices are empty."""
    choices = []
    if text is not None or end:
        choices = [{"index": 0, "delta": {"content": text} if text else {}, "finish_reason": end}]
    data = json.dumps({"choices": choices, **more}, ensure_ascii=False)
    return f"data: {data}\n\n"


def streamed(*events: str, close: bool = False) -> Raw:
    return Raw([part.encode() for part in events], 200, EVENTS, close=close)


def text_of(model: Model, question: str = "谁？") -> str:
    stream = model.stream(ask(question))
    text = "".join(stream)
    assert stream.reply is not None
    assert stream.reply.text == stream.text == text
    return text


@pytest.mark.parametrize(
    "events",
    [
        (event("陈明"), event("是工程师"), event(usage=USAGE), DONE),
        (event("陈明"), event("是工程师", end="stop"), event(usage=USAGE), DONE),
        (event("陈明"), event("是工程师"), event(end="stop")),
        (event("陈明"), ": keep-alive\n\n", event("是工程师"), event(end="stop"), DONE),
        (event(""), event("陈明是工程师"), event(end="stop", usage=USAGE), DONE),
    ],
)
def test_the_answer_is_whole_whatever_ends_the_stream(
    server: ModelServer, model: Model, events: tuple[str, ...]
) -> None:
    server.play = lambda body: streamed(*events)
    assert text_of(model) == "陈明是工程师"
    assert text_of(model) == "陈明是工程师"
    assert len(server.requests) == 1
    assert server.requests[0]["stream_options"] == {"include_usage": True}


def test_a_character_cut_over_two_segments_is_put_together(
    server: ModelServer, model: Model
) -> None:
    data = "".join([event("陈明"), event("是工程师", end="stop"), DONE]).encode()
    middle = data.index("工".encode()) + 1
    server.play = lambda body: Raw([data[:middle], data[middle:]], 200, EVENTS)
    assert text_of(model) == "陈明是工程师"


def test_pieces_come_before_the_reply_is_whole(server: ModelServer, model: Model) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return streamed(event("一"), *[event("二")] * 30, event(end="stop"), DONE)

    model.ask(ask("warm up"), str)
    server.play = play
    started = time.monotonic()
    pieces = model.stream(ask())
    next(iter(pieces))
    first = time.monotonic() - started
    list(pieces)
    assert first < (time.monotonic() - started) / 2


def test_usage_is_the_servers_or_ours(server: ModelServer, make: Make) -> None:
    server.play = lambda body: streamed(event("好的"), event(end="stop", usage=USAGE), DONE)
    model = make()
    text_of(model)
    assert (model.usage()[0].prompt_tokens, model.usage()[0].completion_tokens) == (9, 4)
    server.play = lambda body: streamed(event("好的"), event(end="stop"), DONE)
    text_of(model, "再问一次")
    assert model.usage()[0].prompt_tokens > 9 + 4
    assert model.usage()[0].completion_tokens > 4


def test_a_stream_that_does_not_say_its_end_is_used_but_not_kept(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: streamed(event("也许完整"), close=True)
    assert text_of(model) == text_of(model) == "也许完整"
    assert len(server.requests) == 2


def test_a_server_that_cannot_stream_answers_at_once(server: ModelServer, model: Model) -> None:
    data = json.dumps(said("整句")[1], ensure_ascii=False).encode()  # type: ignore[index]
    server.play = lambda body: Raw([data])
    assert text_of(model) == "整句"
    assert len(server.requests) == 1


def test_a_server_that_refuses_to_stream_is_asked_plainly_from_then_on(
    server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return error(400, "stream is not supported") if body.get("stream") else said("整句")

    server.play = play
    assert text_of(model, "一") == text_of(model, "二") == "整句"
    assert len(server.requests) == 3


def test_stream_options_are_left_out_where_they_are_refused(
    server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        refused = error(400, "Unknown parameter: stream_options")
        return refused if "stream_options" in body else said("ok")

    server.play = play
    assert text_of(model, "一") == text_of(model, "二") == "ok"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    "pieces",
    [
        ["<think>", "先想", "想</think>", "\n答", "案"],
        ["<th", "ink>草稿</thi", "nk>答案"],
        ["  <thinking>a</thinking><think>b</think>答案"],
    ],
)
def test_thoughts_are_not_passed_on(server: ModelServer, model: Model, pieces: list[str]) -> None:
    events = [event(piece) for piece in pieces]
    server.play = lambda body: streamed(*events, event(end="stop"), DONE)
    assert text_of(model) == "答案"


@pytest.mark.parametrize("text", ["<b>bold</b> text", "<", "a < b", "<1>", "先<think>说"])
def test_text_that_is_no_thought_is_passed_on(server: ModelServer, model: Model, text: str) -> None:
    events = [event(character) for character in text]
    server.play = lambda body: streamed(*events, event(end="stop"), DONE)
    assert text_of(model) == text


def test_thoughts_without_an_opening_mark_are_held_back_once_that_is_known(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: said("先想一想</think>答案")
    assert model.ask(ask("一"), str).value == "答案"
    assert text_of(model, "二") == "答案"
    server.play = lambda body: said("没有思考")
    assert text_of(model, "三") == "没有思考"


def test_reasoning_content_is_not_passed_on(server: ModelServer, model: Model) -> None:
    thought = {"choices": [{"index": 0, "delta": {"content": None, "reasoning_content": "想"}}]}
    first = f"data: {json.dumps(thought)}\n\n"
    server.play = lambda body: streamed(first, event("答案", end="stop"), DONE)
    assert text_of(model) == "答案"


def test_a_stream_that_breaks_brings_the_text_so_far(server: ModelServer, model: Model) -> None:
    part = event("陈明是").encode()
    server.play = lambda body: Raw([part], 200, {**EVENTS, "Content-Length": "900"}, close=True)
    stream = model.stream(ask())
    with pytest.raises(ModelFailure) as caught:
        list(stream)
    assert (caught.value.kind, caught.value.text, stream.text) == ("server", "陈明是", "陈明是")
    assert len(server.requests) == 1
    assert model.usage()[0].failed == 1


def test_a_stream_that_breaks_before_its_first_piece_is_asked_for_again(
    server: ModelServer, model: Model
) -> None:
    broken = Raw([b": wait\n\n"], 200, {**EVENTS, "Content-Length": "900"}, close=True)
    answers = [broken, error(503, "busy"), streamed(event("好", end="stop"), DONE)]
    server.play = lambda body: answers.pop(0)
    assert text_of(model) == "好"


def test_an_error_inside_the_stream_is_told(server: ModelServer, make: Make) -> None:
    bad = 'data: {"error": {"message": "upstream is gone", "code": 500}}\n\n'
    server.play = lambda body: streamed(event("一"), bad)
    with pytest.raises(ModelFailure, match="upstream is gone") as caught:
        list(make(max_retries=1).stream(ask()))
    assert caught.value.text == "一"


def test_an_event_that_is_no_json_is_a_broken_stream(server: ModelServer, make: Make) -> None:
    server.play = lambda body: streamed(event("一"), 'data: {"choi\n\n')
    with pytest.raises(ModelFailure, match="not JSON"):
        list(make().stream(ask()))


def test_a_streamed_reply_that_is_cut_is_a_failure_with_its_text(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: streamed(event("陈明是工"), event(end="length"), DONE)
    with pytest.raises(ModelFailure) as caught:
        list(model.stream(ask()))
    assert (caught.value.kind, caught.value.text) == ("truncated", "陈明是工")


def test_a_wrong_key_is_told_while_iterating(server: ModelServer, model: Model) -> None:
    server.play = lambda body: error(401, "bad key")
    stream = model.stream(ask())
    with pytest.raises(ModelUnusableError, match="bad key"):
        list(stream)


def test_leaving_a_stream_early_ends_the_call(server: ModelServer, make: Make) -> None:
    server.play = lambda body: streamed(*[event("字")] * 200, event(end="stop"), DONE)
    model = make(concurrency=1)
    for _ in model.stream(ask()):
        break
    stream = model.stream(ask("kept"))
    assert next(iter(stream)) == "字"
    assert next(iter(stream)) == "字"
    stream.close()
    server.play = lambda body: said("next")
    assert model.ask(ask("二"), str, deadline=time.monotonic() + 2).value == "next"


def test_a_deadline_ends_a_slow_stream_with_the_text_so_far(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: streamed(*[event("字")] * 300, event(end="stop"), DONE)
    with pytest.raises(ModelFailure) as caught:
        list(model.stream(ask(), deadline=time.monotonic() + 0.3))
    assert caught.value.kind == "deadline"
    assert caught.value.text.startswith("字字")
