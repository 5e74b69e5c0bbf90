"""Embeddings through a real loopback endpoint that has limits, makes mistakes and fails."""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from embed.embeddings_server import (
    Answer,
    EmbeddingsServer,
    embedded,
    embeddings_server,
    recorded,
    refused,
    vector_of,
)

import graphkb.embed.connection as connection
from graphkb.embed import make_embedder
from graphkb.embed.endpoint import EndpointEmbedder
from graphkb.errors import EmbeddingError, SettingsError
from graphkb.settings import Embed
from graphkb.settings_file import load_settings


@pytest.fixture
def server() -> Iterator[EmbeddingsServer]:
    with embeddings_server() as server:
        yield server


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connection, "_FIRST_WAIT", 0.01)


def endpoint(server: EmbeddingsServer, **options: Any) -> EndpointEmbedder:
    return EndpointEmbedder(Embed(provider="openai", base_url=server.url, model="m", **options))


class Outcome:
    """Everything that :meth:`embed_many` gave for some texts."""

    def __init__(self, embedder: EndpointEmbedder, texts: Sequence[str]) -> None:
        self.vectors: dict[int, np.ndarray] = {}
        self.refused: dict[int, str] = {}
        self.halved: set[int] = set()
        for made in embedder.embed_many(texts):
            for place, vector in zip(made.places, made.vectors, strict=True):
                assert place not in self.vectors
                self.vectors[place] = vector
            self.refused.update(made.refused)
            self.halved.update(made.halved)
        assert sorted([*self.vectors, *self.refused]) == list(range(len(texts)))


def unit(values: Sequence[float]) -> np.ndarray:
    return np.array(values) / np.linalg.norm(values)


def assert_right(
    found: dict[int, np.ndarray], texts: Sequence[str], left_out: Sequence[int] = ()
) -> None:
    """Each text, but those at ``left_out``, has the vector that the server makes of it."""
    assert sorted(found) == [place for place in range(len(texts)) if place not in left_out]
    for place, vector in found.items():
        assert vector == pytest.approx(unit(vector_of(texts[place])), abs=1e-6), texts[place]


TEXTS = [("青" if n % 2 else "x") * (n + 1) for n in range(25)]


def test_vectors_belong_to_their_texts_whatever_the_order_of_the_reply(
    server: EmbeddingsServer,
) -> None:
    outcome = Outcome(endpoint(server, batch_size=4), TEXTS)
    assert_right(outcome.vectors, TEXTS)
    assert sorted(map(len, server.asked)) == [1, *[4] * 6]


def test_i01_a_shuffled_reply_is_ordered_by_index(server: EmbeddingsServer) -> None:
    embedder = endpoint(server)
    embedder.dimension = 8
    server.play = lambda body: recorded("emb_shuffled")
    found = Outcome(embedder, ["甲", "乙", "丙"]).vectors
    for place, first in enumerate([0.1, 0.2, 0.3]):
        expected = unit([first + 0.01 * n for n in range(8)])
        assert found[place] == pytest.approx(expected, abs=1e-6)


def test_a_reply_without_indexes_is_taken_in_its_order(server: EmbeddingsServer) -> None:
    def play(body: dict[str, Any]) -> Answer:
        items = [{"embedding": vector_of(text)} for text in body["input"]]
        return Answer(200, {"data": items})

    server.play = play
    assert_right(Outcome(endpoint(server), TEXTS).vectors, TEXTS)


@pytest.mark.parametrize("index", [lambda place: 0, lambda place: place % 2])
def test_where_indexes_say_nothing_texts_go_one_at_a_time(
    server: EmbeddingsServer, index: Callable[[int], int]
) -> None:
    def play(body: dict[str, Any]) -> Answer:
        items = [
            {"index": index(place), "embedding": vector_of(text)}
            for place, text in enumerate(body["input"][::-1])
        ]
        return Answer(200, {"data": items})

    server.play = play
    assert_right(Outcome(endpoint(server), TEXTS[:9]).vectors, TEXTS[:9])


def test_i03_a_stated_batch_limit_is_kept_for_the_rest(server: EmbeddingsServer) -> None:
    server.play = lambda body: (
        recorded("emb_batch_400") if len(body["input"]) > 10 else embedded(body)
    )
    embedder = endpoint(server, concurrency=1)
    outcome = Outcome(embedder, TEXTS)
    assert_right(outcome.vectors, TEXTS)
    assert outcome.refused == {}
    assert [len(texts) for texts in server.asked] == [1, 24, 10, 10, 4]
    server.forget()
    Outcome(embedder, TEXTS)
    assert max(len(texts) for texts in server.asked) == 10


@pytest.mark.parametrize(
    ("status", "message", "most", "sizes"),
    [
        (400, "too many inputs", 6, [1, 24, 12, 6, 6, 6, 6]),
        (413, "batch size 24 > maximum allowed batch size 8", 8, [1, 24, 8, 8, 8]),
        (422, "input数组最大不得超过12条", 12, [1, 24, 12, 12]),
        (400, "invalid request: total number of texts must be at most 20", 20, [1, 24, 20, 4]),
    ],
)
def test_batch_limits_in_other_words_are_understood(
    server: EmbeddingsServer, status: int, message: str, most: int, sizes: list[int]
) -> None:
    server.play = lambda body: (
        refused(status, message) if len(body["input"]) > most else embedded(body)
    )
    assert_right(Outcome(endpoint(server, concurrency=1), TEXTS).vectors, TEXTS)
    assert [len(texts) for texts in server.asked] == sizes


def test_requests_fly_at_once_up_to_the_setting(server: EmbeddingsServer) -> None:
    server.delay = 0.05
    began = time.monotonic()
    Outcome(endpoint(server, batch_size=1, concurrency=8), TEXTS)
    assert server.flying == 8
    assert time.monotonic() - began < 0.05 * len(TEXTS) / 2


@pytest.mark.parametrize(
    "refusal",
    [
        recorded("emb_too_long_413"),
        refused(400, "This model's maximum context length is 8 tokens"),
        refused(500, "input is too large to process. increase the physical batch size"),
        refused(422, "文本长度超过限制"),
    ],
)
def test_i05_too_long_texts_are_halved_and_the_others_go_on(
    server: EmbeddingsServer, refusal: Answer
) -> None:
    server.play = lambda body: (
        refusal if any(len(text) > 400 for text in body["input"]) else embedded(body)
    )
    texts = ["short", "长" * 1000, "x", "long " * 200, "y" * 400]
    outcome = Outcome(endpoint(server), texts)
    assert outcome.refused == {}
    assert outcome.halved == {1, 3}
    whole = {place: outcome.vectors[place] for place in (0, 2, 4)}
    assert_right(whole, texts, left_out=(1, 3))
    for place in (1, 3):
        assert np.linalg.norm(outcome.vectors[place]) == pytest.approx(1, abs=1e-5)


def test_texts_are_shortened_to_the_setting_before_they_are_sent(server: EmbeddingsServer) -> None:
    embedder = endpoint(server, max_text_tokens=4, passage_prefix="p: ")
    Outcome(embedder, ["one two three four five", "一"])
    embedder.embed_query("one two three four five")
    assert sorted(server.texts) == ["one two three four", "p: one two", "p: 一"]


@pytest.mark.parametrize("bad", [recorded("emb_nan_500"), refused(400, "this text is not allowed")])
def test_i09_a_text_that_is_refused_alone_leaves_the_others_their_vectors(
    server: EmbeddingsServer, bad: Answer
) -> None:
    server.play = lambda body: bad if "poison" in body["input"] else embedded(body)
    texts = ["one", "two", "poison", "four", "青石"]
    outcome = Outcome(endpoint(server), texts)
    assert_right(outcome.vectors, texts, left_out=(2,))
    assert list(outcome.refused) == [2]
    assert ["poison"] in server.asked
    assert len(server.asked) < 8


@pytest.mark.parametrize("name", ["emb_nan", "emb_zero"])
def test_i09_vectors_that_are_none_are_never_given(server: EmbeddingsServer, name: str) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if body["input"] == ["nothing"]:
            first = recorded(name)
            if first.body:
                first.body["data"] = first.body["data"][:1]
            return first
        answer = embedded(body, width=8)
        for item in answer.body["data"]:
            if body["input"][item["index"]] == "nothing":
                item["embedding"] = [0.0] * 8
        return answer

    server.play = play
    for texts in (["nothing", "some", "more"], ["some", "nothing", "more"]):
        server.forget()
        outcome = Outcome(endpoint(server), texts)
        assert list(outcome.refused) == [texts.index("nothing")]
        assert "NaN" in outcome.refused[texts.index("nothing")] or name == "emb_zero"
        assert ["nothing"] in server.asked


@pytest.mark.parametrize("odd", [None, float("inf"), -float("inf"), 1e39, "NaN"])
def test_null_infinity_and_overflow_are_no_numbers(server: EmbeddingsServer, odd: Any) -> None:
    def play(body: dict[str, Any]) -> Answer:
        answer = embedded(body, encoding="float")
        for item in answer.body["data"]:
            if body["input"][item["index"]] == "odd":
                item["embedding"][1] = odd
        return answer

    server.play = play
    assert list(Outcome(endpoint(server), ["a", "odd", "c"]).refused) == [1]


def test_i13_base64_lists_and_numbers_as_strings_are_read(server: EmbeddingsServer) -> None:
    embedder = endpoint(server)
    server.play = lambda body: recorded("emb_base64")
    values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]
    assert embedder.embed_query("x") == pytest.approx(unit(values), abs=1e-6)
    server.play = lambda body: Answer(200, {"data": [{"index": 0, "embedding": values}]})
    assert embedder.embed_query("y") == pytest.approx(unit(values), abs=1e-6)
    strings = [str(value) for value in values]
    server.play = lambda body: Answer(200, {"data": [{"index": 0, "embedding": strings}]})
    assert embedder.embed_query("z") == pytest.approx(unit(values), abs=1e-6)


def test_a_server_that_knows_no_base64_is_asked_for_numbers(server: EmbeddingsServer) -> None:
    server.play = lambda body: (
        refused(422, "encoding_format: input should be 'float'")
        if body["encoding_format"] == "base64"
        else embedded(body)
    )
    assert_right(Outcome(endpoint(server, batch_size=5), TEXTS).vectors, TEXTS)
    formats = [body["encoding_format"] for body in server.bodies]
    assert formats.count("base64") == 1


def test_i11_only_lists_of_strings_are_sent(server: EmbeddingsServer) -> None:
    embedder = endpoint(server)
    embedder.embed_query("where?")
    embedder.embed_passages(["hier", "那里"])
    Outcome(embedder, ["a", "b", "c"])
    for body in server.bodies:
        assert isinstance(body["input"], list)
        assert all(isinstance(text, str) for text in body["input"])


def test_a_proxy_is_not_asked_for_this_machine_and_a_whole_address_is_understood(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")
    paths = Embed(provider="openai", base_url=f"{server.url}/embeddings/", model="m")
    assert EndpointEmbedder(paths).embed_query("hello").shape == (4,)
    assert server.paths == ["/v1/embeddings"]


def test_failures_that_pass_are_tried_again(server: EmbeddingsServer) -> None:
    failures = iter(
        [
            recorded("truncated_body"), refused(502, "bad gateway"), refused(500, "oops"),
            Answer(200, None, raw='{"data": [{"index"'), Answer(200, {"data": [{"index": 0}]}),
        ]
    )  # fmt: skip
    server.play = lambda body: (
        embedded(body) if len(server.asked) % 2 else next(failures, embedded(body))
    )
    outcome = Outcome(endpoint(server, batch_size=3, concurrency=1), TEXTS)
    assert_right(outcome.vectors, TEXTS)
    assert outcome.refused == {}
    assert next(failures, None) is None


def test_retry_after_is_kept_by_all_requests(server: EmbeddingsServer) -> None:
    crowded = iter([refused(429, "slow down", Retry_After="0.4")] * 3)

    def play(body: dict[str, Any]) -> Answer:
        return (next(crowded, None) if len(server.asked) > 4 else None) or embedded(body)

    server.play, server.delay = play, 0.02
    embedder = endpoint(server, batch_size=1, concurrency=4)
    assert_right(Outcome(embedder, TEXTS).vectors, TEXTS)
    gaps = np.diff(server.times)
    assert gaps.max() > 0.35
    assert (gaps > 0.2).sum() <= 2, "one burst is one pause"


def test_a_date_to_come_back_at_that_is_far_away_is_capped(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "_LONGEST_ASKED", 0.2)
    answers = iter([recorded("rate_429_date"), recorded("server_503")])
    server.play = lambda body: next(answers, None) or embedded(body)
    assert_right(Outcome(endpoint(server), TEXTS).vectors, TEXTS)
    gaps = np.diff(server.times)
    assert gaps[0] > 0.15
    assert gaps.max() < 2


@pytest.mark.parametrize("given", ["${DASH_KEY}", "sk-secret-9876"])
def test_a_wrong_key_ends_it_at_once_and_the_key_is_not_shown(
    server: EmbeddingsServer, tmp_path: Path, given: str
) -> None:
    (tmp_path / ".env").write_text("DASH_KEY=sk-secret-9876\n", "utf-8")
    (tmp_path / "settings.yaml").write_text(
        f"embed:\n  provider: openai\n  model: m\n  base_url: {server.url}\n  api_key: {given}\n",
        "utf-8",
    )
    server.play = lambda body: refused(401, "Incorrect API key provided: sk-secret-9876")
    with pytest.raises(EmbeddingError) as caught:
        Outcome(endpoint_of(tmp_path), TEXTS)
    said = str(caught.value)
    assert said.startswith(f"{server.url}: embed.api_key")
    assert ("(from DASH_KEY)" in said) == given.startswith("$")
    assert "401" in said
    assert "9876" not in said
    assert "\n" not in said
    assert server.keys == ["Bearer sk-secret-9876"]


def endpoint_of(root: Path) -> EndpointEmbedder:
    embedder = make_embedder(load_settings(root).embed)
    assert isinstance(embedder, EndpointEmbedder)
    return embedder


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (recorded("auth_401"), r"embed\.api_key is empty \(401: Incorrect API key"),
        (recorded("html_200"), r"web page.*check embed\.base_url"),
        (recorded("path_404"), r"404: Not Found.*check embed\.base_url and embed\.model"),
        (Answer(200, {"hello": 1}), r"no list of embeddings.*check embed\.base_url"),
        (refused(402, "Insufficient Balance"), r"no money or quota.*402.*what was embedded is"),
        (refused(429, "You exceeded your current quota"), r"no money or quota"),
        (refused(403, "账户余额不足"), r"no money or quota"),
    ],
)
def test_what_no_retry_mends_ends_it_at_once(
    server: EmbeddingsServer, answer: Answer, message: str
) -> None:
    server.play = lambda body: answer
    with pytest.raises(EmbeddingError, match=message):
        Outcome(endpoint(server), TEXTS)
    assert len(server.asked) == 1


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (refused(400, "model 'm' is not loaded"), "not loaded"),
        (recorded("emb_nan_500"), "NaN"),
        (recorded("emb_nan"), "NaN or infinity"),
        (Answer(200, {"data": []}), "0 embeddings for 1 texts"),
        (Answer(200, {"data": [{"index": 0, "embedding": [[1, 2], [3, 4]]}]}), r"shape \(2, 2\)"),
        (refused(500, "out of memory"), "out of memory"),
    ],
)
def test_an_endpoint_that_embeds_nothing_costs_a_few_requests(
    server: EmbeddingsServer, answer: Answer, message: str
) -> None:
    server.play = lambda body: answer
    with pytest.raises(EmbeddingError, match=message):
        Outcome(endpoint(server), TEXTS)
    assert len(server.asked) <= 4
    assert max(map(len, server.asked)) == 1


def until_it_ends(embedder: EndpointEmbedder, texts: Sequence[str]) -> tuple[set[int], str]:
    """Places of the texts that got a vector, and the error that ended the run."""
    came: set[int] = set()
    try:
        for made in embedder.embed_many(texts):
            came.update(made.places)
    except EmbeddingError as error:
        return came, str(error)
    return came, ""


def test_a_model_that_is_unloaded_in_the_middle_ends_it_and_what_came_is_given(
    server: EmbeddingsServer,
) -> None:
    server.play = lambda body: (
        embedded(body) if len(server.asked) < 6 else refused(400, "model not loaded")
    )
    embedder = endpoint(server, batch_size=2, concurrency=1)
    came, said = until_it_ends(embedder, ["x" * n for n in range(1, 500)])
    assert len(came) == 9
    assert "model not loaded" in said
    assert len(server.asked) < 20


def test_what_is_in_flight_when_a_run_ends_is_still_given(server: EmbeddingsServer) -> None:
    def play(body: dict[str, Any]) -> Answer:
        if body["input"] == ["last call"]:
            return refused(402, "Insufficient Balance")
        time.sleep(0.1)
        return embedded(body)

    server.play = play
    texts = ["first", "last call", "second", "third", "fourth", "never"]
    came, said = until_it_ends(endpoint(server, batch_size=1, concurrency=4), texts)
    assert came == {0, 2, 3, 4}
    assert "no money" in said
    assert "never" not in server.texts


def test_vectors_of_two_widths_are_an_error(server: EmbeddingsServer) -> None:
    server.play = lambda body: embedded(body, width=4 if len(server.asked) < 3 else 6)
    with pytest.raises(EmbeddingError, match="6 numbers where the others have 4"):
        Outcome(endpoint(server, batch_size=2), TEXTS)


def test_a_third_of_all_calls_failing_loses_nothing(server: EmbeddingsServer) -> None:
    faults = [
        recorded("truncated_body"), refused(503, "busy"), refused(500, "oops"),
        refused(429, "slow", Retry_After="0.02"), Answer(200, None, raw="{"),
    ]  # fmt: skip

    numbers = itertools.count()

    def play(body: dict[str, Any]) -> Answer:
        number = next(numbers)
        return faults[number % 5] if number % 3 == 2 else embedded(body)

    server.play = play
    texts = [f"text {n} 青" for n in range(120)]
    outcome = Outcome(endpoint(server, batch_size=2, concurrency=4, max_retries=12), texts)
    assert_right(outcome.vectors, texts)
    assert outcome.refused == {}
    assert len(server.asked) <= 1.6 * 61


def test_a_text_at_which_the_server_always_fails_is_left_out_alone(
    server: EmbeddingsServer,
) -> None:
    server.play = lambda body: refused(500, "oops") if "cursed" in body["input"] else embedded(body)
    texts = ["one", "two", "three", "cursed", "five", "青石"]
    outcome = Outcome(endpoint(server, max_retries=1), texts)
    assert_right(outcome.vectors, texts, left_out=(3,))
    assert outcome.refused == {3: "500: oops"}


def test_a_question_does_not_wait_for_an_endpoint_that_is_down(
    server: EmbeddingsServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    embedder = endpoint(server)
    server.play = lambda body: refused(429, "slow down", Retry_After="30")
    began = time.monotonic()
    for question in ("who?", "wo?", "谁？"):
        with pytest.raises(EmbeddingError, match="slow down"):
            embedder.embed_query(question)
    assert time.monotonic() - began < 1
    assert len(server.asked) == 1, "a failing endpoint is left alone for a while"
    dead = EndpointEmbedder(Embed(provider="openai", base_url="http://127.0.0.1:9/v1"))
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1:9/v1.*no connection"):
        dead.embed_query("hello")


def test_the_same_question_is_embedded_once(server: EmbeddingsServer) -> None:
    embedder = endpoint(server, query_prefix="query: ")
    first, again = embedder.embed_query("who?"), embedder.embed_query("who?")
    assert first.tolist() == again.tolist()
    assert server.asked == [["query: who?"]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"base_url": "localhost"}, r"embed\.base_url: 'localhost'"),
        ({"base_url": "http://x/v1", "api_key": "密钥"}, r"embed\.api_key: holds characters"),
        ({"base_url": "http://x/v1", "api_key": "a\nb"}, r"embed\.api_key: holds characters"),
    ],
)
def test_settings_that_cannot_work_are_said_before_anything_is_sent(
    options: dict[str, str], message: str
) -> None:
    with pytest.raises(SettingsError, match=message):
        make_embedder(Embed(provider="openai", **options))
