"""Markdown cut by its headings."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise, takewhile

from graphkb.ingest.blocks import Block, markdown_blocks
from graphkb.ingest.chunkers.piece import Budget, Piece, kind_of, trim
from graphkb.ingest.chunkers.sentence import cut_blocks
from graphkb.ingest.chunkers.token import cut_plain
from graphkb.text.tokens import count_tokens

STRUCTURE = re.compile(r"(?m)[#|`~]|^ {0,3}(?:={2,}|-{3,})[ \t]*$")
"""What a text with headings, tables or code has; in the syntax of Rust too."""


@dataclass(frozen=True)
class Section:
    """A heading with what follows it, or several that are kept together.

    ``root`` is the path of the first heading; ``path`` the headings that hold for all of it;
    ``n_tokens`` adds up those of its parts. ``page`` is how many breaks stand before it.
    """

    root: tuple[str, ...]
    path: tuple[str, ...]
    blocks: tuple[Block, ...]
    n_tokens: int
    page: int = 0

    @property
    def is_bare(self) -> bool:
        """True where there is nothing but headings."""
        return all(block.kind in {"heading", "blank"} for block in self.blocks)


def cut_markdown(text: str, budget: Budget) -> list[Piece]:
    """One unit a section where it fits; small neighbours together, large sections cut.

    A section below a quarter of the size joins the next one under the same parent, and the last
    one the one before, while both fit one unit. A heading without text of its own goes with the
    section below it. Overlap stays within a section. Nothing reaches over ``budget.breaks`` but a
    table or code block that does so itself.
    """
    if STRUCTURE.search(text) is None:
        return cut_plain(text, budget)
    pieces: list[Piece] = []
    for section in _merge(_sections(text, budget.breaks), budget):
        start, end = trim(text, section.blocks[0].start, section.blocks[-1].end)
        if start == end:
            continue
        n_tokens = count_tokens(text[start:end])
        if n_tokens <= budget.size:
            kind = kind_of(block.kind for block in section.blocks)
            pieces.append(Piece(start, end, n_tokens, kind, section.path))
        else:
            pieces += cut_blocks(text, list(section.blocks), budget, section.path)
    return pieces


def _sections(text: str, breaks: tuple[int, ...]) -> list[Section]:
    """One section a heading, ended at breaks; what stands above the first heading has the empty
    path."""
    sections: list[Section] = []
    headings: list[Block] = []
    blocks: list[Block] = []

    def close() -> None:
        if blocks:
            n_tokens = count_tokens(text[blocks[0].start : blocks[-1].end])
            path = tuple(heading.title for heading in headings if heading.title)
            page = bisect_right(breaks, blocks[0].start)
            sections.append(Section(path, path, tuple(blocks), n_tokens, page))
            blocks.clear()

    for block in _parted(markdown_blocks(text), breaks):
        if blocks and bisect_right(breaks, block.start) > bisect_right(breaks, blocks[0].start):
            close()
        if block.kind == "heading":
            close()
            while headings and headings[-1].level >= block.level:
                headings.pop()
            headings.append(block)
        blocks.append(block)
    close()
    return sections


def _parted(blocks: Iterable[Block], breaks: tuple[int, ...]) -> Iterator[Block]:
    """The blocks, prose in parts where a break stands inside it."""
    for block in blocks:
        inside = breaks[bisect_right(breaks, block.start) : bisect_left(breaks, block.end)]
        if block.kind != "prose" or not inside:
            yield block
            continue
        for start, end in pairwise((block.start, *dict.fromkeys(inside), block.end)):
            yield replace(block, start=start, end=end)


def _merge(sections: list[Section], budget: Budget) -> list[Section]:
    merged: list[Section] = []
    for section in sections:
        above = merged[-1] if merged else None
        if above is not None and _belongs(above, section):
            leads = above.is_bare and _is_above(above, section)
            both = _join(above, section, leads=leads)
            if leads or (above.n_tokens < budget.small and both.n_tokens <= budget.size):
                merged[-1] = both
                continue
        merged.append(section)
    return _merge_tails(merged, budget)


def _merge_tails(sections: list[Section], budget: Budget) -> list[Section]:
    """Small sections that found no room after them join the one before."""
    merged: list[Section] = []
    for section in sections:
        above = merged[-1] if merged else None
        if above is not None and section.n_tokens < budget.small and _belongs(above, section):
            both = _join(above, section, leads=False)
            if both.n_tokens <= budget.size:
                merged[-1] = both
                continue
        merged.append(section)
    return merged


def _belongs(above: Section, section: Section) -> bool:
    """True where the section stands under the same parent as the one above, at any depth, and
    on its page."""
    parent = above.root[:-1]
    return section.root[: len(parent)] == parent and section.page == above.page


def _is_above(above: Section, section: Section) -> bool:
    """True where the section is a child of the headings above, or nothing stands above."""
    nothing = all(block.kind == "blank" for block in above.blocks)
    deeper = len(section.path) > len(above.path) > 0
    return nothing or (deeper and section.path[: len(above.path)] == above.path)


def _join(above: Section, section: Section, *, leads: bool) -> Section:
    shared = tuple(
        first for first, _ in takewhile(lambda pair: pair[0] == pair[1],
                                        zip(above.path, section.path, strict=False))
    )  # fmt: skip
    blocks = above.blocks + section.blocks
    path = section.path if leads else shared
    return Section(above.root, path, blocks, above.n_tokens + section.n_tokens, above.page)
