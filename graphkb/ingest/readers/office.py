"""Office Open XML packages: their kind, parts, relationships and properties.

Parts are read straight from their XML (ECMA-376): what a library leaves out there (text boxes,
notes, comments, merged cells, number formats) is text that a reader of the document sees.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import unquote
from xml.etree import ElementTree

from graphkb.errors import InputError
from graphkb.ingest.containers import open_zip, read_member
from graphkb.ingest.decode import clean_text

Element = ElementTree.Element

_PREFIXES = {
    "w": "wordprocessingml/main", "a": "drawingml/main", "p": "presentationml/main",
    "s": "spreadsheetml/main", "r": "officeDocument/relationships", "m": "officeDocument/math",
    "c": "drawingml/chart", "dgm": "drawingml/diagram", "wp": "drawingml/wordprocessingDrawing",
    "xdr": "drawingml/spreadsheetDrawing", "mc": "markup-compatibility",
    "wps": "wordprocessingShape", "rel": "package/relationships",
}  # fmt: skip
_SHORT = {name: prefix for prefix, name in _PREFIXES.items()}
# Transitional and Strict documents name the same things with and without a year.
_NAMESPACE = re.compile(
    r"http://(?:schemas\.openxmlformats\.org|purl\.oclc\.org/ooxml)/(.+?)(?:/2006)?(/[a-zA-Z]+)?"
)
_WORD_SHAPE = "http://schemas.microsoft.com/office/word/2010/wordprocessingShape"
_MAIN = re.compile(
    rb"(wordprocessingml|ms-word|spreadsheetml|ms-excel|presentationml|ms-powerpoint)"
    rb"\.([\w.]*)main(?:\+xml)?[\"']"
)
_SUFFIXES = {
    b"wordprocessingml": ".docx", b"ms-word": ".docx", b"spreadsheetml": ".xlsx",
    b"ms-excel": ".xlsx", b"presentationml": ".pptx", b"ms-powerpoint": ".pptx",
}  # fmt: skip
_OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_OLE_KINDS = {
    "EncryptedPackage": "encrypted, skipped; remove the password (in Office: File > Info > "
    "Protect) and save it again",
    "WordDocument": "an old binary Word document; save it as .docx",
    "PowerPoint Document": "an old binary presentation; save it as .pptx",
    "Workbook": "an old binary Excel workbook; save it as .xlsx",
    "Book": "an old binary Excel workbook; save it as .xlsx",
    "__substg1.0_": "an Outlook message; save it as .eml",
}
# Where the main part stands in nearly all documents, for those whose links are damaged.
_USUAL_MAINS = ("word/document.xml", "ppt/presentation.xml", "xl/workbook.xml")
_PART_FOLDERS = ("_rels/", "docprops/", "word/", "ppt/", "xl/")
_LARGEST_PART = 150_000_000
_PROPERTIES = {
    "creator": "author", "lastModifiedBy": "last_modified_by", "created": "created",
    "modified": "modified", "subject": "subject", "keywords": "keywords", "category": "category",
    "description": "description", "title": "title",
}  # fmt: skip


def office_suffix(data: bytes, named: str) -> str | None:
    """``.docx``, ``.pptx`` or ``.xlsx`` by what the package says it is, else None.

    A zip container that does not say so is what its file's suffix ``named`` says, if that is one
    of the three and it holds parts of a document or cannot be opened, so that a damaged document
    is called one.

    Raises InputError for Office files of a kind that cannot be read: old binary ones,
    encrypted ones, binary workbooks and OpenDocument files.
    """
    if data.startswith(_OLE):
        for name, reason in _OLE_KINDS.items():
            if name.encode("utf-16-le") in data:
                raise InputError(reason)
        raise InputError("an old Office file of an unknown kind; save it as .docx, .pptx or .xlsx")
    if not data.startswith(b"PK\x03\x04"):
        return None
    by_name = named if named in _SUFFIXES.values() else None
    if data[30:].startswith(b"mimetypeapplication/vnd.oasis.opendocument"):
        raise InputError("an OpenDocument file; save it as .docx, .pptx or .xlsx")
    try:
        archive = open_zip(data)
        types = read_member(archive, archive.getinfo("[Content_Types].xml"))
    except InputError:
        return by_name
    except KeyError:
        return by_name if any(map(_is_part, archive.namelist())) else None
    match = _MAIN.search(types)
    if match is not None and b"binary" in match[2]:
        raise InputError("a binary Excel workbook (.xlsb); save it as .xlsx")
    return _SUFFIXES[match[1]] if match else by_name


def _is_part(name: str) -> bool:
    return _part_name(name).startswith(_PART_FOLDERS)


@dataclass(frozen=True)
class Relationship:
    """A link from a part: what it is to the part (last word of its type) and the part's name."""

    kind: str
    target: str


class OfficePackage:
    """The parts of a document. Tags and attributes carry the usual prefixes: ``w:p``, ``r:id``.

    ``notes`` collects parts that could not be read although the document could.
    Raises InputError where there is no main part.
    """

    def __init__(self, data: bytes) -> None:
        self.archive = open_zip(data)
        self.notes: list[str] = []
        self._members = {_part_name(info.filename): info for info in self.archive.infolist()}
        self._links: dict[str, dict[str, Relationship]] = {}
        mains = [*self.related("", "officeDocument"), *_USUAL_MAINS]
        found = next((part for part in mains if self.member(part) is not None), None)
        if found is None:
            raise InputError("damaged: its main part is missing; save or download it again")
        self.main = found

    def member(self, part: str) -> zipfile.ZipInfo | None:
        """Where a part stands in the container, or None."""
        return self._members.get(part.casefold())

    def root(self, part: str) -> Element:
        """The part's root element. Raises InputError where it is missing or not well formed."""
        info = self.member(part)
        if info is None:
            raise InputError(f"damaged: {part} in it is missing; save or download it again")
        if info.file_size > _LARGEST_PART:
            raise InputError(
                f"{part} in it is {info.file_size / 1e6:,.0f} MB of XML (at most "
                f"{_LARGEST_PART / 1e6:,.0f}); split the document"
            )
        return parse_xml(read_member(self.archive, info), part)

    def optional(self, part: str | None) -> Element | None:
        """The part's root element; None where it is missing, or damaged, which is noted."""
        if part is None or self.member(part) is None:
            return None
        try:
            return self.root(part)
        except InputError as error:
            self.notes.append(f"left out: {error}")
            return None

    def relationships(self, part: str) -> dict[str, Relationship]:
        """The part's links to other parts of the package by id; links out of it are left out."""
        if part in self._links:
            return self._links[part]
        folder, name = posixpath.split(part)
        root = self.optional(posixpath.join(folder, "_rels", name + ".rels"))
        found = self._links[part] = {}
        for node in children(root):
            target = unquote(node.get("Target", "")).replace("\\", "/")
            if node.get("TargetMode") != "External" and target:
                kind = node.get("Type", "").rpartition("/")[2]
                path = posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")
                found[node.get("Id", "")] = Relationship(kind, path)
        return found

    def related(self, part: str, kind: str) -> list[str]:
        """Names of the parts that are ``kind`` to this one."""
        return [link.target for link in self.relationships(part).values() if link.kind == kind]

    @cached_property
    def media(self) -> list[str]:
        """Names of the members that are pictures and the like."""
        return [name for name in self._members if "/media/" in name]

    @cached_property
    def properties(self) -> dict[str, Any]:
        """Title, author, dates and the like as the document states them, without blanks."""
        root = self.optional(next(iter(self.related("", "core-properties")), None))
        found: dict[str, Any] = {}
        for node in children(root):
            name = _PROPERTIES.get(node.tag.rpartition("}")[2])
            text = clean_text(" ".join((node.text or "").split()))[0].strip()
            if name and text:
                found[name] = text
        return found


def _part_name(name: str) -> str:
    """Names of parts differ neither by case nor by the slashes some programs write."""
    return name.replace("\\", "/").lstrip("/").casefold()


def parse_xml(data: bytes, name: str) -> Element:
    """The root element with prefixed names. Raises InputError with where the XML breaks.

    Entities of a document type are never resolved: a package's parts must not declare any.
    """
    if b"<!DOCTYPE" in data[:4096]:
        raise InputError(f"damaged: {name} in it declares a document type; save it again")
    try:
        root = ElementTree.fromstring(data)
    except (ElementTree.ParseError, ValueError, LookupError) as error:
        raise InputError(f"damaged: {name} in it is not well formed ({error})") from None
    names: dict[str, str] = {}
    for node in root.iter():
        node.tag = prefixed(node.tag, names)
        if any("}" in key for key in node.attrib):
            attributes = {prefixed(key, names): value for key, value in node.attrib.items()}
            node.attrib.clear()
            node.attrib.update(attributes)
    return root


def prefixed(name: str, known: dict[str, str]) -> str:
    """``{namespace}local`` with the namespace's prefix; others stay as they are.

    >>> prefixed("{http://purl.oclc.org/ooxml/wordprocessingml/main}p", {})
    'w:p'
    """
    if name[:1] != "{":
        return name
    short = known.get(name)
    if short is None:
        namespace, _, local = name[1:].partition("}")
        match = _NAMESPACE.fullmatch(namespace)
        path = match[1] + (match[2] or "") if match else ""
        prefix = "wps" if namespace == _WORD_SHAPE else _SHORT.get(path)
        known[name] = short = f"{prefix}:{local}" if prefix else name
    return short


def child(node: Element | None, *path: str) -> Element | None:
    """The first descendant along a path of tags, or None."""
    for tag in path:
        node = next((one for one in node if one.tag == tag), None) if node is not None else None
    return node


def children(node: Element | None) -> Iterable[Element]:
    """The elements directly below; none where there is no element."""
    return node if node is not None else ()


def value(node: Element | None, *path: str, name: str = "w:val") -> str | None:
    """An attribute of the first descendant along a path, or None."""
    found = child(node, *path)
    return found.get(name) if found is not None else None


def number(text: str | None, default: int = 0) -> int:
    """The integer, or ``default`` where the text is none."""
    try:
        return int(text or "")
    except ValueError:
        return default


def choices(node: Element) -> Iterator[Element]:
    """The children, with one branch of each alternative: the newer, or the old where it is bare."""
    for one in node:
        if one.tag != "mc:AlternateContent":
            yield one
            continue
        branches = [branch for branch in one if branch.tag in {"mc:Choice", "mc:Fallback"}]
        taken = next((branch for branch in branches if len(branch)), None)
        if taken is not None:
            yield from choices(taken)
