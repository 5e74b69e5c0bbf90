"""One small generated file or more of every format that is read, in English and Chinese."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import zipfile
from email.message import EmailMessage

import docx
import numpy as np
import openpyxl
import pptx
from PIL import Image
from reportlab.pdfgen.canvas import Canvas

TEXT = (
    "Pump station 3 feeds Bergen. 泵站三号为卑尔根供水。\n\n"
    "It was built in 1998; 检修于2024年3月5日。\n"
)
HTML = f"""<!doctype html><html><head><meta charset="utf-8"><title>Pump 泵</title></head><body>
<h1>Pump</h1><p>{TEXT}</p><ul><li>one<ul><li>two</li></ul></li></ul>
<table><tr><th colspan="2">套餐</th><th rowspan=2>月付</th></tr>
<tr><td>专业版</td><td>49</td></tr></table>
<pre>code &amp; more</pre></body></html>"""


def samples() -> dict[str, bytes]:
    """Bytes by file name."""
    text = TEXT.encode()
    html = HTML.encode()
    zipped = _zip({"a/notes.md": b"# Notes\n\n" + text, "页.html": html, "t.csv": CSV})
    row = {"id": 1, "title": "泵", "text": TEXT, "metadata": {"a": [1, {}]}}
    plain = {
        "s.txt": text, "s.md": b"---\ntitle: Pump\ndate: 2024-03-05\n---\n# Pump\n\n" + text,
        "s.html": html, "s.csv": CSV, "s.tsv": CSV.replace(b",", b"\t"),
        "s.json": json.dumps([row]).encode(),
        "s.jsonl": b"".join(json.dumps({"text": f"{n} {TEXT}"}).encode() + b"\n" for n in range(5)),
        "utf16.txt": TEXT.encode("utf-16"), "gbk.txt": TEXT.encode("gb18030"),
        "s.py": PYTHON, "s.js": JAVASCRIPT, "s.ipynb": _notebook(),
    }  # fmt: skip
    packed = {
        "s.zip": zipped, "s.tar": _tar("w"), "s.tgz": _tar("w:gz"),
        "s.gz": gzip.compress(text, mtime=0),
        "s.epub": _epub(), "s.docx": _docx(), "s.xlsx": _xlsx(), "s.pptx": _pptx(),
    }  # fmt: skip
    mail = _mail(zipped)
    return plain | packed | {
        "s.pdf": _pdf(0), "packed.pdf": _pdf(1), "s.eml": mail,
        "s.mbox": b"From a@b Mon Jan  1 00:00:00 2024\n" + mail + b"\n",
        "s.mhtml": mail, "s.png": _image("PNG"), "s.jpg": _image("JPEG"), "s.tif": _image("TIFF"),
        "s.bmp": _image("BMP"), "s.webp": _image("WEBP"),
    }  # fmt: skip


CSV = 'id,title,text\n1,泵,"Pump, ""3"""\n2,Valve,阀门二号\n3,,ragged,more\n'.encode()
PYTHON = b'''"""Pumps."""
import os

class Pump(Base):
    """A pump."""

    def start(self, power: int = 3) -> str:
        return f"{power} {os.getpid()}"

@cached
def run(pump):
    return pump.start([lambda x: x for _ in range(3)])
'''
JAVASCRIPT = b"""import {a} from './a';
export class B extends A { start(x) { return `${x}`; } }
const f = () => new B();
"""


def _zip(members: dict[str, bytes]) -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(zipfile.ZipInfo(name, (2024, 1, 1, 0, 0, 0)), data)
    return packed.getvalue()


def _tar(mode: str) -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode=mode) as archive:  # type: ignore[call-overload]
        for name, data in {"a/notes.md": TEXT.encode(), "页.html": HTML.encode()}.items():
            member = tarfile.TarInfo(name)
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    return packed.getvalue()


def _epub() -> bytes:
    container = (
        '<?xml version="1.0"?><container version="1.0" xmlns="urn:oasis:names:tc:opendocument:'
        'xmlns:container"><rootfiles><rootfile full-path="c.opf" media-type="application/'
        'oebps-package+xml"/></rootfiles></container>'
    )
    package = (
        '<package xmlns="http://www.idpf.org/2007/opf" version="3.0"><metadata xmlns:dc="http://'
        'purl.org/dc/elements/1.1/"><dc:title>泵站 Pumps</dc:title></metadata><manifest><item id='
        '"a" href="a.xhtml" media-type="application/xhtml+xml"/></manifest><spine><itemref '
        'idref="a"/></spine></package>'
    )
    page = HTML.replace("<!doctype html>", "").replace("rowspan=2", 'rowspan="2"')
    return _zip({
        "mimetype": b"application/epub+zip", "META-INF/container.xml": container.encode(),
        "c.opf": package.encode(), "a.xhtml": page.encode(),
    })  # fmt: skip


def _docx() -> bytes:
    document = docx.Document()
    document.add_heading("泵站 Pump", 1)
    document.add_paragraph(TEXT)
    document.add_paragraph("item", style="List Bullet")
    table = document.add_table(3, 3)
    table.cell(0, 0).merge(table.cell(1, 1)).text = "套餐"
    table.cell(2, 2).text = "49"
    return _saved(document)


def _xlsx() -> bytes:
    book = openpyxl.Workbook()
    sheet = book.active
    for row in (["套餐", "月付", "from"], ["专业版", 49.5, "2024-03-05"], ["Basic", "=1+1", True]):
        sheet.append(row)
    sheet.merge_cells("A5:C6")
    sheet["A5"] = "merged 合并"
    book.create_sheet("Second")["B2"] = 3
    return _saved(book)


def _pptx() -> bytes:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[1])
    slide.shapes.title.text = "泵站"
    slide.placeholders[1].text = TEXT
    slide.notes_slide.notes_text_frame.text = "note 备注"
    table = slide.shapes.add_table(2, 2, 0, 0, 999999, 999999).table
    table.cell(0, 0).text = "Pump"
    return _saved(deck)


def _saved(document: object) -> bytes:
    packed = io.BytesIO()
    document.save(packed)  # type: ignore[attr-defined]
    return packed.getvalue()


def _pdf(compression: int) -> bytes:
    packed = io.BytesIO()
    canvas = Canvas(packed, pageCompression=compression, invariant=1)
    for page in range(2):
        canvas.drawString(60, 780, f"Pump station report, page {page + 1}")
        for line in range(5):
            canvas.drawString(
                60, 740 - 14 * line, f"Line {line} says that pump {line} feeds Bergen."
            )
        canvas.grid([60, 160, 260], [500, 520, 540])
        canvas.drawString(64, 524, "Plan")
        canvas.drawString(164, 504, "49")
        canvas.showPage()
    canvas.save()
    return packed.getvalue()


def _image(kind: str) -> bytes:
    pixels = np.full((40, 120, 3), 255, np.uint8)
    pixels[10:30, 10:14] = 0
    packed = io.BytesIO()
    Image.fromarray(pixels).save(packed, kind)
    return packed.getvalue()


def _notebook() -> bytes:
    cells = [
        {"cell_type": "markdown", "metadata": {}, "source": ["# 泵\n", TEXT]},
        {"cell_type": "code", "metadata": {}, "execution_count": 1, "source": "print(1)",
         "outputs": [{"output_type": "stream", "name": "stdout", "text": ["1\n"]}]},
    ]  # fmt: skip
    book = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}
    return json.dumps(book).encode()


def _mail(attachment: bytes) -> bytes:
    mail = EmailMessage()
    mail["Subject"], mail["From"], mail["To"] = (
        "泵站 report",
        "李雷 <a@example.org>",
        "b@example.org",
    )
    mail["Date"] = "Tue, 05 Mar 2024 08:00:00 +0100"
    mail.set_content(TEXT)
    mail.add_alternative(HTML, subtype="html")
    mail.add_attachment(attachment, maintype="application", subtype="zip", filename="附件.zip")
    mail.add_attachment(TEXT, filename="notes.txt")
    mail.set_boundary("b1")
    return bytes(mail)
