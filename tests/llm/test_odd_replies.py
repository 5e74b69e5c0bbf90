"""Replies and rows that no server should send or keep: each costs its own call, never the rest."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from model_cases import ask, error
from model_server import Answer, ModelServer, Raw, said
from pydantic import ValidationError

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.characters import WholeCharacters
from graphkb.llm.lenient import read_lenient
from graphkb.llm.model import Model, Said, plain
from graphkb.llm.structured import json_parser, parse_json

Make = Callable[..., Model]
EVENTS = {"Content-Type": "text/event-stream"}
SCHEMA = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"]}
PAGE = Raw((b"<html>log in</html>",), 200, {"Content-Type": "text/html"})
REQUEST = Request("http://h/v1", "m", (("user", "谁？"),), {})


def event(text: str, **more: Any) -> str:
    return (
        f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}, **more}]})}\n\n"
    )


def streamed(*events: str) -> Raw:
    return Raw(["".join(events).encode()], 200, EVENTS)


def stream_only(body: dict[str, Any]) -> Answer | None:
    """The refusal of a server that only streams."""
    refusal = "This model only support stream mode, please enable the stream parameter"
    return None if body.get("stream") else error(400, refusal)


def rows(folder: Path, statement: str, *values: str) -> list[Any]:
    """Reads or changes the reply cache behind the model's back."""
    database = sqlite3.connect(folder / "cache" / "llm.sqlite")
    with database:
        found = database.execute(statement, values).fetchall()
    database.close()
    return found


@pytest.mark.parametrize(
    ("text", "read"),
    [
        (r'{"a": "陈明 \ud83d\ude00。"}', "陈明 😀。"),
        (r'{"a": "cut \ud83d"}', "cut \ufffd"),
        (r'{"a": "\ude00\ud83d 反了"}', "\ufffd\ufffd 反了"),
        (r'{"a": "\ud83d\ud83d\ude00"}', "\ufffd😀"),
        (r"{'a': '好 \uD83D\uDE00', }", "好 😀"),
        (r"{'a': 'cut \ud83d', }", "cut \ufffd"),
        (r'"{\"a\": \"in a string \\ud83d\"}"', "in a string \ufffd"),
        (r'"{\"a\": \"串里 \\ud83d\\ude00\"}"', "串里 😀"),
        ('{"a": "raw \ud83d"}', "raw \ufffd"),
        (r'{"a": "\\ud83d stays"}', r"\ud83d stays"),
        (r'{"a": "\u4f60\ud7ff"}', "你\ud7ff"),
    ],
)
def test_escaped_halves_of_characters_are_joined_or_replaced(text: str, read: str) -> None:
    assert parse_json(text) == {"a": read}


def test_the_lenient_reader_joins_halves_too() -> None:
    assert read_lenient(r"{'a': '好 \ud83d\ude00 \ud83d'}")[0] == {"a": "好 😀 \ufffd"}


@pytest.mark.parametrize(
    ("pieces", "whole"),
    [
        (["陈明 \ud83d", "\ude00 好"], "陈明 😀 好"),
        (["a\ud83d", "", "\ude00", "b\ud83d"], "a😀b?"),
        (["\ud83d", "x", "\ude00"], "?x?"),
    ],
)
def test_a_character_cut_over_two_pieces_is_joined(pieces: list[str], whole: str) -> None:
    joined = WholeCharacters("?")
    parts = [joined.feed(piece) for piece in pieces]
    assert "".join([*parts, joined.finish()]) == whole


def test_a_stream_that_cuts_a_character_in_two_passes_it_on_whole(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: streamed(
        event("陈明 \ud83d"), event("\ude00 led \ud83d"), event("", finish_reason="stop")
    )
    stream = model.stream(ask())
    assert "".join(stream) == "陈明 😀 led ?"
    assert stream.reply is not None
    assert stream.reply.text == "陈明 😀 led ?"


def test_a_pair_sent_as_escapes_is_a_character_in_a_reply(
    server: ModelServer, model: Model
) -> None:
    server.play = lambda body: said("好 \ud83d\ude00 end")
    assert model.ask(ask(), plain).value == "好 😀 end"


@pytest.mark.parametrize("text", ["{" * 1000, "{" * 400, "[" * 3000, '{"a":' + "[" * 3000])
def test_a_reply_nested_without_end_is_unusable_and_not_kept(
    server: ModelServer, model: Model, tmp_path: Path, text: str
) -> None:
    with pytest.raises(ValueError, match="nested"):
        parse_json(text)
    server.play = lambda body: said(text)
    with pytest.raises(ModelFailure, match="no usable reply") as caught:
        model.ask(ask("JSON", schema=SCHEMA), json_parser(SCHEMA))
    assert caught.value.kind == "unparseable"
    assert rows(tmp_path, "SELECT COUNT(*) FROM replies") == [(0,)]


def test_a_parse_that_recurses_too_deep_refuses_the_reply(
    server: ModelServer, model: Model, tmp_path: Path
) -> None:
    def parse(text: str) -> str:
        return parse(text)

    with pytest.raises(ModelFailure, match="nested too deep"):
        model.ask(ask(), parse)
    assert len(server.requests) == 2
    assert rows(tmp_path, "SELECT COUNT(*) FROM replies") == [(0,)]


def test_braces_as_a_plain_reply_do_not_end_a_run(server: ModelServer, model: Model) -> None:
    server.play = lambda body: said("[" * 3000)
    prompt = ask("JSON", schema=SCHEMA)
    assert model.ask(prompt, lambda text: len(text)).value == 3000


def too_long(body: dict[str, Any]) -> Answer:
    return error(400, "This model's maximum context length is 300 tokens. However, you sent more")


def test_a_window_that_an_error_told_holds_for_this_process_only(
    server: ModelServer, make: Make
) -> None:
    server.play = too_long
    first = make()
    long = "长文 long text " * 200
    for question in (f"1 {long}", f"2 {long}"):
        with pytest.raises(ModelFailure) as caught:
            first.ask(ask(question), plain)
        assert caught.value.kind == "context"
    assert (first.window("answer"), len(server.requests)) == (300, 1)
    server.play = lambda body: said("好")
    again = make()
    assert again.window("answer") == 0
    assert again.ask(ask(f"1 {long}"), plain).value == "好"


def test_a_window_kept_by_an_earlier_version_is_not_believed(
    server: ModelServer, make: Make, tmp_path: Path
) -> None:
    make().close()
    traits = json.dumps({"window": 300, "mode": "json"})
    rows(tmp_path, "INSERT INTO servers VALUES (?, 'm', ?)", server.url, traits)
    model = make()
    assert model.window("answer") == 0
    assert model.ask(ask("长文 long text " * 200), plain).reply.text


@pytest.mark.parametrize("traits", ["{", "5", '{"dropped": 5, "mode": "xml", "streaming": null}'])
def test_a_damaged_row_of_a_server_is_as_none(
    server: ModelServer, make: Make, tmp_path: Path, traits: str
) -> None:
    make().close()
    rows(tmp_path, "INSERT INTO servers VALUES (?, 'm', ?)", server.url, traits)
    server.play = lambda body: said('{"a": "好"}')
    found = make().ask(ask("JSON", schema=SCHEMA), json_parser(SCHEMA))
    assert found.value == {"a": "好"}
    assert server.requests[0]["response_format"]["type"] == "json_schema"


def test_clearing_the_cache_forgets_servers_too(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.remember_server("http://h/v1", "m", {"mode": "text"}).result()
    assert cache.clear() == 0
    assert cache.server("http://h/v1", "m") == {}
    cache.close()


@pytest.mark.parametrize(
    "row",
    [
        "", "{", "null", "[]", '"text"', "{}",
        '{"text": "好", "finish_reason": "stop"}',
        '{"text": 5, "finish_reason": "stop", "prompt_tokens": 7, "completion_tokens": 3,'
        ' "cached": false}',
        '{"text": "好", "finish_reason": "stop", "prompt_tokens": 7, "completion_tokens": 3,'
        ' "cached": false, "of_a_newer_version": 1}',
    ],
)  # fmt: skip
def test_a_damaged_row_or_another_versions_is_no_reply(tmp_path: Path, row: str) -> None:
    cache = ReplyCache(tmp_path / "cache")
    cache.put(REQUEST, Reply("好", "stop", 7, 3))
    rows(tmp_path, "UPDATE replies SET reply = ?", row)
    assert cache.get(REQUEST) is None
    assert list(cache.export()) == []
    assert all(line["prompt_tokens"] in (0, 7) for line in cache.stats())
    cache.put(REQUEST, Reply("again", "stop", 7, 3))
    assert cache.get(REQUEST) == Reply("again", "stop", 7, 3, cached=True)
    cache.close()


def test_a_kept_half_of_a_character_is_replaced(tmp_path: Path) -> None:
    cache = ReplyCache(tmp_path)
    cache.put(REQUEST, Reply("半 \ud83d", "stop", 7, 3))
    kept = cache.get(REQUEST)
    assert kept is not None
    assert kept.text == "半 \ufffd"
    cache.close()


@pytest.mark.parametrize("beat", [": keep-alive\n\n", event(" ")])
def test_a_stream_that_nobody_watches_and_that_never_ends_is_given_up(
    server: ModelServer, make: Make, beat: str
) -> None:
    server.play = lambda body: stream_only(body) or Raw([beat.encode()] * 500, 200, EVENTS)
    started = time.monotonic()
    with pytest.raises(ModelFailure, match=r"no whole reply within 0\.3 s"):
        make(timeout=0.3, max_retries=1).ask(ask(), plain)
    assert time.monotonic() - started < 3


def test_a_stream_that_is_watched_may_take_longer_than_the_timeout(
    server: ModelServer, make: Make
) -> None:
    events = [event("字").encode()] * 60 + [event("", finish_reason="stop").encode()]
    server.play = lambda body: Raw(events, 200, EVENTS)
    assert "".join(make(timeout=0.3).stream(ask())) == "字" * 60


@pytest.mark.parametrize("word", ["无休止。", "on and on. "])
def test_a_stream_far_beyond_its_limit_is_stopped_and_counts_as_cut(
    server: ModelServer, make: Make, word: str
) -> None:
    sent = word * 200
    server.play = lambda body: Raw([event(sent).encode()] * 300, 200, EVENTS)
    stream = make(max_tokens=500).stream(ask())
    with pytest.raises(ModelFailure, match="cut at the token limit") as caught:
        list(stream)
    assert caught.value.kind == "truncated"
    assert 8_000 < len(stream.text.encode()) < 8_000 + 2 * len(sent.encode())


def test_a_stream_without_a_limit_has_an_absolute_one(
    server: ModelServer, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("graphkb.llm.attempt._MOST_BYTES", 9_000)
    server.play = lambda body: Raw([event("字" * 500).encode()] * 300, 200, EVENTS)
    stream = model.stream(ask())
    with pytest.raises(ModelFailure) as caught:
        list(stream)
    assert caught.value.kind == "truncated"
    assert len(stream.text) < 5_000


@pytest.mark.parametrize(
    "number", ["1e999", "Infinity", "-Infinity", "NaN", "-5", "1" + "0" * 300, "true", '"many"']
)
def test_counts_that_can_be_none_are_taken_as_not_given(
    server: ModelServer, make: Make, number: str
) -> None:
    body = '{"choices": [{"message": {"content": "好的 fine"}, "finish_reason": "stop"}], '
    body += f'"usage": {{"prompt_tokens": {number}, "completion_tokens": {number}}}}}'
    server.play = lambda request: Raw((body.encode(),))
    model = make(tokens_per_minute=1_000_000)
    assert model.ask(ask(), plain).value == "好的 fine"
    used = model.usage()[0]
    assert 1 < used.completion_tokens < 10
    assert 5 < used.prompt_tokens < 50


ODD = [
    PAGE,
    Raw((b"null",)),
    Raw((b"OK",), 200, {"Content-Type": "text/plain"}),
    Raw((b"404 page not found",), 404, {"Content-Type": "text/plain"}),
    Raw((b"<!DOCTYPE html><html>Request blocked</html>",), 403, {"Content-Type": "text/html"}),
]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: str(odd.segments[0][:20]))
def test_a_page_between_good_replies_is_asked_for_again(
    server: ModelServer, make: Make, odd: Raw
) -> None:
    server.play = lambda body: odd if len(server.requests) in (9, 10) else said("ok")
    model = make(concurrency=2)
    outcomes = model.ask_many([ask(f"问题 {place}") for place in range(24)], plain)
    assert all(isinstance(outcome, Said) for outcome in outcomes)
    assert (len(server.requests), model.usage()[0].retries) == (26, 2)


def test_a_page_that_stays_ends_the_run(server: ModelServer, make: Make) -> None:
    server.play = lambda body: PAGE if len(server.requests) > 4 else said("ok")
    with pytest.raises(ModelUnusableError, match=r"a web page.*check llm\.base_url"):
        make(concurrency=1, max_retries=3).ask_many([ask(str(n)) for n in range(24)], plain)
    assert 8 <= len(server.requests) <= 12


@pytest.mark.parametrize("status", [401, 402])
def test_a_lost_key_or_credit_is_not_asked_again(
    server: ModelServer, make: Make, status: int
) -> None:
    server.play = lambda body: error(status, "no more") if len(server.requests) > 4 else said("ok")
    with pytest.raises(ModelUnusableError):
        make(concurrency=1).ask_many([ask(str(n)) for n in range(24)], plain)
    assert len(server.requests) == 5


@pytest.mark.parametrize(
    ("price", "told"),
    [(float("nan"), "finite"), (float("inf"), "finite"), (-1.0, "greater than or equal to 0")],
)
def test_a_price_that_is_none_is_told(make: Make, price: float, told: str) -> None:
    with pytest.raises(ValidationError, match=rf"prices\.千问\.1\n.*{told}"):
        make(prices={"m": [1, 2], "千问": [0.5, price]}, budget_usd=1.0)
