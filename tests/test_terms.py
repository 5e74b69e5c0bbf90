"""Business terms: proposed from the texts, kept in the user's dictionary, used by search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import GraphkbError, InputError, UsageError
from graphkb.project import Project

_ZH = [
    f"{before}蜀信链{after}"
    for before, after in zip("在用把建看问学从向对", "上做里好时的，和与后", strict=True)
]
_EN = [
    f"{before} bearing seat {after}."
    for before, after in zip(
        "a the one our new old big my your this".split(),
        "broke fell ran stood wore cracked moved held bent slid".split(),
        strict=True,
    )
]
FILLER = "，".join(chr(code) * 2 for code in range(0x5000, 0x5200))
WORDS = " ".join(f"word{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(400))


@pytest.fixture
def kb(project: Path) -> Project:
    """A project that uses 蜀信链 and bearing seat as words, indexed without vectors."""
    (project / "input/zh.txt").write_text("\n".join([*_ZH, FILLER]), "utf8")
    (project / "input/en.txt").write_text("\n".join([*_EN, WORDS]), "utf8")
    made = Project(project, ["embed.when=off"])
    made.index()
    return made


def test_terms_are_proposed_with_score_and_example(kb: Project) -> None:
    mined = {row["term"]: row for row in kb.mine_terms().to_dicts()}
    for term in ("蜀信链", "bearing seat"):
        assert mined[term]["frequency"] == 10
        assert mined[term]["score"] > 0
        assert term in mined[term]["example"]
    assert kb.mine_terms(limit=1).height == 1
    assert kb.mine_terms(11).height == 0


def test_added_terms_are_listed_with_origin_and_no_longer_proposed(kb: Project) -> None:
    change = kb.add_terms("bearing seat", "蜀信链", "5G消息", "bearing  seat")
    assert change.changed == ("bearing seat", "蜀信链", "5G消息")
    assert (kb.root / "terms.txt").read_text("utf8") == "bearing seat\n蜀信链\n5G消息\n"
    kb.index()
    origin = dict(kb.terms().select("term", "origin").iter_rows())
    assert {origin[word] for word in ("bearing seat", "蜀信链", "5G消息")} == {"user"}
    assert kb.terms("BEARING")["term"].to_list() == ["bearing seat"]
    assert not {"bearing seat", "蜀信链"} & set(kb.mine_terms()["term"])
    assert kb._current().dictionary == ("5G消息", "bearing seat", "蜀信链")


def test_settings_keep_their_comments_and_the_file_its_lines(kb: Project) -> None:
    settings = kb.root / "settings.yaml"
    settings.write_text("text:  # words\n  dictionary: []  # mine\nsearch:\n  top_k: 5\n", "utf8")
    Project(kb.root).add_terms("青石谷")
    assert "  dictionary: terms.txt  # mine\n" in settings.read_text("utf8")
    terms = kb.root / "terms.txt"
    terms.write_text("# 我的词\n青石谷 3 nz\n元景大模型", "utf8")
    assert Project(kb.root).add_terms("青石谷", "Zeta tool").changed == ("Zeta tool",)
    assert terms.read_text("utf8") == "# 我的词\n青石谷 3 nz\n元景大模型\nZeta tool\n"
    assert Project(kb.root).remove_terms("青石谷", "nothing").unchanged == ("nothing",)
    assert terms.read_text("utf8") == "# 我的词\n元景大模型\nZeta tool\n"


def test_a_list_in_the_settings_stays_a_list(kb: Project) -> None:
    settings = kb.root / "settings.yaml"
    settings.write_text("text:\n  dictionary: [青石谷]  # mine\n", "utf8")
    Project(kb.root).add_terms("蜀信链")
    assert settings.read_text("utf8") == "text:\n  dictionary: [青石谷, 蜀信链]  # mine\n"
    Project(kb.root).remove_terms("青石谷")
    assert settings.read_text("utf8") == "text:\n  dictionary: [蜀信链]  # mine\n"
    assert not (kb.root / "terms.txt").exists()


@pytest.mark.parametrize("word", ["", "  ", "？", "# x", "长" * 61])
def test_what_is_no_word_is_refused_and_nothing_written(kb: Project, word: str) -> None:
    with pytest.raises(UsageError, match="cannot be a term"):
        kb.add_terms("青石谷", word)
    assert not (kb.root / "terms.txt").exists()


def test_a_file_that_is_no_text_is_named(kb: Project) -> None:
    (kb.root / "terms.txt").write_bytes("青石".encode("gbk"))
    with pytest.raises(InputError, match=r"terms\.txt: text\.dictionary cannot be read as UTF-8"):
        kb.add_terms("蜀信链")
    assert issubclass(InputError, GraphkbError)


def test_case_k07_index_and_question_use_the_same_dictionary(kb: Project) -> None:
    question = "元景大模型"
    (kb.root / "input/zh.txt").write_text("元景大模型发布。\n", "utf8")
    kb.add_terms("元景大模型")
    kb.index()
    code = (
        "import sys, graphkb; kb = graphkb.open(sys.argv[1], 'embed.when=off'); "
        "print([hit.path for hit in kb.search(sys.argv[2], method='lexical')])"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, str(kb.root), question],
        capture_output=True, text=True, check=True, encoding="utf8",
        env={**os.environ, "PYTHONIOENCODING": "utf8"},
    )  # fmt: skip
    assert run.stdout.strip() == "['zh.txt']"
    # A word that was added since has not been indexed: questions are cut as the texts were.
    kb.add_terms("大模型发布")
    assert kb._current().dictionary == ("元景大模型",)
    assert kb.status()["stale"]


def test_the_command_teaches_what_to_run_next(kb: Project) -> None:
    def run(*arguments: str) -> tuple[int, str, str]:
        result = CliRunner().invoke(main, ["terms", *arguments, "-r", str(kb.root)])
        return result.exit_code, result.stdout, result.stderr

    code, out, _ = run("mine", "-n", "3")
    assert code == 0
    assert "蜀信链" in out
    code, out, err = run("add", "蜀信链", "bearing seat")
    assert (code, out.splitlines()[:2]) == (0, ["added 蜀信链", "added bearing seat"])
    assert "next: graphkb index" in err
    code, out, err = run("add", "蜀信链", "--json")
    assert json.loads(out)["unchanged"] == ["蜀信链"]
    assert "next:" not in err
    code, _, err = run("remove", "没有的词")
    assert code == 1
    assert "is not in the dictionary" in err
    Project(kb.root, ["embed.when=off"]).index()
    code, out, _ = run("list", "--origin", "user", "--json")
    assert [row["term"] for row in json.loads(out)] == ["bearing seat", "蜀信链"]
    code, _, err = run("list", "--like", "zzz")
    assert (code, err.strip()) == (0, "no such terms")
