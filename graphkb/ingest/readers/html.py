"""HTML pages as Markdown documents."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from graphkb.ingest.blocks import first_title
from graphkb.ingest.decode import clean_text, decode_bytes
from graphkb.ingest.readers.doctype import with_own_entities
from graphkb.ingest.readers.html_table import is_data_table, table_lines
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date
from graphkb.settings_input import Input

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_CHARSET = re.compile(rb"(?:charset|encoding)\s*=\s*[\"']?\s*([A-Za-z0-9_:.\-]+)", re.IGNORECASE)
_REFERENCE = re.compile(r"&#(?:[xX]([0-9a-fA-F]{1,8})|([0-9]{1,10}));?")
_META_KEYS = {
    "description": "description", "og:description": "description", "author": "author",
    "article:author": "author", "keywords": "keywords", "og:site_name": "site", "og:url": "url",
    "article:published_time": "date", "article:modified_time": "updated_at", "date": "date",
    "pubdate": "date", "publishdate": "date", "dc.date": "date", "last-modified": "updated_at",
}  # fmt: skip


@dataclass(frozen=True)
class Page:
    """A page's Markdown, its title (empty where it states none), metadata, and what to log."""

    text: str
    title: str
    metadata: dict[str, Any] = field(default_factory=dict)
    note: str | None = None

    def notes(self, path: str) -> tuple[str, ...]:
        """What to log, after the file's path."""
        return (f"{path}: {self.note}",) if self.note else ()


def read_html(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The page as one document in Markdown; title from <title>, else og:title, <h1>, file name.

    What is left out says :func:`graphkb.ingest.readers.html_page.page_markdown`.
    """
    page = parse_page(data, options.encoding)
    return FileReading((page_record(page, source),), (), page.notes(source.path))


def parse_page(
    data: bytes, encoding: str = "auto", charset: str | None = None, *, whole: bool = False
) -> Page:
    """The page in the bytes, by ``charset`` where the page came with one, else as it says itself.

    With ``whole`` navigation and footers are content too, as in chapters and letters.
    Raises InputError where no encoding fits.
    """
    stated = _CHARSET.search(data[:4096])
    hint = charset or (stated.group(1).decode() if stated else None)
    decoded = decode_bytes(data, encoding, hint)
    from graphkb.ingest.readers.html_page import page_markdown

    tree = _tree(with_own_entities(decoded.text))
    text = page_markdown(tree, whole=whole)
    metadata = _metadata(tree)
    title = _title(tree) or metadata.pop("title", "")
    metadata.pop("title", None)
    return Page(clean_text(text)[0], title, metadata, decoded.note)


def page_record(page: Page, source: SourceFile) -> Record:
    """The document of a page."""
    return Record(
        own_id=None,
        title=page.title or first_title(page.text) or source.stem,
        text=page.text,
        media_type="text/html",
        metadata=page.metadata,
        creation_date=creation_date(page.metadata),
    )


def page_tables(html: str) -> str:
    """The data tables of a piece of HTML as Markdown; empty where it has none."""
    tables = [table for table in _tree(html).css("table") if is_data_table(table)]
    return "\n\n".join("\n".join(table_lines(table)) for table in tables)


def _tree(html: str) -> LexborHTMLParser:
    from selectolax.lexbor import LexborHTMLParser

    return LexborHTMLParser(_REFERENCE.sub(_valid_reference, html))


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
        content = clean_text((attributes.get("content") or "").strip())[0]
        if content and name == "og:title":
            found.setdefault("title", content)
        elif content and name in _META_KEYS:
            found.setdefault(_META_KEYS[name], content)
    canonical = tree.css_first('link[rel="canonical"]')
    if canonical is not None and canonical.attributes.get("href"):
        found["url"] = clean_text(canonical.attributes["href"] or "")[0]
    heading = tree.css_first("h1")
    if heading is not None:
        found.setdefault("title", clean_text(" ".join(heading.text_lexbor().split()))[0])
    return found
