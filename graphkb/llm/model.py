"""A configured language model: asks, retries, caches, repairs and counts.

Everything that needs a model asks through :class:`Model`; nothing else knows of endpoints.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Literal, TypeVar

from graphkb.errors import LanguageModelError, ModelFailure
from graphkb.llm.cache import Reply, ReplyCache, Request
from graphkb.llm.client import ChatClient
from graphkb.settings import LanguageModel
from graphkb.types import StepUsage

T = TypeVar("T")
Role = Literal["extraction", "report", "answer"]
Parse = Callable[[str], T]
"""Turns a reply's text into a value; raises ValueError saying what is wrong with the text."""


@dataclass(frozen=True)
class Prompt:
    """One question to the model.

    ``step`` is what its cost is counted under; ``role`` chooses the model; ``schema`` is the
    JSON schema of the reply, None for plain text. ``system`` holds no text from documents.
    ``history`` are (role, text) turns between the system message and ``user``.
    """

    step: str
    system: str
    user: str
    role: Role = "answer"
    schema: Mapping[str, Any] | None = None
    max_tokens: int = 0
    history: tuple[tuple[str, str], ...] = ()

    @property
    def messages(self) -> tuple[tuple[str, str], ...]:
        """(role, text) pairs in the order in which they are sent."""
        return (("system", self.system), *self.history, ("user", self.user))


@dataclass(frozen=True)
class Said(Generic[T]):
    """A reply and what it was parsed to."""

    value: T
    reply: Reply
    repaired: bool = False


@dataclass
class Stream:
    """A reply as it comes: iterate over pieces of text; ``reply`` is there at the end."""

    pieces: Iterator[str]
    reply: Reply | None = None
    parts: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[str]:
        for piece in self.pieces:
            self.parts.append(piece)
            yield piece

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self.parts)


def plain(text: str) -> str:
    """The :data:`Parse` of replies that are plain text."""
    return text.strip()


class Model:
    """The model of a project's settings. Safe to use from several threads and inside a running
    event loop. Use :func:`make_model`; close it when done."""

    def __init__(self, options: LanguageModel, cache: ReplyCache) -> None:
        self.options = options
        self._cache = cache
        self._client = ChatClient(cache, options.api_key, options.timeout, options.max_retries)
        self._usage: dict[tuple[str, str], StepUsage] = {}

    def name(self, role: Role) -> str:
        """The model that is asked in this role."""
        return str(getattr(self.options, f"{role}_model") or self.options.model)

    def ask(self, prompt: Prompt, parse: Parse[T], deadline: float | None = None) -> Said[T]:
        """The model's reply, parsed. Equal prompts are paid for once.

        A reply that ``parse`` refuses is asked for once more with the error shown.
        ``deadline`` (``time.monotonic()``) is when to give up.

        Raises ModelFailure when this call fails for good, ModelUnusableError when every call
        would.
        """
        reply = self._client.complete(self._request(prompt))
        try:
            return Said(parse(reply.text), reply)
        except ValueError as error:
            raise ModelFailure("unparseable", str(error), reply.text) from error

    def ask_many(
        self,
        prompts: Sequence[Prompt],
        parse: Parse[T],
        on_reply: Callable[[int, Said[T] | ModelFailure], None] = lambda place, outcome: None,
        deadline: float | None = None,
    ) -> list[Said[T] | ModelFailure]:
        """One outcome a prompt, in their order, ``llm.concurrency`` calls in flight.

        ``on_reply(place, outcome)`` is called as each arrives, in the caller's thread. A failed
        call is an outcome, not an exception; raises ModelUnusableError as soon as one says that
        no call can succeed.
        """
        outcomes: list[Said[T] | ModelFailure] = []
        for place, prompt in enumerate(prompts):
            outcome: Said[T] | ModelFailure
            try:
                outcome = self.ask(prompt, parse, deadline)
            except ModelFailure as failure:
                outcome = failure
            except LanguageModelError as error:
                outcome = ModelFailure("server", str(error))
            outcomes.append(outcome)
            on_reply(place, outcome)
        return outcomes

    def stream(self, prompt: Prompt, deadline: float | None = None) -> Stream:
        """The reply as it comes. A cached one comes at once. Raises as :meth:`ask` does, also
        while iterating."""
        reply = self._client.complete(self._request(prompt))
        stream = Stream(iter([reply.text]))
        stream.reply = reply
        return stream

    def usage(self) -> tuple[StepUsage, ...]:
        """What was spent so far, by step, in the order of their first call."""
        return tuple(self._usage.values())

    def count(self, step: str, name: str, change: Mapping[str, int | float]) -> None:
        """Add to the usage of a step."""

    def close(self) -> None:
        """Close connections, the cache, and a server that was started for this model."""
        self._cache.close()

    def _request(self, prompt: Prompt) -> Request:
        options: dict[str, Any] = {}
        if self.options.temperature is not None:
            options["temperature"] = self.options.temperature
        if prompt.max_tokens:
            options["max_tokens"] = prompt.max_tokens
        return Request(self.options.base_url, self.name(prompt.role), prompt.messages, options)


def make_model(root: Path, options: LanguageModel) -> Model | None:
    """The project's model; None when none is configured. Nothing is sent yet.

    Raises SettingsError when the settings cannot work (no URL, no such GGUF file).
    """
    return Model(options, ReplyCache(root / "cache")) if options.configured else None
