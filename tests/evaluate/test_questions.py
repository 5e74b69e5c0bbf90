from __future__ import annotations

from pathlib import Path

import pytest

from graphkb.errors import InputError, UsageError
from graphkb.evaluate.questions import DocumentNames, Question, read_questions


def written(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "queries.jsonl"
    path.write_text(text, "utf8")
    return path


def test_reads_questions_in_both_languages(tmp_path: Path):
    path = written(
        tmp_path,
        '\ufeff{"id": "a", "query": "Who leads?", "relevant": ["Charter", null, "Charter"]}\n'
        "\n"
        '{"query": "陈明在哪里工作?", "relevant": "公司简介", "answer": "青石"}\n'
        '{"id": 7, "query": "行\u2028分隔"}\n',
    )
    assert read_questions(path).questions == (
        Question("a", "Who leads?", ("Charter",)),
        Question("3", "陈明在哪里工作?", ("公司简介",), ("青石",)),
        Question("7", "行\u2028分隔", ()),
    )
    assert read_questions(path).refused == ()


def test_bad_lines_are_named_by_file_and_line(tmp_path: Path):
    path = written(
        tmp_path,
        '{"id": "a", "query": "好"}\n'
        '{"id": "b", "query": "x", }\n'
        "[1]\n"
        '{"question": "x"}\n'
        '{"id": "a", "query": "again"}\n'
        '{"query": "x", "relevant": {"a": 1}}\n'
        '{"query": "x", "relevant": [["a"]]}\n'
        '{"query": "\u3000", "relevant": []}\n'
        '{"query": "x", "id": true}\n',
    )
    questions = read_questions(path)
    assert [question.id for question in questions.questions] == ["a"]
    reasons = {int(item.where.removeprefix(f"{path}:")): item.reason for item in questions.refused}
    # The words are the JSON module's own and change between Python versions.
    assert reasons.pop(2).startswith("not JSON: ")
    assert reasons == {
        3: "expected an object, found [1]",
        4: "no text under 'query' (keys: question)",
        5: "id 'a' is taken by an earlier line",
        6: "'relevant' must be a list, found {'a': 1}",
        7: "'relevant' holds ['a']; give document ids, paths or titles",
        8: "no text under 'query' (keys: query, relevant)",
        9: "'id' must be text or a number, found True",
    }


def test_optional_keys_are_read_and_wrong_ones_named(tmp_path: Path):
    path = written(
        tmp_path,
        '{"query": "a", "relevant": [], "answer": ["35", 36], "answer_aliases": ["三十五", "35"], '
        '"hops": 2, "language": "zh", "type": "数字"}\n'
        '{"query": "b", "hops": 0}\n'
        '{"query": "c", "answer": {"text": "x"}}\n'
        '{"query": "d", "type": 7}\n'
        '{"query": "e", "relevant": null, "answer": null}\n',
    )
    found = read_questions(path)
    assert found.questions == (
        Question("1", "a", (), ("35", "36", "三十五"), 2, "zh", "数字", unanswerable=True),
        Question("5", "e", ()),
    )
    assert [item.reason for item in found.refused] == [
        "'hops' must be a whole number from 1, found 0",
        "'answer' must be text or a list of texts, found {'text': 'x'}",
        "'type' must be text, found 7",
    ]


def test_line_numbers_give_way_to_ids(tmp_path: Path):
    path = written(
        tmp_path,
        '{"query": "一"}\n{"query": "two"}\n{"query": "三"}\n{"id": 2, "query": "four"}\n'
        '{"id": "line 2", "query": "五"}\n{"id": "2", "query": "six"}\n',
    )
    found = read_questions(path)
    assert [(question.id, question.query) for question in found.questions] == [
        ("1", "一"), ("line line 2", "two"), ("3", "三"), ("2", "four"), ("line 2", "五"),
    ]  # fmt: skip
    assert [item.reason for item in found.refused] == ["id '2' is taken by an earlier line"]


def test_what_no_file_can_hold_is_refused_by_line(tmp_path: Path):
    path = written(
        tmp_path,
        '{"query": "好"}\n{"id": %s, "query": "a"}\n' % ("7" * 5000)
        + r"""{"id": "a\ud800", "query": "b"}
{"query": "半\udc00"}
{"query": "c", "relevant": ["\ud83d"]}
{"query": "d", "type": "\ud83d"}
{"k\ud83d": 1}
{"id": "whole \ud83d\ude00", "query": "e"}
""",
    )
    found = read_questions(path)
    assert [question.id for question in found.questions] == ["1", "whole 😀"]
    assert [item.reason for item in found.refused] == [
        "not usable JSON: Exceeds the limit (4300 digits) for integer string conversion: "
        "value has 5000 digits",
        r"half a character in a\ud800; write it whole, as UTF-8",
        r"half a character in 半\udc00; write it whole, as UTF-8",
        r"half a character in \ud83d; write it whole, as UTF-8",
        r"half a character in \ud83d; write it whole, as UTF-8",
        r"no text under 'query' (keys: k\ud83d)",
    ]


def test_unusable_files_are_errors(tmp_path: Path):
    with pytest.raises(UsageError, match="no such file"):
        read_questions(tmp_path / "none.jsonl")
    with pytest.raises(UsageError, match="cannot be read"):
        read_questions(tmp_path)
    with pytest.raises(InputError, match="empty file"):
        read_questions(written(tmp_path, "\n"))
    with pytest.raises(InputError, match=r"queries\.jsonl:1: not JSON"):
        read_questions(written(tmp_path, "nonsense\n"))
    with pytest.raises(InputError, match=r"nested too deeply|not JSON"):
        read_questions(written(tmp_path, "[" * 200_000))


NAMES = DocumentNames(
    [
        ("Publix", "corpus.jsonl", "Publix"),
        ("Publix (2)", "corpus.jsonl", "Publix"),
        ("d3", "zh/公司简介.md", "青石公司"),
        ("d4", "zh/年报.md", "青石公司"),
        ("d5", "en/cafe\u0301.md", "Café"),
    ]
)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Publix", ["Publix"]),
        ("Publix (2)", ["Publix (2)"]),
        ("zh/年报.md", ["d4"]),
        ("青石公司", ["d3", "d4"]),
        (" en/caf\u00e9.md ", ["d5"]),
        ("年报", []),
    ],
)
def test_documents_are_found_by_id_then_path_then_title(name: str, found: list[str]):
    assert NAMES.find(name) == found


def test_a_title_of_several_documents_is_one_piece_of_evidence():
    judgement = NAMES.judge(Question("q", "?", ("青石公司", "Publix")))
    assert judgement.document_item == {"d3": "d3", "d4": "d3", "Publix": "Publix"}
    assert judgement.relevant == ("d3", "Publix")
    assert judgement.labels == {"d3": "青石公司", "Publix": "Publix"}
    assert judgement.unmatched == ()


def test_two_names_of_one_document_count_once():
    judgement = NAMES.judge(Question("q", "?", ("zh/年报.md", "d4", "青石公司")))
    assert judgement.relevant == ("d4",)
    assert judgement.document_item == {"d4": "d4", "d3": "d4"}


def test_an_item_that_names_no_document_stays_relevant_and_is_reported():
    judgement = NAMES.judge(Question("q", "?", ("没有这个", "d3")))
    assert judgement.unmatched == ("没有这个",)
    assert judgement.relevant == ("unmatched:没有这个", "d3")
