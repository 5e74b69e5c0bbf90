"""Reading order, paragraphs, headings and furniture of PDF pages."""

from __future__ import annotations

import textwrap

import pytest
from pdf_files import SONG, case, drawn, lines, pages_of, text_of, together

from graphkb.ingest.pdf.furniture import words_of
from graphkb.ingest.pdf.paragraphs import join_lines

LEFT = textwrap.wrap("The left column speaks of pumps and valves in some detail. " * 8, 44)
RIGHT = textwrap.wrap("The right column tells how meters are read each year. " * 8, 44)
GREEK = [f"{word} line of plain text that fills the page from left to right" for word in
         ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta")]  # fmt: skip


def test_case_d09_left_column_comes_before_the_right_one():
    text = text_of(case("pdf/two_column.pdf"))
    places = [text.index(f"LEFT line {n:02}") for n in range(30)]
    places += [text.index(f"RIGHT line {n:02}") for n in range(30)]
    assert places == sorted(places)


def test_case_d09_two_columns_with_figures():
    text = text_of(case("pdf_two_column_faa_handbook.pdf"))
    assert "Plates must be attached to the structure in a positive manner to eliminate" in text
    assert text.index("Figure 7-26. Self-locking nuts.") < text.index("the most common ranges")
    assert "cadmium-plated carbon steel" in text


def test_case_d09_three_columns_with_footnotes():
    reading = case("pdf_three_column_federal_register.pdf")
    first, second, *_ = pages_of(reading)
    assert first.startswith("Federal Register")
    order = ["# DEPARTMENT OF TRANSPORTATION", "SUMMARY: The FAA proposes to supersede",
             "• Federal eRulemaking Portal: Go to", "## Comments Invited",
             "proposal, explain the reason for any recommended change",
             "## Background"]  # fmt: skip
    places = [first.index(part) for part in order]
    assert places == sorted(places)
    assert "Federal Aviation Administration (FAA), DOT." in first
    assert "9-FAA-SACO-AD-Inquiry@faa.gov" in first
    assert second.startswith("Hatta International Airport")
    assert "Proposed Rules 47699" not in text_of(reading)
    assert any("Federal Register / Vol. 85" in note for note in reading.notes)


def test_title_over_two_columns_and_a_line_below_them():
    page = together(
        lines(["A Title Over Both Columns"], y=800, font="Helvetica-Bold", size=16),
        lines(LEFT, y=770, font="Helvetica"), lines(RIGHT, x=310, y=766, pitch=13.4),
        lines(["Below both there is a sentence that runs over the whole width of this page."],
              y=500),
    )  # fmt: skip
    heading, left, right, below = text_of(drawn(page)).split("\n\n")
    assert heading == "# A Title Over Both Columns"
    assert left == " ".join(LEFT)
    assert right == " ".join(RIGHT)
    assert below.startswith("Below both")


def test_chinese_columns_are_joined_without_spaces():
    left = [
        "北斗水表有限公司成立于二〇〇三年，",
        "总部设在武汉，主要生产智能水表和远",
        "程抄表系统。公司在华中地区有四个工",
    ]
    right = [
        "厂，员工一千二百人，年产水表三百万",
        "只。产品通过国家计量院的型式批准，",
        "远销东南亚各国，并提供安装和培训。",
    ]
    page = together(lines(left, font=SONG, pitch=16), lines(right, x=320, font=SONG, pitch=16))
    assert text_of(drawn(page)) == "".join(left + right)


def test_case_d19_rotated_page_is_read_as_lines():
    text = text_of(case("pdf/rotated90.pdf"))
    assert text.startswith("Rotated page line 0 Rotated page line 1 ")
    assert text.endswith("Rotated page line 9")


def test_case_d19_vertical_japanese_without_an_embedded_font():
    text = text_of(case("pdf_cjk_simple_vertical.pdf"))
    assert "あいうえおあいうえお" in text
    assert "Hello" in text
    assert "World" in text


def test_vertical_chinese_is_read_from_right_to_left():
    def draw(canvas):
        canvas.setFont(SONG, 12)
        for column, text in enumerate(("床前明月光疑是", "地上霜举头望明")):
            for row, character in enumerate(text):
                canvas.drawString(400 - column * 20, 700 - row * 13, character)

    assert text_of(drawn(draw)) == "床前明月光疑是地上霜举头望明"


@pytest.mark.parametrize("turn", [90, 180, 270])
def test_text_in_any_direction_is_read(turn):
    def draw(canvas):
        canvas.translate(300, 420)
        canvas.rotate(turn)
        lines(GREEK[:4], x=-200, y=100)(canvas)

    assert text_of(drawn(draw)) == " ".join(GREEK[:4])


def test_slanted_watermarks_are_left_out_and_noted():
    def draw(canvas):
        lines(GREEK)(canvas)
        canvas.translate(200, 400)
        canvas.rotate(45)
        canvas.drawString(0, 0, "CONFIDENTIAL")

    reading = drawn(draw)
    assert "CONFIDENTIAL" not in text_of(reading)
    assert any("slanted text: CONFIDENTIAL" in note for note in reading.notes)


def test_short_chinese_lines_are_paragraphs_of_their_own():
    parts = ["人事任命通知", "文号：青石人字〔2025〕17号", "各部门：", "一、成立开放平台部",
             "开放平台部的办公地点设在成都和杭州，负责生态合作和第三方开发者的支持。"]  # fmt: skip
    assert text_of(drawn(lines(parts, font=SONG, pitch=18))).split("\n\n") == parts


def test_headings_by_font_size_and_bold():
    page = together(
        lines(["Manual"], y=800, font="Helvetica-Bold", size=20),
        lines(["Scope of delivery"], y=770, font="Helvetica-Bold", size=14),
        lines(GREEK, y=745, font="Helvetica"),
        lines(["Warranty"], y=620, font="Helvetica-Bold"),
        lines(GREEK, y=600, font="Helvetica"),
    )
    parts = text_of(drawn(page)).split("\n\n")
    assert [part for part in parts if part.startswith("#")] == [
        "# Manual", "## Scope of delivery", "### Warranty"
    ]  # fmt: skip
    assert parts[2] == " ".join(GREEK)


def test_paragraphs_by_indent_gap_and_short_last_line():
    first = ["The first paragraph has two lines of the same length", "and ends here."]
    second = ["    The second one begins with an indent and goes on to", "the end of it."]
    page = together(lines(first), lines([second[0].strip()], x=75, y=754),
                    lines([second[1]], y=741), lines(["After a gap."], y=710))  # fmt: skip
    assert text_of(drawn(page)).split("\n\n") == [
        " ".join(first), " ".join(part.strip() for part in second), "After a gap."
    ]  # fmt: skip


def test_paragraphs_go_on_over_the_page_end():
    reading = drawn(lines(["The pump has to be main-"]), lines(["tained twice a year."]))
    assert text_of(reading) == "The pump has to be maintained twice a year."
    assert pages_of(reading) == ["The pump has to be main", "tained twice a year."]
    chinese = drawn(lines(["水泵每年"], font=SONG), lines(["检修两次。"], font=SONG))
    assert text_of(chinese) == "水泵每年检修两次。"


@pytest.mark.parametrize(
    ("parts", "joined"),
    [
        (["equip-", "ment"], "equipment"),
        (["a self-", "locking nut"], "a self-locking nut"),
        (["FAA–2020–", "0686"], "FAA–2020–0686"),
        (["see https://a.example/", "docs now"], "see https://a.example/docs now"),
        (["A-", "B"], "A-B"),
        (["全世界无产者，", "联合起来"], "全世界无产者，联合起来"),
        (["使用 Lance", "数据库"], "使用 Lance 数据库"),
    ],
)
def test_line_ends(parts, joined):
    assert join_lines(parts) == joined


def test_the_document_decides_about_hyphens():
    from collections import Counter

    assert join_lines(["data-", "base"], Counter({"data-base": 2})) == "data-base"
    assert join_lines(["self-", "ish"], Counter({"selfish": 1})) == "selfish"


def pages_with(header: str, footer: str, n: int = 4, font: str = ""):
    return [
        together(lines([header.format(k + 1)], y=815, font=font),
                 lines([GREEK[k], GREEK[k + 1]], y=700),
                 lines([footer.format(k + 1)], y=30, x=280))
        for k in range(n)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("header", "footer"),
    [
        ("Handbook of Meters", "{}"),
        ("Handbook of Meters", "Page {} of 4"),
        ("Chapter {} - Handbook", "- {} -"),
        ("Handbook of Meters", "Confidential {}/4"),
    ],
)
def test_repeated_headers_footers_and_page_numbers_go(header, footer):
    reading = drawn(*pages_with(header, footer))
    assert pages_of(reading) == [f"{GREEK[k]} {GREEK[k + 1]}" for k in range(4)]
    assert any(header.format(1) in note for note in reading.notes)
    kept = drawn(*pages_with(header, footer), pdf={"repeated_lines": "keep"})
    assert header.format(2) in text_of(kept)


@pytest.mark.parametrize(("header", "font"), [("Handbook of Meters", ""), ("水表手册", SONG)])
def test_that_plain_page_numbers_go_is_not_said(header, font):
    reading = drawn(*pages_with(header, "{}", font=font))
    assert header not in text_of(reading)
    (note,) = (note for note in reading.notes if "removed as" in note)
    assert note.split(": ", 2)[2].startswith(f"'{header}' (")


@pytest.mark.parametrize(
    ("first", "font"),
    [
        ("Certificate no. {}", ""),
        ("Boiler {} Inspection Report", ""),
        ("合格证编号：{}", SONG),
        ("锅炉{}检验报告", SONG),
    ],
)
@pytest.mark.parametrize("numbers", [(4711, 2088, 9034, 1187), (301, 517, 944)])
def test_first_lines_that_differ_in_their_numbers_stay(first, font, numbers):
    pages = [
        together(lines([first.format(n)], y=815, font=font), lines([GREEK[k]], y=700))
        for k, n in enumerate(numbers)
    ]
    text = text_of(drawn(*pages))
    assert [first.format(n) for n in numbers if first.format(n) not in text] == []


@pytest.mark.parametrize(("first", "font"), [("Serial No. {}", ""), ("证书编号：{}", SONG)])
def test_identifiers_that_rise_with_the_pages_stay(first, font):
    pages = [
        together(lines([first.format(1001 + k)], y=815, font=font), lines([GREEK[k]], y=700))
        for k in range(6)
    ]
    text = text_of(drawn(*pages))
    assert [k for k in range(6) if first.format(1001 + k) not in text] == []


@pytest.mark.parametrize(
    ("header", "font"), [("Chapter {} - Handbook", ""), ("第{}章使用手册", SONG)]
)
def test_the_note_shows_the_first_and_the_last_of_what_went(header, font):
    pages = [
        together(lines([header.format(k + 1)], y=815, font=font), lines([GREEK[k]], y=700))
        for k in range(4)
    ]
    (note,) = drawn(*pages).notes
    assert f"'{header.format(1)} … {header.format(4)}'" in note


def test_chapter_names_beside_page_numbers_go_and_the_title_stays():
    title = lines(["Water Meters"], y=800, font="Helvetica-Bold", size=20)
    pages = [
        together(
            lines([f"Chapter {k // 2}: {GREEK[k // 2].split()[0]}   {k + 2}"], y=815),
            lines(["Water Meters"], y=30, font="Helvetica"),
            lines([GREEK[k]], y=700, font="Helvetica"),
        )
        for k in range(8)
    ]
    first = together(title, lines(GREEK, y=700, font="Helvetica"))
    text = text_of(drawn(first, *pages))
    assert text.startswith("# Water Meters\n")
    assert "Chapter" not in text
    assert text.count("Water Meters") == 1


def test_leaders_of_a_table_of_contents_go():
    rows = [("Introduction", "1"), ("Installation", "4"), ("Reading", "12"), ("Index", "30")]
    page = together(
        lines([name + " ." * 40 for name, _ in rows], font="Helvetica"),
        lines([number for _, number in rows], x=400, font="Helvetica"),
    )
    assert text_of(drawn(page)).split("\n") == [
        "|  |  |", "|---|---|", "| Introduction | 1 |", "| Installation | 4 |",
        "| Reading | 12 |", "| Index | 30 |",
    ]  # fmt: skip


def test_chinese_page_numbers_go_but_numbered_headings_stay():
    def page(number):
        return together(
            lines(["北斗水表有限公司 内部资料"], y=815, font=SONG, size=9),
            lines([f"{number}．概述"], y=780, font=SONG, size=16),
            lines(["水表的型号和口径见下文，安装要求另述。"] * 3, y=740, font=SONG),
            lines([f"第 {number} 页 共 3 页"], y=30, x=280, font=SONG, size=9),
        )

    text = text_of(drawn(*(page(number) for number in (1, 2, 3))))
    assert [line for line in text.split("\n") if line.startswith("#")] == [
        "# 1．概述", "# 2．概述", "# 3．概述"
    ]  # fmt: skip
    assert "内部资料" not in text
    assert "页" not in text


@pytest.mark.parametrize(
    ("line", "left"),
    [("12", ""), ("- 12 -", ""), ("第 3 页 / 共 9 页", ""), ("iv", ""), ("Page 3", ""),
     ("3 Pumps", "pumps"), ("Annual report 2024 | 7", "annual report")],
)  # fmt: skip
def test_what_is_left_of_a_line_without_page_numbers(line, left):
    assert words_of(line) == left
