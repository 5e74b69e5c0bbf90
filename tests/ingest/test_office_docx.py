from __future__ import annotations

import io
import zipfile
from pathlib import Path

import docx
import pytest
from docx.oxml import parse_xml
from office_files import NAMESPACES, changed, paragraph, read_path, read_saved, word

from graphkb.ingest.readers.docx_styles import chinese_number

CASES = Path(__file__).parents[1] / "data" / "cases"


@pytest.fixture
def read(tmp_path):
    def read(content, name="a.docx"):
        result = read_saved(tmp_path / name, content)
        assert not result.refused, result.refused
        return result.records[0]

    return read


def cells(text):
    """The rows of every table in the text, the separator left out."""
    rows = [line for line in text.split("\n") if line.startswith("|")]
    return [
        [cell.strip() for cell in row.strip("|").split("|")] for row in rows if "---" not in row
    ]


def test_case_e01_tables_stand_where_they_are_and_nested_ones_in_their_cell():
    (record,) = read_path(CASES / "office/order_merge_nest.docx").records
    assert record.text == (
        "HEADER-WORD\n\n# Dipper plan\n\nPARA-ONE before the table.\n\n"
        "| MERGED-H |  | r0c2 |\n|---|---|---|\n"
        "| r1c0; NEST-A, NEST-B | r1c1 | MERGED-V |\n| r2c0 | r2c1 | MERGED-V |\n\n"
        "PARA-TWO after the table."
    )
    assert record.title == "Dipper plan"


def test_case_e01_merged_cells_of_real_tables():
    (record,) = read_path(CASES / "docx_tables_merged.docx").records
    table = cells(record.text.partition("all kinds of spans")[2].partition("starting late")[0])
    assert table == [
        ["Header 0.0", "Header 0.1", "Header 0.2", "", ""],
        ["Cell 1.0", "Merged Cell 1.1 2.1", "Cell 1.2", "", ""],
        ["Cell 2.0", "Merged Cell 1.1 2.1", "Cell 2.2", "", ""],
        ["Cell 3.0", "Merged Cell 3.1 4.1", "Cell 3.2", "", ""],
        ["Cell 4.0", "Merged Cell 3.1 4.1", "Cell 4.2", "", "Merged Cell 4.4 5.4"],
        ["", "", "", "", "Merged Cell 4.4 5.4"],
        ["", "", "", "", "Cell 8.4"],
    ]


def test_case_e03_rows_that_start_late_or_end_early_are_padded():
    (record,) = read_path(CASES / "docx_tables_incomplete_rows.docx").records
    rows = cells(record.text)
    assert rows[:4] == [["a", "b"], ["c", "d"], ["a", ""], ["b", "c"]]
    assert rows[8:11] == [["a", "", "b", "c"], ["", "d", "", ""], ["e", "d", "", "f"]]
    assert {"Data", "More", "Dato", "WTF?", "Strange", "Format"} <= set(
        record.text.replace("|", " ").split()
    )


def test_case_e17_text_boxes_are_read_once_and_an_empty_document_is_refused():
    (record,) = read_path(CASES / "docx_textbox.docx").records
    assert record.text.count("Student falls ill") == 1
    assert record.text.count("Health Bureau:") == 1
    assert "- Suggested Reportable Symptoms:\n  ＊ Fever\n  ＊ Cough" in record.text
    assert record.title == "傳染病通報作業流程"
    (refused,) = read_path(CASES / "office/empty.docx").refused
    assert "holds no text" in refused.reason


def test_headings_lists_and_tables_of_python_docx(read):
    document = docx.Document()
    document.add_heading("水表手册", 0)
    document.add_heading("Safety", 2)
    document.add_paragraph("One", style="List Bullet")
    document.add_paragraph("Deeper", style="List Bullet 2")
    document.add_paragraph("第一步", style="List Number")
    document.add_paragraph("第二步", style="List Number")
    table = document.add_table(2, 2)
    for cell, text in zip(table._cells, ["Part|No", "数量", "Valve", "12"], strict=True):
        cell.text = text
    record = read(document)
    assert record.text == (
        "# 水表手册\n\n## Safety\n\n- One\n  - Deeper\n1. 第一步\n2. 第二步\n\n"
        "| Part\\|No | 数量 |\n|---|---|\n| Valve | 12 |"
    )
    assert record.title == "水表手册"
    assert record.media_type.endswith("wordprocessingml.document")


def test_metadata_and_dates_come_from_the_properties(read):
    document = docx.Document()
    document.add_paragraph("Text.")
    properties = document.core_properties
    properties.title, properties.author = "采购合同", "陈明"
    properties.last_modified_by = "Ada Lin"
    record = read(document)
    assert record.title == "采购合同"
    assert record.metadata["author"] == "陈明"
    assert record.metadata["last_modified_by"] == "Ada Lin"
    assert record.creation_date == "2013-12-23T23:15:00Z"


@pytest.mark.parametrize("title", ["Microsoft Word - 合同.doc", "Document1", "无标题文档"])
def test_a_program_s_stopgap_is_no_title(read, title):
    document = docx.Document()
    document.core_properties.title = title
    document.add_heading("Real", 1)
    assert read(document).title == "Real"


STYLES = """
<w:style w:type="paragraph" w:styleId="1"><w:name w:val="标题 1"/></w:style>
<w:style w:type="paragraph" w:styleId="a9"><w:name w:val="条款"/><w:basedOn w:val="20"/></w:style>
<w:style w:type="paragraph" w:styleId="20"><w:name w:val="x"/>
 <w:pPr><w:outlineLvl w:val="1"/></w:pPr></w:style>
<w:style w:type="paragraph" w:styleId="toc"><w:name w:val="toc 1"/></w:style>
<w:style w:type="paragraph" w:styleId="loop"><w:name w:val="y"/><w:basedOn w:val="loop"/></w:style>
"""


def styled(text, style):
    return paragraph(text, f'<w:pStyle w:val="{style}"/>')


def test_headings_by_chinese_style_name_outline_level_and_inheritance(read):
    body = (
        styled("概述.....1", "toc")
        + styled("概述", "1")
        + styled("范围", "a9")
        + paragraph("细节", '<w:outlineLvl w:val="3"/>')
        + styled("正文", "loop")
        + styled("末节", "gone")
    )
    text = read(word(body, styles=STYLES)).text
    assert text == "# 概述\n\n## 范围\n\n#### 细节\n\n正文\n\n末节"


NUMBERING = """
<w:abstractNum w:abstractNumId="0">
 <w:lvl w:ilvl="0"><w:start w:val="1"/><w:numFmt w:val="chineseCounting"/>
  <w:lvlText w:val="第%1条"/></w:lvl>
 <w:lvl w:ilvl="1"><w:start w:val="1"/><w:numFmt w:val="decimal"/><w:lvlText w:val="%1.%2"/></w:lvl>
 <w:lvl w:ilvl="2"><w:start w:val="1"/><w:numFmt w:val="lowerRoman"/>
  <w:lvlText w:val="(%3)"/></w:lvl></w:abstractNum>
<w:abstractNum w:abstractNumId="1"><w:numStyleLink w:val="Plan"/></w:abstractNum>
<w:abstractNum w:abstractNumId="2"><w:styleLink w:val="Plan"/>
 <w:lvl w:ilvl="0"><w:start w:val="3"/><w:numFmt w:val="upperLetter"/>
  <w:lvlText w:val="%1."/></w:lvl></w:abstractNum>
<w:num w:numId="1"><w:abstractNumId w:val="0"/></w:num>
<w:num w:numId="2"><w:abstractNumId w:val="1"/></w:num>
<w:num w:numId="3"><w:abstractNumId w:val="0"/>
 <w:lvlOverride w:ilvl="0"><w:startOverride w:val="7"/></w:lvlOverride></w:num>
"""


def numbered(text, name, level=0):
    numbering = f'<w:numPr><w:ilvl w:val="{level}"/><w:numId w:val="{name}"/></w:numPr>'
    return paragraph(text, numbering)


def test_list_numbers_are_written_as_word_shows_them(read):
    body = (
        numbered("定义", 1) + numbered("甲方", 1, 1) + numbered("sub", 1, 2)
        + numbered("乙方", 1, 1) + numbered("付款", 1) + numbered("日期", 1, 1)
        + numbered("Charlie", 2) + numbered("Delta", 2) + numbered("违约", 3)
        + numbered("none", 0)
    )  # fmt: skip
    text = read(word(body, numbering=NUMBERING)).text
    assert text == (
        "第一条 定义\n  一.1 甲方\n    (i) sub\n  一.2 乙方\n第二条 付款\n  二.1 日期\n"
        "C. Charlie\nD. Delta\n第七条 违约\n\nnone"
    )


def test_chinese_numbers():
    assert [chinese_number(n) for n in (1, 10, 19, 20, 101, 1000, 9999, 0, 10_000)] == [
        "一", "十", "十九", "二十", "一百零一", "一千", "九千九百九十九", "0", "10000"
    ]  # fmt: skip


def test_changes_are_taken_as_accepted_and_hidden_text_is_out(read):
    body = (
        "<w:p><w:r><w:t>Pay </w:t></w:r><w:ins><w:r><w:t>49</w:t></w:r></w:ins>"
        "<w:del><w:r><w:delText>39</w:delText></w:r></w:del>"
        "<w:moveFrom><w:r><w:t>moved</w:t></w:r></w:moveFrom>"
        "<w:r><w:rPr><w:vanish/></w:rPr><w:t>secret</w:t></w:r>"
        '<w:r><w:rPr><w:vanish w:val="0"/></w:rPr><w:t> yuan</w:t></w:r></w:p>'
        f"<w:ins>{paragraph('新增段落')}</w:ins><w:del>{paragraph('gone')}</w:del>"
    )
    assert read(word(body)).text == "Pay 49 yuan\n\n新增段落"


def test_fields_links_controls_breaks_and_symbols_give_what_is_shown(read):
    body = (
        '<w:p><w:r><w:fldChar w:fldCharType="begin"/><w:instrText>DATE</w:instrText>'
        '<w:fldChar w:fldCharType="separate"/><w:t>5 March</w:t>'
        '<w:fldChar w:fldCharType="end"/></w:r><w:r><w:tab/><w:t>see</w:t><w:br/></w:r>'
        '<w:hyperlink r:id="x"><w:r><w:t>链接</w:t></w:r></w:hyperlink>'
        '<w:fldSimple w:instr="REF a"><w:r><w:t>[3]</w:t></w:r></w:fldSimple>'
        '<w:r><w:sym w:font="Wingdings" w:char="F0FE"/><w:noBreakHyphen/>'
        '<w:sym w:font="Symbol" w:char="F061"/></w:r></w:p>'
        f"<w:sdt><w:sdtPr/><w:sdtContent>{paragraph('控件')}</w:sdtContent></w:sdt>"
    )
    assert read(word(body)).text == "5 March see\n链接[3]☑-α\n\n控件"


def test_prompts_of_empty_controls_are_out_and_embedded_documents_noted(tmp_path):
    control = "<w:sdt><w:sdtPr>{}</w:sdtPr><w:sdtContent>{}</w:sdtContent></w:sdt>"
    prompt = control.format("<w:showingPlcHdr/>", paragraph("单击此处输入文字"))
    filled = control.format('<w:showingPlcHdr w:val="0"/>', paragraph("Filled"))
    path = tmp_path / "a.docx"
    path.write_bytes(word(prompt + filled + '<w:altChunk r:id="x"/>'))
    result = read_path(path)
    assert result.records[0].text == "Filled"
    assert "embedded in it are left out" in result.notes[0]


def test_rows_that_word_repeats_on_each_page_are_the_header(read):
    head = "<w:trPr><w:tblHeader/></w:trPr>"
    row = "<w:tr>{}<w:tc>{}</w:tc><w:tc>{}</w:tc></w:tr>"
    rows = [(head, "型号", "长度"), (head, "Model", "mm"), ("", "A1", "10")]
    body = "".join(row.format(kind, paragraph(a), paragraph(b)) for kind, a, b in rows)
    assert cells(read(word(f"<w:tbl>{body}</w:tbl>")).text) == [
        ["型号 Model", "长度 mm"],
        ["A1", "10"],
    ]


def test_notes_and_comments_stand_after_what_refers_to_them(read):
    body = (
        '<w:p><w:r><w:t>Leads</w:t><w:footnoteReference w:id="2"/></w:r>'
        '<w:r><w:t>.</w:t><w:endnoteReference w:id="1"/><w:commentReference w:id="0"/></w:r></w:p>'
        + paragraph("Next")
    )
    text = read(
        word(
            body,
            footnotes=f'<w:footnote w:type="separator" w:id="0">{paragraph("---")}</w:footnote>'
            f'<w:footnote w:id="2">{paragraph("自2019年")}{paragraph("see p. 3")}</w:footnote>',
            endnotes=f'<w:endnote w:id="1">{paragraph("End")}</w:endnote>',
            comments=f'<w:comment w:id="0" w:author="李雷">{paragraph("核实?")}</w:comment>',
        )
    ).text
    assert text == (
        "Leads[^2].[^e1]\n\n[^2]: 自2019年; see p. 3\n\n[^e1]: End\n\n> [李雷] 核实?\n\nNext"
    )


def test_headers_and_footers_stand_once_without_page_numbers(read):
    document = docx.Document()
    section = document.sections[0]
    section.header.paragraphs[0].text = "内部资料 No. A-7"
    footer = section.footer.paragraphs[0]
    field = '<w:fldSimple {} w:instr=" PAGE "><w:r><w:t>1</w:t></w:r></w:fldSimple>'
    footer.add_run("第 ")
    footer._p.append(parse_xml(field.format(NAMESPACES)))
    footer.add_run(" 页")
    section.footer.add_paragraph("Bluestone Ltd.")
    section.footer.add_paragraph("Body says")
    document.add_paragraph("Body says so.")
    other = document.add_section()
    other.header.is_linked_to_previous = False
    other.header.paragraphs[0].text = "内部资料 No. A-7"
    assert read(document).text == "内部资料 No. A-7\n\nBody says so.\n\nBluestone Ltd."


def test_a_super_header_is_joined_with_the_row_below(read):
    document = docx.Document()
    table = document.add_table(3, 4)
    rows = [["地区", "收入", "", "备注"], ["", "2023", "Q2"], ["North", "10", "20", "ok"]]
    rows[1] = ["", "上半年", "下半年", ""]
    for row, texts in zip(table.rows, rows, strict=True):
        for cell, text in zip(row.cells, texts, strict=True):
            cell.text = text
    table.cell(0, 1).merge(table.cell(0, 2))
    table.cell(0, 0).merge(table.cell(1, 0))
    table.cell(0, 3).merge(table.cell(1, 3))
    assert cells(read(document).text) == [
        ["地区", "收入 上半年", "收入 下半年", "备注"],
        ["North", "10", "20", "ok"],
    ]


def test_a_table_of_one_column_is_a_frame_around_its_text(read):
    document = docx.Document()
    cell = document.add_table(1, 1).cell(0, 0)
    cell.text = "Warning"
    inner = cell.add_table(1, 2)
    inner.cell(0, 0).text, inner.cell(0, 1).text = "a", "b"
    assert read(document).text == "Warning\n\n| a | b |\n|---|---|"


def test_deleted_rows_are_out_and_controls_around_cells_are_seen_through(read):
    row = (
        "<w:tr>{}<w:tc>{}</w:tc><w:sdt><w:sdtContent><w:tc>{}</w:tc></w:sdtContent></w:sdt></w:tr>"
    )
    body = "<w:tbl>{}{}{}</w:tbl>".format(
        row.format("", paragraph("k"), paragraph("v")),
        row.format("<w:trPr><w:del/></w:trPr>", paragraph("old"), paragraph("0")),
        row.format("", paragraph("新"), paragraph("1") + paragraph("2")),
    )
    assert cells(read(word(body)).text) == [["k", "v"], ["新", "1; 2"]]


def test_a_text_box_saved_in_two_forms_is_read_once_after_its_paragraph(read):
    box = "<w:txbxContent>" + paragraph("框内文字") + "</w:txbxContent>"
    body = (
        "<w:p><w:r><w:t>Anchor</w:t></w:r><w:r><mc:AlternateContent><mc:Choice Requires='wps'>"
        '<w:drawing><wp:docPr descr="Pump, exploded view"/><wps:wsp><wps:txbx>'
        f"{box}</wps:txbx></wps:wsp></w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>"
        f"{box}</v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        "<w:p><w:r><w:pict><v:textbox>"
        f"{box.replace('框内', 'VML ')}</v:textbox></w:pict></w:r></w:p>"
    )
    assert read(word(body)).text == ("Anchor[image: Pump, exploded view]\n\n框内文字\n\nVML 文字")


def test_formulas_stand_in_one_line(read):
    def run(text):
        return f"<m:r><m:t>{text}</m:t></m:r>"

    fraction = f"<m:f><m:num>{run('a')}</m:num><m:den>{run('b+c')}</m:den></m:f>"
    power = f"<m:sSup><m:e>{run('x')}</m:e><m:sup>{run('2')}</m:sup></m:sSup>"
    root = f"<m:rad><m:deg/><m:e>{power}</m:e></m:rad>"
    body = f"<w:p><m:oMath>{run('y=')}{fraction}{run('+')}{root}</m:oMath></w:p>"
    assert read(word(body)).text == "y=a/(b+c)+√(x^2)"


def test_strict_documents_and_templates_are_read(read):
    data = word(paragraph("严格 strict"))
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        document = archive.read("word/document.xml")
        types = archive.read("[Content_Types].xml")
    document = document.replace(
        b"schemas.openxmlformats.org/wordprocessingml/2006/main",
        b"purl.oclc.org/ooxml/wordprocessingml/main",
    )
    types = types.replace(
        b"openxmlformats-officedocument.wordprocessingml.document.main",
        b"ms-word.document.macroEnabled.main",
    )
    data = changed(data, {"word/document.xml": document, "[Content_Types].xml": types})
    assert read(data, "a.docm").text == "严格 strict"


def test_a_damaged_part_beside_the_text_is_noted_and_the_text_kept(tmp_path):
    data = word(paragraph("Kept"), comments="<w:comment/>", styles="")
    path = tmp_path / "a.docx"
    path.write_bytes(changed(data, {"word/comments.xml": "<w:comments", "word/styles.xml": "x"}))
    result = read_path(path)
    assert result.records[0].text == "Kept"
    assert len(result.notes) == 2
    assert "word/comments.xml" in result.notes[1]
    assert result.notes[1].startswith("a.docx: left out: damaged")
