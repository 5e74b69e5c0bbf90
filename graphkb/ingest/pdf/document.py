"""A whole PDF: pages one by one, then what holds for all of them, then Markdown."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import TYPE_CHECKING

from graphkb.errors import InputError
from graphkb.ingest.decode import clean_text
from graphkb.ingest.pdf.aligned import find_tables
from graphkb.ingest.pdf.furniture import repeated_lines
from graphkb.ingest.pdf.glyphs import draw_fields
from graphkb.ingest.pdf.page import PageLayout, Recognize, read_glyphs, read_page
from graphkb.ingest.pdf.paragraphs import Block, Fonts, blocks_of, join_lines, with_levels
from graphkb.ingest.pdf.pictures import Zone
from graphkb.ingest.pdf.reread import Rereader
from graphkb.ingest.pdf.shapes import Box, Line, Table
from graphkb.ingest.pdf.tree import count_pages

if TYPE_CHECKING:
    import pypdfium2

Progress = Callable[[int, int], None]
"""Called after each page with the number of pages done and of all pages."""

_STARTS_LOWER = re.compile(r"[a-zß-ÿ]|[\u4e00-\u9fff]")


@dataclass
class Pages:
    """Text of all pages and what is to be said about them; page numbers from 1.

    ``text`` is Markdown; ``page_starts`` as in Record. ``scanned`` and ``garbled`` pages miss
    text, ``damaged`` ones could not be opened; ``confidence`` is OCR's by page; ``unsure``
    counts the lines it left out; ``pictures`` those that were not read; ``furniture`` are the
    repeated lines that were removed.
    """

    text: str = ""
    page_starts: tuple[int, ...] = ()
    scanned: list[int] = field(default_factory=list)
    garbled: list[int] = field(default_factory=list)
    damaged: list[int] = field(default_factory=list)
    confidence: dict[int, float] = field(default_factory=dict)
    unsure: dict[int, int] = field(default_factory=dict)
    pictures: dict[int, int] = field(default_factory=dict)
    furniture: list[str] = field(default_factory=list)
    left_out: dict[str, list[int]] = field(default_factory=dict)


def read_pages(
    document: pypdfium2.PdfDocument,
    data: bytes,
    recognize: Recognize | None = None,
    *,
    keep_repeated: bool = False,
    progress: Progress | None = None,
) -> Pages:
    """All pages of an open document, one in memory at a time; ``data`` are its bytes.

    Raises InputError where no page can be opened.
    """
    numbers = range(count_pages(document, data))
    layouts = read_layouts(document, data, numbers, recognize, progress)
    return finish(layouts, keep_repeated=keep_repeated)


def read_layouts(
    document: pypdfium2.PdfDocument,
    data: bytes,
    numbers: range,
    recognize: Recognize | None = None,
    progress: Progress | None = None,
    *,
    pictures: bool = False,
) -> list[PageLayout]:
    """The layouts of the pages with these numbers, from 0. ``progress`` counts them;
    ``pictures`` says whether those of pages of text are looked at."""
    rereader = Rereader(data)
    layouts: list[PageLayout] = []
    for done, number in enumerate(numbers, 1):
        layouts.append(_read_one(document, number, rereader, recognize, pictures))
        if progress is not None:
            progress(done, len(numbers))
    return layouts


def finish(layouts: Sequence[PageLayout], *, keep_repeated: bool = False) -> Pages:
    """The document of all its pages' layouts, in their order; it changes them.

    Raises InputError where no page could be opened.
    """
    pages = Pages()
    for number, layout in enumerate(layouts, 1):
        _note(pages, layout, number)
    if len(pages.damaged) == len(layouts):
        raise InputError(f"none of its {len(layouts)} pages can be opened; the file is damaged")
    compose(layouts, pages, keep_repeated=keep_repeated)
    return pages


def _read_one(
    document: pypdfium2.PdfDocument,
    number: int,
    rereader: Rereader,
    recognize: Recognize | None,
    pictures: bool,
) -> PageLayout:
    """The page's layout; of one that the document's count leaves out the text alone."""
    import pypdfium2

    try:
        if number >= len(document):
            return read_glyphs(*rereader.read(number))
        return _read_opened(document, number, rereader, recognize, pictures)
    except pypdfium2.PdfiumError:
        return PageLayout(Box(0, 0, 1, 1), problem="damaged")


def _read_opened(
    document: pypdfium2.PdfDocument,
    number: int,
    rereader: Rereader,
    recognize: Recognize | None,
    pictures: bool,
) -> PageLayout:
    page = document[number]
    if draw_fields(page):
        page.close()
        page = document[number]
    try:
        return read_page(page, lambda: rereader.read(number), recognize, pictures=pictures)
    finally:
        page.close()


def _note(pages: Pages, layout: PageLayout, number: int) -> None:
    if layout.problem == "scanned":
        pages.scanned.append(number)
    elif layout.problem == "garbled":
        pages.garbled.append(number)
    elif layout.problem == "damaged":
        pages.damaged.append(number)
    if layout.confidence is not None:
        pages.confidence[number] = layout.confidence
    if layout.n_unsure:
        pages.unsure[number] = layout.n_unsure
    if layout.n_pictures:
        pages.pictures[number] = layout.n_pictures
    for text in layout.left_out:
        pages.left_out.setdefault(text, []).append(number)


def compose(layouts: Sequence[PageLayout], pages: Pages, *, keep_repeated: bool = False) -> None:
    """Removes what repeats, finds tables without rulings, builds paragraphs, joins the pages."""
    if not keep_repeated:
        lines = [
            [item for zone in layout.zones for item in zone if isinstance(item, Line)]
            for layout in layouts
        ]
        repeated, pages.furniture = repeated_lines(
            [(layout.box, found) for layout, found in zip(layouts, lines, strict=True)]
        )
        gone = {id(lines[page][line]) for page, line in repeated}
        if len(gone) == sum(map(len, lines)) and not any(map(_has_table, layouts)):
            gone, pages.furniture = set(), []
        for layout in layouts:
            layout.zones = [
                [item for item in zone if id(item) not in gone] for zone in layout.zones
            ]
    fonts = Fonts()
    above: Line | Table | None = None
    for layout in layouts:
        layout.zones = [found for zone in layout.zones if (found := _with_tables(zone))]
        if layout.zones:
            first, last = layout.zones[0], layout.zones[-1]
            whole, begins = above, first[0]
            above = last[-1]
            if isinstance(begins, Table) and isinstance(whole, Table):
                first[0] = begins.after(whole)
                if above is begins and first[0] is not begins:
                    above = replace(begins, rows=whole.rows, n_header=whole.n_header)
        for zone in layout.zones:
            for item in zone:
                if isinstance(item, Line):
                    fonts.add(item)
    ranks = fonts.ranks()
    blocks = [
        [block for zone in layout.zones for block in blocks_of(zone, fonts, ranks)]
        for layout in layouts
    ]
    marked = iter(with_levels(block for page in blocks for block in page))
    text = _Text(fonts)
    for page in blocks:
        text.page(list(islice(marked, len(page))))
    pages.text, pages.page_starts = text.finished()


def _has_table(layout: PageLayout) -> bool:
    return any(isinstance(item, Table) for zone in layout.zones for item in zone)


def _with_tables(zone: Zone) -> Zone:
    """The zone with its tables without ruling lines."""
    found: Zone = []
    stretch: list[Line] = []
    for item in zone:
        if isinstance(item, Line):
            stretch.append(item)
            continue
        found += [*find_tables(stretch), item]
        stretch = []
    return [*found, *find_tables(stretch)]


class _Text:
    """Blocks one after the other; a paragraph goes on over the end of a column or page."""

    def __init__(self, fonts: Fonts) -> None:
        self.words = fonts.words
        self.parts: list[str] = []
        self.starts: list[int] = []
        self.length = 0
        self.n_waiting = 0
        self.last: Block | None = None

    def page(self, blocks: list[Block]) -> None:
        """Adds one page; a page without blocks begins where the next one does."""
        self.n_waiting += 1
        for block in blocks:
            text = self._join(block)
            self.starts += [self.length] * self.n_waiting
            self.n_waiting = 0
            self._add(clean_text(text)[0])
            self.last = block

    def _join(self, block: Block) -> str:
        """The block's text, with what the text so far needs at its end put there."""
        last = self.last
        if last is None:
            return block.text
        goes_on = (
            last.open
            and block.first
            and last.kind == block.kind == "prose"
            and _STARTS_LOWER.match(block.text)
        )
        if not goes_on:
            self._add("\n" if block.kind == "rows" else "\n\n")
            return block.text
        end = self.parts.pop()
        self.length -= len(end)
        joined = join_lines([end, block.text], self.words)
        kept = len(joined) - len(block.text)
        self._add(joined[:kept])
        return joined[kept:]

    def _add(self, text: str) -> None:
        self.parts.append(text)
        self.length += len(text)

    def finished(self) -> tuple[str, tuple[int, ...]]:
        """The text and where each page starts in it."""
        starts = self.starts + [self.length] * self.n_waiting
        return "".join(self.parts), tuple(starts)
