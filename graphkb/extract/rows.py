"""What a row of a table says: the thing its key cell names, what it is related to, its values."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.extract.claims import claim_of, iso_date
from graphkb.ingest.blocks import Block, markdown_blocks
from graphkb.text.language import has_han
from graphkb.text.table_head import column_names
from graphkb.text.table_rows import (
    Cell,
    is_number,
    is_rule,
    key_column,
    named_cells,
    row_cells,
    row_lines,
)

_LONGEST_KEY = 80
_LONGEST_WORDS = 6
_LONGEST_HAN = 20
# Columns whose cells name things, whatever these look like.
_NAMING = re.compile(
    r"\b(?:owner|manager|leader|lead|author|contact|supplier|vendor|maker|manufacturer|customer|"
    r"client|company|organi[sz]ation|department|team|country|city|location|person|employee|"
    r"product|project|parent|brand|model)\b"
    r"|负责人|联系人|经理|主管|作者|供应商|厂家|厂商|客户|公司|单位|机构|部门|团队|国家|城市|地点"
    r"|产品|项目|品牌|型号|上级|人员|姓名",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"[。！？!?；;]|https?://|^[-—–/\\.…*]+$")
_ANSWER = frozenset(
    "yes no none n/a na true false 是 否 有 无 支持 不支持 √ × ✓ ✗ ✔ ✘ 合计 总计 小计 total".split()
)
_MEASURE = re.compile(r"\d")
# Columns that only count the rows.
_RUNNING = re.compile(r"#|no\.?|nr\.?|index|row|序号|编号|序列号?|行号", re.IGNORECASE)


@dataclass(frozen=True)
class TableRow:
    """A row of a table: its span in the unit's text, its cells, their columns and its key."""

    start: int
    end: int
    cells: tuple[Cell, ...]
    columns: tuple[str, ...]
    key: int

    @property
    def subject(self) -> str:
        """What the row is about; empty where its key cell is empty or a number."""
        text = self.cells[self.key].text if self.key < len(self.cells) else ""
        named = any(map(str.isalpha, text)) and len(text) <= _LONGEST_KEY
        return text if named and text.lower() not in _ANSWER else ""

    def others(self) -> list[tuple[str, Cell]]:
        """(column, cell) of the cells beside the key that hold something."""
        pairs = zip(self.columns, self.cells, strict=True)
        return [pair for place, pair in enumerate(pairs) if place != self.key and pair[1].text]


@dataclass(frozen=True)
class Tables:
    """The rows of a unit's tables, and the spans of their headers."""

    rows: tuple[TableRow, ...] = ()
    headers: tuple[tuple[int, int], ...] = ()


def tables_of(text: str, context: str) -> Tables:
    """The tables of a text unit; rows without their header have their columns in its context."""
    if "|" not in text:
        return Tables()
    rows: list[TableRow] = []
    headers: list[tuple[int, int]] = []
    lines = row_lines(context)
    tables = [block for block in markdown_blocks(text) if block.kind == "table"]
    for block in tables:
        found = _with_header(text, block, lines)
        # The only row of a table has a rule below it.
        alone = not found and _only_row(text, block)
        rows += alone or found
        headers += [] if alone else [(block.start, block.body)]
    if not tables and lines:
        rows = [row for span in _spans(text, 0, len(text)) for row in _said(text, span, lines)]
    return Tables(tuple(rows), tuple(headers))


def _with_header(text: str, block: Block, lines: Sequence[str]) -> list[TableRow]:
    header = [
        [cell.text for cell in row_cells(line, 0, len(line))]
        for line in text[block.start : block.body].split("\n")
        if line.strip() and not is_rule(line)
    ]
    names = column_names(header)
    spans = _spans(text, block.body, block.end)
    every = [row_cells(text, *span) for span in spans]
    key = key_column([[cell.text for cell in cells] for cells in every])
    rows = []
    for span, cells in zip(spans, every, strict=True):
        # A large table was looked at as a whole: its rows say which column is the key.
        said = _said(text, span, lines)
        columns = (*names, *[""] * len(cells))[: len(cells)]
        rows += said or [TableRow(*span, tuple(cells), columns, min(key, len(cells) - 1))]
    return rows


def _only_row(text: str, block: Block) -> list[TableRow]:
    """The row above the rule of a table that has no other."""
    above = [
        span for span in _spans(text, block.start, block.body) if not is_rule(text[slice(*span)])
    ]
    if len(above) != 1:
        return []
    cells = row_cells(text, *above[0])
    return [TableRow(*above[0], tuple(cells), ("",) * len(cells), 0)]


def _said(text: str, span: tuple[int, int], lines: Sequence[str]) -> list[TableRow]:
    """The row by the line of the context that is its; none where there is no such line."""
    cells = row_cells(text, *span)
    values = [cell.text for cell in cells]
    for line in lines:
        columns = named_cells(line, values)
        if columns is not None:
            first = line.split(";", 1)[0]
            keys = (n for n, pair in enumerate(zip(columns, values, strict=True))
                    if pair[1] and first in (f"{pair[0]}={pair[1]}", pair[1]))  # fmt: skip
            return [TableRow(*span, tuple(cells), tuple(columns), next(keys, 0))]
    return []


def _spans(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Spans of the lines that are not blank, without the space around them."""
    spans = []
    while start < end:
        stop = text.find("\n", start, end) + 1 or end
        line = text[start:stop]
        if line.strip():
            left = start + len(line) - len(line.lstrip())
            spans.append((left, left + len(line.strip())))
        start = stop
    return spans


def is_name(column: str, text: str, named: bool) -> bool:
    """Whether a cell is the name of something: rules found a name in it (``named``) or its
    column says so, and it is short and no number, date or answer.

    >>> is_name("负责人", "李雯", False), is_name("月付(元)", "49", False)
    (True, False)
    >>> is_name("Notes", "due soon", False), is_name("Owner", "Ada Lin", False)
    (False, True)
    """
    if not (named or _NAMING.search(column)) or not any(map(str.isalpha, text)):
        return False
    if _NO_NAME.search(text) or text.lower() in _ANSWER or is_value(column, text):
        return False
    return len(text) <= _LONGEST_HAN if has_han(text) else len(text.split()) <= _LONGEST_WORDS


def is_value(column: str, text: str) -> bool:
    """Whether a cell holds a number, a quantity or a date.

    >>> is_value("月付(元)", "49"), is_value("上线", "2024年3月"), is_value("编号", "R001")
    (True, True, False)
    >>> is_value("序号", "7")
    False
    """
    if not _MEASURE.search(text) or _RUNNING.fullmatch(column):
        return False
    return is_number(text) or iso_date(text) is not None or claim_of(text) is not None


def value_claim(column: str, text: str) -> tuple[str, str, str | None, str | None]:
    """Type, status, first and last date of the claim that a cell with a value makes; its type is
    the column, so that each column of a row has one.

    >>> value_claim("上线", "2024年3月"), value_claim("", "$49")
    (('上线', 'TRUE', '2024-03', '2024-03'), ('QUANTITY', 'TRUE', None, None))
    """
    claim = claim_of(text)
    if claim is not None:
        return column or claim.type, claim.status, claim.start_date, claim.end_date
    date = None if is_number(text) else iso_date(text)
    return column or ("DATE" if date else "QUANTITY"), "TRUE", date, date
