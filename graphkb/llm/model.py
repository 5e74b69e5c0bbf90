"""A configured language model: asks, retries, caches, repairs and counts.

Everything that needs a model asks through :class:`Model`; nothing else knows of endpoints.
"""

from __future__ import annotations

import queue
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import suppress
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar

from graphkb.errors import GraphkbError, ModelFailure, SettingsError
from graphkb.llm.asking import Asking
from graphkb.llm.background import submit, take
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.calls import Call
from graphkb.llm.client import ChatClient
from graphkb.llm.keys import key_source
from graphkb.llm.memo import ByIdentity
from graphkb.llm.prices import price_of
from graphkb.llm.prompt import Parse, Prompt, Role, Said, Stream, plain
from graphkb.llm.started import Started
from graphkb.llm.transport import Transport
from graphkb.llm.usage import Ledger
from graphkb.settings import LanguageModel
from graphkb.settings_base import key_problem
from graphkb.types import StepUsage

__all__ = ["Model", "Parse", "Prompt", "Role", "Said", "Stream", "make_model", "plain"]

T = TypeVar("T")

_CLOSE_SECONDS = 5.0
# Calls handed to the background for each one in flight, so that a place never stays empty while
# the caller is busy with a reply or with other work.
_AHEAD = 2
# Calls started before they are asked for, for each one in flight.
_STARTED = 8
# The same object for all prompts of a schema, so that what is made of it is made once.
_AS_DICT: ByIdentity[dict[str, Any]] = ByIdentity(dict)


class Model:
    """The model of a project's settings. Safe to use from several threads and inside a running
    event loop. Use :func:`make_model`; close it when done."""

    def __init__(
        self,
        options: LanguageModel,
        cache: ReplyCache,
        root: Path | None = None,
        transport: Transport | None = None,
    ) -> None:
        self.options = options
        self._cache = cache
        self._root = root or Path()
        self._started = Started()
        self._ledger = Ledger(options.prices, free=options.provider == "llama_cpp")
        self._transport = transport or Transport(options)
        # Read from the settings file only when a message needs it.
        key_from = partial(key_source, self._root, options.api_key)
        self._client = ChatClient(options, cache, self._transport, self._ledger, key_from)

    def name(self, role: Role) -> str:
        """The model that is asked in this role."""
        return str(getattr(self.options, f"{role}_model") or self.options.model)

    def kept(self, prompt: Prompt) -> Reply | None:
        """The reply to this prompt that was paid for before; nothing is sent."""
        return self._cache.get(self._request(prompt))

    def window(self, role: Role) -> int:
        """The context of this role's model in tokens: as set, or as its errors told; 0 when not
        known."""
        return self.options.context_tokens or self._client.memory.traits(self.name(role)).window

    def ask(self, prompt: Prompt, parse: Parse[T], deadline: float | None = None) -> Said[T]:
        """The model's reply, parsed. Equal prompts are paid for once.

        A reply that ``parse`` refuses is asked for once more with the error shown.
        ``deadline`` (``time.monotonic()``) is when to give up.

        Raises ModelFailure when this call fails for good, ModelUnusableError when every call
        would.
        """
        outcome = self.ask_many([prompt], parse, deadline=deadline)[0]
        if isinstance(outcome, ModelFailure):
            raise outcome
        return outcome

    def ask_many(
        self,
        prompts: Iterable[Prompt | None],
        parse: Parse[T],
        on_reply: Callable[[int, Said[T] | ModelFailure], None] = lambda place, outcome: None,
        deadline: float | None = None,
        meanwhile: Iterable[object] = (),
    ) -> list[Said[T] | ModelFailure]:
        """One outcome a prompt, in their order, ``llm.concurrency`` calls in flight.

        ``prompts`` are taken one by one as there is room, so that they may be made from replies
        to earlier ones: None says that the next one waits for such a reply.
        ``on_reply(place, outcome)`` is called as each arrives, in the caller's thread. A failed
        call is an outcome, not an exception. While no reply is there to read, ``meanwhile`` does
        other work in the caller's thread, in steps; what is left of it at the end is the
        caller's. Raises ModelUnusableError as soon as one says that no call can succeed.
        """
        asking = Asking(
            self._client, self._cache, self._ledger, self._root, self._started,
            prompts, self._request, parse, on_reply, deadline, meanwhile,
        )  # fmt: skip
        return asking.run(self.options.concurrency, _AHEAD * self.options.concurrency)

    def prepare(self) -> None:
        """Load in the background what calls need, because some will be made."""
        submit(self._transport.prepare())

    def start(self, prompts: Iterable[Prompt]) -> None:
        """Send what :meth:`ask_many` is asked later, where the reply is not kept: it is then
        there, or on its way. Of more prompts than can be sent soon the rest is left for then.

        A call that nobody asks for is cancelled when the model is closed.
        """
        room = _STARTED * self.options.concurrency - self._started.n_open
        some = list(islice(prompts, max(room, 0)))
        if not some:
            return
        requests = [self._request(prompt) for prompt in some]
        kept = self._cache.get_many(requests)
        batch = self._started.batch()
        for prompt, request, reply in zip(some, requests, kept, strict=True):
            if reply is None and request.key not in self._started:
                call = Call(request, prompt.step, batch=batch)
                self._started.add(request.key, submit(self._client.complete(call)))

    def let_first_go(self, seconds: float) -> None:
        """Wait, at most so long, until the first of what was started is sent: other work would
        keep the interpreter from it."""
        self._started.wait_until_sent(lambda: self._transport.n_sent, 1, seconds)

    def let_go(self, seconds: float) -> None:
        """Wait, at most so long, until as much of what was started is on its way as can be."""
        self._started.wait_until_sent(
            lambda: self._transport.n_sent, self.options.concurrency, seconds
        )

    def stream(self, prompt: Prompt, deadline: float | None = None) -> Stream:
        """The reply as it comes. A cached one comes at once. Raises as :meth:`ask` does, while
        iterating; a failure in the middle has the text so far."""
        return Stream(self._pieces(prompt, deadline))

    def _pieces(self, prompt: Prompt, deadline: float | None) -> Generator[str, None, Reply]:
        request = self._request(prompt)
        kept = self._cache.get(request)
        if kept is not None:
            self.count(prompt.step, request.model, {"cached": 1})
            yield kept.text
            return kept
        arrivals: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        call = Call(request, prompt.step, deadline, pass_on=arrivals.put)
        future = submit(self._client.complete(call))
        future.add_done_callback(lambda _: arrivals.put(None))
        try:
            while (piece := take(arrivals)) is not None:
                yield piece
            return future.result()
        except GraphkbError:
            self.count(prompt.step, request.model, {"failed": 1})
            raise
        finally:
            future.cancel()

    def usage(self) -> tuple[StepUsage, ...]:
        """What was spent so far, by step, in the order of their first call."""
        return self._ledger.steps()

    def waited(self) -> float:
        """Seconds for which the server asked everyone to wait, so far."""
        return self._client.attempts.pace.paused_seconds

    def warnings(self) -> tuple[str, ...]:
        """What the user should know of the server, once each: prompts that it cut, pauses that
        it asked for."""
        pace = self._client.attempts.pace
        found = list(self._client.attempts.warnings.values())
        if pace.pauses:
            times = "once" if pace.pauses == 1 else f"{pace.pauses} times"
            found.append(
                f"{self._transport.where}: the server asked {times} to slow down; "
                f"{pace.paused_seconds:.1f} s were waited (lower llm.concurrency, or set "
                "llm.requests_per_minute)"
            )
        return tuple(found)

    def count(self, step: str, name: str, change: Mapping[str, int | float]) -> None:
        """Add to the usage of a step."""
        self._ledger.add(step, name, change)

    def close(self) -> None:
        """Close connections, the cache, and a server that was started for this model."""
        self._started.cancel()
        with suppress(TimeoutError):
            submit(self._client.close()).result(_CLOSE_SECONDS)
        self._cache.close()

    def _request(self, prompt: Prompt) -> Request:
        own = self.options
        options: dict[str, Any] = {}
        if own.temperature is not None:
            options["temperature"] = own.temperature
        if own.max_tokens:
            options["max_tokens"] = own.max_tokens
        elif prompt.max_tokens:
            options["prompt_max_tokens"] = prompt.max_tokens
        if prompt.schema is not None:
            options["schema"] = _AS_DICT(prompt.schema)
            options["structured"] = own.structured
        if own.extra_body:
            options["extra_body"] = own.extra_body
        return Request(self._transport.name, self.name(prompt.role), prompt.messages, options)


def make_model(root: Path, options: LanguageModel, *, sends: bool = True) -> Model | None:
    """The project's model; None when none is configured. Nothing is sent yet, and without
    ``sends`` nothing will be: then the key may be missing.

    Raises SettingsError when the settings cannot work (no URL, no such GGUF file, a key whose
    variable is not set, a budget in USD for a model whose price is not known).
    """
    if not options.configured:
        return None
    _check_prices(options)
    transport: Transport
    if options.provider == "llama_cpp":
        from graphkb.llm.local import local_transport

        options, transport = local_transport(root, options)
    else:
        if sends and (problem := key_problem(options.api_key)):
            raise SettingsError(problem)
        transport = Transport(options)
    return Model(options, ReplyCache(root / "cache"), root, transport)


def _check_prices(options: LanguageModel) -> None:
    if not options.budget_usd or options.provider == "llama_cpp":
        return
    own = (options.extraction_model, options.report_model, options.answer_model)
    for name in {name or options.model for name in own}:
        if price_of(name, options.prices) is None:
            raise SettingsError(
                f"llm.budget_usd: the price of {name!r} is not known; add it to llm.prices, for "
                f"example {{{name}: [0.5, 1.5]}} (USD per million tokens: prompt, reply)"
            )
