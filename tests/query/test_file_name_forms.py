"""A file is found by its name however its apostrophes, widths and accents are written."""

from __future__ import annotations

import unicodedata
from pathlib import Path

import pytest

import graphkb
from graphkb.project import Project, init_project
from graphkb.query.absent_files import names_of_files
from graphkb.search.file_names import FileNames

FILES = {
    "O’Neil.txt": "The pump house opened in 1952.",
    "D`Arcy notes.md": "# Notes\n\nThe mill closed in 1961.",
    "L'Été.txt": "Bo Chen sells ice.",
    unicodedata.normalize("NFD", "Café résumé.txt"): "Ada Lin bakes bread.",
    "报告（终稿）.txt": "青石公司设在杭州。",
    "季报２０２４.txt": "营收为三亿元。",
    "other.txt": "Other things happen here in the valley.",
}
ASKED = {
    "What does O'Neil.txt say?": "O’Neil.txt",
    "What does O’Neil.txt say?": "O’Neil.txt",
    "What does O‘Neil.txt say?": "O’Neil.txt",
    "What does O`Neil.txt say?": "O’Neil.txt",
    "What does O＇Neil.txt say?": "O’Neil.txt",
    "What does “O'Neil.txt” say?": "O’Neil.txt",
    "What does O'Neil.txt say… please?": "O’Neil.txt",
    "O'Neil.txt里说了什么？": "O’Neil.txt",
    "What does D'Arcy notes.md say?": "D`Arcy notes.md",
    "What does L’Été.txt say?": "L'Été.txt",
    "What does L'Ete.txt say?": "L'Été.txt",
    "What does Café résumé.txt say?": unicodedata.normalize("NFD", "Café résumé.txt"),
    unicodedata.normalize("NFD", "What does Café résumé.txt say?"): unicodedata.normalize(
        "NFD", "Café résumé.txt"
    ),
    "报告(终稿).txt里说了什么？": "报告（终稿）.txt",
    "报告（终稿）.txt里说了什么？": "报告（终稿）.txt",
    "季报2024.txt里说了什么？": "季报２０２４.txt",
    "季报２０２４.txt里说了什么？": "季报２０２４.txt",
}


@pytest.fixture(scope="module")
def knowledge(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root: Path = tmp_path_factory.mktemp("forms")
    init_project(root)
    for name, text in FILES.items():
        (root / "input" / name).write_text(text, "utf-8")
    made = graphkb.open(root, ["embed.when=off"])
    made.index()
    return made


@pytest.mark.parametrize("question", ASKED)
def test_a_file_is_quoted_however_its_name_is_written(knowledge: Project, question: str) -> None:
    answer = knowledge.query(question)
    assert {citation.path for citation in answer.citations} == {ASKED[question]}
    assert not [warning for warning in answer.warnings if "not in the knowledge base" in warning]


@pytest.mark.parametrize("name", ["O'Neill.txt", "O`Neill.txt", "D’Arc.md"])
def test_another_name_is_not_taken_for_it(knowledge: Project, name: str) -> None:
    answer = knowledge.query(f"What does {name} say?")
    assert answer.citations == ()
    assert f"{name} is not in the knowledge base" in answer.warnings[0]


def test_a_name_with_an_apostrophe_is_read_whole() -> None:
    for sign in "'’‘`´＇":
        assert names_of_files(f"Compare O{sign}Neil.txt and É{sign}Été.md") == [
            f"O{sign}Neil.txt", f"É{sign}Été.md",
        ]  # fmt: skip


def test_what_folding_makes_longer_hides_no_name() -> None:
    names = FileNames([("d", "plan.docx"), ("e", "计划.docx")])
    for question in ("Straße… ﬁrst: what does plan.docx say?", "⑴…计划.docx里怎么说？"):
        found = names.named_in(question)
        assert found is not None
        assert len(found.document_ids) == 1
