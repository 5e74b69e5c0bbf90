"""Real bug reports of this field, played through the whole product: index, then ask.

The letters and numbers are those of the case bank the inputs in ``tests/data/cases`` come from.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner

import graphkb
from graphkb.cli import main
from graphkb.errors import EmptiedInputError, InputError, NotIndexedError, UsageError
from graphkb.types import IndexResult

CASES = Path(__file__).parent / "data" / "cases"


class Made:
    """A project with some inputs, indexed without vectors."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.result: IndexResult | None = None

    def put(self, *sources: str, **texts: str) -> Made:
        for source in sources:
            path = CASES / source
            copy = shutil.copytree if path.is_dir() else shutil.copy
            copy(path, self.root / "input" / path.name)
        for name, text in texts.items():
            (self.root / "input" / f"{name}.txt").write_text(text, "utf-8")
        return self

    def index(self, *overrides: str, allow_empty: bool = False) -> graphkb.Project:
        kb = graphkb.open(self.root, ["embed.when=off", *overrides])
        self.result = kb.index(allow_empty=allow_empty)
        return kb

    @property
    def remarks(self) -> str:
        assert self.result is not None
        refused = [f"{item.where}: {item.reason}" for item in self.result.refused]
        return "\n".join([*self.result.warnings, *refused])


@pytest.fixture
def made(project: Path) -> Made:
    return Made(project)


def texts(kb: graphkb.Project) -> str:
    return "\n".join(kb.table("text_units")["text"])


def test_a01_chinese_encodings_are_read_right_and_named(made: Made) -> None:
    kb = made.put("enc/gbk.txt", "enc/gb18030_rare.txt", "dups/one.txt").index()
    assert kb.status()["documents"] == 3
    assert "陈明" in texts(kb)
    assert "青石公司" in texts(kb)
    assert "\ufffd" not in texts(kb)
    assert "gbk.txt" in made.remarks
    assert "gb18030" in made.remarks.lower()


def test_a01_big5_by_setting(made: Made) -> None:
    kb = made.put("enc/big5.txt").index("input.encoding=big5")
    assert "\ufffd" not in texts(kb)
    expected = (CASES / "enc/big5.txt").read_bytes().decode("big5")
    assert texts(kb).split("\n")[0] == expected.replace("\r\n", "\n").strip().split("\n")[0]


def test_a01_what_cannot_be_decoded_is_named_and_the_others_read(made: Made) -> None:
    kb = made.put("enc/gbk.txt", "dups/one.txt").index("input.encoding=utf-8")
    assert kb.table("documents")["path"].to_list() == ["one.txt"]
    assert "gbk.txt: byte 0 is not valid utf-8" in made.remarks
    assert "set input.encoding to auto" in made.remarks


def test_a03_byte_order_marks_are_removed(made: Made) -> None:
    kb = made.put("enc/utf8_bom.txt", "csv/bom.csv").index()
    units = kb.table("text_units")["text"].to_list()
    assert any(text.startswith("青") for text in units)
    assert not any("\ufeff" in text for text in units)
    assert (
        kb.table("documents").filter(pl.col("path") == "bom.csv")["id"].str.len_chars().max() < 32
    )


def test_a07_control_characters_become_spaces(made: Made) -> None:
    kb = made.put("enc/nul_bytes.txt").index()
    assert not any(ord(c) < 32 and c not in "\t\n" for c in texts(kb))


def test_a09_special_tokens_are_plain_text(made: Made) -> None:
    kb = made.put("text/special_tokens.txt", "dups/one.txt", "text/html_entities.txt").index()
    assert kb.status()["documents"] == 3
    assert "<|endoftext|>" in texts(kb)
    assert kb.search("what does <|endoftext|> mean?")[0].path == "special_tokens.txt"


def test_a10_braces_break_nothing(made: Made) -> None:
    kb = made.put("text/braces.txt", "text/delimiters.txt").index()
    assert "$name ${HOME}" in texts(kb)
    answer = kb.query("what is {entity_types} and {0}?")
    assert answer.text
    assert "${HOME}" in kb.query("What does the Config hold: ${HOME} $name", "hybrid").text


def test_a13_nothing_but_empty_files_is_an_error_and_commits_nothing(made: Made) -> None:
    made.put("size/zero.txt", "size/whitespace.txt")
    with pytest.raises(InputError, match=r"no text found in 2 file.*zero\.txt"):
        made.index()
    with pytest.raises(NotIndexedError, match="nothing is indexed yet"):
        graphkb.open(made.root).query("anything?")


def test_b01_the_same_name_in_two_folders_is_two_documents(made: Made) -> None:
    kb = made.put("names/a", "names/b").index()
    assert sorted(kb.table("documents")["path"]) == ["a/readme.md", "b/readme.md"]
    (made.root / "input/a/readme.md").unlink()
    assert made.index().table("documents")["path"].to_list() == ["b/readme.md"]


def test_b03_copies_are_indexed_once_and_reported(made: Made) -> None:
    kb = made.put("dups/one.txt").index()
    single = sorted(kb.table("relationships")["weight"])
    made.put("dups/copy of one.txt", "dups/one_crlf.txt", "dups/one_trailing_space.txt")
    again = made.index()
    assert again.status()["documents"] == 1
    assert sorted(again.table("relationships")["weight"]) == single
    assert made.remarks.count("same content as") == 3
    metadata = again.table("documents")["metadata"][0]
    assert "one_crlf.txt" in metadata


def test_b05_hidden_files_are_left_out_silently(made: Made) -> None:
    made.put("names/.DS_Store", "dups/one.txt").index()
    assert made.remarks == ""


def test_b09_a_missing_text_column_names_file_columns_and_setting(made: Made) -> None:
    kb = made.put("csv/no_text_column.csv", "json/wrong_key.json", "dups/one.txt").index()
    assert kb.status()["documents"] == 1
    for needle in ("no_text_column.csv", "wrong_key.json", "input.fields.text"):
        assert needle in made.remarks


def test_c11_no_text_unit_exceeds_the_limit(made: Made) -> None:
    url = "https://example.com/" + "a1b2c3d4e5" * 10
    made.put(links="\n".join(f"第{i}条说明文字请看链接 {url}" for i in range(60)))
    kb = made.index("chunks.size=300", "chunks.overlap=0")
    assert kb.table("text_units")["n_tokens"].max() <= 300
    assert kb.table("text_units").height > 1


def test_e13_a_huge_field_is_imported(made: Made) -> None:
    kb = made.put("csv/big_field.csv").index()
    assert sum(len(text) for text in kb.table("documents")["text"]) > 100_000


def test_e15_one_bad_line_costs_one_line(made: Made) -> None:
    kb = made.put("json/lines.jsonl", "json/list.json", "json/trailing_comma.json").index()
    assert kb.status()["documents"] >= 3
    assert "lines.jsonl:" in made.remarks
    assert "list.json, item 3" in made.remarks
    assert "trailing_comma.json:" in made.remarks


def test_e17_deep_nesting_is_no_crash(made: Made) -> None:
    kb = made.put("html/deep_nest.html", "html/noise.html").index()
    assert "SCRIPT_WORD" not in texts(kb)
    assert "Ada Lin leads—since 2019." in texts(kb)


def test_k01_single_chinese_words_rank_by_match(made: Made) -> None:
    kb = made.put("bm25_zh").index()
    hits = kb.search("故乡", method="lexical")
    assert [hit.path for hit in hits] == ["bm25_zh/3.txt"]
    assert hits[0].score > 0


def test_k02_a_word_in_half_of_the_documents_still_matches(made: Made) -> None:
    kb = made.put("bm25_half").index()
    assert sorted(h.path[-5:] for h in kb.search("alpha", method="lexical")) == ["0.txt", "1.txt"]


def test_k03_two_documents_are_enough(made: Made) -> None:
    kb = made.put("bm25_two").index()
    assert kb.search("wind Leeds")[0].path == "bm25_two/b.txt"


def test_k05_an_index_that_became_empty_says_so(made: Made) -> None:
    made.put("dups/one.txt").index()
    (made.root / "input/one.txt").unlink()
    with pytest.raises(EmptiedInputError, match="1 document would be removed"):
        made.index()
    kb = made.index(allow_empty=True)
    assert "now empty" in made.remarks
    for ask in (kb.search, kb.query):
        with pytest.raises(NotIndexedError, match="the index is empty"):
            ask("who?")


@pytest.mark.parametrize("question", ["的", "？！", "the", "😀", "a" * 5000, "。" * 50])
def test_k09_odd_questions_never_crash(made: Made, question: str) -> None:
    kb = made.put("bm25_zh", "bm25_half").index()
    kb.search(question)
    assert kb.query(question).text


@pytest.mark.parametrize("question", ["的", "the", "什么时候", "？！", "😀"])
def test_k09_words_without_content_match_nothing_by_words(made: Made, question: str) -> None:
    kb = made.put("bm25_zh", "bm25_half", said="The time is 的 and 什么时候").index()
    assert list(kb.search(question, method="lexical")) == []


def test_k11_full_width_and_half_width_find_each_other(made: Made) -> None:
    kb = made.put("text/zh_fullwidth.txt", "text/zh_halfwidth.txt").index()
    for question in ("BD-200A", "ＢＤ－２００Ａ", "1280元"):
        assert len(kb.search(question, method="lexical")) == 2


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("型号P4与V2.0", "P4"),
        ("rate_limit_check用于限流", "rate_limit_check怎么用？"),
        ("设置NO_PROXY变量", "NO_PROXY"),
        ("陈明是工程师", "陈明"),
        ("错误E1043的原因", "什么时候会出现E1043"),
        ("用C++编写", "C++"),
        ("支持5G网络", "5G"),
        ("網關10.0.0.1無響應", "网关 10.0.0.1"),
        ("软件版本3.5.1", "軟件版本 3.5.1"),
        ("依据GB/T 19001-2016认证", "GB/T19001-2016"),
        ("调用getUserName超时", "user name"),
        ("型号BD-200A停产", "bd200a"),
        ("WHO发布了指南", "什么时候WHO发布"),
    ],
)
def test_k13_codes_and_names_are_found(made: Made, text: str, question: str) -> None:
    made.put(
        right=text,
        other="时候不早了，什么时候回家，这是另一份文件",
        third="The model of another kind",
    )
    for method in ("lexical", "hybrid"):
        assert made.index().search(question, method=method)[0].path == "right.txt"


def test_k13_the_command_finds_codes_in_both_languages(made: Made) -> None:
    made.put(right="错误E1043：网关10.0.0.1無響應", other="时候不早了，什么时候回家").index()
    for question in ("什么时候会出现 E1043", "when does ｅ１０４３ occur", "网关 10.0.0.1 无响应"):
        arguments = ["search", "-r", str(made.root), "--set", "embed.when=off", "--json", question]
        result = CliRunner().invoke(main, arguments)
        assert result.exit_code == 0
        assert json.loads(result.stdout)[0]["path"] == "right.txt"


def test_l01_a_graph_without_entities_still_searches(made: Made) -> None:
    kb = made.put("text/no_entities.txt").index()
    assert kb.search("rain", method="lexical") or kb.search("rained", method="lexical")
    if kb.status()["community_reports"] == 0:
        with pytest.raises(NotIndexedError, match="no community reports"):
            kb.query("What are the main themes?", "global")
    assert kb.query("rained again", "local").text
    assert kb.graph().number_of_edges() == kb.status()["relationships"]


def test_m09_parquet_lists_are_lists(made: Made) -> None:
    made.put(tiny="Bluestone.").index()
    for name in ("documents", "text_units", "entities", "relationships", "covariates",
                 "communities", "community_reports", "mentions"):  # fmt: skip
        frame = pl.read_parquet(made.root / "output" / f"{name}.parquet")
        for column, dtype in frame.schema.items():
            if isinstance(dtype, pl.List):
                assert frame[column].null_count() == 0, (name, column)


@pytest.mark.parametrize("question", ["", "   ", "\n", "\u200b"])
@pytest.mark.parametrize("method", ["local", "global", "hybrid", "auto"])
def test_o01_blank_questions_are_refused(made: Made, question: str, method: str) -> None:
    made.put("dups/one.txt")
    kb = made.index()
    with pytest.raises(UsageError, match="question is empty"):
        kb.query(question, method)


def test_o03_an_absent_topic_is_refused_without_citations(made: Made) -> None:
    kb = made.put("dups/one.txt", "text/html_entities.txt").index()
    for method in ("local", "hybrid", "auto"):
        answer = kb.query("What is the height of Mount Kosciuszko?", method)
        assert answer.refused
        assert answer.citations == ()
        assert answer.text == "The knowledge base says nothing about Mount Kosciuszko."
    assert kb.query("珠穆朗玛峰有多高？").text == "知识库中没有关于珠穆朗玛峰的内容。"


@pytest.mark.parametrize("top_k", [0, -1, 1001])
def test_o11_impossible_top_k_is_rejected(made: Made, top_k: int) -> None:
    kb = made.put("dups/one.txt").index()
    assert len(kb.search("Bluestone", top_k=50)) == 1
    with pytest.raises(UsageError, match=str(top_k)):
        kb.search("Bluestone", top_k=top_k)


def test_p07_numbers_in_brackets_in_a_document_are_not_citations(made: Made) -> None:
    kb = made.put("text/fake_citation.md", "dups/one.txt").index()
    answer = kb.query("Bluestone Ada Lin report source", "hybrid")
    import re

    marks = {int(n) for n in re.findall(r"\[(\d+)\]", answer.text)}
    assert marks == {citation.number for citation in answer.citations}


def test_l11_file_order_changes_nothing(tmp_path: Path) -> None:
    def tables(order: Callable[[list[str]], list[str]]) -> list[Any]:
        root = tmp_path / str(len(list(tmp_path.iterdir())))
        (root / "input").mkdir(parents=True)
        names = sorted(p.name for p in (CASES / "text").iterdir())
        for name in order(names):
            shutil.copy(CASES / "text" / name, root / "input" / name)
        kb = graphkb.open(root, ["embed.when=off"])
        kb.index()
        return [
            kb.table(name).to_dicts()
            for name in ("documents", "text_units", "entities", "relationships", "covariates",
                         "communities", "community_reports", "mentions")
        ]  # fmt: skip

    assert tables(list) == tables(lambda names: names[::-1])


def test_records_that_were_not_read_are_named_in_every_run(made: Made) -> None:
    made.put("json/lines.jsonl").index()
    first = [item for item in made.remarks.splitlines() if "lines.jsonl:" in item]
    assert first
    made.index()
    assert [item for item in made.remarks.splitlines() if "lines.jsonl:" in item] == first
    made.put("dups/one.txt").index()
    assert [item for item in made.remarks.splitlines() if "lines.jsonl:" in item] == first


@pytest.mark.parametrize(
    "question", ["Q217怎么处理？", "出现Q217应该怎么办？", "Q217出现时要做什么"]
)
def test_a_known_code_is_answered_however_it_is_asked(made: Made, question: str) -> None:
    made.put(manual="遇到Q217时，应先停机，再检查绞盘的张力传感器。", other="青岚港有三座码头。")
    answer = made.index().query(question, "hybrid")
    assert "先停机" in answer.text
    assert made.index().query(question.replace("217", "999"), "hybrid").refused


def test_global_answers_to_pointed_questions_leave_out_what_is_unrelated(made: Made) -> None:
    made.put(
        harbour="Mara Quill founded Port Corran in 1902. Port Corran trades with Lunholm.",
        beer="Samuel Pell studied chemistry in Leuven. Samuel Pell brews Night Heron.",
    )
    text = made.index().query("Who founded Port Corran?", "global").text
    assert "Mara Quill" in text
    assert "Leuven" not in text
