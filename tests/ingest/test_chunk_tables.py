"""Large tables: a text unit a row, found and read by the names of its columns."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from graphkb.ingest.blocks import markdown_blocks
from graphkb.ingest.chunk import cut_documents
from graphkb.ingest.sizes import unit_sizes
from graphkb.settings_input import Chunks
from graphkb.text.table_head import column_names
from graphkb.text.table_rows import (
    columns_of,
    header_rows,
    key_column,
    named_cells,
    row_line,
)
from graphkb.text.tokens import count_tokens

CASES = Path(__file__).parents[1] / "data" / "cases"
_PLANS = ("专业版", "企业版", "旗舰版", "标准版", "基础版", "团队版", "教育版", "公益版")
PRICES = "# 价格\n\n每年调整一次。\n\n| 序号 | 套餐 | 月付(元) |\n|---|---|---|\n" + "".join(
    f"| {n} | {plan} | {49 * n} |\n" for n, plan in enumerate(_PLANS, 1)
)


def cut(text, title="T", **options):
    row = {"id": "d", "title": title, "text": text, "media_type": "text/markdown"}
    units = cut_documents(
        pl.DataFrame([{**row, "page_starts": []}]), Chunks(**{"table_rows": 1, **options})
    )
    for unit in units.iter_rows(named=True):
        assert text[unit["char_start"] : unit["char_end"]] == unit["text"]
    return units


def test_a_small_table_is_one_unit():
    units = cut(PRICES, size=200)
    assert units["text"].to_list() == [PRICES.strip()]
    assert units["context"].to_list() == ["T › 价格"]


def test_each_row_of_a_large_table_is_a_unit_with_its_columns():
    first, second, *others = cut(PRICES, size=80, overlap=0).iter_rows(named=True)
    assert first["text"].startswith("# 价格\n\n每年调整一次。\n\n| 序号 |")
    assert first["text"].endswith("| 1 | 专业版 | 49 |")
    assert first["context"] == "T › 价格\n套餐=专业版;序号=1;月付(元)=49"
    assert (first["kind"], second["kind"]) == ("prose", "row")
    assert second["text"] == "| 2 | 企业版 | 98 |"
    assert second["context"] == "T › 价格\n套餐=企业版;序号=2;月付(元)=98"
    assert [unit["kind"] for unit in others] == ["row"] * 6


def test_several_rows_in_a_unit_have_a_line_each():
    names = ("Pro", "Team", "Max", "One", "Plus", "Lite", "Home", "Air")
    rows = "".join(f"| {name} | {n} |\n" for n, name in enumerate(names))
    units = cut(f"| Plan | Price |\n|---|---|\n{rows}", size=50, overlap=0, table_rows=2)
    assert units["text"].to_list()[1] == "| Max | 2 |\n| One | 3 |"
    assert units["context"].to_list()[1] == "T\nPlan=Max;Price=2\nPlan=One;Price=3"


def test_without_headings_in_the_context_rows_still_have_their_columns():
    unit = cut(PRICES, size=80, overlap=0, context="none").row(1, named=True)
    assert unit["context"] == "\n套餐=企业版;序号=2;月付(元)=98"


@pytest.mark.parametrize("table_rows", [1, 7])
def test_case_c09_rows_with_two_header_rows_are_valid_tables_where_they_are_shown(table_rows):
    text = (CASES / "table/two_header_rows.md").read_text("utf-8")
    units = cut(text, title="Sales", size=120, overlap=20, table_rows=table_rows)
    assert units.height > 5
    first, *others = units.iter_rows(named=True)
    header = "| Group | Q1 | Q2 |\n| | Jan-Mar | Apr-Jun |\n|---|---|---|"
    assert first["text"].startswith(header + "\n| Line 0")
    rows = first["text"].split("\n")[3:]
    for unit in others:
        columns = columns_of(unit["text"], unit["context"])
        assert columns == ("Group", "Q1 Jan-Mar", "Q2 Apr-Jun")
        assert unit["kind"] == "row"
        assert unit["n_tokens"] + count_tokens(unit["context"].partition("\n")[2]) <= 120
        shown = f"{header_rows(columns)}\n{unit['text']}"
        (block,) = markdown_blocks(shown)
        assert (block.kind, shown[block.body : block.end]) == ("table", unit["text"])
        rows += unit["text"].split("\n")
    assert rows == text.strip().split("\n")[3:]


def test_case_c07_a_long_table_stays_below_the_limit():
    text = (CASES / "table/long_table.md").read_text("utf-8") * 10
    units = cut(text, title="库存表", size=400)
    assert units["n_tokens"].max() <= 400
    assert units["text"][0].startswith("# 库存表\n\n| 编号 | 设备")
    assert units["context"][1] == "库存表\n编号=R002;设备=设备2;数量=6;单价(元)=20.50"
    whole = units.select(pl.concat_str("context", "text", separator="\n")).to_series()
    assert max(map(count_tokens, whole)) <= 420


@pytest.mark.parametrize("text", ["好" * 300, "word " * 300])
def test_a_row_too_long_for_a_unit_says_what_it_is_about_in_every_part(text):
    table = f"| 名称 | 说明 |\n|---|---|\n| 泵 | 短 |\n| 阀门 | {text} |\n| 管 | 短 |\n"
    units = cut(table, size=80, overlap=0)
    parts = [u for u in units.iter_rows(named=True) if "阀门" in u["context"]]
    assert len(parts) > 2
    assert {part["context"] for part in parts} == {"T\n名称=阀门"}
    assert units["n_tokens"].max() <= 80
    assert units["context"].to_list()[-1] == "T\n名称=管;说明=短"


def test_signs_of_the_line_inside_cells_are_no_signs_of_it():
    names, cells = ["a=b", "c;d", ""], ["x;y=1", "", "z"]
    line = row_line(names, cells, 2)
    assert line == "z;a＝b=x；y＝1"
    assert named_cells(line, cells) == ["a＝b", "", ""]
    assert named_cells(line, ["other", "", "z"]) is None


def test_the_key_is_the_first_column_that_tells_rows_apart():
    assert key_column([["1", "泵", "好"], ["2", "阀门", "好"]]) == 1
    assert key_column([["North", "Pump"], ["North", "Valve"]]) == 1
    assert key_column([["North", "a"], ["North", "a"]]) == 0
    assert key_column([["1"], ["2"]]) == key_column([]) == 0
    assert column_names([["名称", "Q1"], ["", "一月", "二月"]]) == ["名称", "Q1 一月", "Q1 二月"]


def test_columns_are_those_of_rows_without_a_header_only():
    assert columns_of("| 企业版 | 199 |", "T\n套餐=企业版;月付=199") == ("套餐", "月付")
    assert (
        columns_of("| 套餐 | 月付 |\n|---|---|\n| 企业版 | 199 |", "T\n套餐=企业版;月付=199") == ()
    )
    assert columns_of("Plain text.", "T\na=b") == ()
    assert columns_of("| 企业版 | 199 |", "T") == ()


def test_sizes_tell_what_stands_out():
    text = "# A\n\n" + "Ada Lin leads the project in Riverton. " * 40 + "\n\n# B\n\nShort.\n"
    sizes = unit_sizes(cut(text, size=100, overlap=0), 100)
    assert sizes["count"] == sizes["kinds"]["prose"]["count"] > 3
    assert sizes["median"] <= sizes["longest"] <= 100
    assert (sizes["short"], sizes["cut"]) == (1, 0)
    assert [row["why"] for row in sizes["outliers"]] == ["short"]
    cut_sizes = unit_sizes(cut("字" * 900, size=100, overlap=0), 100)
    assert cut_sizes["cut"] > 0
    assert unit_sizes(cut("Short.", size=100, overlap=0), 100)["short"] == 0
    rows = unit_sizes(cut(PRICES, size=80, overlap=0), 80)
    assert (rows["short"], rows["kinds"]["row"]["count"]) == (0, 7)
    assert unit_sizes(cut("Short.", size=9, overlap=0).clear(), 9)["count"] == 0
