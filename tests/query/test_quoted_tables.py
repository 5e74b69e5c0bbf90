"""Rows quoted with what their figures are counted in, and the highest row of a table."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import docx
import openpyxl
import pytest
from pdf_files import grid, lines, pdf_bytes, together

import graphkb
from graphkb.project import Project

Rows = list[list[object]]

FIGURES: Rows = [["Item", "2023", "2024"], ["Revenue", "812", "901"], ["Tax", "41", "47"]]
ZAHLEN: Rows = [["项目", "2023年", "2024年"], ["营业收入", "812", "901"], ["研发费用", "41", "47"]]
VALUES = [31, 28, 45, 39, 52, 61, 77, 70, 44, 30, 29, 35]
MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split()


def markdown(rows: Rows) -> str:
    shown = [f"| {' | '.join(map(str, row))} |" for row in rows]
    return "\n".join([shown[0], "|---" * len(rows[0]) + "|", *shown[1:]])


def book(path: Path, rows: Rows) -> None:
    workbook = openpyxl.Workbook()
    assert workbook.active is not None
    for row in rows:
        workbook.active.append(row)
    workbook.save(path)


def page(head: str, unit: str, rows: Rows) -> str:
    cells = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in rows)
    return f"<h1>{head}</h1><p>{unit}</p><table>{cells}</table>"


def document(path: Path, head: str, unit: str, rows: Rows) -> None:
    made = docx.Document()
    made.add_heading(head, 1)
    made.add_paragraph(unit)
    table = made.add_table(rows=0, cols=len(rows[0]))
    for row in rows:
        for cell, value in zip(table.add_row().cells, row, strict=True):
            cell.text = str(value)
    made.save(str(path))


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("figures")
    folder = root / "input"
    folder.mkdir()
    book(folder / "Kestrel.xlsx", [["Kestrel sales"], ["Unit: USD thousand"], *FIGURES])
    book(folder / "云岭.xlsx", [["云岭利润表", "", ""], ["", "", "单位：万元"], *ZAHLEN])
    depots: Rows = [[f"Depot {n:03}", n * 7 % 400, n * 3 % 300] for n in range(1, 120)]
    book(folder / "depots.xlsx", [["(EUR thousand)"], ["Depot", "Rent", "Power"], *depots])
    (folder / "松江.csv").write_text("单位：千吨,,\n码头,2023年\n甲码头,120\n乙码头,95\n", "utf-8")
    (folder / "haven.csv").write_text("(in thousands of tons),\nTerminal,2023\nAlpha,120\nBeta,9\n")
    document(folder / "Orrin.docx", "Orrin Mills", "(in millions of yuan)", FIGURES)
    document(folder / "苍山.docx", "苍山水泥", "金额单位：人民币百万元", ZAHLEN)
    (folder / "dover.html").write_text(page("Dover Rail", "Amounts in EUR million", FIGURES))
    (folder / "白沙.html").write_text(page("白沙铁路", "单位：亿元", ZAHLEN), "utf-8")
    (folder / "lark.md").write_text(f"# Lark Energy\n\nUnit: GBP\n\n{markdown(FIGURES)}\n")
    (folder / "银湖.md").write_text(f"# 银湖能源\n\n单位：千元\n\n{markdown(ZAHLEN)}\n", "utf-8")
    (folder / "plain.md").write_text(f"# Finch Oil\n\nIt sells oil.\n\n{markdown(FIGURES)}\n")
    drawing = together(
        lines(["Quince Yards", "Unit: SEK million"], y=760),
        grid(FIGURES, [60, 200, 300, 400]),
    )
    (folder / "Quince.pdf").write_bytes(pdf_bytes(drawing, title="Quince Yards"))
    months: Rows = [
        [f"{name} {year}", value * 10 + year % 10, 2000 - value - year % 10]
        for year in (2022, 2023, 2024)
        for name, value in zip(MONTHS, VALUES, strict=True)
    ]
    total: Rows = [["Total", 9999, 9999]]
    (folder / "lund.md").write_text(
        f"# Lund Line\n\n{markdown([['Month', 'Passengers', 'Revenue'], *months, *total])}\n"
    )
    monate: Rows = [[f"{n}月", value, 200 - value] for n, value in enumerate(VALUES, 1)]
    (folder / "用电.md").write_text(
        f"# 青河厂\n\n单位：万\n\n{markdown([['月份', '用电量', '电费'], *monate])}\n", "utf-8"
    )
    (folder / "storms.md").write_text(
        "# Storms on the Lund Line\n\nThe largest storm that the Lund Line met was in March 1991.\n"
    )
    options = ["embed.when=off", "parquet=off", "report.method=offline", "chunks.size=150"]
    with graphkb.open(root, options) as project:
        project.index()
        yield project


def quotes(kb: Project, asked: str) -> list[str]:
    told = kb.query(asked, method="hybrid").text.splitlines()
    return [line[2:].rpartition(" [")[0] for line in told if line.startswith("- ")]


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("What was the revenue of Kestrel in 2024?", "2024: 901 (Unit: USD thousand)"),
        ("云岭2024年的研发费用是多少？", "2024年: 47（单位：万元）"),
        ("What is the rent of Depot 110?", "Rent: 370; Power: 30 (EUR thousand)"),
        ("甲码头2023年的吞吐量是多少？", "2023年: 120（单位：千吨）"),
        ("What was the throughput of Alpha in 2023?", "2023: 120 (in thousands of tons)"),
        ("What was the revenue of Orrin Mills in 2024?", "2024: 901 (in millions of yuan)"),
        ("苍山水泥2024年的研发费用是多少？", "2024年: 47（金额单位：人民币百万元）"),
        ("What was the revenue of Dover Rail in 2024?", "2024: 901 (Amounts in EUR million)"),
        ("白沙铁路2024年的研发费用是多少？", "2024年: 47（单位：亿元）"),
        ("What was the revenue of Lark Energy in 2024?", "2024: 901 (Unit: GBP)"),
        ("银湖能源2024年的研发费用是多少？", "2024年: 47（单位：千元）"),
        ("What was the revenue of Quince Yards in 2024?", "2024: 901 (Unit: SEK million)"),
    ],
)
def test_a_figure_is_told_with_its_unit(kb: Project, asked: str, row: str) -> None:
    assert quotes(kb, asked)[0].endswith(row)


def test_the_citation_of_a_row_is_the_row_alone(kb: Project) -> None:
    answer = kb.query("银湖能源2024年的研发费用是多少？", method="hybrid")
    assert answer.citations[0].quote == "| 研发费用 | 41 | 47 |"


def test_no_unit_is_told_where_none_is_said(kb: Project) -> None:
    asked = "What was the revenue of Finch Oil in 2024?"
    assert quotes(kb, asked)[0] == "Item: Revenue; 2023: 812; 2024: 901"


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("Which month had the most passengers on the Lund Line?", "Jul 2024; Passengers: 774"),
        ("Which month of 2022 had the fewest Lund Line passengers?", "Feb 2022; Passengers: 282"),
        ("What was the month with the lowest revenue of Lund Line?", "Jul 2024; Passengers: 774"),
        ("青河厂哪个月用电量最高？", "月份: 7月; 用电量: 77"),
        ("青河厂电费最低的是哪个月？", "月份: 7月; 用电量: 77"),
        ("青河厂用电量最少的月份是哪个月？", "月份: 2月; 用电量: 28"),
    ],
)  # fmt: skip
def test_of_all_months_the_highest_or_lowest_is_quoted(kb: Project, asked: str, row: str) -> None:
    answer = kb.query(asked, method="hybrid")
    (quote,) = quotes(kb, asked)
    assert row in quote
    (citation,) = answer.citations
    (unit,) = kb._with_text().units([citation.text_unit_id])
    assert citation.quote in unit["text"]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Which month was the highest for the Lund Line?", "cannot be told"),
        ("青河厂哪个月最高？", "看不出指的是哪一列：用电量、电费"),
        ("青河厂哪个月最好？", "看不出指的是哪一列：用电量、电费"),
    ],
)
def test_where_no_column_is_named_that_is_said(kb: Project, asked: str, told: str) -> None:
    answer = kb.query(asked, method="hybrid")
    assert answer.refused
    assert told in answer.text


def test_what_prose_says_is_not_computed(kb: Project) -> None:
    told = quotes(kb, "Which month was the largest storm that the Lund Line met?")
    assert told[0] == "The largest storm that the Lund Line met was in March 1991."


@pytest.mark.parametrize(
    "asked",
    [
        "Which month had the second highest passengers of Lund Line?",
        "Which months had the highest and the lowest passengers of Lund Line?",
        "青河厂用电量前三高的月份",
        "青河厂用电量最高和最低的分别是哪个月？",
    ],
)
def test_of_several_high_rows_not_the_first_alone_is_quoted(kb: Project, asked: str) -> None:
    assert len(quotes(kb, asked)) != 1


def test_of_a_quarter_its_months_are_quoted(kb: Project) -> None:
    told = quotes(kb, "青河厂第一季度用电量是多少？")
    assert [row.split(";")[0] for row in told] == ["月份: 1月", "月份: 2月", "月份: 3月"]
