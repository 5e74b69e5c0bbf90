"""The command line: whole outputs against a small stand-in project, then the real thing."""

from __future__ import annotations

import json
import logging
import os
import signal
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from click.testing import CliRunner, Result

import graphkb
from graphkb import tables
from graphkb.cli import SEARCH_METHODS, main
from graphkb.cli_query import QUERY_METHODS
from graphkb.errors import GraphkbError, InputError, NotIndexedError, UsageError
from graphkb.evaluate.questions import QuestionSet
from graphkb.evaluate.results import Evaluation
from graphkb.evaluate.run import run_evaluation
from graphkb.project import Project
from graphkb.search import hybrid
from graphkb.settings import Settings
from graphkb.types import (
    Answer,
    Citation,
    Context,
    Hit,
    Hits,
    IndexResult,
    Progress,
    Refused,
    Usage,
    Via,
)

REPOSITORY = Path(__file__).parents[1]

HIT = Hit(
    1, 0.25, "u1", "d1", "公司简介", "zh/公司.md", "历史", None, 3, 11, "陈明在青石公司。",
    {"lexical": Via(1, 2.5), "graph": Via(2, 0.1)},
)  # fmt: skip
CITATION = Citation(
    1, "u1", "d1", "公司简介", "zh/公司.md", "历史", None, 3, 11, "陈明在青石公司。"
)  # fmt: skip
ANSWER = Answer(
    "陈明在哪里?", "陈明在青石公司。[1]", (CITATION,), False, "local",
    Context("local", (), 0.9, 12), Usage(0.05),
)  # fmt: skip
COUNTS = {"documents": 3, "text_units": 7, "entities": 5, "covariates": 2, "community_reports": 1}
RESULT = IndexResult(
    2, COUNTS, 2, 1, 0, {"read": 0.5, "chunk": 1.0}, (), ("the graph has one component",)
)


class StandIn:
    """Answers like a project of three documents, and keeps what it was asked."""

    search_methods = ("hybrid", "lexical")
    settings = Settings()

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.result = RESULT
        self.failure: BaseException | None = None

    def open(self, root: Path, overrides: list[str]) -> StandIn:
        self.calls.append(("open", str(root), overrides))
        return self

    def close(self) -> None:
        self.calls.append("close")

    def index(self, progress: Any, **options: Any) -> IndexResult:
        on_commit = options.pop("on_commit")
        options.pop("on_plan")
        self.calls.append(("index", options))
        logging.getLogger("graphkb.ingest").info("a.txt: read as gb18030")
        for done in range(4):
            progress("read", done, 3)
        if self.failure:
            raise self.failure
        on_commit(self.result)
        progress("embed", 0, 0)
        progress("embed", 5, 0)
        on_commit(self.result)
        return self.result

    def search(self, question: str, top_k: int | None = None, method: str = "hybrid") -> Hits:
        self.calls.append(("search", question, top_k, method))
        if self.failure:
            raise self.failure
        return Hits([] if question == "none" else [HIT], warnings=("no vectors yet",))

    def eval(
        self, path: QuestionSet, methods: Sequence[str], ks: Sequence[int], progress: Progress
    ) -> Evaluation:
        return run_evaluation(self, path, methods, ks, progress)

    def query(self, question: str, method: str) -> Answer:
        self.calls.append(("query", question, method))
        return ANSWER

    def table(self, name: str) -> pl.DataFrame:
        rows = [("d1", "zh/公司.md", "公司简介", "{}"), ("d2", "b\tc.md", "B", "{}")]
        return pl.DataFrame(rows, schema=["id", "path", "title", "metadata"], orient="row")

    def status(self) -> dict[str, Any]:
        return {
            "root": "kb", "version": 2, "committed_at": "2026-01-02T03:04:05Z", **COUNTS,
            "language_model": "qwen-plus",
            "extracted": {"llm": 5, "imported": 0, "offline": 2, "unfinished": 1},
            "unit_sizes": {
                "count": 7, "median": 40, "longest": 90, "short": 1, "cut": 0,
                "kinds": {"prose": {"count": 5}, "row": {"count": 2}},
            },
            "embedding_model": None, "sizes": {"input": 900, "tables": 1_500_000}, "stale": True,
            "stale_stages": [], "graphkb_version": graphkb.__version__,
        }  # fmt: skip


@pytest.fixture
def project(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    project = StandIn()
    monkeypatch.setattr(graphkb, "open", project.open, raising=False)
    return project


@pytest.fixture(autouse=True)
def _log_as_before() -> Iterator[None]:
    logger = logging.getLogger("graphkb")
    before = logger.handlers, logger.level, logger.propagate
    yield
    logger.handlers, logger.level, logger.propagate = before


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_index_prints_a_summary_and_keeps_progress_on_stderr(project: StandIn):
    result = run("index", "-r", "kb", "--set", "chunks.size=9", "--embed", "now", "--rebuild")
    assert result.exit_code == 0
    assert result.stdout == (
        "version 2: 2 added, 1 changed, 0 removed in 1.5 s\n"
        "3 documents · 7 text units · 5 entities · 2 claims · 1 report\n"
    )
    lines = result.stderr.splitlines()
    assert lines[0] == "read …"
    assert lines[1].startswith("read: 3 in ")
    counts = "3 documents · 7 text units · 5 entities · 2 claims · 1 report"
    assert lines[2:4] == [f"searchable: version 2, {counts}", "embed …"]
    assert lines[4] == f"vectors complete: version 2, {counts}"
    assert lines[5].startswith("embed: 5 in ")
    assert lines[6:] == ["warning: the graph has one component"]
    assert project.calls == [
        ("open", "kb", ["chunks.size=9", "embed.when=now"]),
        ("index", {"rebuild": True, "allow_empty": False}),
        "close",
    ]


def test_index_verbose_says_stage_seconds_and_notes(project: StandIn):
    result = run("index", "-v")
    assert result.stdout.splitlines()[2:] == ["  read 0.50 s", "  chunk 1.00 s"]
    assert "a.txt: read as gb18030" in result.stderr.splitlines()
    assert "gb18030" not in run("index").stderr


def test_index_lists_what_it_could_not_read(project: StandIn):
    refused = tuple(Refused(f"坏{n}.pdf", "not\na PDF") for n in range(23))
    project.result = IndexResult(3, COUNTS, 0, 0, 0, {}, refused)
    result = run("index")
    assert result.exit_code == 0
    assert result.stdout.splitlines()[2:] == [
        "not read (23):",
        "  坏0.pdf, 坏1.pdf, 坏2.pdf and 20 more: not a PDF",
    ]
    project.result = IndexResult(3, {"documents": 0}, 0, 0, 0, {}, refused)
    result = run("index", "--json")
    assert result.exit_code == 1
    assert len(json.loads(result.stdout)["refused"]) == 23


def test_index_json_is_the_whole_result(project: StandIn):
    assert json.loads(run("index", "--json").stdout) == json.loads(json.dumps(RESULT.to_dict()))


def test_search(project: StandIn):
    result = run("search", "陈明", "在哪里", "-k", "3", "--method", "lexical")
    assert (result.exit_code, result.stderr) == (0, "warning: no vectors yet\n")
    assert result.stdout == (
        "1. 公司简介 › 历史\n"
        "   zh/公司.md:3-11 · score 0.25 · lexical #1, graph #2\n"
        "   陈明在青石公司。\n"
    )
    assert project.calls[1] == ("search", "陈明 在哪里", 3, "lexical")
    assert json.loads(run("search", "x", "--json").stdout) == [HIT.to_dict()]
    assert json.loads(run("search", "none", "--json").stdout) == []
    assert run("search", "none").stderr == "warning: no vectors yet\nno hits\n"


def test_query(project: StandIn):
    result = run("query", "陈明在哪里?", "--method", "local")
    assert result.stdout == (
        "陈明在青石公司。[1]\n"
        "\n"
        "来源：\n"
        "[1] 公司简介 › 历史（zh/公司.md，字符 3–11）：“陈明在青石公司。”\n"
        "\n"
        "local · 0.05 秒\n"
    )
    assert project.calls[1] == ("query", "陈明在哪里?", "local")
    assert run("query", "x", "--explain").stdout == (
        result.stdout + "\nTrace:\n\nContext: local, evidence 0.90, 12 tokens\n"
    )
    assert json.loads(run("query", "x", "--json").stdout)["citations"][0]["char_end"] == 11


def test_status(project: StandIn):
    assert run("status").stdout == (
        "root       kb\n"
        "version    2, committed 2026-01-02T03:04:05Z\n"
        "holds      3 documents · 7 text units · 5 entities · 2 claims · 1 report\n"
        "units      median 40, longest 90 tokens (prose 5, row 2); 1 below 20 tokens\n"
        "model      qwen-plus\n"
        "read by    the model 5 text units, offline extraction 2; to be tried again 1\n"
        "embedding  none\n"
        "on disk    1.5 MB, input 900 B, tables 1.5 MB\n"
        f"graphkb    {graphkb.__version__}\n"
        "stale      input changed since: run graphkb index\n"
    )
    assert json.loads(run("status", "--json").stdout) == project.status()


def test_tables(project: StandIn):
    result = run("tables", "documents", "--limit", "1")
    assert result.stdout == "id\tpath\ttitle\tmetadata\nd1\tzh/公司.md\t公司简介\t{}\n"
    assert result.stderr == "1 of 2 rows; --limit shows more\n"
    assert run("tables", "documents").stdout.endswith("d2\tb c.md\tB\t{}\n")
    rows = json.loads(run("tables", "documents", "--json").stdout)
    assert rows[1] == {"id": "d2", "path": "b\tc.md", "title": "B", "metadata": "{}"}
    listing = run("tables").stdout
    for name, table in tables.TABLES.items():
        assert f"{name} (" in listing
        assert all(meaning in listing for _, meaning in table.columns.values())
    assert "documents (3 rows)\n  id " in listing
    assert json.loads(run("tables", "--json").stdout)["mentions"]["rows"] == 2


def test_columns_need_no_project(tmp_path: Path):
    result = run("tables", "mentions", "--columns", "-r", str(tmp_path / "none"))
    assert result.exit_code == 0
    assert "  entity_id     String        entities.id\n" in result.stdout


def test_eval(project: StandIn, tmp_path: Path):
    path = tmp_path / "q.jsonl"
    path.write_text(
        '{"id": "a", "query": "陈明?", "relevant": ["公司简介"]}\n'
        '{"id": "b", "query": "B?", "relevant": ["d2", "没有"]}\n'
        '{"id": "c", "query": "C?"}\n'
        "oops\n",
        "utf8",
    )
    result = run("eval", str(path), "-k", "1,3", "--methods", "lexical", "--misses")
    assert result.exit_code == 0
    lines = result.stdout.splitlines()
    assert lines[0] == "2 questions, documents ranked by their best passage"
    assert lines[4].startswith("| lexical |    0.500 |    0.500 | 0.500 |  0.500 | 0.500 |")
    assert lines[5:7] == [
        "",
        "95 % intervals (bootstrap over the 2 questions; fewer than 10 say little):",
    ]
    assert lines[-6:] == [
        "",
        "lexical, evidence missing from the first 3: 1 questions",
        "  b: B?",
        "    missing: d2: not among the candidates; ranks by leg: lexical none",
        "    missing: 没有: not in the knowledge base",
        "    lexical first: 公司简介",
    ]
    stderr = [line for line in result.stderr.splitlines() if line.startswith("warning")]
    assert stderr[0].startswith(f"warning: {path}:4: not JSON")
    assert stderr[1:] == [
        "warning: question b: no document has the id, path or title '没有'",
        "warning: lexical, 3 questions: no vectors yet",
        "warning: 1 questions have no relevant documents and are not in the means: c",
    ]
    data = json.loads(run("eval", str(path), "--json").stdout)
    assert [result["method"] for result in data["methods"]] == ["hybrid", "lexical"]
    assert data["methods"][0]["questions"][0]["ranks"] == {"公司简介": 1}
    assert data["comparison"]["difference"] == 0


def test_settings_are_a_settings_yaml():
    from graphkb.settings_file import settings_yaml

    assert run("settings").stdout == settings_yaml()
    rows = json.loads(run("settings", "--json").stdout)
    assert {row["key"].split(".")[0] for row in rows} == set(Settings.model_fields)
    size = next(row for row in rows if row["key"] == "chunks.size")
    assert size == {
        "key": "chunks.size",
        "default": 600,
        "meaning": Settings.model_fields["chunks"].annotation.model_fields["size"].description,
    }


def test_settings_in_force_hide_keys(tmp_path: Path):
    overrides = ["--set", "embed.api_key=sk-secret", "--set", "chunks.size=321"]
    result = run("settings", "--show", "-r", str(tmp_path), *overrides)
    assert "  size: 321\n" in result.stdout
    assert "  api_key: '***'\n" in result.stdout
    assert "sk-secret" not in result.output
    shown = json.loads(run("settings", "--show", "--json", "-r", str(tmp_path)).stdout)
    assert shown["embed"]["api_key"] == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["qury"], "No such command 'qury'. Did you mean 'query'? (see graphkb --help)"),
        (
            ["query", "--method", "locl", "x"],
            "Invalid value for '--method': 'locl' is not one of auto, local, global, drift, lazy, "
            "hybrid; did you mean 'local'? (see graphkb query --help)",
        ),
        (
            ["search", "--method", "向量", "x"],
            "Invalid value for '--method': '向量' is not one of hybrid, lexical, dense, graph, "
            "question (see graphkb search --help)",
        ),
        (
            ["search", "-k", "0", "x"],
            "Invalid value for '-k' / '--top-k': 0 is not in the range 1<=x<=1000. "
            "(see graphkb search --help)",
        ),
        (
            ["search", "-k", "-1", "x"],
            "Invalid value for '-k' / '--top-k': -1 is not in the range 1<=x<=1000. "
            "(see graphkb search --help)",
        ),
        (["query"], "Missing argument 'QUESTION...'. (see graphkb query --help)"),
        (["tables", "entites"], "no table 'entites'; did you mean 'entities'?"),
        (
            ["eval", "q.jsonl", "-k", "1,x"],
            "-k '1,x': give numbers from 1 to 100, such as -k 1,5,8 (see graphkb eval --help)",
        ),
        (["eval", "q.jsonl"], "q.jsonl: no such file; give a questions file in JSON lines"),
        (
            ["settings", "--show", "-r", "nowhere"],
            "nowhere: no such folder; make a project with: graphkb init nowhere",
        ),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(arguments: list[str], message: str):
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == f"error: {message}\n"


@pytest.mark.parametrize(
    ("failure", "code"),
    [
        (NotIndexedError("a\nb"), 1),
        (UsageError("a b"), 2),
        (GraphkbError(" a  b "), 1),
        (OSError("a b"), 1),
    ],
)
def test_failures_are_one_line_with_their_exit_code(
    project: StandIn, failure: Exception, code: int
):
    project.failure = failure
    result = run("search", "x")
    assert (result.exit_code, result.stdout, result.stderr) == (code, "", "error: a b\n")
    assert project.calls[-1] == "close"


def test_a_full_disk_is_one_line_with_the_place(project: StandIn):
    project.failure = OSError(28, "No space left on device", "输出/x.lance")
    result = run("index")
    assert result.exit_code == 1
    assert result.stderr.splitlines()[-1] == "error: 输出/x.lance: No space left on device"


def test_nothing_readable_is_exit_code_1(project: StandIn):
    project.failure = InputError("input: nothing readable")
    result = run("index")
    assert result.exit_code == 1
    assert result.stderr.endswith("error: input: nothing readable\n")


def test_interrupt_is_exit_code_130_and_says_that_work_is_kept(project: StandIn):
    project.failure = KeyboardInterrupt()
    result = run("index")
    assert result.exit_code == 130
    last = result.stderr.splitlines()[-1]
    assert last == "interrupted: what was committed stays, and the next run goes on from there"
    assert "Traceback" not in result.output


def test_methods_are_the_projects():
    assert Project.methods == QUERY_METHODS
    assert hybrid.SEARCH_METHODS == SEARCH_METHODS


def test_every_command_has_help_with_an_example_or_a_sentence():
    listing = run("--help").stdout
    for name, command in main.commands.items():
        summary = command.get_short_help_str(limit=60)
        assert not summary.endswith("...")
        assert f"  {name} " in listing
        assert run(name, "-h").exit_code == 0
    assert "这些文档的主题是什么?" in listing


def environment(**values: str) -> dict[str, str]:
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    return {**kept, "PYTHONPATH": str(REPOSITORY), **values}


def python_m(
    *arguments: str, cwd: Path | None = None, **values: str
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "graphkb", *arguments],
        capture_output=True, cwd=cwd, env=environment(**values), check=False,
    )  # fmt: skip


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "latin-1", "utf-8"])
def test_case_a05_no_encoding_breaks_the_help(encoding: str):
    done = python_m("query", "--help", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"graphkb query --root my-kb" in done.stdout


@pytest.mark.parametrize("encoding", ["ascii", "gbk", "utf-8"])
def test_case_a05_json_stays_json_in_any_encoding(encoding: str):
    done = python_m("settings", "--json", PYTHONIOENCODING=encoding)
    assert (done.returncode, done.stderr) == (0, b"")
    assert json.loads(done.stdout.decode(encoding))[0]["key"] == "input.folder"
    done = python_m("settings", "--show", "-r", "没有\u00e9\U0001f600", PYTHONIOENCODING=encoding)
    assert done.returncode == 2
    assert done.stderr.startswith(b"error: ")


def test_help_imports_nothing_heavy():
    code = (
        "import sys; sys.argv = ['graphkb', '--help']\n"
        "from graphkb.cli import main\n"
        "try: main()\n"
        "except SystemExit: pass\n"
        "heavy = {'polars', 'lancedb', 'pydantic', 'rich', 'numpy', 'pyarrow', 'openai', 'yaml'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment())
    assert done.returncode == 0, done.stderr


def test_a_reader_that_leaves_early_is_no_error():
    process = subprocess.Popen(
        [sys.executable, "-m", "graphkb", "tables", "documents", "--columns"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    assert process.stdout is not None
    process.stdout.close()
    _, stderr = process.communicate(timeout=60)
    assert stderr == b""
    assert process.returncode == 0


def test_a_command_run_inside_a_program_leaves_its_signals_alone():
    before = signal.getsignal(signal.SIGTERM)
    assert run("settings").exit_code == 0
    assert signal.getsignal(signal.SIGTERM) is before


def test_what_is_printed_is_whole_where_the_reader_is_slow():
    command = f"{sys.executable} -m graphkb settings --json | (sleep 1; cat)"
    done = subprocess.run(command, shell=True, capture_output=True, env=environment())
    assert len(json.loads(done.stdout)) > 50


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["--version"], 0), (["nothing"], 2), (["status", "--root", "没有"], 2)],
)
def test_the_exit_code_is_that_of_the_command(arguments: list[str], code: int):
    assert python_m(*arguments).returncode == code


def test_what_is_registered_for_the_end_of_the_process_is_done():
    program = (
        "import atexit, sys; {}\n"
        "sys.argv = ['graphkb', '--version']\n"
        "from graphkb import __main__\n"
        "import graphkb.cli; run = graphkb.cli.main\n"
        "def later():\n"
        "    atexit.register(print, 'after')\n"
        "    run()\n"
        "graphkb.cli.main = later\n"
        "__main__.main()\n"
    )
    for before in ("atexit.register(print, 'before')", "pass"):
        code = program.format(before)
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, env=environment())
        said = done.stdout.decode().split("\n")
        assert "after" in said
        assert ("before" in said) == (before != "pass")
        assert (done.returncode, done.stderr) == (0, b"")
