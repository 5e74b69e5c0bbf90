"""HTML as Markdown: headings, lists, tables and code keep their form, page furniture goes."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import clean_text, decode_bytes
from graphkb.ingest.readers.html_table import children, is_data_table, table_lines
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date, is_blank
from graphkb.settings import Input

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_NEVER = frozenset(
    [
        "script",
        "style",
        "noscript",
        "template",
        "svg",
        "iframe",
        "object",
        "embed",
        "canvas",
        "audio",
        "video",
        "head",
        "select",
        "button",
        "input",
        "textarea",
        "datalist",
    ]
)
_FURNITURE = frozenset({"nav", "footer"})
_FURNITURE_ROLES = frozenset({"navigation", "contentinfo"})
_CONTENT = frozenset({"article", "main", "section"})
_BLOCKS = frozenset(
    [
        "address",
        "article",
        "aside",
        "blockquote",
        "body",
        "caption",
        "center",
        "dd",
        "details",
        "dialog",
        "div",
        "dl",
        "dt",
        "fieldset",
        "figcaption",
        "figure",
        "footer",
        "form",
        "h1",
        "h2",
        "h3",
        "h4",
        "h5",
        "h6",
        "header",
        "hr",
        "html",
        "legend",
        "li",
        "main",
        "menu",
        "nav",
        "ol",
        "p",
        "pre",
        "section",
        "summary",
        "table",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "ul",
    ]
)
_HEADINGS = {f"h{level}": "#" * level + " " for level in range(1, 7)}
_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));?")
_META_KEYS = {
    "description": "description", "author": "author", "keywords": "keywords",
    "og:url": "url", "article:published_time": "date", "article:modified_time": "updated_at",
    "date": "date", "dc.date": "date", "last-modified": "updated_at",
}  # fmt: skip


def read_html(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The page as one document in Markdown; title from <title>, else <h1>, else the file name.

    Left out: scripts, styles, forms' controls, what is marked ``hidden``, every <nav> and
    <footer> (also by role), and a <header> that stands outside <article>, <main> and <section>
    and holds no <h1>. A page that has text nowhere else keeps its furniture.
    """
    hint = _CHARSET.search(data[:4096])
    decoded = decode_bytes(data, options.encoding, hint.group(1).decode() if hint else None)
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(_REFERENCE.sub(_valid_reference, decoded.text))
    text = _markdown(tree, furniture=False)
    if is_blank(text):
        text = _markdown(tree, furniture=True)
    metadata = _metadata(tree)
    record = Record(
        own_id=None,
        title=_title(tree) or first_title(text) or source.stem,
        text=clean_text(text)[0],
        media_type="text/html",
        metadata=metadata,
        creation_date=creation_date(metadata),
    )
    notes = (f"{source.path}: {decoded.note}",) if decoded.note else ()
    return FileReading((record,), (), notes)


def _valid_reference(match: re.Match[str]) -> str:
    """The character reference, or a space where no character has that number."""
    code = int(match.group(1), 16) if match.group(1) else int(match.group(2))
    valid = 0 < code < 0xD800 or 0xDFFF < code <= 0x10FFFF
    return match.group() if valid else " "


def _title(tree: LexborHTMLParser) -> str:
    node = tree.css_first("title")
    return clean_text(" ".join(node.text_lexbor().split()))[0] if node else ""


def _metadata(tree: LexborHTMLParser) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for node in tree.css("meta"):
        attributes = node.attributes
        name = (attributes.get("name") or attributes.get("property") or "").casefold()
        content = (attributes.get("content") or "").strip()
        if name in _META_KEYS and content:
            found.setdefault(_META_KEYS[name], clean_text(content)[0])
    canonical = tree.css_first('link[rel="canonical"]')
    if canonical is not None and canonical.attributes.get("href"):
        found["url"] = clean_text(canonical.attributes["href"] or "")[0]
    return found


def _markdown(tree: LexborHTMLParser, *, furniture: bool) -> str:
    root = tree.root
    if root is None:
        return ""
    page = _Page()
    # Depth first with a stack of one's own: pages nest thousands of levels deep.
    stack: list[tuple[LexborNode, bool]] = [(root, False)]
    content_depth = 0
    while stack:
        node, leaving = stack.pop()
        tag = node.tag or ""
        if leaving:
            content_depth -= tag in _CONTENT
            page.leave(tag)
            continue
        if node.is_text_node:
            page.add(node.text_content or "")
            continue
        if tag in _NEVER or "hidden" in node.attributes:
            continue
        if not furniture and _is_furniture(node, tag, content_depth):
            continue
        if tag == "table" and is_data_table(node):
            page.add_block("\n".join(table_lines(node)))
            continue
        if tag == "pre":
            page.add_code(node.text_lexbor())
            continue
        content_depth += tag in _CONTENT
        page.enter(tag)
        stack.append((node, True))
        stack.extend((child, False) for child in reversed(children(node)))
    return page.text()


def _is_furniture(node: LexborNode, tag: str, content_depth: int) -> bool:
    if tag in _FURNITURE or node.attributes.get("role") in _FURNITURE_ROLES:
        return True
    return tag == "header" and content_depth == 0 and node.css_first("h1") is None


class _Page:
    """Markdown under construction: finished blocks, the open line, the open lists."""

    def __init__(self) -> None:
        self._blocks: list[tuple[str, bool]] = []
        self._inline: list[str] = []
        self._prefix = ""
        self._lists: list[int] = []

    def add(self, text: str) -> None:
        self._inline.append(re.sub(r"\s+", " ", text))

    def add_block(self, text: str) -> None:
        self._flush()
        if text:
            self._blocks.append((text, False))

    def add_code(self, text: str) -> None:
        longest = max((len(run) for run in re.findall(r"`+", text)), default=0)
        fence = "`" * max(3, longest + 1)
        code = text.strip("\n")
        self.add_block(f"{fence}\n{code}\n{fence}" if code.strip() else "")

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
