"""Answers as they come: pieces of text first, the checked answer at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator

from graphkb.errors import StoreError, UsageError
from graphkb.types import Answer

_FAILED = "the answer ended with an error before it was complete: ask again"


class AnswerStream:
    """Iterate over pieces of the answer's text; :attr:`answer` is there at the end. A loop that was
    left is gone on with by another.

    The pieces are what the model says. Citations are checked at the end, so marks that the
    answer does not hold any more may be among them.
    """

    def __init__(self, flow: Generator[str, None, Answer]) -> None:
        self._flow = flow
        self._answer: Answer | None = None

    def __iter__(self) -> Iterator[str]:
        # Not by "yield from": who leaves the loop early would close the flow with it.
        while self._answer is None:
            try:
                piece = next(self._flow)
            except StopIteration as end:
                if end.value is None:
                    raise UsageError(_FAILED) from None
                self._answer = end.value
                return
            yield piece

    @property
    def answer(self) -> Answer:
        """The checked answer; what has not come yet is waited for, also after a loop that was left
        early. Raises UsageError where an error ended it before."""
        for _ in self:
            pass
        if self._answer is None:
            raise UsageError(_FAILED)
        return self._answer


def while_kept(stream: AnswerStream, check: Callable[[], None]) -> AnswerStream:
    """The stream of a version that may be let go of before it is read to its end: where its tables
    cannot be read, ``check`` raises what that is called."""

    def flow() -> Generator[str, None, Answer]:
        try:
            yield from stream
        except StoreError:
            check()
            raise
        return stream.answer

    return AnswerStream(flow())


class AsyncAnswerStream:
    """:class:`AnswerStream` for ``async for``, without blocking the running event loop.

    ``make`` is called in a thread when the first piece is asked for.
    """

    def __init__(self, make: Callable[[], AnswerStream]) -> None:
        self._make = make
        self._stream: AnswerStream | None = None

    async def __aiter__(self) -> AsyncIterator[str]:
        stream = await self._started()
        pieces = iter(stream)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    async def _started(self) -> AnswerStream:
        if self._stream is None:
            self._stream = await asyncio.to_thread(self._make)
        return self._stream

    @property
    def answer(self) -> Answer:
        """The checked answer, after the last piece. Raises UsageError before the first."""
        if self._stream is None:
            raise UsageError("no piece of the answer was asked for: async for piece in stream: …")
        return self._stream.answer
