"""The filled cells of a workbook's sheets as shown, read row by row."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree

from graphkb.errors import InputError
from graphkb.ingest.containers import BROKEN_MEMBER
from graphkb.ingest.readers.office import Element, OfficePackage, child, children, number, prefixed
from graphkb.ingest.readers.office_numbers import shown_number, shown_text

MOST_CELLS = 2_000_000
_MOST_MERGES = 200_000
_LAST_ROW, _LAST_COLUMN = 1_048_576, 16_384
_REFERENCE = re.compile(r"\$?([A-Za-z]{1,3})\$?([0-9]{1,7})")
# Formats that every workbook has without listing them (18.8.30); day and month are shown as
# year-month-day, since the short date depends on where the workbook is opened.
_BUILT_IN = {
    1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00",
    12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy",
    18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss", 22: "yyyy-mm-dd h:mm",
    37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)", 39: "#,##0.00;(#,##0.00)",
    40: "#,##0.00;(#,##0.00)", 41: "#,##0;-#,##0;-", 42: "#,##0;-#,##0;-",
    43: "#,##0.00;-#,##0.00;-", 44: "#,##0.00;-#,##0.00;-", 45: "mm:ss", 46: "[h]:mm:ss",
    47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
    # Chinese ones.
    27: "yyyy年m月", 28: "m月d日", 29: "m月d日", 30: "m-d-yy", 31: "yyyy年m月d日",
    32: "h时mm分", 33: "h时mm分ss秒", 34: "上午/下午h时mm分", 35: "上午/下午h时mm分ss秒",
    36: "yyyy年m月", 50: "yyyy年m月", 51: "m月d日", 52: "yyyy年m月", 53: "m月d日", 54: "m月d日",
    55: "上午/下午h时mm分", 56: "上午/下午h时mm分ss秒", 57: "yyyy年m月", 58: "m月d日",
}  # fmt: skip


@dataclass(frozen=True)
class Sheet:
    """A sheet by name and part, in the workbook's order."""

    name: str
    part: str
    is_hidden: bool


@dataclass
class Cells:
    """Row to column to text of the cells that hold any, from 1; merged ranges as corners.

    ``merges`` are (first row, first column, last row, last column). ``cut_at`` is the row from
    which on cells were left out because there are more than ``most``, or 0.
    """

    most: int
    rows: dict[int, dict[int, str]] = field(default_factory=dict)
    merges: list[tuple[int, int, int, int]] = field(default_factory=list)
    cut_at: int = 0


class Workbook:
    """The sheets of a workbook with what their cells share: texts, formats, first day."""

    def __init__(self, package: OfficePackage) -> None:
        self._package = package
        root = package.root(package.main)
        properties = child(root, "s:workbookPr")
        self._from_1904 = properties is not None and properties.get("date1904") in {"1", "true"}
        links = package.relationships(package.main)
        self.sheets = [
            Sheet(" ".join(node.get("name", "").split()), link.target if link else "",
                  node.get("state", "visible") != "visible")
            for node in children(child(root, "s:sheets"))
            if (link := links.get(node.get("r:id", ""))) is None or link.kind == "worksheet"
        ]  # fmt: skip
        kinds = {link.kind: link.target for link in links.values()}
        self._strings = self._shared_strings(kinds.get("sharedStrings"))
        self._formats = _formats(package.optional(kinds.get("styles")))

    def cells(self, sheet: Sheet) -> Cells:
        """The sheet's cells; memory grows with the filled ones only.

        Raises InputError where the sheet is missing or damaged.
        """
        found = Cells(MOST_CELLS)
        row = column = n_cells = 0
        for node in self._streamed(sheet.part, {"s:row", "s:mergeCell"}):
            if node.tag == "s:mergeCell":
                corners = _range(node.get("ref", ""))
                if corners and len(found.merges) < _MOST_MERGES:
                    found.merges.append(corners)
                continue
            row, column = number(node.get("r"), row + 1), 0
            if found.cut_at or not 0 < row <= _LAST_ROW:
                continue
            line: dict[int, str] = {}
            for cell in node:
                place = _place(cell.get("r", ""))
                column = place[1] if place else column + 1
                text = self._shown(cell)
                if text and column <= _LAST_COLUMN:
                    line[column] = text
            n_cells += len(line)
            if n_cells > found.most:
                found.cut_at = row
            elif line:
                found.rows.setdefault(row, {}).update(line)
        return found

    def _streamed(self, part: str, tags: set[str]) -> Iterator[Element]:
        """Elements of these tags as they end, prefixed within, and then forgotten."""
        info = self._package.member(part)
        if info is None:
            named = part or "its part"
            raise InputError(f"damaged: {named} in it is missing; save or download it again")
        names: dict[str, str] = {}
        open_nodes: list[Element] = []
        try:
            with self._package.archive.open(info) as file:
                for event, node in ElementTree.iterparse(file, ("start", "end")):
                    if event == "start":
                        open_nodes.append(node)
                        continue
                    open_nodes.pop()
                    node.tag = prefixed(node.tag, names)
                    if node.tag in tags:
                        yield node
                        # An element still to be read in full is not its parent's to drop.
                        if open_nodes:
                            open_nodes[-1].clear()
        except (ElementTree.ParseError, LookupError, *BROKEN_MEMBER) as error:
            raise InputError(
                f"damaged: {part} in it cannot be read ({error}); save or download it again"
            ) from None

    def _shared_strings(self, part: str | None) -> list[str]:
        if part is None or self._package.member(part) is None:
            return []
        try:
            return [_rich_text(node) for node in self._streamed(part, {"s:si"})]
        except InputError as error:
            raise InputError(f"its texts are unreadable; {error}") from None

    def _shown(self, cell: Element) -> str:
        kind = cell.get("t", "n")
        stored = formula = ""
        for node in cell:
            if node.tag == "s:v":
                stored = node.text or ""
            elif node.tag == "s:f":
                formula = node.text or ""
            elif node.tag == "s:is":
                stored, kind = _rich_text(node), "inlineStr"
        # Programs that never calculate write an empty value; an empty text is a result.
        if not stored and kind != "str":
            return f"={formula.strip()}" if formula else ""
        if kind == "s":
            place = number(stored, -1)
            return self._strings[place] if 0 <= place < len(self._strings) else ""
        if kind == "b":
            return "TRUE" if stored.strip() in {"1", "true"} else "FALSE"
        code = self._formats.get(number(cell.get("s")), "General")
        if kind in {"str", "inlineStr"}:
            return shown_text(_lines(stored), code)
        if kind in {"e", "d"}:
            return stored.strip()
        return shown_number(stored.strip(), code, from_1904=self._from_1904)


def _formats(root: Element | None) -> dict[int, str]:
    """Style number of a cell to its format's code."""
    own = {
        number(node.get("numFmtId")): node.get("formatCode", "General")
        for node in children(child(root, "s:numFmts"))
    }
    found = {}
    for at, node in enumerate(children(child(root, "s:cellXfs"))):
        name = number(node.get("numFmtId"))
        found[at] = own.get(name) or _BUILT_IN.get(name, "General")
    return found


def _rich_text(node: Element) -> str:
    """The runs of a text without what says how it is pronounced."""
    parts = []
    for one in node:
        if one.tag == "s:t":
            parts.append(one.text or "")
        elif one.tag == "s:r":
            parts += [run.text or "" for run in one if run.tag == "s:t"]
    return _lines("".join(parts))


def _lines(text: str) -> str:
    """The text trimmed, its line breaks kept; ``_x000D_`` and the like are their characters."""
    if "_x" in text:
        text = re.sub(r"_x([0-9A-Fa-f]{4})_", lambda match: chr(int(match[1], 16)), text)
    lines = (" ".join(line.split()) for line in text.replace("\r", "\n").split("\n"))
    return "\n".join(line for line in lines if line)


def _place(reference: str) -> tuple[int, int] | None:
    """(row, column) of a cell's name, from 1.

    >>> _place("AB12")
    (12, 28)
    """
    match = _REFERENCE.fullmatch(reference)
    if match is None:
        return None
    column = 0
    for letter in match[1].upper():
        column = column * 26 + ord(letter) - ord("A") + 1
    return int(match[2]), column


def _range(reference: str) -> tuple[int, int, int, int] | None:
    first, _, last = reference.partition(":")
    start, end = _place(first), _place(last or first)
    if start is None or end is None or end < start:
        return None
    return (*start, *end)
