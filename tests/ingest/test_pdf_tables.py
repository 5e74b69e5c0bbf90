"""Tables of PDF files, compared cell by cell with what the pages show."""

from __future__ import annotations

import pytest
from pdf_files import SONG, case, drawn, grid, lines, pages_of, tables_of, text_of, together

PARTS = [["Part", "Qty", "Price", "Owner"]] + [
    [f"P-{n:03}", str(n), f"{n}.50", "Ada Lin"] for n in range(1, 12)
]


@pytest.mark.parametrize("name", ["pdf/table_bordered.pdf", "pdf/table_borderless.pdf"])
def test_cases_d11_and_d13_parts_tables_cell_by_cell(name):
    text = text_of(case(name))
    assert tables_of(text) == [PARTS]
    assert text.startswith("Before the table.\n\n| Part |")
    assert text.endswith("| Ada Lin |\n\nAfter the table.")
    assert text.count("P-005") == 1


def test_case_d11_numbers_only_have_no_header():
    (table,) = tables_of(text_of(case("pdf_all_number_table.pdf")))
    assert table[0] == ["", ""]
    assert table[1:] == [[f"{n}00.01", str(n - 1)] for n in range(2, 17, 2)]


def test_case_d11_sparse_table_keeps_empty_cells_and_the_prose_around():
    text = text_of(case("pdf_borderless_table_inventory.pdf"))
    first, second = tables_of(text)
    assert first == [
        ["Product Code", "Location", "Expected", "Actual", "Variance", "Status"],
        ["SKU-8847", "A-12", "450", "", "", ""],
        ["", "B-07", "", "289", "-23", ""],
        ["SKU-9201", "", "780", "778", "", "OK"],
        ["", "C-15", "", "", "+15", ""],
        ["SKU-4563", "D-22", "", "156", "", "CRITICAL"],
        ["", "", "180", "", "-24", ""],
        ["SKU-7728", "A-08", "920", "", "", ""],
        ["", "", "", "935", "+15", "OK"],
    ]
    assert second[0] == [
        "Product Code", "Category", "Unit Cost", "Total Value", "Last Audit", "Notes"
    ]  # fmt: skip
    assert second[3] == ["SKU-4563", "Software", "$120.00", "$18,720.00", "", "Critical"]
    assert second[10] == ["SKU-1123", "Hardware", "$55.00", "$27,500.00", "2024-10-30", "Verified"]
    assert len(second) == 11
    assert "Prepared By: Sarah Martinez\n\n| Product Code" in text
    assert "protocols should be reviewed to prevent future discrepancies" in text  # over two pages


def test_case_d13_dense_table_with_lines_below_every_fifth_row():
    text = text_of(case("pdf_bordered_table_nics.pdf"))
    (table,) = tables_of(text)
    groups, names, *rows = table
    assert (len(rows), {len(row) for row in table}) == (56, {25})
    assert groups[7:20] == [
        "Pre-Pawn", "", "", "Redemption", "", "", "Returned/Disposition", "", "", "Rentals", "",
        "Private Sale", "",
    ]  # fmt: skip
    assert names[:8] == [
        "State / Territory", "Permit", "Handgun", "Long Gun", "*Other", "**Multiple", "Admin",
        "Handgun",
    ]  # fmt: skip
    assert rows[0] == (
        "Alabama|18,870|23,022|22,650|859|1,178|0|14|15|0|2,179|2,307|11|0|0|0|||13|14|0|3|2|0|"
        "71,137"
    ).split("|")
    assert rows[-1][0] == "Totals"
    assert rows[-1][-1] == "2,236,457"
    assert text.count("Mariana Islands") == 1
    assert "# NICS Firearm Background Checks" in text
    assert text.index("2,236,457") < text.index("*Refers to frames")


def test_tables_without_side_lines_wrapped_rows_and_leaders():
    costs, continued = tables_of(text_of(case("pdf_three_column_federal_register.pdf")))
    assert costs == [
        ["Action", "Labor cost", "Parts cost", "Cost per product", "Cost on U.S. operators"],
        ["FCC OPS installation and verification ..", "1 work-hour × $85 per hour = $85", "$0",
         "$85", "$6,205."],
        ["AFM revisions", "1 work-hour × $85 per hour = $85", "$0", "$85", "$6,205."],
        ["MDS installation and verification, INOP marker removal.",
         "1 work-hour × $85 per hour = $85", "$0", "$85", "$6,205."],
    ]  # fmt: skip
    assert continued[1:] == [
        ["Stabilizer wiring change", "Up to 79 work-hours × $85 per hour = Up to $6,715.",
         "Up to $3,790", "Up to $10,505", "Up to $766,865."],
        ["AOA sensor system test", "40 work-hours × $85 per hour = $3,400.", "$0", "$3,400",
         "$248,200."],
    ]  # fmt: skip


def test_merged_cells_repeat_downwards_and_are_padded_across():
    def draw(canvas):
        canvas.setFont(SONG, 10)
        for x, y, text in (
            (64, 686, "型号"), (144, 686, "口径"), (224, 686, "价格（元）"),
            (224, 666, "零售"), (304, 666, "批发"),
            (64, 646, "A-1"), (144, 646, "DN15"), (224, 646, "120"), (304, 646, "100"),
            (144, 626, "DN20"), (224, 626, "150"), (304, 626, "130"),
        ):  # fmt: skip
            canvas.drawString(x, y, text)
        for y, x in ((700, 60), (680, 220), (660, 60), (640, 140), (620, 60)):
            canvas.line(x, y, 380, y)
        for x in (60, 140, 220, 380):
            canvas.line(x, 700, x, 620)
        canvas.line(300, 680, 300, 620)

    text = text_of(drawn(draw))
    assert text == (
        "| 型号 | 口径 | 价格（元） |  |\n| 型号 | 口径 | 零售 | 批发 |\n|---|---|---|---|\n"
        "| A-1 | DN15 | 120 | 100 |\n| A-1 | DN20 | 150 | 130 |"
    )


def test_wrapped_cells_are_one_row():
    page = together(
        grid([["Key", "Meaning"], ["alpha", ""], ["beta", ""]], [60, 120, 300], pitch=44),
        lines(["The weight of the lexical leg,", "between zero and one; larger", "values are"],
              x=124, y=648, pitch=12),
        lines(["The weight of the graph leg,", "used where it has evidence."],
              x=124, y=604, pitch=12),
    )  # fmt: skip
    (table,) = tables_of(text_of(drawn(page)))
    assert table == [
        ["Key", "Meaning"],
        ["alpha", "The weight of the lexical leg, between zero and one; larger values are"],
        ["beta", "The weight of the graph leg, used where it has evidence."],
    ]


def test_pipes_in_cells_are_escaped():
    text = text_of(drawn(grid([["Flag", "Use"], ["a|b", "either"], ["c", "one"]], [60, 160, 260])))
    assert "| a\\|b | either |" in text


def test_chinese_table_without_lines():
    rows = [["型号", "口径", "价格"], ["A-1", "十五", "120"], ["B-2", "二十", "150"],
            ["C-3", "四十", "300"]]  # fmt: skip
    page = together(
        lines(["下表列出全部型号。"], font=SONG, y=730),
        grid(rows, [60, 160, 260, 360], rules=False, font=SONG),
        lines(["以上价格含税。"], font=SONG, y=560),
    )
    text = text_of(drawn(page))
    assert tables_of(text) == [rows]
    assert text.startswith("下表列出全部型号。\n\n|")
    assert text.endswith("|\n\n以上价格含税。")


def test_chinese_ruled_table_among_latin_text():
    rows = [
        ["权限", "管理员", "会计"],
        ["录入", "有", "无"],
        ["审核", "有", "有"],
        ["导出", "无", "无"],
    ]
    latin = ["Roles and what they may do in the programme, as of this year."] * 6
    page = together(
        lines(latin, font="Helvetica"), grid(rows, [60, 140, 220, 300], y=690, font=SONG)
    )
    (table,) = tables_of(text_of(drawn(page)))
    assert table == rows


def test_a_table_goes_on_over_pages_and_its_repeated_header_goes():
    def part(first, last, header):
        rows = [["Part", "Qty"]] * header + [[f"P-{n}", str(n)] for n in range(first, last)]
        return grid(rows, [60, 160, 260], y=780 - 40 * (first > 1))

    for header in (True, False):
        reading = drawn(part(1, 5, True), part(5, 9, header), part(9, 12, header))
        (table,) = tables_of(text_of(reading))
        assert table == [["Part", "Qty"], *([f"P-{n}", str(n)] for n in range(1, 12))]
        assert [page.count("P-") for page in pages_of(reading)] == [4, 4, 3]


def test_a_column_of_prose_beside_a_rule_is_no_table():
    prose = [f"line {n} of the notes beside the long rule" for n in range(12)]

    def draw(canvas):
        lines(prose, x=60)(canvas)
        lines(prose, x=320)(canvas)
        canvas.line(300, 800, 300, 600)
        canvas.line(60, 800, 560, 800)
        canvas.line(60, 600, 560, 600)

    assert "|" not in text_of(drawn(draw))


def test_lists_and_forms_are_no_tables():
    page = together(
        lines(["•", "•", "•"]), lines(["first point", "second point", "third point"], x=80),
        lines(["Name:", "Date:", "Phone:"], y=600),
        lines(["Ada Lin", "May 1", "555"], x=160, y=600),
    )  # fmt: skip
    text = text_of(drawn(page))
    assert "|" not in text
    assert "• first point\n\n• second point" in text
    assert "Name: Ada Lin\n\nDate: May 1" in text


def test_a_table_turned_on_its_page_is_read_upright():
    def draw(canvas):
        canvas.rotate(90)
        canvas.translate(0, -800)
        grid([["Part", "Qty"], ["Pump", "2"], ["Valve", "11"]], [60, 160, 260])(canvas)

    (table,) = tables_of(text_of(drawn(draw)))
    assert table == [["Part", "Qty"], ["Pump", "2"], ["Valve", "11"]]
