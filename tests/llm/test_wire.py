"""Requests as they are sent and answers as they are read, however odd."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkb.errors import SettingsError
from graphkb.llm.cache import Request
from graphkb.llm.faults import Fault
from graphkb.llm.servers import Traits
from graphkb.llm.wire import (
    body_of,
    endpoint,
    is_local,
    read_body,
    read_reply,
    usage_of,
)

JSON = {"content-type": "application/json"}
LEAF = st.none() | st.booleans() | st.integers() | st.text(max_size=8)
KEYS = st.sampled_from(
    ["choices", "message", "content", "error", "usage", "code", "finish_reason", "text", "refusal",
     "prompt_tokens", "detail"]
)  # fmt: skip
ODD = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=4),
    max_leaves=16,
)


@given(ODD)
@settings(max_examples=150, deadline=None)
def test_any_json_is_a_reply_or_a_fault(data: Any) -> None:
    usage = usage_of(data)
    assert usage[0] >= 0
    said = ""
    try:
        reply = read_reply(data)
        said = reply.text.strip() or reply.finish_reason
    except Fault as fault:
        said = fault.said
    assert said


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://h:1/v1", "http://h:1/v1"),
        ("http://h:1/v1/", "http://h:1/v1"),
        (" http://h:1/v1/chat/completions \n", "http://h:1/v1"),
        ("https://h/compatible-mode/v1/chat/completions/", "https://h/compatible-mode/v1"),
        ("http://h:1", "http://h:1"),
        ("http://h:1/v1/models", "http://h:1/v1"),
        ("http://[::1]:8000/v1", "http://[::1]:8000/v1"),
    ],
)
def test_spellings_of_an_endpoint(url: str, address: str) -> None:
    assert endpoint(url) == (address, {})


@pytest.mark.parametrize("url", ["h:1/v1", "h/v1", "", "http://", "http://h:99999/v1", "file:///x"])
def test_what_is_no_endpoint(url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url"):
        endpoint(url)


def test_the_machine_and_its_network_need_no_proxy() -> None:
    local = ["http://localhost:1/v1", "http://127.0.0.1:1", "http://192.168.1.5:11434/v1",
             "http://[::1]:1/v1", "http://host.docker.internal:1/v1"]  # fmt: skip
    assert all(map(is_local, local))
    assert not any(map(is_local, ["https://api.deepseek.com", "http://8.8.8.8/v1"]))


@pytest.mark.parametrize(
    ("content", "kind", "said"),
    [
        (b'{"choices": [', "server", "cut off"),
        ('{"choices": ["中'.encode(), "server", "cut off"),
        (b'{"choices": [], "a": tr', "server", "cut off"),
        (b"", "server", "is empty"),
        (b"  \n", "server", "is empty"),
        (b"null", "address", "is null"),
        (b"<!doctype html><p>Welcome", "address", "a web page"),
        ("欢迎使用".encode(), "address", "欢迎使用"),
        (b"[" * 100_000 + b"]" * 100_000, "server", "nested too deep"),
        (b'{"n": ' + b"1" * 5000 + b"}", "server", "a number that is too long"),
        (b"{'choices': []}", "server", "is no JSON"),
        (b'{"choices": []} done', "server", "is no JSON"),
    ],
)
def test_a_body_that_is_no_json(content: bytes, kind: str, said: str) -> None:
    with pytest.raises(Fault) as caught:
        read_body(200, JSON, content)
    assert caught.value.kind == kind
    assert said in caught.value.said


def test_a_byte_order_mark_before_the_body_is_left_out() -> None:
    assert read_body(200, JSON, b'\xef\xbb\xbf{"a": 1}') == {"a": 1}


@pytest.mark.parametrize("reason", ["stop", "end_turn", "eos", "", None, "STOP"])
def test_the_usual_ends_are_whole(reason: str | None) -> None:
    data = {"choices": [{"message": {"content": "ok"}, "finish_reason": reason}]}
    assert read_reply(data).whole


@pytest.mark.parametrize("reason", ["length", "max_tokens", "MAX_TOKENS", "model_length"])
def test_the_usual_cuts_are_not(reason: str) -> None:
    data = {"choices": [{"message": {"content": "ok"}, "finish_reason": reason}]}
    assert read_reply(data).finish_reason == "length"


def test_a_request_is_built_from_what_the_server_takes() -> None:
    options = {"temperature": 0.0, "prompt_max_tokens": 300, "schema": {"type": "object"},
               "structured": "auto", "extra_body": {"top_k": 5}}  # fmt: skip
    request = Request("http://h/v1", "m", (("system", "JSON"), ("user", "问题")), options)
    plain = body_of(request, Traits())
    assert (plain["max_tokens"], plain["temperature"], plain["top_k"]) == (300, 0.0, 5)
    assert plain["response_format"]["json_schema"]["schema"] == {"type": "object"}
    odd = body_of(
        request,
        Traits(mode="json", dropped=("temperature", "stream_options"), system_role=False,
               limit_name="max_completion_tokens", reply_limit=200),
        stream=True,
    )  # fmt: skip
    assert odd["messages"] == [{"role": "user", "content": "JSON\n\n问题"}]
    assert odd["max_completion_tokens"] == 200
    assert odd["response_format"] == {"type": "json_object"}
    assert {"temperature", "stream_options", "max_tokens"}.isdisjoint(odd)
    assert "max_tokens" not in body_of(request, Traits(reasons=True))
    assert body_of(request, Traits(), limit=50)["max_tokens"] == 50
