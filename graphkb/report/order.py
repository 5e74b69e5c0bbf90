"""Which community is written about next, where some are shown the reports of their parts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


class WritingOrder:
    """Communities as soon as the reports they are shown are there.

    Those that others wait for come first, then the others as they are given. ``parts`` are the
    communities whose reports one is shown; of those only what is among ``chosen`` is awaited.

    >>> order = WritingOrder([1, 2, 3], {1: [3, 4]})
    >>> order.ready(), order.ready(), order.done(3), order.ready()
    ([3, 2], [], None, [1])
    """

    def __init__(self, chosen: Sequence[int], parts: Mapping[int, Collection[int]]) -> None:
        self._open = set(chosen)
        self._awaited = {n: self._open.intersection(parts[n]) for n in chosen if n in parts}
        self._awaited = {number: awaited for number, awaited in self._awaited.items() if awaited}
        self._waiting = {part: n for n, awaited in self._awaited.items() for part in awaited}
        free = [number for number in chosen if number not in self._awaited]
        self._ready = sorted(free, key=lambda number: number not in self._waiting)

    @property
    def n_open(self) -> int:
        """How many are not done."""
        return len(self._open)

    @property
    def has_ready(self) -> bool:
        """Whether :meth:`ready` gives any now."""
        return bool(self._ready)

    def ready(self) -> list[int]:
        """Those that can be written about since this was asked last."""
        ready, self._ready = self._ready, []
        return ready

    def done(self, number: int) -> None:
        """Its report is there, or is known not to be written."""
        self._open.remove(number)
        above = self._waiting.get(number)
        if above is not None:
            self._awaited[above].remove(number)
            if not self._awaited[above]:
                self._ready.append(above)
