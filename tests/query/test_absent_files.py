"""A question that names a file which is not in the knowledge base is told so, with the reason."""

from __future__ import annotations

import pytest

from graphkb.project import Project
from graphkb.query.absent_files import names_of_files
from graphkb.store.lance import Store

FILES = {
    "leadership.md": "# Leadership\n\nIngrid Vass leads Kelsound. The board meets in Bergen.\n",
    "制度/员工手册.md": "# 员工手册\n\n年假为十五天。病假需要医生证明。\n",
    "the copy.md": "# Leadership\n\nIngrid Vass leads Kelsound. The board meets in Bergen.\n",
    "annual report 2024.txt": "Kelsound sold 40 turbines in 2024. settings.yaml holds the plan.\n",
    "O'Neil.txt": "Ada O'Neil keeps the seals of Kelsound in Bergen.\n",
    "file's.txt": "Bo keeps the files of Kelsound.\n",
    "合同(2024)版.md": "# 合同\n\n甲方为明川电气。\n",
    "a：b.txt": "Cy keeps the keys of Kelsound.\n",
    "和平.txt": "和平路十号是仓库。\n",
    "removed.md": "# Old\n\nThe old board met in Oslo.\n",
    "scan.docx": "no document",
    "制度/扫描件.pdf": "",
    "费用 2023.pdf": "",
}


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Project:
    root = tmp_path_factory.mktemp("absent")
    for name, text in FILES.items():
        path = root / "input" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    kb = Project(root)
    kb.index(embed="off")
    kb.remove(["removed.md"])
    return kb


@pytest.mark.parametrize("method", ["auto", "hybrid", "global", "lazy", "drift"])
@pytest.mark.parametrize(
    ("question", "warning"),
    [
        ("What does missing.docx say about the board of Kelsound?",
         "missing.docx is not in the knowledge base: no file is called so"),
        ("《不存在.pdf》里年假是几天？", "不存在.pdf is not in the knowledge base"),
        ("请问公司制度.docx里年假是几天？", "公司制度.docx is not in the knowledge base"),
        ("Who leads Kelsound according to leadership.pdf?", "there is leadership.md"),
        ("Who leads Kelsound, says scan.docx?", "scan.docx is not in the knowledge base, it could"),
        ("根据扫描件.pdf，年假是几天？",
         "制度/扫描件.pdf is not in the knowledge base, it could not be read: the file is empty"),
        ("What does 费用 2023.pdf say of Kelsound?",
         "费用 2023.pdf is not in the knowledge base, it could not be read"),
        ("Where did the board meet, by removed.md?", "removed.md was removed from the knowledge"),
    ],
)  # fmt: skip
def test_the_answer_warns_of_a_file_that_is_not_there(
    kb: Project, question: str, warning: str, method: str
) -> None:
    answer = kb.query(question, method)
    assert any(warning in said for said in answer.warnings), answer.warnings
    assert list(answer.to_dict()["warnings"]) == list(answer.warnings)
    assert any(warning in said for said in kb.search(question).warnings)


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("What does missing.docx say about the board of Kelsound?",
         "The knowledge base says nothing about missing.docx."),
        ("《不存在.pdf》里年假是几天？", "知识库中没有关于不存在.pdf的内容。"),
    ],
)  # fmt: skip
def test_the_text_says_it_too_in_the_language_of_the_question(
    kb: Project, question: str, said: str
) -> None:
    assert kb.query(question).text.startswith(said)


@pytest.mark.parametrize("name", ["later.docx", "制度/新规.pdf"])
def test_a_file_that_is_not_indexed_yet_is_said_to_be_there(kb: Project, name: str) -> None:
    path = kb.root / "input" / name
    path.write_text("later", "utf-8")
    (warning,) = kb.search(f"{name}里年假是几天？").warnings
    path.unlink()
    assert warning.startswith(f"{name} is not in the knowledge base, though it is in {kb.root}")
    assert "run graphkb index" in warning


@pytest.mark.parametrize("name", ["My Later Plan v2.docx", "later plan.docx", "O'Later.docx"])
def test_a_later_file_is_found_by_its_whole_name(kb: Project, name: str) -> None:
    path = kb.root / "input" / name
    path.write_text("later", "utf-8")
    (warning,) = kb.search(f"What does {name} say?").warnings
    path.unlink()
    assert warning.startswith(f"{name} is not in the knowledge base, though it is in {kb.root}")


@pytest.mark.parametrize(
    "name", ["中" * 100 + ".pdf", "《" + "a" * 119 + ".pdf》", "a/" * 50 + "b.pdf"]
)
def test_a_name_too_long_for_a_file_is_absent(kb: Project, name: str) -> None:
    (warning,) = kb.search(f"{name}讲了什么").warnings
    assert "is not in the knowledge base: no file is called so" in warning


def test_a_path_outside_the_input_folder_is_not_looked_at(kb: Project) -> None:
    outside = kb.root / "outside.docx"
    outside.write_text("outside", "utf-8")
    for name in (str(outside), "../outside.docx"):
        (warning,) = kb.search(f"What does {name} say?").warnings
        assert "no file is called so" in warning


def test_a_path_with_the_input_folder_before_it_names_its_file(kb: Project) -> None:
    for path in ("input/O'Neil.txt", str(kb.root / "input" / "O'Neil.txt")):
        assert kb.search(f"What does {path} say?")[0].path == "O'Neil.txt"
    assert kb.search("请看input/制度/员工手册.md里写了什么")[0].path == "制度/员工手册.md"


def test_one_of_two_files_that_are_named_is_said_to_be_missing(kb: Project) -> None:
    answer = kb.query("Compare leadership.md and gone.xlsx: who leads Kelsound?")
    assert [said for said in answer.warnings if "not in the knowledge base" in said] == [
        "gone.xlsx is not in the knowledge base: no file is called so"
    ]
    assert "gone.xlsx" in answer.text


@pytest.mark.parametrize(
    "question",
    [
        "What does leadership.md say about the board?",
        "员工手册.md里年假是几天？",
        "请问制度/员工手册.md里年假是几天？",
        "Who leads Kelsound, by the copy.md?",
        "How many turbines are in annual report 2024.txt?",
        "What does settings.yaml hold?",
        "What does graphkb.open do for Kelsound?",
        "See README: who leads Kelsound?",
        "Who leads Kelsound in v2.1?",
        "Who leads Kelsound (https://example.com/board.pdf, www.example.com/a.docx)?",
        "Does Kelsound use Node.js?",
        "年假是几天？",
        "What does O'Neil.txt say?",
        "What does O’Neil.txt say?",
        "《O'Neil.txt》讲了什么",
        "What is in “file's.txt”?",
        "请问合同(2024)版.md中提到谁？",
        "a：b.txt里写了什么？",
        "对比leadership.md和平.txt",
        "What does input/leadership.md say?",
        "请看input/制度/员工手册.md里年假是几天",
        "如何导出.csv文件？",
        "怎么导出为.xlsx",
        "凭证能导出成.pdf吗",
        "附件支持.png吗？",
        "附件支持上传.png或.jpg吗？",
    ],
)
def test_what_is_there_or_no_file_is_not_warned_of(kb: Project, question: str) -> None:
    for found in (kb.query(question), kb.search(question)):
        assert not any("knowledge base" in said for said in found.warnings)


@pytest.mark.parametrize(
    "question", ["Who leads Kelsound?", "年假是几天？", "What does leadership.md say of the board?"]
)
def test_nothing_is_looked_up_for_files_that_are_there(
    kb: Project, question: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kb.query(question)
    read: list[str] = []
    for name in ("read", "where"):
        whole = getattr(Store, name)
        monkeypatch.setattr(
            Store, name, lambda self, table, *a, _w=whole: read.append(table) or _w(self, table, *a)
        )
    kb.query(question)
    assert not {"sources", "removals"}.intersection(read)


@pytest.mark.parametrize(
    ("question", "names"),
    [
        ("Compare a.docx, b.xlsx and “old plan 3.pdf”.", ["a.docx", "b.xlsx", "old plan 3.pdf"]),
        ("《手册.docx》和薪酬.xlsx有何区别？", ["手册.docx", "薪酬.xlsx"]),
        ("在《费用 2023.pdf》里，以及在附件预算表.xlsx中", ["费用 2023.pdf", "预算表.xlsx"]),
        ("What is in reports/2024/q3.xlsx?", ["reports/2024/q3.xlsx"]),
        ("What does the file utils.js do? And Node.js?", ["utils.js"]),
        ("mail bob@acme.md or see a.org/x.pdf, file:///tmp/a.pdf, all .docx files", []),
        ("对比a.pdf和b.pdf", ["a.pdf", "b.pdf"]),
        ("对比年报.pdf与合同.pdf以及计划.docx", ["年报.pdf", "合同.pdf", "计划.docx"]),
        ("Is it in report (1).pdf or O'Brien.txt?", ["report (1).pdf", "O'Brien.txt"]),
        ("报告(1).pdf和报告（初稿）.docx讲了什么", ["报告(1).pdf", "报告（初稿）.docx"]),
        ("请看附录（二）和手册.pdf", []),
        ("What does My Report Final v2.docx say?", ["My Report Final v2.docx"]),
        ("总结一下Annual Report 2023.txt", ["Annual Report 2023.txt"]),
        ("How Many People Are In Report.docx?", ["Report.docx"]),
        ("Outline plan.docx", ["plan.docx"]),
        ("华为.pdf和费用.xlsx里有多少", ["华为.pdf", "费用.xlsx"]),
        ("如何导出.csv文件？", []),
        ("附件支持上传.png或.jpg吗？", []),
        ("e.g. v2.1 of graphkb.open, the U.S. and README", []),
    ],
)
def test_what_is_written_like_the_name_of_a_file(question: str, names: list[str]) -> None:
    assert names_of_files(question) == names
