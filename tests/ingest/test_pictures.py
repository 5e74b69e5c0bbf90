"""Pictures that hold text, inside PDF pages of text, Word documents and presentations."""

from __future__ import annotations

import io

import docx
import pptx
import pytest
from docx.shared import Cm
from office_files import read_saved
from pdf_files import SONG, drawn, lines, pages_of, text_of, together
from PIL import Image, ImageDraw, ImageFont
from pptx.util import Cm as SlideCm
from reportlab.lib.utils import ImageReader

from graphkb.ingest import ocr
from graphkb.ingest.pdf.glyphs import Drawing
from graphkb.ingest.pdf.pictures import pictures_of, put_in
from graphkb.ingest.pdf.shapes import Box, Line, Run
from graphkb.ingest.pdf.words import Glyph

ON = {"enabled": "auto"}
OFF = {"enabled": "off"}
NO_PICTURES = {"pictures": "off"}
CHINESE = "阀门 V-17 额定压力"


def picture(*texts: str, size: tuple[int, int] = (900, 500)) -> Image.Image:
    """Lines of text on white, with noise enough that it is no tiny file."""
    image = Image.effect_noise(size, 8).point(lambda value: 230 + value % 20).convert("RGB")
    font = ImageFont.load_default(size=44)
    for number, text in enumerate(texts):
        ImageDraw.Draw(image).text((40, 40 + 90 * number), text, fill="black", font=font)
    return image


def png(image: Image.Image) -> io.BytesIO:
    file = io.BytesIO()
    image.save(file, "PNG")
    file.seek(0)
    return file


def shown(image: Image.Image, x: float, y: float, width: float, height: float):
    return lambda canvas: canvas.drawImage(ImageReader(image), x, y, width, height)


@pytest.fixture
def says(monkeypatch):
    """The models see this line in every picture; the shapes of what they were shown."""
    seen: list[tuple[int, ...]] = []

    def use(text: str, score: float = 0.93) -> list[tuple[int, ...]]:
        def engine(image):
            seen.append(image.shape)
            return [([[20, 20], [300, 20], [300, 60], [20, 60]], text, score)], None

        monkeypatch.setattr(ocr, "_engine", lambda: engine)
        return seen

    return use


@pytest.fixture
def without_ocr(monkeypatch):
    monkeypatch.setattr(ocr, "is_installed", lambda: False)


ABOVE = lines(["The pump stands in the cellar.", "Its plate says this:"], y=780)
BELOW = lines(["It was checked in May.", "Nothing was found."], y=380)
PAGE = together(ABOVE, shown(picture("Serial number 4711"), 60, 430, 420, 300), BELOW)


def test_a_picture_on_a_page_of_text_is_read_where_it_stands():
    reading = drawn(PAGE, ocr=ON)
    text = text_of(reading)
    places = [text.index(part) for part in ("plate says", "4711", "checked in May")]
    assert places == sorted(places)
    assert "#" not in text
    assert set(reading.records[0].metadata["ocr_confidence"]) == {"1"}


def test_chinese_in_a_picture_is_read_too(says):
    says(CHINESE)
    page = together(
        lines(["水泵在地下室。", "铭牌如下："], y=780, font=SONG),
        shown(picture("x"), 60, 430, 420, 300),
        lines(["五月已检定。"], y=380, font=SONG),
    )
    text = text_of(drawn(page, ocr=ON))
    assert text.index("铭牌如下") < text.index("阀门 V-17 额定压力") < text.index("五月已检定")


def test_logos_backgrounds_and_small_images_are_not_read(says):
    seen = says("seen")
    drawn(
        together(ABOVE, shown(picture("logo"), 400, 700, 120, 60)),
        together(shown(picture("background"), 0, 0, 595, 842), lines(["text on it"] * 40, y=780)),
        together(ABOVE, shown(picture("few pixels", size=(150, 100)), 60, 300, 420, 300)),
        ocr=ON,
    )
    assert seen == []
    drawn(PAGE, ocr={**ON, **NO_PICTURES})
    assert seen == []


def test_strips_of_one_picture_are_read_as_one(says):
    seen = says("one picture")
    whole = picture("Serial number 4711", size=(900, 600))
    strips = [whole.crop((0, top, 900, top + 100)) for top in range(0, 600, 100)]
    parts = [shown(strip, 60, 680 - 50 * at, 420, 50) for at, strip in enumerate(strips)]
    drawn(together(ABOVE, *parts, BELOW), ocr=ON)
    assert len(seen) == 1


def test_a_picture_on_a_turned_page_is_cut_out_where_it_is_shown(says):
    seen = says("turned")

    def turn(canvas):
        canvas.setPageRotation(90)

    drawn(together(turn, PAGE), ocr=ON)
    ((height, width, _),) = seen
    assert height > width
    assert height == pytest.approx(420 / 72 * 200, abs=2)


def test_pictures_that_are_not_read_for_want_of_ocr_are_counted(without_ocr):
    reading = drawn(PAGE, PAGE, lines(["Page three"]))
    assert not any("picture" in note for note in reading.notes)
    reading = drawn(PAGE, PAGE, lines(["Page three"]), ocr=ON)
    (note,) = [note for note in reading.notes if "picture" in note]
    assert note == (
        "a.pdf: 2 pictures that may hold text were not read on pages 1-2; "
        'pip install "graphkb[ocr]" to read them'
    )
    assert reading.records[0].metadata["pages_for_ocr"] == [1, 2]
    assert len(pages_of(reading)) == 3


def test_the_largest_pictures_of_a_page_are_read_and_text_on_them_counts():
    page = Box(0, -800, 600, 0)
    drawing = Drawing(page)
    tops = [-790 + 130 * n for n in range(6)]
    drawing.images = [(Box(10, top, 580, top + 110 + n), 90_000) for n, top in enumerate(tops)]
    assert [box.top for box in pictures_of(drawing)] == tops[2:]
    drawing.glyphs = [Glyph(n, "字", 20 + n, tops[3] + 5, 21 + n, tops[3] + 15) for n in range(30)]
    assert [box.top for box in pictures_of(drawing)] == [*tops[1:3], *tops[4:]]


def test_a_picture_stands_in_its_own_column():
    def line(text: str, x: float, top: float) -> Line:
        return Line.of([Run(text, Box(x, top, x + 200, top + 10), 10)])

    left = [line("left 左", 50, 100), line("left below", 50, 400)]
    right = [line("right", 320, 100), line("right below 右", 320, 400)]
    read = [[line("in the picture", 330, 200)]]
    zones = put_in([left, right], read, Box(320, 150, 520, 350))
    assert zones == [left, right[:1], read[0], right[1:]]
    assert put_in([right], read, Box(0, 0, 200, 90)) == [right, read[0]]
    assert put_in([right], read, Box(320, 0, 520, 90)) == [read[0], right]


def word_file() -> docx.document.Document:
    document = docx.Document()
    document.add_heading("水泵 Pump", 1)
    document.add_paragraph("The plate says:")
    document.add_picture(png(picture("Serial number 4711")), width=Cm(15))
    document.add_paragraph("五月已检定。")
    document.add_picture(png(picture("logo", size=(400, 300))), width=Cm(2))
    return document


def test_a_picture_in_a_word_document_is_read_where_it_stands(tmp_path):
    reading = read_saved(tmp_path / "a.docx", word_file())
    text = text_of(reading)
    assert text.index("plate says") < text.index("4711") < text.index("五月已检定")
    assert list(reading.records[0].metadata["ocr_confidence"]) == ["image1.png"]


def test_a_picture_in_a_table_and_one_shown_twice_are_read_once(tmp_path, says):
    seen = says(CHINESE)
    document = docx.Document()
    cell = document.add_table(1, 2).cell(0, 1)
    image = png(picture("x"))
    cell.paragraphs[0].add_run().add_picture(image, width=Cm(14))
    image.seek(0)
    document.add_picture(image, width=Cm(14))
    assert text_of(read_saved(tmp_path / "a.docx", document)).count(CHINESE) == 1
    assert len(seen) == 1


def slides() -> pptx.presentation.Presentation:
    deck = pptx.Presentation()
    slide = deck.slides.add_slide(deck.slide_layouts[5])
    slide.shapes.title.text = "铭牌 Plate"
    slide.shapes.add_picture(
        png(picture("Serial number 4711")), SlideCm(2), SlideCm(5), SlideCm(18)
    )
    slide.shapes.add_picture(png(picture("logo", size=(400, 300))), SlideCm(22), 0, SlideCm(2))
    return deck


def test_a_picture_on_a_slide_is_read(tmp_path, says):
    seen = says(CHINESE)
    text = text_of(read_saved(tmp_path / "a.pptx", slides()))
    assert text.strip() == f"# 铭牌 Plate\n\n{CHINESE}"
    assert len(seen) == 1


@pytest.mark.parametrize(("name", "content"), [("a.docx", word_file()), ("a.pptx", slides())])
def test_without_ocr_office_files_say_how_many_were_not_read(tmp_path, without_ocr, name, content):
    reading = read_saved(tmp_path / name, content)
    assert reading.notes == (
        f"{name}: a picture that may hold text was not read; "
        'pip install "graphkb[ocr]" to read them',
    )


def test_a_damaged_picture_costs_only_itself(tmp_path, says):
    says(CHINESE)
    content = io.BytesIO()
    word_file().save(content)
    data = content.getvalue()
    place = data.index(b"word/media/image1.png") + 300
    broken = data[:place] + bytes(400) + data[place + 400 :]
    reading = read_saved(tmp_path / "a.docx", broken)
    assert "五月已检定" in text_of(reading)
