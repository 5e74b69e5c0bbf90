"""How fast a server may be asked: calls in flight, requests and tokens a minute, its own wishes.

Requests and tokens are token buckets. A server that says "slow down" (429) closes the gate for
everyone for as long as it asks, and halves the calls in flight; each success widens them a little
again (additive increase, multiplicative decrease: Chiu and Jain 1989).
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque

from graphkb.errors import ModelFailure

# Seconds of a minute's allowance that may be used in one burst.
_BURST_REQUESTS = 0.5
_BURST_TOKENS = 10.0


class Bucket:
    """``per_minute`` units that refill steadily; 0 means no limit.

    A draw larger than the bucket passes when the bucket is full and leaves it in debt, so that
    a single prompt above the limit is slow but not stuck.
    """

    def __init__(self, per_minute: int, burst_seconds: float, now: float) -> None:
        self.rate = per_minute / 60
        self.size = max(1.0, self.rate * burst_seconds)
        self.level = self.size
        self._seen = now

    def draw(self, amount: float, now: float) -> float:
        """Take ``amount``; seconds to wait first. The amount counts as taken."""
        if not self.rate:
            return 0.0
        self.level = min(self.size, self.level + (now - self._seen) * self.rate)
        self._seen = now
        needed = min(amount, self.size)
        wait = max(0.0, (needed - self.level) / self.rate)
        self.level -= amount
        return wait

    def give_back(self, amount: float) -> None:
        """Correct an estimate that was too high (or, when negative, too low)."""
        self.level += amount


class Pace:
    """Places for calls in flight, and when they may be sent. Lives on the background loop."""

    def __init__(
        self, concurrency: int, requests_per_minute: int, tokens_per_minute: int, max_wait: float
    ) -> None:
        now = time.monotonic()
        self._most = concurrency
        self._width = float(concurrency)
        self._flying = 0
        self._queue: deque[asyncio.Future[None]] = deque()
        self._requests = Bucket(requests_per_minute, _BURST_REQUESTS, now)
        self._tokens = Bucket(tokens_per_minute, _BURST_TOKENS, now)
        self._max_wait = max_wait
        self._closed_until = 0.0
        self._random = random.Random()
        self.counts_tokens = tokens_per_minute > 0
        self.pauses = 0
        self.paused_seconds = 0.0

    async def enter(self, tokens: int, deadline: float | None) -> None:
        """Wait for a place and for leave to send ``tokens``; call :meth:`leave` after.

        Raises ModelFailure (deadline) rather than wait beyond ``deadline``.
        """
        if self._flying >= int(self._width) or self._queue:
            place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._queue.append(place)
            try:
                await place
            except asyncio.CancelledError:
                if place in self._queue:
                    self._queue.remove(place)
                elif not place.cancelled():
                    self.leave()
                raise
        else:
            self._flying += 1
        try:
            await self._wait_for_leave(tokens, deadline)
        except BaseException:
            self.leave()
            raise

    async def _wait_for_leave(self, tokens: int, deadline: float | None) -> None:
        now = time.monotonic()
        wait = max(self._requests.draw(1, now), self._tokens.draw(tokens, now))
        if wait:
            await sleep_within(wait, deadline, "the limits per minute")
        while (wait := self._closed_until - time.monotonic()) > 0:
            # Not all at the same moment, or the server refuses them together again.
            spread = self._random.uniform(0, min(0.1 * wait, 1.0))
            await sleep_within(wait + spread, deadline, "the pause that the server asked for")

    def leave(self) -> None:
        """Give the place up."""
        self._flying -= 1
        while self._queue and self._flying < int(self._width):
            place = self._queue.popleft()
            if not place.done():
                self._flying += 1
                place.set_result(None)

    def slow_down(self, wait: float) -> None:
        """The server asked everyone to wait ``wait`` seconds (at most ``max_wait``)."""
        now = time.monotonic()
        until = now + min(wait, self._max_wait)
        if self._closed_until <= now:
            self._width = max(1.0, self._width / 2)
            self.pauses += 1
        self.paused_seconds += max(0.0, until - max(self._closed_until, now))
        self._closed_until = max(self._closed_until, until)

    def speed_up(self) -> None:
        """A call succeeded."""
        if self._width < self._most:
            self._width = min(float(self._most), self._width + 1 / self._width)

    def correct(self, tokens: int) -> None:
        """Tokens that were reserved and not used (negative: used beyond)."""
        self._tokens.give_back(tokens)


async def sleep_within(wait: float, deadline: float | None, why: str) -> None:
    """Sleep; raises ModelFailure (deadline) at once when that would end after ``deadline``."""
    if deadline is not None and time.monotonic() + wait > deadline:
        raise ModelFailure(
            "deadline", f"{why} ({wait:.1f} s) ends after the deadline; give it more time"
        )
    await asyncio.sleep(wait)


def back_off(retry: int, max_wait: float, chance: float) -> float:
    """Seconds before the ``retry``-th (1, 2, …) repetition: exponential with full jitter
    (Brooker, "Exponential Backoff And Jitter", AWS 2015), ``chance`` in [0, 1)."""
    return float(chance * min(max_wait, 0.5 * 2.0 ** min(retry, 20)))
