"""One question on its way to a model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from graphkb.errors import GraphkbError
from graphkb.llm.cache import Request
from graphkb.llm.faults import Kind
from graphkb.text.tokens import count_tokens

# Tokens that a chat template puts around each message.
_FRAME = 4
# All repetitions of one call, as a multiple of max_retries; see Tries.
_REPETITIONS = 5
# Repetitions of a call that got a reply without text.
_EMPTY = 2


@dataclass
class Batch:
    """Calls that end together: once ``ended``, none of them is sent any more."""

    ended: GraphkbError | None = None

    def check(self) -> None:
        """Raise what ended them."""
        if self.ended is not None:
            raise self.ended


@dataclass
class Call:
    """One question to the model. ``step`` is what its cost is counted under, ``deadline`` is in
    ``time.monotonic()`` seconds; ``pass_on`` gets the reply piece by piece as it comes.

    ``limit`` is the length limit found to fit beside this prompt, ``passed`` what was passed on.
    """

    request: Request
    step: str
    deadline: float | None = None
    batch: Batch = field(default_factory=Batch)
    pass_on: Callable[[str], None] | None = None
    limit: int = 0
    passed: list[str] = field(default_factory=list)

    @property
    def model(self) -> str:
        """The model that is asked."""
        return self.request.model

    @property
    def auto(self) -> bool:
        """Whether JSON may be asked for in a less strict way."""
        return bool(self.request.options.get("structured", "auto") == "auto")

    @property
    def text(self) -> str:
        """What was passed on so far."""
        return "".join(self.passed)

    @cached_property
    def prompt_tokens(self) -> int:
        """Our estimate, in o200k_base tokens."""
        return sum(count_tokens(text) + _FRAME for _, text in self.request.messages)

    @cached_property
    def prompt_bytes(self) -> int:
        """UTF-8 bytes of the messages."""
        return sum(len(text.encode("utf-8", "replace")) for _, text in self.request.messages)

    def show(self, piece: str) -> None:
        """Pass a piece on."""
        if piece and self.pass_on is not None:
            self.passed.append(piece)
            self.pass_on(piece)


class Tries:
    """Repetitions of one call. A 429 while other calls get through is a queue and not a failure,
    so it is not counted as one; the number of repetitions is bounded all the same."""

    def __init__(self, most: int) -> None:
        self._most = most * _REPETITIONS
        self.failures = 0
        self.empty = 0
        self.silent = 0
        self.repeated = 0
        self.adaptions = 0

    def again(self, kind: Kind, most: int, queued: bool) -> bool:
        """Whether a call that just failed may be repeated; ``most`` failures are allowed, and
        :data:`_EMPTY` replies without text."""
        self.repeated += 1
        self.failures += not queued
        self.empty += kind == "empty"
        self.silent += kind == "silent"
        within = self.failures <= most and self.repeated <= self._most
        return within and self.empty <= _EMPTY
