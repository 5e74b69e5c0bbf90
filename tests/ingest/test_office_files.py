from __future__ import annotations

import io
import struct
import zipfile
from pathlib import Path

import docx
import openpyxl
import pptx
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from office_files import changed, paragraph, read_path, relations, word, zipped

from graphkb.errors import InputError
from graphkb.ingest.chunk import CHUNKERS
from graphkb.ingest.chunkers.piece import Budget
from graphkb.ingest.containers import ZipLimits, open_zip, read_member
from graphkb.ingest.readers.grid import cell_text, grid_markdown
from graphkb.ingest.readers.office import parse_xml

CASES = Path(__file__).parents[1] / "data" / "cases"
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"


@pytest.fixture
def read(tmp_path):
    def read(name, data):
        path = tmp_path / name
        path.write_bytes(data)
        return read_path(path)

    return read


def made(kind):
    file = io.BytesIO()
    if kind == "docx":
        document = docx.Document()
        document.add_heading("水表 meters", 1)
        table = document.add_table(1, 2)
        table.cell(0, 0).text, table.cell(0, 1).text = "甲", "b"
        document.save(file)
    elif kind == "pptx":
        deck = pptx.Presentation()
        deck.slides.add_slide(deck.slide_layouts[5]).shapes.title.text = "水表 meters"
        deck.save(file)
    else:
        book = openpyxl.Workbook()
        book.active.append(["水表 meters", 1.5])
        book.save(file)
    return file.getvalue()


@pytest.fixture(scope="module")
def documents():
    return {kind: made(kind) for kind in ("docx", "pptx", "xlsx")}


@pytest.mark.parametrize("name", ["a.doc", "a.zip", "a", "a.txt", "a.pptx", "a.pdf"])
@pytest.mark.parametrize("kind", ["docx", "pptx", "xlsx"])
def test_content_tells_the_kind_whatever_the_name(read, documents, kind, name):
    (record,) = read(name, documents[kind]).records
    assert "水表 meters" in record.text
    assert record.media_type in CHUNKERS


@pytest.mark.parametrize(
    ("stream", "reason"),
    [
        ("WordDocument", "an old binary Word document; save it as .docx"),
        ("Workbook", "an old binary Excel workbook; save it as .xlsx"),
        ("PowerPoint Document", "an old binary presentation; save it as .pptx"),
        ("EncryptedPackage", "encrypted, skipped; remove the password"),
        ("nothing known", "an old Office file of an unknown kind; save it as .docx"),
    ],
)
def test_old_and_encrypted_files_are_refused_with_what_to_do(read, stream, reason):
    (refused,) = read("a.docx", OLE + bytes(512) + stream.encode("utf-16-le")).refused
    assert refused.where == "a.docx"
    assert refused.reason.startswith(reason)


def test_html_under_an_office_name_is_read_as_html(read):
    (record,) = read("报表.xls", "<html><p>导出 exported</p>".encode()).records
    assert (record.text, record.media_type) == ("导出 exported", "text/html")


@pytest.mark.parametrize("name", ["a.docx", "a.pptx", "a.xlsx"])
@pytest.mark.parametrize(
    "data",
    [b"PK\x03\x04", zipped({"a.txt": "x", "word/a.xml": "x"}), zipped({"_rels/.rels": "<oops"})],
    ids=["cut off", "parts missing", "broken XML"],
)
def test_what_is_left_of_an_office_document_is_called_damaged(read, name, data):
    (refused,) = read(name, data).refused
    assert refused.where == name
    assert refused.reason.startswith("damaged")


def test_binary_workbooks_and_open_documents_are_refused_with_what_to_do(read):
    kind = "application/vnd.ms-excel.sheet.binary.macroEnabled.main"
    types = f'<Types><Override ContentType="{kind}"/></Types>'
    (refused,) = read("a.xlsb", zipped({"[Content_Types].xml": types})).refused
    assert refused.reason == "a binary Excel workbook (.xlsb); save it as .xlsx"
    mimetype = "application/vnd.oasis.opendocument.text"
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("mimetype", mimetype)
    assert "an OpenDocument file; save it" in read("a.odt", file.getvalue()).refused[0].reason


def test_parts_that_declare_entities_are_refused(read):
    bomb = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]><w:document>&b;</w:document>'
    data = changed(word(paragraph("x")), {"word/document.xml": bomb})
    (refused,) = read("a.docx", data).refused
    assert "word/document.xml in it declares a document type" in refused.reason
    with pytest.raises(InputError, match="not well formed"):
        parse_xml("<a>&b;</a>".encode("utf-16"), "x")


def test_links_out_of_the_package_are_not_followed(read):
    data = word(paragraph("Text"))
    links = relations({"r1": ("styles", "file:///etc/passwd")}).replace(
        "<Relationship ", '<Relationship TargetMode="External" '
    )
    climbing = relations({"r1": ("comments", "../../../../etc/passwd")})
    for part in (links, climbing):
        result = read("a.docx", changed(data, {"word/_rels/document.xml.rels": part}))
        assert result.records[0].text == "Text"


def test_deeply_nested_documents_are_refused_not_crashed(read):
    nested = "<w:ins>" * 5000 + paragraph("deep") + "</w:ins>" * 5000
    (refused,) = read("a.docx", word(nested)).refused
    assert refused.reason == "nested too deeply; flatten the document"


def test_zip_bombs_are_refused_before_they_are_unpacked(read):
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for number in range(3):
            archive.writestr(f"{number}.xml", bytes(20_000_000))
    (refused,) = read("a.docx", file.getvalue()).refused
    assert "would unpack from 0.1 to 60 MB" in refused.reason
    assert "possible zip bomb" in refused.reason


def test_zip_limits():
    data = zipped({f"{number}.txt": b"x" * 1000 for number in range(5)})
    assert len(open_zip(data, ZipLimits(members=5)).infolist()) == 5
    with pytest.raises(InputError, match="holds 5 members, more than 4"):
        open_zip(data, ZipLimits(members=4))
    with pytest.raises(InputError, match=r"at most 0\.? MB"):
        open_zip(data, ZipLimits(total_mb=0.004))


def test_a_member_that_lies_about_its_size_or_is_encrypted_is_refused():
    data = bytearray(zipped({"a.txt": b"x" * 100_000}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 24 : at + 28] = struct.pack("<I", 10)
    archive = open_zip(bytes(data))
    with pytest.raises(InputError, match=r"a\.txt in it cannot be unpacked"):
        read_member(archive, archive.infolist()[0])
    data = bytearray(zipped({"a.txt": b"x"}))
    at = data.rindex(b"PK\x01\x02")
    data[at + 8] |= 1
    archive = open_zip(bytes(data))
    with pytest.raises(InputError, match=r"a\.txt in it is encrypted, skipped"):
        read_member(archive, archive.infolist()[0])


def test_units_of_slides_keep_their_heading_and_tables_theirs(read, documents):
    (record,) = read("a.pptx", documents["pptx"]).records
    (piece,) = CHUNKERS[record.media_type](record.text, Budget(100, 0))
    assert piece.heading_path == ("水表 meters",)
    (record,) = read("a.docx", documents["docx"]).records
    (piece,) = CHUNKERS[record.media_type](record.text, Budget(100, 0))
    assert (piece.kind, piece.heading_path) == ("table", ("水表 meters",))


def test_grids():
    assert grid_markdown([]) == ""
    assert grid_markdown([["一"], ["two"]]) == "一\ntwo"
    assert grid_markdown([["a", "b"], ["1", "2", "3"]]) == (
        "| a | b |  |\n|---|---|---|\n| 1 | 2 | 3 |"
    )
    titled = [["表1 价格", None], ["a", "b"], ["1", "2"], ["注：含税", None]]
    assert grid_markdown(titled) == "表1 价格\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n注：含税"
    years = [["", "Sales", None], ["", "2023", "2024"], ["North", "1", "2"]]
    assert grid_markdown(years).startswith("|  | Sales 2023 | Sales 2024 |\n|---|---|---|\n| N")
    values = [["", "Sales", None], ["", "10", "20"], ["North", "1", "2"]]
    assert grid_markdown(values).startswith("|  | Sales |  |\n|---|---|---|\n|  | 10 | 20 |")
    told = [["型号", "A1"], ["单位", "mm"], ["长", "10"], ["宽", "5"]]
    assert grid_markdown(told, n_header=2).startswith("| 型号 单位 | A1 mm |\n|---|---|\n| 长 |")
    three = [["x", "A", None, None, None], ["x", "B", None, "C", None],
             ["x", "d", "e", "f", "g"], ["1", "2", "3", "4", "5"]]  # fmt: skip
    assert grid_markdown(three).startswith(
        "| x | A B d | A B e | A C f | A C g |\n|---|---|---|---|---|\n| 1 |"
    )
    assert cell_text(["甲。", "乙", " "]) == "甲。 乙"


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data(), kind=st.sampled_from(["docx", "pptx", "xlsx"]))
def test_mutated_parts_and_containers_never_raise(data, kind, documents, tmp_path):
    content = documents[kind]
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        names = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
        name = data.draw(st.sampled_from(sorted(names)))
        part = bytearray(archive.read(name))
    if data.draw(st.booleans()):
        part = bytearray(content)
    for _ in range(data.draw(st.integers(1, 8))):
        at = data.draw(st.integers(0, len(part) - 1))
        part[at : at + data.draw(st.integers(0, 9))] = data.draw(st.binary(max_size=9))
    mutated = bytes(part) if part[:2] == b"PK" else changed(content, {name: bytes(part)})
    path = tmp_path / f"a.{kind}"
    path.write_bytes(mutated)
    result = read_path(path)
    assert result.records or result.refused
    assert all(reason.reason and "\n" not in reason.reason for reason in result.refused)


@pytest.mark.parametrize("name", ["报表.docx", "deck.pptx", "a.xlsx", "old.doc"])
@pytest.mark.parametrize("text", ["just text", "只是文字"])
def test_other_files_under_an_office_name_are_called_what_they_are(read, name, text):
    suffix = name[name.index(".") :]
    (refused,) = read(name, text.encode()).refused
    assert refused.reason.startswith(f"plain text under a {suffix} name; rename it to .txt")
    (refused,) = read(name, zipped({"a.txt": text})).refused
    assert refused.reason == f"an ordinary zip archive under a {suffix} name; rename it to .zip"
