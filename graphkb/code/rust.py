"""Where the paths of Rust's modules lead."""

from __future__ import annotations

from graphkb.code.scopes import Program
from graphkb.code.values import Value

_ROOTS = ("lib.rs", "main.rs")
_OF_FOLDER = ("mod.rs", *_ROOTS)


def rust_root(program: Program, file: int, name: str) -> Value | None:
    """The file that ``crate``, ``self`` or ``super`` means in a file."""
    folder, _, stem = program.scopes[file].path.rpartition("/")
    if name == "self":
        return Value("file", file=file)
    if name == "super":
        if stem in _OF_FOLDER:
            folder = folder.rpartition("/")[0]
        return _first(program, [f"{folder}.rs", *(f"{folder}/{top}" for top in _OF_FOLDER)])
    parts = folder.split("/")
    above = ["/".join(parts[:n]) for n in range(len(parts), -1, -1)]
    return _first(program, [f"{root}/{top}" for root in above for top in _ROOTS])


def rust_child(program: Program, file: int, name: str) -> Value | None:
    """The file of a child module."""
    folder, _, stem = program.scopes[file].path.rpartition("/")
    if stem not in _OF_FOLDER:
        folder = f"{folder}/{stem.removesuffix('.rs')}"
    return _first(program, [f"{folder}/{name}.rs", f"{folder}/{name}/mod.rs"])


def _first(program: Program, paths: list[str]) -> Value | None:
    for path in paths:
        number = program.modules.by_path.get(path.lstrip("/"))
        if number is not None:
            return Value("file", file=number)
    return None
