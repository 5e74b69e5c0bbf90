"""The files of a collection as scopes in which names are looked up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from graphkb.code.languages import BY_NAME, Language
from graphkb.code.modules import Modules, dotted_name
from graphkb.code.symbols import MODULE, CodeFile, Definition, Import, Variable

_FAMILIES = {"tsx": "javascript", "typescript": "javascript", "cpp": "c"}


@dataclass(frozen=True)
class Symbol:
    """A definition, by the number of its file and its own."""

    file: int
    number: int


class Scope:
    """One file with its names by the definition they stand in."""

    def __init__(self, path: str, code: CodeFile) -> None:
        self.path, self.code = path, code
        self.language: Language = BY_NAME[code.language]
        self.children: dict[tuple[int, str], int] = {}
        self.variables: dict[tuple[int, str], list[Variable]] = {}
        self.imports: dict[tuple[int, str], list[Import]] = {}
        for number, made in enumerate(code.definitions):
            if not made.owner:
                self.children.setdefault((made.parent, made.name), number)
        for variable in code.variables:
            self.variables.setdefault((variable.scope, variable.name), []).append(variable)
        for imported in code.imports:
            self.imports.setdefault((imported.scope, imported.name), []).append(imported)

    @property
    def family(self) -> str:
        """Languages of one family see each other's names."""
        return _FAMILIES.get(self.code.language, self.code.language)

    def kind(self, number: int) -> str:
        """class, function or space."""
        return self.code.definitions[number].kind


class Program:
    """All code files of a collection, in the order of their paths."""

    def __init__(self, files: Mapping[str, CodeFile]) -> None:
        self.scopes = [Scope(path, files[path]) for path in sorted(files)]
        paths = [scope.path for scope in self.scopes]
        self.modules = Modules(paths, [scope.code.language for scope in self.scopes])
        self._names = self._module_names()

    def definition(self, symbol: Symbol) -> Definition:
        """The definition that a symbol stands for."""
        return self.scopes[symbol.file].code.definitions[symbol.number]

    def _module_names(self) -> list[str]:
        """The dotted name of a Python module that is in a package; else the path of the file."""
        names = [
            dotted_name(scope.path) if scope.code.language == "python" else scope.path
            for scope in self.scopes
        ]
        times = Counter(names)
        return [
            scope.path if "." not in name or times[name] > 1 else name
            for name, scope in zip(names, self.scopes, strict=True)
        ]

    def module_name(self, file: int) -> str:
        """The qualified name of a file."""
        return self._names[file]

    def qualified(self, symbol: Symbol) -> str:
        """``pkg.client.Client.chat`` in Python, ``src/client.ts:Client.chat`` elsewhere."""
        scope = self.scopes[symbol.file]
        parts: list[str] = []
        number = symbol.number
        while number != MODULE:
            made = scope.code.definitions[number]
            parts.append(made.name)
            if made.owner:
                owner = self.owner_of(Symbol(symbol.file, number))
                if owner is not None:
                    return ".".join([self.qualified(owner), *reversed(parts)])
                parts.append(made.owner)
            number = made.parent
        path = ".".join(reversed(parts))
        if scope.code.language == "python":
            return f"{dotted_name(scope.path)}.{path}"
        return f"{self._names[symbol.file]}:{path}"

    def owner_of(self, symbol: Symbol) -> Symbol | None:
        """The class that a method belongs to which stands outside of it."""
        return self._owners.get(symbol)

    @cached_property
    def _owners(self) -> dict[Symbol, Symbol]:
        owners = {}
        for file, scope in enumerate(self.scopes):
            for number, made in enumerate(scope.code.definitions):
                if made.owner:
                    found = self.class_named(file, made.owner)
                    if found is not None:
                        owners[Symbol(file, number)] = found
        return owners

    def class_named(self, file: int, name: str) -> Symbol | None:
        """A class of this name in the file, its folder, or the only one there is."""
        found = [
            symbol
            for symbol in self.by_name.get((self.scopes[file].family, name), ())
            if self.scopes[symbol.file].kind(symbol.number) == "class"
        ]
        return self.nearest(file, found)

    def nearest(self, file: int, found: list[Symbol]) -> Symbol | None:
        """The one in this file, else the only one in its folder, else the only one."""
        own = [symbol for symbol in found if symbol.file == file]
        if own:
            return own[0]
        folder = self.scopes[file].path.rpartition("/")[0]
        beside = [s for s in found if self.scopes[s.file].path.rpartition("/")[0] == folder]
        for some in (beside, found):
            if len({self.scopes[s.file].path for s in some}) == 1:
                return some[0]
        return None

    @cached_property
    def by_name(self) -> dict[tuple[str, str], list[Symbol]]:
        """What is defined at the top of a file or in its namespaces, by family and name."""
        found: dict[tuple[str, str], list[Symbol]] = {}
        for file, scope in enumerate(self.scopes):
            for number, made in enumerate(scope.code.definitions):
                top = made.parent == MODULE or scope.kind(made.parent) == "space"
                if top and not made.owner:
                    found.setdefault((scope.family, made.name), []).append(Symbol(file, number))
        return found

    @cached_property
    def members_outside(self) -> dict[tuple[Symbol, str], Symbol]:
        """Methods that stand outside of their class, by class and name."""
        found: dict[tuple[Symbol, str], Symbol] = {}
        for symbol, owner in sorted(self._owners.items(), key=lambda item: _place(item[0])):
            found.setdefault((owner, self.definition(symbol).name), symbol)
        return found


def _place(symbol: Symbol) -> tuple[int, int]:
    return symbol.file, symbol.number
