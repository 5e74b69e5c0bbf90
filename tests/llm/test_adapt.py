"""Parameters that a server refuses are left out or swapped once, and that is remembered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from model_cases import ask, case, error
from model_server import Answer, ModelServer, prompt_of, said

from graphkb.errors import ModelFailure
from graphkb.llm.adapt import adapted, fitting_limit, window_of
from graphkb.llm.model import Model, Prompt, plain
from graphkb.llm.servers import Traits

Make = Callable[..., Model]
SCHEMA = {
    "type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
    "additionalProperties": False,
}  # fmt: skip


def asking(text: str = "回答，用 JSON") -> Prompt:
    return ask(text, schema=SCHEMA, max_tokens=900)


def form(body: dict[str, Any]) -> str:
    """How a request asks for JSON."""
    return str(body.get("response_format", {}).get("type", "text"))


def refusing(name: str, message: str) -> Callable[[dict[str, Any]], Answer]:
    """A server that refuses a parameter."""
    return lambda body: error(400, message) if name in body else said('{"a": "b"}')


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("response_format", "This response_format type is unavailable now"),
        ("response_format", "Invalid parameter: 'response_format' of type 'json_schema' is not "
                            "supported with this model."),
        ("response_format", "failed to parse grammar"),
        ("response_format", "'response_format.type' must be 'text'"),
        ("temperature", "Unsupported value: 'temperature' does not support 0.0 with this model. "
                        "Only the default (1) value is supported."),
        ("max_tokens", "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
                       "'max_completion_tokens' instead."),
        ("max_tokens", "Unrecognized request argument supplied: max_tokens"),
    ],
)  # fmt: skip
def test_a_refused_parameter_is_left_out_from_then_on(
    server: ModelServer, make: Make, name: str, message: str
) -> None:
    server.play = refusing(name, message)
    assert make().ask(asking("一，用 JSON"), plain).value == '{"a": "b"}'
    first = len(server.requests)
    assert 2 <= first <= 3
    assert make().ask(asking("二，用 JSON"), plain).value == '{"a": "b"}'
    assert len(server.requests) == first + 1
    assert name not in server.requests[-1]


def test_max_completion_tokens_takes_the_place_of_max_tokens(
    server: ModelServer, model: Model
) -> None:
    server.play = refusing("max_tokens", "max_tokens: use 'max_completion_tokens' instead")
    model.ask(asking(), plain)
    assert server.requests[-1]["max_completion_tokens"] == 900


@pytest.mark.parametrize(
    "message",
    ["Invalid max_tokens value, the valid range of max_tokens is [1, 512]",
     "Range of max_tokens should be [1, 512]",
     "max_tokens is too large: 900. This model supports at most 512 completion tokens"],
)  # fmt: skip
def test_a_limit_that_is_too_high_is_lowered_to_the_highest_allowed(
    server: ModelServer, model: Model, message: str
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return error(400, message) if body["max_tokens"] > 512 else said("ok")

    server.play = play
    model.ask_many([ask("一", max_tokens=900), ask("二", max_tokens=900)], plain)
    assert [body["max_tokens"] for body in server.requests] == [900, 512, 512]


@pytest.mark.parametrize(
    "message",
    ["This model's maximum context length is 4096 tokens. However, you requested 4900 tokens (4000 "
     "in the messages, 900 in the completion).",
     "'max_tokens' or 'max_completion_tokens' is too large: 900. This model's maximum context "
     "length is 4096 tokens and your request has 4000 input tokens (900 > 4096 - 4000)."],
)  # fmt: skip
def test_a_limit_that_does_not_fit_beside_the_prompt_is_lowered_for_this_call(
    server: ModelServer, model: Model, message: str
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        return error(400, message) if body["max_tokens"] == 900 else said("ok")

    server.play = play
    model.ask(ask("一", max_tokens=900), plain)
    model.ask(ask("二", max_tokens=200), plain)
    assert [body["max_tokens"] for body in server.requests] == [900, 80, 200]


def test_json_is_asked_for_in_the_strictest_way_that_the_server_can(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if form(body) != "text":
            return error(400, f"response_format {form(body)} is not supported")
        return said('{"a": "b"}')

    server.play = play
    model = make()
    model.ask_many([asking(f"{place}，用 JSON") for place in range(30)], plain)
    forms = [form(body) for body in server.requests]
    assert forms == ["json_schema", "json_object"] + ["text"] * 30


def test_schemas_that_openai_takes_strictly_are_sent_as_strict(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: said("{}")
    model.ask(asking(), plain)
    model.ask(ask("JSON", schema={**SCHEMA, "required": []}), plain)
    strict = [b["response_format"]["json_schema"].get("strict") for b in server.requests]
    assert strict == [True, None]


@pytest.mark.parametrize(
    ("structured", "expected"),
    [("schema", "json_schema"), ("json", "json_object"), ("text", "text")],
)
def test_a_fixed_way_of_asking_is_kept(
    server: ModelServer, make: Make, structured: str, expected: str
) -> None:
    server.play = lambda body: said("not JSON at all")
    model = make(structured=structured)
    model.ask_many([asking(f"{place} JSON") for place in range(4)], plain)
    assert {form(body) for body in server.requests} == {expected}


def test_a_fixed_way_that_is_refused_is_told(server: ModelServer, make: Make) -> None:
    server.play = refusing("response_format", "response_format is not supported")
    with pytest.raises(ModelFailure, match="response_format is not supported"):
        make(structured="schema").ask(asking(), plain)


def test_a_server_that_ignores_schemas_is_asked_less_strictly(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: said('{"a": "b"}' if form(body) == "json_object" else "Sure! a: b")

    def parse(text: str) -> str:
        if not text.startswith("{"):
            raise ValueError("no JSON")
        return text

    model = make(concurrency=1)
    outcomes = model.ask_many([asking(f"{place} JSON") for place in range(6)], parse)
    assert isinstance(outcomes[-1], type(model.ask(asking("0 JSON x"), parse)))
    assert form(server.requests[-1]) == "json_object"
    assert form(make().ask(asking("new JSON"), parse) and server.requests[-1]) == "json_object"


def test_one_bad_reply_does_not_shake_a_server_that_kept_its_promise(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: said("bad" if "bad" in prompt_of(body) else '{"a": "b"}')
    model = make(concurrency=1)
    model.ask(asking("good JSON"), plain)
    model.ask_many([asking(f"bad {place} JSON") for place in range(6)], plain)
    assert {form(body) for body in server.requests} == {"json_schema"}


@pytest.mark.parametrize(
    ("text", "note"), [("谁领导项目？", "请只用"), ("Who leads?", "Reply with")]
)
def test_every_call_in_json_mode_says_json(
    server: ModelServer, make: Make, text: str, note: str
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if form(body) == "json_object" and "json" not in prompt_of(body).lower():
            return case("json_word_400")
        return said('{"a": "b"}')

    server.play = play
    model = make(structured="json")
    model.ask(ask(text, schema=SCHEMA), plain)
    model.ask(ask(f"{text} (json)", schema=SCHEMA), plain)
    assert len(server.requests) == 2
    assert note in prompt_of(server.requests[0])
    assert prompt_of(server.requests[1]).endswith(f"{text} (json)")


def test_instructions_go_into_the_user_message_where_there_is_no_system_role(
    server: ModelServer, model: Model
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        roles = [message["role"] for message in body["messages"]]
        return error(400, "System role not supported") if "system" in roles else said("ok")

    server.play = play
    model.ask_many([ask("一"), ask("二")], plain)
    assert [m["content"] for m in server.requests[-1]["messages"]] in (
        [["be short\n\n一"], ["be short\n\n二"]]
    )
    assert len(server.requests) == 3


def test_thinking_is_switched_off_where_the_server_demands_it(
    server: ModelServer, model: Model
) -> None:
    message = "parameter.enable_thinking must be set to false for non-streaming calls"
    server.play = lambda body: said("ok") if "enable_thinking" in body else error(400, message)
    model.ask(ask(), plain)
    assert server.requests[-1]["enable_thinking"] is False


def test_a_model_that_only_streams_is_streamed(server: ModelServer, model: Model) -> None:
    message = "This model only support stream mode, please enable the stream parameter"
    server.play = lambda body: said("流式回答") if body.get("stream") else error(400, message)
    assert model.ask(ask(), plain).value == "流式回答"


def test_what_a_failing_server_says_changes_nothing_but_the_schema(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: error(500, "GPU temperature too high, max_tokens")
    with pytest.raises(ModelFailure, match="temperature too high"):
        make(max_retries=1).ask(asking(), plain)
    assert all("temperature" in body and "max_tokens" in body for body in server.requests)


def test_extra_fields_of_the_settings_are_sent_as_they_are(server: ModelServer, make: Make) -> None:
    make(extra_body={"top_k": 20, "chat_template_kwargs": {"a": 1}}).ask(ask(), plain)
    assert server.requests[0]["top_k"] == 20
    assert server.requests[0]["chat_template_kwargs"] == {"a": 1}


@pytest.mark.parametrize(
    ("said", "window"),
    [
        ("This model's maximum context length is 8192 tokens. However", 8192),
        ("Range of input length should be [1, 30720]", 30720),
        ("must be less than max_seq_len (32768).", 32768),
        ("Your request exceeded model token limit: 8192", 8192),
        ("the model is loaded with context length of only 4096 tokens", 4096),
        ("prompt is too long: 210000 tokens > 200000 maximum", 200000),
        ("too long", 0),
    ],
)
def test_the_window_is_read_out_of_the_error(said: str, window: int) -> None:
    assert window_of(said) == window


def test_no_limit_fits_beside_a_prompt_that_fills_the_window() -> None:
    said = "maximum context length is 4096 tokens (4090 in the messages, 900 in the completion)"
    assert fitting_limit(said, 900) == 0
    assert fitting_limit("something else", 900) == 0


def test_traits_survive_being_kept_and_unknown_ones_are_left_out() -> None:
    traits = Traits(mode="json", dropped=("temperature",), window=4096)
    kept = traits.as_dict()
    assert set(kept) == {"mode", "dropped", "window"}
    assert Traits.from_dict({**kept, "of another version": 1}) == traits


def test_a_complaint_of_nothing_that_was_sent_changes_nothing() -> None:
    body = {"messages": [{"role": "user", "content": "x"}], "temperature": 0}
    assert adapted(Traits(), body, 400, "max_tokens is not supported", True) is None
    assert adapted(Traits(), body, 400, "bad request", True) is None
    dropped = replace(Traits(), dropped=("temperature",))
    assert adapted(Traits(), body, 400, "temperature is not supported", True) == dropped
