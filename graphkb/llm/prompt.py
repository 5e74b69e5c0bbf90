"""What is asked of a model, and what comes back."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar

from graphkb.llm.cache import Reply

T = TypeVar("T")
Role = Literal["extraction", "report", "answer"]
Parse = Callable[[str], T]
"""Turns a reply's text into a value; raises ValueError saying what is wrong with the text."""


@dataclass(frozen=True)
class Prompt:
    """One question to the model.

    ``step`` is what its cost is counted under; ``role`` chooses the model; ``schema`` is the
    JSON schema of the reply, None for plain text. ``system`` holds no text from documents.
    ``max_tokens`` is the length the reply needs, sent where ``llm.max_tokens`` sets none and the
    model is not known to reason. ``history`` are (role, text) turns between the system message
    and ``user``.
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
    """A reply as it comes: iterate over pieces of text; ``reply`` is there at the end, where it is
    what the generator ``pieces`` returns."""

    pieces: Iterator[str]
    reply: Reply | None = None
    parts: list[str] = field(default_factory=list)

    def __iter__(self) -> Iterator[str]:
        while True:
            try:
                piece = next(self.pieces)
            except StopIteration as end:
                self.reply = end.value or self.reply
                return
            self.parts.append(piece)
            yield piece

    def close(self) -> None:
        """End the call; also happens when nothing refers to the stream any more."""
        if isinstance(self.pieces, Generator):
            self.pieces.close()

    @property
    def text(self) -> str:
        """What has come so far."""
        return "".join(self.parts)


def plain(text: str) -> str:
    """The :data:`Parse` of replies that are plain text."""
    return text.strip()
