"""What is made of an object once, however often it comes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")

# JSON schemas are few; whoever makes a new one for each question is forgotten in between.
_MOST = 64


class ByIdentity(Generic[T]):
    """A function of objects that have no hash and do not change, such as JSON schemas.

    >>> lengths = ByIdentity(len)
    >>> word = ["a", "b"]
    >>> lengths(word), lengths(word)
    (2, 2)
    """

    def __init__(self, make: Callable[[Any], T]) -> None:
        self._make = make
        # The object is kept with the value, so that no other one gets its number.
        self._known: dict[int, tuple[Any, T]] = {}

    def __call__(self, given: Any) -> T:
        known = self._known.get(id(given))
        if known is None:
            if len(self._known) >= _MOST:
                self._known.clear()
            known = self._known[id(given)] = given, self._make(given)
        return known[1]
