"""A page that is shown is that of the words shown, not the one that their text unit starts on."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import openpyxl
import pptx
import pytest
from model_server import ModelServer
from pdf_files import SONG, lines, pdf_bytes
from query.gathering import question, reader, with_settings

from graphkb.llm.model import Model
from graphkb.project import Project
from graphkb.query.answer import METHODS
from graphkb.query.candidates import Quote
from graphkb.query.citations import check_answer, cite
from graphkb.query.hybrid import passages_of, placed_citations
from graphkb.query.points import say_best
from graphkb.search.hybrid import fused_units
from graphkb.search.snapshot import Snapshot
from graphkb.types import Hit, Passage
from graphkb.view.answer import answer_text
from graphkb.view.terminal import hit_lines

# The fact of each page, first page first; each document is one text unit.
ENGLISH = (
    "Ada Lin founded the Osprey works at Bergen in 2009.",
    "Marta Voss keeps the keys of the Heron boiler in Kiel.",
    "Otto Brandt tests the Dunlin pump every Tuesday morning.",
    "The Kestrel crane lifts forty tonnes at Pier 4.",
)
CHINESE = (
    "陈明创办了青石公司，总部设在杭州。",
    "沈若衡保管锅炉房的钥匙，住在苏州。",
    "欧阳雪每周二上午检查循环水泵。",
    "四号码头的起重机能吊起四十吨货物。",
)
FACTS = {
    "works.pdf": ENGLISH,
    "公司.pdf": CHINESE,
    "slides.pptx": tuple(f"{fact[:-1]}, says slide {n}." for n, fact in enumerate(ENGLISH, 1)),
    "名册.xlsx": tuple(f"第{n}表：{fact}" for n, fact in enumerate(CHINESE, 1)),
}
ASKED = {
    "What does the Kestrel crane lift?": ENGLISH[3],
    "Who tests the Dunlin pump every Tuesday?": ENGLISH[2],
    "四号码头的起重机能吊起多少货物？": CHINESE[3],
    "谁每周二上午检查循环水泵？": CHINESE[2],
}


def _drawn(facts: tuple[str, ...], font: str = "") -> bytes:
    return pdf_bytes(*(lines([fact], font=font) for fact in facts))


def _write(folder: Path) -> None:
    folder.mkdir(parents=True)
    (folder / "works.pdf").write_bytes(_drawn(ENGLISH))
    (folder / "公司.pdf").write_bytes(_drawn(CHINESE, SONG))
    deck, book = pptx.Presentation(), openpyxl.Workbook()
    book.remove(book.active)
    for number in range(len(ENGLISH)):
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.placeholders[1].text = FACTS["slides.pptx"][number]
        book.create_sheet(f"表{number + 1}").append([FACTS["名册.xlsx"][number]])
    deck.save(str(folder / "slides.pptx"))
    book.save(folder / "名册.xlsx")


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("pages")
    _write(root / "input")
    with Project(root) as project:
        project.index(embed="off")
        yield project


@pytest.fixture
def snapshot(project: Project) -> Snapshot:
    return project._current()


def page_of(path: str, text: str) -> tuple[int, int]:
    """First and last page of the facts that a text holds some of."""
    flat = "".join(text.split())
    held = [
        number
        for number, fact in enumerate(FACTS[path], 1)
        if (own := "".join(fact.split())) in flat or (len(flat) > 8 and flat.strip("#|-") in own)
    ]
    assert held, (path, text)
    return held[0], held[-1]


def unit_of(snapshot: Snapshot, path: str) -> Passage:
    found = fused_units(snapshot, " ".join(FACTS[path]), 20)
    return next(p for p in passages_of(snapshot, found) if p.path == path)


def test_the_documents_are_one_text_unit_over_all_their_pages(project: Project) -> None:
    for path, facts in FACTS.items():
        found = [hit for hit in project.search(" ".join(facts), 20) if hit.path == path]
        assert [(hit.page, hit.page_end) for hit in found] == [(1, 4)], path


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("asked", ASKED)
def test_a_quote_is_cited_with_its_own_page(project: Project, method: str, asked: str) -> None:
    answer = project.query(asked, method)
    quoted = [c for c in answer.citations if ASKED[asked].rstrip(".。") in c.quote]
    assert quoted, answer.text
    for citation in answer.citations:
        pages = page_of(citation.path, citation.quote)
        assert (citation.page, citation.page_end) == pages, citation
        sheets = [f"表{page}" for page in range(pages[0], pages[1] + 1)]
        assert list(citation.sheets) == (sheets if citation.path.endswith("xlsx") else [])
        assert answer.to_dict()["citations"][citation.number - 1]["page"] == pages[0]
    shown = answer_text(answer)
    first = page_of(quoted[0].path, quoted[0].quote)[0]
    if quoted[0].path.endswith("xlsx"):
        word = f"名册.xlsx，工作表「表{first}」第 1 行，字符"
    else:
        word = f"p. {first}, chars" if asked.isascii() else f"第 {first} 页，字符"
    assert word in shown


@pytest.mark.parametrize(
    ("asked", "shown"),
    [
        ("Who is head of North 17?", "sales.xlsx, sheet “Q3 2024”, row 18, chars"),
        ("华东17区的负责人是谁？", "sales.xlsx，工作表「三季度」第 18 行，字符"),
    ],
)
def test_a_row_far_down_is_cited_with_its_sheet_and_row(
    workbook: Project, asked: str, shown: str
) -> None:
    answer = workbook.query(asked)
    assert shown in answer_text(answer)
    assert shown in answer._repr_html_()
    (cited,) = [one for one in answer.to_dict()["citations"] if "17" in one["quote"]][:1]
    sheet = "Q3 2024" if asked.isascii() else "三季度"
    assert (cited["sheets"], cited["row"], cited["row_end"]) == ((sheet,), 18, 18)
    assert sheet in cited["heading"]


def test_a_row_of_a_csv_file_is_cited_with_its_number(workbook: Project) -> None:
    answer = workbook.query("SKU-017在哪个仓库？")
    assert "库存.csv，第 18 行，字符" in answer_text(answer)
    hit = next(hit for hit in workbook.search("SKU-017") if hit.path == "库存.csv")
    assert hit.page is None
    assert hit.sheets == ()
    assert f" · rows {hit.row}–{hit.row_end} · " in hit_lines(hit, "SKU-017")[1]
    assert hit.row is not None
    assert hit.row <= 18 <= (hit.row_end or 0)


def test_hits_and_explanations_show_the_sheet_and_its_rows(workbook: Project) -> None:
    hit = workbook.search("华东17区")[0]
    assert (hit.sheets, hit.row, hit.row_end) == (("三季度",), 14, 19)
    assert " · sheet “三季度”, rows 14–19 · " in hit_lines(hit, "华东17区")[1]
    assert "sales.xlsx, sheet “三季度”, rows " in str(workbook.explain("华东17区", "sales.xlsx"))


@pytest.fixture(scope="module")
def workbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root = tmp_path_factory.mktemp("sheets")
    (root / "input").mkdir()
    book = openpyxl.Workbook()
    book.active.title = "Q3 2024"
    zh = book.create_sheet("三季度")
    book.active.append(["Region", "Revenue", "Head"])
    zh.append(["区域", "收入", "负责人"])
    for n in range(1, 31):
        book.active.append([f"North {n}", 2000 + 7 * n, f"Jones {n}"])
        zh.append([f"华东{n}区", 3000 + n, f"王{n}"])
    book.save(root / "input" / "sales.xlsx")
    lines = ["型号,库存,仓库", *(f"SKU-{n:03},{n},苏州" for n in range(1, 31))]
    (root / "input" / "库存.csv").write_text("\n".join(lines), "utf8")
    with Project(root, ["chunks.size=200", "input.tables=auto"]) as project:
        project.index(embed="off")
        yield project


@pytest.mark.parametrize("path", FACTS)
def test_a_model_s_citation_has_the_page_of_the_sentence_that_bears_it_out(
    snapshot: Snapshot, path: str
) -> None:
    unit = unit_of(snapshot, path)
    for number, fact in enumerate(FACTS[path], 1):
        (citation,) = check_answer(f"{fact.rstrip('.。')} [1]", [unit]).citations
        assert (citation.page, citation.page_end) == (number, number)


@pytest.mark.parametrize("path", FACTS)
def test_a_quote_over_two_pages_has_both(snapshot: Snapshot, path: str) -> None:
    unit = unit_of(snapshot, path)
    start = unit.text.index(FACTS[path][1])
    end = unit.text.index(FACTS[path][2]) + len(FACTS[path][2])
    quote = Quote(unit, unit.char_start + start, unit.char_start + end, unit.text[start:end], 1.0)
    (citation,) = cite([quote])
    assert (citation.page, citation.page_end) == (2, 3)


@pytest.mark.parametrize("path", FACTS)
def test_a_narrowed_passage_keeps_its_page_when_narrowed_again(
    snapshot: Snapshot, path: str
) -> None:
    unit = unit_of(snapshot, path)
    start = unit.char_start + unit.text.index(FACTS[path][1])
    half = unit.narrowed(start, unit.char_end)
    assert (half.page, half.page_end) == (2, 4)
    start = unit.char_start + unit.text.index(FACTS[path][3])
    last = half.narrowed(start, start + len(FACTS[path][3]))
    assert last.text == FACTS[path][3]
    assert (last.page, last.page_end, last.page_breaks) == (4, 4, ())


@pytest.mark.parametrize("path", FACTS)
def test_the_sentences_of_a_point_have_their_own_page(snapshot: Snapshot, path: str) -> None:
    unit = unit_of(snapshot, path)
    for number, fact in enumerate(FACTS[path], 1):
        said = say_best(snapshot, fact, [unit.text_unit_id], 1.0)
        assert fact.rstrip(".。") in said[0].text
        assert said[0].page == number


@pytest.mark.parametrize("method", ["lazy", "drift"])
@pytest.mark.parametrize("asked", ASKED)
def test_what_a_model_gathered_is_shown_with_its_own_page(
    snapshot: Snapshot, server: ModelServer, model: Model, method: str, asked: str
) -> None:
    server.play = reader(ASKED[asked].rstrip(".。"))
    context = METHODS[method](snapshot, question(asked, model))
    assert context.points
    for place in {place for point in context.points for place in point.passages}:
        passage = context.passages[place]
        assert (passage.page, passage.page_end) == page_of(passage.path, passage.text)


def test_text_around_a_hit_knows_its_pages_too(tmp_path: Path) -> None:
    _write(tmp_path / "input")
    with Project(tmp_path, overrides=["chunks.size=20", "chunks.overlap=0"]) as project:
        project.index(embed="off")
        wide = with_settings(project._current(), "search", expand="neighbours", expand_tokens=400)
        for asked, fact in ASKED.items():
            _check_wide(passages_of(wide, fused_units(wide, asked, 5)), fact.rstrip(".。"))


def _check_wide(passages: list[Passage], fact: str) -> None:
    """The passage that holds the fact, of several text units, and a citation of the fact."""
    passage = next(passage for passage in passages if fact in passage.text)
    assert len(passage.parts) > 1
    assert (passage.page, passage.page_end) == page_of(passage.path, passage.text)
    start = passage.char_start + passage.text.index(fact)
    quote = Quote(passage, start, start + len(fact), fact, 1.0)
    (placed,) = placed_citations(cite([quote]), [passage])
    assert (placed.page, placed.page_end) == page_of(passage.path, fact)


@pytest.mark.parametrize(("asked", "path"), [("crane", "works.pdf"), ("起重机", "公司.pdf")])
def test_hits_and_explanations_show_the_range_of_pages(
    project: Project, asked: str, path: str
) -> None:
    hit = next(hit for hit in project.search(asked) if hit.path == path)
    assert (hit.to_dict()["page"], hit.to_dict()["page_end"]) == (1, 4)
    assert " · pp. 1–4 · " in hit_lines(hit, asked)[1]
    assert f"{path}, pp. 1–4, chars" in hit._repr_html_()
    explained = project.explain(asked, path)
    assert (explained.to_dict()["page"], explained.to_dict()["page_end"]) == (1, 4)
    assert f"{path}, pp. 1–4, text unit" in str(explained)
    assert f"{path}, pp. 1–4, text unit" in explained._repr_html_()


def test_a_document_without_pages_shows_none() -> None:
    hit = Hit(1, 0.5, "u", "d", "T", "a.md", "", None, 0, 4, "text")
    assert "p. " not in hit_lines(hit, "text")[1]
    assert " · p. 2 · " in hit_lines(replace(hit, page=2, page_end=2), "text")[1]
    assert " · p. 2 · " in hit_lines(replace(hit, page=2), "text")[1]
    passage = Passage("text_unit", "text", 1.0, "u", "d", "T", "a.md", "", None, 0, 4)
    assert passage.pages(1, 3) == (None, None)
    assert passage.narrowed(1, 3).text == "ex"
