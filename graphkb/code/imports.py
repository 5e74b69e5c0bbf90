"""The import statements of each language as :class:`~graphkb.code.symbols.Import`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from graphkb.code.chains import text_of
from graphkb.code.languages import Language

if TYPE_CHECKING:
    from tree_sitter import Node

Named = tuple[str, str, str]
"""Local name, module, member of the module."""

ALL = "*"


def imported_names(node: Node, language: Language) -> list[Named]:
    """What a node of the syntax tree brings in; empty where it is no import."""
    name = language.name
    if name in ("ruby", "bash"):
        return list(_sourced(node, name))
    if name in ("javascript", "typescript", "tsx") and node.type == "variable_declarator":
        return list(_required(node))
    if name == "php" and node.type.startswith(("require", "include")):
        path = _string(node)
        return [(ALL, path, ALL)] if path else []
    if name == "rust" and node.type == "mod_item" and node.child_by_field_name("body") is None:
        declared = text_of(_field(node, "name"))
        return [(declared, "self", declared)]
    if node.type not in language.imports:
        return []
    reader = _READERS[name]
    return list(reader(node))


def _field(node: Node, name: str) -> Node:
    found = node.child_by_field_name(name)
    return node if found is None else found


def _string(node: Node) -> str:
    """The text of the first string below a node."""
    stack = [node]
    while stack:
        found = stack.pop()
        if found.type in (
            "string_content",
            "string_fragment",
            "interpreted_string_literal_content",
        ):
            return text_of(found)
        stack += reversed(found.named_children)
    return ""


def _python(node: Node) -> Iterator[Named]:
    source = node.child_by_field_name("module_name")
    module = "" if source is None else text_of(source).replace(" ", "")
    for child in node.children_by_field_name("name"):
        alias = child.child_by_field_name("alias")
        named = text_of(_field(child, "name") if alias else child)
        if module:
            yield (text_of(alias) if alias else named, module, named)
        elif alias:
            yield text_of(alias), named, ""
        else:
            yield named.split(".")[0], named.split(".")[0], ""
            if "." in named:
                yield "", named, ""
    if module and any(child.type == "wildcard_import" for child in node.named_children):
        yield ALL, module, ALL


def _javascript(node: Node) -> Iterator[Named]:
    source = node.child_by_field_name("source")
    if source is None:
        return
    module = _string(source)
    bound = False
    for child in node.named_children:
        if child.type == "import_clause":
            for part in child.named_children:
                bound = True
                if part.type == "identifier":
                    yield text_of(part), module, "default"
                elif part.type == "namespace_import":
                    yield text_of(part.named_children[-1]), module, ""
                else:
                    yield from _specifiers(part, module)
        elif child.type == "export_clause":
            bound = True
            yield from _specifiers(child, module)
        elif child.type == "namespace_export":
            bound = True
            yield text_of(child.named_children[-1]), module, ""
    if not bound:
        star = ALL if node.type == "export_statement" else ""
        yield star, module, star


def _specifiers(node: Node, module: str) -> Iterator[Named]:
    for part in node.named_children:
        if part.type in ("import_specifier", "export_specifier"):
            name, alias = _field(part, "name"), part.child_by_field_name("alias")
            yield text_of(alias if alias else name), module, text_of(name)


def _required(node: Node) -> Iterator[Named]:
    """``const x = require("./y")``, also taken apart."""
    value = node.child_by_field_name("value")
    if value is None or value.type != "call_expression":
        return
    if text_of(_field(value, "function")) != "require":
        return
    module, name = _string(value), _field(node, "name")
    if not module:
        return
    if name.type == "identifier":
        yield text_of(name), module, ""
    for part in name.named_children if name.type == "object_pattern" else ():
        if part.type == "pair_pattern":
            yield text_of(_field(part, "value")), module, text_of(_field(part, "key"))
        else:
            yield text_of(part), module, text_of(part)


def _java(node: Node) -> Iterator[Named]:
    path = next((text_of(n) for n in node.named_children if n.type == "scoped_identifier"), "")
    if any(child.type == "asterisk" for child in node.named_children):
        yield ALL, path, ALL
    elif any(child.type == "static" for child in node.children):
        owner, _, member = path.rpartition(".")
        yield member, owner, member
    elif path:
        yield path.rpartition(".")[2], path, ""


def _go(node: Node) -> Iterator[Named]:
    path = _string(node)
    alias = node.child_by_field_name("name")
    if path:
        yield text_of(alias) if alias else path.rsplit("/", 1)[-1], path, ""


def _rust(node: Node) -> Iterator[Named]:
    argument = node.child_by_field_name("argument")
    if argument is not None:
        yield from _use(argument, ())


def _use(node: Node, above: tuple[str, ...]) -> Iterator[Named]:
    if node.type == "scoped_use_list":
        path = node.child_by_field_name("path")
        inner = (*above, *(text_of(path).split("::") if path else ()))
        for child in _field(node, "list").named_children:
            yield from _use(child, inner)
    elif node.type == "use_list":
        for part in node.named_children:
            yield from _use(part, above)
    elif node.type == "use_wildcard":
        yield ALL, "::".join((*above, *text_of(node.named_children[0]).split("::"))), ALL
    else:
        alias = node.child_by_field_name("alias")
        named = node if alias is None else _field(node, "path")
        parts = (*above, *text_of(named).split("::"))
        if parts[-1] == "self":
            parts = parts[:-1]
        if parts:
            yield text_of(alias) if alias else parts[-1], "::".join(parts[:-1]), parts[-1]


def _include(node: Node) -> Iterator[Named]:
    path = text_of(_field(node, "path")).strip('"')
    yield ALL, path, ALL


def _using(node: Node) -> Iterator[Named]:
    alias = node.child_by_field_name("name")
    parts = [text_of(n) for n in node.named_children if n != alias]
    if parts and alias is not None:
        module, _, member = parts[-1].rpartition(".")
        yield text_of(alias), module, member
    elif parts:
        yield ALL, parts[-1], ALL


def _php(node: Node) -> Iterator[Named]:
    alias = node.child_by_field_name("alias")
    path = text_of(node.named_children[0]).strip("\\") if node.named_children else ""
    if path:
        yield text_of(alias) if alias else path.rsplit("\\", 1)[-1], path, ""


def _sourced(node: Node, language: str) -> Iterator[Named]:
    """``require_relative "a/b"`` of Ruby, ``source a.sh`` of the shell."""
    if language == "ruby" and node.type == "call" and node.child_by_field_name("receiver") is None:
        method = text_of(_field(node, "method"))
        if method in ("require", "require_relative", "load"):
            path = _string(node)
            if path:
                yield ALL, f"./{path}" if method == "require_relative" else path, ALL
    elif language == "bash" and node.type == "command":
        path = text_of(_field(node, "argument")).strip("\"'")
        if path and text_of(_field(node, "name")) in ("source", "."):
            yield ALL, path, ALL


_READERS = {
    "python": _python, "javascript": _javascript, "typescript": _javascript, "tsx": _javascript,
    "java": _java, "go": _go, "rust": _rust, "c": _include, "cpp": _include, "csharp": _using,
    "php": _php,
}  # fmt: skip
