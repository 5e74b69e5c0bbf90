"""Numbered sources: what a model is shown while it gathers points, and what its points cite.

A model sees entries (a report, a document's passage), each a heading with numbered lines below
it, and names the numbers its points rest on. Every line knows its text units, so that a point
leads back to the documents.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from graphkb.query.marks import defuse_marks
from graphkb.text.headings import HEADING_MARKS
from graphkb.text.table_rows import header_rows
from graphkb.text.tokens import count_tokens, truncate_tokens
from graphkb.types import Passage

# Tokens that marks, numbers and line ends of one line cost.
_LINE = 4
_HEADING = re.compile(HEADING_MARKS + r"(.*\S)")
_ROW = re.compile(r"\n\s*\|")


@dataclass(frozen=True)
class Source:
    """A numbered line: ``text`` rests on what stands in these text units."""

    text: str
    text_unit_ids: tuple[str, ...]


@dataclass(frozen=True)
class Entry:
    """A heading and the numbered lines below it; ``key`` is the community of a report."""

    heading: str
    sources: tuple[Source, ...]
    key: int = -1


def shown(entries: Sequence[Entry]) -> str:
    """Entries as a model sees them, their sources numbered from 1 over all of them.

    Bracketed numbers of the texts themselves are no numbers of sources: they get round ones.

    >>> print(shown([Entry("Osprey", (Source("Ada leads it [7].", ("u1",)),))]))
    # Osprey
    [1] Ada leads it (7).
    """
    lines: list[str] = []
    number = 0
    for entry in entries:
        lines.append(f"# {entry.heading}")
        for source in entry.sources:
            number += 1
            lines.append(f"[{number}] {defuse_marks(source.text)}")
    return "\n".join(lines)


def sources_of(entries: Sequence[Entry]) -> list[Source]:
    """The sources in the order of their numbers."""
    return [source for entry in entries for source in entry.sources]


def passage_entry(passage: Passage) -> Entry:
    """A text unit as one source below its title and headings, which it does not repeat."""
    heading = " › ".join(part for part in (passage.title, passage.heading) if part)
    lines = [
        line
        for line in (*header_rows(passage.columns).splitlines(), *passage.text.splitlines())
        if not (found := _HEADING.match(line)) or found.group(1) not in heading
    ]
    # Rows of a table stay apart; other lines are joined, so that none begins with a number.
    text = "\n| ".join(" ".join(part.split()) for part in _ROW.split("\n".join(lines)))
    return Entry(heading, (Source(text, (passage.text_unit_id,)),))


def entry_cost(entry: Entry) -> int:
    """Tokens of an entry as it is shown."""
    lines = [entry.heading, *(source.text for source in entry.sources)]
    return sum(count_tokens(line) + _LINE for line in lines)


def shortened(entry: Entry, budget: int) -> Entry:
    """The entry within ``budget`` tokens: last sources left out, an only one cut."""
    while len(entry.sources) > 1 and entry_cost(entry) > budget:
        entry = replace(entry, sources=entry.sources[:-1])
    if entry_cost(entry) > budget:
        heading = truncate_tokens(entry.heading, budget // 4)
        room = budget - count_tokens(heading) - 2 * _LINE
        text = truncate_tokens(entry.sources[0].text, room)
        entry = replace(entry, heading=heading, sources=(replace(entry.sources[0], text=text),))
    return entry


def deal(entries: Sequence[Entry], room: int, most: int) -> tuple[list[list[Entry]], int]:
    """Entries dealt to at most ``most`` calls of ``room`` tokens, and how many were left out.

    The first entries go first, each to the call with the most room left, so that every call
    gets a like share of the best ones; no more calls are opened than their tokens need.
    """
    entries = [shortened(entry, room) for entry in entries]
    costs = [entry_cost(entry) for entry in entries]
    n_calls = min(most, -(-sum(costs) // room))
    calls: list[list[Entry]] = [[] for _ in range(n_calls)]
    left = [room] * n_calls
    out = 0
    for entry, cost in zip(entries, costs, strict=True):
        place = max(range(len(calls)), key=lambda call: (left[call], -call))
        if left[place] < cost and len(calls) < most:
            place = len(calls)
            calls.append([])
            left.append(room)
        if left[place] < cost:
            out += 1
            continue
        calls[place].append(entry)
        left[place] -= cost
    return calls, out
