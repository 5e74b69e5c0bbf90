"""A node that defines something as a :class:`~graphkb.code.symbols.Definition`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphkb.code.chains import CALL, chain_of, text_of, type_chain
from graphkb.code.languages import Language
from graphkb.code.places import Places
from graphkb.code.symbols import Chain, Definition

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 240
_COMMENTS = frozenset({"comment", "line_comment", "block_comment", "attribute_item"})
_WRAPPERS = frozenset({"export_statement", "decorated_definition", "template_declaration",
                       "internal_module", "expression_statement"})  # fmt: skip
_LISTS = frozenset({"type_declaration", "lexical_declaration", "variable_declaration",
                    "variable_declarator", "type_definition"})  # fmt: skip
_MARKS = re.compile(r"\A\s*(?:/\*+|\*+/?|//[/!]*|#+!?|--)\s?|\s*\*/\s*\Z")
_TAG = re.compile(r"</?\w+>")
_GETTERS = frozenset({"property", "cached_property", "functools.cached_property"})


def declared(
    node: Node, language: Language, parent: int, owner: str, places: Places
) -> Definition | None:
    """The definition that a node makes; None for what has no name or no body of its own."""
    kind = "function"
    if node.type in language.classes:
        kind = "class"
    elif node.type in language.spaces:
        kind = "space"
    name, owner = _name(node, language, owner)
    if name is None:
        return None
    may_be_use = language.name in ("c", "cpp", "rust") and kind != "function"
    if may_be_use and node.type != "struct_item" and node.child_by_field_name("body") is None:
        return None
    outer = _outermost(node)
    above = _first_comment(outer)
    name_start, name_end = places.of(name)
    plain = text_of(name).strip()
    if not plain or "\n" in plain:
        return None
    return Definition(
        name=plain, kind=kind, parent=parent,
        start=places.at(above.start_byte), end=places.at(outer.end_byte),
        name_start=name_start, name_end=name_end,
        signature=_signature(node, places), doc=_doc(node, outer, language), owner=owner,
        bases=_bases(node, language) if kind == "class" else (),
        returns=_returns(node, language) if kind == "function" else None,
        getter=_is_getter(node),
    )  # fmt: skip


def _name(node: Node, language: Language, owner: str) -> tuple[Node | None, str]:
    """The node of the name, and the class that a method written outside of it belongs to."""
    if node.type in ("arrow_function", "function_expression"):
        around = node.parent
        if around is None or around.type not in (
            "variable_declarator", "field_definition", "public_field_definition", "pair",
        ):  # fmt: skip
            return None, owner
        named = around.child_by_field_name("name") or around.child_by_field_name("property")
        plain = named is not None and named.type in language.names
        return (named if plain else None), owner
    if language.name == "go" and node.type == "method_declaration":
        receiver = node.child_by_field_name("receiver")
        of_type = receiver.named_children[0].child_by_field_name("type") if receiver else None
        of_class = type_chain(text_of(of_type)) if of_type else None
        return node.child_by_field_name("name"), of_class[-1] if of_class else ""
    if language.name in ("c", "cpp") and node.type == "function_definition":
        return _declarator(node)
    return node.child_by_field_name("name"), owner


def _declarator(node: Node) -> tuple[Node | None, str]:
    """Name and owner of a C or C++ function: ``int *Foo::bar(int)``."""
    found: Node | None = node
    while found is not None and found.type != "function_declarator":
        found = found.child_by_field_name("declarator") or (
            found.named_children[-1] if found.type == "reference_declarator" else None
        )
    name = found.child_by_field_name("declarator") if found is not None else None
    owner = ""
    while name is not None and name.type == "qualified_identifier":
        scope = name.child_by_field_name("scope")
        owner = text_of(scope).split("<")[0] if scope is not None else ""
        name = name.child_by_field_name("name")
    return name, owner


def _outermost(node: Node) -> Node:
    """The statement that is nothing but this definition: ``export``, decorators, ``const``."""
    while (around := node.parent) is not None:
        alone = around.type in _LISTS and (
            around.type == "variable_declarator" or around.named_child_count == 1
        )
        if not (alone or around.type in _WRAPPERS):
            break
        node = around
    return node


def _first_comment(node: Node) -> Node:
    """The first of the comments and attributes that stand right above a node, or the node."""
    first = node
    above = _above(node)
    while (
        above is not None
        and above.type in _COMMENTS
        and first.start_point.row - above.end_point.row <= 1
        and not _ends_a_line_of_code(above)
    ):
        first, above = above, above.prev_named_sibling
    return first


def _above(node: Node) -> Node | None:
    """What stands before a node; before the first of a Python block, what is above the block."""
    if node.prev_named_sibling is None and node.parent is not None and node.parent.type == "block":
        return node.parent.prev_named_sibling
    return node.prev_named_sibling


def _ends_a_line_of_code(comment: Node) -> bool:
    before = comment.prev_sibling
    return before is not None and before.end_point.row == comment.start_point.row


def _signature(node: Node, places: Places) -> str:
    """The definition without its body, on one line."""
    body = node.child_by_field_name("body")
    start = node
    if node.type in ("arrow_function", "function_expression") and node.parent is not None:
        start = node.parent
    end = body.start_byte if body is not None else node.end_byte
    text = places.text(start.start_byte, end)
    if body is None:
        text = text.strip().split("\n")[0]
    return " ".join(text.split()).rstrip("{: ").removesuffix("=>").strip()[:_LONGEST]


def _doc(node: Node, outer: Node, language: Language) -> str:
    """The first line of what the code says of it: a docstring, or the comment above."""
    if language.name == "python":
        body = node.child_by_field_name("body")
        first = body.named_children[0] if body is not None and body.named_children else None
        if first is not None and first.type == "expression_statement" and first.named_children:
            first = first.named_children[0]
        if first is not None and first.type == "string":
            held = [child for child in first.named_children if child.type == "string_content"]
            return _first_line(text_of(held[0])) if held else ""
    above: Node | None = _first_comment(outer)
    lines: list[str] = []
    while above is not None and above != outer and above.type in _COMMENTS:
        if above.type != "attribute_item":
            lines += text_of(above).split("\n")
        above = above.next_named_sibling
    return _first_line("\n".join(lines))


def doc_of_file(root: Node) -> str:
    """The first line of a file's docstring, or of the comment that it begins with."""
    first = root.named_children[0] if root.named_children else None
    while first is not None and first.type in ("php_tag", "hash_bang_line"):
        first = first.next_named_sibling
    if first is None:
        return ""
    if first.type in _COMMENTS:
        lines = []
        while first is not None and first.type in _COMMENTS:
            if not text_of(first).startswith("#!"):
                lines.append(text_of(first))
            first = first.next_named_sibling
        return _first_line("\n".join(lines))
    held = first.named_children[0] if first.named_children else first
    inside = held.named_children if held.type == "string" else []
    return next((_first_line(text_of(n)) for n in inside if n.type == "string_content"), "")


def _first_line(text: str) -> str:
    """The first line that says something, without the signs of a comment."""
    for line in text.split("\n"):
        plain = " ".join(_TAG.sub("", _MARKS.sub("", _MARKS.sub("", line))).split())
        if any(map(str.isalnum, plain)):
            return plain[:_LONGEST]
    return ""


def _bases(node: Node, language: Language) -> tuple[Chain, ...]:
    found: list[Chain] = []
    holders = [node.child_by_field_name(name) for name in language.bases]
    holders += [child for child in node.named_children if child.type in language.bases]
    seen: set[int] = set()
    for holder in holders:
        if holder is None or holder.id in seen:
            continue
        seen.add(holder.id)
        found += _within(holder, language)
    return tuple(dict.fromkeys(found))


def _within(holder: Node, language: Language) -> list[Chain]:
    """The classes that a list of bases names."""
    chains: list[Chain] = []
    for child in holder.named_children:
        if child.type in ("type_arguments", "keyword_argument", "access_specifier", "comment"):
            continue
        if child.type in ("extends_clause", "implements_clause", "type_list"):
            chains += _within(child, language)
            continue
        if child.type == "primary_constructor_base_type" and child.named_children:
            child = child.named_children[0]
        chain = type_chain(text_of(child)) or chain_of(child, language)
        if chain is not None and CALL not in chain:
            chains.append(chain)
    return chains


def _returns(node: Node, language: Language) -> Chain | None:
    for field in ("return_type", "result", "returns", "type"):
        found = node.child_by_field_name(field)
        if found is None:
            continue
        if found.type == "parameter_list":  # of Go: the first of several
            first = found.named_children[0] if found.named_children else None
            found = first.child_by_field_name("type") if first is not None else None
        return type_chain(text_of(found)) if found is not None else None
    return None


def _is_getter(node: Node) -> bool:
    """A property of Python, a getter of JavaScript: read without a call."""
    if node.type == "method_definition":
        return any(child.type == "get" for child in node.children)
    around = node.parent
    if around is None or around.type != "decorated_definition":
        return False
    return any(
        text_of(child).lstrip("@").strip() in _GETTERS
        for child in around.named_children
        if child.type == "decorator"
    )
