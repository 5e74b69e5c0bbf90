"""The Python API on a real project: in a script, in an event loop, from a wheel."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import zipfile
from pathlib import Path

import networkx as nx
import polars as pl
import pytest

import graphkb
from graphkb.errors import UsageError
from graphkb.project import init_project
from graphkb.tables import PARQUET

REPOSITORY = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> graphkb.Project:
    root = tmp_path_factory.mktemp("sample")
    init_project(root, sample=True)
    kb = graphkb.open(root, ["embed.when=off"])
    kb.index()
    return kb


def test_everything_works_inside_a_running_event_loop(project: Path) -> None:
    (project / "input" / "a.txt").write_text(
        "陈明是青石公司的工程师。Ada Lin leads Bluestone.", "utf-8"
    )

    async def notebook() -> list[str]:
        kb = graphkb.open(project, ["embed.when=off"])
        kb.index()
        hits, answer = await asyncio.gather(
            kb.asearch("Ada Lin"), kb.aquery("谁是青石公司的工程师？")
        )
        return [hits[0].path, answer.text, kb.search("陈明")[0].path, str(kb.query("Ada Lin"))]

    found = asyncio.run(notebook())
    assert found[0] == found[2] == "a.txt"
    assert "陈明是青石公司的工程师。" in found[1]


def test_tables_have_graphrag_s_columns_and_whole_references(sample: graphkb.Project) -> None:
    tables = {name: sample.table(name) for name in PARQUET}
    for name, columns in PARQUET.items():
        assert tables[name].columns == columns
    units = set(tables["text_units"]["id"])
    entities = set(tables["entities"]["id"])
    relationships = set(tables["relationships"]["id"])
    for name, column, known in [
        ("documents", "text_unit_ids", units), ("entities", "text_unit_ids", units),
        ("relationships", "text_unit_ids", units), ("communities", "text_unit_ids", units),
        ("text_units", "entity_ids", entities), ("communities", "entity_ids", entities),
        ("text_units", "relationship_ids", relationships),
        ("communities", "relationship_ids", relationships),
    ]:  # fmt: skip
        used = tables[name][column].explode().drop_nulls()
        assert used.len() > 0
        assert set(used) <= known, (name, column)
    with pytest.raises(UsageError, match="unknown table 'entitys'"):
        sample.table("entitys")


def test_text_units_are_exact_spans_of_their_documents(sample: graphkb.Project) -> None:
    joined = sample.table("text_units").join(
        sample.table("documents").select("id", pl.col("text").alias("whole")),
        left_on="document_id", right_on="id",
    )  # fmt: skip
    for row in joined.to_dicts():
        assert row["whole"][row["char_start"] : row["char_end"]] == row["text"]


def test_mentions_are_exact_spans_of_their_text_units(sample: graphkb.Project) -> None:
    joined = (
        sample.table("mentions")
        .filter(pl.col("char_start") >= 0)
        .join(
            sample.table("text_units").select("id", "text"), left_on="text_unit_id", right_on="id"
        )
    )
    assert joined.height > 500
    for row in joined.to_dicts():
        assert row["text"][row["char_start"] : row["char_end"]] == row["surface"]


def test_the_graph_knows_people_companies_and_aliases(sample: graphkb.Project) -> None:
    graph = sample.graph()
    assert isinstance(graph, nx.Graph)
    entities = sample.table("entities")
    aliases = set(entities["aliases"].explode().drop_nulls())
    known = set(entities["title"]) | aliases
    assert set(graph.nodes) == set(entities["title"])
    for name in ("Ingrid Vasshaug", "Brennig Valve Works", "KTE", "E1043"):
        assert name in known, name
    for name in ("青石谷", "栖岩资本", "云账", "澜湾银行", "郑望舒"):
        assert name in known, name
    types = dict(entities.select("title", "type").iter_rows())
    assert types["Ingrid Vasshaug"] == types["郑望舒"] == "PERSON"
    assert types["澜湾银行"] == "ORGANIZATION"
    relationships = sample.table("relationships")
    pairs = {frozenset(pair) for pair in relationships.select("source", "target").iter_rows()}
    assert graph.number_of_edges() == len(pairs)
    total = sum(weight for _, _, weight in graph.edges(data="weight"))
    assert total == pytest.approx(relationships["weight"].sum())


@pytest.mark.parametrize(
    ("question", "method", "words"),
    [
        ("Where was the board member born who represents the investor holding 39 percent of "
         "Kelsound Tidal Energy?", "local", ["Greycairn Capital", "Rotterdam"]),
        ("领投青石谷B轮的机构有一位合伙人进入了董事会，这个人是哪里人，出版过什么书？", "local",
         ["栖岩资本", "郑望舒", "江苏扬州", "《小微账本》"]),
        ("导入银行流水时提示 E1042 是什么原因，怎么解决？", "auto", ["GB18030", "删除表头"]),
        ("How long is the warranty under contract CT-2023-118?", "hybrid", ["36 months"]),
        ("月付49元的云账套餐每个月可以识别多少张发票？", "local", ["300张"]),
        ("What are the main themes?", "global", ["["]),
        ("青石谷这两年有哪些主要变化？", "global", ["青石谷", "[1]"]),
    ],
)  # fmt: skip
def test_answers_hold_the_facts_of_every_hop_and_cite_them(
    sample: graphkb.Project, question: str, method: str, words: list[str]
) -> None:
    answer = sample.query(question, method)
    assert not answer.refused
    for word in words:
        assert word in answer.text
    texts = dict(sample.table("documents").select("id", "text").iter_rows())
    for citation in answer.citations:
        span = texts[citation.document_id][citation.char_start : citation.char_end]
        assert span == citation.quote
        assert f"[{citation.number}]" in answer.text


def test_same_input_same_bytes_in_two_projects(sample: graphkb.Project, tmp_path: Path) -> None:
    init_project(tmp_path, sample=True)
    other = graphkb.open(tmp_path, ["embed.when=off", "extract.workers=1"])
    other.index()
    for name in PARQUET:
        assert other.table(name).equals(sample.table(name)), name


def test_a_wheel_makes_sample_projects_with_prompts_and_documents(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(tmp_path)],
        cwd=REPOSITORY, check=True, capture_output=True,
    )  # fmt: skip
    (wheel,) = tmp_path.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import graphkb, sys; from graphkb.project import init_project;"
        "assert graphkb.__file__.startswith(sys.argv[1]);"
        "init_project(sys.argv[2], sample=True)"
    )
    made = tmp_path / "made"
    subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "site"), str(made)],
        env={"PYTHONPATH": str(tmp_path / "site"), "PATH": "/usr/bin:/bin"},
        cwd=tmp_path, check=True, capture_output=True,
    )  # fmt: skip
    for part in ("prompts", "input"):
        shipped = {
            p.relative_to(REPOSITORY / part) for p in (REPOSITORY / part).rglob("*") if p.is_file()
        }
        copied = {p.relative_to(made / part) for p in (made / part).rglob("*") if p.is_file()}
        assert copied == shipped
    assert (made / "settings.yaml").read_text() == (REPOSITORY / "settings.yaml").read_text()


def test_one_override_may_be_a_string(project: Path) -> None:
    kb = graphkb.open(project, "llm.model=通义千问")
    assert kb.settings.llm.model == "通义千问"
    assert kb.settings == graphkb.open(project, ["llm.model=通义千问"]).settings


def test_a_folder_of_documents_needs_no_settings(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"no graphkb project here; .*graphkb init"):
        graphkb.open(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "文档").mkdir()
    assert graphkb.open(tmp_path, "input.folder=文档").status()["version"] == 0


def test_an_edited_prompt_makes_the_index_stale(tmp_path: Path) -> None:
    init_project(tmp_path)
    (tmp_path / "input" / "a.md").write_text("陈明是工程师。Ada Lin leads Osprey.", "utf-8")
    options = ["embed.when=off", "llm.model=m", "llm.base_url=http://127.0.0.1:9/v1"]
    offline = [f"{name}.method=offline" for name in ("extract", "report", "describe")]
    judged = [*options, *offline, "resolve.method=llm"]
    kb = graphkb.open(tmp_path, judged)
    kb.index()
    assert kb.status()["stale_stages"] == []
    for language in ("en", "zh"):
        path = tmp_path / "prompts" / language / "judge.md"
        path.write_text(path.read_text("utf-8").replace("---", "更严。\n---", 1), "utf-8")
    assert kb.status()["stale_stages"] == ["resolve_entities"]
    assert kb.status()["stale"] is True
