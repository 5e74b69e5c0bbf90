"""HTML tables as Markdown pipe tables."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_WIDEST_SPAN = 50
_LONGEST_SPAN = 2000
_SKIPPED = frozenset({"script", "style", "noscript", "template", "svg"})
_BREAKS = frozenset({"br", "p", "div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6"})


def children(node: LexborNode) -> list[LexborNode]:
    """Child nodes in order, text included."""
    found = []
    child = node.first_child
    while child is not None:
        found.append(child)
        child = child.next
    return found


def is_data_table(table: LexborNode) -> bool:
    """False for tables that only lay out a page: one column, or other tables or headings inside."""
    stack = children(table)
    while stack:
        node = stack.pop()
        if node.tag in {"table", "h1", "h2", "h3", "article", "section"}:
            return False
        stack.extend(children(node))
    return max((len(cells) for _, cells in _rows(table)), default=0) > 1


def table_lines(table: LexborNode) -> list[str]:
    """The caption, then header rows, separator and rows, all of the same width.

    The header is the rows of <thead> or of <th> cells only at the top, else the first row.
    A cell over several rows is repeated in each, one over several columns stands in the first.
    """
    rows = _rows(table)
    grid = _grid([cells for _, cells in rows])
    width = max(len(row) for row in grid)
    header = 1
    while header < min(len(rows) - 1, 4) and rows[header][0]:
        header += 1
    lines = ["| " + " | ".join(row + [""] * (width - len(row))) + " |" for row in grid]
    lines.insert(header, "|" + "---|" * width)
    caption = next((node for node in children(table) if node.tag == "caption"), None)
    title = _cell_text(caption) if caption is not None else ""
    return [title, "", *lines] if title else lines


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


def _grid(rows: list[list[LexborNode]]) -> list[list[str]]:
    grid: list[list[str]] = []
    # Column to (text, rows it still reaches down).
    hanging: dict[int, tuple[str, int]] = {}
    for cells in rows:
        line: list[str] = []
        for cell in cells:
            _fill(line, hanging)
            text = _cell_text(cell)
            down = min(_span(cell, "rowspan"), _LONGEST_SPAN)
            for offset in range(min(_span(cell, "colspan"), _WIDEST_SPAN)):
                part = text if offset == 0 else ""
                if down > 1:
                    hanging[len(line)] = (part, down - 1)
                line.append(part)
        _fill(line, hanging)
        grid.append(line)
    return grid


def _fill(line: list[str], hanging: dict[int, tuple[str, int]]) -> None:
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
    parts: list[str] = []
    stack: list[LexborNode | str] = [*reversed(children(cell))]
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            parts.append(node)
        elif node.is_text_node:
            parts.append(node.text_content or "")
        elif node.tag not in _SKIPPED:
            if node.tag in _BREAKS:
                stack.append("\n")
            stack.extend(reversed(children(node)))
            if node.tag in _BREAKS:
                parts.append("\n")
    lines = (" ".join(part.split()) for part in "".join(_spaced(parts)).split("\n"))
    return "; ".join(line for line in lines if line).replace("|", "\\|")


def _spaced(parts: list[str]) -> list[str]:
    """Line ends of the source are spaces; only those that a break put in count."""
    return [part if part == "\n" else re.sub(r"\s+", " ", part) for part in parts]
