"""Scanned pages and images: OCR, and what is said without it."""

from __future__ import annotations

import importlib.util
import io
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pypdfium2
import pytest
from pdf_files import CASES, case, text_of
from PIL import Image, ImageDraw, ImageFont

from graphkb.errors import SettingsError
from graphkb.ingest import ocr
from graphkb.ingest.ocr_spaces import spaced
from graphkb.ingest.pdf.shapes import Box, Run
from graphkb.ingest.read import SourceFile, read_file, sources_frame
from graphkb.ingest.readers import image as image_reader
from graphkb.settings_file import load_settings
from graphkb.settings_input import Input, Ocr
from graphkb.stages.documents import _without_unread_pages

ON = {"enabled": "auto", "dpi": 144}


def picture(text: str, size: tuple[int, int] = (420, 60)) -> Image.Image:
    image = Image.new("RGB", size, "white")
    font = ImageFont.load_default(size=28)
    ImageDraw.Draw(image).text((10, 12), text, fill="black", font=font)
    return image


def saved(image: Image.Image, kind: str, **options) -> bytes:
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


@pytest.fixture
def read(tmp_path):
    def read(name: str, data: bytes, **options):
        path = tmp_path / name
        path.write_bytes(data)
        return read_file(SourceFile(name, path, len(data)), Input(**options))

    return read


class Fake:
    """Stands for the models: every image says the same, with the given confidence."""

    def __init__(self, text: str = "invoice total", score: float = 0.95) -> None:
        self.found = [([[1, 2], [90, 2], [90, 20], [1, 20]], text, score)]
        self.shapes: list[tuple[int, ...]] = []

    def __call__(self, image: np.ndarray):
        self.shapes.append(image.shape)
        return self.found, None


@pytest.fixture
def fake(monkeypatch):
    engine = Fake()
    monkeypatch.setattr(ocr, "_engine", lambda: engine)
    return engine


def test_case_d01_a_scanned_page_is_read():
    reading = case("pdf_scanned_ocr_test.pdf", ocr=ON)
    assert text_of(reading) == (
        "Docling bundles PDF document conversion to JSON and Markdown in an easy self contained "
        "package"
    )
    (record,) = reading.records
    assert record.page_starts == (0,)
    assert record.metadata["ocr_confidence"]["1"] > 0.9


def test_an_image_is_read(read):
    (record,) = read("note.png", saved(picture("Water meter 42", (420, 300)), "PNG")).records
    assert record.text == "Water meter 42"
    assert (record.title, record.media_type) == ("note", "image/png")


@pytest.mark.parametrize(
    ("kind", "suffix"),
    [("PNG", "png"), ("JPEG", "jpg"), ("TIFF", "tif"), ("BMP", "bmp"), ("WEBP", "webp")],
)
def test_every_image_format_reaches_the_models(read, fake, kind, suffix):
    reading = read(f"a.{suffix}", saved(picture("x"), kind))
    assert reading.records[0].text == "invoice total"
    assert fake.shapes == [(60, 420, 3)]
    under_other_name = read("b.txt" if kind != "BMP" else "b.bmp", saved(picture("x"), kind))
    assert under_other_name.records[0].media_type == reading.records[0].media_type


def test_frames_of_a_tiff_are_pages(read, fake):
    frames = saved(picture("x"), "TIFF", save_all=True, append_images=[picture("y")])
    (record,) = read("fax.tiff", frames).records
    assert record.page_starts == (0, len("invoice total "))
    assert record.metadata["ocr_confidence"] == {"1": 0.95, "2": 0.95}


@pytest.mark.parametrize("text", ["invoice total", "水表读数"])
def test_pages_beyond_the_most_are_refused_by_number(read, fake, monkeypatch, text):
    monkeypatch.setattr(image_reader, "_MOST_FRAMES", 1)
    fake.found[0] = (fake.found[0][0], text, 0.9)
    frames = saved(picture("x"), "TIFF", save_all=True, append_images=[picture("y")])
    reading = read("fax.tiff", frames)
    assert [record.text for record in reading.records] == [text]
    (refused,) = reading.refused
    assert refused.where == "fax.tiff, page 2"
    assert refused.reason == "left out with all pages after it (1): more than 1; split the file"


def test_transparent_pictures_are_laid_on_white(read, monkeypatch):
    seen = []
    monkeypatch.setattr(ocr, "_engine", lambda: lambda image: (seen.append(image), None)[::-1])
    read("a.png", saved(Image.new("RGBA", (50, 50), (0, 0, 0, 0)), "PNG"))
    assert seen[0].min() == 255


def test_turned_photos_are_set_upright(read, fake):
    exif = Image.Exif()
    exif[0x0112] = 6
    read("a.jpg", saved(picture("x"), "JPEG", exif=exif))
    assert fake.shapes == [(420, 60, 3)]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("a.png", b"\x89PNG\r\n\x1a\n broken", "damaged, not readable as an image"),
        ("a.jpg", saved(picture("x"), "JPEG")[:400], "damaged, not readable as an image"),
        ("a.bmp", b"BM" + bytes(60), "damaged, not readable as an image"),
    ],
)
def test_damaged_images_are_refused(read, fake, name, data, said):
    (refused,) = read(name, data).refused
    assert said in refused.reason
    assert "0x" not in refused.reason


def test_huge_images_are_refused_before_they_are_unpacked(read, fake):
    (refused,) = read("a.png", saved(Image.new("1", (12_000, 9_000)), "PNG")).refused
    assert "12000 × 9000 pixels" in refused.reason
    assert fake.shapes == []


def test_images_without_ocr_or_text_are_refused_with_the_reason(read, monkeypatch):
    data = saved(picture("x"), "PNG")
    off = read("a.png", data, ocr={"enabled": "off"}).refused[0].reason
    assert off == "an image; set input.ocr.enabled: auto to read them"
    monkeypatch.setattr(ocr, "_engine", lambda: lambda image: (None, None))
    assert "OCR found no text" in read("a.png", data).refused[0].reason
    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    said = read("a.png", data).refused[0].reason
    assert said == 'reading text in images needs an extra: pip install "graphkb[ocr]"'


def test_unsure_lines_are_left_out_and_the_page_is_listed(fake):
    fake.found += [([[1, 30], [90, 30], [90, 50], [1, 50]], "smudge", 0.2)]
    reading = case("pdf/mixed_text_scan.pdf", ocr={"enabled": "auto"})
    assert "smudge" not in text_of(reading)
    assert "invoice total" in text_of(reading)
    assert any(
        "OCR is unsure of page 2, 1 lines below input.ocr.min_confidence" in note
        for note in reading.notes
    )
    fake.found[0] = (*fake.found[0][:2], 0.6)
    low = case("pdf/mixed_text_scan.pdf", ocr={"enabled": "auto", "min_confidence": 0.1})
    assert "smudge" in text_of(low)
    assert any("OCR is unsure of page 2; check" in note for note in low.notes)


def test_case_d03_a_scan_with_a_watermark_is_read_by_ocr(fake):
    reading = case("pdf/scan_with_watermark_text.pdf", ocr={"enabled": "auto"})
    assert text_of(reading) == "invoice total"
    assert fake.shapes == [(2339, 1654, 3)]


def test_case_d07_garbled_pages_are_read_by_ocr(fake, monkeypatch):
    from graphkb.ingest.pdf import page

    monkeypatch.setattr(page, "is_garbled", lambda text: True)
    reading = case("pdf/table_bordered.pdf", ocr={"enabled": "auto"})
    assert text_of(reading) == "invoice total"


def test_scans_where_ocr_finds_nothing_say_so(monkeypatch):
    monkeypatch.setattr(ocr, "_engine", lambda: lambda image: (None, None))
    reading = case("pdf/mixed_text_scan.pdf", ocr={"enabled": "auto"})
    assert any("(page 2): scanned, and OCR found none" in note for note in reading.notes)


def test_english_alone_takes_no_chinese_for_granted(fake):
    fake.found[0] = (fake.found[0][0], "水表", 0.9)
    image = np.zeros((40, 100, 3), np.uint8)
    assert ocr.Recognizer(Ocr(languages=["en"])).read_image(image).n_unsure == 1
    assert ocr.Recognizer(Ocr()).read_image(image).runs == (
        Run("水表", Box(1, 2, 90, 20), 13.5),
    )  # fmt: skip


def test_words_of_an_image_are_parted(read):
    text = "Valid until 30 June 2030"
    (record,) = read("permit.png", saved(picture(text, (420, 300)), "PNG")).records
    assert record.text == text


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("to~by~me", "to by me"),
        ("to -by", "to -by"),
        ("to~b.~me", "to b. me"),
        ("t~,me", "t,me"),
        ("me~@by.to", "me@by.to"),
        ("水~表~t~o", "水表t o"),
        ("no~472~19", "no 47219"),
        ("证~472~19", "证47219"),
        ("水~t", "水t"),
    ],
)
def test_likely_spaces_part_latin_words_only(path, text):
    characters = ["", *sorted(set(path) - {"~", " "}), " "]
    steps = []
    for character in path:
        step = np.zeros(len(characters), np.float32)
        if character == "~":
            step[0], step[-1] = 0.8, 0.2
        else:
            step[characters.index(character)] = 1.0
        steps.append(step)
    assert spaced(np.array(steps), characters) == text


def test_unlikely_spaces_part_nothing():
    steps = np.array([[0, 1, 0, 0], [0.995, 0, 0, 0.005], [0, 0, 1, 0]], np.float32)
    assert spaced(steps, ["", "a", "b", " "]) == "ab"


@pytest.mark.parametrize(
    ("size", "limit"), [((3000, 4000), "max"), ((2339, 1654), "min"), ((20, 1900), "max")]
)
def test_lines_are_looked_for_in_few_enough_pixels(size, limit):
    engine = SimpleNamespace(text_det=SimpleNamespace(limit_type=""))
    ocr._bound(engine, np.broadcast_to(np.uint8(255), (*size, 3)))
    assert engine.text_det.limit_type == limit


@pytest.mark.parametrize("text", ["invoice total", "水表读数"])
@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        RuntimeError("[ONNXRuntimeError] : 6 : RUNTIME_EXCEPTION : Failed to allocate memory"),
    ],
)
def test_a_smaller_image_is_read_where_memory_is_short(monkeypatch, error, text):
    engine = Fake(text)

    def read(image: np.ndarray):
        if image.shape[0] > 1000:
            raise error
        return engine(image)

    monkeypatch.setattr(ocr, "_engine", lambda: read)
    (run,) = ocr.Recognizer(Ocr()).read_image(np.full((3000, 4000, 3), 255, np.uint8)).runs
    assert engine.shapes == [(750, 1000, 3)]
    assert (run.text, run.box) == (text, Box(4, 8, 360, 80))


def test_memory_that_is_short_for_small_images_too_is_said(monkeypatch):
    def read(image: np.ndarray):
        raise MemoryError

    monkeypatch.setattr(ocr, "_engine", lambda: read)
    with pytest.raises(MemoryError):
        ocr.Recognizer(Ocr()).read_image(np.zeros((3000, 4000, 3), np.uint8))


@pytest.mark.parametrize("text", ["invoice total", "水表读数"])
def test_long_screenshots_are_read_in_parts_that_cut_no_line(read, fake, text):
    fake.found[0] = (fake.found[0][0], text, 0.9)
    image = Image.new("RGB", (500, 6000), "white")
    drawing = ImageDraw.Draw(image)
    for top in range(10, 6000, 60):
        drawing.rectangle((10, top, 300, top + 39), fill=(0, 0, 0))
        drawing.rectangle((100, top, 150, top + 39), fill=(255, 255, 255))
    (record,) = read("chat.png", saved(image, "PNG")).records
    heights = [height for height, _, _ in fake.shapes]
    assert sum(heights) == 6000
    assert max(heights) <= 1000
    edges = np.cumsum(heights)[:-1]
    assert all((edge - 10) % 60 >= 40 or (edge - 10) % 60 == 0 for edge in edges)
    assert record.text.count(text) == len(heights)


@pytest.mark.parametrize("missing", ["PIL", "cv2", "onnxruntime", "rapidocr_onnxruntime"])
def test_a_library_that_is_missing_is_not_the_fault_of_the_image(read, monkeypatch, missing):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *a: None if name == missing else find(name, *a)
    )
    for name in ("permit.png", "许可证.png"):
        (refused,) = read(name, saved(picture("x"), "PNG")).refused
        assert refused.reason == 'reading text in images needs an extra: pip install "graphkb[ocr]"'


def test_large_pages_are_drawn_smaller(fake):
    document = pypdfium2.PdfDocument.new()
    page = document.new_page(5000, 2000)
    ocr.Recognizer(Ocr(dpi=600)).read_page(page)
    assert max(fake.shapes[0]) <= ocr.LONGEST_SIDE


@pytest.mark.parametrize(
    ("names", "languages"),
    [("[chi-sim]", ["zh"]), ("[zh, EN]", ["zh", "en"]), ("[chi_sim, eng, zh]", ["zh", "en"])],
)
def test_case_d17_names_of_other_programs_mean_the_same(tmp_path, names, languages):
    settings = load_settings(tmp_path, [f"input.ocr.languages={names}"])
    assert settings.input.ocr.languages == languages


def test_case_d17_an_unknown_language_is_named_with_those_there_are(tmp_path):
    with pytest.raises(SettingsError, match=r"'klingon'; available: zh, en"):
        load_settings(tmp_path, ["input.ocr.languages=[klingon]"])


def test_a_spawned_process_can_read(tmp_path):
    code = (
        "from pathlib import Path\n"
        "from graphkb.ingest.read import SourceFile, read_file\n"
        "from graphkb.settings_input import Input\n"
        f"path = Path({str(CASES / 'pdf/table_bordered.pdf')!r})\n"
        "print(len(read_file(SourceFile('a.pdf', path, 0), Input()).records))\n"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True,
                          text=True, check=True, cwd=tmp_path)  # fmt: skip
    assert (done.stdout.strip(), done.stderr) == ("1", "")


def test_pages_that_wait_for_ocr_are_read_again_once_it_is_there(fake, monkeypatch):
    def sources():
        reading = case("pdf/mixed_text_scan.pdf", ocr={"enabled": "auto"})
        return sources_frame(SourceFile("m.pdf", CASES, 0), "hash", reading)

    monkeypatch.setattr(ocr, "is_installed", lambda: False)
    waiting = sources()
    assert '"pages_for_ocr": [2]' in waiting["metadata"][0]
    assert _without_unread_pages(waiting, Ocr()).height == 1
    monkeypatch.setattr(ocr, "is_installed", lambda: True)
    assert _without_unread_pages(waiting, Ocr()).height == 0
    assert _without_unread_pages(waiting, Ocr(enabled="off")).height == 1
    assert _without_unread_pages(sources(), Ocr()).height == 1
