"""Where the header of a table is: below titles, in one row or in several that name a column."""

from __future__ import annotations

import pytest

from graphkb.query.sentences import sentences_of
from graphkb.text.table_head import Head, column_names, find_head, header_below, is_caption

ONE = Head(0, 1)


@pytest.mark.parametrize(
    ("rows", "head", "names"),
    [
        (
            [["Region", "2024", ""], ["", "Revenue", "Units"], ["North", "120", "11"]],
            Head(0, 2),
            ["Region", "2024 Revenue", "2024 Units"],
        ),
        (
            [["产品", "华东", None], ["产品", "销量", "金额"], ["水泵", "七", "八"]],
            Head(0, 2),
            ["产品", "华东 销量", "华东 金额"],
        ),
        (
            [["门店", "华东", "华东", "华南"], ["门店", "销量", "金额", "销量"],
             ["一店", "a", "b", "c"]],
            Head(0, 2),
            ["门店", "华东 销量", "华东 金额", "华南 销量"],
        ),
        (
            [["表3：销售", "", "单位：万元"], ["产品", "销量", "金额"], ["水泵", "7", "8"]],
            Head(1, 1),
            ["产品", "销量", "金额"],
        ),
        (
            [["Table 3: Sales", "", ""], ["(EUR)", "", ""], ["Site", "Q1", ""],
             ["", "Plan", "Real"], ["Oslo", "3", "4"]],
            Head(2, 2),
            ["Site", "Q1 Plan", "Q1 Real"],
        ),
        (
            [["x", "A", "", "", ""], ["", "B", "", "C", ""], ["", "d", "e", "d", "e"],
             ["1", "2", "3", "4", "5"]],
            Head(0, 3),
            ["x", "A B d", "A B e", "A C d", "A C e"],
        ),
    ],
)  # fmt: skip
def test_titles_and_groups_are_told_from_the_header(rows, head, names):
    assert find_head(rows) == head
    assert column_names(rows[: head.titles + head.depth]) == names


@pytest.mark.parametrize(
    "rows",
    [
        [["Name", "Phone", "", "Room"], ["Ada Lin", "4471", "x", "B12"], ["Bo Chen", "1", "", "C"]],
        [["Team", "Members", ""], ["Red", "Ada", "Bo"], ["Blue", "Cy", "Di"]],
        [
            ["姓名", "爱好", "", "城市"],
            ["李华", "登山", "围棋", "杭州"],
            ["周宁", "钓鱼", "", "苏州"],
        ],
        [["Company", "Acme", ""], ["Address", "Main St", "Oslo"], ["Phone", "44", "71"]],
        [["", "Sales", None], ["", "10", "20"], ["North", "1", "2"]],
        [["Only"], ["a"], ["b"]],
        [["a", "b"]],
        [],
    ],
)
def test_a_row_of_data_is_no_header(rows):
    assert find_head(rows) == ONE


def test_captions_are_of_tables():
    told = (
        "Table 3: Sales",
        "表3",
        "附表2 人员",
        "单位：万元",
        "(EUR thousand)",
        "Units: EUR",
        "（万元）",
    )
    assert all(map(is_caption, told))
    assert not any(
        map(is_caption, ("Region", "单位", "Table", "表面处理", "Unit price", "Name (EUR)"))
    )


def test_markdown_goes_on_with_its_header_below_the_rule():
    above = [["", "2024", "", "2023", ""]]
    below = [["Farm", "Wheat", "Rye", "Wheat", "Rye"], ["Hilltop", "21", "22", "23", "24"]]
    assert header_below(above, below) == 1
    assert header_below([*above, below[0]], below[1:]) == 0
    assert header_below([["Farm", "Wheat"]], [["Hilltop", "21"]]) == 0


def test_rows_are_quoted_under_names_of_both_header_rows():
    text = (
        "|  | 2024 |  | 2023 |  |\n|---|---|---|---|---|\n| Farm | Wheat | Rye | Wheat | Rye |\n"
        "| Hilltop | 21 | 22 | 23 | 24 |"
    )
    (row,) = sentences_of(text)
    assert row.text == "| Hilltop | 21 | 22 | 23 | 24 |"
    assert row.header == ("Farm", "2024 Wheat", "2024 Rye", "2023 Wheat", "2023 Rye")


@pytest.mark.parametrize(
    "line", ["| Exchange rate | 1 EUR = 0.86 GBP |", "| 汇率 | 1欧元兑0.86英镑 |"]
)
def test_the_only_row_of_a_table_is_a_sentence(line):
    (row,) = sentences_of(f"{line}\n|---|---|")
    assert (row.text, row.header) == (line, ())


def test_rules_below_each_other_and_tables_without_gap():
    text = "| a1 | bb |\n|---|---|\n|---|---|\n| cc | dd |\n| ee | ff |\n|---|---|\n| gg | hh |"
    assert [(s.text, s.header) for s in sentences_of(text)][-1] == ("| gg | hh |", ("ee", "ff"))
