"""Rows of evidence: what they cost in tokens, and how they are written and numbered."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache

from graphkb.text.tokens import count_tokens, truncate_tokens

# Most tokens of one description or of one child's report.
ROW_TOKENS = 120

# Tokens of a row's number with the bar behind it.
_NUMBER_TOKENS = 3

# Rows are seldom more, and words seldom longer.
_MOST_NUMBERED, _ENDING = 100, 30

_HEADS = {
    "Reports": "Reports of parts (id | title | summary)",
    "Entities": "Entities (id | name | type | description)",
    "Relationships": "Relationships (id | from | to | description)",
    "Sources": "Sources (id | sentence)",
}


@dataclass(frozen=True)
class Row:
    """One line of evidence before it has a number.

    ``key`` is the place of the entity or relationship in the corpus, of the sentence in the
    sentences, or the number of the child that a report is about; ``text_unit_ids`` are given
    for reports only.
    """

    section: str
    key: int
    text: str
    n_tokens: int
    text_unit_ids: tuple[str, ...] = ()


def make_row(section: str, key: int, *cells: str, text_unit_ids: tuple[str, ...] = ()) -> Row:
    """A row of one line."""
    text = " | ".join(one_line(cell) for cell in cells)
    return Row(section, key, text, count_tokens(text + "\n") + _NUMBER_TOKENS, text_unit_ids)


def one_line(text: str) -> str:
    """The text without line breaks and repeated spaces."""
    return " ".join(text.split())


def cut_text(text: str) -> str:
    """The text, or its beginning with an ellipsis when it is longer than a row may be."""
    # No token is shorter than a byte.
    if len(text.encode("utf-8", "surrogatepass")) <= ROW_TOKENS or count_tokens(text) <= ROW_TOKENS:
        return text
    return truncate_tokens(text, ROW_TOKENS) + "…"


@cache
def _head_cost(section: str) -> int:
    return count_tokens(f"\n\n{_HEADS[section]}\n")


def cost(rows: Sequence[Row]) -> int:
    """About how many tokens the rows take together with the heads of their sections."""
    heads = {row.section for row in rows}
    return sum(row.n_tokens for row in rows) + sum(_head_cost(section) for section in heads)


def take_rows(chosen: Sequence[Row], rows: Iterable[Row], limit: int) -> list[Row]:
    """``chosen`` and rows in order until the first that does not fit: no weak one jumps ahead."""
    taken = list(chosen)
    heads = {row.section for row in taken}
    spent = cost(taken)
    for row in rows:
        spent += row.n_tokens + (0 if row.section in heads else _head_cost(row.section))
        if spent > limit:
            break
        heads.add(row.section)
        taken.append(row)
    return taken


def all_forms(texts: Iterable[str]) -> Iterator[str]:
    """What rows made of the texts hold, for a tokenizer to learn at once."""
    yield "\n\n".join(_HEADS.values()) + "\n \n"
    yield "\n".join(map(str, range(1, _MOST_NUMBERED)))
    for text in map(one_line, texts):
        end = text[-_ENDING:]
        yield f"1 | {text}\n{text[:_ENDING]}\n\n{end} | \n{end}\n"


def write_rows(rows: Sequence[Row]) -> tuple[str, list[Row]]:
    """The rows as text, by section in an order that content gives, and in that order.

    They are numbered through from 1.
    """
    ordered: list[Row] = []
    parts: list[str] = []
    for section, head in _HEADS.items():
        inside = [row for row in rows if row.section == section]
        # Sentences stand in document order, which is that of their keys.
        inside.sort(key=lambda row: (row.key if row.section == "Sources" else 0, row.text))
        lines = [f"{len(ordered) + place} | {row.text}" for place, row in enumerate(inside, 1)]
        if lines:
            parts.append("\n".join([head, *lines]))
        ordered += inside
    return "\n\n".join(parts), ordered
