"""The loop that all model calls share."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing
from typing import Any

import pytest

from graphkb.llm.background import submit


class _Slow:
    """Keeps the collector busy between two generators, as any finalizer may."""

    cycle: Any = None

    def __del__(self) -> None:
        time.sleep(0.2)


async def _inner(ended: list[str]) -> AsyncGenerator[int, None]:
    try:
        yield 1
    finally:
        time.sleep(0.4)
        ended.append("inner")


async def _outer(held: list[Any], ended: list[str]) -> AsyncGenerator[int, None]:
    try:
        async with aclosing(held[0]) as parts:
            async for part in parts:
                yield part
    finally:
        ended.append("outer")


def _until(true: Callable[[], bool], seconds: float = 5.0) -> None:
    end = time.monotonic() + seconds
    while not true() and time.monotonic() < end:
        time.sleep(0.02)


def test_abandoned_streams_are_closed_without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """An abandoned stream may be collected on the caller's thread while the loop runs on another:
    each of its generators is closed, once."""
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", unraisable.append)
    ended: list[str] = []

    async def abandon() -> None:
        # The collector finalizes in the order of creation; the first one closes the last.
        held: list[Any] = []
        outer = _outer(held, ended)
        slow = _Slow()
        inner = _inner(ended)
        held.append(inner)
        async for _ in outer:
            break
        slow.cycle = (outer, inner, held, slow)
        held.append(slow)

    gc.collect()
    gc.disable()
    try:
        submit(abandon()).result()
        gc.collect()
    finally:
        gc.enable()
    _until(lambda: len(ended) == 2)
    gc.collect()
    assert sorted(ended) == ["inner", "outer"]
    assert [str(problem.exc_value) for problem in unraisable] == []
