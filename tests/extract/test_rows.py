"""Rows of tables: the thing that the key cell names, its relationships by columns, its values."""

from __future__ import annotations

import polars as pl
import pytest

from graphkb.extract.offline import extract_units
from graphkb.ingest.chunk import cut_documents
from graphkb.settings import Extract
from graphkb.settings_input import Chunks
from graphkb.tables import TABLES

PLANS_ZH = (
    "| 序号 | 套餐 | 月付(元) | 负责人 | 上线 |\n|---|---|---|---|---|\n"
    + "| 1 | 专业版 | 49 | 李雯 | 2024年3月 |\n| 2 | 企业版 | 199 | 陈明 | 2023-01-05 |\n"
    + "".join(f"| {n} | 定制版{chr(0x4E00 + n)} | {n} | 王芳 | 2022年 |\n" for n in range(3, 12))
)
PLANS_EN = (
    "| Plan | Price | Owner | Since |\n|---|---|---|---|\n"
    "| Pro | $49 | Ada Lin | 5 March 2024 |\n| Team | $199 | Li Wen | 2023-01-05 |\n"
)


def extracted(text, title="价格表", **options):
    row = {"id": "d", "title": title, "text": text, "media_type": "text/markdown"}
    units = cut_documents(pl.DataFrame([{**row, "page_starts": []}]), Chunks(**options))
    found = extract_units(units, TABLES["terms"].empty(), Extract())
    return units, found


@pytest.mark.parametrize("size", [600, 90])
def test_a_row_is_related_to_the_names_in_its_cells_by_their_columns(size):
    units, found = extracted(PLANS_ZH, size=size, overlap=0)
    assert (units.height > 1) is (size < 600)
    typed = found.relationships.filter(type="负责人").sort("source", "target")
    pairs = list(typed.select("source", "target", "directed").iter_rows())
    assert ("专业版", "李雯", True) in pairs
    assert ("企业版", "陈明", True) in pairs
    assert typed.height == 11
    names = set(found.mentions["name"])
    assert {"专业版", "企业版", "李雯", "陈明"} <= names
    assert not names & {"49", "199", "1", "序号", "套餐"}


@pytest.mark.parametrize("size", [600, 90])
def test_values_are_claims_at_the_span_of_their_row(size):
    units, found = extracted(PLANS_ZH, size=size, overlap=0)
    texts = dict(units.select("id", "text").iter_rows())
    claims = found.claims.filter(subject="专业版").sort("type")
    assert claims.select("type", "description", "start_date").rows() == [
        ("上线", "专业版 上线: 2024年3月", "2024-03"),
        ("月付(元)", "专业版 月付(元): 49", None),
    ]
    for row in found.claims.iter_rows(named=True):
        text = texts[row["text_unit_id"]][row["char_start"] : row["char_end"]]
        assert text == row["source_text"]
        assert text.startswith("| ")
        assert text.endswith(" |")


def test_english_rows():
    units, found = extracted(PLANS_EN, "Prices")
    owners = found.relationships.filter(type="Owner").select("source", "target", "description")
    assert sorted(owners.rows()) == [
        ("Pro", "Ada Lin", "Pro Owner: Ada Lin"),
        ("Team", "Li Wen", "Team Owner: Li Wen"),
    ]
    dates = found.claims.filter(type="Since").select("subject", "start_date").rows()
    assert sorted(dates) == [("Pro", "2024-03-05"), ("Team", "2023-01-05")]
    for row in found.mentions.filter(pl.col("char_start") >= 0).iter_rows(named=True):
        assert units["text"][0][row["char_start"] : row["char_end"]] == row["surface"]


def test_running_text_around_a_table_is_read_as_before():
    text = f"Ada Lin works at Bluestone.\n\n{PLANS_EN}\nLi Wen lives in Bergen.\n"
    _, found = extracted(text, "Prices")
    assert {"Bluestone", "Bergen"} <= set(found.mentions["name"])
    _, prose = extracted("Ada Lin works at Bluestone | or not.", "Prices")
    assert "Bluestone" in set(prose.mentions["name"])


def test_cells_that_name_nothing_are_no_entities():
    text = (
        "| Feature | Pro | Notes |\n|---|---|---|\n"
        "| Export | yes | see below. |\n| Import | no | n/a |\n"
    )
    _, found = extracted(text, "Features")
    assert set(found.mentions["name"]) == {"Features", "Export", "Import"}
    assert found.claims.height == 0
    assert set(found.relationships["type"]) == {"RELATED"}
