"""Which names a node of a syntax tree gives a value to, and what it is as far as that is plain."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphkb.code.chains import CALL, chain_of, text_of, type_chain
from graphkb.code.imports import imported_names
from graphkb.code.languages import Language
from graphkb.code.symbols import Chain

if TYPE_CHECKING:
    from tree_sitter import Node

DEFAULT = "default"
"""The name of what a module of JavaScript gives when no name is asked for."""

Bound = tuple[str, Chain | None, bool]
"""Name, its value, and whether it is an attribute of the class around it."""

# What holds the name that a declaration is about.
_DECLARATORS = frozenset(
    "pointer_declarator reference_declarator array_declarator init_declarator variable_declarator "
    "as_pattern_target list_splat_pattern dictionary_splat_pattern property_element mut_pattern "
    "ref_pattern rest_pattern assignment_pattern splat_parameter block_parameter "
    "hash_splat_parameter".split()
)
_PATTERNS = frozenset(
    "pattern_list tuple_pattern list_pattern expression_list object_pattern array_pattern "
    "left_assignment_list structured_binding_declarator tuple_pattern slice_pattern "
    "tuple_struct_pattern formal_parameters inferred_parameters parameters".split()
)
# Inside a pattern: the one field that is a name, or all of it.
_SHORTHAND = frozenset({"shorthand_property_identifier_pattern", "identifier", "name"})


def bound_names(node: Node, language: Language) -> Iterator[Bound]:
    """The names that a node binds in the scope it stands in."""
    if node.type == "export_statement":
        yield from _exported(node, language)
        return
    fields = language.bindings.get(node.type)
    if fields is None or imported_names(node, language):
        return
    named, valued, typed = fields
    names = _children(node, named)
    if language.name == "python" and node.type == "typed_parameter":
        names = node.named_children[:1]
    values = _values(node, valued, names, language)
    kind = node.child_by_field_name(typed) if typed else None
    of_type = type_chain(text_of(kind)) if kind is not None else None
    if language.name == "c" and kind is not None and kind.child_by_field_name("name"):
        of_type = type_chain(text_of(kind.child_by_field_name("name") or kind))
    for number, target in enumerate(_flat(names, len(values))):
        value = values[number] if number < len(values) else None
        if value is _FUNCTION:
            continue
        known = (*of_type, CALL) if of_type else _chain(value, language)
        yield from _targets(target, known, node, language)


_FUNCTION = object()


def _exported(node: Node, language: Language) -> Iterator[Bound]:
    """``export default x`` and ``export { x as y }``, as names of the module."""
    if node.child_by_field_name("source") is not None:
        return
    made = node.child_by_field_name("declaration") or node.child_by_field_name("value")
    if any(child.type == "default" for child in node.children) and made is not None:
        name = made.child_by_field_name("name")
        yield DEFAULT, chain_of(name if name is not None else made, language), False
    for clause in node.named_children:
        for part in clause.named_children if clause.type == "export_clause" else ():
            alias, name = part.child_by_field_name("alias"), part.child_by_field_name("name")
            if alias is not None and name is not None:
                yield text_of(alias), chain_of(name, language), False


def _children(node: Node, field: str) -> list[Node]:
    if field == "*":
        return [child for child in node.named_children if child.type != "comment"]
    if field in ("variable_declarator", "property_element"):  # types of children, no fields
        return [child for child in node.named_children if child.type == field]
    return node.children_by_field_name(field)


def _flat(names: list[Node], n_values: int) -> list[Node]:
    """Each name on its own: of ``a, b := f()`` in Go, of ``a, b = c, d`` in Python."""
    if len(names) == 1 and names[0].named_children:
        several = names[0].type == "pattern_list" and names[0].named_child_count == n_values
        if several or names[0].type == "expression_list":
            return list(names[0].named_children)
    return names


def _values(node: Node, field: str, names: list[Node], language: Language) -> list[object]:
    """The value of each name: a node, None, or that it is a function, which is a definition."""
    if not field:
        return []
    if field == "*":
        rest = [c for c in node.named_children if c not in names]
        found = rest[:1]
    else:
        found = node.children_by_field_name(field)
    if len(found) == 1 and found[0].type == "expression_list":
        found = list(found[0].named_children)
    return [_FUNCTION if value.type in language.functions else value for value in found]


def _chain(value: object, language: Language) -> Chain | None:
    return None if value is None else chain_of(value, language)  # type: ignore[arg-type]


def _targets(target: Node, value: Chain | None, node: Node, language: Language) -> Iterator[Bound]:
    """The names of one target: a plain name, an attribute of self, or those of a pattern."""
    depth = 0
    while target.type in _DECLARATORS and depth < 10:
        inner = target.child_by_field_name("declarator") or target.child_by_field_name("name")
        inner = inner or target.child_by_field_name("left")
        if inner is None and target.named_children:
            inner = target.named_children[0]
        if inner is None:
            return
        target, depth = inner, depth + 1
    if target.type in _PATTERNS:
        for part in _names_within(target, language):
            yield part, None, False
        return
    if target.type == "function_declarator":  # a prototype
        return
    chain = chain_of(target, language)
    if chain is None:
        return
    if len(chain) == 1:
        yield chain[0], value, False
        if _is_promoted(node):
            yield chain[0], value, True
    elif chain == ("module", "exports"):
        yield DEFAULT, value, False
    elif len(chain) == 2 and chain[0] in language.this:
        yield chain[1], value, True


def _is_promoted(node: Node) -> bool:
    """A parameter of a constructor that is an attribute too, in TypeScript and PHP."""
    if node.type == "property_promotion_parameter":
        return True
    return node.type in ("required_parameter", "optional_parameter") and any(
        child.type == "accessibility_modifier" for child in node.named_children
    )


def _names_within(pattern: Node, language: Language) -> Iterator[str]:
    stack = [pattern]
    while stack:
        node = stack.pop()
        if node.type in _SHORTHAND or (not node.named_children and node.type in language.names):
            yield text_of(node).lstrip("$")
        elif node.type not in language.functions and node.type not in language.members:
            stack += node.named_children
