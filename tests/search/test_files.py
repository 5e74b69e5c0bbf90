"""Questions that name a file are answered from it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from query.gathering import with_settings

from graphkb.project import Project
from graphkb.query.route import route
from graphkb.search import files
from graphkb.search.file_names import FileNames
from graphkb.search.files import asks_for_all, named_files, without_files
from graphkb.search.hybrid import search
from graphkb.types import Answer

PATHS = [
    ("1", "annual-2022.pdf"), ("2", "hr/leadership.md"), ("3", "x/2024年报.pdf"),
    ("4", "会议纪要2024-06.md"), ("5", "a/README.md"), ("6", "b/README.md"), ("7", "prices.csv"),
    ("8", "员工手册.docx"), ("9", "Q3 Report (final).docx"), ("10", "状态.md"),
]  # fmt: skip
NAMES = FileNames(PATHS)


@pytest.mark.parametrize(
    ("question", "ids", "rest"),
    [
        ("What does leadership.md say about pensions?", "2", "pensions?"),
        ("What is in HR/Leadership.MD?", "2", "What is ?"),
        ("总结一下 2024年报.pdf", "3", "总结一下"),
        ("总结一下2024年报.pdf里的内容", "3", "总结一下 里的内容"),
        ("根据会议纪要2024-06，预算是多少？", "4", "，预算是多少？"),
        ("根据《员工手册》，年假几天？", "8", "，年假几天？"),
        ("文件 annual-2022 讲了什么", "1", ""),
        ("What does the leadership file say?", "2", "?"),
        ('in the file "prices.csv", what is B300?', "7", ", what is B300?"),
        ("Summarise Q3 Report (final).docx", "9", "Summarise"),
        ("see leadership.md.", "2", "see ."),
        ("比较 annual-2022.pdf 和 2024年报.pdf", "1 3", "比较 和"),
        ("what does README.md say", "5 6", ""),
        ("a/README.md", "5", ""),
        ("Ｗhat is in ｐrices.csv?", "7", "Ｗhat is ?"),
    ],
)
def test_a_file_is_named(question, ids, rest):
    named = NAMES.named_in(question)
    assert named is not None
    assert named.document_ids == frozenset(ids.split())
    assert named.rest == rest


@pytest.mark.parametrize(
    "question",
    [
        "What is leadership?",
        "How are prices set?",
        "员工手册里年假几天？",
        "现在的状态如何？",
        "myleadership.md",
        "leadership.md.bak",
        "other.pdf 讲了什么",
        "README",
        "2024年的营业收入",
        "",
    ],
)
def test_words_that_are_also_stems_name_no_file(question):
    assert NAMES.named_in(question) is None


def test_a_name_without_its_suffix_is_less_sure():
    assert NAMES.named_in("annual-2022.pdf").sure
    assert not NAMES.named_in("annual-2022").sure


@pytest.mark.parametrize(
    ("question", "of_all"),
    [("What does say?", True), ("总结一下", True), ("主要讲了什么内容", True), ("", True),
     ("预算是多少？", False), ("What does say about pensions?", False)],
)  # fmt: skip
def test_what_asks_for_all_of_a_file(question, of_all):
    assert asks_for_all(question) is of_all


FILES = {
    "leadership.md": "# Who does what\n\nAda Lin leads the valve team. Nobody was replaced in May.",
    "team.md": "# Team\n\nThe valve team: Ada Lin leads the valve team of twelve. Its pension plan "
    "is paid by Kelsound. Pensions of the valve team rise in May.",
    "会议纪要2024-06.md": "# 项目例会\n\n新仓库选址在苏州，预算为380万元。\n\n"
    "## 风险\n\n消防验收延期。",
    "会议纪要2024-09.md": "# 项目例会\n\n新仓库预算追加到450万元，由孙蕾负责新仓库。",
}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Project]:
    root: Path = tmp_path_factory.mktemp("files")
    (root / "input").mkdir()
    for name, text in FILES.items():
        (root / "input" / name).write_text(text, "utf-8")
    with Project(root, ["embed.when=off", "chunks.size=40", "chunks.overlap=0"]) as project:
        project.index()
        yield project


@pytest.mark.parametrize(
    ("question", "path", "other"),
    [
        ("Who leads the valve team?", "leadership.md", "team.md"),
        ("Who leads the valve team?", "team.md", "leadership.md"),
        ("新仓库的预算是多少？", "会议纪要2024-06.md", "会议纪要2024-09.md"),
        ("新仓库的预算是多少？", "会议纪要2024-09.md", "会议纪要2024-06.md"),
    ],
)
def test_text_units_of_the_named_file_come_first(
    project: Project, question: str, path: str, other: str
) -> None:
    hits = project.search(f"{path} {question}")
    assert hits[0].path == path
    assert other in [hit.path for hit in hits]
    assert [hit.rank for hit in hits] == list(range(1, len(hits) + 1))
    (step,) = [step for step in hits.trace if step.name == "files"]
    assert step.detail.startswith(f"{path}: ")
    assert "come first" in step.detail


@pytest.mark.parametrize("question", ["Who leads the valve team?", "新仓库的预算是多少？"])
def test_without_a_name_nothing_is_said_or_done(project: Project, question: str) -> None:
    assert named_files(project._current(), question) is None
    assert without_files(project._current(), question) == question
    assert "files" not in [step.name for step in project.search(question).trace]


def quoted(answer: Answer, path: str) -> str:
    assert not answer.refused, answer.text
    assert {citation.path for citation in answer.citations} == {path}
    return "\n".join(citation.quote for citation in answer.citations)


@pytest.mark.parametrize(
    ("question", "path", "said"),
    [
        ("Summarise leadership.md", "leadership.md", ["Ada Lin leads", "Nobody was replaced"]),
        ("What does leadership.md say?", "leadership.md", ["Ada Lin leads"]),
        ("总结一下 会议纪要2024-06.md", "会议纪要2024-06.md", ["380万元", "消防验收延期"]),
        ("会议纪要2024-09.md 说了什么？", "会议纪要2024-09.md", ["450万元"]),
    ],
)
def test_all_of_a_file_is_asked_for(
    project: Project, question: str, path: str, said: list[str]
) -> None:
    assert route(project._current(), question).method in ("local", "hybrid")
    text = quoted(project.query(question), path)
    places = [text.index(each) for each in said]
    assert places == sorted(places)


def test_what_the_file_does_not_say_is_not_taken_for_its_name(project: Project) -> None:
    answer = project.query("What does leadership.md say about the boiling point of ethanol?")
    assert answer.refused


def test_a_file_that_is_not_there_is_missing(project: Project) -> None:
    answer = project.query("What does budget-2031.xlsx say?")
    assert answer.refused
    assert "budget-2031.xlsx" in answer.text


def test_of_very_many_files_only_questions_that_seem_to_name_one_are_looked_through(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = project._current()
    bare, sure = "会议纪要2024-06 的预算", "文件 会议纪要2024-06 的预算"
    assert named_files(snapshot, bare) is not None
    monkeypatch.setattr(files, "_MANY", 1)
    assert named_files(snapshot, bare) is None
    assert named_files(snapshot, sure) is not None
    assert named_files(snapshot, "What does leadership.md say?") is not None


def test_it_can_be_switched_off(project: Project) -> None:
    plain = with_settings(project._current(), "search", files=False)
    question = "What does leadership.md say?"
    assert named_files(plain, question) is None
    assert without_files(plain, question) == question
    assert "files" not in [step.name for step in search(plain, question, 5).trace]


def test_a_filter_goes_before_a_name(project: Project) -> None:
    hits = project.search("新仓库的预算 会议纪要2024-06.md", where="path = '会议纪要2024-09.md'")
    assert {hit.path for hit in hits} == {"会议纪要2024-09.md"}
