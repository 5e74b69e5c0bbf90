"""Text without sentence ends, cut by tokens, and plain text cut by sentences."""

from __future__ import annotations

import re
from itertools import pairwise

from graphkb.ingest.blocks import Block
from graphkb.ingest.chunkers.piece import UNCOUNTED, Budget, Piece, trim
from graphkb.ingest.chunkers.sentence import cut_blocks
from graphkb.text.tokens import count_tokens

_LONGEST_TOKEN = 128
_GAP = re.compile(r"\n[^\S\n]*(?:\n[^\S\n]*)+")


def cut_plain(text: str, budget: Budget) -> list[Piece]:
    """Units of whole sentences, ended at paragraphs where that keeps them even, and at breaks."""
    bounds = (0, *budget.breaks, len(text))
    return [
        piece for first, last in pairwise(bounds) for piece in _cut_part(text, first, last, budget)
    ]


def _cut_part(text: str, first: int, last: int, budget: Budget) -> list[Piece]:
    start, end = trim(text, first, last)
    if start == end:
        return []
    # No token is shorter than a byte.
    if not budget.counts and len(text[start:end].encode()) <= budget.size:
        return [Piece(start, end, UNCOUNTED)]
    if end - start <= budget.size * _LONGEST_TOKEN:
        n_tokens = count_tokens(text[start:end])
        if n_tokens <= budget.size:
            return [Piece(start, end, n_tokens)]
    blocks = []
    at = start
    for gap in _GAP.finditer(text, start, end):
        blocks += [Block("prose", at, gap.start() + 1), Block("blank", gap.start() + 1, gap.end())]
        at = gap.end()
    blocks.append(Block("prose", at, end))
    return cut_blocks(text, blocks, budget, ())
