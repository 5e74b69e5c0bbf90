"""The commands that measure, on a real project."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from graphkb.cli import main
from graphkb.evaluate.files import check_writable, write_text
from graphkb.project import Project

QUESTIONS = """\
{"id": "1", "query": "Who leads Osprey?", "relevant": ["osprey.md"], "answer": "Ada Lin"}
{"id": "2", "query": "谁负责北斗水表项目？", "relevant": ["公司.md"], "answer": "陈明"}
{"id": "3", "query": "What does E-4110 mean?", "relevant": ["errors.md", "people.md"]}
{"id": "4", "query": "火星上有多少家咖啡馆？", "relevant": []}
"""


@pytest.fixture
def asked(tmp_path: Path) -> str:
    path = tmp_path / "问题.jsonl"
    path.write_text(QUESTIONS, "utf8")
    return str(path)


@pytest.fixture
def run(knowledge: Project):
    def run(command: str, *arguments: str) -> Result:
        root = ["-r", str(knowledge.root), "--set", "embed.when=off"]
        return CliRunner().invoke(main, [command, *root, *arguments])

    return run


def test_a_run_is_saved_reported_exported_and_compared(
    run, asked: str, tmp_path: Path, knowledge: Project
):
    page, prefix = tmp_path / "report.html", tmp_path / "trec" / "run"
    options = ["--save", "一", "--html", str(page), "--trec", str(prefix), "--misses", "-k", "1"]
    done = run("eval", asked, *options)
    assert done.exit_code == 0, done.stderr
    assert "hybrid, evidence missing from the first 1:" in done.stdout
    assert "by hops:" in done.stdout
    assert "by language:" in done.stdout
    saved = knowledge.output / "eval" / "一.json"
    for path in (
        saved,
        page,
        tmp_path / "trec" / "run.qrels",
        tmp_path / "trec" / "run.hybrid.run",
    ):
        assert f"written: {path}" in done.stderr
        assert path.stat().st_size > 0
    assert "北斗水表" in page.read_text("utf8")
    kept = json.loads(saved.read_text("utf8"))
    assert kept["settings"]["search"]["fusion"] == "alpha"
    assert kept["version"] == 1
    assert (
        run("eval", asked, "--save", "二", "--set", "search.fusion=rrf", "-k", "1").exit_code == 0
    )
    compared = run("eval", "--compare", "一", "二")
    assert compared.exit_code == 0, compared.stderr
    assert compared.stdout.startswith("一 → 二, 3 questions in both\n")
    data = json.loads(run("eval", "--compare", "一", "二", "--json").stdout)
    assert data["is_worse"] is False
    kinds = ("won", "lost", "unchanged")
    assert all(sum(len(one[kind]) for kind in kinds) == 3 for one in data["methods"])
    same = run("eval", "--compare", "一", "一")
    assert "unchanged in all 3 questions and every metric: hybrid, lexical" in same.stdout
    assert "问" not in same.stdout
    shown = run("eval", "--compare", "一", "一", "--all").stdout
    assert "unchanged 3 questions, by ndcg@1:" in shown


def test_the_projects_own_questions_are_asked_where_none_are_given(
    run, asked: str, knowledge: Project
):
    own = knowledge.root / "queries.jsonl"
    own.write_bytes(Path(asked).read_bytes())
    try:
        done = run("eval", "--methods", "lexical")
    finally:
        own.unlink()
    assert done.exit_code == 0
    assert "3 questions" in done.stdout


def test_three_lost_questions_are_too_few_to_fail_on(run, tmp_path: Path):
    texts = ("Who leads Osprey?", "谁负责北斗水表项目？", "What does E-4110 mean?")
    for name, documents in {
        "before": ("osprey.md", "公司.md", "errors.md"),
        "after": ("没有", "没有", "没有"),
    }.items():
        lines = [{"query": q, "relevant": [d]} for q, d in zip(texts, documents, strict=True)]
        path = tmp_path / "q.jsonl"
        path.write_text("\n".join(map(json.dumps, lines)), "utf8")
        assert run("eval", str(path), "--save", name, "--methods", "hybrid").exit_code == 0
    done = run("eval", "--compare", "before", "after", "--json")
    assert done.exit_code == 0
    data = json.loads(done.stdout)
    assert (data["verdict"], data["is_worse"]) == ("too few", False)
    assert done.stderr == "warning: 3 questions are too few to tell whether after is worse\n"


def test_what_the_filter_keeps_out_is_said(run, asked: str):
    done = run("eval", asked, "--where", "path != '公司.md'", "--misses", "--methods", "hybrid")
    assert done.exit_code == 0, done.stderr
    said = "1 relevant documents of 1 questions lie outside the filter and count as not found: "
    assert f"warning: {said}2: 公司.md" in done.stderr
    assert "    missing: 公司.md: outside the filter" in done.stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--save", ""], "run name '': use up to 80 letters"),
        (["--save", "𠀀" * 80], "(240 bytes)"),
        (["--html", ""], "the name is empty; give the name of a file"),
        (["--trec", ""], "the name is empty; give the name of a file"),
        (["--html", "."], "--html: . is a folder; give the name of a file"),
        (["--trec", ".."], "--trec: .. is a folder; give how the files begin"),
        (["--html", "{asked}/x/page.html"], "问题.jsonl is not a folder"),
        (["--trec", "{asked}/x/run"], "问题.jsonl is not a folder"),
        (["--html", "{folder}/new/" + "页" * 100], "(File name too long)"),
        (["--trec", "{folder}/" + "r" * 250], "(File name too long)"),
    ],
)
def test_files_are_looked_at_before_anything_is_measured(
    run, asked: str, options: list[str], message: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(Project, "eval", lambda *_, **__: pytest.fail("measured"))
    folder = Path(asked).parent
    done = run("eval", asked, *(text.format(asked=asked, folder=folder) for text in options))
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(folder.iterdir()) == [Path(asked)]


def test_missing_folders_are_made_for_every_file(run, asked: str, tmp_path: Path):
    page, prefix = tmp_path / "页" / "a" / "x.html", tmp_path / "b" / "c" / "run"
    options = ["--html", str(page), "--trec", str(prefix), "--methods", "lexical"]
    assert run("eval", asked, *options).exit_code == 0
    assert {path.name for path in prefix.parent.iterdir()} == {"run.qrels", "run.lexical.run"}
    assert page.is_file()


def test_a_read_only_report_is_refused_first(run, asked: str, tmp_path: Path):
    page = tmp_path / "页.html"
    page.write_text("old", "utf8")
    page.chmod(0o400)
    done = run("eval", asked, "--html", str(page))
    assert (done.exit_code, done.stdout) == (2, "")
    assert done.stderr == f"error: --html: {page} cannot be written (it is read-only)\n"
    assert page.read_text("utf8") == "old"


def test_the_longest_name_can_be_written(tmp_path: Path):
    path = tmp_path / ("字" * 83 + ".html")
    check_writable(path, "--html")
    write_text(path, "x")
    assert path.read_text("utf8") == "x"


def test_a_files_rights_and_links_stay(tmp_path: Path):
    kept = tmp_path / "kept.html"
    kept.write_text("old", "utf8")
    kept.chmod(0o600)
    link = tmp_path / "link.html"
    link.symlink_to(kept)
    write_text(link, "新 \udcff")
    assert link.is_symlink()
    assert kept.read_text("utf8") == r"新 \udcff"
    assert kept.stat().st_mode & 0o777 == 0o600
    assert len(list(tmp_path.iterdir())) == 2


def test_too_few_questions_are_neither_recommended_nor_written(run, asked: str, knowledge: Project):
    for option in ("--tune", "--calibrate"):
        done = run("eval", option, asked, "--apply")
        assert done.exit_code == 1
        assert "no recommendation" in done.stdout
        assert "warning: nothing is recommended, so nothing is written" in done.stderr
    assert not (knowledge.root / "settings.yaml").exists()


def test_what_is_recommended_is_written_where_asked(
    run, tmp_path: Path, knowledge: Project, monkeypatch: pytest.MonkeyPatch
):
    lines = [
        {"query": f"{text} {n}", "relevant": [document]}
        for n in range(10)
        for text, document in (
            ("Who leads the Osprey project?", "osprey.md"),
            ("王芳是哪里的首席工程师？", "人物.md"),
        )
    ]
    lines += [{"query": f"quasar {n} zebra?", "relevant": []} for n in range(10)]
    path = tmp_path / "q.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf8")
    done = run("eval", "--calibrate", str(path), "--methods", "hybrid", "--json")
    assert done.exit_code == 0, done.stderr
    found = json.loads(done.stdout)
    threshold = found["methods"][0]["threshold"]
    assert 0 < threshold < 1
    settings = knowledge.root / "settings.yaml"
    assert found["verdict"] == "same"
    assert found["settings"]["answer.refusal_threshold"] == 0.4, "what is in force stays"
    done = run("eval", "--calibrate", str(path), "--methods", "hybrid", "--apply")
    assert done.exit_code == 1
    assert "no recommendation: no threshold did better" in done.stdout
    assert not settings.exists()
    try:
        settings.write_text("answer:\n  refusal_threshold: 0.9  # 阈值\n", "utf8")
        done = run("eval", "--calibrate", str(path), "--methods", "hybrid", "--apply")
        assert done.exit_code == 0, done.stderr
        assert f"  refusal_threshold: {threshold}  # 阈值\n" in settings.read_text("utf8")
    finally:
        for left in (settings, settings.with_name("settings.yaml.bak")):
            left.unlink(missing_ok=True)


def test_answers_are_measured(run, asked: str):
    done = run("eval", "--answers", asked, "--methods", "hybrid", "--json")
    assert done.exit_code == 0, done.stderr
    shares = json.loads(done.stdout)["methods"][0]["shares"]
    assert shares["contains"]["mean"] == 1
    assert shares["right refusals"]["mean"] == 1
    refused = run("eval", "--answers", asked, "--judge")
    assert refused.exit_code == 2
    assert "judging needs a language model" in refused.stderr


def test_questions_are_written_and_measured(run, tmp_path: Path):
    path = tmp_path / "made.jsonl"
    done = run("questions", "--n", "8", "--output", str(path))
    assert done.exit_code == 0, done.stderr
    assert done.stderr.splitlines()[-1].startswith("8 questions of ")
    rows = [json.loads(line) for line in path.read_text("utf8").splitlines()]
    keys = ["id", "query", "relevant", "answer", "language", "type", "hops", "text_units"]
    assert [list(row) for row in rows] == [keys] * 8
    assert run("eval", str(path), "--methods", "lexical").exit_code == 0
    again = run("questions", "--output", str(path))
    assert again.exit_code == 2
    assert "is there already; --force replaces it" in again.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--tune", "--save", "", "q"], "--save does not go with --tune"),
        (["--tune", "--answers", "q"], "--tune and --answers do not go together"),
        (["--apply", "q"], "--apply goes with --tune or --calibrate"),
        (["--judge", "q"], "--judge goes with --answers"),
        (["--html", "x", "--tune", "q"], "--html does not go with --tune"),
        (["q", "--all"], "--all goes with --compare"),
        (["--compare", "a", "b", "q"], "--compare reads saved runs and takes no QUESTIONS"),
        ([], "Missing argument 'QUESTIONS'"),
        (["--compare", "a", "b"], "no saved run and no file 'a'"),
    ],
)
def test_wrong_usage_is_one_line(run, arguments: list[str], message: str):
    done = run("eval", *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
