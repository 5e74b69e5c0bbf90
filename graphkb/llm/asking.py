"""Many questions at once: starts calls, parses what comes, has bad replies repaired."""

from __future__ import annotations

import json
import queue
import time
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from itertools import islice
from pathlib import Path
from typing import Generic, TypeVar

from graphkb.errors import GraphkbError, ModelFailure
from graphkb.llm.background import submit, take
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.calls import Call
from graphkb.llm.client import ChatClient
from graphkb.llm.prompt import Parse, Prompt, Said
from graphkb.llm.repair import repaired
from graphkb.llm.started import Started
from graphkb.llm.usage import Ledger

T = TypeVar("T")
OnReply = Callable[[int, "Said[T] | ModelFailure"], None]

# Seconds that calls already sent may still take when a run ends; what they bring is kept.
_GRACE = 5.0
# Seconds that it takes to send the first calls.
_TO_SEND = 0.03
# Prompts made at once while there are places for their calls.
_FEW = 3
_NOTHING = object()


class Asking(Generic[T]):
    """One batch. Everything but the calls themselves happens in the caller's thread, which goes
    through ``meanwhile`` while there is no reply to read."""

    def __init__(
        self, client: ChatClient, cache: ReplyCache, ledger: Ledger, root: Path, started: Started,
        prompts: Iterable[Prompt | None], request_of: Callable[[Prompt], Request],
        parse: Parse[T], on_reply: OnReply[T], deadline: float | None,
        meanwhile: Iterable[object],
    ) -> None:  # fmt: skip
        self._client = client
        self._cache = cache
        self._ledger = ledger
        self._root = root
        self._started = started
        self._waiting = iter(prompts)
        self._prompts: list[Prompt] = []
        self._request_of = request_of
        self._parse = parse
        self._on_reply = on_reply
        self._deadline = deadline
        self._meanwhile = iter(meanwhile)
        self._has_work = meanwhile != ()
        self._began = 0.0
        self._in_flight = 1
        # Calls that were started before end with these.
        self._batch = started.batch()
        self._arrivals: queue.SimpleQueue[tuple[int, Future[Reply]]] = queue.SimpleQueue()
        self._pending: dict[int, Future[Reply]] = {}
        self._requests: dict[int, Request] = {}
        self._refused: dict[int, tuple[str, str]] = {}
        self._outcomes: dict[int, Said[T] | ModelFailure] = {}
        self._looked_up: deque[tuple[int, Request, Reply | None]] = deque()
        self._seen: set[str] = set()

    def run(self, in_flight: int, ahead: int) -> list[Said[T] | ModelFailure]:
        """One outcome a request, in their order; at most ``ahead`` calls are handed over at once,
        of which ``in_flight`` can be sent. An interrupt cancels what is in flight."""
        self._began = time.monotonic()
        self._in_flight = in_flight
        sent = self._client.n_sent
        try:
            self._fill(ahead)
            if self._pending and self._has_work:
                self._let_go(sent + min(in_flight, len(self._pending)))
            while self._pending:
                if self._has_time() and next(self._meanwhile, _NOTHING) is not _NOTHING:
                    continue
                self._receive(*take(self._arrivals))
                self._fill(ahead)
        except GraphkbError as error:
            self._finish(error)
            raise
        finally:
            for future in self._pending.values():
                future.cancel()
        return [self._outcomes[place] for place in range(len(self._prompts))]

    def _has_time(self) -> bool:
        """Whether calls are on their way, which they are from the first reply on, and none is
        back. While a first call goes alone the others still have to be sent."""
        return self._arrivals.empty() and bool(self._outcomes or self._client.attempts.answers)

    def _let_go(self, n_sent: int) -> None:
        """Give calls a moment to be sent, until so many are: other work would keep the interpreter
        from it. The prompts of several are made while the first is sent."""
        end = self._began + _TO_SEND
        while self._arrivals.empty() and self._client.n_sent < n_sent and time.monotonic() < end:
            time.sleep(_TO_SEND / 10)

    def _fill(self, ahead: int) -> None:
        """Start calls up to ``ahead``; cached replies are taken at once."""
        while len(self._pending) < ahead:
            if not self._looked_up:
                self._look_up(self._following(min(ahead, self._next_few())))
            if not self._looked_up:
                return
            place, request, kept = self._looked_up.popleft()
            if kept is None and request.key in self._seen and request.key not in self._started:
                kept = self._cache.get(request)
            self._seen.add(request.key)
            self._requests[place] = request
            if kept is None:
                self._start(place, request)
            else:
                self._count(place, "cached")
                self._take(place, kept)

    def _next_few(self) -> int:
        """How many prompts to make next: few while there are places, as those are empty until the
        prompts are made."""
        made = len(self._prompts)
        left = self._in_flight - made
        return min(made + 1, left, _FEW) if left > 0 else made + 1

    def _following(self, most: int) -> list[int]:
        """Places of the next prompts, fewer where others wait for a reply."""
        first = len(self._prompts)
        for prompt in islice(self._waiting, most):
            if prompt is None:
                break
            self._prompts.append(prompt)
        return list(range(first, len(self._prompts)))

    def _look_up(self, places: list[int]) -> None:
        """Look for kept replies, all at once; one that is equal to an earlier one is looked for
        again when its turn comes."""
        asked = [(place, self._request_of(self._prompts[place])) for place in places]
        # The reply to one that was started is new, also where it is kept by now.
        new = [request for _, request in asked if request.key not in self._started]
        replies = self._cache.get_many(new) if new else []
        kept = {request.key: reply for request, reply in zip(new, replies, strict=True)}
        for place, request in asked:
            self._looked_up.append((place, request, kept.get(request.key)))

    def _start(self, place: int, request: Request) -> None:
        future = self._started.take(request.key)
        if future is None:
            call = Call(request, self._prompts[place].step, self._deadline, self._batch)
            future = submit(self._client.complete(call))
        self._pending[place] = future
        future.add_done_callback(lambda done: self._arrivals.put((place, done)))

    def _receive(self, place: int, future: Future[Reply]) -> None:
        self._pending.pop(place, None)
        try:
            reply = future.result()
        except ModelFailure as failure:
            text = failure.text or self._refused.get(place, ("", ""))[1]
            self._fail(place, ModelFailure(failure.kind, str(failure), text))
        else:
            self._take(place, reply)

    def _take(self, place: int, reply: Reply) -> None:
        """Parse a reply; one that is refused is asked for once more with the error shown."""
        request = self._requests[place]
        again = place in self._refused
        try:
            value = self._parse(reply.text)
        except (ValueError, RecursionError) as error:
            deep = isinstance(error, RecursionError)
            said = "the reply is nested too deep" if deep else " ".join(str(error).split())
            wrong = said[:300] or type(error).__name__
            self._cache.drop(self._sent(place))
            self._note_json(place, reply)
            if again:
                message = f"model {request.model!r}: no usable reply, also after a repair ({wrong})"
                self._fail(place, ModelFailure("unparseable", message, reply.text))
                return
            self._refused[place] = (wrong, reply.text)
            self._count(place, "repaired")
            self._start(place, self._repair(place))
            return
        self._note_json(place, reply)
        if again:
            self._cache.put(request, reply)
        self._settle(place, Said(value, reply, again))

    def _repair(self, place: int) -> Request:
        wrong, text = self._refused[place]
        return repaired(self._root, self._requests[place], text, wrong)

    def _sent(self, place: int) -> Request:
        """What the reply that came last answers."""
        return self._repair(place) if place in self._refused else self._requests[place]

    def _note_json(self, place: int, reply: Reply) -> None:
        if reply.cached or self._client.memory.trusts(self._requests[place]):
            return
        request = self._sent(place)
        try:
            strict = isinstance(json.loads(reply.text), dict | list)
        except (ValueError, RecursionError):
            strict = False
        submit(self._client.memory.note_json(request, strict)).result()

    def _fail(self, place: int, failure: ModelFailure) -> None:
        if failure.kind != "budget":  # nothing was sent
            self._count(place, "failed")
        self._settle(place, failure)

    def _settle(self, place: int, outcome: Said[T] | ModelFailure) -> None:
        self._refused.pop(place, None)
        del self._requests[place]
        self._outcomes[place] = outcome
        self._on_reply(place, outcome)

    def _count(self, place: int, what: str) -> None:
        self._ledger.add(self._prompts[place].step, self._requests[place].model, {what: 1})

    def _finish(self, error: GraphkbError) -> None:
        """Nothing more is sent; calls already sent may end, because they are paid for."""
        self._batch.ended = error
        end = time.monotonic() + _GRACE
        while self._pending:
            try:
                place, future = self._arrivals.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                break
            try:
                self._receive(place, future)
            except GraphkbError:
                continue
        self._started.finish(error, max(0.0, end - time.monotonic()))
