"""What is only a title is no term."""

from __future__ import annotations

import polars as pl
import pytest

from graphkb.extract.title_terms import without_titles

DOCUMENTS = pl.DataFrame(
    [
        ("a", "网络安全产业报告", "a.md"),
        ("b", "Other", "handbook of leave.md"),
        ("c", "丙", "c.md"),
    ],
    ["id", "title", "path"],
    orient="row",
)
UNITS = pl.DataFrame(
    [
        ("1", "# 网络安全产业\n\n网络安全产业在发展。", "a", ["网络安全产业"]),
        ("2", "# 汇总数据分析\n\nThe tidal array works of Kelsound.", "b", ["汇总数据分析"]),
        (
            "3",
            "**网络安全产业**\n汇总数据分析的结果。卫星通信。",
            "c",
            ["Tidal array works", "卫星通信"],
        ),
    ],
    {
        "id": pl.String,
        "text": pl.String,
        "document_id": pl.String,
        "heading_path": pl.List(pl.String),
    },
    orient="row",
)


def kept(*terms: str) -> list[str]:
    places = [
        (unit, term, text.lower().find(term))
        for unit, text in UNITS.select("id", "text").iter_rows()
        for term in terms
        if term in text.lower()
    ]
    frame = pl.DataFrame(places, ["text_unit_id", "term", "char_start"], orient="row")
    return without_titles(frame, DOCUMENTS, UNITS)["term"].to_list()


@pytest.mark.parametrize("term", ["网络安全产业", "handbook of leave"])
def test_what_stands_in_titles_and_headings_alone_goes(term: str) -> None:
    assert term not in kept(term, "汇总数据分析")


@pytest.mark.parametrize("term", ["汇总数据分析", "tidal array works"])
def test_what_other_documents_speak_of_stays(term: str) -> None:
    assert kept(term) == [term]


@pytest.mark.parametrize("term", ["卫星通信", "of kelsound"])
def test_short_terms_may_be_headings(term: str) -> None:
    assert kept(term) == [term]
