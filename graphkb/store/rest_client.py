"""lancedb without the client of a REST catalogue: three hundred data classes that serve no folder.

While lancedb is imported, a stand-in takes the place of each of them; the class itself is loaded
when somebody uses it.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

CLIENT = "lance_namespace_urllib3_client"
_INTERFACE = "lance_namespace"


@contextmanager
def without_rest_client() -> Iterator[None]:
    """For the time of lancedb's first import; afterwards the client is there for whoever imports
    it, and for those who take its classes from ``lance_namespace``."""
    if _INTERFACE in sys.modules or importlib.util.find_spec(CLIENT) is None:
        yield
        return
    finder = _Finder()
    sys.meta_path.insert(0, finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
        for name in [name for name in sys.modules if _of_client(name)]:
            del sys.modules[name]
        _show_classes(sys.modules.get(_INTERFACE))


def _of_client(name: str) -> bool:
    return name == CLIENT or name.startswith(f"{CLIENT}.")


class _StandIn(type):
    """The metaclass of stand-ins: what is asked of one is asked of the class it stands for."""

    _place: tuple[str, str]

    def real(cls) -> Any:
        """The class itself."""
        module, name = cls._place
        return getattr(importlib.import_module(module), name)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls.real()(*args, **kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(cls.real(), name)

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.real())

    def __subclasscheck__(cls, subclass: type) -> bool:
        return issubclass(subclass, cls.real())


class _Module(ModuleType):
    """A module of the client in which every name is a stand-in."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        made = _StandIn(name, (), {"_place": (self.__name__, name)})
        setattr(self, name, made)
        return made


class _Finder(MetaPathFinder, Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        return ModuleSpec(fullname, self, is_package=True) if _of_client(fullname) else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Module(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        """There is nothing to run."""


def _show_classes(interface: ModuleType | None) -> None:
    """``lance_namespace`` gives the classes themselves to whoever asks it from now on."""
    if interface is None:
        return
    stand_ins = {name: it for name, it in vars(interface).items() if isinstance(it, _StandIn)}
    for name in stand_ins:
        delattr(interface, name)

    def real(name: str) -> Any:
        if name not in stand_ins:
            raise AttributeError(f"module {_INTERFACE!r} has no attribute {name!r}")
        return stand_ins[name].real()

    interface.__getattr__ = real  # type: ignore[method-assign]
