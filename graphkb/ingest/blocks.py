"""The block structure of Markdown: headings, tables and fenced code, as character spans."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from graphkb.text.language import HAN
from graphkb.text.table_head import LOOKED_AT, header_below
from graphkb.text.table_rows import row_cells


@dataclass(frozen=True)
class Block:
    """A run of whole lines. ``kind`` is heading, table, code, prose or blank.

    ``level`` and ``title`` are a heading's; ``body`` is where a table's first row below its
    header starts. Blocks of a text follow each other without gaps.
    """

    kind: str
    start: int
    end: int
    level: int = 0
    title: str = ""
    body: int = 0


# "##概述" without a space is common in Chinese Markdown; one # is a hashtag, but for a line that
# stands alone and holds no other.
_ATX = re.compile(rf" {{0,3}}(#{{1,6}})(?:[ \t]+(.*)|\Z)|(#{{2,6}})(?=[{HAN}])(.*)")
_TIGHT_TITLE = re.compile(rf" {{0,3}}#(?=[{HAN}])([^#]+)\Z")
_ATX_END = re.compile(r"(?:^|[ \t]+)#+[ \t]*$")
_UNDERLINE = re.compile(r" {0,3}(?:(={2,})|(-{3,}))[ \t]*$")
_NOT_A_TITLE = re.compile(r"\s*(?:[-*+>|#]|\d+[.)]|```|~~~|$)|\s{4}")
_FENCE = re.compile(r" {0,3}(`{3,}(?=[^`]*$)|~{3,})")
_SEPARATOR_CELL = re.compile(r"[ \t]*:?-+:?[ \t]*")
_MARKUP = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|(\*\*|__|`)(.+?)\2|[ \t]*\{#[^}]*\}\s*$")
_LONGEST_TITLE = 200
_LONGEST_HEADING = 1000
_MOST_HEADER_ROWS = 5


def plain_title(text: str) -> str:
    """A heading's words without closing marks, links, emphasis and anchors.

    >>> plain_title("**Pumps** and [valves](v.md) ##")
    'Pumps and valves'
    """
    text = _ATX_END.sub("", text[:_LONGEST_HEADING])
    text = _MARKUP.sub(lambda match: match.group(1) or match.group(3) or "", text)
    return " ".join(text.split())


def first_title(text: str) -> str | None:
    """The first heading of level 1 that has words, or None."""
    blocks = (block for block in markdown_blocks(text) if block.kind == "heading")
    return next((block.title for block in blocks if block.level == 1 and block.title), None)


def markdown_blocks(text: str) -> Iterator[Block]:
    """The blocks of a Markdown text in order; nothing inside fenced code is structure."""
    lines = _Lines(text)
    at = 0
    prose = -1
    while at < len(lines):
        block = _block_at(lines, at, opens_paragraph=prose < 0)
        if block is None:
            prose = at if prose < 0 else prose
            at += 1
            continue
        if prose >= 0:
            yield Block("prose", lines.start(prose), lines.start(at))
            prose = -1
        yield block
        at += 1
        while at < len(lines) and lines.start(at) < block.end:
            at += 1
    if prose >= 0:
        yield Block("prose", lines.start(prose), len(text))


class _Lines:
    """Lines of a text with their offsets, and which fences are known to stay open."""

    def __init__(self, text: str) -> None:
        self.texts = text.split("\n")
        self.starts = [0]
        for line in self.texts:
            self.starts.append(self.starts[-1] + len(line) + 1)
        self.starts[-1] = len(text)
        self.open_fences: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, at: int) -> str:
        return self.texts[at] if at < len(self.texts) else ""

    def start(self, at: int) -> int:
        return self.starts[at]


def _block_at(lines: _Lines, at: int, *, opens_paragraph: bool) -> Block | None:
    """The block that starts in this line, or None where it is prose."""
    line = lines[at]
    start, end = lines.start(at), lines.start(at + 1)
    if not line.strip():
        return Block("blank", start, end)
    if "#" in line[:10]:
        match = _ATX.match(line)
        if match is not None:
            marks, title = match.group(1) or match.group(3), match.group(2) or match.group(4)
            return Block("heading", start, end, len(marks), plain_title(title or ""))
        tight = _TIGHT_TITLE.match(line) if opens_paragraph else None
        if tight is not None and len(line) <= _LONGEST_TITLE and not lines[at + 1].strip():
            return Block("heading", start, end, 1, plain_title(tight.group(1)))
    if "`" in line or "~" in line:
        code = _code_end(lines, at)
        if code:
            return Block("code", start, lines.start(code))
    table = _table_at(lines, at)
    if table is not None:
        return table
    underline = _UNDERLINE.match(lines[at + 1]) if opens_paragraph else None
    if underline and len(line) <= _LONGEST_TITLE and not _NOT_A_TITLE.match(line):
        level = 1 if underline.group(1) else 2
        return Block("heading", start, lines.start(at + 2), level, plain_title(line))
    return None


def _code_end(lines: _Lines, at: int) -> int:
    """The line after the closing fence; 0 where none opens here or it is never closed."""
    match = _FENCE.match(lines[at])
    if match is None:
        return 0
    fence = match.group(1)
    if len(fence) >= lines.open_fences.get(fence[0], len(fence) + 1):
        return 0
    for other in range(at + 1, len(lines)):
        closing = lines[other].strip()
        if len(closing) >= len(fence) and not closing.strip(fence[0]):
            return other + 1
    lines.open_fences[fence[0]] = len(fence)
    return 0


def _table_at(lines: _Lines, at: int) -> Block | None:
    """A pipe table: header rows, a separator, rows; without outer pipes one header row only."""
    if "|" not in lines[at] or _is_separator(lines[at]):
        return None
    separator = at + 1
    if lines[at].lstrip().startswith("|"):
        while lines[separator].lstrip().startswith("|") and not _is_separator(lines[separator]):
            separator += 1
            if separator - at > _MOST_HEADER_ROWS:
                return None
    if not _is_separator(lines[separator]) or "|" not in lines[separator]:
        return None
    last = separator + 1
    while last < len(lines) and "|" in lines[last] and not _ATX.match(lines[last]):
        last += 1
    above = [_cells(line) for line in lines.texts[at:separator]]
    below = [_cells(line) for line in lines.texts[separator + 1 : last][:LOOKED_AT]]
    body = lines.start(separator + 1 + header_below(above, below))
    return Block("table", lines.start(at), lines.start(last), body=body)


def _cells(line: str) -> list[str]:
    return [cell.text for cell in row_cells(line, 0, len(line))]


def _is_separator(line: str) -> bool:
    """True for a table's separator row, such as ``|---|:-:|``."""
    if "-" not in line:
        return False
    cells = line.strip().removeprefix("|").removesuffix("|").split("|")
    return all(_SEPARATOR_CELL.fullmatch(cell) for cell in cells)
