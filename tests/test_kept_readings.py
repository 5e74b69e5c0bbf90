"""What a dry run read is not read again by the run that follows."""

from __future__ import annotations

from pathlib import Path

import pytest
from pdf_files import SONG, lines, pdf_bytes

from graphkb.ingest import isolate
from graphkb.ingest.kept import KeptReadings
from graphkb.ingest.read import FileReading, SourceFile, file_hash, list_files, read_file
from graphkb.project import Project
from graphkb.settings_input import Input
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
