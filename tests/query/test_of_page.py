"""Questions for a page of a file: answered from that page, cited as a page or slide."""

from __future__ import annotations

import pytest
from pdf_files import SONG, lines, pdf_bytes
from pptx import Presentation

import graphkb
from graphkb.query.of_page import narrowed_to
from graphkb.text.asked_page import LAST, asked_page
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
        ("What is on page 9 of lumora.pdf?", "nothing was found on page 9 of lumora.pdf"),
        ("launch.pptx第9张幻灯片讲什么？", "nothing was found on slide 9 of launch.pptx"),
    ],
)
def test_a_page_that_is_not_there_or_not_known_is_said(project, asked, warning):
    answer = project.query(asked)
    assert answer.citations
    assert [warning in said for said in answer.warnings] == [True]


def test_slides_are_cited_as_slides_and_pages_as_pages(project):
    (slide,) = source_lines(project.query("What does slide 2 of launch.pptx say?"))
    (zh,) = source_lines(project.query("launch.pptx第2张幻灯片讲什么？"))
    page = source_lines(project.query("What is on page 2 of lumora.pdf?"))[0]
    assert ("launch.pptx, slide 2, " in slide, "launch.pptx，第 2 张幻灯片，" in zh) == (True, True)
    assert "lumora.pdf, p. 2, " in page


@pytest.mark.parametrize(
    ("question", "page", "rest"),
    [
        ("What is on page 12?", 12, "?"),
        ("the 3rd slide on lenses", 3, "on lenses"),
        ("Summarise the final page", LAST, "Summarise"),
        ("第十二页的收入", 12, "的收入"),
        ("首页", 1, ""),
        ("第二十三张幻灯片", 23, ""),
        ("How many pages has it?", None, "How many pages has it?"),
        ("pages 2-3", None, "pages 2-3"),
        ("第二章讲什么", None, "第二章讲什么"),
    ],
)
def test_what_asks_for_a_page(question, page, rest):
    assert asked_page(question) == (page, rest)


def test_a_passage_is_cut_at_its_page_breaks():
    text = "One.\n\nTwo.\n\nThree."
    whole = Passage("text_unit", text, 1.0, "u", "d", "T", "a.pdf", "", 3, 10, 10 + len(text),
                    page_end=5, page_breaks=(16, 22))  # fmt: skip
    assert [narrowed_to(whole, page) for page in (2, 6)] == [None, None]
    parts = [narrowed_to(whole, page) for page in (3, 4, 5)]
    assert [(p.text, p.char_start, p.page) for p in parts if p] == [
        ("One.", 10, 3), ("Two.", 16, 4), ("Three.", 22, 5),
    ]  # fmt: skip
