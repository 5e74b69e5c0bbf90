"""The text of a source file to what it defines and refers to."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from graphkb.code.bindings import bound_names
from graphkb.code.chains import CALL, chain_of, text_of, type_chain
from graphkb.code.declare import declared, doc_of_file
from graphkb.code.imports import imported_names
from graphkb.code.languages import BY_NAME, Language, parser_of
from graphkb.code.places import Places
from graphkb.code.symbols import MODULE, Call, CodeFile, Definition, Import, Variable

if TYPE_CHECKING:
    from tree_sitter import Node


def parse_code(text: str, language: str) -> CodeFile | None:
    """What a file defines and refers to, in the order of its text; broken code as far as it goes.

    None where the grammar is not installed (extra ``code``).
    """
    parser = parser_of(language)
    if parser is None:
        return None
    data = text.encode("utf-8", "replace")
    walk = _Walk(BY_NAME[language], Places(data))
    root = parser.parse(data).root_node
    walk.run(root)
    return CodeFile(
        language, doc_of_file(root), tuple(walk.definitions), tuple(walk.imports),
        tuple(walk.calls), tuple(walk.variables),
    )  # fmt: skip


class _Walk:
    """One pass over a tree, without recursion: generated code nests deeply."""

    def __init__(self, language: Language, places: Places) -> None:
        self.language, self.places = language, places
        self._defining = language.functions | language.classes | language.spaces
        self._calling = {*language.calls, *language.method_calls, *language.news}
        self.definitions: list[Definition] = []
        self.imports: list[Import] = []
        self.calls: list[Call] = []
        self.variables: list[Variable] = []

    def run(self, root: Node) -> None:
        # Node, the definition it stands in, and the class that a block outside of it belongs to.
        stack: list[tuple[Node, int, str]] = [(root, MODULE, "")]
        while stack:
            node, scope, owner = stack.pop()
            if not node.is_named:
                continue
            inner, owner = self._visit(node, scope, owner)
            stack += [(child, inner, owner) for child in reversed(node.named_children)]

    def _visit(self, node: Node, scope: int, owner: str) -> tuple[int, str]:
        """Notes what the node says; the scope and the owner of what stands in it."""
        language = self.language
        for name, module, member in imported_names(node, language):
            start, end = self.places.of(node)
            self.imports.append(Import(scope, name, module, member, start, end))
        self._bind(node, scope)
        self._call(node, scope)
        if node.type == "impl_item":
            return scope, self._implemented(node)
        if node.type in self._defining:
            made = declared(node, language, scope, owner, self.places)
            if made is not None:
                self.definitions.append(made)
                return len(self.definitions) - 1, ""
        return scope, owner

    def _implemented(self, node: Node) -> str:
        """The type that a block of Rust is about; it inherits the trait that is named."""
        of_type, trait = (node.child_by_field_name(name) for name in ("type", "trait"))
        named = type_chain(text_of(of_type)) if of_type else None
        base = type_chain(text_of(trait)) if trait else None
        for number, known in enumerate(self.definitions if named and base else ()):
            if named and base and known.kind == "class" and known.name == named[-1]:
                self.definitions[number] = replace(known, bases=(*known.bases, base))
        return named[-1] if named else ""

    def _bind(self, node: Node, scope: int) -> None:
        for name, value, of_class in bound_names(node, self.language):
            place = self._class_around(scope) if of_class else scope
            if not of_class or place != MODULE:
                self.variables.append(Variable(place, name, value, scope))

    def _class_around(self, scope: int) -> int:
        while scope != MODULE and self.definitions[scope].kind != "class":
            scope = self.definitions[scope].parent
        return scope

    def _call(self, node: Node, scope: int) -> None:
        language = self.language
        if node.type == "decorator" and language.name == "python":
            named = chain_of(node.named_children[0], language) if node.named_children else None
            if named is not None and named[-1] != CALL:
                self._add_call(node, scope, (*named, CALL))
            return
        if node.type not in self._calling:
            return
        chain = chain_of(node, language)
        if chain is not None and chain[-1] == CALL:
            self._add_call(node, scope, chain)

    def _add_call(self, node: Node, scope: int, chain: tuple[str, ...]) -> None:
        arguments = node.child_by_field_name("arguments")
        start, end = self.places.of(node)
        if arguments is not None:
            end = max(start, self.places.at(arguments.start_byte))
        self.calls.append(Call(scope, chain, start, end))
