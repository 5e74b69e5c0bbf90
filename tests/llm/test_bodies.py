"""Bodies that do not end, are too large, or are in another charset than UTF-8."""

from __future__ import annotations

import gzip
import json
import time
from collections.abc import Callable
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, Raw, said

from graphkb.errors import ModelFailure, SettingsError
from graphkb.llm import bodies
from graphkb.llm.bodies import decoded
from graphkb.llm.events import EventReader
from graphkb.llm.faults import Fault, judge
from graphkb.llm.model import Model, plain
from graphkb.llm.transport import environment_proxy
from graphkb.llm.wire import UNSAID, endpoint, read_body

Make = Callable[..., Model]
EVENTS = {"Content-Type": "text/event-stream"}


def event(text: str, **more: Any) -> bytes:
    choice = {"choices": [{"index": 0, "delta": {"content": text}, **more}]}
    return f"data: {json.dumps(choice)}\n\n".encode()


def whole(text: str, charset: str) -> Raw:
    data = json.dumps(said(text)[1], ensure_ascii=False)  # type: ignore[index]
    return Raw(
        (data.encode(charset),), 200, {"Content-Type": f"application/json;charset={charset}"}
    )


def unsaid(*events: bytes) -> Raw:
    return Raw(events, 200, EVENTS, close=True)


@pytest.mark.parametrize("charset", ["gbk", "gb18030", "big5", "utf-16", "utf-8"])
def test_a_reply_is_read_in_the_charset_that_it_names(
    server: ModelServer, model: Model, charset: str
) -> None:
    server.play = lambda body: whole("很好。Kelsound is good.", charset)
    assert model.ask(ask(), plain).value == "很好。Kelsound is good."


@pytest.mark.parametrize("charset", ["latin-1", "cp1252", "gbk", "no-such", "hex"])
def test_utf8_under_another_name_is_utf8(charset: str) -> None:
    headers = {"Content-Type": f'application/json; Charset="{charset}"'}
    assert decoded(headers, '{"a": "凯尔好"}'.encode()) == '{"a": "凯尔好"}'
    assert charset in ("gbk", "no-such", "hex") or decoded(headers, b"caf\xe9") == "café"


def test_a_body_in_no_charset_is_the_servers_fault() -> None:
    with pytest.raises(Fault, match="no text in UTF-8") as caught:
        read_body(200, {"Content-Type": "application/json"}, '{"a": "很好"}'.encode("gbk"))
    assert caught.value.kind == "server"


@pytest.mark.parametrize("charset", ["hex", "rot13", "base64", "idna", "undefined", "punycode"])
def test_an_error_in_a_charset_of_no_text_is_told(
    server: ModelServer, model: Model, charset: str
) -> None:
    body = json.dumps({"error": {"message": "坏了 broken"}}, ensure_ascii=False).encode()
    kind = {"Content-Type": f"application/json; charset={charset}"}
    server.play = lambda request: Raw((body,), 400, kind)
    with pytest.raises(ModelFailure, match="400: 坏了 broken"):
        model.ask(ask(), plain)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("packed", [False, True])
def test_a_reply_beyond_the_limit_is_not_read_on(
    server: ModelServer, make: Make, monkeypatch: pytest.MonkeyPatch, stream: bool, packed: bool
) -> None:
    monkeypatch.setattr("graphkb.llm.transport.LARGEST_REPLY", 1_000_000)
    body = b'{"a":"' + b"x" * 20_000_000
    headers = {"Content-Type": "application/json"}
    if packed:
        body, headers = gzip.compress(body, 1), {**headers, "Content-Encoding": "gzip"}
    read: list[int] = []
    pieces_within = bodies.pieces_within

    async def counted(content: Any, most: int) -> Any:
        async for piece in pieces_within(content, most):
            read.append(len(piece))
            yield piece

    monkeypatch.setattr("graphkb.llm.transport.pieces_within", counted)
    server.play = lambda request: Raw((body,), 200, headers, close=True)
    model = make(max_retries=0)
    with pytest.raises(ModelFailure, match="the reply is larger than 1 MB"):
        list(model.stream(ask())) if stream else model.ask(ask(), plain)
    assert 1_000_000 < sum(read) < 4_000_000


def test_an_error_beyond_the_limit_still_says_what_it_is(server: ModelServer, make: Make) -> None:
    server.play = lambda body: error(400, "too bad, 坏了 " + "x" * 3_000_000)
    with pytest.raises(ModelFailure, match=r"400: .*too bad, 坏了") as caught:
        make().ask(ask(), plain)
    assert len(str(caught.value)) < 600


def test_a_stream_beyond_the_limit_is_stopped(
    server: ModelServer, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphkb.llm.transport.LARGEST_STREAM", 1_000_000)
    server.play = lambda body: Raw([event("好"), b": ping\n\n" * 200_000], 200, EVENTS)
    with pytest.raises(ModelFailure, match="larger than 1 MB") as caught:
        list(make(max_retries=0).stream(ask()))
    assert caught.value.text == "好"


def test_an_event_without_end_is_no_event(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("graphkb.llm.events._LONGEST_LINE", 1_000)
    reader = EventReader()
    assert len(list(reader.feed(b"data: 0123456789\n\n" * 200))) == 200
    with pytest.raises(ValueError, match="does not end"):
        list(reader.feed(b"data: 0123456789\n" * 200))


@pytest.mark.parametrize("beat", [b": ping\n\n", event(""), event(" "), b"data: [1]\n\n"])
def test_a_watched_stream_that_shows_nothing_is_given_up(
    server: ModelServer, make: Make, beat: bytes
) -> None:
    server.play = lambda body: Raw([beat] * 500, 200, EVENTS)
    started = time.monotonic()
    with pytest.raises(ModelFailure, match=r"no more of the reply within 0\.3 s"):
        list(make(timeout=0.3, max_retries=0).stream(ask()))
    assert time.monotonic() - started < 3


def test_a_watched_stream_that_stops_showing_keeps_what_came(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: Raw([event("陈明是"), *[b": ping\n\n"] * 500], 200, EVENTS)
    with pytest.raises(ModelFailure, match="no more of the reply") as caught:
        list(make(timeout=0.3).stream(ask()))
    assert caught.value.text == "陈明是"
    assert len(server.requests) == 1


def test_a_plain_body_that_does_not_end_is_given_up_where_a_stream_was_asked_for(
    server: ModelServer, make: Make
) -> None:
    server.play = lambda body: Raw([b" "] * 500)
    started = time.monotonic()
    with pytest.raises(ModelFailure, match="within"):
        list(make(timeout=0.2, connect_timeout=0.2, max_retries=0).stream(ask()))
    assert time.monotonic() - started < 3


def test_a_stream_that_does_not_say_its_end_may_be_incomplete(
    server: ModelServer, make: Make
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        refusal = error(400, "This model only support stream mode, please enable stream")
        return unsaid(event("也许 maybe")) if body.get("stream") else refusal

    server.play = play
    model = make()
    assert model.ask(ask(), plain).value == "也许 maybe"
    assert [UNSAID in warning for warning in model.warnings()] == [True]


def test_a_stream_that_says_done_is_at_its_end(server: ModelServer, model: Model) -> None:
    server.play = lambda body: unsaid(event("完了 done"), b"data: [DONE]\n\n")
    stream = model.stream(ask())
    assert "".join(stream) == "完了 done"
    assert stream.reply is not None
    assert (stream.reply.finish_reason, stream.reply.whole) == ("ended", False)
    assert not model.warnings()


@pytest.mark.parametrize("first", [event(""), event("<think>先想")])
def test_a_stream_that_ends_before_its_text_is_asked_for_again(
    server: ModelServer, model: Model, first: bytes
) -> None:
    answers = [unsaid(first)] * 3 + [Raw([event("好", finish_reason="stop")], 200, EVENTS)]
    server.play = lambda body: answers.pop(0)
    assert "".join(model.stream(ask())) == "好"
    assert len(server.requests) == 4


@pytest.mark.parametrize(
    "url",
    [f"http://{'a' * 70}.com/v1", "http://a..b/v1", "http://h/v\n1", "http://h\x07/v1",
     "http://h:80\t80/v1", "http://钥:匙@h/v1", "http://[::bad/v1"],
)  # fmt: skip
def test_an_address_that_cannot_be_connected_to_is_told_at_once(url: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.base_url") as caught:
        endpoint(url)
    assert str(caught.value).isprintable()


@pytest.mark.parametrize(
    "proxy", ["http://h:99999", "http://[::bad", f"http://{'a' * 70}", "http://钥:匙@h:1"]
)
def test_a_proxy_that_cannot_be_connected_to_is_told_as_the_environments(
    monkeypatch: pytest.MonkeyPatch, proxy: str
) -> None:
    for name in ("no_proxy", "NO_PROXY", "https_proxy"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HTTPS_PROXY", proxy)
    with pytest.raises(SettingsError, match="this proxy of the environment") as caught:
        environment_proxy("https://far.example/v1")
    assert "匙" not in str(caught.value)


@pytest.mark.parametrize("key", ["sk-a\x01b", "sk-a\x7fb", "sk-a\nb"])
def test_a_key_with_control_characters_is_refused(make: Make, key: str) -> None:
    with pytest.raises(SettingsError, match=r"llm\.api_key") as caught:
        make(api_key=key)
    assert key not in str(caught.value)


@pytest.mark.parametrize("status", [101, 304, 999, 99])
def test_a_status_that_says_nothing_is_named(status: int) -> None:
    assert judge(status, {}, "").what.startswith(f"{status:03}: the server sent this status")


def test_what_a_server_said_moves_no_cursor() -> None:
    body = json.dumps({"error": {"message": "\x1b[2J\x1b]0;pwn\x07 bad\n坏了\u202e\x9b2K"}})
    assert judge(400, {}, body).what == "400: [2J]0;pwn bad 坏了2K"
