"""What one source file defines and refers to, before any name is looked up."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Any

Chain = tuple[str, ...]
"""An expression as the names that lead to its value; ``()`` is a call: ``Client().chat`` is
``("Client", "()", "chat")``."""

MODULE = -1
"""The scope of what stands in no definition."""


@dataclass(frozen=True)
class Definition:
    """A class, function or namespace. Spans are offsets in the file's text.

    ``start`` to ``end`` holds the comments and decorators above it too, ``name_start`` to
    ``name_end`` its name. ``parent`` is the number of the definition around it, or MODULE.
    ``owner`` names the class of a method that stands outside of it. ``bases`` are superclasses
    and interfaces, ``returns`` the type of what a call gives. A ``getter`` is read without call.
    """

    name: str
    kind: str
    parent: int
    start: int
    end: int
    name_start: int
    name_end: int
    signature: str
    doc: str = ""
    owner: str = ""
    bases: tuple[Chain, ...] = ()
    returns: Chain | None = None
    getter: bool = False


@dataclass(frozen=True)
class Import:
    """``name`` stands for ``member`` of ``module``, or for the module where that is empty.

    Both are ``*`` where all names of the module are seen; ``name`` is empty where none is.
    """

    scope: int
    name: str
    module: str
    member: str
    start: int
    end: int


@dataclass(frozen=True)
class Call:
    """A call within the definition ``scope``; the span is that of what is called."""

    scope: int
    chain: Chain
    start: int
    end: int


@dataclass(frozen=True)
class Variable:
    """A name of ``scope`` and where its value comes from; None: it has one that is not known.

    In the scope of a class it is an attribute of its instances. ``within`` is the scope in which
    the value is written.
    """

    scope: int
    name: str
    value: Chain | None
    within: int


@dataclass(frozen=True)
class CodeFile:
    """All of one file, in the order of the text; ``doc`` is the first line of what it says of
    itself."""

    language: str
    doc: str = ""
    definitions: tuple[Definition, ...] = ()
    imports: tuple[Import, ...] = ()
    calls: tuple[Call, ...] = ()
    variables: tuple[Variable, ...] = ()

    def to_json(self) -> str:
        """The same as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> CodeFile:
        """What :meth:`to_json` gave."""
        data: dict[str, Any] = json.loads(text)
        return cls(
            data["language"],
            data["doc"],
            tuple(Definition(**_definition(row)) for row in data["definitions"]),
            tuple(Import(**row) for row in data["imports"]),
            tuple(Call(**{**row, "chain": tuple(row["chain"])}) for row in data["calls"]),
            tuple(Variable(**{**row, "value": _chain(row["value"])}) for row in data["variables"]),
        )


def _definition(row: dict[str, Any]) -> dict[str, Any]:
    bases = tuple(tuple(base) for base in row["bases"])
    return {**row, "bases": bases, "returns": _chain(row["returns"])}


def _chain(value: list[str] | None) -> Chain | None:
    return None if value is None else tuple(value)
