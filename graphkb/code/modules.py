"""Which file, folder or library an import leads to."""

from __future__ import annotations

import posixpath
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

_JS = ("javascript", "typescript", "tsx")
_JS_SUFFIXES = (".ts", ".tsx", ".js", ".jsx", ".mjs", ".cjs", ".mts", ".cts", ".d.ts")
_NODE = frozenset(
    "assert buffer child_process cluster crypto dns events fs http http2 https module net os path "
    "perf_hooks process querystring readline stream string_decoder timers tls url util v8 vm "
    "worker_threads zlib".split()
)
_STANDARD_ROOTS = {
    "java": ("java.", "javax.", "jdk."),
    "rust": ("std", "core", "alloc"),
    "c": ("<",), "cpp": ("<",),
    "csharp": ("System", "Microsoft"),
}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """Where a name of a module leads: a file by number, a package by folder, or a library."""

    file: int = -1
    folder: str = ""
    library: str = ""


class Modules:
    """The files of a collection, found as the import statements of their languages name them."""

    def __init__(self, paths: Sequence[str], languages: Sequence[str]) -> None:
        self.paths, self.languages = list(paths), list(languages)
        self.by_path = {path: number for number, path in enumerate(paths)}
        self.by_name: dict[str, list[int]] = {}
        self.dotted: dict[str, int] = {}
        self.packages: set[str] = set()
        self.with_init: set[str] = set()
        self._known: dict[str, Target | None] = {}
        self.folders: dict[str, list[int]] = {}
        self._by_folder_name: dict[str, list[str]] = {}
        for number, path in enumerate(paths):
            self.by_name.setdefault(PurePosixPath(path).name, []).append(number)
            self.folders.setdefault(posixpath.dirname(path), []).append(number)
            if self.languages[number] == "python":
                name = dotted_name(path)
                self.dotted.setdefault(name, number)
                parts = name.split(".")
                if path.endswith("/__init__.py"):
                    self.with_init.add(name)
                self.packages.update(".".join(parts[:n]) for n in range(1, len(parts)))
        for folder in self.folders:
            self._by_folder_name.setdefault(posixpath.basename(folder), []).append(folder)

    def find(self, file: int, module: str) -> Target | None:
        """What ``module`` means in a file; None for what comes with the language."""
        language = self.languages[file]
        if language == "python":
            return self._python(file, module)
        if language in _JS:
            return self._javascript(file, module)
        if language == "go":
            return self._go(module)
        if language == "java":
            found = self._ending(module.replace(".", "/") + ".java")
            folder = None if found is not None else self._folder(module.replace(".", "/"))
            if folder is not None:
                return Target(folder=folder)
        elif language == "php":
            found = self._near(file, module) if module.endswith(".php") else None
        elif language in ("csharp", "rust"):
            found = None
        else:
            found = self._near(file, module.removeprefix("./"))
            if found is None and language == "ruby":
                found = self._near(file, module.removeprefix("./") + ".rb")
        if found is not None:
            return Target(file=found)
        roots = _STANDARD_ROOTS.get(language, ())
        if not module or module.startswith(roots) or language in ("ruby", "bash"):
            return None
        return None if "/" in module and language == "php" else Target(library=module)

    def python_submodule(self, name: str) -> Target | None:
        """The module or package of exactly this dotted name."""
        if name in self.dotted:
            return Target(file=self.dotted[name])
        return Target(folder=name) if name in self.packages else None

    def _python(self, file: int, module: str) -> Target | None:
        rest = module.lstrip(".")
        level = len(module) - len(rest)
        if level:
            parts = dotted_name(self.paths[file]).split(".")
            if not self.paths[file].endswith("/__init__.py"):
                parts = parts[:-1]
            parts = parts[: len(parts) - (level - 1)]
            return self.python_submodule(".".join([*parts, *([rest] if rest else [])]))
        if rest.split(".")[0] in sys.stdlib_module_names:
            return None
        # A root of packages: the folders above the file, nearest first, then any other.
        above = dotted_name(self.paths[file]).split(".")[:-1]
        roots = [".".join(above[:n]) for n in range(len(above), -1, -1)]
        for root in roots:
            if root and root in self.with_init:
                continue
            found = self.python_submodule(f"{root}.{rest}" if root else rest)
            if found is not None:
                return found
        return self._elsewhere(rest) or Target(library=rest)

    def _elsewhere(self, name: str) -> Target | None:
        """The only module whose name ends so, below a folder that is no package."""
        if name in self._known:
            return self._known[name]
        found = [
            number
            for dotted, number in self.dotted.items()
            if dotted.endswith("." + name) and dotted[: -len(name) - 1] not in self.with_init
        ]
        self._known[name] = Target(file=found[0]) if len(found) == 1 else None
        return self._known[name]

    def _javascript(self, file: int, module: str) -> Target | None:
        if module.startswith("."):
            base = posixpath.join(posixpath.dirname(self.paths[file]), module)
            found = self._with_suffix(posixpath.normpath(base))
            return None if found is None else Target(file=found)
        if module.startswith(("@/", "~/")):
            for suffix in _JS_SUFFIXES:
                for ending in (module[2:] + suffix, f"{module[2:]}/index{suffix}"):
                    found = self._ending(ending)
                    if found is not None:
                        return Target(file=found)
        bare = module.removeprefix("node:")
        if bare != module or bare.split("/")[0] in _NODE:
            return None
        return Target(library=module) if module else None

    def _with_suffix(self, base: str) -> int | None:
        stem = posixpath.splitext(base)[0] if base.endswith((".js", ".jsx", ".mjs")) else base
        for path in (base, *(stem + suffix for suffix in _JS_SUFFIXES),
                     *(f"{base}/index{suffix}" for suffix in _JS_SUFFIXES)):  # fmt: skip
            if path in self.by_path:
                return self.by_path[path]
        return None

    def _go(self, module: str) -> Target | None:
        parts = module.split("/")
        for first in range(len(parts) - 1 if len(parts) > 1 else 0):
            folder = self._folder("/".join(parts[first:]))
            if folder is not None:
                return Target(folder=folder)
        if len(parts) > 1 and (folder := self._folder(parts[-1])) and "." in parts[0]:
            return Target(folder=folder)
        return Target(library=module) if "." in parts[0] else None

    def _folder(self, ending: str) -> str | None:
        """The only folder whose path ends so."""
        found = self._by_folder_name.get(posixpath.basename(ending), [])
        found = [f for f in found if f == ending or f.endswith("/" + ending)]
        return found[0] if len(found) == 1 else None

    def _near(self, file: int, path: str) -> int | None:
        """A file by path from the one that names it, else the only one whose path ends so."""
        beside = posixpath.normpath(posixpath.join(posixpath.dirname(self.paths[file]), path))
        if beside in self.by_path:
            return self.by_path[beside]
        return self._ending(posixpath.normpath(path).lstrip("./"))

    def _ending(self, path: str) -> int | None:
        named = self.by_name.get(posixpath.basename(path), [])
        found = [n for n in named if self.paths[n] == path or self.paths[n].endswith("/" + path)]
        return found[0] if len(found) == 1 else None


def dotted_name(path: str) -> str:
    """The dotted name of a Python file.

    >>> dotted_name("pkg/llm/__init__.py"), dotted_name("pkg/client.py")
    ('pkg.llm', 'pkg.client')
    """
    parts = path.rsplit(".", 1)[0].split("/")
    if parts[-1] == "__init__" and len(parts) > 1:
        parts = parts[:-1]
    return ".".join(parts)
