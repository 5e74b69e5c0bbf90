"""Going on without a model that cannot be reached, where what is kept must change all the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.model import Model, Parse, Prompt, Role, Said

T = TypeVar("T")


class OutOfReach(Model):
    """Fails every question with the reason that the model is unusable; nothing is sent.

    A deleted document takes its facts with it, also while a key is wrong or a server is down.
    """

    def __init__(self, model: Model, reason: ModelUnusableError) -> None:
        self.options = model.options
        self._asked, self._reason = model, str(reason)

    def window(self, role: Role) -> int:
        """As :meth:`Model.window`."""
        return self._asked.window(role)

    def ask_many(
        self,
        prompts: Iterable[Prompt | None],
        parse: Parse[T],
        on_reply: Callable[[int, Said[T] | ModelFailure], None] = lambda place, outcome: None,
        deadline: float | None = None,
        meanwhile: Iterable[object] = (),
    ) -> list[Said[T] | ModelFailure]:
        """A failure for each prompt that has no kept reply."""
        outcomes: list[Said[T] | ModelFailure] = []
        for prompt in prompts:
            if prompt is not None:
                outcomes.append(self._kept(prompt, parse) or ModelFailure("server", self._reason))
                on_reply(len(outcomes) - 1, outcomes[-1])
        return outcomes

    def prepare(self) -> None:
        """Nothing will be sent."""

    def start(self, prompts: Iterable[Prompt]) -> None:
        """Nothing is sent."""

    def let_first_go(self, seconds: float) -> None:
        """There is nothing to wait for."""

    def let_go(self, seconds: float) -> None:
        """There is nothing to wait for."""

    def _kept(self, prompt: Prompt, parse: Parse[T]) -> Said[T] | None:
        reply = self._asked.kept(prompt)
        try:
            return Said(parse(reply.text), reply) if reply else None
        except (ValueError, RecursionError):
            return None
