"""What a dry run read is not read again by the run that follows."""

from __future__ import annotations

import json
import os
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pdf_files import SONG, lines, pdf_bytes

from graphkb.ingest import isolate
from graphkb.ingest.kept import KeptReadings
from graphkb.ingest.read import FileReading, SourceFile, file_hash, list_files, read_file
from graphkb.project import Project
from graphkb.settings_input import Input, Ocr, Pdf
from graphkb.types import Refused

OPTIONS = ["embed.when=off", "input.ocr.enabled=off"]


@pytest.fixture
def root(project: Path) -> Path:
    folder = project / "input"
    english = lines(["Ada Lin leads Osprey in Bergen.", "Bo Chen founded Farsail Instruments."])
    chinese = lines(["陈明创办了青石公司。", "青石公司位于卑尔根。"], font=SONG)
    (folder / "report.pdf").write_bytes(pdf_bytes(english))
    (folder / "报告.pdf").write_bytes(pdf_bytes(chinese))
    (folder / "bad.pdf").write_bytes(b"%PDF-1.4 cut off")
    (folder / "note.md").write_text("# Note\n\nOsprey is a project.\n", "utf-8")
    return project


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Paths of the files that are really read."""
    paths: list[str] = []
    whole = isolate.read_files

    def noted(files, *rest, **more):
        paths.extend(file.path for file in files)
        return whole(files, *rest, **more)

    monkeypatch.setattr(isolate, "read_files", noted)
    return paths


def test_the_run_after_a_dry_run_reads_only_what_is_quick(root: Path, read: list[str]) -> None:
    found = Project(root, OPTIONS).preview()
    assert sorted(read) == ["bad.pdf", "note.md", "report.pdf", "报告.pdf"]
    read.clear()
    assert Project(root, OPTIONS).preview() == found
    assert read == ["note.md"]
    read.clear()
    result = Project(root, OPTIONS).index()
    assert read == ["note.md"]
    assert result.refused == found.refused
    assert not (root / "cache" / "readings").exists()
    texts = Project(root, OPTIONS).table("documents")["text"].to_list()
    read.clear()
    Project(root, OPTIONS).index(rebuild=True)
    assert "report.pdf" in read
    assert Project(root, OPTIONS).table("documents")["text"].to_list() == texts
    assert any("陈明创办了青石公司" in text for text in texts)


def test_other_bytes_and_other_settings_are_read_anew(root: Path, read: list[str]) -> None:
    Project(root, OPTIONS).preview()
    read.clear()
    (root / "input" / "report.pdf").write_bytes(pdf_bytes(lines(["Another text altogether."])))
    Project(root, OPTIONS).preview()
    assert sorted(read) == ["note.md", "report.pdf"]
    kept = list((root / "cache" / "readings").iterdir())
    assert len(kept) == 3, "what is not needed any more was not dropped"
    read.clear()
    Project(root, [*OPTIONS, "input.pdf.repeated_lines=keep"]).index()
    assert sorted(read) == ["bad.pdf", "note.md", "report.pdf", "报告.pdf"]


def test_clearing_the_cache_forgets_them(root: Path) -> None:
    project = Project(root, OPTIONS)
    project.preview()
    assert (root / "cache" / "readings").is_dir()
    project.cache_clear()
    assert not (root / "cache" / "readings").exists()


def test_a_damaged_or_unwritable_cache_costs_time_only(root: Path, tmp_path: Path) -> None:
    (file, *_) = list_files(root / "input", Input(include=["报告.pdf"]))
    reading, digest = read_file(file, Input()), file_hash(file)
    kept = KeptReadings(root / "cache", Input())
    kept.put(file, digest, reading)
    assert kept.get(file, digest) == reading
    (path,) = (root / "cache" / "readings").iterdir()
    for content in (b"", b"x" * 50, path.read_bytes()[:40]):
        path.write_bytes(content)
        assert kept.get(file, digest) is None
    (tmp_path / "file").write_text("no folder")
    nowhere = KeptReadings(tmp_path / "file", Input())
    nowhere.put(file, digest, reading)
    assert nowhere.get(file, digest) is None


def _changed(**changes: Any) -> bytes:
    """A reading as it is kept, but for some fields."""
    record = {
        "own_id": None, "title": "报告", "text": "陈明创办了青石公司。", "media_type": "text/plain",
        "metadata": {}, "raw_data": None, "creation_date": None, "page_starts": [0], "member": "",
    }  # fmt: skip
    fields = {key: changes.pop(key) for key in record.keys() & changes.keys()}
    whole = {"records": [{**record, **fields}], "refused": [], "notes": [], "given_up": False}
    message = {**whole, **changes}
    return json.dumps({key: value for key, value in message.items() if value != "gone"}).encode()


DAMAGED = {
    "a field missing": _changed(given_up="gone"),
    "a field too many": _changed(kind="read"),
    "nested too deeply": b"[" * 200_000,
    "metadata nested too deeply": _changed().replace(b"{}", b'{"a":' * 900 + b"1" + b"}" * 900),
    "a number for a text": _changed(text=7),
    "a text for a number": _changed(page_starts=["0"]),
    "pages beyond the text": _changed(page_starts=[0, 99]),
    "pages out of order": _changed(page_starts=[3, 0]),
    "nothing read and nothing refused": _changed(records=[]),
    "a refusal of one part": _changed(refused=[["报告.pdf"]]),
    "no object": b"[]",
    "no JSON": b"\xff",
}


Asked = tuple[KeptReadings, SourceFile, Path]


@pytest.fixture
def asked(root: Path) -> Asked:
    """Readings, a file that one is kept of, and where."""
    (source, *_) = list_files(root / "input", Input(include=["报告.pdf"]))
    kept = KeptReadings(root / "cache", Input())
    kept.put(source, "0", FileReading(notes=("读过",), refused=(Refused("报告.pdf", "cut"),)))
    (path,) = (root / "cache" / "readings").iterdir()
    return kept, source, path


def test_a_sound_reading_made_by_hand_is_taken(
    asked: Asked,
) -> None:
    kept, source, path = asked
    path.write_bytes(zlib.compress(_changed(), 1))
    reading = kept.get(source, "0")
    assert reading is not None
    assert reading.records[0].text == "陈明创办了青石公司。"


@pytest.mark.parametrize("content", DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_reading_is_ignored_and_removed(asked: Asked, content: bytes) -> None:
    kept, source, path = asked
    path.write_bytes(zlib.compress(content, 1))
    assert kept.get(source, "0") is None
    assert not path.exists()


def test_what_would_unpack_to_too_much_is_neither_kept_nor_unpacked(
    asked: Asked, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept, source, path = asked
    path.write_bytes(zlib.compress(_changed(text="长" * 1000), 1))
    assert kept.get(source, "0") is not None
    monkeypatch.setattr("graphkb.ingest.kept._MOST_BYTES", 5000)
    assert kept.get(source, "0") is None
    assert not path.exists()
    kept.put(source, "0", FileReading(notes=("长" * 1000,), refused=(Refused("报告.pdf", "cut"),)))
    assert not path.exists()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_what_is_no_file_in_place_of_a_reading_is_removed(asked: Asked, tmp_path: Path) -> None:
    kept, source, path = asked
    other = tmp_path / "other"
    other.write_bytes(path.read_bytes())
    for place in (path, path.with_name(f".{path.name}")):
        for make in (os.mkfifo, os.mkdir, lambda place: os.symlink(other, place)):
            path.unlink(missing_ok=True)
            make(place)
            assert kept.get(source, "0") is None
            kept.put(source, "0", FileReading(refused=(Refused("报告.pdf", "cut"),)))
            assert kept.get(source, "0") is not None
    assert other.exists()


def test_a_run_over_damaged_readings_reads_the_files_anew(root: Path, read: list[str]) -> None:
    found = Project(root, OPTIONS).preview()
    for path in (root / "cache" / "readings").iterdir():
        path.write_bytes(zlib.compress(b'{"records": [], "refused": [], "notes": []}'))
    read.clear()
    result = Project(root, OPTIONS).index()
    assert sorted(read) == ["bad.pdf", "note.md", "report.pdf", "报告.pdf"]
    assert result.refused == found.refused
    paths = Project(root, OPTIONS).table("documents")["path"].to_list()
    assert sorted(paths) == ["note.md", "report.pdf", "报告.pdf"]


def test_other_bytes_of_the_same_size_and_time_are_read_anew(root: Path, read: list[str]) -> None:
    path = root / "input" / "report.pdf"
    Project(root, OPTIONS).preview()
    read.clear()
    status = path.stat()
    content = path.read_bytes()
    path.write_bytes(content[:-1] + b"\r")
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
    assert path.stat().st_size == status.st_size
    assert path.read_bytes() != content
    Project(root, OPTIONS).index()
    assert sorted(read) == ["note.md", "report.pdf"]


def test_a_reading_holds_for_its_settings_program_and_packages_only(
    asked: Asked, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    _, source, path = asked
    cache = path.parents[1]
    whole = Input()
    others = [
        Input(ocr=Ocr(enabled="off")), Input(ocr=Ocr(dpi=300)), Input(ocr=Ocr(pictures="off")),
        Input(pdf=Pdf(repeated_lines="keep")), Input(encoding="gb18030"), Input(max_file_mb=1),
        Input(converters={".pdf": "program {input}"}),
    ]  # fmt: skip
    assert KeptReadings(cache, whole).get(source, "0") is not None
    assert not [one for one in others if KeptReadings(cache, one).get(source, "0")]
    elsewhere = replace(source, path="副本/报告.pdf")
    assert KeptReadings(cache, whole).get(elsewhere, "0") is None
    with monkeypatch.context() as patch:
        patch.setattr("graphkb.ingest.kept.__version__", "0.0.0")
        assert KeptReadings(cache, whole).get(source, "0") is None
    (tmp_path / "site" / "pypdfium2-99.0.dist-info").mkdir(parents=True)
    monkeypatch.syspath_prepend(tmp_path / "site")
    assert KeptReadings(cache, whole).get(source, "0") is None


def test_what_was_given_up_stays_given_up(tmp_path: Path) -> None:
    source = SourceFile("坏.pdf", tmp_path / "坏.pdf", 3)
    reading = FileReading(refused=(Refused("坏.pdf", "it made its parser crash"),), given_up=True)
    kept = KeptReadings(tmp_path, Input())
    kept.put(source, "0", reading)
    assert kept.get(source, "0") == reading
    assert KeptReadings(tmp_path, Input(max_seconds=5)).get(source, "0") is None


def test_a_second_run_tells_in_one_line_what_it_leaves_out_again(root: Path) -> None:
    from graphkb.view.summary import index_lines, status_lines

    first = Project(root, OPTIONS).index()
    assert any("bad.pdf: damaged" in line for line in index_lines(first))
    assert first.refused_before == ()
    (root / "input" / "坏.xyz").write_bytes(b"\x00\x01" * 40)
    second = Project(root, OPTIONS).index()
    lines = index_lines(second)
    assert "left out as before: 1 (graphkb status lists them)" in lines
    assert not any("bad.pdf" in line for line in lines)
    assert any("坏.xyz" in line for line in lines)
    assert len(second.to_dict()["refused"]) == 2
    status = "\n".join(status_lines(Project(root, OPTIONS).status()))
    assert "bad.pdf: damaged" in status
    assert "坏.xyz" in status
    version = second.version
    assert Project(root, OPTIONS).index().version == version
    (root / "input" / "bad.pdf").write_bytes(b"%PDF-1.4 cut off elsewhere")
    assert any("bad.pdf: damaged" in line for line in index_lines(Project(root, OPTIONS).index()))
