"""Citations point to spans that hold their quote, or they go."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path

import pytest

from graphkb.query.candidates import Quote
from graphkb.query.citations import check_answer, check_citations, cite
from graphkb.query.facts import missing_names
from graphkb.query.marks import defuse_marks, hide_code, normalise_marks, show_code
from graphkb.query.statements import statements_of
from graphkb.types import Passage

CASES = Path(__file__).parents[1] / "data" / "cases"
DOCUMENT = "第一句。陈明是工程师。Ada Lin leads."
PASSAGE = Passage(
    kind="text_unit", text=DOCUMENT, score=1.0, text_unit_id="u", document_id="d", title="T",
    path="a/readme.md", heading="H", page=None, char_start=0, char_end=len(DOCUMENT),
)  # fmt: skip


def source(text: str, path: str = "a.txt", title: str = "", start: int = 0) -> Passage:
    return replace(
        PASSAGE, text=text, path=path, title=title, heading="", document_id=path,
        char_start=start, char_end=start + len(text),
    )  # fmt: skip


ONE = source(
    "Bluestone Ltd was founded in 2009 in Riverton. Ada Lin is its chief engineer and leads the "
    "Dipper project. In 2021 Bluestone bought Farsail Instruments for 1.5 million euros.",
    "docs/one.txt", "Bluestone", start=100,
)  # fmt: skip
ZH = source(
    "青石公司成立于2009年，总部设在临江市。陈明是青石公司的首席工程师。2021年，青石公司收购了远帆仪器。",
    "公司.md", "青石公司",
)  # fmt: skip
OTHER = source("The lease of Pier 4 ends in December 2027. Otto Brandt signed it.", "pier.md")
SOURCES = [ONE, ZH, OTHER]


def quote(text: str) -> Quote:
    start = DOCUMENT.index(text)
    return Quote(PASSAGE, start, start + len(text), text, 1.0)


def test_citations_are_numbered_from_one_and_carry_their_place() -> None:
    citations = cite([quote("陈明是工程师。"), quote("Ada Lin leads.")])
    assert [c.number for c in citations] == [1, 2]
    assert citations[0].path == "a/readme.md"
    assert DOCUMENT[citations[0].char_start : citations[0].char_end] == "陈明是工程师。"
    assert all(c.supported and c.support == 1 for c in citations)


def test_sound_citations_stay_and_unused_ones_go() -> None:
    citations = cite([quote("陈明是工程师。"), quote("Ada Lin leads.")])
    text, kept, warnings = check_citations("他是工程师 [1]", citations, {"d": DOCUMENT})
    assert (text, [c.number for c in kept], warnings) == ("他是工程师 [1]", [1], [])


def test_a_mark_without_a_source_is_removed_and_reported() -> None:
    citations = cite([quote("陈明是工程师。")])
    text, kept, warnings = check_citations("甲 [1] 乙 [7]", citations, {"d": DOCUMENT})
    assert text == "甲 [1] 乙 "
    assert [c.number for c in kept] == [1]
    assert warnings == ["citation [7] points to no source: removed"]


def test_a_span_that_does_not_hold_its_quote_is_dropped() -> None:
    wrong = replace(cite([quote("陈明是工程师。")])[0], char_start=0)
    text, kept, warnings = check_citations("甲 [1]", [wrong], {"d": DOCUMENT})
    assert (text, kept) == ("甲 ", [])
    assert "does not match" in warnings[0]


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("a [1] b", "a [1] b"),
        ("a [1-3].", "a [1][2][3]."),
        ("a [1–2] b", "a [1][2] b"),
        ("a [1,2] b [1, 3] c", "a [1][2] b [1][3] c"),
        ("a [1][2] [2], [3] b", "a [1][2][3] b"),
        ("甲【1】乙", "甲[1]乙"),
        ("甲［２］乙【１、３】", "甲[2]乙[1][3]"),
        ("甲[1至3]", "甲[1][2][3]"),
        ("a 【2†source】 b", "a [2] b"),
        ("a [^2] b", "a [2] b"),
        ("a [Source 2] b [来源：3] c [sources: 1, 2]", "a [2] b [3] c [1][2]"),
        ("a [Source: one.txt] b [出处：公司.md]", "a [1] b [2]"),
        ("a [Source: docs/one.txt; Bluestone]", "a [1]"),
        ("a [Data: Sources (1); Reports (2)] b", "a [1] b"),
        ("a [Data: Sources (1, 3)] b", "a [1][3] b"),
        ("in [2021], [see below] and [sources close to us]", None),
        ("code `a[1]` and\n```\nb[2]\n```\n", None),
    ],
)
def test_marks_of_every_form_become_numbers_of_given_sources(
    written: str, meant: str | None
) -> None:
    assert normalise_marks(written, SOURCES)[0] == (written if meant is None else meant)


@pytest.mark.parametrize(
    ("written", "left", "warning"),
    [
        ("a [0].", "a.", "citation [0] points to no source: removed"),
        ("a [7] b", "a b", "citation [7] points to no source: removed"),
        ("a【99】。", "a。", "citation 【99】 points to no source: removed"),
        ("a [2-4]", "a [2][3]", "citation [2-4]: no source has the number 4: removed"),
        ("a [Source: two.txt].", "a [Source: two.txt].", None),
        ("a [Data: Reports (1)].", "a.", "citation [Data: Reports (1)] points to no source"),
        ("a [9999999999999999999]", "a", "points to no source"),
        ("a [1999, 2000]", "a", "points to no source"),
    ],
)
def test_marks_of_no_source_are_removed_and_reported(
    written: str, left: str, warning: str | None
) -> None:
    text, warnings = normalise_marks(written, SOURCES)
    if warning is None:
        left, warning = "a.", "citation [Source: two.txt] points to no source: removed"
    assert text == left
    assert len(warnings) == 1
    assert warning in warnings[0]


def test_case_p03_ranges_lists_and_foreign_forms_by_the_documented_rule() -> None:
    written = (CASES / "answer/citations_bad.txt").read_text("utf-8")
    sources = [source("Ada leads.", "one.txt"), source("Ada leads."), source("Ada leads.")]
    text, warnings = normalise_marks(written, sources)
    assert text.strip() == "Ada leads [1][2][3]."
    assert warnings == [
        "citation [0] points to no source: removed",
        "citation [7] points to no source: removed",
        "citation [Data: Entities (12345); Reports (2)] points to no source: removed",
    ]


def test_case_p01_only_numbers_of_the_supplied_context_remain() -> None:
    text = "Ada Lin leads Dipper [Data: Sources (999)]. Ada Lin is engineer [Data: Sources (1)]."
    checked = check_answer(text, [ONE, ZH])
    assert "[999]" not in checked.text
    assert [c.number for c in checked.citations] == [1]
    assert checked.citations[0].path == ONE.path
    assert checked.warnings == (
        "citation [Data: Sources (999)] points to no source: removed",
    )  # fmt: skip


def test_case_p07_marks_that_a_document_holds_are_not_ours() -> None:
    document = (CASES / "text/fake_citation.md").read_text("utf-8")
    passages = [source(document, "fake_citation.md"), OTHER, ZH]
    checked = check_answer(document, passages)
    for mark in ("999", "【7】", "[^12]", "Data:"):
        assert mark not in checked.text
    assert {c.number for c in checked.citations} <= {1}
    assert any("was copied from a document" in warning for warning in checked.warnings)
    assert defuse_marks(document) not in (document, "")
    assert normalise_marks(defuse_marks(document), passages) == (defuse_marks(document), [])


def test_a_citation_shows_the_sentences_that_support_the_statement() -> None:
    checked = check_answer("In 2021 Bluestone bought Farsail Instruments [1].", SOURCES)
    (citation,) = checked.citations
    assert citation.quote == (
        "In 2021 Bluestone bought Farsail Instruments for 1.5 million euros."
    )  # fmt: skip
    assert ONE.text[citation.char_start - 100 : citation.char_end - 100] == citation.quote
    assert citation.supported
    assert citation.support == 1
    assert checked.unsupported == checked.uncited == ()


def test_numbers_are_those_of_the_context_also_when_some_are_not_cited() -> None:
    checked = check_answer("The lease of Pier 4 ends in 2027 [3]. 陈明是首席工程师 [2]。", SOURCES)
    assert [(c.number, c.path) for c in checked.citations] == [(2, "公司.md"), (3, "pier.md")]


@pytest.mark.parametrize(
    ("statement", "why"),
    [
        ("Bluestone was founded in 2011 in Riverton [1].", "a number the source does not have"),
        ("The engineer Bob Stone leads the Dipper project [1].", "another name"),
        ("Bluestone bought Farsail Instruments in 2021 [3].", "a source about something else"),
        ("青石公司成立于2011年，总部设在临江市 [2]。", "another year"),
        ("2021年，李华收购了远帆仪器 [2]。", "another name"),
        ("Contract CT-118 was signed by Bluestone in Riverton [1].", "an unknown code"),
    ],
)
def test_statements_that_their_source_does_not_bear_out_are_marked(
    statement: str, why: str
) -> None:
    checked = check_answer(statement, SOURCES)
    assert len(checked.unsupported) == 1, why
    assert not checked.citations[0].supported


@pytest.mark.parametrize(
    "statement",
    [
        "Dipper is led by Ada Lin, the chief engineer [1].",
        "Farsail Instruments cost Bluestone €1,500,000 [1].",
        "青石公司的首席工程师是陈明 [2]。",
        "Bluestone was founded in 2009 [1], and Otto Brandt signed the lease of Pier 4 [3].",
        "Ada Lin and Otto Brandt: she leads Dipper, he signed the lease of Pier 4 [1][3].",
    ],
)
def test_statements_in_other_words_are_supported(statement: str) -> None:
    checked = check_answer(statement, SOURCES)
    assert checked.unsupported == ()
    assert all(citation.supported for citation in checked.citations)


def test_a_name_may_come_from_the_question() -> None:
    text = "Greycairn's engineer Ada Lin leads the Dipper project [1]."
    assert check_answer(text, SOURCES).unsupported
    assert not check_answer(text, SOURCES, question="Who at Greycairn leads Dipper?").unsupported


def test_between_languages_words_alone_mark_nothing() -> None:
    checked = check_answer("Chen Ming is the chief engineer of Qingshi [2].", SOURCES)
    assert checked.unsupported == ()
    assert checked.citations[0].supported is None  # not checked
    wrong = check_answer("Qingshi was founded in 1987 and has 45 offices [2].", SOURCES)
    assert len(wrong.unsupported) == 1
    assert wrong.citations[0].supported is False


@pytest.mark.parametrize(
    ("text", "verdicts"),
    [
        ("艾达·林是该公司的首席工程师 [1]。", [None]),
        ("该公司成立于1987年，有45家分公司 [1]。", [False]),
        ("艾达·林是首席工程师 [1]。该公司成立于1987年，有45家分公司 [1]。", [False]),
        ("The chief engineer Ada Lin leads the Dipper project [1][2].", [True, None]),
        ("艾达·林是首席工程师 [1]。\nAda Lin leads the Dipper project [1].", [True]),
    ],
)
def test_a_citation_between_languages_says_what_was_checked(
    text: str, verdicts: list[bool | None]
) -> None:
    assert [citation.supported for citation in check_answer(text, SOURCES).citations] == verdicts


def test_a_statement_without_a_mark_gets_the_source_that_clearly_says_it() -> None:
    checked = check_answer(
        "Ada Lin leads the Dipper project. 陈明是青石公司的首席工程师。", SOURCES
    )
    assert checked.text == "Ada Lin leads the Dipper project. [1] 陈明是青石公司的首席工程师。[2]"
    assert checked.added == 2
    assert [c.number for c in checked.citations] == [1, 2]
    assert checked.uncited == ()


def test_a_statement_without_a_source_is_listed_and_left_alone() -> None:
    text = "Ada Lin leads Dipper [1]. The moon base in Alaska employs forty people."
    checked = check_answer(text, SOURCES)
    assert checked.text == text
    assert checked.uncited == ("The moon base in Alaska employs forty people.",)


@pytest.mark.parametrize(
    "text",
    [
        "The projects are these:\n- Ada Lin leads the Dipper project [1]",
        "# A heading with several words\nAda Lin leads Dipper [1].",
        "Ada Lin leads Dipper [1]. The sources do not say when it ends.",
        "陈明是首席工程师 [2]。资料没有说明他的任期。",
        "```\nsome code that says many things\n```\nAda Lin leads Dipper [1].",
        "Does the source name other engineers of Bluestone?",
    ],
)
def test_introductions_headings_code_and_remarks_need_no_source(text: str) -> None:
    assert check_answer(text, SOURCES).uncited == ()


@pytest.mark.parametrize(
    "text", ["", "\n\n", "[1]", "[1]\n[2]\n", "no statement", "a\x00b [1]", "[" * 500, "。[3]。"]
)
def test_odd_answers_break_nothing(text: str) -> None:
    checked = check_answer(text, SOURCES)
    assert {c.number for c in checked.citations} <= {1, 2, 3}
    assert check_answer(text, []).citations == ()


def test_a_line_of_marks_belongs_to_the_statement_before_it() -> None:
    checked = check_answer("Ada Lin leads the Dipper project.\n[1]\n", SOURCES)
    assert checked.added == 0
    assert checked.citations[0].supported


@pytest.mark.parametrize("filler", [" ", "\t ", "-| ", "：  ", "Ada Lin "])
def test_a_model_that_repeats_itself_holds_nobody_up(filler: str) -> None:
    text = filler * 5_000 + "x"
    started = time.monotonic()
    said = [one.text for one in statements_of(text)]
    names = missing_names(text, "Ada Lin leads Osprey.")
    assert time.monotonic() - started < 3
    assert said == ([text] if "Ada" in filler else [])
    assert names == []


CODE = [
    "Ada Lin leads the Dipper project [1]; see `x[42]` in the code.",
    "Ada Lin leads the Dipper project [1]. Use `args[0]` and `f[2] [2]`.",
    "Ada Lin leads the Dipper project [1]:\n\n```python\nx = rows[42]【1】\n```\n",
    "Ada Lin leads the Dipper project [1]:\n\n~~~\nx = rows[42]\n~~~\n",
    "Ada Lin leads the Dipper project [1]:\n\n````\n```\nx = rows[42]\n```\nrows[7]\n````\n",
    "陈明是青石公司的首席工程师[2]，代码见`x[42]`。",
    "陈明是青石公司的首席工程师[2]：\n```\nx = rows[0]\n",
]


@pytest.mark.parametrize("text", CODE)
def test_brackets_in_code_are_no_citations(text: str) -> None:
    checked = check_answer(text, SOURCES)
    assert checked.text == text
    assert [c.number for c in checked.citations] == [2 if "陈明" in text else 1]
    assert checked.warnings == ()
    hidden, _, warnings = check_citations(hide_code(text), checked.citations, {})
    assert show_code(hidden) == text
    assert warnings == []


def test_a_statement_with_code_is_reported_as_it_was_written() -> None:
    checked = check_answer("Napoleon kept `x[42]` in the attic of Paris.", SOURCES)
    assert checked.uncited == ("Napoleon kept `x[42]` in the attic of Paris.",)


def test_stand_ins_of_an_answer_cannot_become_citations() -> None:
    checked = check_answer("Ada Lin leads the Dipper project \ufdd09\ufdd1 [1].", SOURCES)
    assert checked.text == "Ada Lin leads the Dipper project \ufffd9\ufffd [1]."


def test_lone_backticks_of_quoted_documents_leave_citations_alone() -> None:
    citations = cite([quote("陈明是工程师。"), quote("Ada Lin leads.")])
    text = "- a ` b [1]\n- c ``` d [2]\n- e ` f [7]"
    checked, kept, _ = check_citations(text, citations, {"d": DOCUMENT})
    assert [c.number for c in kept] == [1, 2]
    assert "[7]" not in checked


@pytest.mark.parametrize(
    "sentence", ["Ada Lin leads the Dipper project [1]. ", "陈明是青石公司的首席工程师[2]。"]
)
def test_only_the_beginning_of_an_endless_answer_is_compared(sentence: str) -> None:
    text = sentence * (30_000 // len(sentence)) + "Napoleon left Paris for Elba in 1814 [1] [77]."
    checked = check_answer(text, SOURCES)
    assert checked.unsupported == ()
    assert "[77]" not in checked.text
    assert any("after the first 20000 was not compared" in line for line in checked.warnings)
    assert not any("not compared" in line for line in check_answer(sentence, SOURCES).warnings)


@pytest.mark.parametrize("pattern", ["[[1],", "``` [1] ```\n", "```\n", "【1】，", "`x[1]` "])
def test_the_check_of_marks_without_end_is_bounded(pattern: str) -> None:
    started = time.monotonic()
    check_answer(pattern * (60_000 // len(pattern)), SOURCES)
    assert time.monotonic() - started < 3
