from __future__ import annotations

import pytest

from graphkb.text.sheets import SheetMap, SheetPlace, row_runs

TEXT = """\
# Q3

| Region | Head |
|---|---|
| 华东 | 王一 |
| North | Ada |

# 三季度

备注

"""
SECOND = TEXT.index("# 三")
ROWS = [row_runs([0, 0, 3, 0, 4, 7]), row_runs([0, 0, 1])]
BOOK = SheetMap(TEXT, [0, SECOND], {"sheets": ["Q3", "三季度"], "sheet_rows": ROWS})


def place(said: str) -> SheetPlace:
    at = TEXT.index(said)
    return BOOK.place(at, at + len(said))


@pytest.mark.parametrize(
    ("said", "sheet", "first", "last"),
    [
        ("| Region | Head |", "Q3", 3, 3),
        ("王一", "Q3", 4, 4),
        ("王一 |\n| North", "Q3", 4, 7),
        ("Head |\n|---|---|\n| 华东", "Q3", 3, 4),
        ("# Q3", "Q3", None, None),
        ("备注", "三季度", 1, 1),
    ],
)
def test_a_span_is_in_the_rows_of_its_sheet(said, sheet, first, last):
    assert place(said) == SheetPlace((sheet,), first, last)


def test_a_span_over_two_sheets_has_no_rows():
    assert place("Ada |\n\n# 三季度") == SheetPlace(("Q3", "三季度"))


@pytest.mark.parametrize("metadata", [{}, {"sheets": "Q3"}, {"sheets": ["one"]}])
def test_without_what_the_reader_writes_nothing_is_told(metadata):
    assert SheetMap(TEXT, [0, SECOND], metadata).place(0, 9) == SheetPlace()


def test_without_rows_the_sheet_is_told_alone():
    at = TEXT.index("王一")
    book = SheetMap(TEXT, [0, SECOND], {"sheets": ["Q3", "三季度"]})
    assert book.place(at, at + 2) == SheetPlace(("Q3",))


def test_sheets_with_too_many_gaps_have_no_rows():
    assert row_runs(list(range(1, 20_001, 2))) == []
    assert row_runs(list(range(1, 20_001))) == [[0, 1]]


def test_a_row_is_found_by_its_number_in_every_sheet_or_in_those_that_are_named():
    def said(row: int, question: str = "") -> list[str]:
        return [TEXT[start:end] for start, end in BOOK.spans_of(row, question)]

    assert [said(row) for row in (7, 1, 2)] == [["| North | Ada |"], ["备注"], []]
    assert (said(4, "sheet Q3"), said(4, "三季度的")) == (["| 华东 | 王一 |"], [])
    assert (BOOK.has_rows, BOOK.last_row) == (True, 7)
    unknown = SheetMap(TEXT, [0, SECOND], {"sheets": ["Q3", "三季度"]})
    assert (unknown.has_rows, unknown.last_row, unknown.spans_of(4)) == (False, 0, [])
