"""Embedding models: the built-in one for real, an endpoint through a real loopback server."""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from graphkb.embed import make_embedder
from graphkb.embed.builtin import BuiltinEmbedder
from graphkb.embed.cache import VectorCache, vector_key
from graphkb.embed.endpoint import EndpointEmbedder
from graphkb.errors import EmbeddingError, SettingsError, StoreError
from graphkb.settings import Embed

Reply = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]


class Server:
    """An embeddings endpoint on loopback whose reply is a function of the request."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.reply: Reply = honest
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                outer.requests.append(body)
                status, data = outer.reply(body)
                payload = json.dumps(data).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(payload)))
                self.end_headers()
                self.wfile.write(payload)

            def log_message(self, *arguments: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{self.http.server_port}/v1"


def vector(text: str) -> list[float]:
    return [float(len(text)), 1.0, float(text.count("青"))]


def data(texts: list[str], encoding: str) -> list[dict[str, Any]]:
    def encode(values: list[float]) -> Any:
        if encoding == "base64":
            return base64.b64encode(np.array(values, np.float32).tobytes()).decode()
        return values

    return [{"object": "embedding", "index": i, "embedding": encode(vector(t))}
            for i, t in enumerate(texts)]  # fmt: skip


def honest(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    items = data(body["input"], body.get("encoding_format", "float"))
    return 200, {"object": "list", "data": items[::-1], "model": "m", "usage": {}}


@pytest.fixture
def server() -> Iterator[Server]:
    server = Server()
    yield server
    server.http.shutdown()
    server.http.server_close()


def endpoint(server: Server, **options: Any) -> EndpointEmbedder:
    return EndpointEmbedder(Embed(provider="openai", base_url=server.url, model="m", **options))


def test_the_built_in_model_finds_the_related_text_in_both_languages() -> None:
    model = BuiltinEmbedder()
    texts = ["银行流水余额不连续时提示错误", "The turbine valve failed in the storm", "退款规则"]
    vectors = model.embed_passages(texts)
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-3)
    for question, best in [
        ("怎么申请退款？", 2), ("why did the valve break?", 1), ("bank statement error", 0),
    ]:  # fmt: skip
        assert int(np.argmax(vectors @ model.embed_query(question))) == best
    assert model.embed_passages([]).shape == (0, 384)


def test_vectors_come_back_in_the_order_of_the_texts_whatever_the_reply_order(
    server: Server,
) -> None:
    embedder = endpoint(server, batch_size=2, passage_prefix="p: ")
    texts = ["a", "青石云账", "ccc", "dd", "e"]
    found = embedder.embed_passages(texts)
    expected = np.array([vector("p: " + text) for text in texts])
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    assert found == pytest.approx(expected, abs=1e-6)
    assert [len(request["input"]) for request in server.requests] == [2, 2, 1]


def test_a_text_that_is_too_long_is_halved_and_the_others_go_on(server: Server) -> None:
    def strict(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        if any(len(text) > 10 for text in body["input"]):
            return 400, {"error": {"message": "maximum context length is 10"}}
        return honest(body)

    server.reply = strict
    embedder = endpoint(server)
    found = embedder.embed_passages(["short", "长" * 25, "x"])
    assert found.shape == (3, 3)
    assert np.isfinite(found).all()
    assert embedder.split_texts == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda items: items[:-1], "returned 1 embeddings for 2 texts"),
        (lambda items: [{**items[0], "embedding": [1.0]}, items[1]], "widths"),
        (lambda items: [{**i, "embedding": [float("nan")] * 3} for i in items], "NaN"),
        (lambda items: [], "No embedding data"),
    ],
)
def test_unusable_vectors_are_refused(
    server: Server, change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]], message: str
) -> None:
    server.reply = lambda body: (200, {"data": change(data(body["input"], "float")), "model": "m"})
    with pytest.raises(EmbeddingError, match=message):
        endpoint(server).embed_passages(["one", "two"])


def test_a_wrong_key_and_a_dead_server_name_the_url(server: Server) -> None:
    server.reply = lambda body: (401, {"error": {"message": "invalid key"}})
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1.*invalid key.*api_key"):
        endpoint(server).embed_query("hello")
    assert len(server.requests) == 1
    dead = EndpointEmbedder(Embed(provider="openai", base_url="http://127.0.0.1:9/v1", timeout=1))
    with pytest.raises(EmbeddingError, match=r"127\.0\.0\.1:9"):
        dead.embed_query("hello")


def test_a_base_url_that_is_none_is_a_settings_error() -> None:
    with pytest.raises(SettingsError, match=r"embed\.base_url"):
        make_embedder(Embed(provider="openai", base_url="localhost"))


def test_the_cache_keeps_vectors_by_model_and_text(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    model = BuiltinEmbedder()
    key, other = vector_key(model, "", "青石"), vector_key(model, "", "bluestone")
    assert len({key, other, vector_key(model, "p: ", "青石")}) == 3
    cache.put([key], np.array([[1, 2]], np.float32))
    cache.close()
    again = VectorCache(tmp_path)
    found = again.get([key, other])
    again.close()
    assert list(found) == [key]
    assert found[key].tolist() == [1, 2]


def test_a_corrupt_cache_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"vectors\.sqlite.*doctor"):
        VectorCache(tmp_path)
