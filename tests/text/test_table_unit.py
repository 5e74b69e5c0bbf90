"""What a line above a table says that its figures are counted in."""

from __future__ import annotations

import pytest

from graphkb.text.table_head import Head, find_head
from graphkb.text.table_unit import unit_above, unit_of


@pytest.mark.parametrize(
    ("line", "unit"),
    [
        ("（单位：万元）", "单位：万元"),
        ("单位：万元 币种：人民币", "单位：万元 币种：人民币"),
        ("金额单位：人民币百万元", "金额单位：人民币百万元"),
        ("除特别注明外，金额单位均为人民币元", "金额单位均为人民币元"),
        ("（以人民币千元列示）", "以人民币千元列示"),
        ("编制单位：云岭股份 2024年度 单位：人民币元", "单位：人民币元"),
        ("表2 产量（万吨）", "万吨"),
        ("### 主要指标（单位：亿元）", "单位：亿元"),
        ("云岭股份利润表 单位：万元", "单位：万元"),
        ("很" * 300 + "（单位：万元）", "单位：万元"),
        ("Unit: USD thousand", "Unit: USD thousand"),
        ("(in millions of yuan)", "in millions of yuan"),
        ("Table 3: Sales (EUR thousand)", "EUR thousand"),
        ("**All figures in USD million.**", "All figures in USD million"),
        ("($ in thousands, except per share data)", "$ in thousands, except per share data"),
        ("The following table is in millions of yuan:", "in millions of yuan"),
        ("Income statement (RMB'000)", "RMB'000"),
        ("Orrin Mills Unit: USD thousand", "Unit: USD thousand"),
        ("word " * 60 + "Amounts in EUR million", "Amounts in EUR million"),
    ],
)
def test_units_are_told_as_the_line_says_them(line: str, unit: str) -> None:
    assert unit_of(line) == unit


@pytest.mark.parametrize(
    "line",
    [
        "Oslo (2024)",
        "Sales by region (North)",
        "Unit 3: the pump",
        "Business unit: Pumps",
        "The company ran four mills in thousands of villages.",
        "word " * 60 + "Unit: USD thousand is what we use",
        "编制单位：云岭股份有限公司",
        "各单位：请注意",
        "单位 变动",
        "",
    ],
)
def test_other_lines_say_no_unit(line: str) -> None:
    assert unit_of(line) == ""


def test_the_unit_is_that_of_the_table_right_below() -> None:
    text = (
        "Unit: tons\n\n| Site | Steel |\n|---|---|\n| Ashby | 7 |\n\n"
        "| Site | Count |\n|---|---|\n| Corby | 4 |\n\n"
        "单位：人\n\n## 员工\n\n| 地点 | 人数 |\n|---|---|\n| 宁波 | 9 |\n\n"
        "The unit is below.\n\nSome prose that ends.\n\n| A | B |\n|---|---|\n| Derby | 5 |\n"
    )
    told = {name: unit_above(text, text.index(f"| {name}")) for name in ("Ashby", "Corby", "Derby")}
    assert told == {"Ashby": "Unit: tons", "Corby": "", "Derby": ""}
    # A heading stands between: the line is about what was above that.
    assert unit_above(text, text.index("| 宁波")) == ""


@pytest.mark.parametrize("row", ["| 单位：万元 | | |", "| | | （单位：万元） |"])
def test_a_row_of_the_head_may_say_the_unit(row: str) -> None:
    text = f"云岭\n\n{row}\n|---|---|---|\n| 项目 | 2023 | 2024 |\n| 营收 | 4 | 5 |"
    assert unit_above(text, text.index("| 营收")) == "单位：万元"


def test_what_begins_in_the_table_does_not_tell() -> None:
    assert unit_above("| 7 | 8 |\n| 9 | 1 |", 10) is None
    assert unit_above("Sales\n\n| 7 | 8 |", 7) is None


@pytest.mark.parametrize(
    "row",
    [
        ["云岭利润表", "", "单位：万元"],
        ["2024年度", "", "（单位：元）"],
        ["Kestrel", "Unit: USD", ""],
        ["Kestrel", None, "Currency: USD"],
    ],
)
def test_a_title_beside_the_unit_is_no_header(row: list[str | None]) -> None:
    assert find_head([row, ["项目", "2023年", "2024年"], ["营收", "4", "5"]]) == Head(1, 1)


@pytest.mark.parametrize(
    ("row", "below"),
    [
        # The unit groups two columns, or stands in the name of one.
        (["项目", "单位：万元", None], ["", "2023年", "2024年"]),
        (["Item", "Site", "Unit: USD"], ["Rent", "Ashby", "7"]),
    ],
)
def test_a_unit_may_stand_in_a_header(row: list[str | None], below: list[str | None]) -> None:
    assert find_head([row, below, ["营收", "4", "5"]]).titles == 0


@pytest.mark.parametrize("row", ["| 云岭利润表 | | 单位：万元 |", "| 2024 | Unit: USD | |"])
def test_what_stands_beside_a_title_counts_too(row: str) -> None:
    text = f"{row}\n|---|---|---|\n| 项目 | 本期 | 上期 |\n| 营收 | 4 | 5 |"
    assert unit_above(text, text.index("| 营收")) in ("单位：万元", "Unit: USD")
