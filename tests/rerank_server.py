"""Rerank servers on loopback, in the dialects of those that people run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from model_server import ModelServer, Raw

Relevance = Callable[[str, str], float]
"""How well a text answers a question."""


def page(status: int, text: str) -> Raw:
    """A web page."""
    return Raw((text.encode(),), status, {"Content-Type": "text/html"})


def plain(status: int, text: str) -> Raw:
    """Plain text, as TEI's own errors are."""
    return Raw((text.encode(),), status, {"Content-Type": "text/plain"})


def as_json(data: Any, status: int = 200) -> Raw:
    """Any JSON, also a list or NaN."""
    return Raw((json.dumps(data, ensure_ascii=False).encode(),), status)


def _best_first(key: str, name: str, question: str, texts: list[str], relevance: Relevance) -> Any:
    items = [{"index": at, key: relevance(question, text)} for at, text in enumerate(texts)]
    items.sort(key=lambda item: -item[key])
    return {name: items} if name else items


def _documents(name: str = "results", **more: Any) -> Callable[[dict[str, Any], Relevance], Raw]:
    def play(body: dict[str, Any], relevance: Relevance) -> Raw:
        if "documents" not in body:
            return as_json({"message": "documents: field required"}, 422)
        found = _best_first("relevance_score", name, body["query"], body["documents"], relevance)
        return as_json({"id": "x", "model": body.get("model"), **more, **found})

    return play


def _jina(body: dict[str, Any], relevance: Relevance) -> Raw:
    data = json.loads(_documents()(body, relevance).segments[0])
    for item in data.get("results", []):
        item["document"] = {"text": body["documents"][item["index"]]}
    return as_json({**data, "usage": {"total_tokens": 9}})


def _tei(body: dict[str, Any], relevance: Relevance) -> Raw:
    if "texts" not in body:
        said = "Failed to deserialize the JSON body into the target type: missing field `texts`"
        return plain(422, said)
    if len(body["texts"]) > 4:
        said = f"batch size {len(body['texts'])} > maximum allowed batch size 4"
        return as_json({"error": said, "error_type": "Validation"}, 422)
    return as_json(_best_first("score", "", body["query"], body["texts"], relevance))


def _voyage(body: dict[str, Any], relevance: Relevance) -> Raw:
    if "top_n" in body:
        return as_json({"detail": "Argument 'top_n' is not supported by our API"}, 400)
    return _documents("data", object="list")(body, relevance)


def _nim(body: dict[str, Any], relevance: Relevance) -> Raw:
    if "passages" not in body:
        return as_json({"detail": [{"loc": ["body", "passages"], "msg": "Field required"}]}, 422)
    texts = [passage["text"] for passage in body["passages"]]

    def logit(question: str, text: str) -> float:
        return 8 * relevance(question, text) - 11

    return as_json(_best_first("logit", "rankings", body["query"]["text"], texts, logit))


def _dashscope(body: dict[str, Any], relevance: Relevance) -> Raw:
    if "input" not in body:
        return as_json({"code": "InvalidParameter", "message": "input is required"}, 400)
    asked = body["input"]
    found = _best_first("relevance_score", "results", asked["query"], asked["documents"], relevance)
    return as_json({"output": found, "usage": {"total_tokens": 9}, "request_id": "x"})


@dataclass(frozen=True)
class Dialect:
    """Where a server answers, what a user writes into rerank.base_url, and how it answers."""

    paths: tuple[str, ...]
    base: str
    play: Callable[[dict[str, Any], Relevance], Raw]


_TEXT_RERANK = "/api/v1/services/rerank/text-rerank/text-rerank"
DIALECTS: Mapping[str, Dialect] = {
    "cohere v1": Dialect(("/v1/rerank",), "", _documents(meta={"api_version": {"version": "1"}})),
    "cohere v2": Dialect(("/v2/rerank",), "/v2", _documents(meta={})),
    "siliconflow": Dialect(("/v1/rerank",), "/v1", _documents(tokens={"input_tokens": 9})),
    "jina": Dialect(("/v1/rerank",), "/v1/rerank", _jina),
    "vllm": Dialect(("/rerank", "/v1/rerank", "/v2/rerank"), "/v1", _jina),
    "tei": Dialect(("/rerank",), "/v1", _tei),
    "voyage": Dialect(("/v1/rerank",), "/v1", _voyage),
    "nim": Dialect(("/v1/ranking",), "/v1/ranking", _nim),
    "dashscope": Dialect((_TEXT_RERANK,), _TEXT_RERANK, _dashscope),
}


def same_letters(question: str, text: str) -> float:
    """A relevance that is a little different for every text."""
    return len(set(question) & set(text)) / (1 + len(set(text)))


class RerankServer(ModelServer):
    """Answers as a dialect does, or as ``answer`` says for every request that reaches one of
    the dialect's paths; anywhere else there is nothing."""

    def __init__(self, dialect: str = "vllm", relevance: Relevance = same_letters) -> None:
        super().__init__()
        self.dialect, self.relevance = DIALECTS[dialect], relevance
        self.answer: Callable[[dict[str, Any]], Any] | None = None
        self.host = self.url.removesuffix("/v1")
        self.play = self._played

    @property
    def base_url(self) -> str:
        """What a user of this server writes."""
        return self.host + self.dialect.base

    def _played(self, body: dict[str, Any]) -> Any:
        if self.paths[-1] not in self.dialect.paths:
            return as_json({"detail": "Not Found"}, 404)
        return self.answer(body) if self.answer else self.dialect.play(body, self.relevance)


@contextmanager
def rerank_server(
    dialect: str = "vllm", relevance: Relevance = same_letters
) -> Iterator[RerankServer]:
    """A server for the length of a ``with`` block."""
    server = RerankServer(dialect, relevance)
    try:
        yield server
    finally:
        server.close()
