from __future__ import annotations

import io
import re
import zipfile
from itertools import pairwise
from pathlib import Path

import pptx
import pytest
from office_files import NAMESPACES, changed, read_path, read_saved, relations, zipped
from pptx.chart.data import CategoryChartData, XyChartData
from pptx.enum.chart import XL_CHART_TYPE
from pptx.enum.shapes import MSO_SHAPE
from pptx.oxml import parse_xml as pptx_xml
from pptx.util import Inches

from graphkb.ingest.readers import office_graphics
from graphkb.ingest.readers.office import parse_xml
from graphkb.ingest.readers.office_graphics import diagram_markdown

CASES = Path(__file__).parents[1] / "data" / "cases"
TITLE_ONLY, BLANK, TITLE_AND_BODY = 5, 6, 1


@pytest.fixture
def deck():
    return pptx.Presentation()


@pytest.fixture
def read(tmp_path):
    def read(deck, name="a.pptx"):
        result = read_saved(tmp_path / name, deck)
        assert not result.refused, result.refused
        return result

    return read


def add_slide(deck, layout=BLANK, title=None):
    slide = deck.slides.add_slide(deck.slide_layouts[layout])
    if title is not None:
        slide.shapes.title.text = title
    return slide


def add_text(slide, text, left, top, width=2.0, height=0.5):
    box = slide.shapes.add_textbox(Inches(left), Inches(top), Inches(width), Inches(height))
    box.text_frame.text = text
    return box


def pages(record):
    starts = [*record.page_starts, len(record.text)]
    return [record.text[a:b].strip() for a, b in pairwise(starts)]


def test_case_e05_shapes_are_apart_and_groups_are_opened():
    (record,) = read_path(CASES / "office/group_table_notes.pptx").records
    assert record.text == (
        "# Slide 1\n\nFIRST BOX\n\nSECOND BOX\n\nGROUPED ONE\n\nGROUPED DEEP\n\n"
        "| T00 | T01 |\n|---|---|\n| T10 | T11 |\n\nNotes: NOTES WORD\n\n"
    )


def test_case_e17_comments_of_real_slides_are_read_with_their_authors():
    (record,) = read_path(CASES / "pptx_comments.pptx").records
    first, start, features = pages(record)
    assert first.startswith("# Test Slide With Comments\n\nDocling converts messy")
    assert first.endswith(
        "> [John Reviewer] This is a sample reviewer comment\n\n"
        "> [Jane Smith] This is a sample response"
    )
    assert start.startswith("# Start\n\n")
    assert "- Extract document components" in features
    assert record.n_pages == 3


def test_slides_are_pages_with_their_titles_as_headings(deck, read):
    slide = add_slide(deck, TITLE_AND_BODY, "产品\v路线")
    frame = slide.placeholders[1].text_frame
    frame.text = "第一阶段"
    for text, level in (("试点", 1), ("Rollout", 0)):
        paragraph = frame.add_paragraph()
        paragraph.text, paragraph.level = text, level
    add_slide(deck)
    add_text(add_slide(deck), "没有标题", 1, 1)
    (record,) = read(deck).records
    assert pages(record) == [
        "# 产品; 路线\n\n- 第一阶段\n  - 试点\n- Rollout", "", "# 第 3 页\n\n没有标题",
    ]  # fmt: skip
    assert record.title == "产品; 路线"
    assert record.n_pages == 3


def test_shapes_are_read_by_place_and_columns_one_after_the_other(deck, read):
    slide = add_slide(deck, TITLE_ONLY, "Compare")
    add_text(slide, "foot", 1, 6.5, 8)
    add_text(slide, "right 2", 5.5, 3.9)
    add_text(slide, "left 2", 1, 4)
    add_text(slide, "right 1", 5.5, 2, height=1.5)
    add_text(slide, "left 1", 1, 2, height=1.95)
    (record,) = read(deck).records
    assert record.text.split() == "# Compare left 1 left 2 right 1 right 2 foot".split()


def test_rows_of_cards_are_read_row_by_row(deck, read):
    slide = add_slide(deck)
    for row in (1, 0):
        for column in (2, 0, 1):
            add_text(slide, f"{'甲乙'[row]}{column}", 1 + 3 * column, 1 + 2 * row)
    (record,) = read(deck).records
    assert record.text.split()[4:] == "甲0 甲1 甲2 乙0 乙1 乙2".split()


def test_merged_cells_of_tables(deck, read):
    table = add_slide(deck).shapes.add_table(3, 3, 0, 0, Inches(6), Inches(2)).table
    rows = [["套餐", "月付", ""], ["", "个人", "企业"], ["专业|版", "49", "1,999"]]
    for row, texts in enumerate(rows):
        for column, text in enumerate(texts):
            table.cell(row, column).text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    (record,) = read(deck).records
    assert "| 套餐 | 月付 个人 | 月付 企业 |\n|---|---|---|\n| 专业\\|版 | 49 | 1,999 |" in (
        record.text
    )


def test_notes_and_hidden_slides(deck, read):
    slide = add_slide(deck, TITLE_ONLY, "计划")
    slide.notes_slide.notes_text_frame.text = "先说背景\n再说结论"
    hidden = add_slide(deck, TITLE_ONLY, "Backup")
    hidden._element.set("show", "0")
    result = read(deck)
    assert pages(result.records[0]) == ["# 计划\n\n备注：先说背景\n再说结论", "# Backup"]
    assert result.notes == ("a.pptx: hidden slides are read too: 2",)


def test_charts_are_tables_of_what_they_show(deck, read):
    data = CategoryChartData(number_format='0.0"万"')
    data.categories = ["一季度", "Q2"]
    data.add_series("北区", (12.345, None))
    data.add_series("South", (3, 4))
    shape = add_slide(deck).shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, 10, 10, data)
    shape.chart.has_title = True
    shape.chart.chart_title.text_frame.text = "销售额"
    points = XyChartData()
    series = points.add_series("run")
    series.add_data_point(1, 2.5)
    add_slide(deck).shapes.add_chart(XL_CHART_TYPE.XY_SCATTER, 0, 0, 10, 10, points)
    first, second = pages(read(deck).records[0])
    assert first.split("\n\n", 1)[1] == (
        "销售额\n\n|  | 北区 | South |\n|---|---|---|\n"
        "| 一季度 | 12.3万 | 3.0万 |\n| Q2 |  | 4.0万 |"
    )
    assert second.endswith("|  | run |\n|---|---|\n| 1 | 2.5 |")


def test_points_of_a_chart_beyond_the_most_are_noted(deck, read, monkeypatch):
    monkeypatch.setattr(office_graphics, "_MOST_POINTS", 1)
    data = CategoryChartData()
    data.categories = ["一季度", "Q2", "Q3"]
    data.add_series("北区", (1, 2, 3))
    add_slide(deck).shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, 0, 0, 10, 10, data)
    result = read(deck)
    assert result.records[0].text.rstrip().endswith("|---|---|\n| 一季度 | 1 |")
    assert result.notes == ("a.pptx: 2 points of a chart are left out: more than 1",)


def test_pictures_give_their_description_and_page_numbers_nothing(deck, read):
    slide = add_slide(deck)
    shape = slide.shapes.add_shape(MSO_SHAPE.RECTANGLE, 0, 0, 10, 10)
    mark = f'<p:nvPr {NAMESPACES}><p:ph type="sldNum"/></p:nvPr>'
    shape._element.nvSpPr.replace(shape._element.nvSpPr.nvPr, pptx_xml(mark))
    shape.text_frame.text = "77"
    picture = f"""<p:pic {NAMESPACES}><p:nvPicPr><p:cNvPr id="9" name="x" descr="系统架构图"/>
      <p:cNvPicPr/><p:nvPr/></p:nvPicPr><p:blipFill/><p:spPr/></p:pic>"""
    slide.shapes._spTree.append(pptx_xml(picture))
    (record,) = read(deck).records
    assert record.text == "# 第 1 页\n\n[image: 系统架构图]\n\n"


def test_a_footer_is_kept_once(deck, read):
    for title in ("One", "Two"):
        slide = add_slide(deck, TITLE_ONLY, title)
        slide.shapes._spTree.append(
            pptx_xml(
                f'<p:sp {NAMESPACES}><p:nvSpPr><p:cNvPr id="9" name="f"/><p:cNvSpPr/><p:nvPr>'
                '<p:ph type="ftr" idx="11"/></p:nvPr></p:nvSpPr><p:spPr/><p:txBody><a:bodyPr/>'
                "<a:p><a:r><a:t>机密</a:t></a:r></a:p></p:txBody></p:sp>"
            )
        )
    assert pages(read(deck).records[0]) == ["# One\n\n机密", "# Two"]


def test_comments_of_the_newer_kind_with_replies(deck, tmp_path):
    add_slide(deck, TITLE_ONLY, "Plan")
    path = tmp_path / "a.pptx"
    deck.save(path)

    def said(tag, author, text, more=""):
        body = f"<p188:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p188:txBody>"
        return f'<p188:{tag} id="1" authorId="{author}">{more}{body}</p188:{tag}>'

    replies = f"<p188:replyLst>{said('reply', '{B}', '同意')}</p188:replyLst>"
    comments = f"<p188:cmLst {NAMESPACES}>{said('cm', '{A}', 'Check dates', replies)}</p188:cmLst>"
    authors = (
        f'<p188:authorLst {NAMESPACES}><p188:author id="{{A}}" name="Ada Lin"/>'
        '<p188:author id="{B}" name="韩梅梅"/></p188:authorLst>'
    )
    slide_links = {
        "r1": ("slideLayout", "../slideLayouts/slideLayout6.xml"),
        "r2": ("comments", "../comments/modern1.xml"),
    }
    data = path.read_bytes()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        links = archive.read("ppt/_rels/presentation.xml.rels").decode()
    author_link = relations({"r99": ("authors", "authors.xml")}).split(">", 1)[1]
    links = links.replace("</Relationships>", author_link)
    path.write_bytes(
        changed(data, {
            "ppt/slides/_rels/slide1.xml.rels": relations(slide_links),
            "ppt/comments/modern1.xml": comments,
            "ppt/authors.xml": authors,
            "ppt/_rels/presentation.xml.rels": links,
        })
    )  # fmt: skip
    (record,) = read_path(path).records
    assert record.text == "# Plan\n\n> [Ada Lin] Check dates\n\n> [韩梅梅] 同意\n\n"


def test_smartart_is_a_nested_list_in_its_order():
    def point(name, text=""):
        body = f"<dgm:t><a:p><a:r><a:t>{text}</a:t></a:r></a:p></dgm:t>" if text else ""
        return f'<dgm:pt modelId="{name}">{body}</dgm:pt>'

    links = [("0", "1", 1), ("0", "2", 0), ("1", "3", 0)]
    listed = "".join(f'<dgm:cxn srcId="{a}" destId="{b}" srcOrd="{n}"/>' for a, b, n in links)
    listed += '<dgm:cxn type="presOf" srcId="3" destId="0" srcOrd="0"/>'
    points = point("0") + point("1", "经理") + point("2", "CEO") + point("3", "Team")
    model = f"<dgm:dataModel {NAMESPACES}><dgm:ptLst>{points}</dgm:ptLst>{listed}</dgm:dataModel>"
    assert diagram_markdown(parse_xml(model.encode(), "x")) == "- CEO\n- 经理\n  - Team"


def test_a_damaged_slide_is_noted_and_the_others_are_kept(deck, tmp_path):
    for title in ("One", "Two"):
        add_slide(deck, TITLE_ONLY, title)
    path = tmp_path / "a.pptx"
    deck.save(path)
    path.write_bytes(changed(path.read_bytes(), {"ppt/slides/slide1.xml": "<p:sld"}))
    result = read_path(path)
    assert pages(result.records[0]) == ["", "# Two"]
    assert "ppt/slides/slide1.xml" in result.notes[0]


@pytest.mark.parametrize("is_linked", [True, False])
def test_a_slide_that_is_missing_is_noted_and_the_others_are_kept(deck, read, is_linked):
    for title in ("One", "二"):
        add_slide(deck, TITLE_ONLY, title)
    file = io.BytesIO()
    deck.save(file)
    data = file.getvalue()
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    del parts["ppt/slides/slide1.xml"]
    if not is_linked:
        links = "ppt/_rels/presentation.xml.rels"
        parts[links] = re.sub(rb"<Relationship [^>]*slide1\.xml[^>]*/>", b"", parts[links])
    result = read(zipped(parts))
    assert pages(result.records[0]) == ["", "# 二"]
    assert result.notes == ("a.pptx: left out: slide 1 is missing in it",)
