"""Expressions and types of a syntax tree as chains of names."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphkb.code.languages import Language
from graphkb.code.symbols import Chain

if TYPE_CHECKING:
    from tree_sitter import Node

CALL = "()"
_DEEPEST = 40
_DOTS = re.compile(r"\.|::|\\|->")
_PLAIN = re.compile(r"[^\W\d]\w*(?:(?:\.|::|\\)[^\W\d]\w*)*\Z")
# What is seen through: the type is that of what they hold.
_HOLDER = re.compile(
    r"(?:typing\.|t\.|std::)?(?:Optional|Awaitable|Coroutine|Promise|Box|Rc|Arc|Option|Annotated|"
    r"unique_ptr|shared_ptr|Task|ClassVar|Final)\s*[\[<](.*)[\]>]\Z",
    re.DOTALL,
)
_QUALIFIER = re.compile(r"\A(?:const|mut|struct|class|enum|dyn|impl|readonly|ref|out)\s+")
_NOTHING = frozenset({"None", "null", "undefined", "nil", "void"})


def text_of(node: Node) -> str:
    """The source text of a node."""
    return (node.text or b"").decode("utf-8", "replace")


def chain_of(node: Node | None, language: Language, depth: int = 0) -> Chain | None:
    """The names that lead to the value of an expression; None where there are none."""
    if node is None or depth > _DEEPEST:
        return None
    kind = node.type
    if kind in language.names:
        return _name(text_of(node))
    if kind in language.wrappers:
        return chain_of(_inside(node), language, depth + 1)
    if kind in language.members:
        return _joined(node, *language.members[kind], language, depth)
    if kind in language.method_calls:
        called = _joined(node, *language.method_calls[kind], language, depth)
        return None if called is None else _made(called, language)
    if kind in language.calls:
        called = chain_of(node.child_by_field_name(language.calls[kind]), language, depth + 1)
        return None if called is None else (*called, CALL)
    if kind in language.news:
        field = language.news[kind]
        of_class = node.child_by_field_name(field) if field else _inside(node)
        named = type_chain(text_of(of_class)) if of_class else None
        return None if named is None else (*named, CALL)
    if kind in ("generic_type", "template_type", "generic_name"):
        return type_chain(text_of(node))
    return None


def _made(called: Chain, language: Language) -> Chain:
    """``A.new`` of Ruby makes an A."""
    if language.name == "ruby" and called[-1] == "new" and len(called) > 1:
        return (*called[:-1], CALL)
    return (*called, CALL)


def _joined(node: Node, left: str, right: str, language: Language, depth: int) -> Chain | None:
    last = node.child_by_field_name(right)
    if last is None:
        return None
    name = _name(text_of(last).split("<")[0])
    first = node.child_by_field_name(left)
    if first is None:
        return name
    before = chain_of(first, language, depth + 1)
    return None if before is None or name is None else before + name


def _name(text: str) -> Chain | None:
    if text.startswith("@"):  # an instance variable of Ruby
        return ("self", text.lstrip("@"))
    text = text.lstrip("$#")
    if not text or "\n" in text:
        return None
    names = tuple(_DOTS.split(text))
    return names if all(names) else None


def _inside(node: Node) -> Node | None:
    """The expression in brackets, after ``await`` or ``&``, or before ``!`` and ``as``."""
    for child in node.named_children:
        if child.type not in ("comment", "mutable_specifier"):
            return child
    return None


def type_chain(text: str) -> Chain | None:
    """The class that a written type names, seen through pointers, optional and generic ones.

    >>> type_chain("Client | None"), type_chain("*pkg.Client"), type_chain("List<Client>")
    (('Client',), ('pkg', 'Client'), ('List',))
    >>> type_chain("Promise<Client>"), type_chain("'Client'"), type_chain("(a: int) => void")
    (('Client',), ('Client',), None)
    """
    text = text.strip().lstrip(":").strip().strip("'\"").strip()
    text = text.removeprefix("->").strip()
    for _ in range(4):
        text = re.sub(r"\A(?:[*&?\s]|'\w+\s)+|[*&?\s]+\Z", "", text)
        text = _QUALIFIER.sub("", text)
        held = _HOLDER.match(text)
        if held is None:
            break
        text = held.group(1).split(",")[0] if "Coroutine" not in text else held.group(1)
        text = text.split(",")[-1].strip()
    if "|" in text:
        parts = [part.strip() for part in text.split("|")]
        named = [part for part in parts if part not in _NOTHING]
        if len(named) != 1:
            return None
        text = named[0]
    text = re.split(r"[\[<]", text, maxsplit=1)[0].strip()
    return tuple(_DOTS.split(text)) if _PLAIN.match(text) else None
