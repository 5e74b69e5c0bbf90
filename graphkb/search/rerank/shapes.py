"""Rerank requests and replies in the shapes that servers have.

``documents``  Cohere v1 and v2, Jina, SiliconFlow, vLLM, Xinference, Infinity, llama.cpp, LocalAI
``plain``      the same without ``top_n``, which Voyage refuses
``texts``      Text Embeddings Inference, which answers with a bare list
``passages``   NVIDIA NIM, at ``/ranking``, which answers with logits
``input``      DashScope's own, at ``…/text-rerank``
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit, urlunsplit

Body = Callable[[str, str, Sequence[str]], dict[str, Any]]
"""Model, question and texts to the JSON of a request."""


def _plain(model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
    named = {"model": model} if model else {}
    return {**named, "query": question, "documents": list(texts)}


def _documents(model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
    # Without top_n some servers return only the first few.
    return {**_plain(model, question, texts), "top_n": len(texts)}


def _texts(model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
    return {"query": question, "texts": list(texts), "truncate": True}


def _passages(model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
    passages = [{"text": text} for text in texts]
    return {"model": model, "query": {"text": question}, "passages": passages, "truncate": "END"}


def _input(model: str, question: str, texts: Sequence[str]) -> dict[str, Any]:
    asked = {"query": question, "documents": list(texts)}
    return {"model": model, "input": asked, "parameters": {"top_n": len(texts)}}


SHAPES: dict[str, Body] = {
    "documents": _documents,
    "texts": _texts,
    "plain": _plain,
    "passages": _passages,
    "input": _input,
}

_ENDINGS = ("rerank", "reranks", "reranking", "ranking", "text-rerank")
_VERSIONS = ("v1", "v2", "api", "v3")
_LISTS = ("results", "data", "rankings", "scores", "output")
_SCORES = ("relevance_score", "score", "logit", "rerank_score", "relevance")
_PLACES = ("index", "corpus_id", "document_index")


def addresses_of(base_url: str) -> list[str]:
    """Where the endpoint may be, most likely first.

    >>> addresses_of("http://h:1/v1/")
    ['http://h:1/v1/rerank', 'http://h:1/rerank', 'http://h:1/v2/rerank']
    >>> addresses_of("http://h:1")[:2], addresses_of("http://h:1/rerank?k=1")[:2]
    (['http://h:1/rerank', 'http://h:1/v1/rerank'], ['http://h:1/rerank?k=1', 'http://h:1/v1/rerank?k=1'])
    """
    parts = urlsplit(base_url.strip())
    path = parts.path.rstrip("/")
    parents, _, last = path.rpartition("/")
    given = [path] if last in _ENDINGS else [f"{path}/rerank"]
    above = parents if last in _ENDINGS else path
    root, _, version = above.rpartition("/")
    if version not in _VERSIONS:
        root = above
    tried = [*given, f"{root}/rerank", f"{root}/v1/rerank", f"{root}/v2/rerank"]
    return [
        urlunsplit((parts.scheme, parts.netloc, one, parts.query, ""))
        for one in dict.fromkeys(tried)
    ][:4]


def shapes_of(address: str) -> list[str]:
    """Names of the shapes to try at an address, most likely first."""
    path = urlsplit(address).path
    first = "passages" if path.endswith("/ranking") else "input" if "text-rerank" in path else ""
    usual = ["documents", "texts", "plain"]
    return [first, *usual] if first else usual


def read_scores(reply: Any, texts: int) -> dict[int, float] | None:
    """Finite scores by place among the ``texts`` that were sent; None when the reply has no list
    of results.

    Places that were not sent are left out, of several scores for one the first counts.

    >>> read_scores({"results": [{"index": 1, "relevance_score": -4.1}, {"index": 9, "score": 1}]}, 2)
    {1: -4.1}
    >>> read_scores([{"index": 1, "score": 0.9}, {"index": 0, "score": 0.1}], 2)
    {1: 0.9, 0: 0.1}
    """  # noqa: E501
    items = _items(reply)
    if items is None:
        return None
    bare = len(items) == texts and not any(isinstance(item, Mapping) for item in items)
    found: dict[int, float] = {}
    for order, item in enumerate(items):
        place = order if bare else _whole(_first(item, _PLACES))
        score = _number(item if bare else _first(item, _SCORES))
        if place is not None and score is not None and 0 <= place < texts:
            found.setdefault(place, score)
    return found


def _items(reply: Any) -> list[Any] | None:
    """The list of results, also one below another key."""
    if isinstance(reply, list):
        return reply
    if isinstance(reply, Mapping):
        for key in _LISTS:
            if (items := _items(reply.get(key))) is not None:
                return items
    return None


def _first(item: Any, keys: Sequence[str]) -> Any:
    if not isinstance(item, Mapping):
        return None
    return next((item[key] for key in keys if item.get(key) is not None), None)


def _number(value: Any) -> float | None:
    """A finite number, also one written as a text."""
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _whole(value: Any) -> int | None:
    number = _number(value)
    return int(number) if number is not None and number == int(number) else None
