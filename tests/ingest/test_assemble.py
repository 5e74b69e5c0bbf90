from __future__ import annotations

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import polars as pl
import pytest

import graphkb
from graphkb.ingest.assemble import assemble_documents
from graphkb.ingest.read import file_hash, list_files, read_file, sources_frame
from graphkb.settings_input import Input
from graphkb.tables import TABLES

CASES = Path(__file__).parents[1] / "data" / "cases"


def sources(folder: Path) -> pl.DataFrame:
    files = list_files(folder, Input())
    return pl.concat(
        [sources_frame(file, file_hash(file), read_file(file, Input())) for file in files]
    )


@pytest.fixture
def rows(tmp_path):
    def rows(**files: list[dict[str, object]]) -> pl.DataFrame:
        for name, records in files.items():
            lines = "\n".join(json.dumps(record, ensure_ascii=False) for record in records)
            (tmp_path / f"{name}.jsonl").write_text(lines, encoding="utf-8")
        return sources(tmp_path)

    return rows


def test_case_b03_copies_are_one_document_with_all_paths():
    assembled = assemble_documents(sources(CASES / "dups"))
    (document,) = assembled.documents.iter_rows(named=True)
    assert document["path"] == "copy of one.txt"
    others = ["one.txt", "one_crlf.txt", "one_trailing_space.txt"]
    assert json.loads(document["metadata"])["duplicate_paths"] == others
    assert assembled.duplicates == [(path, "copy of one.txt") for path in others]
    assert document["id"] == document["content_hash"]
    assert assembled.documents.schema == TABLES["documents"].schema


def test_the_same_id_with_other_content_is_kept_under_its_hash(rows):
    frame = rows(
        a=[{"id": 1, "text": "陈明"}, {"id": 1, "text": "other"}, {"id": 1, "text": "陈明"}],
        b=[
            {"id": 1, "text": "other"},
            {"text": "Ada", "title": "T"},
            {"text": "Ada", "title": "T"},
        ],
    )
    assembled = assemble_documents(frame)
    documents = assembled.documents
    assert documents["id"][0] == "1"
    assert documents["id"][1] == documents["content_hash"][1]
    assert documents["text"].to_list() == ["陈明", "other", "Ada"]
    assert documents["language"].to_list() == ["zh", "en", "en"]
    assert len(assembled.warnings) == 1
    assert "'1' of a.jsonl (row 2)" in assembled.warnings[0]
    assert "a.jsonl (row 1)" in assembled.warnings[0]


def test_the_order_of_sources_does_not_matter(rows):
    frame = rows(a=[{"id": n, "text": f"text {n % 3}"} for n in range(9)], b=[{"text": "x"}])
    shuffled = frame.sample(fraction=1, shuffle=True, seed=1)
    assert assemble_documents(frame).documents.equals(assemble_documents(shuffled).documents)


def test_no_sources_give_an_empty_table(rows):
    assert assemble_documents(rows(a=[{"text": "x"}]).clear()).documents.height == 0


def test_the_same_bytes_in_every_process():
    code = (
        "import sys; from pathlib import Path; import polars as pl\n"
        "from graphkb.ingest.read import *; from graphkb.ingest.assemble import *\n"
        "from graphkb.ingest.chunk import cut_documents\n"
        "from graphkb.settings_input import Chunks, Input\n"
        "files = list_files(Path(sys.argv[1]), Input(include=sys.argv[2:]))\n"
        "frames = [sources_frame(f, file_hash(f), read_file(f, Input())) for f in files]\n"
        "documents = assemble_documents(pl.concat(frames)).documents\n"
        "print(documents.write_json(), cut_documents(documents, Chunks()).write_json())\n"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code, str(CASES), "text/", "csv/", "enc/", "json/", "*.docx"],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONIOENCODING": "utf-8"},
            cwd=Path(__file__).parents[2],
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("0", "1")
    }
    assert len(outputs) == 1


@pytest.mark.parametrize("words", ["The lease ends in May.", "租约五月到期。"])
@pytest.mark.parametrize("packed", ["a.zip", "z.zip"])
def test_of_copies_a_file_is_kept_rather_than_a_member_of_an_archive(tmp_path, words, packed):
    (tmp_path / "lease.txt").write_text(words, "utf-8")
    with zipfile.ZipFile(tmp_path / packed, "w") as archive:
        archive.writestr("copy.txt", words)
        archive.writestr("other.txt", f"{words} other")
    assembled = assemble_documents(sources(tmp_path))
    paths = sorted(["lease.txt", f"{packed}/other.txt"])
    assert assembled.documents["path"].to_list() == paths
    assert assembled.documents["human_readable_id"].to_list() == [0, 1]
    assert assembled.duplicates == [(f"{packed}/copy.txt", "lease.txt")]


def test_of_nearly_equal_files_the_one_outside_archives_is_kept(tmp_path):
    words = " ".join(f"word{n}" for n in range(200))
    (tmp_path / "lease.txt").write_text(words, "utf-8")
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as archive:
        archive.writestr("copy.txt", f"{words} more")
    documents = assemble_documents(sources(tmp_path), "near").documents
    assert documents["path"].to_list() == ["lease.txt"]


def test_of_copies_the_file_is_kept_rather_than_a_link(project):
    folder = project / "input"
    folder.mkdir(exist_ok=True)
    for link, name, text in (
        ("copy.md", "note.md", "# Note\n\nAda Lin leads Osprey.\n"),
        ("副本.md", "报告.md", "# 报告\n\n陈明创办了青石公司。\n"),
    ):
        (folder / name).write_text(text, "utf-8")
        (folder / link).symlink_to(name)
    project_of = graphkb.open(project, ["embed.when=off"])
    result = project_of.index()
    paths = project_of.table("documents")["path"].to_list()
    assert sorted(paths) == ["note.md", "报告.md"]
    assert "copy.md: same content as note.md, indexed once" in result.warnings
    assert "副本.md: same content as 报告.md, indexed once" in result.warnings
