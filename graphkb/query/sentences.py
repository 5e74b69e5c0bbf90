"""The sentences of a passage with what they are read under: heading and column names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphkb.query.headlines import is_headline
from graphkb.text.headings import HEADING_MARKS
from graphkb.text.language import HAN
from graphkb.text.lists import items_end
from graphkb.text.sentences import sentence_spans
from graphkb.text.table_head import table_lines
from graphkb.text.table_rows import row_cells

_HEADING = re.compile(HEADING_MARKS + r"(.*)")
# What no reader of the document sees.
_COMMENT = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>")
_VISIBLE = re.compile(r"[^\n]")
_SHORT = 6
_HAN = re.compile(f"[{HAN}]")
_SAYS = re.compile(r"[。！？]\Z|\w[：:]\s*\w")


@dataclass(frozen=True)
class Sentence:
    """A sentence, or a whole row of a table; ``start`` and ``end`` are offsets in its text.

    ``heading`` is the last heading above it in the text, and below a line end the last line that
    is one without being marked. ``header`` holds the column names of
    the table that a row belongs to; it is empty where they are unknown.
    """

    start: int
    end: int
    text: str
    heading: str = ""
    header: tuple[str, ...] = ()


def sentences_of(text: str, columns: Sequence[str] = ()) -> Iterator[Sentence]:
    """Sentences and table rows worth quoting, in order.

    Comments of HTML are left out. ``columns`` names the columns of rows that the text begins
    with. A table ends at a blank line, a heading or prose; its header has the column names, and
    without a rule they are unknown: a row is never read under the names of another table. The
    only row of a table is quoted though a rule stands below it.

    >>> text = "| Plan | Fee |\\n|---|---|\\n| Pro | 49 |\\n\\n| City |\\n|---|\\n| Bonn |"
    >>> [(s.text, s.header) for s in sentences_of(text)]
    [('| Pro | 49 |', ('Plan', 'Fee')), ('| Bonn |', ('City',))]
    """
    shown = _COMMENT.sub(lambda comment: _VISIBLE.sub(" ", comment.group()), text)
    header = tuple(columns)
    heading = ""
    headline = ""
    rows: list[tuple[int, int]] = []
    position = 0
    lines = shown.split("\n")
    for place, line in enumerate(lines):
        start, end = position, position + len(line)
        position = end + 1
        if table_cells(line):
            rows.append((start, end))
            continue
        if rows:
            yield from _rows(text, rows, header, f"{heading}{headline}")
            rows = []
        header = ()
        if found := _HEADING.fullmatch(line.strip()):
            heading, headline = found.group(1), ""
            continue
        if is_headline(lines, place):
            headline = f"\n{line.strip()}"
            continue
        for first, last in sentence_spans(line):
            quotable = is_quotable(line[first:last])
            first, last = start + first, start + last
            # 步骤如下： says little, but opens a list.
            if quotable or items_end(shown, first, last) > last:
                yield Sentence(first, last, text[first:last], f"{heading}{headline}")
    if rows:
        yield from _rows(text, rows, header, f"{heading}{headline}")


def _rows(
    text: str, spans: Sequence[tuple[int, int]], header: tuple[str, ...], heading: str
) -> Iterator[Sentence]:
    """The rows of lines that follow each other, without the header rows and their rules."""
    lines = [text[start:end] for start, end in spans]
    for (start, _), line, parsed in zip(spans, lines, table_lines(lines, header), strict=True):
        if parsed.names is not None and is_quotable(line):
            start += len(line) - len(line.lstrip())
            yield Sentence(start, start + len(line.strip()), line.strip(), heading, parsed.names)


def table_cells(line: str) -> tuple[str, ...]:
    """Cells of a Markdown table row; nothing for another line. A bar behind a backslash is text.

    >>> table_cells("| 专业版 | 49 元 |"), table_cells("| a\\\\|b |"), table_cells("no row")
    (('专业版', '49 元'), ('a|b',), ())
    """
    stripped = line.strip()
    if len(stripped) < 3 or not (stripped.startswith("|") and stripped.endswith("|")):
        return ()
    return tuple(cell.text.replace("\\|", "|") for cell in row_cells(stripped, 0, len(stripped)))


def is_quotable(text: str) -> bool:
    """Headings, table rules, tags and scraps are not sentences worth quoting. What is shorter than
    six letters is one where it ends as a sentence or says what something is; a Chinese character
    says about as much as two letters.

    >>> [is_quotable(text) for text in ("单位：元", "他已离职。", "Unit", "注册资本")]
    [True, True, False, False]
    """
    stripped = (_TAG.sub("", text) if "<" in text else text).strip()
    telling = bool(stripped.strip("|-: *_=")) and (
        len(stripped) >= _SHORT
        or (len(stripped) + len(_HAN.findall(stripped)) >= _SHORT and bool(_SAYS.search(stripped)))
    )
    return telling and not _HEADING.fullmatch(stripped)
