"""All code files of a collection to a graph: what contains, imports, inherits and calls what."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from graphkb.code.resolve import Resolver
from graphkb.code.scopes import Program, Symbol
from graphkb.code.symbols import MODULE, CodeFile, Definition
from graphkb.code.values import Value

CONTAINS, IMPORTS, INHERITS, CALLS = "contains", "imports", "inherits", "calls"

MODULE_TYPE, CLASS_TYPE, FUNCTION_TYPE, METHOD_TYPE = "MODULE", "CLASS", "FUNCTION", "METHOD"
NAMESPACE_TYPE, LIBRARY_TYPE = "NAMESPACE", "LIBRARY"
CODE_TYPES = frozenset(
    {MODULE_TYPE, CLASS_TYPE, FUNCTION_TYPE, METHOD_TYPE, NAMESPACE_TYPE, LIBRARY_TYPE}
)


@dataclass(frozen=True)
class CodeEntity:
    """Something defined: its qualified name and where its name stands. ``symbol`` is None for a
    file, which stands at its start."""

    name: str
    type: str
    file: str
    symbol: Symbol | None
    definition: Definition | None


@dataclass(frozen=True)
class CodeEdge:
    """``source`` to ``target``, both qualified names; the span is that of the words in ``file``
    that say so."""

    source: str
    target: str
    type: str
    file: str
    start: int
    end: int
    target_type: str


@dataclass(frozen=True)
class CodeGraph:
    """Everything defined and every edge, in the order of files and places."""

    entities: tuple[CodeEntity, ...]
    edges: tuple[CodeEdge, ...]


def link_code(files: Mapping[str, CodeFile]) -> CodeGraph:
    """The graph of code files by path. A function of all of them and of nothing else.

    Recursive calls and what cannot be resolved give no edge; libraries that are imported or
    inherited from are there under their dotted names, those that come with a language are not.
    """
    program = Program(files)
    resolver = Resolver(program)
    entities: list[CodeEntity] = []
    edges: list[CodeEdge] = []
    for file, scope in enumerate(program.scopes):
        entities.append(CodeEntity(program.module_name(file), MODULE_TYPE, scope.path, None, None))
        for number, made in enumerate(scope.code.definitions):
            symbol = Symbol(file, number)
            name = program.qualified(symbol)
            entities.append(CodeEntity(name, type_of(program, symbol), scope.path, symbol, made))
        edges += _Edges(program, resolver, file).all()
    return CodeGraph(tuple(entities), tuple(dict.fromkeys(edges)))


def type_of(program: Program, symbol: Symbol) -> str:
    """The entity type of a definition."""
    made = program.definition(symbol)
    if made.kind == "class":
        return CLASS_TYPE
    if made.kind == "space":
        return NAMESPACE_TYPE
    inside = made.parent != MODULE and program.scopes[symbol.file].kind(made.parent) == "class"
    return METHOD_TYPE if made.owner or inside else FUNCTION_TYPE


class _Edges:
    """The edges that one file states."""

    def __init__(self, program: Program, resolver: Resolver, file: int) -> None:
        self.program, self.resolver, self.file = program, resolver, file
        self.scope = program.scopes[file]

    def all(self) -> Iterator[CodeEdge]:
        """Every edge, by kind and place."""
        for found in (self._contains(), self._imports(), self._inherits(), self._calls()):
            yield from (edge for edge in found if edge.source != edge.target)

    def _name(self, number: int) -> str:
        if number == MODULE:
            return self.program.module_name(self.file)
        return self.program.qualified(Symbol(self.file, number))

    def _edge(
        self, source: str, target: tuple[str, str], kind: str, start: int, end: int
    ) -> CodeEdge:
        return CodeEdge(source, target[0], kind, self.scope.path, start, end, target[1])

    def _symbol(self, symbol: Symbol) -> tuple[str, str]:
        return self.program.qualified(symbol), type_of(self.program, symbol)

    def _contains(self) -> Iterator[CodeEdge]:
        for number, made in enumerate(self.scope.code.definitions):
            symbol = Symbol(self.file, number)
            owner = self.program.owner_of(symbol) if made.owner else None
            source = self.program.qualified(owner) if owner else self._name(made.parent)
            place = made.name_start, made.name_end
            yield self._edge(source, self._symbol(symbol), CONTAINS, *place)

    def _imports(self) -> Iterator[CodeEdge]:
        source = self._name(MODULE)
        for entry in self.scope.code.imports:
            found = self.resolver.imported(self.file, entry)
            target = self._target(found) if found is not None else None
            if target is not None:
                yield self._edge(source, target, IMPORTS, entry.start, entry.end)

    def _target(self, value: Value) -> tuple[str, str] | None:
        if value.symbol is not None:
            return self._symbol(value.symbol)
        if value.kind == "file":
            return self.program.module_name(value.file), MODULE_TYPE
        return (value.name, LIBRARY_TYPE) if value.kind == "library" else None

    def _inherits(self) -> Iterator[CodeEdge]:
        for number, made in enumerate(self.scope.code.definitions):
            for base in made.bases:
                found = self.resolver.value(self.file, made.parent, base)
                target = self._target(found) if found is not None else None
                if found is not None and target and found.kind in ("class", "library"):
                    place = made.name_start, made.name_end
                    yield self._edge(self._name(number), target, INHERITS, *place)

    def _calls(self) -> Iterator[CodeEdge]:
        for call in self.scope.code.calls:
            found = self.resolver.called(self.file, call.scope, call.chain)
            if found is not None:
                place = call.start, call.end
                yield self._edge(self._name(call.scope), self._symbol(found), CALLS, *place)
