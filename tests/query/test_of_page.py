"""Questions for a page of a file: answered from that page, cited as a page or slide."""

from __future__ import annotations

import openpyxl
import pytest
from pdf_files import SONG, lines, pdf_bytes
from pptx import Presentation

import graphkb
from graphkb.query.of_page import narrowed_to
from graphkb.text.asked_page import LAST, asked_pages, asked_rows
from graphkb.types import Answer, Passage
from graphkb.view.answer import source_lines

REPORT = (
    ["Lumora sold lamps for EUR 88 million.", "The chief executive is Henrik Aalto."],
    ["The company closed the plant in Turku.", "Lumora had 410 employees in December."],
    ["The board proposes a dividend of EUR 0.88 per share."],
)
CHINESE = (["公司营业收入为九亿元。"], ["股东总数为四万户。"], ["公司中标海上风电项目。"])
SLIDES = (
    ("Launch of Lantern", "The launch is in Berlin on 5 May."),
    ("Budget", "The marketing budget is EUR 240,000."),
    ("Risks", "Optika Brno may be late by six weeks."),
)


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> graphkb.Project:
    root = tmp_path_factory.mktemp("pages")
    folder = root / "input"
    folder.mkdir()
    (folder / "lumora.pdf").write_bytes(pdf_bytes(*(lines(page) for page in REPORT)))
    pages = (lines(page, font=SONG, size=12) for page in CHINESE)
    (folder / "明川季报.pdf").write_bytes(pdf_bytes(*pages))
    slides = Presentation()
    for title, text in SLIDES:
        slide = slides.slides.add_slide(slides.slide_layouts[1])
        slide.shapes.title.text, slide.placeholders[1].text = title, text
    slides.save(folder / "launch.pptx")
    (folder / "notes.md").write_text("# Notes\n\nThe lamp is red. The door is blue.\n", "utf8")
    (folder / "rooms.csv").write_text(
        "room,seats,colour\nAlder,30,red\nBirch,12,blue\nCedar,9,green\n", "utf8"
    )
    book = openpyxl.Workbook()
    for row in (("原料", "吨"), ("棉花", 33), ("苎麻", 41), ("蚕丝", 7)):
        book.active.append(row)
    book.save(folder / "采购.xlsx")
    project = graphkb.Project(root, ["embed.when=off"])
    project.index()
    return project


def quotes(answer: Answer) -> list[str]:
    return [citation.quote for citation in answer.citations]


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What is on page 2 of lumora.pdf?", REPORT[1]),
        ("What does the last page of lumora.pdf say?", REPORT[2]),
        ("Who is the chief executive on the first page of lumora.pdf?", REPORT[0][1:]),
        ("明川季报.pdf第2页说了什么？", CHINESE[1]),
        ("明川季报.pdf的最后一页讲了什么？", CHINESE[2]),
        ("What does slide 2 of launch.pptx say?", [SLIDES[1][1]]),
        ("launch.pptx 第三张幻灯片讲什么？", [SLIDES[2][1]]),
    ],
)
def test_the_answer_is_from_the_page_that_is_asked_for(project, asked, told):
    answer = project.query(asked)
    assert (quotes(answer), answer.warnings) == (list(told), ())


def test_nothing_of_other_files_stands_in_for_a_page_without_the_answer(project):
    answer = project.query("How many employees does page 1 of lumora.pdf name?")
    assert not any("410" in quote for quote in quotes(answer))


@pytest.mark.parametrize(
    ("asked", "warning"),
    [
        ("What is on page 2 of notes.md?", "the pages of notes.md are not known"),
        ("notes.md第2页写了什么？", "the pages of notes.md are not known"),
        ("What is in row 2 of lumora.pdf?", "rows of lumora.pdf cannot be asked for"),
        ("明川季报.pdf第2行写了什么？", "rows of 明川季报.pdf cannot be asked for"),
        ("What is on pages 3 and 9 of lumora.pdf?", "nothing was found on page 9 of lumora.pdf"),
    ],
)
def test_a_page_or_row_that_is_not_known_is_said(project, asked, warning):
    answer = project.query(asked)
    assert answer.citations
    assert [warning in said for said in answer.warnings] == [True]


@pytest.mark.parametrize(
    ("asked", "text"),
    [
        ("page 9 of lumora.pdf", "lumora.pdf has 3 pages: there is no page 9."),
        ("What is on pages 8-9 of lumora.pdf?", "lumora.pdf has 3 pages: there is no page 8, 9."),
        ("明川季报.pdf第9页讲了什么？", "明川季报.pdf 共 3 页，没有第 9 页。"),
        ("launch.pptx第9张幻灯片讲什么？", "launch.pptx 共 3 张幻灯片，没有第 9 张。"),
        ("What is in row 20 of rooms.csv?", "The last row of rooms.csv is 4: there is no row 20."),
        ("采购.xlsx第20行是什么？", "采购.xlsx 的最后一行是第 4 行，没有第 20 行。"),
    ],
)
def test_a_page_or_row_that_no_file_has_is_refused_with_how_many_it_has(project, asked, text):
    answer = project.query(asked)
    assert (answer.refused, answer.text, answer.warnings) == (True, text, ())


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("What do pages 2 and 3 of lumora.pdf say?", [*REPORT[1], *REPORT[2]]),
        ("明川季报.pdf第2页和第3页讲了什么？", [*CHINESE[1], *CHINESE[2]]),
        ("明川季报.pdf第1-2页讲了什么？", [*CHINESE[0], *CHINESE[1]]),
        ("What is in row 3 of rooms.csv?", ["| Birch | 12 | blue |"]),
        ("What is the colour in row 4 of rooms.csv?", ["| Cedar | 9 | green |"]),
        ("采购.xlsx第3行是什么？", ["| 苎麻 | 41 |"]),
        ("采购.xlsx第3行和第4行是什么？", ["| 苎麻 | 41 |", "| 蚕丝 | 7 |"]),
    ],
)
def test_several_pages_and_rows_by_their_number_are_answered_from(project, asked, told):
    answer = project.query(asked)
    assert (sorted(quotes(answer)), answer.warnings) == (sorted(told), ())


def test_the_head_above_quotes_is_in_the_language_of_the_question(project):
    asked = "明川季报.pdf第2页讲了什么？"
    assert project.query(asked).text.startswith("以下为文档原文摘录")
    english = project.query("What does page 2 of 明川季报.pdf say?").text
    assert english.startswith("From the documents")


def test_slides_are_cited_as_slides_and_pages_as_pages(project):
    (slide,) = source_lines(project.query("What does slide 2 of launch.pptx say?"))
    (zh,) = source_lines(project.query("launch.pptx第2张幻灯片讲什么？"))
    page = source_lines(project.query("What is on page 2 of lumora.pdf?"))[0]
    assert ("launch.pptx, slide 2, " in slide, "launch.pptx，第 2 张幻灯片，" in zh) == (True, True)
    assert "lumora.pdf, p. 2, " in page


@pytest.mark.parametrize(
    ("question", "pages", "rest"),
    [
        ("What is on page 12?", (12,), "?"),
        ("the 3rd slide on lenses", (3,), "on lenses"),
        ("Summarise the final page", (LAST,), "Summarise"),
        ("第十二页的收入", (12,), "的收入"),
        ("首页", (1,), ""),
        ("第二十三张幻灯片", (23,), ""),
        ("How many pages has it?", (), "How many pages has it?"),
        ("pages 2-3", (2, 3), ""),
        ("slides 1, 3 and 5", (1, 3, 5), ""),
        ("Does page 2 or page 3 say so?", (2, 3), "say so?"),
        ("page 2 and 3 employees", (2,), "and 3 employees"),
        ("第2、4页", (2, 4), ""),
        ("第二页和第四页", (2, 4), ""),
        ("第2页到第4页", (2, 3, 4), ""),
        ("2-3页", (2, 3), ""),
        ("第二章讲什么", (), "第二章讲什么"),
    ],
)
def test_what_asks_for_pages(question, pages, rest):
    assert asked_pages(question) == (pages, rest)


@pytest.mark.parametrize(
    ("question", "rows"),
    [
        ("row 20", (20,)),
        ("Compare rows 3 to 5", (3, 4, 5)),
        ("第20行", (20,)),
        ("第三行和第五行", (3, 5)),
        ("同行业排名第3", ()),
        ("the back row", ()),
    ],
)
def test_what_asks_for_rows(question, rows):
    assert asked_rows(question)[0] == rows


def test_a_passage_is_cut_at_its_page_breaks():
    text = "One.\n\nTwo.\n\nThree."
    whole = Passage("text_unit", text, 1.0, "u", "d", "T", "a.pdf", "", 3, 10, 10 + len(text),
                    page_end=5, page_breaks=(16, 22))  # fmt: skip
    assert [narrowed_to(whole, page) for page in (2, 6)] == [None, None]
    parts = [narrowed_to(whole, page) for page in (3, 4, 5)]
    assert [(p.text, p.char_start, p.page) for p in parts if p] == [
        ("One.", 10, 3), ("Two.", 16, 4), ("Three.", 22, 5),
    ]  # fmt: skip
