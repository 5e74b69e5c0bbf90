"""Business terms: proposed from the texts, kept in the user's dictionary, used by search."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from click.testing import CliRunner

from graphkb.cli import main
from graphkb.errors import InputError, SettingsError, UsageError
from graphkb.pipeline import read_dictionary
from graphkb.project import Project
from graphkb.settings_edit import write_settings
from graphkb.settings_file import load_settings
from graphkb.terms import TermsChange, add_terms, remove_terms

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


def test_titles_that_nobody_else_speaks_of_are_no_terms(tmp_path: Path) -> None:
    (tmp_path / "input").mkdir()
    # Every report has both headings; another document speaks of one.
    verbs = "broke fell ran stood wore cracked moved held bent slid".split()
    for number, verb in enumerate(verbs):
        text = (
            f"# Annual leave policy handbook\n\n{verb}\n\n# Osprey tidal array works\n\n{verb}!\n"
        )
        (tmp_path / "input" / f"r{number}.md").write_text(text, "utf8")
    others = [f"{verb} osprey tidal array works {verb[::-1]}." for verb in verbs]
    (tmp_path / "input" / "other.txt").write_text("\n".join([*others, WORDS]), "utf8")
    with Project(tmp_path, ["embed.when=off"]) as project:
        project.index()
        mined = set(project.mine_terms(limit=0)["term"])
    assert "osprey tidal array works" in mined
    assert not [term for term in mined if "leave policy" in term and term.count(" ") > 1]


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


@pytest.mark.parametrize(
    "word",
    ["", "  ", "？", "# x", "长" * 61, "青\x00石", "zeta\x07", "a\u200bb", "\ud83d词", "a # b"],
)
def test_what_is_no_word_is_refused_and_nothing_written(kb: Project, word: str) -> None:
    with pytest.raises(UsageError, match="cannot be a term"):
        kb.add_terms("青石谷", word)
    assert not (kb.root / "terms.txt").exists()


def add(root: Path, *words: str) -> TermsChange:
    return add_terms(root, load_settings(root), words)


def remove(root: Path, *words: str) -> TermsChange:
    return remove_terms(root, load_settings(root), words)


@pytest.mark.parametrize("listed", [False, True], ids=["file", "list"])
def test_words_are_the_same_to_add_and_remove(tmp_path: Path, listed: bool) -> None:
    start = "[甲词, ABC]" if listed else "terms.txt"
    (tmp_path / "settings.yaml").write_text(f"text:\n  dictionary: {start}\n", "utf8")
    (tmp_path / "terms.txt").write_text("甲词\nABC\n", "utf8")
    change = add(tmp_path, "abc", "Café", "cafe", "臺灣")
    assert (change.changed, change.unchanged) == (("Café", "臺灣"), ("abc", "cafe"))
    if listed:
        write_settings(tmp_path, {"text.dictionary": [*change.words, "ＡＢＣ"]})
    else:
        with (tmp_path / "terms.txt").open("a", encoding="utf8") as file:
            file.write("ＡＢＣ\n")
    change = remove(tmp_path, "abc", "台湾")
    assert change.changed == ("ABC", "臺灣", "ＡＢＣ")
    assert change.words == ("甲词", "Café")
    assert read_dictionary(tmp_path, load_settings(tmp_path)) == ("Café", "甲词")


def test_a_word_with_a_number_is_kept_whole(tmp_path: Path) -> None:
    assert add(tmp_path, "ISO 9001", "国标 2312").words == ("ISO 9001", "国标 2312")
    assert read_dictionary(tmp_path, load_settings(tmp_path)) == ("ISO 9001", "国标 2312")
    assert remove(tmp_path, "iso 9001").words == ("国标 2312",)


def test_lines_keep_their_ends_and_comments(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("text:\n  dictionary: terms.txt\n", "utf8")
    terms = tmp_path / "terms.txt"
    terms.write_bytes("青石谷  # 地名\r\nzeta\r\n青石谷\r\n".encode())
    change = add(tmp_path, "元景")
    assert change.words == ("青石谷", "zeta", "元景")
    assert terms.read_bytes() == "青石谷  # 地名\r\nzeta\r\n青石谷\r\n元景\r\n".encode()
    remove(tmp_path, "zeta")
    assert terms.read_bytes() == "青石谷  # 地名\r\n青石谷\r\n元景\r\n".encode()


@pytest.mark.parametrize("before", [None, "旧词\n"], ids=["no file", "a file"])
def test_nothing_is_written_where_the_settings_cannot_name_it(
    tmp_path: Path, before: str | None
) -> None:
    settings, terms = tmp_path / "settings.yaml", tmp_path / "terms.txt"
    settings.write_text("text: {dictionary: []}\n", "utf8")
    if before is not None:
        terms.write_text(before, "utf8")
    for _ in range(2):
        with pytest.raises(
            SettingsError, match=r"set these yourself: text\.dictionary: terms\.txt"
        ):
            add(tmp_path, "蜀信链")
        assert (terms.read_text("utf8") if terms.exists() else None) == before


def test_a_file_counts_only_where_the_settings_name_it(tmp_path: Path) -> None:
    (tmp_path / "terms.txt").write_text("蜀信链\nold term\n", "utf8")
    assert remove(tmp_path, "old term").unchanged == ("old term",)
    change = add(tmp_path, "蜀信链")
    assert change.changed == ("蜀信链",)
    assert change.words == ("蜀信链", "old term")
    assert (tmp_path / "terms.txt").read_text("utf8") == "蜀信链\nold term\n"
    assert read_dictionary(tmp_path, load_settings(tmp_path)) == ("old term", "蜀信链")


def test_words_that_a_variable_sets_are_not_changed_in_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GRAPHKB_TEXT_DICTIONARY", "[青石谷]")
    with pytest.raises(SettingsError, match="GRAPHKB_TEXT_DICTIONARY; change the words there"):
        add(tmp_path, "蜀信链")
    assert not list(tmp_path.glob("*.*"))


def test_processes_that_add_at_the_same_time_lose_no_word(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("text:\n  dictionary: []  # 我的\n", "utf8")
    code = (
        "import sys; from pathlib import Path; from graphkb.terms import add_terms; "
        "from graphkb.settings_file import load_settings; root = Path(sys.argv[1]); "
        "settings = load_settings(root); print('ready', flush=True); sys.stdin.readline(); "
        "[add_terms(root, settings, [f'word{sys.argv[2]}x{n}']) for n in range(5)]"
    )
    runs = [
        subprocess.Popen(
            [sys.executable, "-c", code, str(tmp_path), str(number)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )
        for number in range(3)
    ]  # fmt: skip
    for run in runs:
        assert run.stdout is not None
        assert run.stdout.readline().strip() == b"ready"
    for run in runs:
        assert run.stdin is not None
        run.stdin.write(b"go\n")
        run.stdin.flush()
    for run in runs:
        run.communicate()
        assert run.returncode == 0
    words = {f"word{number}x{n}" for number in range(3) for n in range(5)}
    assert set(read_dictionary(tmp_path, load_settings(tmp_path))) == words
    assert (tmp_path / "settings.yaml").read_text("utf8").endswith("terms.txt  # 我的\n")
    assert not list(tmp_path.glob("*.new"))


def test_threads_that_add_to_a_list_at_the_same_time_lose_no_word(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("text:\n  dictionary: [甲词]  # 我的\n", "utf8")
    settings = load_settings(tmp_path)
    words = [f"词{n}" for n in "乙丙丁戊己庚辛壬"]
    with ThreadPoolExecutor(len(words)) as pool:
        list(pool.map(lambda word: add_terms(tmp_path, settings, [word]), words))
    assert set(read_dictionary(tmp_path, load_settings(tmp_path))) == {"甲词", *words}
    assert (tmp_path / "settings.yaml").read_text("utf8").endswith("]  # 我的\n")


@pytest.mark.skipif(sys.platform == "win32", reason="permissions of POSIX")
def test_the_file_keeps_permissions_and_link(tmp_path: Path) -> None:
    (tmp_path / "settings.yaml").write_text("text:\n  dictionary: terms.txt\n", "utf8")
    real, terms = tmp_path / "shared.txt", tmp_path / "terms.txt"
    real.write_text("甲词\n", "utf8")
    real.chmod(0o600)
    terms.symlink_to(real)
    add(tmp_path, "zeta")
    assert terms.is_symlink()
    assert real.read_text("utf8") == "甲词\nzeta\n"
    assert real.stat().st_mode & 0o777 == 0o600
    real.chmod(0o444)
    with pytest.raises(InputError, match=r"terms\.txt: cannot be written \(it is read-only\)"):
        add(tmp_path, "eta")


def test_a_file_that_is_no_text_is_named(kb: Project) -> None:
    (kb.root / "terms.txt").write_bytes("青石".encode("gbk"))
    said = r"terms\.txt: text\.dictionary cannot be read as UTF-8"
    with pytest.raises(SettingsError, match=said):
        kb.add_terms("蜀信链")


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
