"""How fast a server is asked."""

from __future__ import annotations

import asyncio
import time

import pytest

from graphkb.errors import ModelFailure
from graphkb.llm.limits import Bucket, Pace, back_off


def test_a_bucket_lets_through_what_a_minute_allows() -> None:
    bucket = Bucket(60, 1.0, now=0.0)
    moments = []
    now = 0.0
    for _ in range(10):
        now += bucket.draw(1, now)
        moments.append(now)
    assert moments == pytest.approx([float(second) for second in range(10)])


def test_draws_at_the_same_moment_wait_for_each_other() -> None:
    bucket = Bucket(600, 1.0, now=0.0)
    waits = [bucket.draw(10, 0.0) for _ in range(4)]
    assert waits == pytest.approx([0, 1, 2, 3])


def test_a_draw_larger_than_the_bucket_passes_and_leaves_a_debt() -> None:
    bucket = Bucket(60, 1.0, now=0.0)
    assert bucket.draw(30, 0.0) == 0
    assert bucket.draw(1, 0.0) == pytest.approx(30)


def test_what_was_not_used_is_given_back() -> None:
    bucket = Bucket(60, 10.0, now=0.0)
    bucket.draw(10, 0.0)
    bucket.give_back(6)
    assert bucket.draw(6, 0.0) == 0
    bucket.give_back(-5)
    assert bucket.draw(1, 0.0) == pytest.approx(6)


def test_no_limit_means_no_wait() -> None:
    bucket = Bucket(0, 1.0, now=0.0)
    assert [bucket.draw(10**9, 0.0) for _ in range(3)] == [0, 0, 0]


def timed(pace: Pace, calls: int, tokens: int = 0, seconds: float = 0.0) -> list[float]:
    """When each of ``calls`` was let through, in seconds from the start."""
    started = time.monotonic()

    async def one() -> float:
        await pace.enter(tokens, None)
        moment = time.monotonic() - started
        await asyncio.sleep(seconds)
        pace.leave()
        return moment

    async def everyone() -> list[float]:
        return await asyncio.gather(*[one() for _ in range(calls)])

    return asyncio.run(everyone())


def test_requests_a_minute_are_spread() -> None:
    # 600 a minute: 5 at once, then 10 a second.
    moments = timed(Pace(16, 600, 0, 60), 9)
    assert moments[4] < 0.1
    assert moments[8] >= 0.38


def test_tokens_a_minute_are_spread() -> None:
    # 6,000 a minute: 1,000 at once, then 100 a second.
    moments = timed(Pace(16, 0, 6000, 60), 4, tokens=260)
    assert moments[2] < 0.1
    assert moments[3] >= 0.3


def test_a_pause_halves_the_calls_in_flight_and_successes_widen_them_again() -> None:
    pace = Pace(8, 0, 0, 60)
    pace.slow_down(0.0)
    assert timed(pace, 8, seconds=0.05)[4] >= 0.05
    for _ in range(100):
        pace.speed_up()
    assert timed(pace, 8, seconds=0.05)[7] < 0.05


def test_pauses_are_counted_once_and_capped() -> None:
    pace = Pace(8, 0, 0, max_wait=0.2)
    pace.slow_down(9999)
    pace.slow_down(0.1)
    assert pace.pauses == 1
    assert pace.paused_seconds == pytest.approx(0.2, abs=0.01)
    assert min(timed(pace, 4)) >= 0.19


def test_a_deadline_is_not_waited_beyond() -> None:
    pace = Pace(1, 0, 0, 60)
    pace.slow_down(30)

    async def late() -> None:
        with pytest.raises(ModelFailure) as caught:
            await pace.enter(0, time.monotonic() + 0.1)
        assert caught.value.kind == "deadline"

    asyncio.run(late())


def test_a_call_that_is_cancelled_while_it_waits_gives_its_place_up() -> None:
    async def run() -> None:
        pace = Pace(1, 0, 0, 60)
        await pace.enter(0, None)
        waiting = [asyncio.create_task(pace.enter(0, None)) for _ in range(3)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        pace.leave()
        await waiting[1]
        assert not waiting[2].done()
        waiting[1].cancel()
        pace.leave()
        await waiting[2]

    asyncio.run(run())


def test_places_of_calls_that_were_cancelled_are_free_again() -> None:
    async def run() -> None:
        pace = Pace(2, 0, 0, 60)

        async def one() -> None:
            await pace.enter(0, None)
            try:
                await asyncio.sleep(60)
            finally:
                pace.leave()

        for order in (1, -1):
            tasks = [asyncio.create_task(one()) for _ in range(9)]
            await asyncio.sleep(0.01)
            for task in tasks[::order]:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            async with asyncio.timeout(1):
                await pace.enter(0, None)
                await pace.enter(0, None)
            pace.leave()
            pace.leave()

    asyncio.run(run())


def test_back_off_doubles_up_to_the_longest_wait_with_full_jitter() -> None:
    assert [back_off(retry, 60, 1.0) for retry in (1, 2, 3)] == [1.0, 2.0, 4.0]
    assert back_off(50, 60, 1.0) == 60
    assert back_off(3, 60, 0.0) == 0
    assert back_off(3, 60, 0.25) == 1.0
