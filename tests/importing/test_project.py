"""A GraphRAG output becomes a project: it answers, evaluates and updates without a model's work."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest
from click.testing import CliRunner, Result
from graphrag_output import CHINESE, ENGLISH, make_output
from law import broken, committed, differences
from model_server import model_server, prompt_of, said
from small import problems

import graphkb
from graphkb.cli import main
from graphkb.importing.project import import_graphrag, reports_taken
from graphkb.project import Project

VERSIONS = [0, 1, 3]


def run(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def imported(tmp_path: Path, version: int = 2) -> Path:
    """A project made of an output of this version, not yet indexed."""
    folder = make_output(version).write(tmp_path / "rag")
    import_graphrag(folder, tmp_path / "new")
    return tmp_path / "new"


def indexed(root: Path, *overrides: str) -> Project:
    project = graphkb.open(root, overrides)
    project.index(embed="off")
    return project


def extracted(project: Project, method: str) -> int:
    return project.status()["extracted"][method]


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Project:
    """An imported and indexed project that tests only read, or copy."""
    return indexed(imported(tmp_path_factory.mktemp("kept")))


@pytest.fixture
def root(kept: Project, tmp_path: Path) -> Path:
    """A copy of it to change."""
    return Path(shutil.copytree(kept.root, tmp_path / "copy"))


def rows_of(root: Path) -> list[dict[str, str]]:
    lines = (root / "input" / "graphrag.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines]


def put_rows(root: Path, rows: list[dict[str, str]]) -> None:
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (root / "input" / "graphrag.jsonl").write_text(text, "utf-8")


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_gives_the_same_knowledge_base(
    kept: Project, tmp_path: Path, version: int
) -> None:
    project = indexed(imported(tmp_path, version))
    for name in ("entities", "relationships", "mentions", "covariates"):
        assert project.table(name).equals(kept.table(name)), name
    assert extracted(project, "imported") == project.status()["text_units"]
    assert extracted(project, "offline") == 0
    assert problems(project) == []
    assert broken(committed(project.root)) == []


def test_entities_relationships_and_claims_are_those_of_graphrag(kept: Project) -> None:
    project = kept
    entities = {row["title"]: row for row in project.table("entities").to_dicts()}
    assert set(entities) == {
        "Ada Lin", "Osprey project", "Bluestone", "Bergen", "World Health Organization",
        "turbine T-07", "Northern Seals", "Jonas Petrel",
        "陈明", "青石公司", "杭州", "熵流引擎", "王芳", "北风机器人",
    }  # fmt: skip
    assert entities["陈明"]["description"] == "青石公司的创始人和工程师。"
    assert entities["Bergen"]["type"] == "GEO"
    said_of = {
        (row["source"], row["target"]): row["description"]
        for row in project.table("relationships").to_dicts()
    }
    ends = {frozenset(pair) for pair in said_of}
    assert frozenset(("陈明", "青石公司")) in ends
    assert "陈明创立了青石公司。" in said_of.values()
    claims = project.table("covariates")
    assert set(claims["description"]) == {
        "The report cost Northern Seals 1,280 euros.", "双方签署了1280元的合同。",
    }  # fmt: skip


def test_documents_keep_graphrags_ids_titles_and_metadata(tmp_path: Path) -> None:
    project = indexed(imported(tmp_path, 3))
    documents = {row["id"]: row for row in project.table("documents").to_dicts()}
    assert set(documents) == {f"doc-{n}" for n in range(5)}
    assert documents["doc-3"]["title"] == "公司.txt"
    assert json.loads(documents["doc-3"]["metadata"])["tag"] == "sample"
    assert documents["doc-3"]["creation_date"].startswith("2024-05-06")


def test_the_original_files_are_taken_where_they_hold_every_document(tmp_path: Path) -> None:
    rag = make_output(2).write_project(tmp_path / "rag")
    (rag / "input" / "new.txt").write_text("Not indexed by GraphRAG.", "utf-8")
    found = import_graphrag(rag, tmp_path / "new")
    assert found.originals
    assert found.not_indexed == ("new.txt",)
    assert sorted(p.name for p in (tmp_path / "new" / "input").iterdir()) == sorted(
        [*ENGLISH, *CHINESE]
    )
    project = indexed(tmp_path / "new")
    assert extracted(project, "imported") == 5
    assert set(project.table("documents")["path"]) == {*ENGLISH, *CHINESE}


def test_rows_are_written_where_an_original_file_has_changed(tmp_path: Path) -> None:
    rag = make_output(2).write_project(tmp_path / "rag")
    (rag / "input" / "公司.txt").write_text("改过了。", "utf-8")
    found = import_graphrag(rag, tmp_path / "new")
    assert not found.originals
    assert [row["id"] for row in rows_of(tmp_path / "new")] == [f"doc-{n}" for n in range(5)]


@pytest.mark.parametrize(
    ("question", "method", "words"),
    [
        ("Who leads the Osprey project?", "local", "Ada Lin"),
        ("谁设计了熵流引擎?", "local", "王芳"),
        ("Who replaced the valve?", "hybrid", "Northern Seals"),
        ("What are the main themes?", "global", ""),
        ("这些文档的主题是什么?", "global", ""),
    ],
)
def test_questions_are_answered_with_sources(
    kept: Project, question: str, method: str, words: str
) -> None:
    answer = kept.query(question, method=method)
    assert not answer.refused
    assert answer.citations
    assert words in answer.text


def test_reports_of_graphrag_are_taken_over_with_their_references(kept: Project) -> None:
    project = kept
    reports = project.table("community_reports")
    taken = {row["title"]: row for row in reports.to_dicts() if row["method"] == "llm"}
    assert set(taken) == {
        "Bluestone and Osprey", "Northern Seals and T-07", "青石公司与杭州", "王芳与熵流引擎",
    }  # fmt: skip
    numbers = project.table("text_units").select("human_readable_id", "text")
    of = dict(numbers.iter_rows())
    summary = taken["Bluestone and Osprey"]["summary"]
    assert summary.startswith("Bluestone builds a sea turbine [Data: Sources (")
    first = int(summary.split("(")[1].split(",")[0].split(")")[0])
    assert "Bluestone" in of[first]
    finding = json.loads(taken["青石公司与杭州"]["findings"])[0]
    texts = dict(project.table("text_units").select("id", "text").iter_rows())
    assert all("陈明" in texts[unit] for unit in finding["text_unit_ids"])
    assert finding["text_unit_ids"]
    assert reports_taken(project.root, reports) == 4


def test_evaluation_runs_on_an_imported_project(kept: Project, tmp_path: Path) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(
        '{"id": "1", "query": "Who leads Osprey?", "relevant": ["doc-0"]}\n'
        '{"id": "2", "query": "合同金额是多少?", "relevant": ["合同.txt"]}\n',
        "utf-8",
    )
    evaluation = kept.eval(questions, methods=["lexical", "graph"])
    assert not evaluation.unmatched
    assert len(evaluation.methods) == 2


def test_an_added_and_a_deleted_document_cost_nothing_for_the_others(
    kept: Project, root: Path
) -> None:
    before = kept.table("mentions")
    rows = [row for row in rows_of(root) if row["id"] != "doc-4"]
    put_rows(root, [*rows, {"id": "doc-9", "title": "new", "text": "Carla Mora met Ada Lin."}])
    read = '{"entities": [["Carla Mora", "PERSON", "A guest."], ["Ada Lin", "PERSON", ""]], '
    read += '"relationships": [["Carla Mora", "met", "Ada Lin", "5", ""]], "claims": []}'
    with model_server(lambda body: said(read)) as server:
        project = indexed(
            root, "llm.model=m", f"llm.base_url={server.url}", "report.method=offline",
            "describe.method=offline",
        )  # fmt: skip
        asked = [prompt_of(body) for body in server.requests]
    assert len(asked) == 1
    assert "Carla Mora met Ada Lin." in asked[0]
    titles = set(project.table("entities")["title"])
    assert "Carla Mora" in titles
    assert "北风机器人" not in titles  # only the deleted contract spoke of it
    old_units = before["text_unit_id"].unique().to_list()
    now = project.table("mentions").filter(pl.col("text_unit_id").is_in(old_units))
    units = now["text_unit_id"].unique().to_list()
    assert now.equals(before.filter(pl.col("text_unit_id").is_in(units)))
    gone = set(old_units) - set(units)
    assert len(gone) == 1
    described = dict(project.table("entities").select("title", "description").iter_rows())
    assert "引擎的设计者。" not in described["王芳"]  # written from the deleted document too
    assert described["陈明"] == "青石公司的创始人和工程师。"


def test_updates_equal_a_rebuild(root: Path) -> None:
    rows = rows_of(root)
    put_rows(root, [rows[0], {**rows[1], "text": rows[1]["text"] + "\nMore."}, *rows[3:]])
    found = committed(indexed(root).root)
    graphkb.open(root).index(embed="off", rebuild=True)
    expected = committed(root)
    assert differences(found, expected) == []
    assert found["extractions"].equals(expected["extractions"])
    assert found["entity_evidence"].equals(expected["entity_evidence"])
    assert set(expected["extractions"]["method"]) == {"imported", "offline"}


def test_a_rebuild_and_another_chunk_size_keep_what_was_imported(kept: Project, root: Path) -> None:
    titles = set(kept.table("entities")["title"])
    project = graphkb.open(root, ["chunks.size=30", "chunks.overlap=5"])
    project.index(embed="off", rebuild=True)
    assert project.status()["text_units"] > 8
    assert extracted(project, "imported") == project.status()["text_units"]
    assert set(project.table("entities")["title"]) == titles


def test_reports_stay_while_their_community_is_untouched(root: Path) -> None:
    text = "Jonas Petrel sails with Northern Seals."
    put_rows(root, [*rows_of(root), {"id": "doc-9", "title": "x", "text": text}])
    reports = indexed(root).table("community_reports")
    taken = set(reports.filter(pl.col("method") == "llm")["title"])
    assert "青石公司与杭州" in taken
    assert "Northern Seals and T-07" not in taken


def test_a_model_is_not_asked_for_reports_that_are_there(tmp_path: Path) -> None:
    root = imported(tmp_path)
    with model_server(lambda body: said("no")) as server:
        project = indexed(root, "llm.model=m", f"llm.base_url={server.url}", "report.model_share=9")
        assert server.requests == []
    assert set(project.table("community_reports")["method"]) == {"llm"}


def test_nothing_changed_makes_no_new_version(root: Path) -> None:
    version = graphkb.open(root).status()["version"]
    assert indexed(root).status()["version"] == version


def test_what_is_imported_again_is_taken_over_by_the_next_index(root: Path, tmp_path: Path) -> None:
    output = make_output(2)
    for row in output.tables["entities"]:
        row["description"] = f"新 {row['title']}"
    import_graphrag(output.write(tmp_path / "again"), root, force=True)
    described = set(indexed(root).table("entities")["description"])
    assert "新 ADA LIN" in described


def test_graphkbs_own_output_can_be_imported(kept: Project, tmp_path: Path) -> None:
    first = kept
    found = import_graphrag(first.root / "output", tmp_path / "b")
    assert found.originals
    second = indexed(tmp_path / "b")
    columns = ["title", "type", "description", "frequency"]
    assert (
        second.table("entities")
        .select(columns)
        .sort("title")
        .equals(first.table("entities").select(columns).sort("title"))
    )
    weights = ["source", "target", "weight", "description"]
    one, two = (
        {frozenset(row[:2]): (round(row[2], 6), row[3]) for row in p.table("relationships")
         .select(weights).iter_rows()} for p in (first, second)
    )  # fmt: skip
    assert one == two
    titles = set(first.table("community_reports")["title"])
    assert set(second.table("community_reports")["title"]) == titles


def test_an_offline_project_can_be_imported_too(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "input").mkdir(parents=True)
    for name, text in {**ENGLISH, **CHINESE}.items():
        (source / "input" / name).write_text(text, "utf-8")
    first = indexed(source)
    import_graphrag(source, tmp_path / "b")
    second = indexed(tmp_path / "b")
    kept = set(second.table("entities")["title"]) & set(first.table("entities")["title"])
    assert len(kept) >= 0.8 * first.status()["entities"]


def test_the_command_says_what_was_taken_over_and_what_was_not(tmp_path: Path) -> None:
    rag = make_output(2).write_project(tmp_path / "rag")
    result = run("import-graphrag", rag, "--root", tmp_path / "new", "--embed", "off")
    assert result.exit_code == 0, result.output
    assert "taken over 5 of 5 documents · 10 of 10 text units · 14 of 15 entities" in result.stdout
    assert (
        "left out   1 entities whose name stands in none of their text units: "
        "THE WEATHER OF NORWAY" in result.stdout
    )
    assert "4 of 4 imported reports fit a community" in result.stdout
    assert "5 documents" in result.stdout


def test_the_command_prints_json(tmp_path: Path) -> None:
    folder = make_output(3).write(tmp_path / "rag")
    result = run("import-graphrag", folder, "-r", tmp_path / "new", "--embed", "off", "--json")
    facts = json.loads(result.stdout)
    assert facts["counts"]["entities"] == [14, 15]
    assert facts["reports_taken"] == 4
    assert facts["index"]["usage"] == []


def test_the_command_can_leave_the_index_to_later(tmp_path: Path) -> None:
    folder = make_output(2).write(tmp_path / "rag")
    result = run("import-graphrag", folder, "-r", tmp_path / "new", "--no-index")
    assert result.exit_code == 0
    assert not (tmp_path / "new" / "output").exists()
    assert "next: graphkb index" in result.stderr
    assert (tmp_path / "new" / "settings.yaml").exists()


def fails(path: Path, root: Path, code: int, *words: str) -> None:
    result = run("import-graphrag", path, "--root", root)
    assert result.exit_code == code
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    for said_word in words:
        assert said_word in lines[0]


def test_what_cannot_be_imported_is_said_in_one_line(tmp_path: Path) -> None:
    folder = make_output(2).write(tmp_path / "rag")
    fails(tmp_path / "none", tmp_path / "new", 2, "no such folder")
    (folder / "entities.parquet").write_bytes(b"x")
    fails(folder, tmp_path / "new", 1, "entities.parquet", "cannot be read")
    assert not (tmp_path / "new").exists()


def test_a_folder_that_holds_a_project_is_refused_without_force(tmp_path: Path) -> None:
    folder = make_output(2).write(tmp_path / "rag")
    root = tmp_path / "new"
    graphkb.init_project(root)
    (root / "settings.yaml").write_text("chunks: {size: 77, overlap: 7}\n", "utf-8")
    fails(folder, root, 2, "holds a project already", "--force")
    result = run("import-graphrag", folder, "--root", root, "--force", "--embed", "off")
    assert result.exit_code == 0, result.output
    assert graphkb.open(root).settings.chunks.size == 77


def test_graphrags_own_folder_is_never_written_into(tmp_path: Path) -> None:
    rag = make_output(2).write_project(tmp_path / "rag")
    before = sorted(path.name for path in rag.rglob("*"))
    for root in (rag, rag / "output"):
        result = run("import-graphrag", rag, "--root", root, "--force")
        assert result.exit_code == 2
        assert "GraphRAG's own folder" in result.stderr
    assert sorted(path.name for path in rag.rglob("*")) == before


def test_damaged_imported_files_are_named(tmp_path: Path) -> None:
    root = imported(tmp_path)
    (root / "imported" / "mentions.parquet").write_bytes(b"x")
    result = run("index", "--root", root, "--embed", "off")
    assert result.exit_code == 1
    assert "mentions.parquet: cannot be read" in result.stderr
    assert "import-graphrag --force" in result.stderr
    assert "Traceback" not in result.output


def test_documents_without_text_are_counted(tmp_path: Path) -> None:
    output = make_output(2)
    output.tables["documents"].append(
        {**output.tables["documents"][0], "id": "blank", "text": " \u200b"}
    )
    found = import_graphrag(output.write(tmp_path / "rag"), tmp_path / "new")
    assert found.counts["documents"] == (5, 6)
    assert [(left.what, left.examples) for left in found.left][-1] == (
        "documents without text", ("blank",),
    )  # fmt: skip
