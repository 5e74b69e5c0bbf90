"""EPUB books, made here part by part as the specification describes them."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.ingest.reading import only, read, refused

CONTAINER = (
    '<?xml version="1.0"?><container xmlns="urn:oasis:names:tc:opendocument:xmlns:container">'
    '<rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>'
)
PACKAGE = """<?xml version="1.0"?>
<package xmlns="http://www.idpf.org/2007/opf" version="2.0">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>
<dc:creator>Ada Lin</dc:creator><dc:creator>陈明</dc:creator><dc:date>2024-03-05</dc:date>
<dc:language>en</dc:language></metadata>
<manifest>{manifest}<item id="ncx" href="toc.ncx" media-type="application/x-dtbncx+xml"/>
<item id="css" href="a.css" media-type="text/css"/></manifest>
<spine toc="ncx">{spine}</spine></package>"""
NCX = """<?xml version="1.0"?>
<!DOCTYPE ncx PUBLIC "-//NISO//DTD ncx 2005-1//EN" "http://www.daisy.org/z3986/2005/ncx.dtd">
<ncx xmlns="http://www.daisy.org/z3986/2005/ncx/"><navMap>{points}</navMap></ncx>"""


def point(title: str, path: str, inside: str = "") -> str:
    label = f"<navLabel><text>{title}</text></navLabel>"
    return f'<navPoint>{label}<content src="{path}"/>{inside}</navPoint>'


def book(chapters: dict[str, str], points: str = "", title: str = "Pumps", **more: str) -> bytes:
    """A book whose spine is the chapters in their order; ``more``: other parts by name."""
    items = [
        f'<item id="c{at}" href="{path.replace(" ", "%20")}" media-type="application/xhtml+xml"/>'
        for at, path in enumerate(chapters)
    ]
    spine = [f'<itemref idref="c{at}"/>' for at in range(len(chapters))]
    parts = {
        "mimetype": "application/epub+zip",
        "META-INF/container.xml": CONTAINER,
        "OEBPS/book.opf": PACKAGE.format(
            title=title, manifest="".join(items), spine="".join(spine)
        ),
        "OEBPS/toc.ncx": NCX.format(points=points),
        # Stored in an order that is not that of reading.
        **{f"OEBPS/{path}": chapters[path] for path in reversed(chapters)},
        **more,
    }
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in parts.items():
            archive.writestr(name, text)
    return held.getvalue()


def test_chapters_stand_in_reading_order_under_their_titles():
    chapters = {
        "z first.xhtml": "<html><head><title>x</title></head><body><p>It begins.</p></body></html>",
        "a.xhtml": "<h2>Valves</h2><p>Ada leads&#8212;since 2019.</p><h3>Seals</h3><p>Tight.</p>",
    }
    points = point("Preface", "z%20first.xhtml") + point("Chapter on valves", "a.xhtml#top")
    record = only(read("b.epub", book(chapters, points)))
    assert record.text == (
        "# Preface\n\nIt begins.\n\n# Valves\n\nAda leads—since 2019.\n\n## Seals\n\nTight."
    )
    assert (record.title, record.media_type) == ("Pumps", "application/epub+zip")
    assert record.metadata == {"author": "Ada Lin; 陈明", "date": "2024-03-05", "language": "en"}
    assert record.creation_date == "2024-03-05"


def test_parts_hold_their_chapters_as_headings():
    chapters = {
        "p1.xhtml": "<body> </body>",
        "c1.xhtml": "<h1>第一章 水表</h1><p>陈明负责水表。</p>",
        "c2.xhtml": "<p>没有标题。</p><h4>附</h4><p>完。</p>",
    }
    points = point("第一部", "p1.xhtml", point("第一章", "c1.xhtml") + point("第二章", "c2.xhtml"))
    assert only(read("b.epub", book(chapters, points, "手册"))).text == (
        "# 第一部\n\n## 第一章 水表\n\n陈明负责水表。\n\n## 第二章\n\n没有标题。\n\n#### 附\n\n完。"
    )


def test_the_navigation_document_gives_titles_and_is_left_out():
    nav = (
        '<html xmlns="http://www.w3.org/1999/xhtml"><body><nav><ol><li><a href="c.xhtml">Start</a>'
        "</li></ol></nav></body></html>"
    )
    data = book({"c.xhtml": "<p>Text.</p>", "nav.xhtml": nav})
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(held, "w") as new:
        for name in old.namelist():
            part = old.read(name)
            if name.endswith("book.opf"):
                part = part.replace(b'id="c1"', b'id="c1" properties="nav"')
            new.writestr(name, part)
    assert only(read("b.epub", held.getvalue())).text == "# Start\n\nText."


def test_a_book_is_known_by_its_content_under_any_name():
    data = book({"c.xhtml": "<p>Text.</p>"})
    for name in ("b.zip", "b", "b.txt"):
        assert only(read(name, data)).media_type == "application/epub+zip"


def encryption(algorithm: str) -> dict[str, str]:
    return {
        "META-INF/encryption.xml": '<encryption xmlns="urn:oasis:names:tc:opendocument:xmlns:'
        'container"><EncryptedData xmlns="http://www.w3.org/2001/04/xmlenc#">'
        f'<EncryptionMethod Algorithm="{algorithm}"/></EncryptedData></encryption>'
    }


def test_copy_protection_is_reported_and_scrambled_fonts_are_none():
    chapters = {"c.xhtml": "<p>Text.</p>"}
    data = book(chapters, **encryption("http://www.w3.org/2001/04/xmlenc#aes128-cbc"))
    assert "copy protection" in refused(read("b.epub", data))["b.epub"]
    data = book(chapters, **encryption("http://www.idpf.org/2008/embedding"))
    assert only(read("b.epub", data)).text == "Text."


def test_a_missing_chapter_costs_itself():
    data = book({"c.xhtml": "<p>Text.</p>", "d.xhtml": "<p>More.</p>"})
    held = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(held, "w") as new:
        for name in old.namelist():
            if not name.endswith("c.xhtml"):
                new.writestr(name, old.read(name))
    reading = read("b.epub", held.getvalue())
    assert only(reading).text == "More."
    assert reading.notes == ("b.epub: a chapter is left out: OEBPS/c.xhtml is missing in it",)


@pytest.mark.parametrize("words", ["Text.", "水表手册。"])
def test_a_damaged_table_of_contents_costs_its_titles_and_is_noted(words):
    reading = read("b.epub", book({"c.xhtml": f"<p>{words}</p>"}, "<navPoint>"))
    assert only(reading).text == words
    (note,) = reading.notes
    assert note.startswith(
        "b.epub: chapters have no titles of its table of contents: damaged: OEBPS/toc.ncx in it"
    )


@pytest.mark.parametrize(
    "part", [CONTAINER[:60], '<!DOCTYPE a [<!ENTITY x "y">]><a>&x;</a>', "<container/>"]
)
def test_damaged_packages_are_refused(part):
    data = book({"c.xhtml": "<p>Text.</p>"}, **{"META-INF/container.xml": part})
    assert "damaged" in refused(read("b.epub", data))["b.epub"]


def test_what_is_no_book_is_refused():
    assert "not a readable zip container" in refused(read("b.epub", b"PK\x03\x04"))["b.epub"]


@pytest.mark.parametrize("words", ["Blue Heron Ltd", "苍鹭公司"])
def test_entities_that_parts_declare_stand_for_their_text(words):
    declared = f'[<!ENTITY firm "{words}"> <!-- "]> -->\n<!ENTITY all SYSTEM "a.ent">]>'
    chapter = (
        f"\ufeff<?xml version='1.0'?><!DOCTYPE html {declared}<html><p>&firm; pays.&all;</p></html>"
    )
    contents = NCX.format(points=point("On &firm;", "c.xhtml"))
    contents = "\ufeff" + contents.replace('.dtd">', f'.dtd" {declared}')
    data = book({"c.xhtml": chapter}, **{"OEBPS/toc.ncx": contents})
    assert only(read("b.epub", data)).text == f"# On {words}\n\n{words} pays."
