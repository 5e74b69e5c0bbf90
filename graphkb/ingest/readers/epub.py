"""EPUB books: chapters in reading order as one Markdown document (EPUB 3.3; OPF 2.0, NCX)."""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from graphkb.errors import InputError
from graphkb.ingest.blocks import markdown_blocks
from graphkb.ingest.containers import open_zip, read_member
from graphkb.ingest.decode import clean_text
from graphkb.ingest.readers.doctype import with_own_entities
from graphkb.ingest.readers.html import parse_page
from graphkb.ingest.records import FileReading, Record, SourceFile, creation_date, is_blank
from graphkb.settings_input import Input

Element = ElementTree.Element

MEDIA_TYPE = "application/epub+zip"
_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
# Scrambled fonts are no copy protection.
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_TEXTS = frozenset({"application/xhtml+xml", "text/html", "application/x-dtbook+xml"})
_DETAILS = {
    "creator": "author", "date": "date", "language": "language", "publisher": "publisher",
    "identifier": "identifier", "subject": "subject", "description": "description",
}  # fmt: skip
_DOCTYPE = re.compile(rb"<!DOCTYPE[^>\[]*>", re.IGNORECASE)
_DEEPEST = 6


def is_epub(data: bytes) -> bool:
    """True for a zip container that is a book."""
    if data[30:58] == b"mimetype" + MEDIA_TYPE.encode():
        return True
    try:
        return _CONTAINER in open_zip(data).namelist()
    except InputError:
        return False


def read_epub(source: SourceFile, data: bytes, options: Input) -> FileReading:
    """The book as one document, chapters in the order of its spine.

    A chapter without a heading of its own gets its title in the table of contents; headings are
    shifted so that a chapter's first level is its depth there (part › chapter). The table of
    contents itself is left out. Title, author and date are the package's.

    Raises InputError for books with copy protection and for damaged ones.
    """
    book = _Book(data)
    notes = [f"{source.path}: {note}" for note in book.notes]
    chapters: list[str] = []
    for path in book.spine():
        try:
            page = parse_page(book.read(path), options.encoding, whole=True)
        except InputError as error:
            notes.append(f"{source.path}: a chapter is left out: {error}")
            continue
        chapters.append(_chapter(page.text, book.titles.get(path)))
    metadata = book.metadata()
    title = str(metadata.pop("title", "")) or source.stem
    record = Record(
        own_id=None,
        title=title,
        text="\n\n".join(chapter for chapter in chapters if not is_blank(chapter)),
        media_type=MEDIA_TYPE,
        metadata=metadata,
        creation_date=creation_date(metadata),
    )
    return FileReading((record,), (), tuple(notes))


def _chapter(text: str, entry: tuple[str, int] | None) -> str:
    """The chapter with its title as heading, at its depth in the table of contents."""
    if is_blank(text):
        return f"{'#' * entry[1]} {entry[0]}" if entry is not None else ""
    if entry is None:
        return text
    title, depth = entry
    headings = [block for block in markdown_blocks(text) if block.kind == "heading"]
    if not headings or headings[0].start > 0:
        shift = max(0, depth + 1 - min((block.level for block in headings), default=_DEEPEST))
        return f"{'#' * depth} {title}\n\n{_shifted(text, shift)}"
    return _shifted(text, depth - headings[0].level)


def _shifted(text: str, by: int) -> str:
    """The text with every heading that many levels deeper, between 1 and 6."""
    parts: list[str] = []
    for block in markdown_blocks(text):
        part = text[block.start : block.end]
        if block.kind == "heading" and by:
            level = min(max(block.level + by, 1), _DEEPEST)
            part = "#" * level + part.lstrip().lstrip("#")
        parts.append(part)
    return "".join(parts)


class _Book:
    """The package: its parts by path, what is in it in which order, and the chapters' titles.

    ``titles``: the title and depth (from 1) of a part in the table of contents; ``notes``: why
    there are none where that cannot be read.
    """

    def __init__(self, data: bytes) -> None:
        self.notes: list[str] = []
        self._archive = open_zip(data)
        self._infos = {info.filename: info for info in self._archive.infolist()}
        self._refuse_protected()
        root = self._xml(_CONTAINER)
        paths = [node.get("full-path", "") for node in _all(root, "rootfile")]
        self._package = next((path for path in paths if path in self._infos), "")
        if not self._package:
            raise InputError("damaged: its package document is missing; download it again")
        self._root = self._xml(self._package)
        self._items = {node.get("id", ""): node for node in _all(self._root, "item")}
        self.titles = dict(reversed(list(self._contents())))

    def read(self, path: str) -> bytes:
        """A part's bytes. Raises InputError where it is missing or damaged."""
        info = self._info(path)
        if info is None:
            raise InputError(f"{path} is missing in it")
        return read_member(self._archive, info)

    def spine(self) -> list[str]:
        """Paths of the texts in reading order, without the table of contents."""
        found: list[str] = []
        for node in _all(self._root, "itemref"):
            item = self._items.get(node.get("idref", ""))
            if item is None or item.get("media-type") not in _TEXTS:
                continue
            if "nav" not in (item.get("properties") or "").split():
                found.append(self._path(item.get("href", ""), self._package))
        return list(dict.fromkeys(found))

    def metadata(self) -> dict[str, Any]:
        """Title, author, date and the like; several authors or subjects in one line."""
        found: dict[str, Any] = {}
        for node in self._root.iter():
            name = _local(node)
            text = clean_text(" ".join("".join(node.itertext()).split()))[0]
            if not text or "purl.org/dc/elements" not in node.tag:
                continue
            if name == "title":
                found.setdefault("title", text)
            elif name in {"creator", "subject"}:
                known = found.get(_DETAILS[name])
                found[_DETAILS[name]] = f"{known}; {text}" if known else text
            elif name in _DETAILS:
                found.setdefault(_DETAILS[name], text)
        return found

    def _contents(self) -> Iterator[tuple[str, tuple[str, int]]]:
        """(path, (title, depth)) of every entry: of the NCX, else of the navigation document."""
        for item in self._items.values():
            if item.get("media-type") == "application/x-dtbncx+xml":
                path = self._path(item.get("href", ""), self._package)
                yield from self._entries(path, "navPoint", "content", "src")
        for item in self._items.values():
            if "nav" in (item.get("properties") or "").split():
                path = self._path(item.get("href", ""), self._package)
                yield from self._entries(path, "li", "a", "href")

    def _entries(
        self, path: str, entry: str, target: str, attribute: str
    ) -> Iterator[tuple[str, tuple[str, int]]]:
        try:
            root = self._xml(path)
        except InputError as error:
            self.notes.append(f"chapters have no titles of its table of contents: {error}")
            return
        if target == "a":
            root = next(_all(root, "nav"), root)
        stack = [(root, 0)]
        while stack:
            node, depth = stack.pop()
            depth += _local(node) == entry
            if _local(node) == entry:
                link = next(_all(node, target), None)
                title = next(_all(node, "text"), None) if target == "content" else link
                words = " ".join("".join(title.itertext()).split()) if title is not None else ""
                if link is not None and words:
                    place = self._path(link.get(attribute, ""), path)
                    yield place, (clean_text(words)[0], min(depth, _DEEPEST))
            stack.extend((child, depth) for child in reversed(node))

    def _refuse_protected(self) -> None:
        if _ENCRYPTION not in self._infos:
            return
        for node in _all(self._xml(_ENCRYPTION), "EncryptedData"):
            methods = [one.get("Algorithm", "") for one in _all(node, "EncryptionMethod")]
            if not methods or methods[0] not in _FONT_SCRAMBLING:
                raise InputError("encrypted (copy protection), skipped; use a copy without it")

    def _info(self, path: str) -> zipfile.ZipInfo | None:
        found = self._infos.get(path)
        if found is None:
            folded = path.casefold()
            found = next((i for n, i in self._infos.items() if n.casefold() == folded), None)
        return found

    def _path(self, link: str, base: str) -> str:
        """The path of a part that another one links to."""
        target = unquote(link.partition("#")[0])
        return posixpath.normpath(posixpath.join(posixpath.dirname(base), target)).lstrip("/")

    def _xml(self, path: str) -> Element:
        # Books name the public document types of NCX and XHTML; nothing is ever fetched.
        # Latin-1 gives every byte back, whatever the encoding that the part states.
        resolved = with_own_entities(self.read(path).decode("latin-1")).encode("latin-1")
        data = _DOCTYPE.sub(b"", resolved, count=1)
        if b"<!DOCTYPE" in data[:4096].upper():
            raise InputError(f"damaged: {path} in it declares entities; save it again")
        try:
            return ElementTree.fromstring(data)
        except (ElementTree.ParseError, ValueError, LookupError) as error:
            raise InputError(f"damaged: {path} in it is not well formed ({error})") from None


def _local(node: Element) -> str:
    """The tag's name without its namespace; empty for comments."""
    return node.tag.rpartition("}")[2] if isinstance(node.tag, str) else ""


def _all(root: Element, name: str) -> Iterator[Element]:
    """Every element of that local name, in order."""
    return (node for node in root.iter() if _local(node) == name)
