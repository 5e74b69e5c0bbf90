"""A parsed HTML page as Markdown: headings, lists, tables and code keep their form."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphkb.ingest.readers.html_content import Content
from graphkb.ingest.readers.html_table import (
    alternative_text,
    children,
    is_data_table,
    superscript,
    table_lines,
)
from graphkb.ingest.readers.markdown import fenced
from graphkb.ingest.records import is_blank
from graphkb.text.language import HAN

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BLOCKS = frozenset(
    """address article aside blockquote body caption center dd details dialog div dl dt fieldset
    figcaption figure footer form h1 h2 h3 h4 h5 h6 header hr html legend li main menu nav ol p
    pre section summary table tbody td tfoot th thead tr ul""".split()
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_LANGUAGE = re.compile(r"(?:^|\s)(?:language|lang|brush:?)-?\s*([A-Za-z][\w+#]{0,20})(?=[\s;]|$)")
# Chinese is written without spaces: a line end of the source is none.
_HAN_BREAK = re.compile(rf"(?<=[{HAN}，。、；：！？）》”])[^\S\n]*\n\s*(?=[{HAN}（《“])")


def page_markdown(tree: LexborHTMLParser, *, whole: bool = False) -> str:
    """The page's content, without the furniture that :class:`Content` finds unless ``whole``.

    A page that has text nowhere else keeps its furniture.
    """
    root = tree.root
    if root is None:
        return ""
    text = "" if whole else _markdown(root, Content(root, whole=False))
    return _markdown(root, Content(root, whole=True)) if is_blank(text) else text


def _markdown(root: LexborNode, content: Content) -> str:
    page = _Page()
    # Depth first with a stack of one's own: pages nest thousands of levels deep.
    stack: list[tuple[LexborNode, bool]] = [(content.main or root, False)]
    while stack:
        node, leaving = stack.pop()
        tag = node.tag or ""
        if leaving:
            page.leave(tag)
            continue
        if node.is_text_node:
            page.add(node.text_content or "")
            continue
        if content.is_left_out(node):
            continue
        if tag == "table" and is_data_table(node):
            page.add_block("\n".join(table_lines(node)))
            continue
        if tag == "pre":
            code = node.text_lexbor()
            page.add_block(fenced(code, _language(node)) if code.strip() else "")
            continue
        raised = superscript(node) if tag == "sup" else None
        if raised is not None:
            page.add(raised)
            continue
        if tag == "img":
            page.add(alternative_text(node))
            continue
        page.enter(tag)
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(children(node)))
    return page.text()


def _language(pre: LexborNode) -> str:
    """The programming language that the class of a block of code names; empty for none."""
    code = pre.css_first("code")
    for node in (pre, code):
        match = _LANGUAGE.search(node.attributes.get("class") or "") if node is not None else None
        if match is not None:
            return match[1].lower()
    return ""


class _Page:
    """Markdown under construction: finished blocks, the open line, the open lists."""

    def __init__(self) -> None:
        self._blocks: list[tuple[str, bool]] = []
        self._inline: list[str] = []
        self._prefix = ""
        self._lists: list[int] = []

    def add(self, text: str) -> None:
        self._inline.append(re.sub(r"\s+", " ", _HAN_BREAK.sub("", text)))

    def add_block(self, text: str) -> None:
        self._flush()
        if text:
            self._blocks.append((text, False))

    def enter(self, tag: str) -> None:
        if tag == "br":
            self._inline.append("\n")
        if tag not in _BLOCKS:
            return
        self._flush()
        if tag in _HEADINGS:
            self._prefix = _HEADINGS[tag]
        elif tag in {"ul", "ol", "menu"}:
            # An ordered list counts from 1; an unordered one stays at -1.
            self._lists.append(0 if tag == "ol" else -1)
        elif tag == "li":
            indent = "  " * max(0, min(len(self._lists), 8) - 1)
            if self._lists and self._lists[-1] >= 0:
                self._lists[-1] += 1
                self._prefix = f"{indent}{self._lists[-1]}. "
            else:
                self._prefix = f"{indent}- "

    def leave(self, tag: str) -> None:
        if tag in {"td", "th"}:
            self._inline.append(" ")
        if tag not in _BLOCKS:
            return
        self._flush()
        self._prefix = ""
        if tag in {"ul", "ol", "menu"} and self._lists:
            self._lists.pop()

    def _flush(self) -> None:
        text = re.sub(r" *\n *", "\n", re.sub(r" {2,}", " ", "".join(self._inline))).strip()
        self._inline.clear()
        if not text:
            return
        prefix, self._prefix = self._prefix, ""
        if prefix.startswith("#"):
            text = text.replace("\n", " ")
        self._blocks.append((prefix + text, bool(prefix) and not prefix.startswith("#")))

    def text(self) -> str:
        self._flush()
        parts: list[str] = []
        in_list = False
        for text, is_item in self._blocks:
            if parts:
                parts.append("\n" if in_list and is_item else "\n\n")
            parts.append(text)
            in_list = is_item
        return "".join(parts)
