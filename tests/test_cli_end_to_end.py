"""The real command on the real sample project; in new processes where the process matters."""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphkb.cli import main
from graphkb.project import Project

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    logger = logging.getLogger("graphkb")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.level, logger.propagate = before


def run(*arguments: str | Path) -> Result:
    """The command in this process; an unexpected exception fails the test."""
    result = CliRunner().invoke(main, list(map(str, arguments)))
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def python_m(*arguments: str | Path, **values: str) -> subprocess.CompletedProcess[bytes]:
    """The command in a new process."""
    environment = {
        key: value
        for key, value in os.environ.items()
        if not key.startswith(("PYTHON", "GRAPHKB_")) and key != "COLUMNS"
    }
    return subprocess.run(
        [sys.executable, "-m", "graphkb", *map(str, arguments)],
        capture_output=True, check=False,
        env={**environment, "PYTHONPATH": str(REPOSITORY), **values},
    )  # fmt: skip


def fails(done: Result, code: int, message: str) -> None:
    """One line on stderr, nothing on stdout, this exit code."""
    assert done.stdout == ""
    lines = [line for line in done.stderr.splitlines() if not re.match(r"\w+( …|: \d+)", line)]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert done.exit_code == code


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sample project, indexed without vectors."""
    root = tmp_path_factory.mktemp("示例") / "my kb"
    made = run("init", root, "--sample")
    assert (made.exit_code, made.stderr) == (0, f"next: graphkb index --root {root}\n")
    assert str(root / "settings.yaml") in made.stdout.splitlines()
    done = run("index", "-r", root, "--embed", "off", "-v")
    assert done.exit_code == 0, done.stderr
    first, counts, sizes, *stages = done.stdout.splitlines()
    documents = sum(path.is_file() for path in (root / "input").rglob("*"))
    assert re.fullmatch(rf"version 1: {documents} added, 0 changed, 0 removed in \d+\.\d s", first)
    assert re.fullmatch(
        rf"{documents} documents · \d+ text units · \d+ entities · \d+ relationships · "
        r"\d+ claims · \d+ communities · \d+ reports · 0 vectors",
        counts,
    )
    assert sizes.startswith("unit sizes: median ")
    assert all(re.fullmatch(r"  \w+ \d+\.\d\d s", stage) for stage in stages)
    assert "searchable: version 1, " in done.stderr
    assert re.search(r"^read: \d+ in \d+\.\d s( \(\d+/s\))?$", done.stderr, re.MULTILINE)
    return root


@pytest.fixture
def copy(sample: Path, tmp_path: Path) -> Path:
    shutil.copytree(sample, tmp_path / "copy")
    return tmp_path / "copy"


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("What should be done first at error code E-4110?", "en/on-call-runbook.md"),
        ("退款规则是什么？", "zh/退款规则.md"),
    ],
)
def test_search_finds_and_shows_where(sample: Path, question: str, path: str):
    done = run("search", "-r", sample, question, "--json", "-k", "3", "--method", "lexical")
    assert done.exit_code == 0, done.stderr
    hits = json.loads(done.stdout)
    assert [hit["rank"] for hit in hits] == list(range(1, len(hits) + 1))
    assert path in [hit["path"] for hit in hits]
    first = hits[0]
    shown = run("search", "-r", sample, question, "-k", "3", "--method", "lexical").stdout
    where = f"   {first['path']}:{first['char_start']}-{first['char_end']} · score "
    assert shown.splitlines()[0].startswith(f"1. {first['title']}")
    assert shown.splitlines()[1].startswith(where)
    assert " · lexical #1" in shown


@pytest.mark.parametrize("question", ["Who founded Kelsound Tidal Energy?", "退款规则是什么？"])
@pytest.mark.parametrize("method", ["auto", "local", "global", "hybrid"])
def test_query_answers_with_sources_that_hold(sample: Path, method: str, question: str):
    done = run("query", "-r", sample, question, "--method", method, "--json")
    assert done.exit_code == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["refused"] is False
    texts = {
        row["id"]: row["text"]
        for row in json.loads(
            run("tables", "-r", sample, "documents", "--json", "--limit", "1000").stdout
        )
    }
    assert answer["citations"]
    for citation in answer["citations"]:
        span = texts[citation["document_id"]][citation["char_start"] : citation["char_end"]]
        assert citation["quote"] in span
        assert f"[{citation['number']}]" in answer["text"]
    shown = run("query", "-r", sample, question, "--method", method).stdout
    assert shown.startswith(answer["text"].strip().splitlines()[0])
    title, second = ("Sources:", "s") if question.isascii() else ("来源：", "秒")
    assert f"\n{title}\n[1] " in shown
    assert re.search(rf"\n{answer['method']}.* · \d+\.\d\d {second}\n$", shown)


def test_query_refuses_what_is_not_there(sample: Path):
    question = "Which submarine volcano erupted near Vanuatu in 1831?"
    answer = json.loads(run("query", "-r", sample, question, "--json").stdout)
    assert answer["refused"] is True
    done = run("query", "-r", sample, question)
    assert done.exit_code == 0
    assert "\nSources:" not in done.stdout
    assert re.search(r"\nrefused · .* s\n$", done.stdout)


def test_status_and_tables(sample: Path):
    status = json.loads(run("status", "-r", sample, "--json").stdout)
    assert status["version"] == 1
    assert status["stale"] is False
    shown = run("status", "-r", sample).stdout
    assert f"{status['documents']} documents · {status['text_units']} text units" in shown
    assert "stale" not in shown
    done = run("tables", "-r", sample, "entities", "--limit", "5")
    header, *rows = done.stdout.splitlines()
    assert {"id", "title", "type", "text_unit_ids"} <= set(header.split("\t"))
    assert len(rows) == 5
    assert all(row.count("\t") == header.count("\t") for row in rows)
    assert done.stderr == f"5 of {status['entities']} rows; --limit shows more\n"
    listing = run("tables", "-r", sample)
    assert listing.exit_code == 0, listing.stderr
    assert f"documents ({status['documents']} rows)" in listing.stdout


def test_eval_on_the_sample_questions(sample: Path):
    questions = REPOSITORY / "benchmarks" / "sample_questions.jsonl"
    methods = ("--methods", "lexical,graph,hybrid")
    done = run("eval", "-r", sample, questions, "--json", *methods)
    assert done.exit_code == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["unmatched"] == data["refused"] == []
    hybrid = next(result for result in data["methods"] if result["method"] == "hybrid")
    assert hybrid["mean"]["recall@5"] > 0.8
    assert len(hybrid["questions"]) == data["n_questions"]
    shown = run("eval", "-r", sample, questions, *methods, "--misses").stdout
    assert f"| hybrid  |    {hybrid['mean']['recall@1']:.3f} |" in shown
    assert "fusion " in shown
    assert "hybrid, evidence missing from the first 8:" in shown


def test_a_second_run_changes_nothing_and_an_edit_is_seen(copy: Path):
    again = run("index", "-r", copy, "--embed", "off", "--json")
    assert again.exit_code == 0, again.stderr
    result = json.loads(again.stdout)
    assert (result["added"], result["changed"], result["removed"]) == (0, 0, 0)
    (copy / "input" / "new.md").write_text("# 新闻\n\n陈明今天加入青石公司。\n", "utf8")
    assert json.loads(run("status", "-r", copy, "--json").stdout)["stale"] is True
    assert "run graphkb index" in run("status", "-r", copy).stdout
    done = run("index", "-r", copy, "--embed", "off")
    assert re.match(r"version \d+: 1 added, 0 changed, 0 removed in", done.stdout)


def test_unreadable_files_are_listed_and_the_rest_goes_on(copy: Path):
    (copy / "input" / "坏.json").write_text('{"a": ', "utf8")
    done = run("index", "-r", copy, "--embed", "off")
    assert done.exit_code == 0, done.stderr
    assert "\nnot read (1):\n  坏.json" in done.stdout


def test_nothing_readable_is_exit_code_1(tmp_path: Path):
    run("init", tmp_path)
    fails(run("index", "-r", tmp_path), 1, "input")
    (tmp_path / "input" / "坏.json").write_text('{"a": ', "utf8")
    done = run("index", "-r", tmp_path)
    assert done.exit_code == 1
    assert "坏.json" in done.stdout + done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments", [["query", "x"], ["search", "x"], ["tables", "entities"], ["eval"]]
)
def test_before_the_first_index_run(tmp_path: Path, arguments: list[str]):
    run("init", tmp_path)
    if arguments == ["eval"]:
        (tmp_path / "q.jsonl").write_text('{"query": "x", "relevant": ["y"]}', "utf8")
        arguments = ["eval", str(tmp_path / "q.jsonl")]
    fails(run(*arguments, "-r", tmp_path), 1, "graphkb index")


def test_status_before_the_first_index_run(tmp_path: Path):
    (tmp_path / "input").mkdir()
    done = run("status", "-r", tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout == f"{tmp_path}: not indexed yet; run: graphkb index --root {tmp_path}\n"


@pytest.mark.parametrize("command", ["index", "query", "search", "status", "tables"])
def test_missing_root(tmp_path: Path, command: str):
    question = ["x"] if command in ("query", "search") else []
    done = run(command, "-r", tmp_path / "没有", *question)
    fails(done, 2, "graphkb init")


@pytest.mark.parametrize(
    ("yaml", "message"),
    [
        ("chunks: [1", "settings.yaml:"),
        ("chunks:\n  sise: 3\n", "did you mean 'size'?"),
        ("chunks:\n  size: 没有\n", "chunks.size"),
    ],
)
def test_wrong_settings(tmp_path: Path, yaml: str, message: str):
    (tmp_path / "settings.yaml").write_text(yaml, "utf8")
    fails(run("index", "-r", tmp_path), 2, message)
    fails(run("settings", "--show", "-r", tmp_path), 2, message)


def test_init_keeps_what_is_there(tmp_path: Path):
    assert run("init", tmp_path).exit_code == 0
    (tmp_path / "settings.yaml").write_text("chunks: {size: 7, overlap: 1}\n", "utf8")
    fails(run("init", tmp_path), 2, "--force")
    prompts = [tmp_path / "prompts" / part / "extract.md" for part in ("en", "zh")]
    for prompt in prompts:
        prompt.write_text("mine 我的", "utf8")
    (tmp_path / "prompts" / "zh" / "answer.md").unlink()
    for _ in range(2):
        forced = run("init", tmp_path, "--force")
        assert forced.exit_code == 0
        assert "size: 600" in (tmp_path / "settings.yaml").read_text("utf8")
        assert "size: 7" in (tmp_path / "settings.yaml.bak").read_text("utf8")
        assert [prompt.read_text("utf8") for prompt in prompts] == ["mine 我的"] * 2
    assert (tmp_path / "prompts" / "zh" / "answer.md").is_file()


def test_init_says_what_it_made_in_few_lines(tmp_path: Path):
    prompts = tmp_path / "prompts"
    made = run("init", tmp_path).stdout.splitlines()
    count = sum(path.is_file() for path in prompts.rglob("*"))
    assert made == [
        *(str(tmp_path / name) for name in ("settings.yaml", ".env", ".gitignore")),
        f"{prompts} ({count} files)",
    ]
    (tmp_path / "settings.yaml").write_text("chunks: {size: 7, overlap: 1}\n", "utf8")
    made = run("init", tmp_path, "--force").stdout.splitlines()
    settings = tmp_path / "settings.yaml"
    assert made == [f"{settings}.bak (the settings until now)", str(settings)]
    again = run("init", tmp_path, "--force")
    assert again.stdout == ""
    assert again.stderr.startswith("nothing to write: everything is there\n")


@pytest.mark.parametrize("command", ["index", "query", "search", "status", "cache", "doctor"])
def test_a_folder_without_a_project_is_one_error_and_stays_empty(tmp_path: Path, command: str):
    root = tmp_path / "空"
    root.mkdir()
    question = ["谁?"] if command in ("query", "search") else []
    fails(run(command, "-r", root, *question), 2, f"{root}: no graphkb project here")
    assert list(root.iterdir()) == []


def test_prompts_are_shown_by_a_dry_run_only(tmp_path: Path):
    (tmp_path / "input").mkdir()
    fails(run("index", "-r", tmp_path, "--prompts"), 2, "--prompts goes with --dry-run")


def test_what_needs_no_key_works_without_it(copy: Path):
    url = "http://127.0.0.1:9/v1"
    (copy / "settings.yaml").write_text(
        f"llm: {{model: m, base_url: '{url}', api_key: '${{NO_KEY}}'}}\nembed: {{when: off}}\n",
        "utf8",
    )
    for command in (
        ["status"], ["search", "陈明"], ["query", "--no-model", "陈明是谁?"],
        ["index", "--dry-run"], ["settings", "--show"], ["cache"],
    ):  # fmt: skip
        done = run(command[0], "-r", copy, *command[1:])
        assert done.exit_code == 0, (command, done.stderr)
    for command in (["query", "陈明是谁?"], ["index"], ["prompt-tune", "--dry-run"]):
        fails(run(command[0], "-r", copy, *command[1:]), 2, f"into {copy / '.env'}")


def test_status_names_the_stages_that_run_again(copy: Path):
    shown = run("status", "-r", copy, "--set", "chunks.size=300").stdout
    assert "stale      prompts or settings changed (cut_documents): run graphkb index" in shown
    facts = json.loads(run("status", "-r", copy, "--set", "report.method=offline", "--json").stdout)
    assert (facts["stale"], facts["stale_stages"]) == (True, ["write_reports"])
    facts = json.loads(run("status", "-r", copy, "--json").stdout)
    assert (facts["stale"], facts["stale_stages"]) == (False, [])


@pytest.mark.parametrize(("options", "typed", "cleared"), [
    ([], "n\n", False), ([], "y\n", True), (["--yes"], "", True),
])  # fmt: skip
def test_at_a_terminal_the_cache_is_cleared_only_when_agreed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    options: list[str], typed: str, cleared: bool,
):  # fmt: skip
    (tmp_path / "input").mkdir()
    calls: list[str] = []
    stats = {"replies": [], "total_replies": 3, "vectors": 4, "bytes": 0}
    monkeypatch.setattr(Project, "cache_stats", lambda project: stats)
    monkeypatch.setattr(Project, "cache_clear", lambda project: calls.append("clear") or stats)
    monkeypatch.setattr("graphkb.cli_change._at_terminal", lambda: True)
    done = CliRunner().invoke(main, ["cache", "clear", "-r", str(tmp_path), *options], input=typed)
    assert (calls == ["clear"], done.exit_code) == (cleared, 0 if cleared else 1)
    assert ("forget 3 replies and 4 vectors?" in done.stderr) is bool(typed)
    assert ("nothing was cleared" in done.stderr) is not cleared


def test_without_a_terminal_the_cache_is_cleared_at_once(tmp_path: Path):
    (tmp_path / "input").mkdir()
    done = run("cache", "clear", "-r", tmp_path)
    assert (done.exit_code, done.stderr) == (0, "")
    assert done.stdout.startswith("0 replies, 0 vectors forgotten")


@pytest.mark.parametrize("question", ["", "   ", "\u200b"])
def test_blank_questions(sample: Path, question: str):
    fails(run("query", "-r", sample, question), 2, "the question is empty")
    fails(run("search", "-r", sample, question), 2, "the question is empty")


@pytest.mark.parametrize("encoding", ["ascii", "gbk"])
def test_case_a05_no_encoding_breaks_a_command(copy: Path, encoding: str):
    (copy / "input" / "é😀.json").write_text('{"a": ', "utf8")
    for arguments in (["index", "--embed", "off"], ["query", "退款规则是什么 é😀？"]):
        done = python_m(*arguments, "-r", copy, PYTHONIOENCODING=encoding)
        assert done.returncode == 0, done.stderr
        assert b"Traceback" not in done.stderr
        assert done.stdout


def test_interrupted_runs_go_on(copy: Path):
    """Ctrl-C in a new process: one line, exit code 130, and the next run finishes the work."""
    rows = [json.dumps({"title": f"t{n}", "text": f"陈明第{n}次访问。" * 30}) for n in range(3000)]
    (copy / "input" / "many.jsonl").write_text("\n".join(rows), "utf8")
    process = subprocess.Popen(
        [sys.executable, "-m", "graphkb", "index", "-r", copy, "--embed", "off"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert process.stderr is not None
    first = process.stderr.readline()
    process.send_signal(signal.SIGINT)
    stdout, stderr = process.communicate(timeout=120)
    assert first.startswith(b"read")
    assert (process.returncode, stdout) == (130, b"")
    assert stderr.splitlines()[-1].startswith(b"interrupted: what was committed stays")
    assert b"Traceback" not in stderr
    assert json.loads(run("status", "-r", copy, "--json").stdout)["version"] == 1
    (copy / "input" / "many.jsonl").write_text("\n".join(rows[:3]), "utf8")
    assert run("index", "-r", copy, "--embed", "off").stdout.startswith("version 2: 3 added, ")


def test_a_reader_that_leaves_early_is_no_error(sample: Path):
    process = subprocess.Popen(
        [sys.executable, "-m", "graphkb", "tables", "text_units", "-r", sample],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    _, stderr = process.communicate(timeout=120)
    assert process.returncode == 0
    assert b"Traceback" not in stderr
    assert b"Broken" not in stderr
