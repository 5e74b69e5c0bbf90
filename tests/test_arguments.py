"""Arguments that are no text, no number, or half a character: one clear line that names them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import graphkb
from graphkb.cli import main
from graphkb.errors import SettingsError, UsageError
from graphkb.project import Project
from graphkb.query.history import read_history, read_turns
from tests.small import make

Ask = Callable[[Project, Any], Any]
HALF = "\udcff"


@pytest.fixture(scope="module")
def kb(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return make(tmp_path_factory.mktemp("small"))


def cli(capsys: pytest.CaptureFixture[str], *command: str) -> tuple[int, str, str]:
    """Exit code, what was printed, and what was said on standard error."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as raised:
        main(list(command))
    code = raised.value.code
    assert isinstance(code, int)
    said = capsys.readouterr()
    return code, said.out, said.err


TEXTS: dict[str, list[Ask]] = {
    "question": [
        lambda kb, value: kb.search(value),
        lambda kb, value: kb.query(value),
        lambda kb, value: kb.stream(value),
        lambda kb, value: kb.plan_query(value),
        lambda kb, value: kb.explain(value, "valve.md"),
    ],
    "where": [
        lambda kb, value: kb.search("Ada Lin", where=value),
        lambda kb, value: kb.query("陈明是谁？", where=value),
        lambda kb, value: kb.plan_query("陈明是谁？", where=value),
        lambda kb, value: kb.explain("Ada Lin", "valve.md", where=value),
        lambda kb, value: kb.where(value),
    ],
    "response_type": [lambda kb, value: kb.query("Who is Ada Lin?", response_type=value)],
    "document": [lambda kb, value: kb.explain("Ada Lin", value)],
    "unit": [lambda kb, value: kb.explain("Ada Lin", "valve.md", value)],
    "like": [lambda kb, value: kb.find_entities(value), lambda kb, value: kb.terms(value)],
    "old": [lambda kb, value: kb.rename_entity(value, "x")],
    "new": [lambda kb, value: kb.rename_entity("Ada Lin", value)],
    "into": [lambda kb, value: kb.merge_entities("Ada Lin", "陈明", value)],
    r"names\[1\]": [
        lambda kb, value: kb.split_entities("Ada Lin", value),
        lambda kb, value: kb.undo_decisions("Ada Lin", value),
    ],
    r"words\[0\]": [
        lambda kb, value: kb.add_terms(value),
        lambda kb, value: kb.remove_terms(value),
    ],
    r"documents\[0\]": [lambda kb, value: kb.remove([value])],
    r"overrides\[0\]": [lambda kb, value: graphkb.open(kb.root, [value])],
    "name": [lambda kb, value: kb.table(value), lambda kb, value: kb.create_snapshot(value)],
    "note": [lambda kb, value: kb.create_snapshot("a", value)],
}


@pytest.mark.parametrize("value", [5, b"x", ["a"], {"a": 1}, True])
@pytest.mark.parametrize("argument", TEXTS)
def test_what_is_no_text_is_named_with_its_type(kb: Project, argument: str, value: object) -> None:
    kind = type(value).__name__
    for ask in TEXTS[argument]:
        with pytest.raises(UsageError, match=rf"^{argument}: expected text, got .* \({kind}\)$"):
            ask(kb, value)
    assert kb.version == 1


@pytest.mark.parametrize("argument", [name for name in TEXTS if name != "where"])
def test_so_is_none(kb: Project, argument: str) -> None:
    for ask in TEXTS[argument]:
        with pytest.raises(UsageError, match=rf"^{argument}: expected text, got None \(NoneType\)"):
            ask(kb, None)


NUMBERS: dict[str, tuple[Ask, str]] = {
    "top_k": (lambda kb, value: kb.search("Ada Lin", top_k=value), "from 1 to 1000"),
    "community_level": (lambda kb, value: kb.query("陈明", community_level=value), "0 or more"),
    "tokens": (lambda kb, value: kb.map(tokens=value), "1 or more"),
    "min_frequency": (lambda kb, value: kb.mine_terms(value), "1 or more"),
    "limit": (lambda kb, value: kb.mine_terms(5, value), "0 or more"),
}


@pytest.mark.parametrize("value", ["3", 2.5, [1], True, b"3"])
@pytest.mark.parametrize("argument", NUMBERS)
def test_what_is_no_whole_number_is_named_with_its_type(
    kb: Project, argument: str, value: object
) -> None:
    ask, limits = NUMBERS[argument]
    said = rf"^{argument}: expected a whole number, {limits}, got .* \({type(value).__name__}\)$"
    with pytest.raises(UsageError, match=said):
        ask(kb, value)


def test_numbers_of_numpy_are_numbers_and_limits_hold(kb: Project) -> None:
    assert len(kb.search("Ada Lin", top_k=int(np.int64(1)))) == 1
    assert len(kb.search("Ada Lin", top_k=np.int64(1))) == 1  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="top_k 0: use a number from 1 to 1000"):
        kb.explain("Ada Lin", "valve.md", top_k=0)
    with pytest.raises(UsageError, match="community_level -1: use 0 or more"):
        kb.query("Ada Lin", community_level=-1)


@pytest.mark.parametrize("value", [5, None, 2.5])
def test_a_list_that_is_none_and_a_root_that_is_no_path_are_named(kb: Project, value: Any) -> None:
    with pytest.raises(UsageError, match=r"^documents: expected a list of texts, got"):
        kb.remove(value)
    with pytest.raises(UsageError, match=r"^root: expected the path of a project folder, got"):
        graphkb.open(value)
    with pytest.raises(UsageError, match=r"^file: expected the path of a file, got"):
        kb.chunks(value)


def test_one_document_may_be_given_alone(kb: Project) -> None:
    with pytest.raises(UsageError, match="'osprey' is no document"):
        kb.remove("osprey")


@pytest.mark.parametrize("given", ["", " ", "\n", "　"])
def test_an_empty_filter_is_none_and_never_lets_everything_through(
    kb: Project, capsys: pytest.CaptureFixture[str], given: str
) -> None:
    for ask in TEXTS["where"]:
        with pytest.raises(UsageError, match="filter: is empty; write for example"):
            ask(kb, given)
    for command in ("search", "query"):
        code, out, err = cli(capsys, command, "-r", str(kb.root), "Ada", "--where", given)
        assert (code, out) == (2, "")
        assert "error: filter: is empty" in err


def test_without_a_filter_everything_is_searched(kb: Project) -> None:
    assert len(kb.search("Ada Lin", where=None)) == len(kb.search("Ada Lin")) > 0


NAMES: list[Ask] = [
    lambda kb, name: kb.rename_entity(name, "x"),
    lambda kb, name: kb.merge_entities(name, "Ada Lin"),
    lambda kb, name: kb.merge_entities("Ada Lin", "Bluestone", into=name),
    lambda kb, name: kb.split_entities(name),
    lambda kb, name: kb.split_entities("Ada Lin", name),
]


@pytest.mark.parametrize("name", [HALF, f"Ada {HALF}Lin", f"陈{HALF}明", "\ud83d"])
def test_a_name_with_half_a_character_is_no_entity_s(kb: Project, name: str) -> None:
    for ask in NAMES:
        with pytest.raises(UsageError, match=r"^'.*\\ud.*' is the name of no entity"):
            ask(kb, name)
    assert kb.find_entities(name).is_empty()
    assert kb.terms(name).is_empty()
    assert kb.remove_terms(name).unchanged == (name,)
    with pytest.raises(UsageError, match="is no document"):
        kb.remove(name)


@pytest.mark.parametrize(
    ("new", "code"),
    [
        ("Ada\x00Lin", "0000"),
        (f"陈{HALF}明", "DCFF"),
        ("Ada \u202eniL", "202E"),
        ("\x1b[31m林", "001B"),
    ],
)
def test_an_entity_gets_no_name_that_holds_what_nobody_sees(
    kb: Project, new: str, code: str
) -> None:
    with pytest.raises(UsageError, match=rf"cannot be a name: it holds the character U\+{code}"):
        kb.rename_entity("Ada Lin", new)
    assert kb.version == 1


def test_decisions_are_not_taken_back_by_half_a_character(tmp_path: Path) -> None:
    kb = make(tmp_path)
    kb.split_entities("陈明")
    with pytest.raises(UsageError, match=r"no decision names '陈\\udcff明'"):
        kb.undo_decisions(f"陈{HALF}明")
    assert kb.table("decisions").height == 1


def test_conversations_lose_what_nobody_sees_as_questions_do(kb: Project, tmp_path: Path) -> None:
    turns = [(f"谁领导\x00 Osprey{HALF}？", "Ada\u200b Lin\n\ud83d.")]
    assert read_turns(turns)[0].question == "谁领导 Osprey？"
    assert read_turns(turns)[0].answer == "Ada Lin\n."
    assert read_turns([(HALF, "x")]) == ()
    messages = [
        {"role": "user", "content": f"Who is {HALF}Ada Lin?"},
        {"role": "assistant", "content": HALF},
    ]
    for history in (turns, messages, [(HALF, "x")]):
        assert kb.query("And where is it?", history=history).text
        file = tmp_path / "history.json"
        file.write_text(json.dumps(history), "utf-8")
        assert read_history(file) == read_turns(history)


@pytest.mark.parametrize(
    ("command", "code"),
    [
        ([b"entities", b"list", b"--like", b"\xff\xfe"], 0),
        ([b"entities", b"rename", b"Ada Lin", b"\xb3\xc2"], 2),
        ([b"entities", b"split", b"\xb3\xc2\xc3\xf7"], 2),
        ([b"remove", b"\xb3\xc2"], 2),
    ],
)
def test_bytes_that_are_no_utf_8_on_the_command_line_are_one_line(
    kb: Project, capsys: pytest.CaptureFixture[str], command: list[bytes], code: int
) -> None:
    found, out, err = cli(capsys, *map(os.fsdecode, command), "-r", str(kb.root))
    assert (found, out) == (code, "")
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("command", "name"), [(["index"], "none.pem"), (["query", "Who is Ada Lin?"], "nowhere.pem")]
)
def test_certificates_that_are_none_are_the_environment_s_fault(
    kb: Project, tmp_path: Path, command: list[str], name: str
) -> None:
    (tmp_path / "none.pem").write_text("no certificate", "utf-8")
    overrides = ("llm.model=m", "llm.base_url=https://127.0.0.1:9/v1", "embed.when=off")
    line = [sys.executable, "-m", "graphkb", *command, "-r", str(kb.root)]
    line += [part for one in overrides for part in ("--set", one)]
    at = {**os.environ, "SSL_CERT_FILE": str(tmp_path / name)}
    done = subprocess.run(line, capture_output=True, text=True, check=False, env=at)
    assert done.returncode == 2
    assert "error: the certificates cannot be read (" in done.stderr
    assert "SSL_CERT_FILE" in done.stderr


LATE = [
    ("text.dictionary=nofile.txt", "text.dictionary cannot be read"),
    ("text.dictionary=input", "text.dictionary cannot be read"),
    ("input.encoding=nonsense", "input.encoding: no encoding is called 'nonsense'"),
    ("llm.prices={m: [1, 2, 3]}", "llm.prices.m: List should have at most 2 items"),
    ("llm.prices={m: []}", "llm.prices.m: List should have at least 1 item"),
]


@pytest.mark.parametrize(("setting", "said"), LATE)
def test_wrong_settings_are_wrong_settings_however_late_they_show(
    kb: Project, setting: str, said: str
) -> None:
    for make_use in (Project.index, Project.preview, Project.status):
        with pytest.raises(SettingsError, match=said.replace("[", r"\[")) as raised:
            make_use(Project(kb.root, setting))
        assert raised.value.exit_code == 2
