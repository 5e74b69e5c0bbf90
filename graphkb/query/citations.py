"""Citations: numbering sources, and checking that every ``[n]`` points to one that supports it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphkb.query.extractive import Quote
from graphkb.types import Citation

_MARK = re.compile(r"\[(\d{1,4})\]")


def cite(quotes: Sequence[Quote]) -> list[Citation]:
    """One citation a quote, numbered from 1 in order."""
    return [
        Citation(
            number=number,
            text_unit_id=quote.passage.text_unit_id,
            document_id=quote.passage.document_id,
            title=quote.passage.title,
            path=quote.passage.path,
            heading=quote.passage.heading,
            page=quote.passage.page,
            char_start=quote.start,
            char_end=quote.end,
            quote=quote.text,
        )
        for number, quote in enumerate(quotes, 1)
    ]


def check_citations(
    text: str, citations: Sequence[Citation], documents: dict[str, str]
) -> tuple[str, list[Citation], list[str]]:
    """Text, citations and warnings after checking every ``[n]`` of an answer.

    A mark without a source is removed and reported; a source whose span does not hold its
    quote in ``documents`` (id to text) is dropped with its mark; unused sources are dropped.
    Numbers are kept as they are.
    """
    warnings: list[str] = []
    sound: dict[int, Citation] = {}
    for citation in citations:
        document = documents.get(citation.document_id)
        if document is not None:
            found = document[citation.char_start : citation.char_end]
            if found != citation.quote:
                warnings.append(f"citation [{citation.number}] does not match its source: removed")
                continue
        sound[citation.number] = citation
    used: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if number in sound:
            used.add(number)
            return match.group()
        if number not in {citation.number for citation in citations}:
            warnings.append(f"citation [{number}] points to no source: removed")
        return ""

    checked = _MARK.sub(keep, text)
    return checked, [c for n, c in sorted(sound.items()) if n in used], warnings
