"""What a name means: by the scopes around it, imports, classes and what is plain of variables.

Where two things are possible, or a variable hides the name, nothing is said: an edge that is
wrong costs more than one that is missing.
"""

from __future__ import annotations

from graphkb.code.chains import CALL
from graphkb.code.rust import rust_child, rust_root
from graphkb.code.scopes import Program, Symbol
from graphkb.code.symbols import MODULE, Chain, Import
from graphkb.code.values import Value, of_target

_DEEPEST = 24
_OF_CLASS = frozenset({"cls", "Self", "static"})


class Resolver:
    """Looks names up in a program."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self._open: set[tuple[int, int, str]] = set()

    def value(self, file: int, scope: int, chain: Chain, depth: int = 0) -> Value | None:
        """The value of an expression written in a scope; None where it is not plain."""
        if depth > _DEEPEST or not chain:
            return None
        found = self._first(file, scope, chain[0], depth)
        for part in chain[1:]:
            if found is None:
                return None
            found = self._called(found, depth) if part == CALL else self._member(found, part, depth)
        return found

    def called(self, file: int, scope: int, chain: Chain) -> Symbol | None:
        """The function that a call runs, or the class that it makes an instance of."""
        found = self.value(file, scope, chain[:-1])
        if found is not None and found.kind == "file":
            found = self._member(found, "default", 0)
        if found is not None and found.kind == "super" and found.symbol is not None:
            if self.program.scopes[file].code.language == "python":
                return None  # super() alone runs nothing of the base
            return next(iter(self.bases(found.symbol)), None)
        return found.symbol if found is not None and found.kind in ("class", "function") else None

    def bases(self, symbol: Symbol, depth: int = 0) -> list[Symbol]:
        """The superclasses and interfaces of a class that are here, as written."""
        made = self.program.definition(symbol)
        values = [self.value(symbol.file, made.parent, base, depth + 1) for base in made.bases]
        return [v.symbol for v in values if v and v.kind == "class" and v.symbol]

    def imported(self, file: int, entry: Import, depth: int = 0) -> Value | None:
        """What an import brings in."""
        scope = self.program.scopes[file]
        if scope.code.language == "rust":
            return self._used(file, entry, depth)
        module = self._module(file, entry.module)
        if entry.member in ("", "*") or module is None:
            if scope.code.language in ("java", "php") and module is not None:
                return self._class_of_file(file, entry, module, depth)
            return module
        found = self._member(module, entry.member, depth + 1)
        if found is None and entry.member == "default":
            return module
        return found

    def _class_of_file(self, file: int, entry: Import, module: Value, depth: int) -> Value | None:
        """The class that a Java file is named after; a class of PHP by its last name."""
        name = entry.module.replace("\\", ".").rpartition(".")[2]
        if module.kind == "file":
            return self._member(module, name, depth + 1)
        if module.kind == "library" and self.program.scopes[file].code.language == "php":
            found = self.program.class_named(file, name)
            return Value("class", found) if found else module
        return module

    def _module(self, file: int, module: str) -> Value | None:
        target = self.program.modules.find(file, module)
        return None if target is None else of_target(target)

    # Names

    def _first(self, file: int, scope: int, name: str, depth: int) -> Value | None:
        """The value of a bare name."""
        around = self.program.scopes[file]
        language = around.language
        is_above = name == language.above and (scope, name) not in around.variables
        if is_above or name == "Self" or name in language.this:
            own = self._own_class(file, scope)
            if own is not None and is_above:
                return Value("super", own)
            if own is not None:
                of_class = name in _OF_CLASS or (language.name == "php" and name == "self")
                return Value("class" if of_class else "instance", own)
        at = scope
        while at != MODULE:
            kind = around.kind(at)
            if kind == "class" and (at == scope or language.implicit_this):
                member = self._member(Value("instance", Symbol(file, at)), name, depth + 1)
                if member is not None:
                    return member
            elif kind != "class":
                found, known = self._named_in(file, at, name, depth)
                if known:
                    return found
            made = around.code.definitions[at]
            if made.owner and language.implicit_this:
                owner = self.program.owner_of(Symbol(file, at))
                if owner is not None:
                    member = self._member(Value("instance", owner), name, depth + 1)
                    if member is not None:
                        return member
            at = made.parent
        found, known = self._named_in(file, MODULE, name, depth)
        return found if known else self._from_elsewhere(file, name, depth)

    def _own_class(self, file: int, scope: int) -> Symbol | None:
        around = self.program.scopes[file]
        while scope != MODULE:
            if around.kind(scope) == "class":
                return Symbol(file, scope)
            if around.code.definitions[scope].owner:
                return self.program.owner_of(Symbol(file, scope))
            scope = around.code.definitions[scope].parent
        return None

    def _named_in(self, file: int, scope: int, name: str, depth: int) -> tuple[Value | None, bool]:
        """The value of a name that a scope itself gives one, and whether it does."""
        around = self.program.scopes[file]
        child = around.children.get((scope, name))
        if child is not None:
            return self._defined(Symbol(file, child)), True
        for entry in around.imports.get((scope, name), ()):
            return self.imported(file, entry, depth + 1), True
        if (scope, name) in around.variables:
            return self._variable(file, scope, name, depth), True
        return None, False

    def _variable(self, file: int, scope: int, name: str, depth: int) -> Value | None:
        key = (file, scope, name)
        if key in self._open:
            return None
        self._open.add(key)
        try:
            for variable in self.program.scopes[file].variables.get((scope, name), ()):
                is_itself = variable.value == (name,) and variable.within == scope
                if variable.value is not None and not is_itself:
                    found = self.value(file, variable.within, variable.value, depth + 1)
                    if found is not None:
                        return found
            return None
        finally:
            self._open.discard(key)

    def _from_elsewhere(self, file: int, name: str, depth: int) -> Value | None:
        """A name that another file gives without being named: star imports, package, program."""
        around = self.program.scopes[file]
        if around.code.language == "rust" and name in ("crate", "super", "self"):
            return rust_root(self.program, file, name)
        for entry in around.imports.get((MODULE, "*"), ()):
            module = self._module(file, entry.module)
            if module is not None and module.kind != "library":
                found = self._member(module, name, depth + 1)
                if found is not None:
                    return found
        reach = around.language.reach
        if reach == "nothing":
            return None
        found_here = self.program.by_name.get((around.family, name), [])
        if reach == "folder":
            folder = around.path.rpartition("/")[0]
            found_here = [
                symbol
                for symbol in found_here
                if self.program.scopes[symbol.file].path.rpartition("/")[0] == folder
            ]
        symbol = self.program.nearest(file, found_here)
        return None if symbol is None else self._defined(symbol)

    def _defined(self, symbol: Symbol) -> Value:
        return Value(self.program.scopes[symbol.file].kind(symbol.number), symbol)

    # Members

    def _member(self, value: Value, name: str, depth: int) -> Value | None:
        """The value of ``value.name``."""
        if depth > _DEEPEST:
            return None
        if value.kind == "library":
            return Value("library", name=f"{value.name}.{name}")
        if value.kind == "file":
            return self._of_file(value.file, name, depth)
        if value.kind == "folder":
            return self._of_folder(value.name, name)
        symbol = value.symbol
        if symbol is None or value.kind == "function":
            return None
        if value.kind == "space":
            child = self.program.scopes[symbol.file].children.get((symbol.number, name))
            return None if child is None else self._defined(Symbol(symbol.file, child))
        own = value.kind != "super"
        return self._of_class(symbol, name, depth, set(), own, value.kind == "instance")

    def _of_class(
        self, symbol: Symbol, name: str, depth: int, seen: set[Symbol], own: bool, made: bool
    ) -> Value | None:
        """A method or attribute of a class or, in order, of its bases."""
        if symbol in seen or depth > _DEEPEST:
            return None
        seen.add(symbol)
        scope = self.program.scopes[symbol.file]
        if own:
            child = scope.children.get((symbol.number, name))
            found = Symbol(symbol.file, child) if child is not None else None
            found = found or self.program.members_outside.get((symbol, name))
            if found is not None:
                getter = made and self.program.definition(found).getter
                defined = self._defined(found)
                return self._called(defined, depth) if getter else defined
            if (symbol.number, name) in scope.variables:
                return self._variable(symbol.file, symbol.number, name, depth + 1)
        for base in self.bases(symbol, depth + 1):
            inherited = self._of_class(base, name, depth + 1, seen, True, made)
            if inherited is not None:
                return inherited
        return None

    def _of_file(self, file: int, name: str, depth: int) -> Value | None:
        scope = self.program.scopes[file]
        found, known = self._named_in(file, MODULE, name, depth + 1)
        if known:
            return found
        if scope.code.language == "python":
            inside = (
                self.program.modules.python_submodule(f"{_package(scope.path)}.{name}")
                if scope.path.endswith("/__init__.py")
                else None
            )
            if inside is not None:
                return of_target(inside)
        for entry in scope.imports.get((MODULE, "*"), ()):
            module = self._module(file, entry.module) if depth < _DEEPEST else None
            if module is not None and module.kind == "file" and module.file != file:
                member = self._of_file(module.file, name, depth + 2)
                if member is not None:
                    return member
        return None

    def _of_folder(self, folder: str, name: str) -> Value | None:
        """A name of a Go or Java package, or a module of a Python package without a file."""
        inside = self.program.modules.python_submodule(f"{folder}.{name}")
        if inside is not None:
            return of_target(inside)
        for number in self.program.modules.folders.get(folder, ()):
            child = self.program.scopes[number].children.get((MODULE, name))
            if child is not None:
                return self._defined(Symbol(number, child))
        return None

    def _called(self, value: Value, depth: int) -> Value | None:
        """What a call of the value gives."""
        if value.kind == "super":
            return value
        if value.kind == "class":
            return Value("instance", value.symbol)
        if value.kind == "file":
            made = self._member(value, "default", depth + 1)
            return None if made is None or made.kind == "file" else self._called(made, depth + 1)
        if value.kind != "function" or value.symbol is None or depth > _DEEPEST:
            return None
        made_by = self.program.definition(value.symbol)
        if made_by.returns is None:
            return None
        given = self.value(value.symbol.file, value.symbol.number, made_by.returns, depth + 1)
        is_class = given is not None and given.kind == "class" and given.symbol is not None
        return Value("instance", given.symbol) if given and is_class else None

    # Rust

    def _used(self, file: int, entry: Import, depth: int) -> Value | None:
        """What a ``use`` of Rust names, step by step."""
        parts = [part for part in (*entry.module.split("::"), entry.member) if part and part != "*"]
        if not parts or depth > _DEEPEST:
            return None
        first, rest = parts[0], parts[1:]
        if first in ("crate", "self", "super"):
            found = rust_root(self.program, file, first)
        elif entry.name == first and not rest:
            found = None
        else:
            found, known = self._named_in(file, MODULE, first, depth + 1)
            if not known and first not in ("std", "core", "alloc"):
                return Value("library", name=".".join(parts))
        for part in rest:
            if found is None:
                return None
            member = self._member(found, part, depth + 1)
            if (member is None or member == found) and found.kind == "file":
                member = rust_child(self.program, found.file, part)
            found = member
        return found


def _package(path: str) -> str:
    return path.removesuffix("/__init__.py").replace("/", ".")
