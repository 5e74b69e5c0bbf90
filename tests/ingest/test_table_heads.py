"""Tables with titles and two header rows read the same from every kind of file."""

from __future__ import annotations

import io

import pytest
from docx import Document
from ingest.reading import only, read
from openpyxl import Workbook

from graphkb.extract.rows import tables_of

ENGLISH = [
    ["Table 3: Sales by region", "", "", "", ""],
    ["Region", "2024", "", "2023", ""],
    ["", "Revenue", "Units", "Revenue", "Units"],
    ["North", "120", "11", "98", "9"],
    ["South", "130", "12", "99", "8"],
]
CHINESE = [
    ["单位：万元", "", "", "", ""],
    ["产品", "华东", "", "华南", ""],
    ["", "销量", "金额", "销量", "金额"],
    ["风扇", "120", "11.5", "98", "9.2"],
    ["水泵", "130", "12.1", "99", "8.3"],
]
NAMES = {
    "en": "| Region | 2024 Revenue | 2024 Units | 2023 Revenue | 2023 Units |",
    "zh": "| 产品 | 华东 销量 | 华东 金额 | 华南 销量 | 华南 金额 |",
}
SHOWN = {
    "en": f"Table 3: Sales by region\n\n{NAMES['en']}\n|---|---|---|---|---|\n| North | 120 |",
    "zh": f"单位：万元\n\n{NAMES['zh']}\n|---|---|---|---|---|\n| 风扇 | 120 |",
}
ROWS = {"en": ENGLISH, "zh": CHINESE}
MERGES = ("A2:A3", "B2:C2", "D2:E2")


def workbook(rows, merged):
    book = Workbook()
    sheet = book.active
    for row in rows:
        sheet.append([int(cell) if cell.isdecimal() and len(cell) < 4 else cell for cell in row])
    for place in MERGES * merged:
        sheet.merge_cells(place)
    content = io.BytesIO()
    book.save(content)
    return "a.xlsx", content.getvalue()


def document(rows):
    paper = Document()
    table = paper.add_table(len(rows), len(rows[0]))
    for row, cells in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, cells, strict=True):
            cell.text = text
    for (top, left), (bottom, right) in (((1, 0), (2, 0)), ((1, 1), (1, 2)), ((1, 3), (1, 4))):
        table.cell(top, left).merge(table.cell(bottom, right))
    content = io.BytesIO()
    paper.save(content)
    return "a.docx", content.getvalue()


def page(rows):
    (title, *_), upper, lower, *data = rows
    spans = f"<td rowspan=2>{upper[0]}<td colspan=2>{upper[1]}<td colspan=2>{upper[3]}"
    lines = ["".join(f"<td>{cell}" for cell in row) for row in (lower[1:], *data)]
    html = f"<table><tr><td colspan=5>{title}<tr>{spans}<tr>" + "<tr>".join(lines) + "</table>"
    return "a.html", html.encode()


def values(rows):
    return "a.csv", "\n".join(",".join(row) for row in rows).encode()


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    "make",
    [lambda r: workbook(r, 1), lambda r: workbook(r, 0), document, page, values],
    ids=["merged xlsx", "xlsx", "docx", "html", "csv"],
)
def test_groups_name_columns_and_titles_stand_above(make, language):
    name, content = make(ROWS[language])
    assert SHOWN[language] in only(read(name, content, tables="auto")).text


def test_a_title_without_separators_hides_no_csv_table():
    record = only(read("a.csv", "Staff\nSite;Engineers\nOslo;31\nBergen;17\n", tables="auto"))
    assert "| Site | Engineers |\n|---|---|\n| Oslo | 31 |" in record.text


def test_a_header_cell_over_rows_of_numbers_is_a_header():
    html = "<table><tr><th colspan=3>Votes<tr><td>3<td>4<td>5<tr><td>6<td>7<td>8</table>"
    assert "| Votes |  |  |\n|---|---|---|\n| 3 | 4 | 5 |" in only(read("a.html", html)).text


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("| 农场 | 华东 | 华东 |\n|---|---|---|\n| 农场 | 小麦 | 黑麦 |\n| 青山 | 21 | 22 |",
         ("农场", "华东 小麦", "华东 黑麦")),
        ("| Duty engineer | Ada Lin |\n|---|---|", ("", "")),
    ],
)  # fmt: skip
def test_what_rows_say_is_read_under_the_whole_header(text, columns):
    (row,) = tables_of(text, "").rows
    assert (row.columns, row.subject) == (
        columns,
        text.split("|")[1 if columns[0] == "" else 13].strip(),
    )
