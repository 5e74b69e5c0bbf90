"""HTML tables as Markdown pipe tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from graphkb.ingest.readers.docx_inline import image_text
from graphkb.ingest.readers.grid import grid_lines
from graphkb.text.table_head import Row, is_value

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_WIDEST_SPAN = 50
_LONGEST_SPAN = 2000
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg"})
_LAID_OUT = frozenset({"h1", "h2", "h3", "article", "section"})
_RAISED = re.compile(r"[-+−]?\d{1,4}")
_CELL_END = "\x1f"
_BREAKS = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})


def children(node: LexborNode) -> list[LexborNode]:
    """Child nodes in order, text included."""
    found = []
    child = node.first_child
    while child is not None:
        found.append(child)
        child = child.next
    return found


def superscript(node: LexborNode) -> str | None:
    """A raised number in plain text, ``^6`` as a power and ``[6]`` as a link; None for others.

    Without it ``10<sup>6</sup>`` would read 106.
    """
    below = children(node)
    inside = [one for part in below for one in children(part)]
    if len(below) > 3 or not all(one.is_text_node for one in inside):
        return None
    text = "".join(node.text_lexbor().split())
    if _RAISED.fullmatch(text) is None:
        return None
    return f"[{text}]" if node.css_first("a") is not None else f"^{text}"


def alternative_text(image: LexborNode) -> str:
    """What stands for an image: its alternative text in brackets, a bare sign such as an emoji;
    empty for a decoration and for a mere file name."""
    words = (image.attributes.get("alt") or "").strip()
    if image.attributes.get("role") in {"none", "presentation"}:
        return ""
    if re.search(r"\w", words) is None:
        return words
    shown = image_text(words)
    return f" {shown} " if shown else ""


def is_data_table(table: LexborNode) -> bool:
    """False for tables that only lay out a page.

    These have one column, headings inside, or other tables: in half of their cells or more, or
    in any where there are neither caption nor header cells.
    """
    stack = children(table)
    while stack:
        node = stack.pop()
        if node.tag in _LAID_OUT:
            return False
        if node.tag != "table":
            stack.extend(children(node))
    rows = _rows(table)
    cells = [cell for _, row in rows for cell in row]
    holding = sum(cell.css_first("table") is not None for cell in cells)
    if holding:
        has_caption = any(node.tag == "caption" for node in children(table))
        if 2 * holding >= len(cells) or not (has_caption or rows[0][0]):
            return False
    return max((len(row) for _, row in rows), default=0) > 1


def table_lines(table: LexborNode) -> list[str]:
    """The caption, then one header row, separator and rows, all of the same width.

    The header is the rows of <thead> or of <th> cells only at the top, else what looks like one.
    A cell over several rows is repeated in each, one over several columns stands in the first.
    """
    rows = _rows(table)
    grid = _grid([cells for _, cells in rows])
    header = 1
    while header < min(len(rows) - 1, 4) and rows[header][0] and len(rows[header][1]) > 1:
        header += 1
    names: list[str] = []
    if header == 1 and _is_only_header(rows, grid):
        names = [cell or "" for cell in grid.pop(0)]
    lines = [line for line, _ in grid_lines(grid, names, header)]
    caption = next((node for node in children(table) if node.tag == "caption"), None)
    title = _cell_text(caption) if caption is not None else ""
    return [title, "", *lines] if title else lines


def _is_only_header(rows: list[tuple[bool, list[LexborNode]]], grid: list[Row]) -> bool:
    """Whether one header cell over the whole width names the columns below it: two, or numbers;
    over others it is a title."""
    is_header, cells = rows[0]
    if not is_header or len(cells) > 1 or len(grid) < 2:
        return False
    return len(grid[0]) == 2 or any(is_value(cell) for cell in grid[1] if cell)


def _rows(table: LexborNode) -> list[tuple[bool, list[LexborNode]]]:
    """Rows that have cells, each with whether it is a header row."""
    rows: list[tuple[bool, list[LexborNode]]] = []
    parts = [(node, node.tag) for node in children(table)]
    for part, tag in parts:
        candidates = [part] if tag == "tr" else children(part) if tag in _PARTS else []
        for row in candidates:
            cells = [node for node in children(row) if node.tag in {"td", "th"}]
            if row.tag == "tr" and cells:
                is_header = tag == "thead" or all(cell.tag == "th" for cell in cells)
                rows.append((is_header, cells))
    return rows


_PARTS = frozenset({"thead", "tbody", "tfoot"})


def _grid(rows: list[list[LexborNode]]) -> list[Row]:
    grid: list[Row] = []
    # Column to (text, rows it still reaches down).
    hanging: dict[int, tuple[str | None, int]] = {}
    for cells in rows:
        line: list[str | None] = []
        for cell in cells:
            _fill(line, hanging)
            text = _cell_text(cell)
            down = min(_span(cell, "rowspan"), _LONGEST_SPAN)
            for offset in range(min(_span(cell, "colspan"), _WIDEST_SPAN)):
                part = text if offset == 0 else None
                if down > 1:
                    hanging[len(line)] = (part, down - 1)
                line.append(part)
        _fill(line, hanging)
        grid.append(line)
    return grid


def _fill(line: list[str | None], hanging: dict[int, tuple[str | None, int]]) -> None:
    while len(line) in hanging:
        column = len(line)
        text, left = hanging.pop(column)
        if left > 1:
            hanging[column] = (text, left - 1)
        line.append(text)


def _span(cell: LexborNode, name: str) -> int:
    value = cell.attributes.get(name) or ""
    return max(1, int(value)) if re.fullmatch(r"[0-9]{1,4}", value) else 1


def _cell_text(cell: LexborNode) -> str:
    """The cell's lines joined by semicolons; a table in it has its cells joined by commas."""
    parts: list[str] = []
    stack: list[LexborNode | str] = [*reversed(children(cell))]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag not in _SKIPPED:
            raised = superscript(node) if node.tag == "sup" else None
            if raised is not None:
                parts.append(raised)
                continue
            if node.tag == "img":
                parts.append(alternative_text(node))
            if node.tag in _BREAKS:
                stack.append("\n")
                parts.append("\n")
            elif node.tag in {"td", "th"}:
                stack.append(_CELL_END)
            stack.extend(reversed(children(node)))
    lines = (" ".join(part.split(" ")).strip(f" {_CELL_END}") for part in
             "".join(_spaced(parts)).split("\n"))  # fmt: skip
    shown = (re.sub(rf" *{_CELL_END}[ {_CELL_END}]*", ", ", line) for line in lines if line)
    return "; ".join(re.sub(r" {2,}", " ", line) for line in shown)


def _spaced(parts: list[str]) -> list[str]:
    """Line ends of the source are spaces; only those that a break put in count."""
    kept = {"\n", _CELL_END}
    return [part if part in kept else re.sub(r"\s+", " ", part) for part in parts]
