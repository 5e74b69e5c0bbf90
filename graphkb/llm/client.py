"""Chat completions from any OpenAI-compatible endpoint: sent once, repeated, cached."""

from __future__ import annotations

import asyncio
import random
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

from graphkb.errors import GraphkbError, ModelFailure, ModelUnusableError
from graphkb.llm import explain
from graphkb.llm.adapt import adapted, fitting_limit, window_of
from graphkb.llm.attempt import Attempts, streamed
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.calls import Call, Tries
from graphkb.llm.faults import PASSING, UNUSABLE, Fault
from graphkb.llm.limits import back_off, sleep_within
from graphkb.llm.servers import ServerMemory, Traits
from graphkb.llm.transport import Transport
from graphkb.llm.usage import Ledger
from graphkb.llm.wire import body_of, is_local
from graphkb.settings import LanguageModel

# Seconds for which the first call to a model goes alone, on this machine or network and elsewhere:
# what a server refuses it refuses before it writes anything.
_ALONE_HERE, _ALONE = 0.05, 1.0
# Logical calls in a row that the server failed for good before it counts as down.
_DOWN = 8
# Repetitions of a connection that was never made, before anything was ever answered.
_FIRST_CONNECTIONS = 2
# Time-outs of one call after which a server that never answered anything is hung: it may have to
# load its model first.
_FIRST_SILENCES = 3
# Times one call may be asked otherwise because the server refused a parameter.
_ADAPTIONS = 8


class ChatClient:
    """Asks a model once for each distinct request; whole replies come from the cache after.

    Its coroutines belong to the background loop.
    """

    def __init__(
        self, options: LanguageModel, cache: ReplyCache, transport: Transport,
        ledger: Ledger, key_from: Callable[[], str],
    ) -> None:  # fmt: skip
        self._options = options
        self._cache = cache
        self._transport = transport
        self._ledger = ledger
        self._key_from = key_from
        self.memory = ServerMemory(cache, transport.name)
        self.attempts = Attempts(options, transport, self.memory, ledger)
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()
        self._probed: set[str] = set()
        self._probes: dict[str, asyncio.Future[None]] = {}
        self._given_up = 0
        self._given_up_after = 0
        self._refused = 0
        self._random = random.Random()

    @property
    def n_sent(self) -> int:
        """Requests that went out so far. May be read from any thread."""
        return self._transport.n_sent

    async def complete(self, call: Call) -> Reply:
        """The reply, on disk before it is returned when it is whole. Equal requests in flight
        are sent once.

        Raises ModelFailure when this call fails for good, ModelUnusableError when every call
        would, StoreError when the reply cannot be kept.
        """
        key = call.request.key
        turn = self._turns.get(key)
        if turn is None:
            turn = self._turns[key] = asyncio.Lock()
        waited = turn.locked()
        try:
            async with asyncio.timeout_at(call.deadline), turn:
                kept = self._cache.get(call.request) if waited else None
                if kept is not None:
                    self._ledger.add(call.step, call.model, {"cached": 1})
                    call.show(kept.text)
                    return kept
                async with self._probe(call.model):
                    reply = await self._repeat(call)
                await self._keep(call.request, reply)
                return reply
        except ModelUnusableError as error:
            # Set here and not by the caller, who may still be handing calls over.
            call.batch.ended = error
            raise
        except TimeoutError:
            late = f"{self.attempts.where(call)}: no reply before the deadline"
            raise ModelFailure("deadline", late, call.text) from None

    async def _keep(self, request: Request, reply: Reply) -> None:
        written = self._cache.put_soon(request, reply)
        if written is not None:
            await asyncio.wrap_future(written)

    @asynccontextmanager
    async def _probe(self, model: str) -> AsyncIterator[None]:
        """The first call to a model goes alone until it is answered, or for a moment: so a wrong
        key, or a parameter, that the server refuses at once costs one call."""
        # A gate that is open is no longer among the probes.
        while model not in self._probed and model in self._probes:
            await asyncio.shield(self._probes[model])
        if model in self._probed:
            try:
                yield
            except ModelUnusableError:
                self._probed.discard(model)
                raise
            return
        gate = self._probes[model] = asyncio.get_running_loop().create_future()
        opening = asyncio.create_task(self._open_soon(model, gate))
        try:
            yield
            self._probed.add(model)
        except ModelFailure:
            self._probed.add(model)
            raise
        except ModelUnusableError as error:
            self._probed.discard(model)
            if not gate.done():
                gate.set_exception(error)
                gate.exception()  # Nobody may be waiting for it.
            raise
        finally:
            opening.cancel()
            self._open(model, gate)

    async def _open_soon(self, model: str, gate: asyncio.Future[None]) -> None:
        """Let the other calls go when the first was not refused for a moment."""
        await self._transport.wait_until_sent()
        await asyncio.sleep(_ALONE_HERE if is_local(self._transport.address) else _ALONE)
        self._probed.add(model)
        self._open(model, gate)

    def _open(self, model: str, gate: asyncio.Future[None]) -> None:
        if self._probes.get(model) is gate:
            del self._probes[model]
        if not gate.done():
            gate.set_result(None)

    async def _repeat(self, call: Call) -> Reply:
        """Ask until there is a reply or a reason to give up."""
        tries = Tries(self._options.max_retries)
        while True:
            traits = self.memory.traits(call.model)
            answers = self.attempts.answers
            try:
                reply = await self.attempts.ask(call, traits)
                self.memory.note_sent(call.request, traits)
                return reply
            except Fault as fault:
                if await self._adapt(call, traits, fault, tries):
                    self._ledger.add(call.step, call.model, {"retries": 1})
                else:
                    await self._after(call, fault, tries, self.attempts.answers > answers)

    async def _adapt(self, call: Call, traits: Traits, fault: Fault, tries: Tries) -> bool:
        """Whether to ask again at once, otherwise: the server refused a parameter."""
        if tries.adaptions >= _ADAPTIONS or call.passed:
            return False
        tries.adaptions += 1
        if fault.kind == "reasoned":
            await self.memory.learn(call.model, reasons=True)
            return True
        if fault.kind not in ("refused", "context", "server") or fault.status < 400:
            return False
        body = body_of(call.request, traits, call.limit, streamed(call, traits))
        fitting = fitting_limit(fault.said, body.get(traits.limit_name, 0))
        if fitting:
            call.limit = fitting
            return True
        other = adapted(traits, body, fault.status, fault.said, call.auto)
        if other is None:
            window = window_of(fault.said) if fault.kind == "context" else 0
            if window:
                await self.memory.learn(call.model, window=window)
            return False
        if self.memory.traits(call.model) == traits:
            await self.memory.replace(call.model, other)
        return True

    async def _after(self, call: Call, fault: Fault, tries: Tries, progress: bool) -> None:
        """Wait before the next try; raises when there is none."""
        if call.passed or not self._may_pass(fault):
            raise self._final(call, fault)
        most = self._options.max_retries
        if fault.kind == "unreachable" and call.model not in self.attempts.answered:
            most = min(most, _FIRST_CONNECTIONS)
        again = tries.again(fault.kind, most, fault.kind == "throttled" and progress)
        if not again or self._is_hung(call, fault, tries):
            raise self._given_up_on(call, fault, tries)
        self._ledger.add(call.step, call.model, {"retries": 1})
        most_wait = self._options.max_wait
        wait = fault.wait or back_off(tries.repeated, most_wait, self._random.random())
        if fault.kind == "throttled" or fault.wait:
            self.attempts.pace.slow_down(min(wait, most_wait))
        else:
            await sleep_within(wait, call.deadline, "the wait before the next try")

    def _is_hung(self, call: Call, fault: Fault, tries: Tries) -> bool:
        """Whether a server that never answered was given its time often enough."""
        enough = fault.kind == "silent" and tries.silent >= _FIRST_SILENCES
        return enough and call.model not in self.attempts.answered

    def _may_pass(self, fault: Fault) -> bool:
        """Whether the next try may succeed. A page from an address that answered well before is
        a gateway's, not a wrong address."""
        return fault.kind in PASSING or (fault.kind == "address" and self.attempts.answers > 0)

    def _given_up_on(self, call: Call, fault: Fault, tries: Tries) -> GraphkbError:
        if fault.kind == "empty":
            return explain.failure(fault, self.attempts.where(call), call.text)
        if fault.kind == "address":
            return self._unusable(call, fault)
        never = call.model not in self.attempts.answered
        if (fault.kind == "unreachable" and never) or self._is_hung(call, fault, tries):
            return self._unusable(call, fault)
        if self._given_up_after != self.attempts.answers:
            self._given_up_after, self._given_up = self.attempts.answers, 0
        self._given_up += 1
        if self._given_up >= _DOWN:
            return explain.down(fault, self._transport.where, self._given_up)
        return explain.given_up(fault, self.attempts.where(call), tries.repeated, call.text)

    def _final(self, call: Call, fault: Fault) -> GraphkbError:
        """A failure that no repetition can mend."""
        if fault.kind in UNUSABLE and not self._may_pass(fault):
            return self._unusable(call, fault)
        if fault.kind == "refused" and not self.attempts.answers:
            self._refused += 1
            if self._refused >= _DOWN:
                return explain.refuses_all(fault, self._transport.where, self._refused)
        return explain.failure(fault, self.attempts.where(call), call.text)

    def _unusable(self, call: Call, fault: Fault) -> ModelUnusableError:
        own = ("extraction_model", "report_model", "answer_model")
        named = [f"llm.{name}" for name in own if getattr(self._options, name) == call.model]
        setting = "llm.model" if call.model == self._options.model else " and ".join(named)
        where = self._transport.where
        return explain.unusable(fault, where, call.model, setting, self._key_from())

    async def close(self) -> None:
        """Close the connections."""
        await self._transport.close()
