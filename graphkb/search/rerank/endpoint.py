"""Reranking by any server that has a ``/rerank`` endpoint."""

from __future__ import annotations

import random
import threading
import time
import weakref
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from graphkb.embed.wording import refusal_kind, stated_limit
from graphkb.errors import RerankError
from graphkb.llm.faults import PASSING, Fault, judge, judge_inside, message_of
from graphkb.llm.keys import masked, without_secrets
from graphkb.llm.limits import back_off
from graphkb.llm.wire import is_local, read_body
from graphkb.search.rerank import Reranking, Scores
from graphkb.search.rerank.passages import Passages
from graphkb.search.rerank.shapes import SHAPES, addresses_of, read_scores, shapes_of
from graphkb.settings import Rerank
from graphkb.settings_base import key_problem

# A reply that ranks nothing would rank nothing again.
_AGAIN = PASSING - {"empty"}
# What is about these texts, and says nothing of the endpoint.
_OF_TEXTS = {"refused", "context", "filtered", "blocked"}
_LONGEST_WAIT = 8.0
_CONNECT_SECONDS = 5.0
# Seconds for which an endpoint that fails is left alone: questions are answered without it.
_REST = 30.0
# Passages are not made shorter than so many tokens for a server that finds them too long.
_SHORTEST = 16
_LARGEST_REPLY = 64_000_000


class _Failed(Exception):
    """A request failed for good."""

    def __init__(self, fault: Fault, address: str) -> None:
        super().__init__(fault.what)
        self.fault, self.address = fault, address


class EndpointReranker:
    """``POST`` to ``rerank.base_url``, or where it is found near there.

    Address and shape (:mod:`graphkb.search.rerank.shapes`) that work are found with the first
    question and remembered, as are a server's limits on the number and length of texts. Safe to
    use from several threads.
    """

    def __init__(self, options: Rerank) -> None:
        self._options = options
        self._addresses = addresses_of(options.base_url)
        self._key = options.api_key.strip()
        self._route: tuple[str, str] | None = None
        self._batch, self._limit = options.batch_size, options.max_passage_tokens
        self._down = (0.0, "")
        self._client: Any = None
        self._lock = threading.Lock()

    def score(self, passages: Passages, reranking: Reranking) -> Scores:
        """The server's scores. Raises RerankError; then, unless it is about these texts, the
        server is left alone for half a minute."""
        until, reason = self._down
        if time.monotonic() < until:
            raise RerankError(reason)
        self._check_key()
        own = time.monotonic() + self._options.timeout
        end = min(own, reranking.deadline or own)
        try:
            found = self._all(passages, end)
        except _Failed as failed:
            error = self._error(failed)
            if end == own and failed.fault.kind not in _OF_TEXTS:
                self._down = (time.monotonic() + _REST, str(error))
            raise error from failed
        by = self._options.model or "the server's model"
        return Scores(found, f"{len(found)} of {len(passages)} text units scored by {by}")

    def _all(self, passages: Passages, end: float) -> dict[int, float]:
        """One batch alone until it is known how the server wants to be asked, then several."""
        waiting = list(range(len(passages)))
        found: dict[int, float] = {}
        if self._route is None:
            first, waiting = waiting[: self._batch], waiting[self._batch :]
            found |= self._some(passages, first, end)
        groups = [waiting[at : at + self._batch] for at in range(0, len(waiting), self._batch)]
        if len(groups) < 2:
            for group in groups:
                found |= self._some(passages, group, end)
            return found
        with ThreadPoolExecutor(min(self._options.concurrency, len(groups))) as pool:
            for scores in pool.map(lambda group: self._some(passages, group, end), groups):
                found |= scores
        return found

    def _some(self, passages: Passages, places: Sequence[int], end: float) -> dict[int, float]:
        """Scores by place; where the server finds the batch too large or its texts too long, of
        smaller ones."""
        limit = self._limit
        texts = [passages.text(place, limit) for place in places]
        try:
            scores = self._routed(passages.question, texts, end)
        except _Failed as failed:
            fault = failed.fault
            if fault.kind not in ("refused", "context"):
                raise
            kind = refusal_kind(fault.status, fault.said)
            if kind == "batch" and len(places) > 1:
                size = stated_limit(fault.said, len(places)) or len(places) // 2
                self._batch = min(self._batch, size)
                parts = [places[at : at + size] for at in range(0, len(places), size)]
            elif (kind == "length" or fault.kind == "context") and limit > _SHORTEST:
                self._limit = min(self._limit, max(limit // 2, _SHORTEST))
                parts = [places]
            else:
                raise
            return {p: s for part in parts for p, s in self._some(passages, part, end).items()}
        return {places[at]: score for at, score in scores.items()}

    def _routed(self, question: str, texts: Sequence[str], end: float) -> dict[int, float]:
        """Scores by place among the texts, by the address and shape that work."""
        known = self._route
        routes = [known] if known else [(a, s) for a in self._addresses for s in shapes_of(a)]
        nowhere: set[str] = set()
        failures: list[_Failed] = []
        for address, shape in routes:
            if address in nowhere:
                continue
            try:
                scores = self._patiently(address, shape, question, texts, end)
            except Fault as fault:
                failures.append(_Failed(fault, address))
                if fault.kind == "address":
                    nowhere.add(address)
                    self._route = None
                elif not known and fault.kind == "refused" and not _about_size(fault):
                    continue
                else:
                    raise failures[-1] from fault
            else:
                self._route = (address, shape)
                return scores
        # What an endpoint refuses says more than where there is none.
        refused = [failed for failed in failures if failed.fault.kind == "refused"]
        raise (refused or failures)[0]

    def _patiently(
        self, address: str, shape: str, question: str, texts: Sequence[str], end: float
    ) -> dict[int, float]:
        body = SHAPES[shape](self._options.model, question, texts)
        attempt = 0
        while True:
            try:
                return self._once(address, body, len(texts), end)
            except Fault as fault:
                attempt += 1
                wait = fault.wait
                if wait is None:
                    wait = back_off(attempt, _LONGEST_WAIT, random.uniform(0.5, 1.0))
                late = time.monotonic() + wait >= end
                if fault.kind not in _AGAIN or attempt > self._options.max_retries or late:
                    raise
                time.sleep(wait)

    def _once(self, address: str, body: dict[str, Any], texts: int, end: float) -> dict[int, float]:
        status, headers, content = self._posted(address, body, end)
        if not 200 <= status < 300:
            raise judge(status, headers, content.decode("utf-8-sig", "replace"))
        reply = read_body(status, headers, content)
        scores = read_scores(reply, texts)
        if scores:
            return scores
        if scores is not None:
            raise Fault("empty", f"the reply ranks none of {texts} texts", status)
        if isinstance(reply, dict) and message_of(reply):
            raise judge_inside(reply)
        raise Fault("address", "the reply has no list of results", status)

    def _posted(self, address: str, body: dict[str, Any], end: float) -> tuple[int, Any, bytes]:
        """Status, headers and content of the reply. Raises Fault when there is none."""
        import httpx2

        late = Fault("server", f"no reply within {self._options.timeout:g} s (rerank.timeout)")
        left = end - time.monotonic()
        if left <= 0:
            raise late
        timeout = httpx2.Timeout(left, connect=min(left, _CONNECT_SECONDS))
        content = bytearray()
        try:
            with self._connected().stream("POST", address, json=body, timeout=timeout) as response:
                for part in response.iter_bytes():
                    content += part
                    if time.monotonic() > end:
                        raise late
                    if len(content) > _LARGEST_REPLY:
                        raise Fault("server", "the reply does not end")
                return response.status_code, response.headers, bytes(content)
        except httpx2.ConnectTimeout as error:
            raise Fault("unreachable", f"no connection within {timeout.connect:g} s") from error
        except httpx2.TimeoutException as error:
            raise late from error
        except httpx2.ConnectError as error:
            raise Fault("unreachable", str(error) or "no connection") from error
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise Fault("server", str(error) or type(error).__name__) from error

    def _connected(self) -> Any:
        with self._lock:
            if self._client is None:
                import httpx2

                address = self._addresses[0]
                self._client = httpx2.Client(
                    headers={"Authorization": f"Bearer {self._key}"} if self._key else {},
                    # No proxy stands between a program and its own machine.
                    trust_env=not is_local(address),
                    verify=not address.startswith("http:"),
                )
                weakref.finalize(self, self._client.close)
            return self._client

    def _error(self, failed: _Failed) -> RerankError:
        """What happened, where, and what to do."""
        fault = failed.fault
        what = masked(fault.what, self._key)
        model = self._options.model
        said = {
            "key": f"{self._key_name()} is {'refused' if self._key else 'empty'} ({what}); "
            f"{'check the key' if self._key else 'set it'}",
            "money": f"no money or quota is left ({what}); top up the account of "
            f"{self._key_name()}",
            "model": f"no model {model!r} there ({what}); check rerank.model",
            "address": f"no rerank endpoint there ({what}); set rerank.base_url to the address "
            "that ends in /rerank or /v1/rerank",
            "unreachable": f"cannot be reached ({what}); check rerank.base_url, and that the "
            "server runs",
        }.get(fault.kind, f"no usable scores ({what}); check the server and rerank.model")
        return RerankError(f"{without_secrets(failed.address)}: {said}")

    def _key_name(self) -> str:
        variable = getattr(self._options.api_key, "variable", "")
        return f"rerank.api_key (from {variable})" if variable else "rerank.api_key"

    def _check_key(self) -> None:
        """Raises RerankError for a key that cannot be sent."""
        if problem := key_problem(self._options.api_key):
            raise RerankError(problem)
        if not (self._key.isascii() and self._key.isprintable()):
            raise RerankError("rerank.api_key holds characters that cannot be sent; copy it again")


def _about_size(fault: Fault) -> bool:
    return refusal_kind(fault.status, fault.said) in ("batch", "length")
