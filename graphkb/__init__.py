"""graphkb turns a folder of documents into a knowledge graph you can question.

>>> import graphkb
>>> kb = graphkb.open(".")                               # doctest: +SKIP
>>> kb.index()                                           # doctest: +SKIP
>>> kb.query("Who leads the valve team?", method="local")  # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphkb.errors import GraphkbError
    from graphkb.project import Project, init_project, open

__version__ = "0.1.0"
__all__ = ["GraphkbError", "Project", "init_project", "open"]

_HOMES = {
    "GraphkbError": "graphkb.errors",
    "Project": "graphkb.project",
    "init_project": "graphkb.project",
    "open": "graphkb.project",
}


def __getattr__(name: str) -> Any:
    # Loaded at first use: importing graphkb alone costs milliseconds.
    if name in _HOMES:
        import importlib

        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module 'graphkb' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
