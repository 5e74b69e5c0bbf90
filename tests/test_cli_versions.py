"""``snapshot``, ``--at``, ``compact`` and ``doctor`` on a real project, by whole output."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from small import indexed, make

from graphkb.cli import main
from graphkb.store import versions

COUNTS = r"3 documents · \d+ text units · \d+ entities · .* · 0 vectors"


def run(*arguments: str | Path) -> Result:
    """The command in this process; an unexpected exception fails the test."""
    result = CliRunner().invoke(main, list(map(str, arguments)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def fails(done: Result, code: int, message: str) -> None:
    assert (done.exit_code, done.stdout) == (code, "")
    lines = done.stderr.splitlines()
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert message in lines[0]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Version 1 kept as 基线, version 2 with one fact changed in each language."""
    root = tmp_path_factory.mktemp("versions") / "kb"
    make(root)
    done = run("snapshot", "create", "基线", "--note", "before the edits", "-r", root)
    assert (done.exit_code, done.stderr) == (0, "")
    first, note, counts = done.stdout.splitlines()
    assert re.fullmatch(r"基线  version 1 of \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", first)
    assert note == "  before the edits"
    assert re.fullmatch(f"  {COUNTS}", counts)
    for name, old, new in (("osprey.md", "Ada Lin", "Bo Berg"), ("公司.md", "杭州", "苏州")):
        path = root / "input" / name
        path.write_text(path.read_text("utf8").replace(old, new), "utf8")
    indexed(root)
    return root


@pytest.fixture
def kb(built: Path, tmp_path: Path) -> Path:
    shutil.copytree(built, tmp_path / "kb")
    return tmp_path / "kb"


@pytest.mark.parametrize("at", ["1", "基线"])
@pytest.mark.parametrize(
    ("question", "was", "now"),
    [
        ("Who leads the Osprey project?", "Ada Lin", "Bo Berg"),
        ("青石公司在哪里？", "杭州", "苏州"),
    ],
)
def test_query_and_search_at_a_version(built: Path, at: str, question: str, was: str, now: str):
    for command in (["query", "--method", "hybrid", question], ["search", question]):
        new = run(*command, "-r", built)
        old = run(*command, "-r", built, "--at", at)
        assert (new.exit_code, old.exit_code) == (0, 0), old.stderr
        # The question itself may name both.
        told_old, told_new = (d.stdout.replace(question, "") for d in (old, new))
        assert was in told_old
        assert now not in told_old
        assert now in told_new
        assert was not in told_new


def test_eval_status_and_tables_at_a_version(built: Path, tmp_path: Path):
    questions = tmp_path / "q.jsonl"
    questions.write_text('{"query": "Who is Ada Lin?", "relevant": ["osprey.md"]}', "utf8")
    done = run("eval", questions, "-r", built, "--at", "基线", "--methods", "lexical", "--json")
    assert json.loads(done.stdout)["methods"][0]["mean"]["recall@1"] == 1.0
    assert json.loads(run("status", "-r", built, "--at", "基线", "--json").stdout)["version"] == 1
    assert json.loads(run("status", "-r", built, "--json").stdout)["version"] == 2
    titles = {
        at: run("tables", "entities", "-r", built, *at, "--limit", "99").stdout
        for at in ((), ("--at", "1"))
    }
    assert "Ada Lin" in titles["--at", "1"]
    assert "Ada Lin" not in titles[()]


@pytest.mark.parametrize("command", [["query", "x"], ["search", "x"], ["status"], ["tables"]])
def test_an_unknown_version_says_what_is_there(built: Path, command: list[str]):
    message = "no version or snapshot 'v9'; versions: 1, 2; snapshots: 基线"
    fails(run(*command, "-r", built, "--at", "v9"), 2, message)


def test_list_of_snapshots(built: Path, tmp_path: Path):
    done = run("snapshot", "list", "-r", built)
    assert done.stdout.splitlines()[1] == "  before the edits"
    (listed,) = json.loads(run("snapshot", "list", "-r", built, "--json").stdout)
    assert (listed["name"], listed["version"], listed["automatic"]) == ("基线", 1, False)
    (tmp_path / "input").mkdir()
    empty = run("snapshot", "list", "-r", tmp_path)
    assert (empty.exit_code, empty.stdout) == (0, "")
    assert "graphkb snapshot create" in empty.stderr
    assert run("snapshot", "list", "-r", tmp_path, "--json").stdout == "[]\n"


def test_diff_says_what_the_texts_said(built: Path):
    done = run("snapshot", "diff", "基线", "-r", built)
    assert (done.exit_code, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[:7] == [
        "documents: 0 added, 0 removed, 2 changed, 0 renamed",
        "  ~ osprey.md Osprey",
        "      was: Ada Lin leads the Osprey project at Bluestone.",
        "      now: Bo Berg leads the Osprey project at Bluestone.",
        "  ~ 公司.md 公司简介",
        "      was: 青石公司在杭州。",
        "      now: 青石公司在苏州。",
    ]
    assert "text units: 2 added, 2 removed" in lines
    data = json.loads(run("snapshot", "diff", "1", "2", "-r", built, "--json").stdout)
    assert data == json.loads(run("snapshot", "diff", "基线", "-r", built, "--json").stdout)
    assert data["counts"]["documents"] == {
        "added": 0, "removed": 0, "changed": 2, "renamed": 0
    }  # fmt: skip
    assert {row["title"] for row in data["entities"]["added"]} >= {"Bo Berg", "苏州"}
    assert {row["title"] for row in data["entities"]["removed"]} >= {"Ada Lin", "杭州"}
    assert any("Bo Berg" in row["added"] for row in data["communities"]["moved"])
    same = json.loads(run("snapshot", "diff", "基线", "1", "-r", built, "--json").stdout)
    assert {n for kinds in same["counts"].values() for n in kinds.values()} == {0}


def test_diff_of_documents_that_came_and_went(kb: Path):
    (kb / "input" / "valve.md").unlink()
    rows = [{"id": f"r{n}", "title": f"行 {n}", "text": f"第{n}行说青石。"} for n in range(25)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (kb / "input" / "rows.jsonl").write_text(text, "utf8")
    indexed(kb)
    done = run("snapshot", "diff", "2", "-r", kb).stdout.splitlines()
    assert done[0] == "documents: 25 added, 1 removed, 0 changed, 0 renamed"
    assert "    … and 5 more added (--json lists all)" in done
    assert "  - valve.md Valve" in done
    data = json.loads(run("snapshot", "diff", "2", "-r", kb, "--json").stdout)
    assert len(data["documents"]["added"]) == 25


def test_diff_says_what_was_renamed(kb: Path):
    folder = kb / "input"
    (folder / "plain.txt").write_text("The valve of turbine T-09 is new.", "utf8")
    rows = [{"id": f"r{n}", "text": f"第{n}行说青石。"} for n in range(3)]
    text = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    (folder / "行.jsonl").write_text(text, "utf8")
    indexed(kb)
    (folder / "older").mkdir()
    (folder / "valve.md").rename(folder / "older" / "阀门.md")
    (folder / "plain.txt").rename(folder / "plainer.txt")
    (folder / "行.jsonl").rename(folder / "rows.jsonl")
    (folder / "公司.md").rename(folder / "company.md")
    (folder / "company.md").write_text("# 公司简介\n\n陈明离开了青石公司。\n", "utf8")
    indexed(kb)
    done = run("snapshot", "diff", "3", "-r", kb).stdout.splitlines()
    assert done[0] == "documents: 1 added, 1 removed, 0 changed, 3 renamed"
    assert done[3:6] == [
        "  ~ renamed valve.md → older/阀门.md",
        "  ~ renamed plain.txt → plainer.txt",
        "  ~ renamed 行.jsonl → rows.jsonl (3 documents)",
    ]
    data = json.loads(run("snapshot", "diff", "3", "-r", kb, "--json").stdout)
    assert data["counts"]["documents"]["renamed"] == 3
    assert data["documents"]["renamed"][0] == {
        "path": "older/阀门.md", "title": "Valve", "old_path": "valve.md", "documents": 1
    }  # fmt: skip


def test_restore_and_undo(kb: Path):
    done = run("snapshot", "restore", "基线", "-r", kb)
    assert done.exit_code == 0
    first, counts = done.stdout.splitlines()
    assert first == "version 3: 基线 restored"
    assert re.fullmatch(COUNTS, counts)
    assert done.stderr.splitlines() == [
        f"to undo: graphkb snapshot restore before-restore-2 -r {kb}",
        "the next graphkb index brings it up to date with input/ again",
    ]
    assert "Ada Lin" in run("query", "Who leads Osprey?", "-r", kb).stdout
    listed = run("snapshot", "list", "-r", kb).stdout
    assert "before-restore-2 (automatic)  version 2 of " in listed
    undone = run("snapshot", "restore", "before-restore-2", "-r", kb, "--json")
    assert json.loads(undone.stdout)["version"] == 4
    assert "Bo Berg" in run("query", "Who leads Osprey?", "-r", kb).stdout
    fails(run("snapshot", "restore", "没有", "-r", kb), 2, "snapshots: before-restore-2, ")


def test_after_a_restore_index_follows_the_input_folder_again(kb: Path):
    run("snapshot", "restore", "1", "-r", kb)
    done = run("index", "-r", kb, "--embed", "off")
    assert done.stdout.startswith("version 4: 0 added, 2 changed, 0 removed")
    assert "Bo Berg" in run("query", "Who leads Osprey?", "-r", kb).stdout


def test_names_and_deletion(kb: Path):
    fails(run("snapshot", "create", "a/b", "-r", kb), 2, "has '/'")
    fails(run("snapshot", "create", "基线", "-r", kb), 2, "exists already")
    done = run("snapshot", "delete", "基线", "-r", kb)
    assert (done.exit_code, done.stdout) == (0, "基线 deleted\n")
    fails(run("snapshot", "delete", "基线", "-r", kb), 2, "there are: none")
    fails(run("snapshot", "diff", "基线", "-r", kb), 2, "versions: 1, 2; snapshots: none")


@pytest.mark.parametrize("command", [["snapshot", "create", "x"], ["compact"]])
def test_before_the_first_index_run(tmp_path: Path, command: list[str]):
    (tmp_path / "input").mkdir()
    fails(run(*command, "-r", tmp_path), 1, "graphkb index")


def test_compact_prints_what_it_freed(kb: Path, monkeypatch: pytest.MonkeyPatch):
    kept = run("compact", "-r", kb)
    assert kept.exit_code == 0, kept.stderr
    assert kept.stderr.startswith("still kept: version 1; compact again after ")
    monkeypatch.setattr(versions, "KEEP_SECONDS", -1)
    (kb / "output" / "lancedb.77").mkdir()
    (kb / "output" / "lancedb.77" / "x").write_bytes(b"x" * 10_000)
    done = run("compact", "-r", kb)
    assert (done.exit_code, done.stderr) == (0, "")
    parts = [line.split()[0] for line in done.stdout.splitlines()]
    assert parts == ["tables", "graph", "parquet", "snapshots", "cache", "all"]
    data = json.loads(run("compact", "-r", kb, "--json").stdout)
    assert data["before"] == data["after"]
    assert "Ada Lin" in run("query", "Who leads Osprey?", "-r", kb, "--at", "基线").stdout


def test_doctor_finds_repairs_and_index_makes_it_whole(kb: Path):
    healthy = run("doctor", "-r", kb)
    assert (healthy.exit_code, healthy.stderr) == (0, "")
    assert re.fullmatch(r"healthy: \d+ checks\n", healthy.stdout)
    assert (
        len(run("doctor", "-r", kb, "-v").stdout.splitlines()) == int(healthy.stdout.split()[1]) + 1
    )
    before = run("tables", "entities", "-r", kb, "--json").stdout
    table = kb / "output" / "lancedb" / "entities.lance"
    shutil.rmtree(table)
    fails(run("tables", "entities", "-r", kb), 1, "run graphkb doctor --repair")
    sick = run("doctor", "-r", kb)
    assert sick.exit_code == 1
    assert (
        f"problem  tables     {table}: the table's folder is missing; "
        "do: graphkb doctor --repair, then graphkb index makes it again"
    ) in sick.stdout.splitlines()
    assert any(f["problem"] for f in json.loads(run("doctor", "-r", kb, "--json").stdout))
    mended = run("doctor", "--repair", "-r", kb)
    assert (mended.exit_code, mended.stderr) == (0, f"next: graphkb index --root {kb}\n")
    assert mended.stdout.startswith("repaired tables     ")
    fails(run("query", "x", "-r", kb), 1, "entities must be made again after a repair")
    assert "must be made again" not in run("status", "-r", kb).stderr
    assert run("index", "-r", kb, "--embed", "off").exit_code == 0
    assert run("doctor", "-r", kb).exit_code == 0
    after = run("tables", "entities", "-r", kb, "--json").stdout
    keep = [{k: v for k, v in row.items() if k != "human_readable_id"} for row in json.loads(after)]
    was = [{k: v for k, v in row.items() if k != "human_readable_id"} for row in json.loads(before)]
    assert keep == was


def test_a_truncated_manifest_is_one_line_and_a_repair(kb: Path):
    path = kb / "output" / "manifest.json"
    path.write_text(path.read_text("utf8")[:40], "utf8")
    for command in (["query", "x"], ["status"], ["tables"], ["index"]):
        fails(run(*command, "-r", kb), 1, "graphkb doctor --repair")
    assert run("doctor", "-r", kb).exit_code == 1
    assert "kept copy taken: version 2" in run("doctor", "--repair", "-r", kb).stdout
    assert "Bo Berg" in run("query", "Who leads Osprey?", "-r", kb).stdout
