"""Tables of figures, such as price lists and accounts, told from rows that are documents."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from graphkb.settings_input import Fields
from graphkb.text.language import HAN
from graphkb.text.table_head import is_value

# A longer table is more than a list, such as measurements; rows that are looked at.
_MOST, _SEEN = 10_000, 200
# What numbers the rows is no figure.
_ID = re.compile(r"(?:.*(?:\b|_))?(?:id|no|nr|#|number|row|index|key|code)\W*|.*(?:号|码)", re.I)
# So many words or characters are a sentence; so great a share of a column's cells makes it one of
# sentences or of numbers.
_WORD, _WORDS = re.compile(r"[A-Za-z]+"), 6
_CHARACTER, _CHARACTERS = re.compile(f"[{HAN}]"), 12
_SHARE = 0.5
_AMOUNT = re.compile(r"\A(?:[A-Z]{3}|[^\w\s])\s*(?=\d)|\s*(?:[A-Z]{3}|元|万元|%|％|[^\w\s])\Z")


def is_of_figures(columns: Sequence[str], rows: Sequence[Sequence[str]], fields: Fields) -> bool:
    """Whether rows belong together as one table that is not too long: a column holds numbers, or
    none holds sentences.

    >>> is_of_figures(["套餐", "月付", "说明"], [["专业版", "49", "含人工支持"]], Fields())
    True
    >>> is_of_figures(["id", "content"], [["1", "Ada Lin leads the Dipper project."]], Fields())
    False
    """
    if len(rows) > _MOST:
        return False
    return any(_figures(columns, rows, fields)) or not any(_prose(columns, rows))


def _figures(
    columns: Sequence[str], rows: Sequence[Sequence[str]], fields: Fields
) -> Iterator[bool]:
    for place, name in enumerate(columns):
        is_id = name == fields.id or name.endswith(("Id", "ID")) or _ID.fullmatch(name.strip())
        if not is_id:
            cells = _cells(rows, place)
            yield bool(cells) and sum(map(_is_amount, cells)) >= _SHARE * len(cells)


def _prose(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[bool]:
    for place in range(len(columns)):
        cells = _cells(rows, place)
        yield bool(cells) and sum(map(_is_prose, cells)) >= _SHARE * len(cells)


def _cells(rows: Sequence[Sequence[str]], place: int) -> list[str]:
    found = (row[place].strip() for row in rows[:_SEEN] if place < len(row))
    return [cell for cell in found if cell]


def _is_amount(cell: str) -> bool:
    return is_value(cell) or is_value(_AMOUNT.sub("", cell))


def _is_prose(cell: str) -> bool:
    words, characters = len(_WORD.findall(cell)), len(_CHARACTER.findall(cell))
    return words >= _WORDS or characters >= _CHARACTERS
