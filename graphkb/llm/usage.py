"""What model calls cost: by step, and against a budget."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping, Sequence

from graphkb.errors import ModelFailure
from graphkb.llm.prices import cost, price_of
from graphkb.types import StepUsage

_COUNTS = ("calls", "cached", "retries", "repaired", "failed", "prompt_tokens", "completion_tokens")


class Ledger:
    """Counts by (step, model). Safe from several threads."""

    def __init__(self, prices: Mapping[str, Sequence[float]], free: bool = False) -> None:
        self._prices = prices
        self._free = free
        self._lock = threading.Lock()
        self._counts: dict[tuple[str, str], dict[str, float]] = {}

    def add(self, step: str, model: str, change: Mapping[str, int | float]) -> None:
        """Add to the counts of a step; keys are StepUsage's."""
        with self._lock:
            counts = self._counts.setdefault((step, model), {})
            for name, amount in change.items():
                counts[name] = counts.get(name, 0) + amount

    def price(self, model: str, prompt_tokens: int, completion_tokens: int) -> float | None:
        """USD for these tokens; None when the model's price is not known."""
        if self._free:
            return 0.0
        prices = price_of(model, self._prices)
        return None if prices is None else cost(prices, prompt_tokens, completion_tokens)

    def steps(self) -> tuple[StepUsage, ...]:
        """What was spent so far, in the order of each step's first call."""
        with self._lock:
            return tuple(
                self._step(step, model, counts) for (step, model), counts in self._counts.items()
            )

    def _step(self, step: str, model: str, counts: Mapping[str, float]) -> StepUsage:
        whole = {name: int(counts.get(name, 0)) for name in _COUNTS}
        price = self.price(model, whole["prompt_tokens"], whole["completion_tokens"])
        return StepUsage(step, model, price=price, seconds=counts.get("seconds", 0.0), **whole)

    def mean_reply(self, model: str) -> float | None:
        """Tokens of this model's replies so far, on average; None before the first."""
        with self._lock:
            mine = [counts for (_, name), counts in self._counts.items() if name == model]
        calls = sum(counts.get("calls", 0) for counts in mine)
        tokens = sum(counts.get("completion_tokens", 0) for counts in mine)
        return tokens / calls if calls else None


class Budget:
    """What this process may still pay: USD and tokens, 0 for no limit.

    Calls in flight are counted with what they are expected to take; where only they stand in the
    way of the next call it waits for them, and those behind it wait too. The first call that would
    exceed the budget ends it: all later ones are refused too, so that a run stops instead of
    picking the small calls.
    """

    def __init__(self, usd: float, tokens: int, ledger: Ledger) -> None:
        self._usd = usd
        self._tokens = tokens
        self._ledger = ledger
        self._spent = 0
        self._paid = 0.0
        self._reserved = 0
        self._reserved_usd = 0.0
        self._lock = threading.Lock()
        self._turn = asyncio.Lock()
        self._settled = asyncio.Event()
        self.limited = bool(usd or tokens)
        self.ended = ""

    async def reserve(self, model: str, prompt_tokens: int, reply_tokens: int) -> tuple[int, float]:
        """Set aside what a call is expected to take; give it to :meth:`settle` after.

        Raises ModelFailure (budget).
        """
        tokens = prompt_tokens + reply_tokens
        price = self._ledger.price(model, prompt_tokens, reply_tokens) or 0.0
        async with self._turn:
            while self._must_wait(tokens, price):
                self._settled.clear()
                await self._settled.wait()
            with self._lock:
                if not self.ended and not self._fits(tokens, price, in_flight=True):
                    self.ended = self._exceeded(tokens, price)
                if self.ended:
                    raise ModelFailure("budget", self.ended)
                self._reserved += tokens
                self._reserved_usd += price
        return tokens, price

    def _must_wait(self, tokens: int, price: float) -> bool:
        """Whether a call would fit if those in flight took nothing."""
        with self._lock:
            fits_later = self._reserved > 0 and self._fits(tokens, price, in_flight=False)
            return not self.ended and fits_later and not self._fits(tokens, price, in_flight=True)

    def _fits(self, tokens: int, price: float, *, in_flight: bool) -> bool:
        """Whether a call fits the budget, beside what is reserved for calls ``in_flight``."""
        used = self._spent + tokens + in_flight * self._reserved
        paid = self._paid + price + in_flight * self._reserved_usd
        enough = not self._tokens or used <= self._tokens
        return enough and (not self._usd or paid <= self._usd)

    def _exceeded(self, tokens: int, price: float) -> str:
        """What is said of the call that does not fit."""
        if self._tokens and self._spent + self._reserved + tokens > self._tokens:
            setting, most, wanted = "tokens", f"{self._tokens:,}", f"{tokens:,} tokens"
            used, reserved = f"{self._spent:,}", f"{self._reserved:,}"
        else:
            setting, most, wanted = "usd", f"{self._usd:g}", f"{price:.4f} USD"
            used, reserved = f"{self._paid:.4f}", f"{max(self._reserved_usd, 0.0):.4f}"
        return (
            f"llm.budget_{setting}: {most} would be exceeded by a call of about {wanted}: {used} "
            f"used, {reserved} reserved for calls in flight; raise it and run again, what was paid "
            "for is kept"
        )

    def settle(
        self, reserved: tuple[int, float], model: str, prompt_tokens: int, reply_tokens: int
    ) -> None:
        """Replace what was set aside by what a call took (zeros when it was not paid)."""
        price = self._ledger.price(model, prompt_tokens, reply_tokens) or 0.0
        with self._lock:
            self._reserved -= reserved[0]
            self._reserved_usd -= reserved[1]
            self._spent += prompt_tokens + reply_tokens
            self._paid += price
        self._settled.set()
