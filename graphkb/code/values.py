"""What expressions stand for."""

from __future__ import annotations

from dataclasses import dataclass

from graphkb.code.modules import Target
from graphkb.code.scopes import Symbol


@dataclass(frozen=True)
class Value:
    """What an expression stands for: ``class`` and ``function`` are definitions, ``instance`` is
    one of a class, ``super`` its bases, ``file`` and ``folder`` are modules, ``library`` is a
    dotted name of one that is not here."""

    kind: str
    symbol: Symbol | None = None
    file: int = -1
    name: str = ""


def of_target(target: Target) -> Value:
    """The module that an import leads to."""
    if target.file >= 0:
        return Value("file", file=target.file)
    if target.library:
        return Value("library", name=target.library)
    return Value("folder", name=target.folder)
