"""Answers as they come: pieces of text first, the checked answer at the end."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Generator, Iterator

from graphkb.errors import StoreError
from graphkb.types import Answer


class AnswerStream:
    """Iterate over pieces of the answer's text; :attr:`answer` is there at the end.

    The pieces are what the model says. Citations are checked at the end, so marks that the
    answer does not hold any more may be among them.
    """

    def __init__(self, flow: Generator[str, None, Answer]) -> None:
        self._flow = flow
        self._answer: Answer | None = None

    def __iter__(self) -> Iterator[str]:
        if self._answer is None:
            self._answer = yield from self._flow

    @property
    def answer(self) -> Answer:
        """The checked answer; what has not come yet is waited for."""
        for _ in self:
            pass
        assert self._answer is not None
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
        """The checked answer, after the last piece."""
        assert self._stream is not None, "iterate over the stream first"
        return self._stream.answer
