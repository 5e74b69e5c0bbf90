"""Large PDFs read by several processes, and page counts that are wrong."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pypdfium2
import pytest
from pdf_files import CASES, OFF, SONG, grid, lines, pages_of, pdf_bytes, together

from graphkb.ingest import isolate
from graphkb.ingest.isolate import read_files
from graphkb.ingest.pdf.document import finish, read_layouts
from graphkb.ingest.pdf.packed import pack_layouts, unpack_layouts
from graphkb.ingest.process import ReadingProcess
from graphkb.ingest.read import FileReading, SourceFile, list_files, read_file
from graphkb.ingest.readers.pdf import read_pdf
from graphkb.ingest.shares import Join, Part, Whole
from graphkb.settings_input import Input
from graphkb.types import Refused

WORDS = {
    "en": ("Annual report of the pumps", "Page {}", "Pump {} was checked in Bergen and runs well."),
    "zh": ("水泵年度报告", "第 {} 页", "{} 号水泵已在卑尔根检定，运行正常。"),
}


def long_pdf(language: str, pages: int) -> bytes:
    """Pages with a header, a footer, sentences and a ruled table that goes on over pages."""
    header, footer, sentence = WORDS[language]
    font = SONG if language == "zh" else "Helvetica"

    def page(number: int):
        body = [sentence.format(f"{number}.{line}") for line in range(6)]
        rows = [["No", "kPa"], [str(number), f"{number * 3}"]]
        return together(
            lines([header], y=815, font=font),
            lines(body, y=770, font=font),
            grid(rows, [60, 160, 260], y=640, font=font),
            lines([footer.format(number)], x=280, y=30, font=font),
        )

    return pdf_bytes(*(page(number) for number in range(1, pages + 1)), title=header)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(isolate.os, "cpu_count", lambda: 2)
    folder = tmp_path / "input"
    folder.mkdir()
    return folder


def options(**more: object) -> Input:
    return Input(**{"ocr": OFF, "gitignore": False, **more})


@pytest.fixture
def tasks(monkeypatch):
    """The tasks that processes were given."""
    given: list[object] = []
    whole = ReadingProcess.read

    def noted(self, source, on_page, task):
        given.append(task)
        return whole(self, source, on_page, task)

    monkeypatch.setattr(ReadingProcess, "read", noted)
    return given


def test_a_shared_file_is_read_as_one_process_would(folder, tasks):
    for language in ("en", "zh"):
        (folder / f"{language}.pdf").write_bytes(long_pdf(language, 45))
    damaged = bytearray(long_pdf("en", 41))
    place = [found.start() for found in re.finditer(rb"/Type /Page\b(?!s)", damaged)][20]
    damaged[place : place + 11] = b"/Type /Pxge"
    (folder / "x.pdf").write_bytes(bytes(damaged))
    (folder / "short.pdf").write_bytes(long_pdf("zh", 3))
    files = list_files(folder, options())
    shown: list[tuple[str, int, int]] = []
    together = read_files(files, options(), lambda *step: shown.append(step))
    assert together == [read_file(file, options()) for file in files]
    english = together[0].records[0]
    assert english.n_pages == 45
    assert "Pump 45.5 was checked" in english.text
    assert "Annual report of the pumps" not in english.text
    assert "第" not in together[2].records[0].text
    parts = [task.pages for task in tasks if isinstance(task, Part)]
    assert len(parts) == 5 * 3
    assert sum(map(len, parts)) == 45 + 45 + 41
    assert sum(isinstance(task, Join) for task in tasks) == 3
    assert shown[-1] == ("read", 4, 4)


def test_a_page_that_crashes_costs_only_its_file_and_ends_it(folder, monkeypatch):
    for name in ("a", "b"):
        (folder / f"{name}.pdf").write_bytes(long_pdf("en", 40))
    whole = ReadingProcess.read
    after: list[range] = []

    def crashes(self, source, on_page, task):
        if source.path == "a.pdf" and isinstance(task, Part):
            after.append(task.pages)
            reason = "it made its parser crash (SIGSEGV)"
            return FileReading(refused=(Refused(source.path, reason),), given_up=True)
        return whole(self, source, on_page, task)

    monkeypatch.setattr(ReadingProcess, "read", crashes)
    lost, fine = read_files(list_files(folder, options()), options())
    assert lost.given_up
    assert [item.where for item in lost.refused] == ["a.pdf"]
    assert fine.records[0].n_pages == 40
    assert after[0] == range(10)


def test_pages_of_all_parts_are_counted_for_the_progress(folder, monkeypatch):
    monkeypatch.setattr(isolate, "_SECONDS_UNTIL_PAGES", 0.0)
    monkeypatch.setattr(isolate, "_SECONDS_BETWEEN_LOOKS", 0.01)
    (folder / "a.pdf").write_bytes(long_pdf("zh", 60))
    shown: list[tuple[str, int, int]] = []
    read_files(list_files(folder, options()), options(), lambda *step: shown.append(step))
    pages = [done for what, done, total in shown if what == "read a.pdf" and total == 60]
    assert pages == sorted(pages)
    assert pages[-1] > 30


def test_one_core_and_converters_share_nothing(folder, tasks, monkeypatch):
    (folder / "a.pdf").write_bytes(long_pdf("en", 45))
    monkeypatch.setattr(isolate.os, "cpu_count", lambda: 1)
    assert read_files(list_files(folder, options()), options())[0].records
    assert tasks == [Whole(1)]
    monkeypatch.setattr(isolate.os, "cpu_count", lambda: 2)
    converted = options(converters={".pdf": "cat {input}"})
    read_files(list_files(folder, converted), converted)
    assert tasks[1:] == [Whole(2)]


@pytest.mark.parametrize(
    "name",
    ["pdf_three_column_federal_register.pdf", "pdf_cjk_simple_vertical.pdf",
     "pdf/mixed_text_scan.pdf", "pdf_borderless_table_inventory.pdf"],
)  # fmt: skip
def test_layouts_come_back_from_their_bytes_as_they_were(name):
    data = (CASES / name).read_bytes()
    document = pypdfium2.PdfDocument(data)
    layouts = read_layouts(document, data, range(len(document)))
    packed = pack_layouts(layouts)
    again = unpack_layouts(packed)
    assert [dataclasses.asdict(layout) for layout in again] == [
        dataclasses.asdict(layout) for layout in layouts
    ]
    assert finish(again) == finish(layouts)


def read(data: bytes) -> FileReading:
    return read_pdf(SourceFile("a.pdf", Path("a.pdf"), 0), data, options())


def lying(data: bytes, told: int) -> bytes:
    """The PDF with another number of pages in the root of its tree."""
    changed, n = re.subn(rb"(/Count) \d+", rb"\1 %d" % told, data, count=1)
    assert n == 1
    return changed


def test_pages_beyond_a_count_that_is_too_small_are_read_and_told_of():
    pages = [lines([text, "and more of it"], font=SONG)
             for text in ("First page", "第二页的内容", "Third page", "最后一页")]  # fmt: skip
    reading = read(lying(pdf_bytes(*pages), 2))
    assert [text.split("\n")[0].split(" and")[0] for text in pages_of(reading)] == [
        "First page", "第二页的内容", "Third page", "最后一页"
    ]  # fmt: skip
    assert reading.records[0].n_pages == 4
    assert any("says that it has 2 pages, but holds 4" in note for note in reading.notes)


def test_a_page_beyond_the_count_without_text_is_named():
    pages = [lines(["First page"]), lines(["Second page"]), lambda canvas: None]
    reading = read(lying(pdf_bytes(*pages), 1))
    assert [item.where for item in reading.refused] == ["a.pdf, page 3"]


def test_pages_that_a_count_promises_and_are_not_there_are_named():
    reading = read(lying(pdf_bytes(lines(["Only page 唯一"], font=SONG)), 3))
    assert [item.where for item in reading.refused] == ["a.pdf, page 2", "a.pdf, page 3"]


def test_very_many_pages_that_are_not_there_are_named_in_one_line():
    reading = read(lying(pdf_bytes(lines(["Only page 唯一"], font=SONG)), 300_000))
    assert "唯一" in reading.records[0].text
    assert [(item.where, item.reason) for item in reading.refused] == [
        ("a.pdf, pages 2-300,000", "not there, though it says that it has 300,000; get it again")
    ]
