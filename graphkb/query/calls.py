"""Model calls of a query method: those that fail are counted and said, never raised."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TypeVar

from graphkb.errors import ModelFailure, ModelUnusableError
from graphkb.llm.model import Model, Parse, Prompt, Said
from graphkb.query.ask import Ask
from graphkb.query.evidence import Evidence
from graphkb.query.points import Gathered
from graphkb.search.hybrid import Retrieval
from graphkb.types import Context, Passage, Step

Item = TypeVar("Item")
T = TypeVar("T")
Outcome = Said[T] | ModelFailure


class Calls:
    """Asks the model for a query method, until the question's deadline, and keeps the method's
    trace and warnings. ``usable`` turns false when no call to this model can succeed."""

    def __init__(self, ask: Ask, model: Model | None) -> None:
        self._ask, self._model = ask, model
        self.usable = True
        self.trace: list[Step] = []
        self.warnings: list[str] = []

    def too_late(self, what: str) -> bool:
        """Whether the deadline has passed, with a warning of what was cut short."""
        if self._ask.late:
            self.warnings.append(f"{what} was cut short: the time is over (answer.deadline)")
        return self._ask.late

    def note(self, name: str, detail: str, started: float | None = None) -> None:
        """Add a step to the trace; ``started`` is in ``time.perf_counter()`` seconds."""
        seconds = 0.0 if started is None else time.perf_counter() - started
        self.trace.append(Step(name, detail, seconds))

    def ask(
        self, name: str, prompts: Sequence[Prompt], parse: Parse[T], *, share: float = 1.0
    ) -> list[T | None]:
        """The parsed reply to each prompt, None where the call failed; see :meth:`ask_each`."""
        batches = [[prompt] for prompt in prompts]
        asked = self.ask_each(name, batches, lambda one: one[0], parse, share=share)
        return [value for _, value in asked]

    def ask_each(
        self,
        name: str,
        batches: Sequence[Sequence[Item]],
        prompt: Callable[[Sequence[Item]], Prompt],
        parse: Parse[T],
        *,
        in_flight: int = 0,
        share: float = 1.0,
    ) -> list[tuple[Sequence[Item], T | None]]:
        """Each batch with the parsed reply to its prompt, None where the call failed.

        ``name`` says what is asked, for the trace and the warning. A batch whose prompt is
        longer than the model's window is halved and asked again, once. ``in_flight`` keeps
        calls at a time below the model's own limit; 0 does not. ``share`` of the time left is
        the most that may be taken, so that a model that hangs leaves some for what comes next.
        """
        started = time.perf_counter()
        until = self._until(share)

        def ask(asked: Sequence[Sequence[Item]]) -> list[Outcome[T]]:
            return self._outcomes([prompt(batch) for batch in asked], parse, in_flight, until)

        outcomes = ask(batches)
        kept: list[tuple[Sequence[Item], Outcome[T]]] = []
        halves: list[Sequence[Item]] = []
        for batch, outcome in zip(batches, outcomes, strict=True):
            if isinstance(outcome, ModelFailure) and outcome.kind == "context" and len(batch) > 1:
                middle = len(batch) // 2
                halves += [batch[:middle], batch[middle:]]
            else:
                kept.append((batch, outcome))
        kept += zip(halves, ask(halves), strict=True)
        self._tell(name, [outcome for _, outcome in kept], started)
        return [(b, o.value if isinstance(o, Said) else None) for b, o in kept]

    def _until(self, share: float) -> float | None:
        now = time.monotonic()
        end = self._ask.deadline
        return None if end is None else now + share * (end - now)

    def _outcomes(
        self, prompts: Sequence[Prompt], parse: Parse[T], in_flight: int, until: float | None
    ) -> list[Outcome[T]]:
        outcomes: list[Outcome[T]] = []
        at_a_time = in_flight or len(prompts) or 1
        for start in range(0, len(prompts), at_a_time):
            outcomes += self._some(prompts[start : start + at_a_time], parse, until)
        return outcomes

    def _some(
        self, prompts: Sequence[Prompt], parse: Parse[T], until: float | None
    ) -> list[Outcome[T]]:
        if until is not None and time.monotonic() >= until:
            failure = ModelFailure("deadline", "the time is over (answer.deadline)")
            return [failure] * len(prompts)
        came: dict[int, Outcome[T]] = {}
        try:
            if self._model is not None and self.usable:
                return self._model.ask_many(prompts, parse, came.__setitem__, until)
        except ModelUnusableError as error:
            self.usable = False
            self.warnings.append(str(error))
        lost = ModelFailure("server", "the model cannot be used")
        return [came.get(place, lost) for place in range(len(prompts))]

    def _tell(self, name: str, outcomes: Sequence[Outcome[T]], started: float) -> None:
        failures = [outcome for outcome in outcomes if isinstance(outcome, ModelFailure)]
        failed = f", {len(failures)} failed" if failures else ""
        self.note(name, f"{len(outcomes)} calls{failed}", started)
        # What makes a model unusable was said when it was found out.
        if failures and self.usable:
            calls = "call" if len(outcomes) == 1 else "calls"
            left = "is left out" if len(failures) == 1 else "are left out"
            self.warnings.append(
                f"{name}: {len(failures)} of {len(outcomes)} model {calls} failed and {left} "
                f"({failures[0]})"
            )

    def context(
        self, method: str, gathered: Gathered, evidence: Evidence, found: Retrieval
    ) -> Context:
        """The context of the points that were gathered. Without any its evidence is 0, however
        well the documents' words cover the question."""
        points = gathered.points
        self.note(
            "points",
            f"{len(points)} kept, {gathered.left_out} beyond the budget, "
            f"{gathered.baseless} that rest on no sentence",
        )
        value = max(gathered.evidence, evidence.value) if points else 0.0
        reason = f"the best point scores {gathered.evidence:.0%}; {evidence.reason}"
        self.note("evidence", reason if points else "the model found nothing on the question")
        return Context(
            method=method,
            passages=gathered.passages,
            evidence=value,
            n_tokens=gathered.n_tokens,
            missing=evidence.missing,
            points=points,
            trace=(*found.trace, *self.trace),
            warnings=(*found.warnings, *self.warnings),
        )

    def passages_context(
        self,
        method: str,
        passages: Sequence[Passage],
        n_tokens: int,
        evidence: Evidence,
        found: Retrieval,
    ) -> Context:
        """The context of passages from which no points were drawn."""
        self.note("evidence", evidence.reason)
        return Context(
            method=method,
            passages=tuple(passages),
            evidence=evidence.value,
            n_tokens=n_tokens,
            foreign=evidence.foreign,
            missing=evidence.missing,
            trace=(*found.trace, *self.trace),
            warnings=(*found.warnings, *self.warnings),
        )
