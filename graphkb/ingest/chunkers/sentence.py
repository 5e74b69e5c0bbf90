"""The blocks of one section packed into units of whole sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from math import ceil

from graphkb.ingest.blocks import Block
from graphkb.ingest.chunkers.long import cut_long
from graphkb.ingest.chunkers.piece import Budget, Piece, kind_of, trim
from graphkb.ingest.chunkers.table import cut_table
from graphkb.text.sentences import cover_spans
from graphkb.text.tokens import count_tokens

# How well a unit may end after a part.
_HEADING, _LINE, _SENTENCE, _PARAGRAPH = range(4)
_SENTENCE_END = re.compile(r"[。！？!?….;；]['\"”’」』）)\]】]*\s*$")
_WINDOW = 4_000
_WINDOW_END = re.compile(r"[。！？!?；;，,、.]|\s")


@dataclass(frozen=True)
class Part:
    """A sentence, line, heading, small table or code block: what is not cut further."""

    start: int
    end: int
    n_tokens: int
    kind: str
    ending: int


def cut_blocks(
    text: str, blocks: list[Block], budget: Budget, path: tuple[str, ...]
) -> list[Piece]:
    """Units of at most ``budget.size`` tokens over all of the section's blocks, in order.

    Tables that are too large are cut between rows and sentences that are too long by tokens;
    what leads up to them stays with them where it is little.
    """
    pieces: list[Piece] = []
    flow: list[Part] = []
    for block in blocks:
        for part in _parts(text, block, budget):
            if part.n_tokens <= budget.size:
                flow.append(part)
                continue
            lead = flow if sum(other.n_tokens for other in flow) <= budget.small else []
            if not lead:
                pieces += _pack(text, flow, budget, path)
            start = lead[0].start if lead else part.start
            if part.kind == "table":
                kind = kind_of([*(other.kind for other in lead), "table"])
                cut = cut_table(text, block, start, kind, budget)
                pieces += [replace(piece, heading_path=path) for piece in cut]
            else:
                cut = cut_long(text, start, part.end, kind_of([part.kind]), budget)
                pieces += [replace(piece, heading_path=path) for piece in cut]
            flow = []
        if flow and block.kind != "heading":
            flow[-1] = replace(flow[-1], ending=_end_of_block(flow[-1], block))
    return pieces + _pack(text, flow, budget, path)


def _end_of_block(part: Part, block: Block) -> int:
    if block.kind == "blank":
        return part.ending if part.ending == _HEADING else _PARAGRAPH
    return _PARAGRAPH if block.kind in {"table", "code"} else part.ending


def _parts(text: str, block: Block, budget: Budget) -> Iterator[Part]:
    """The block in parts; a table, however large, is one, as is code that fits a unit."""
    if block.kind == "blank":
        return
    if block.kind != "prose":
        n_tokens = count_tokens(text[block.start : block.end])
        if block.kind == "table" or n_tokens <= budget.size:
            yield Part(block.start, block.end, n_tokens, block.kind, _HEADING)
            return
    for start, end in _sentences(text, block.start, block.end):
        ended = _SENTENCE_END.search(text, max(start, end - 8), end)
        n_tokens = count_tokens(text[start:end])
        yield Part(start, end, n_tokens, block.kind, _SENTENCE if ended else _LINE)


def _sentences(text: str, start: int, end: int) -> Iterator[tuple[int, int]]:
    """Spans of sentences, line by line; a very long line is looked at window by window."""
    while start < end:
        line_end = text.find("\n", start, end) + 1 or end
        while start < line_end:
            stop = line_end
            if line_end - start > _WINDOW:
                stop = _window_end(text, start)
            for first, last in cover_spans(text[start:stop]):
                if not text[start + first : start + last].isspace():
                    yield start + first, start + last
            start = stop


def _window_end(text: str, start: int) -> int:
    """A place near the window's end where a sentence, a clause or a word ends."""
    ends = [
        match.end() for match in _WINDOW_END.finditer(text, start + _WINDOW // 2, start + _WINDOW)
    ]
    return ends[-1] if ends else start + _WINDOW


def _pack(text: str, parts: list[Part], budget: Budget, path: tuple[str, ...]) -> list[Piece]:
    """Parts in order into units of even size, each beginning with the end of the one before."""
    before = [0, *accumulate(part.n_tokens for part in parts)]
    pieces: list[Piece] = []
    first = head = 0
    while first < len(parts):
        last = _fitting(before, head, first, budget.size)
        if last < len(parts):
            room = max(1, budget.size - (before[first] - before[head]))
            left = before[-1] - before[first]
            last = _best_end(parts, before, first, last, left / ceil(left / room))
        start, end = trim(text, parts[head].start, parts[last - 1].end)
        n_tokens = count_tokens(text[start:end])
        # Tokens of parts do not add up exactly to those of the whole.
        while n_tokens > budget.size and last - head > 1:
            if last - first > 1:
                last -= 1
            else:
                head += 1
            start, end = trim(text, parts[head].start, parts[last - 1].end)
            n_tokens = count_tokens(text[start:end])
        kind = kind_of(part.kind for part in parts[head:last])
        pieces.append(Piece(start, end, n_tokens, kind, path))
        head, first = _overlap(parts, before, head, last, budget), last
    return pieces


def _fitting(before: list[int], head: int, first: int, size: int) -> int:
    last = first + 1
    while last + 1 < len(before) and before[last + 1] - before[head] <= size:
        last += 1
    return last


def _best_end(parts: list[Part], before: list[int], first: int, last: int, target: float) -> int:
    """Among the ends from three quarters of ``target`` on the best one, then the nearest to it."""
    ends = [
        end for end in range(first + 1, last + 1) if before[end] - before[first] >= 0.75 * target
    ] or [last]
    return max(ends, key=lambda end: (parts[end - 1].ending,
                                      -abs(before[end] - before[first] - target)))  # fmt: skip


def _overlap(parts: list[Part], before: list[int], head: int, last: int, budget: Budget) -> int:
    """The part with which the next unit begins: sentences of prose within the overlap."""
    at = last
    while (
        at - 1 > head
        and parts[at - 1].kind == "prose"
        and before[last] - before[at - 1] <= budget.overlap
    ):
        at -= 1
    if last < len(parts):
        while at < last and before[last + 1] - before[at] > budget.size:
            at += 1
    return at
