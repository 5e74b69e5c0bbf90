"""Reranking by servers of every dialect, and what happens when they fail."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from model_cases import case
from model_server import Raw
from query.gathering import make_snapshot, question, with_settings
from rerank_cases import CHINESE, ENGLISH, MORE, found, fused, ids, titles
from rerank_server import DIALECTS, RerankServer, as_json, page, rerank_server

from graphkb import terminal
from graphkb.cli import main
from graphkb.errors import SettingsError
from graphkb.query.answer import answer_question
from graphkb.query.evidence import measure_evidence
from graphkb.query.hybrid import passages_of
from graphkb.search.hybrid import retrieve, search
from graphkb.search.join import retrieve_all
from graphkb.search.rerank import RERANKERS, Reranking
from graphkb.search.snapshot import Snapshot
from graphkb.settings import Rerank, Settings
from graphkb.settings_file import load_settings
from graphkb.work import settings_note

KEY = "sk-secret-0123456789"


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    """English and Chinese text units, without vectors."""
    return make_snapshot(tmp_path_factory.mktemp("rerank"), more=MORE)


@pytest.fixture
def server() -> Iterator[RerankServer]:
    with rerank_server() as server:
        yield server


def reranked(collection: Snapshot, server: RerankServer, **options: Any) -> Snapshot:
    """The collection with a reranker at the server."""
    told = {"method": "http", "base_url": server.base_url, "model": "m", "timeout": 5.0, **options}
    return with_settings(collection, "rerank", **told)


def favouring(*words: str) -> Callable[[str, str], float]:
    """A relevance that puts texts with the first word first, then those with the second."""

    def relevance(asked: str, text: str) -> float:
        return next((1.0 - 0.2 * at for at, word in enumerate(words) if word in text), 0.1)

    return relevance


@pytest.mark.parametrize("dialect", DIALECTS)
@pytest.mark.parametrize(
    ("text", "word", "title"),
    [(ENGLISH, "lease of Pier 4", "Harbour"), (CHINESE, "四号码头", "码头")],
)
def test_every_dialect_is_understood_and_found_once(
    collection: Snapshot, dialect: str, text: str, word: str, title: str
) -> None:
    with rerank_server(dialect, favouring(word)) as server:
        snapshot = reranked(collection, server)
        first = found(snapshot, text)
        assert first.warnings == ()
        assert titles(snapshot, first)[0] == title
        assert sorted(ids(found(snapshot, text, 20))) == sorted(fused(collection, text, 20))
        before = len(server.requests)
        assert ids(found(snapshot, text)) == ids(first)
        sent = server.requests[before:]
        assert set(server.paths[before:]) <= set(server.dialect.paths)
        # Text Embeddings Inference was found to take four texts at a time.
        at_a_time = 4 if dialect == "tei" else 100
        assert len(sent) == math.ceil(len(_sent_texts(sent)) / at_a_time)


def _sent_texts(requests: Sequence[dict[str, Any]]) -> list[str]:
    texts: list[str] = []
    for body in requests:
        inner = body.get("input", body)
        for item in inner.get("documents") or inner.get("texts") or inner.get("passages"):
            texts.append(item["text"] if isinstance(item, dict) else item)
    return texts


@pytest.mark.parametrize("written", ["", "/", "/v1", "/v1/", "/rerank", "/v1/rerank", "/v2/rerank"])
@pytest.mark.parametrize("path", ["/rerank", "/v1/rerank"])
def test_the_address_is_found_with_or_without_version_and_ending(
    collection: Snapshot, server: RerankServer, written: str, path: str
) -> None:
    server.play = lambda body: (
        server.dialect.play(body, favouring("Pier 4"))
        if server.paths[-1] == path
        else as_json({"detail": "Not Found"}, 404)
    )
    snapshot = reranked(collection, server, base_url=server.host + written)
    result = found(snapshot, ENGLISH)
    assert result.warnings == ()
    assert titles(snapshot, result)[0] == "Harbour"


FAILURES: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "503 (case J01)": (lambda body: case("rerank_503"), "503: unavailable"),
    "nothing ranked (case J01)": (lambda body: case("rerank_empty"), "ranks none of"),
    "404 (case J03)": (lambda body: case("rerank_404"), "/rerank or /v1/rerank"),
    "401": (lambda body: case("auth_401"), "rerank.api_key is refused"),
    "page": (lambda body: page(200, "<html><h1>welcome</h1></html>"), "/rerank or /v1/rerank"),
    "502 page": (lambda body: page(502, "<html>bad gateway</html>"), "502"),
    "cut off": (lambda body: Raw((b'{"results": [{"ind',)), "cut off"),
    "nothing at all": (lambda body: Raw((b"",), 204), "the reply is empty"),
    "null": (lambda body: as_json(None), "the reply is null"),
    "too deep": (lambda body: Raw((b"[" * 9000 + b"]" * 9000,)), "nested too deep"),
    "no JSON": (lambda body: Raw((b"{'results': []}",)), "the reply is no JSON"),
    "no list": (lambda body: as_json({"status": "ok"}), "no list of results"),
    "error in 200": (lambda body: as_json({"error": {"message": "boom"}}), "boom"),
    "NaN": (
        lambda body: as_json({"results": [{"index": 0, "relevance_score": float("nan")}]}),
        "ranks none of",
    ),
    "indexes beyond": (
        lambda body: as_json({"results": [{"index": 99, "relevance_score": 0.5}]}),
        "ranks none of",
    ),
    "unknown model": (
        lambda body: as_json({"error": {"message": "The model `m` does not exist."}}, 404),
        "check rerank.model",
    ),
    "no money": (lambda body: as_json({"message": "余额不足"}, 403), "top up"),
    "refused": (lambda body: as_json({"message": "query: too odd"}, 400), "400: query: too odd"),
    "hung up": (lambda body: Raw(close=True), "check the server"),
}


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
@pytest.mark.parametrize("failure", FAILURES)
def test_a_failing_server_leaves_the_fused_order_and_one_warning(
    collection: Snapshot, server: RerankServer, failure: str, text: str
) -> None:
    """Cases J01 and J03; with a threshold, case J02."""
    server.answer, said = FAILURES[failure]
    for threshold in (0.0, 0.2):
        snapshot = reranked(collection, server, api_key=KEY, max_retries=0, threshold=threshold)
        result = found(snapshot, text)
        assert ids(result) == fused(collection, text)
        (warning,) = result.warnings
        assert said in warning
        assert server.host in warning
        assert warning.endswith("the fused order is kept")
        assert KEY not in warning
        assert [step.name for step in result.trace].count("rerank") == 1


def test_a_server_that_hangs_is_waited_for_once(collection: Snapshot, server: RerankServer) -> None:
    """Case J01; the next questions do not wait at all."""
    server.answer = lambda body: time.sleep(1.0) or as_json({})
    snapshot = reranked(collection, server, timeout=0.3)
    started = time.monotonic()
    results = [found(snapshot, ENGLISH) for _ in range(3)]
    assert time.monotonic() - started < 1.0
    assert len(server.requests) == 1
    for result in results:
        assert ids(result) == fused(collection, ENGLISH)
        (warning,) = result.warnings
        assert "no reply within 0.3 s (rerank.timeout)" in warning


def test_a_server_that_drips_is_not_waited_for_either(
    collection: Snapshot, server: RerankServer
) -> None:
    server.answer = lambda body: Raw([b" "] * 150)
    started = time.monotonic()
    (warning,) = found(reranked(collection, server, timeout=0.3), CHINESE).warnings
    assert time.monotonic() - started < 1.2
    assert "no reply within 0.3 s" in warning


def test_nothing_listens(collection: Snapshot) -> None:
    with rerank_server() as server:
        snapshot = reranked(collection, server, max_retries=0)
    result = found(snapshot, CHINESE)
    assert ids(result) == fused(collection, CHINESE)
    (warning,) = result.warnings
    assert "cannot be reached" in warning
    assert "check rerank.base_url" in warning


def test_a_failure_that_passes_is_tried_again(collection: Snapshot, server: RerankServer) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if len(server.requests) == 1:
            return Raw((b'{"error": "busy"}',), 429, {"Retry-After": "0.01"})
        return server.dialect.play(body, favouring("Pier 4"))

    server.answer = answer
    snapshot = reranked(collection, server, max_retries=1)
    result = found(snapshot, ENGLISH)
    assert result.warnings == ()
    assert titles(snapshot, result)[0] == "Harbour"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "first"),
    [("rerank_partial", [2]), ("rerank_bad_index", [0]), ("rerank_negative", [0, 1])],
)
@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_odd_replies_lose_and_repeat_nothing(
    collection: Snapshot, server: RerankServer, name: str, first: list[int], text: str
) -> None:
    """Case J05."""
    server.answer = lambda body: case(name)
    before = fused(collection, text, 20)
    result = found(reranked(collection, server), text, 20)
    rest = [place for place in range(len(before)) if place not in first]
    assert ids(result) == [before[place] for place in [*first, *rest]]
    assert result.warnings == ()
    ranked = [unit.via["rerank"].rank for unit in result.units if "rerank" in unit.via]
    assert ranked == list(range(1, len(first) + 1))


def test_scores_stay_on_the_fused_scale_and_fall(
    collection: Snapshot, server: RerankServer
) -> None:
    server.relevance = lambda asked, text: -5.0 - len(text) % 7
    plain = found(collection, ENGLISH, 8)
    result = found(reranked(collection, server), ENGLISH, 8)
    assert ids(result) != ids(plain)
    assert [unit.score for unit in result.units] == [unit.score for unit in plain.units]
    own = [unit.via["rerank"].score for unit in result.units]
    assert own == sorted(own, reverse=True)
    assert own[0] < 0
    assert [unit.rank for unit in result.units] == list(range(1, len(own) + 1))


def test_equal_scores_keep_the_fused_order(collection: Snapshot, server: RerankServer) -> None:
    server.relevance = lambda asked, text: 0.5
    assert ids(found(reranked(collection, server), ENGLISH)) == fused(collection, ENGLISH)


def test_text_units_below_the_threshold_are_left_out(
    collection: Snapshot, server: RerankServer
) -> None:
    server.relevance = favouring("批准", "租用")
    snapshot = reranked(collection, server, threshold=0.7, candidates=3)
    result = found(snapshot, CHINESE, 8)
    assert titles(snapshot, result) == ["退款规则", "码头"]
    (step,) = [step for step in result.trace if step.name == "rerank"]
    assert "below 0.7" in step.detail
    nothing = reranked(collection, server, threshold=2.0)
    answer = answer_question(nothing, question(CHINESE), "hybrid")
    assert answer.refused
    assert any("score below rerank.threshold 2" in warning for warning in answer.warnings)


@pytest.mark.parametrize("text", [ENGLISH, CHINESE], ids=["en", "zh"])
def test_text_units_without_a_score_do_not_outlive_those_below_the_threshold(
    collection: Snapshot, server: RerankServer, text: str
) -> None:
    scores = [{"index": 1, "relevance_score": 0.9}, {"index": 0, "relevance_score": 0.1}]
    server.answer = lambda body: as_json({"results": scores})
    before = fused(collection, text, 20)
    result = found(reranked(collection, server, threshold=0.5), text, 20)
    assert ids(result) == [before[1]]
    (warning,) = result.warnings
    assert f"only 2 of {len(before)} text units got a score" in warning


@pytest.mark.parametrize(
    ("text", "said"), [(ENGLISH, "Northern Seals replaced"), (CHINESE, "陈明批准")]
)
def test_refusals_do_not_depend_on_the_rerankers_scale(
    collection: Snapshot, server: RerankServer, text: str, said: str
) -> None:
    """Logits far below zero are no lack of evidence."""
    server.relevance = lambda asked, passage: -9.0 + (said in passage)
    snapshot = reranked(collection, server)
    answer = answer_question(snapshot, question(text), "hybrid")
    assert not answer.refused
    assert said in answer.text
    plain, other = found(collection, text), found(snapshot, text)
    measured = [
        measure_evidence(one, text, passages_of(one, run), run).value
        for one, run in ((collection, plain), (snapshot, other))
    ]
    assert measured[0] == measured[1]


def test_an_exact_title_is_first_whatever_fails(collection: Snapshot, server: RerankServer) -> None:
    """Case J07: no threshold is put on what rank fusion gives."""
    server.answer = lambda body: case("rerank_503")
    snapshot = reranked(collection, server, threshold=0.5, max_retries=0)
    ranks = with_settings(snapshot, "search", fusion="rrf")
    assert titles(ranks, found(ranks, "BLUESTONE"))[0] == "BLUESTONE"


def test_batches_are_sent_side_by_side(collection: Snapshot, server: RerankServer) -> None:
    server.relevance = favouring("Pier 4")
    whole = found(reranked(collection, server), ENGLISH, 9)
    server.requests.clear()
    snapshot = reranked(collection, server, batch_size=2, candidates=9)
    assert ids(found(snapshot, ENGLISH, 9)) == ids(whole)
    sizes = [len(body["documents"]) for body in server.requests]
    assert max(sizes) == 2
    assert sum(sizes) == len(whole.units) > 4


def test_texts_that_are_too_long_are_shortened(collection: Snapshot, server: RerankServer) -> None:
    def answer(body: dict[str, Any]) -> Any:
        if max(map(len, body["documents"])) > 160:
            return as_json({"error": {"message": "input is too long: at most 40 tokens"}}, 400)
        return server.dialect.play(body, favouring("Pier 4"))

    server.answer = answer
    snapshot = reranked(collection, server, max_passage_tokens=128)
    result = found(snapshot, ENGLISH)
    assert result.warnings == ()
    assert titles(snapshot, result)[0] == "Harbour"


def test_the_key_is_sent_and_its_variable_named(
    collection: Snapshot, server: RerankServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_RERANK_KEY", KEY)
    (tmp_path / "settings.yaml").write_text("rerank: {api_key: '${MY_RERANK_KEY}'}", "utf8")
    key = load_settings(tmp_path).rerank.api_key
    server.answer = lambda body: as_json({"message": f"invalid api token {KEY}"}, 401)
    (warning,) = found(reranked(collection, server, api_key=key), ENGLISH).warnings
    assert server.headers[-1]["authorization"] == f"Bearer {KEY}"
    assert "rerank.api_key (from MY_RERANK_KEY) is refused" in warning
    assert KEY not in warning


@pytest.mark.parametrize("key", ["密钥-1", "sk-1\nx"])
def test_a_key_that_cannot_be_sent_is_said(
    collection: Snapshot, server: RerankServer, key: str
) -> None:
    (warning,) = found(reranked(collection, server, api_key=key), ENGLISH).warnings
    assert "rerank.api_key holds characters that cannot be sent" in warning
    assert not server.requests


def test_further_texts_are_joined_first_and_reranked_once(
    collection: Snapshot, server: RerankServer
) -> None:
    server.relevance = favouring("Pier 4")
    snapshot = reranked(collection, server)
    joined = retrieve_all(
        snapshot, ENGLISH, ["turbine seals", "Pier 4 lease"], 5, None, Reranking()
    ).joined
    assert titles(snapshot, joined)[0] == "Harbour"
    assert [body["query"] for body in server.requests] == [ENGLISH]


def test_what_is_no_final_result_is_not_reranked(
    collection: Snapshot, server: RerankServer
) -> None:
    snapshot = reranked(collection, server)
    search(snapshot, ENGLISH, 5, "lexical", Reranking())
    retrieve(snapshot, ENGLISH, 5)
    assert not server.requests
    hits = search(snapshot, ENGLISH, 5, "hybrid", Reranking())
    assert len(server.requests) == 1
    assert all("rerank" in hit.via for hit in hits)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("rerank.method=http", "needs rerank.base_url"),
        ("rerank={method: http, base_url: localhost:8080}", "found 'localhost:8080'"),
        ("rerank={method: http, base_url: 'http://[bad'}", r"found 'http://\[bad'"),
        ("rerank={method: http, base_url: 'http://码头:99999'}", "found 'http://码头:99999'"),
        ("rerank={method: http, base_url: 'http://me:pw@h:0/?key=k'}", "found 'h:0/'"),
        ("rerank.timeout=.inf", "rerank.timeout: .*finite number, found inf"),
        ("rerank.timeout=1e+10", "rerank.timeout: .*less than or equal to 1000000"),
        ("rerank.threshold=.nan", "rerank.threshold: .*finite number, found nan"),
        ("rerank.method=cross_encoder", "needs rerank.model"),
        ("rerank.method=cohere", "rerank.method"),
    ],
)
def test_settings_that_cannot_work_are_refused(tmp_path: Path, settings: str, said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        load_settings(tmp_path, [settings])


def test_the_command_line_reranks(
    collection: Snapshot, server: RerankServer, capsys: pytest.CaptureFixture[str]
) -> None:
    server.relevance = favouring("四号码头")
    root = str(collection.root)
    told = ("--set", "embed.when=off", "--set", f"rerank.base_url={server.base_url}")

    def shown(command: str, *arguments: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main([command, "--root", root, *told, "--rerank", "http", *arguments, CHINESE])
        assert ended.value.code == 0
        return capsys.readouterr().out

    hits = json.loads(shown("search", "--json"))
    assert hits[0]["title"] == "码头"
    assert hits[0]["via"]["rerank"] == {"rank": 1, "score": 1.0}
    assert "text units scored by the server's model" in shown(
        "query", "--method", "hybrid", "--explain"
    )
    server.requests.clear()
    shown("query", "--method", "hybrid", "--dry-run")
    assert not server.requests, "a dry run sends nothing"


def test_the_key_is_not_written_into_the_manifest() -> None:
    told = Rerank(api_key=KEY, base_url=f"https://me:{KEY}@host/v1?key={KEY}")
    note = settings_note(Settings(rerank=told))
    assert KEY not in json.dumps(note)
    assert note["rerank"]["api_key"] == "set"


def test_the_command_line_names_every_method() -> None:
    assert tuple(RERANKERS) == terminal.RERANK_METHODS
    assert Rerank().method == "none"
