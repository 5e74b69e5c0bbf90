"""Headers, footers and page numbers that repeat from page to page."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from graphkb.ingest.pdf.shapes import Box, Line

_ZONE = 0.13
_MOST_LINES = 4
_LONGEST = 160
_LEAST_SHARE = 0.3
_LARGEST = 1.1
_LEAST_NUMBERED = 5
_NUMBER = re.compile(r"\d+")
_MOST_DIGITS = 18
# Numbers still rise with the pages where an excerpt leaves some out.
_LEFT_OUT = range(-2, 3)
# What a number behind these counts is no pages.
_IDENTIFIER = re.compile(
    r"(?<!page )(?:\b(?:nos?|nr|number|id|serial|ref(?:erence)?)\b\.?|№|"
    r"编号|号码|证号|单号|序列号|證號)"
    r"[\s:：.#]*[A-Z]*[-/]?\d[\w/.-]*",
    re.IGNORECASE,
)
_NUMBER_OR_IDENTIFIER = re.compile(rf"{_IDENTIFIER.pattern}|{_NUMBER.pattern}", re.IGNORECASE)
_AT_ENDS = re.compile(r"^(?:#|[ivxlc]+\b|[\s|·•./-])+|(?:#|\b[ivxlc]+|[\s|·•./-])+$")
_PAGE_OF = re.compile(
    r"(?:page\s+)?#\s*(?:of|/)\s*#|page\s+#|第\s*#\s*页(?:\s*[/，,]?\s*共\s*#\s*页)?|#\s*/\s*#\s*页?"
)
_EXPLICIT = re.compile(r"page\s+#(?:\s*(?:of|/)\s*#)?|第\s*#\s*页(?:\s*[/，,]?\s*共\s*#\s*页)?")


@dataclass(frozen=True)
class Edge:
    """A line near the top or the bottom of a page; ``page`` and ``line`` are places in lists."""

    page: int
    line: int
    text: str
    at_top: bool
    size: float


def repeated_lines(
    pages: Sequence[tuple[Box, Sequence[Line]]],
) -> tuple[set[tuple[int, int]], list[str]]:
    """(page, line) of every header, footer and page number, and one text of each kind.

    ``pages`` are page boxes with their lines. A header stands near the same edge with the same
    words, page numbers aside, on at least three pages and three tenths of all (of two or three
    pages: on two), and is not set larger than the text unless all but the page number is the same.
    Page numbers rise with the pages, or say so ("Page 3 of 9", "第 3 页").
    """
    edges = [edge for number, page in enumerate(pages) for edge in _edges(number, *page)]
    least = max(2 if len(pages) < 4 else 3, _LEAST_SHARE * len(pages))
    largest = _LARGEST * _body_size(pages)
    gone = [edge for edge in edges if _EXPLICIT.fullmatch(_shape(edge.text))]
    gone += _same_words(edges, least, largest)
    gone += _numbered(edges, least, largest)
    return {(edge.page, edge.line) for edge in gone}, _one_of_each([edge.text for edge in gone])


def _same_words(edges: list[Edge], least: float, largest: float) -> list[Edge]:
    """Lines with the same words at the same edge of enough pages.

    A title in a larger font that the pages after it repeat stays.
    """
    groups: dict[tuple[str, bool], list[Edge]] = defaultdict(list)
    for edge in edges:
        if key := words_of(edge.text):
            groups[key, edge.at_top].append(edge)
    found: list[Edge] = []
    for group in groups.values():
        same = Counter(_without_number(edge.text) for edge in group)
        usual = _LARGEST * median(edge.size for edge in group)
        kept = [
            edge
            for edge in group
            if edge.size <= largest
            or (edge.size <= usual and same[_without_number(edge.text)] >= least)
        ]
        kept = _without_identifiers(kept, least)
        if len({edge.page for edge in kept}) >= least:
            found += kept
    return found


def _without_identifiers(edges: list[Edge], least: float) -> list[Edge]:
    """Lines with the same words whose numbers, the page's own aside, repeat as well.

    Where most pages have another number, as the certificates of one scan have, it is what tells
    them apart: only lines of which enough are the same go.
    """
    same: dict[str, set[int]] = defaultdict(set)
    offsets: dict[int, set[int]] = defaultdict(set)
    for edge in edges:
        for value in _NUMBER.findall(edge.text):
            offsets[int(value[:_MOST_DIGITS]) - edge.page].add(edge.page)
    running = {
        offset
        for offset in offsets
        if len(set().union(*(offsets.get(offset + n, set()) for n in _LEFT_OUT))) >= min(least, 3)
    }

    def without_page(edge: Edge) -> str:
        def shown(found: re.Match[str]) -> str:
            is_page = found[0].isdigit() and int(found[0][:_MOST_DIGITS]) - edge.page in running
            return "" if is_page else found[0]

        return " ".join(_NUMBER_OR_IDENTIFIER.sub(shown, edge.text).casefold().split())

    for edge in edges:
        same[without_page(edge)].add(edge.page)
    n_pages = len({edge.page for edge in edges})
    if 2 * len(same) <= n_pages:
        return edges
    return [edge for edge in edges if len(same[without_page(edge)]) >= least]


def _numbered(edges: list[Edge], least: float, largest: float) -> list[Edge]:
    """Page numbers: numbers that rise by one from page to page, or are the page's own.

    Where the numbering runs through most pages, the words beside them (chapter names that change)
    are part of the header.
    """
    groups: dict[tuple[int, bool], list[Edge]] = defaultdict(list)
    for edge in edges:
        text = _IDENTIFIER.sub("№", edge.text)
        for value in _page_numbers(text, bare=not words_of(edge.text)):
            groups[value - edge.page, edge.at_top].append(edge)
    found: list[Edge] = []
    for (offset, _), group in groups.items():
        n_pages = len({edge.page for edge in group})
        if offset == 1:
            found += [edge for edge in group if not words_of(edge.text)]
        if n_pages >= min(least, 3):
            runs_through = n_pages >= max(least, _LEAST_NUMBERED)
            found += [
                edge
                for edge in group
                if not words_of(edge.text) or (runs_through and edge.size <= largest)
            ]
    return found


def _without_number(text: str) -> str:
    """The line without a page number at its ends; numbers inside stay."""
    return re.sub(r"^\d+\s+|\s+\d+$", "", text.strip())


def _body_size(pages: Sequence[tuple[Box, Sequence[Line]]]) -> float:
    """The font size of most characters, in points."""
    sizes: Counter[float] = Counter()
    for _, lines in pages:
        for line in lines:
            sizes[round(line.size, 1)] += sum(len(run.text) for run in line.runs)
    return sizes.most_common(1)[0][0] if sizes else 0.0


def _page_numbers(text: str, *, bare: bool) -> list[int]:
    """What may be the page's number: those of a line without words, else at its ends."""
    found = _NUMBER.findall(text) if bare else re.findall(r"^\d+\b|\b\d+$", text.strip())
    return [int(value) for value in found if len(value) < 6]


def _edges(number: int, page: Box, lines: Sequence[Line]) -> Iterable[Edge]:
    """The outermost lines of a page within its top and bottom zones."""
    depth = _ZONE * page.height
    order = sorted(range(len(lines)), key=lambda at: lines[at].box.middle)
    short = [at for at in order if len(lines[at].text) <= _LONGEST]
    for at in short[:_MOST_LINES]:
        if lines[at].box.bottom < page.top + depth:
            yield Edge(number, at, lines[at].text, at_top=True, size=lines[at].size)
    for at in short[-_MOST_LINES:]:
        if lines[at].box.top > page.bottom - depth:
            yield Edge(number, at, lines[at].text, at_top=False, size=lines[at].size)


def _shape(text: str) -> str:
    return " ".join(_NUMBER.sub("#", text.casefold()).split())


def words_of(text: str) -> str:
    """What is left of a line without page numbers; other numbers are ``#``.

    >>> words_of("47700 Federal Register / Vol. 85"), words_of("- 12 -"), words_of("第 3 页")
    ('federal register / vol', '', '')
    """
    shape = _shape(text)
    if _PAGE_OF.fullmatch(shape):
        return ""
    return _AT_ENDS.sub("", shape).strip()


def _one_of_each(texts: Iterable[str]) -> list[str]:
    """A text of every kind, most frequent first; the first and the last where they differ."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for text in texts:
        kinds[words_of(text)].append(text)
    counts = Counter({key: len(found) for key, found in kinds.items()})
    return [
        kinds[key][0] if not key or kinds[key][0] == kinds[key][-1]
        else f"{kinds[key][0]} … {kinds[key][-1]}"
        for key, _ in counts.most_common()
    ]  # fmt: skip
