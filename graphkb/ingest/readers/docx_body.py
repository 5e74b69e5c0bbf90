"""The blocks of a Word document in reading order as Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import takewhile

from graphkb.ingest.readers.docx_inline import Inline, is_on, is_placeholder, read_inline
from graphkb.ingest.readers.docx_styles import Numbering, Styles
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
from graphkb.ingest.readers.office_graphics import graphic_markdown
from graphkb.ingest.readers.office_pictures import Pictures
from graphkb.text.table_head import Row

_TRANSPARENT = frozenset({"w:ins", "w:moveTo", "w:sdt", "w:sdtContent", "w:customXml",
                          "w:smartTag"})  # fmt: skip
_WIDEST_SPAN = 100
_DEEPEST_LIST = 8


@dataclass(frozen=True)
class Text:
    """One paragraph, list item or table in Markdown; ``is_item`` items follow without a blank."""

    text: str
    is_item: bool = False
    heading: str = ""
    is_title: bool = False


@dataclass
class Asides:
    """Notes and comments met in a paragraph or table, to stand after it."""

    notes: list[tuple[str, str]] = field(default_factory=list)
    comments: list[str] = field(default_factory=list)


class Body:
    """Reads the blocks below an element of one part; lists count on from call to call."""

    def __init__(self, package: OfficePackage, part: str, pictures: Pictures) -> None:
        self.package, self.pictures = package, pictures
        self.part = part
        self.styles = Styles(package.optional(self._related("styles")))
        self._numbering = Numbering(package, self._related("numbering"), self.styles)
        self._asides = {
            kind: self._notes(f"{kind}s", f"w:{kind}") for kind in ("footnote", "endnote")
        }
        self._comments = self._notes("comments", "w:comment")

    def blocks(self, container: Element) -> list[Text]:
        """Paragraphs, lists and tables in order.

        Text boxes and the text of pictures stand after the paragraph they are anchored in, notes
        and comments after the paragraph or table that refers to them. Lines of a table of
        contents are left out.
        """
        found: list[Text] = []
        for node in flow(container, {"w:p", "w:tbl"}):
            asides = Asides()
            if node.tag == "w:tbl":
                found += self._table(node, asides)
            else:
                found += self._paragraph(node, asides)
            found += self._aside_blocks(asides)
        return found

    def _related(self, kind: str) -> str | None:
        return next(iter(self.package.related(self.part, kind)), None)

    def _notes(self, kind: str, tag: str) -> dict[str, Element]:
        root = self.package.optional(self._related(kind))
        return {
            node.get("w:id", ""): node
            for node in children(root)
            if node.tag == tag and node.get("w:type") in {None, "normal"}
        }

    def _paragraph(self, node: Element, asides: Asides) -> list[Text]:
        if self.styles.is_contents(node):
            return []
        inline = read_inline(node)
        asides.notes += inline.notes
        asides.comments += inline.comments
        found = [self._worded(node, inline.text)] if inline.text else []
        return [*found, *self._attached(inline)]

    def _worded(self, node: Element, text: str) -> Text:
        level = self.styles.heading_level(node)
        label = self._numbering.label(node)
        if level is not None:
            text = " ".join(text.split("\n"))
            title = f"{label.text} {text}" if label and label.text else text
            is_title = self.styles.is_title(node)
            return Text(f"{'#' * min(level, 6)} {title}", heading=text, is_title=is_title)
        if label is None:
            return Text(text)
        indent = "  " * min(label.level, _DEEPEST_LIST)
        mark = "-" if label.is_bullet else label.text
        text = text.replace("\n", f"\n{indent}  ")
        return Text(f"{indent}{mark} {text}", is_item=True)

    def _attached(self, inline: Inline) -> Iterator[Text]:
        for box in inline.boxes:
            yield from self.blocks(box)
        for graphic in inline.graphics:
            text = graphic_markdown(self.package, self.part, graphic)
            if text:
                yield Text(text)
        for link, area in inline.pictures:
            text = self.pictures.text(self.part, link, area)
            if text:
                yield Text(text)

    def _aside_blocks(self, asides: Asides) -> Iterator[Text]:
        for kind, name in asides.notes:
            text = self._plain(self._asides[kind].get(name))
            if text:
                yield Text(f"[^{'e' if kind == 'endnote' else ''}{name}]: {text}")
        for name in asides.comments:
            node = self._comments.get(name)
            text = self._plain(node)
            if node is not None and text:
                author = " ".join(node.get("w:author", "").split())
                yield Text(f"> [{author or 'comment'}] {text}")

    def _plain(self, node: Element | None) -> str:
        """A note's or comment's paragraphs as one line."""
        if node is None:
            return ""
        return cell_text(read_inline(one).text for one in node.iter("w:p"))

    def _table(self, table: Element, asides: Asides) -> Iterator[Text]:
        """The table in Markdown; one with a single column is a frame around what it holds."""
        rows = [row for row in flow(table, {"w:tr"}) if child(row, "w:trPr", "w:del") is None]
        cells = [list(flow(row, {"w:tc"})) for row in rows]
        if all(len(row) == 1 for row in cells) and not any(map(_is_offset, rows)):
            for (cell,) in cells:
                if not _is_continued(cell):
                    yield from self.blocks(cell)
            return
        boxes: list[Inline] = []
        grid: list[Row] = []
        above: dict[int, str] = {}
        for row, line_cells in zip(rows, cells, strict=True):
            line: list[str | None] = [""] * _offset(row, "w:gridBefore")
            for cell in line_cells:
                at = len(line)
                is_below = _is_continued(cell)
                text = above.get(at, "") if is_below else self._cell(cell, asides, boxes)
                above[at] = text
                line += [text, *[None] * (_span(cell) - 1)]
            grid.append([*line, *[""] * _offset(row, "w:gridAfter")])
        text = grid_markdown(grid, n_header=sum(1 for _ in takewhile(_is_header, rows)))
        if text:
            yield Text(text)
        for inline in boxes:
            yield from self._attached(inline)

    def _cell(self, cell: Element, asides: Asides, attached: list[Inline]) -> str:
        """The cell's lines joined; a table inside it row by row, its cells joined by commas."""
        lines: list[str] = []
        for node in flow(cell, {"w:p", "w:tbl"}):
            if node.tag == "w:tbl":
                for row in flow(node, {"w:tr"}):
                    texts = (self._cell(one, asides, attached) for one in flow(row, {"w:tc"}))
                    lines.append(", ".join(text for text in texts if text))
                continue
            inline = read_inline(node)
            asides.notes += inline.notes
            asides.comments += inline.comments
            if inline.boxes or inline.graphics or inline.pictures:
                attached.append(inline)
            label = self._numbering.label(node) if inline.text else None
            lines += f"{label.text if label else ''} {inline.text}".split("\n")
        return cell_text(lines)


def flow(container: Element, tags: Iterable[str]) -> Iterator[Element]:
    """The elements of these tags directly below, seen through content controls and insertions."""
    wanted = frozenset(tags)
    for node in choices(container):
        if node.tag in wanted:
            yield node
        elif node.tag in _TRANSPARENT and not is_placeholder(node):
            yield from flow(node, wanted)


def _is_header(row: Element) -> bool:
    """True for a row that Word repeats at the top of each page."""
    return is_on(child(row, "w:trPr", "w:tblHeader"))


def _is_continued(cell: Element) -> bool:
    """True for a cell that a merged cell above reaches down to."""
    merge = child(cell, "w:tcPr", "w:vMerge")
    return merge is not None and merge.get("w:val", "continue") == "continue"


def _span(cell: Element) -> int:
    return max(1, min(number(value(cell, "w:tcPr", "w:gridSpan"), 1), _WIDEST_SPAN))


def _offset(row: Element, tag: str) -> int:
    return max(0, min(number(value(row, "w:trPr", tag)), _WIDEST_SPAN))


def _is_offset(row: Element) -> bool:
    return _offset(row, "w:gridBefore") + _offset(row, "w:gridAfter") > 0
