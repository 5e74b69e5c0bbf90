"""One slide: its shapes in reading order, then its notes and comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphkb.ingest.readers.docx_inline import image_text
from graphkb.ingest.readers.grid import cell_text, grid_markdown
from graphkb.ingest.readers.office import (
    Element,
    OfficePackage,
    child,
    children,
    choices,
    number,
    value,
)
from graphkb.ingest.readers.office_graphics import drawing_text, graphic_markdown
from graphkb.ingest.readers.office_pictures import Pictures
from graphkb.ingest.readers.pptx_layout import Layout, Shape, reading_order
from graphkb.text.language import HAN
from graphkb.text.table_head import Row

_TITLES = frozenset({"title", "ctrTitle"})
_FURNITURE = frozenset({"dt", "sldNum", "hdr"})
_BODIES = frozenset({"body", "obj", ""})
_HAS_HAN = re.compile(f"[{HAN}]")


@dataclass(frozen=True)
class Slide:
    """A slide's blocks, the heading first; ``footers`` are apart, as slides repeat them."""

    title: str
    blocks: list[str]
    footers: list[str]


def read_slide(
    package: OfficePackage, part: str, root: Element, page: int, pictures: Pictures
) -> Slide:
    """The slide's text in reading order; nothing of a slide without text."""
    layout = Layout(package, part)
    reader = _Shapes(package, part, pictures)
    tree = child(root, "p:cSld", "p:spTree")
    shapes = [layout.shape(node) for node in (choices(tree) if tree is not None else ())]
    title = next((cell_text(_body_text(shape.node)) for shape in shapes
                  if shape.placeholder in _TITLES and _body_text(shape.node)), "")  # fmt: skip
    content = [
        block
        for shape in reading_order(shapes)
        if shape.placeholder not in {*_TITLES, *_FURNITURE, "ftr"}
        for block in reader.blocks(shape)
    ]
    footers = [line for shape in shapes if shape.placeholder == "ftr"
               for line in _body_text(shape.node)]  # fmt: skip
    comments = [f"> [{author or 'comment'}] {text}" for author, text in _comments(package, part)]
    notes = _notes(package, part)
    everything = "".join([title, *content, *notes, *comments])
    is_chinese = _HAS_HAN.search(everything) is not None
    if notes:
        content.append(("备注：" if is_chinese else "Notes: ") + "\n".join(notes))
    content += comments
    if not title and not content:
        return Slide("", [], footers)
    heading = title or (f"第 {page} 页" if is_chinese else f"Slide {page}")
    return Slide(title, [f"# {heading}", *content], footers)


def _body_text(shape: Element) -> list[str]:
    return drawing_text(child(shape, "p:txBody"))


class _Shapes:
    """The blocks of shapes; charts and diagrams are parts of their own."""

    def __init__(self, package: OfficePackage, part: str, pictures: Pictures) -> None:
        self._package, self._pictures = package, pictures
        self._part = part

    def blocks(self, shape: Shape) -> Iterator[str]:
        node = shape.node
        if node.tag == "p:grpSp":
            layout = Layout(None, "")
            for inner in reading_order([layout.shape(one) for one in choices(node)]):
                yield from self.blocks(replace(inner, placeholder=None))
        elif node.tag == "p:sp":
            text = _paragraphs(child(node, "p:txBody"), shape.placeholder)
            if text:
                yield text
        elif node.tag == "p:pic":
            text = image_text(value(node, "p:nvPicPr", "p:cNvPr", name="descr") or "")
            if text:
                yield text
            text = self._picture(shape)
            if text:
                yield text
        elif node.tag == "p:graphicFrame":
            yield from self._graphic(child(node, "a:graphic", "a:graphicData"))

    def _picture(self, shape: Shape) -> str:
        """The text of a picture."""
        link = value(shape.node, "p:blipFill", "a:blip", name="r:embed") or ""
        left, top, right, bottom = shape.box or (0, 0, 0, 0)
        area = float(right - left) * float(bottom - top)
        return self._pictures.text(self._part, link, area)

    def _graphic(self, data: Element | None) -> Iterator[str]:
        for node in choices(data) if data is not None else ():
            if node.tag == "a:tbl":
                text = grid_markdown(_table(node))
            elif node.tag in {"c:chart", "dgm:relIds"}:
                text = graphic_markdown(self._package, self._part, node)
            else:
                continue
            if text:
                yield text


def _paragraphs(body: Element | None, placeholder: str | None) -> str:
    """A text body: list items where it has bullets or levels, else one paragraph a line."""
    paragraphs = [node for node in children(body) if node.tag == "a:p"]
    texts = [(node, drawing_text(node)) for node in paragraphs]
    texts = [(node, lines) for node, lines in texts if lines]
    is_list = placeholder in _BODIES and len(texts) > 1
    found: list[str] = []
    for node, lines in texts:
        properties = child(node, "a:pPr")
        level = min(number(value(node, "a:pPr", name="lvl")), 8)
        marked = any(child(properties, tag) is not None for tag in ("a:buChar", "a:buAutoNum"))
        plain = child(properties, "a:buNone") is not None
        if marked or ((is_list or level) and not plain):
            indent = "  " * level
            found.append(f"{indent}- " + f"\n{indent}  ".join(lines))
        else:
            found += lines
    return "\n".join(found)


def _table(table: Element) -> list[Row]:
    grid: list[Row] = []
    above: dict[int, str] = {}
    for row in (node for node in table if node.tag == "a:tr"):
        line: list[str | None] = []
        for cell in (node for node in row if node.tag == "a:tc"):
            at = len(line)
            if cell.get("hMerge") in {"1", "true"}:
                line.append(None)
                continue
            if cell.get("vMerge") in {"1", "true"}:
                text = above.get(at, "")
            else:
                text = cell_text(drawing_text(child(cell, "a:txBody")))
            above[at] = text
            line.append(text)
        grid.append(line)
    return grid


def _notes(package: OfficePackage, part: str) -> list[str]:
    """The lines of the speaker's notes."""
    target = next(iter(package.related(part, "notesSlide")), None)
    root = package.optional(target)
    tree = child(root, "p:cSld", "p:spTree")
    return [
        line
        for shape in (tree.iter("p:sp") if tree is not None else ())
        if value(shape, "p:nvSpPr", "p:nvPr", "p:ph", name="type") == "body"
        for line in _body_text(shape)
    ]


def _comments(package: OfficePackage, part: str) -> Iterator[tuple[str, str]]:
    """(author, text) of the slide's comments and their replies, old form and new."""
    authors: dict[str, str] = {}
    for kind in ("commentAuthors", "authors"):
        for target in package.related(package.main, kind):
            root = package.optional(target)
            for node in children(root):
                authors[node.get("id", "")] = " ".join(node.get("name", "").split())
    for target in package.related(part, "comments"):
        root = package.optional(target)
        for node in root.iter() if root is not None else ():
            local = node.tag.rpartition("}")[2].rpartition(":")[2]
            if local not in {"cm", "reply"}:
                continue
            classic = child(node, "p:text")
            if classic is not None:
                text = cell_text((classic.text or "").split("\n"))
            else:
                own = next((one for one in node if one.tag.endswith("txBody")), None)
                text = cell_text(drawing_text(own))
            if text:
                yield authors.get(node.get("authorId", ""), ""), text
