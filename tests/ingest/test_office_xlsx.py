from __future__ import annotations

import io
import re
import zipfile
from datetime import date, datetime, time, timedelta
from pathlib import Path

import openpyxl
import polars as pl
import pytest
from office_files import changed, read_path, read_saved
from openpyxl.comments import Comment
from openpyxl.utils.datetime import CALENDAR_MAC_1904

from graphkb.ingest.readers import xlsx_cells
from graphkb.ingest.readers.office_numbers import shown_number, shown_text
from graphkb.stages.documents import _without_unnamed_sheets
from graphkb.text.sheets import SPREADSHEET, SheetMap, SheetPlace

CASES = Path(__file__).parents[1] / "data" / "cases"


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.xlsx"):
        return read_saved(tmp_path / name, content)

    return read


def workbook(*rows, name="价格"):
    book = openpyxl.Workbook()
    book.active.title = name
    for row in rows:
        book.active.append(row)
    return book


def saved(book):
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


def edited(data, pattern, replacement, part="xl/worksheets/sheet1.xml"):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        text = archive.read(part).decode()
    new = re.sub(pattern, replacement, text)
    assert new != text
    return changed(data, {part: new})


def table(text, number=0):
    tables = re.findall(r"(?:^\|.*\n?)+", text, re.MULTILINE)
    rows = [re.split(r"(?<!\\)\|", line.strip().strip("|")) for line in tables[number].split("\n")]
    return [[cell.strip() for cell in row] for row in rows if row != [""] and "---" not in row]


def test_case_e07_formulas_without_values_are_shown_and_rows_kept():
    result = read_path(CASES / "office/formula_nocache.xlsx")
    (record,) = result.records
    assert table(record.text) == [
        ["Region", "Q1", "Q2", "Total"],
        ["North", "10", "20", "=B2+C2"],
        ["South", "47.5%", "", "=SUM(B3:C3)"],
    ]
    assert table(record.text, 1)[1] == ["NaNoparticle", "2024-03-01"]
    assert not re.search(r"\b(?:None|nan)\b", record.text)
    assert "# Hidden\n\nHIDDEN-CELL" in record.text
    assert result.notes == ("formula_nocache.xlsx: hidden sheets are read too: Hidden",)


def test_case_d15_a_workbook_with_a_password_is_skipped_by_name():
    (refused,) = read_path(CASES / "xlsx_password_protected.xlsx").refused
    assert refused.where == "xlsx_password_protected.xlsx"
    assert refused.reason.startswith("encrypted, skipped; remove the password")


def test_cached_values_are_shown_in_their_format(read):
    book = workbook(["单价", "合计"], [1, "=A2*1234.5"], [2, '=A3&"x"'])
    book.active["B2"].number_format = '"¥"#,##0.00'
    data = edited(
        saved(book), r"(<c r=\"B2\"[^>]*><f>.*?</f>)<v ?/?>(</v>)?", r"\g<1><v>1234.5</v>"
    )
    data = edited(
        data, r"<c r=\"B3\"><f>.*?</f><v ?/?>(</v>)?", r'<c r="B3" t="str"><f>A</f><v>2x</v>'
    )
    assert table(read(data).records[0].text) == [["单价", "合计"], ["1", "¥1,234.50"], ["2", "2x"]]


def test_dates_numbers_errors_and_booleans_are_as_shown(read):
    rows = [
        ("Format", "Value"),
        ("General", 0.1 + 0.2),
        ('yyyy"年"m"月"d"日"', date(2024, 3, 5)),
        ("[$-804]yyyy/m/d dddd", datetime(2024, 3, 5)),
        ("0.0%", 0.475),
        ("h:mm AM/PM", time(15, 4)),
        ("[h]:mm", timedelta(hours=27, minutes=5)),
        ("@", "007"),
        ("General", True),
        ("General", "#REF!"),
        ("General", 12345678901234),
    ]
    book = workbook(*rows)
    for row, (code, _) in enumerate(rows, 1):
        book.active.cell(row, 2).number_format = code
    shown = [row[1] for row in table(read(book).records[0].text)[1:]]
    assert shown == [
        "0.3", "2024年3月5日", "2024/3/5 星期二", "47.5%", "3:04 PM", "27:05", "007", "TRUE",
        "#REF!", "12345678901234",
    ]  # fmt: skip


def test_workbooks_that_count_from_1904_and_chinese_built_in_formats(read):
    book = workbook(["日期", "到期"], [date(2024, 3, 5), date(2025, 1, 1)])
    book.epoch = CALENDAR_MAC_1904
    data = saved(book)
    assert table(read(data).records[0].text)[1] == ["2024-03-05", "2025-01-01"]
    data = edited(data, r'numFmtId="\d+"(?=[^>]*applyNumberFormat|[^>]*pivotButton)',
                  'numFmtId="31"', "xl/styles.xml")  # fmt: skip
    assert table(read(data).records[0].text)[1] == ["2024年3月5日", "2025年1月1日"]


@pytest.mark.parametrize(
    ("stored", "code", "shown"),
    [
        ("1234.567", "#,##0.00", "1,234.57"),
        ("-1234.5", "#,##0.00;[Red](#,##0.00)", "(1,234.50)"),
        ("-0.001", "0.00", "0.00"),
        ("0", '0.00;-0.00;"零"', "零"),
        ("0.285", "0%", "29%"),
        ("2.5", "0", "3"),
        ("1.005", "0.00", "1.01"),
        ("1234567", '0.0,,"百万"', "1.2百万"),
        ("1234567890", "#,##0", "1,234,567,890"),
        ("13800138000", "000-0000-0000", "138-0013-8000"),
        ("7", '"No. "000', "No. 007"),
        ("-5", '"¥"0.0', "-¥5.0"),
        ("49", "[$¥-804]#,##0.00", "¥49.00"),
        ("0.5", "#.##", ".5"),
        ("12345.678", "0.00E+00", "1.23E+04"),
        ("0.00012", "0.0E-0", "1.2E-4"),
        ("1.5", "# ?/?", "1 1/2"),
        ("0.3333", "# ??/??", "1/3"),
        ("85", '[>=60]"及格";"不及格"', "及格"),
        ("50", '[>=60]"及格";"不及格"', "不及格"),
        ("0.333333333333333", "General", "0.333333333"),
        ("1E-07", "General", "1E-07"),
        ("3.14", 'General"米"', "3.14米"),
        ("45356.75", "yyyy-mm-dd hh:mm:ss", "2024-03-05 18:00:00"),
        ("45356", "d-mmm-yy", "5-Mar-24"),
        ("45356", "dddd, mmmm d", "Tuesday, March 5"),
        ("45356", "aaaa", "星期二"),
        ("45356", "yyyy年m月", "2024年3月"),
        ("0.75", "上午/下午h时mm分", "下午6时00分"),
        ("0.0007", "mm:ss.0", "01:00.5"),
        ("59", "yyyy-mm-dd", "1900-02-28"),
        ("61", "yyyy-mm-dd", "1900-03-01"),
        ("-1", "yyyy-mm-dd", "-1"),
        ("1.5", "[h]:mm:ss", "36:00:00"),
        ("abc", "0.00", "abc"),
        ("1e400", "0.00", "1e400"),
        ("5", ";;;", "5"),
    ],
)
def test_number_formats(stored, code, shown):
    assert shown_number(stored, code) == shown


def test_text_formats():
    assert shown_text("甲", '0;-0;0;"客户："@') == "客户：甲"
    assert shown_text("A", "0.00") == "A"


def test_tables_of_a_sheet_are_parted_at_blank_rows_and_columns(read):
    book = openpyxl.Workbook()
    sheet = book.active
    blocks = {
        "B2": [["报价单", None], ["Item", "价格"], ["Pump", 3], ["阀门", 4]],
        "E3": [["k", "v"], ["x", "y"]],
        "B8": [["Region", "Total"], ["North", 7]],
        "B12": [["remark"]],
    }
    for corner, rows in blocks.items():
        start = sheet[corner]
        for down, row in enumerate(rows):
            for right, value in enumerate(row):
                sheet.cell(start.row + down, start.column + right, value)
    sheet.merge_cells("B2:C2")
    text = read(book).records[0].text
    assert "# Sheet\n\n报价单\n\n| Item | 价格 |" in text
    assert [table(text, at) for at in range(3)] == [
        [["Item", "价格"], ["Pump", "3"], ["阀门", "4"]],
        [["k", "v"], ["x", "y"]],
        [["Region", "Total"], ["North", "7"]],
    ]
    assert text.rstrip().endswith("\n\nremark")


def test_rows_after_a_blank_row_go_on_with_the_table_above(read):
    rows = [["城市", "人口"], ["武汉", 1377], ["Lyon", 52], [], ["Oslo", 71], ["广州", 1882]]
    assert table(read(workbook(*rows)).records[0].text) == [
        ["城市", "人口"], ["武汉", "1377"], ["Lyon", "52"], ["Oslo", "71"], ["广州", "1882"],
    ]  # fmt: skip


def test_merged_cells_are_filled_down_and_super_headers_joined(read):
    book = workbook(
        ["地区", "2023年", None, "备注"],
        [None, "上半年", "下半年", None],
        ["华北", 10, 20, "a"],
        [None, 30, 40, "b|c"],
    )
    for merged in ("A1:A2", "B1:C1", "D1:D2", "A3:A4"):
        book.active.merge_cells(merged)
    assert table(read(book).records[0].text) == [
        ["地区", "2023年 上半年", "2023年 下半年", "备注"],
        ["华北", "10", "20", "a"],
        ["华北", "30", "40", "b\\|c"],
    ]


def test_rows_of_numbers_without_header_are_named_by_their_columns(read):
    book = workbook([], [None, 1, 2], [None, 3, 4])
    assert table(read(book).records[0].text) == [["B", "C"], ["1", "2"], ["3", "4"]]


def test_sheets_are_pages_and_comments_and_metadata_are_kept(read):
    book = workbook(["套餐", "月付"], ["专业版", 49])
    book.active["B2"].comment = Comment("核实\nprice", "李雷")
    book.create_sheet("Empty")
    book.create_sheet("Notes")["A1"] = "line one\nline two"
    book.properties.title, book.properties.creator = "价目表", "陈明"
    result = read(book, "x.xlsm")
    (record,) = result.records
    assert record.text == (
        "# 价格\n\n| 套餐 | 月付 |\n|---|---|\n| 专业版 | 49 |\n\n> [B2, 李雷] 核实; price\n\n"
        "# Notes\n\nline one; line two\n\n"
    )
    assert record.n_pages == 3
    assert record.text[record.page_starts[2] :].startswith("# Notes")
    assert record.page_starts[1] == record.page_starts[2]
    assert (record.title, record.metadata["author"]) == ("价目表", "陈明")
    assert result.notes == ()


def test_shared_texts_with_runs_and_readings(read):
    book = workbook(["Name", "读音"], ["placeholder", "x"])
    data = edited(
        saved(book), r"<c r=\"A2\"[^>]*>.*?</c>",
        '<c r="A2" t="inlineStr"><is><r><t>东</t></r><r><t>京_x000D_塔</t></r>'
        "<rPh><t>とうきょう</t></rPh></is></c>",
    )  # fmt: skip
    assert table(read(data).records[0].text)[1] == ["东京; 塔", "x"]


def test_cells_far_away_cost_nothing(read):
    book = workbook(["a", "b"], ["c", "d"])
    book.active["XFD1048576"] = "末"
    text = read(book).records[0].text
    assert table(text) == [["a", "b"], ["c", "d"]]
    assert text.rstrip().endswith("末")
    assert len(text) < 100


def test_a_sheet_of_too_many_cells_is_cut_with_the_row_and_the_reason(read, monkeypatch):
    monkeypatch.setattr(xlsx_cells, "MOST_CELLS", 6)
    book = workbook(["编号", "值"], *([str(row), "v"] for row in range(1, 9)))
    result = read(book)
    assert table(result.records[0].text)[-1] == ["2", "v"]
    (refused,) = result.refused
    assert refused.where == "a.xlsx:价格"
    assert refused.reason == "rows from 4 on are left out: more than 6 cells; split the sheet"


def test_a_damaged_sheet_is_refused_and_the_others_are_kept(read):
    book = workbook(["坏", "x"], ["1", "y"], name="坏")
    book.create_sheet("Good")["A1"] = "kept"
    data = changed(saved(book), {"xl/worksheets/sheet1.xml": "<worksheet><sheetData><row>"})
    result = read(data)
    assert result.records[0].text == "# Good\n\nkept\n\n"
    (refused,) = result.refused
    assert refused.where == "a.xlsx:坏"
    assert "xl/worksheets/sheet1.xml" in refused.reason


def test_a_sheet_whose_link_is_missing_is_refused_by_name(read):
    book = workbook(["坏", "x"], name="坏")
    book.create_sheet("Good")["A1"] = "kept"
    part = "xl/_rels/workbook.xml.rels"
    result = read(edited(saved(book), r"<Relationship [^>]*sheet1\.xml[^>]*/>", "", part))
    assert result.records[0].text == "# Good\n\nkept\n\n"
    (refused,) = result.refused
    assert refused.where == "a.xlsx:坏"
    assert refused.reason.startswith("damaged: its part in it is missing")


def test_every_cell_is_where_openpyxl_finds_it(read):
    rows = [[f"列{column}" for column in range(6)]]
    rows += [[f"r{row}c{column}" if (row + column) % 3 else None for column in range(1, 7)]
             for row in range(1, 30)]  # fmt: skip
    book = workbook(*rows)
    found = table(read(book).records[0].text)
    assert found == [["" if cell is None else cell for cell in row] for row in book.active.values]


def test_each_line_is_told_the_row_that_it_is_in(read):
    book = workbook(["Price list", None, None], [], ["Plan", "EUR", "Note"], ["Lite", 19, "yearly"])
    book.active.append([])
    book.active.append(["Team", 49, "a | b"])
    zh = book.create_sheet("三季度")
    for row in (["区域", "收入", "", "备注"], ["华东", 12, "", "见附注"], ["华北", 15]):
        zh.append(row)
    (record,) = read(book).records
    sheets = SheetMap(record.text, record.page_starts, record.metadata)

    def place(said):
        at = record.text.index(said)
        return sheets.place(at, at + len(said))

    assert place("Price list") == SheetPlace(("价格",), 1, 1)
    assert place("| Plan | EUR") == SheetPlace(("价格",), 3, 3)
    assert place("Lite") == SheetPlace(("价格",), 4, 4)
    assert place("Team") == SheetPlace(("价格",), 6, 6)
    assert place("华东") == SheetPlace(("三季度",), 2, 2)
    assert place("华北") == SheetPlace(("三季度",), 3, 3)
    assert place("见附注") == SheetPlace(("三季度",), 2, 2)


def test_workbooks_read_before_their_rows_were_kept_are_read_again():
    rows = [
        ("old.xlsx", "旧", SPREADSHEET, "{}", None),
        ("new.xlsx", "New", SPREADSHEET, '{"sheets": ["一"], "sheet_rows": [[]]}', None),
        ("removed.xlsx", "", SPREADSHEET, "{}", None),
        ("table.csv", "表", "text/csv", "{}", None),
        ("rows.csv", "Row", "text/csv", "{}", '{"text": "row"}'),
        ("a.md", "A", "text/markdown", "{}", None),
    ]
    columns = ["path", "title", "media_type", "metadata", "raw_data"]
    kept = _without_unnamed_sheets(pl.DataFrame(rows, columns, orient="row"))
    assert kept["path"].to_list() == ["new.xlsx", "removed.xlsx", "rows.csv", "a.md"]
