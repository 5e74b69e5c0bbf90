from __future__ import annotations

import pytest

from graphkb.types import Answer, Citation, Context, Hit, Passage, Step, Usage, Via
from graphkb.view.terminal import (
    answer_lines,
    cell,
    columns,
    corrected_lines,
    hit_lines,
    one_line,
    printable,
    snippet,
    trace_lines,
    tsv_lines,
    word_spans,
)


def marked(text: str) -> str:
    return f"<{text}>"


def test_document_text_cannot_send_control_sequences():
    evil = "a\x1b]0;title\x07b\x9bc\u202ed\r\ne"
    assert printable(evil) == "a�]0;title�b�c�d�\ne"
    assert one_line(evil) == "a�]0;title�b�c�d e"
    hit = Hit(1, 1.0, "u", "d", evil, evil, evil, None, 0, 1, evil, {})
    found = Citation(1, "u", "d", evil, evil, evil, None, 0, 1, evil)
    answer = Answer("q", evil, (found,), False, "local", Context("local", (), 1, 1), Usage(0.1))
    shown = "\n".join(hit_lines(hit, "b") + answer_lines(answer))
    assert not set(shown) & set("\x1b\x07\x9b\u202e\r")


def test_hit_lines():
    via = {"lexical": Via(2, 7.1), "graph": Via(1, 0.2)}
    hit = Hit(3, 0.0321, "u", "d", "公司简介", "zh/a.md", "历史 › 2011", 4, 120, 480,
              "陈明在青石公司。", via)  # fmt: skip
    assert hit_lines(hit, "陈明是谁", marked) == [
        "3. <公司简介 › 历史 › 2011>",
        "   zh/a.md:120-480 · p. 4 · score 0.0321 · graph #1, lexical #2",
        "   <陈明>在青石公司。",
    ]


@pytest.mark.parametrize(
    ("text", "question", "words"),
    [
        ("Error E1043 stops the E10430.", "what is e1043?", ["E1043"]),
        ("曹操与劉備煮酒，刘备惊。", "刘备 曹操", ["曹操", "劉備", "刘备"]),
        ("型号ＢＤ－２００Ａ到货", "BD-200A", ["ＢＤ－２００Ａ"]),
        ("The theory", "the theory", ["theory"]),
        ("nothing here", "？！", []),
        ("ﬁrst match counts", "match", ["match"]),
    ],
)
def test_words_of_the_question_are_found_folded(text: str, question: str, words: list[str]):
    assert [text[start:end] for start, end in word_spans(text, question)] == words


def test_snippet_shows_the_stretch_with_most_words():
    text = "Osprey is here. " + "Filler words go on. " * 40 + "Osprey budget was approved. " * 2
    short = snippet(text, "Osprey budget", marked, width=60)
    assert short.startswith("… <Osprey> <budget> was approved.")
    chinese = "预算。" + "无关的内容很多。" * 60 + "青石公司的预算由陈明批准。" + "后文。" * 60
    found = snippet(chinese, "陈明 青石 预算", marked, width=80)
    assert found.startswith("… <青石>公司的<预算>由<陈明>批准。")
    assert found.endswith(" …")
    assert columns(found.replace("<", "").replace(">", "")) <= 80 + 4


def test_snippet_without_a_match_is_the_beginning():
    assert snippet("short\ntext", "zzz") == "short text"
    assert snippet("字" * 300, "zzz", width=20) == "字" * 10 + " …"
    assert snippet("", "zzz") == ""


def test_trace_lines_show_steps_and_context():
    passage = Passage("text_unit", "t", 0.5, "u", "d", "标题", "a.md", "章", None, 3, 9)
    steps = (Step("route", "local: 2 entities", 0.0015),)
    context = Context("local", (passage,), 0.75, 88, entities=({"title": "陈明"},), trace=steps)
    answer = Answer("q", "t", (), False, "local", context, Usage(0.1))
    assert trace_lines(answer) == [
        "",
        "Trace:",
        "  route: local: 2 entities 1.5 ms",
        "",
        "Context: local, evidence 0.75, 88 tokens",
        "  1 entity",
        "  0.500 text_unit 标题 › 章 (a.md:3-9)",
    ]


def test_a_checked_answer_is_shown_again_only_where_it_differs():
    context = Context("local", (), 1, 1)
    english = Answer("Who?", "Ada [1].\nShe\x1b leads.", (), False, "local", context, Usage(0.1))
    chinese = Answer("谁负责？", "陈明 [1]。", (), False, "local", context, Usage(0.1))
    assert corrected_lines(english, " Ada [1].\n\nShe\x1b leads.\n") == []
    assert corrected_lines(english, "Ada [1][99]. She leads.", marked) == [
        "", "<Corrected after the check against the sources:>", "Ada [1].", "She� leads.",
    ]  # fmt: skip
    assert corrected_lines(chinese, "陈明 [99]。") == ["", "对照来源核对后更正为：", "陈明 [1]。"]


def test_tables_for_pipes_keep_one_row_a_line():
    rows = [("甲\t乙", None, 0.5), (["a", "b"], 3, True)]
    assert tsv_lines(["x", "y", "z"], rows) == ["x\ty\tz", "甲 乙\t\t0.5", "a, b\t3\tTrue"]
    assert cell(1 / 3) == "0.333333"
