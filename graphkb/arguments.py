"""Arguments of the Python API, checked: one of a wrong type is named, with what it should be."""

from __future__ import annotations

import operator
from collections.abc import Iterable
from typing import Any

from graphkb.errors import UsageError


def as_text(name: str, value: Any) -> str:
    """``value``, a text. Raises UsageError that names the argument otherwise.

    >>> as_text("question", None)
    Traceback (most recent call last):
    graphkb.errors.UsageError: question: expected text, got None (NoneType)
    """
    if not isinstance(value, str):
        raise wrong_type(name, value, "text")
    return value


def as_texts(name: str, value: Any) -> list[str]:
    """The texts of a list, or one text alone.

    >>> as_texts("documents", "a.md"), as_texts("documents", ("a.md", "b.md"))
    (['a.md'], ['a.md', 'b.md'])
    """
    if isinstance(value, str):
        return [value]
    if isinstance(value, bytes) or not isinstance(value, Iterable):
        raise wrong_type(name, value, "a list of texts")
    return [as_text(f"{name}[{place}]", item) for place, item in enumerate(value)]


def as_number(name: str, value: Any, least: int, most: int | None = None) -> int:
    """``value``, a whole number from ``least`` to ``most``.

    >>> as_number("top_k", 0, 1, 1000)
    Traceback (most recent call last):
    graphkb.errors.UsageError: top_k 0: use a number from 1 to 1000
    """
    limits = f"{least} or more" if most is None else f"a number from {least} to {most}"
    try:
        number = None if isinstance(value, bool) else operator.index(value)
    except TypeError:
        number = None
    if number is None:
        raise wrong_type(name, value, f"a whole number, {limits.removeprefix('a number ')}")
    if number < least or (most is not None and number > most):
        raise UsageError(f"{name} {number}: use {limits}")
    return number


def wrong_type(name: str, value: Any, expected: str) -> UsageError:
    """The error for an argument that is nothing like what it should be."""
    seen = repr(value)
    seen = seen if len(seen) <= 60 else f"{seen[:60]}…"
    return UsageError(f"{name}: expected {expected}, got {seen} ({type(value).__name__})")
