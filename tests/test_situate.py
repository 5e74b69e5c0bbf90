"""``chunks.context: llm``: a sentence by the model on where each unit stands in its document."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fixed_model
import pytest
from hypothesis import HealthCheck, given, settings
from law import broken, committed, differences
from model_server import ModelServer, said
from test_change_law import SETTINGS, Files, histories, put

import graphkb
from graphkb.errors import SettingsError
from graphkb.ingest.situate import read_sentence, situating_prompts, units_to_situate
from graphkb.tables import TABLES
from graphkb.text.tokens import count_tokens

EN = "# Osprey\n\n" + "\n\n".join(
    f"## Part {n}\n\n{'It was repaired in the spring by two people. ' * 6}" for n in range(3)
)
ZH = "# 青石公司\n\n" + "\n\n".join(
    f"## 第{n}部分\n\n{'该公司当年增长较快。' * 7}" for n in range(3)
)
ONE = "# Valve\n\nThe valve failed.\n"
ROWS = "| Plan | Price |\n|---|---|\n" + "".join(f"| Plan {n} | {n} |\n" for n in range(12))
OPTIONS = [
    "embed.when=off", "chunks.size=90", "chunks.overlap=0", "chunks.context=llm",
    "extract.method=offline", "report.method=offline", "resolve.method=rules",
    "describe.method=offline", "parquet=off", "llm.model=m", "llm.max_retries=0",
]  # fmt: skip


@pytest.fixture
def server() -> Iterator[ModelServer]:
    one = ModelServer()
    one.play = told
    yield one
    one.close()


@pytest.fixture
def root(project: Path) -> Path:
    for name, text in {"osprey.md": EN, "青石.md": ZH, "valve.md": ONE, "plans.md": ROWS}.items():
        (project / "input" / name).write_text(text, "utf-8")
    return project


def part_of(body: dict[str, Any]) -> str:
    return str(body["messages"][-1]["content"]).partition("<part>\n")[2]


def told(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
    chinese = "公司" in part_of(body)
    return said("本段属于年度报告。" if chinese else "This part is from\nthe Kestrel manual.")


def opened(root: Path, server: ModelServer, *more: str) -> graphkb.Project:
    return graphkb.open(root, [*OPTIONS, f"llm.base_url={server.url}", *more])


def test_each_unit_of_a_longer_document_gets_a_sentence_once(root, server):
    project = opened(root, server)
    assert project.index().incomplete == ()
    units = project.table("text_units")
    asked = units.filter(units["context"].str.contains("Kestrel manual|年度报告"))
    assert len(server.requests) == asked.height == 7
    first = asked.filter(asked["context"].str.starts_with("Osprey › Part 1")).row(0, named=True)
    assert first["context"] == "Osprey › Part 1\nThis part is from the Kestrel manual."
    assert "Kestrel" not in first["text"]
    assert {hit.path for hit in project.search("Kestrel manual", method="lexical")} >= {"osprey.md"}
    assert "青石.md" in {hit.path for hit in project.search("年度报告", method="lexical")}
    assert project.table("entities").filter(title="Kestrel").height == 0
    project.index()
    assert len(server.requests) == 7
    (root / "input" / "new.md").write_text(EN.replace("Osprey", "Heron"), "utf-8")
    project.index()
    assert len(server.requests) == 10


def test_all_units_of_a_document_are_asked_about_behind_the_same_beginning(root, server):
    opened(root, server).index()
    asked = [
        body
        for body in server.requests
        if "<document>\n# Osprey" in body["messages"][-1]["content"]
    ]
    beginnings = {
        (str(body["messages"][0]), str(body["messages"][-1]["content"]).partition("<part>")[0])
        for body in asked
    }
    assert (len(asked), len(beginnings)) == (3, 1)
    assert EN.strip() in beginnings.pop()[1]


def test_a_unit_that_could_not_be_asked_about_has_its_headings_and_is_asked_again(root, server):
    def partly(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return (400, {"error": {"message": "no"}}) if "## Part 1" in part_of(body) else told(body)

    server.play = partly
    project = opened(root, server)
    (line,) = project.index().incomplete
    assert line.startswith("1 of ")
    assert "got no sentence on their place in the document (osprey.md › Osprey › Part 1" in line
    units = project.table("text_units")
    assert "Osprey › Part 1" in units["context"].to_list()
    server.play, before = told, len(server.requests)
    assert project.index().incomplete == ()
    assert len(server.requests) == before + 1
    assert "Osprey › Part 1" not in project.table("text_units")["context"].to_list()


def test_a_dry_run_says_what_it_costs_before(root, server):
    found = opened(root, server, "llm.prices={m: [1.0, 2.0]}").preview()
    (step,) = found.calls
    assert (step.step, step.calls, step.cached) == ("situate", 7, 0)
    assert server.requests == []
    project = opened(root, server)
    project.index()
    sent = sum(
        count_tokens(message["content"]) for body in server.requests for message in body["messages"]
    )
    assert step.prompt_tokens == sent
    assert found.price == pytest.approx((sent + 2 * step.completion_tokens) / 1e6)
    assert project.preview().calls == ()
    assert project.preview(rebuild=True).calls[0].cached == 7


def test_it_needs_a_model(root):
    options = [option for option in OPTIONS if option != "llm.model=m"]
    with pytest.raises(SettingsError, match=r"chunks.context: llm needs a language model"):
        graphkb.open(root, options).index()


def test_back_to_headings_takes_the_sentences_out(root, server):
    opened(root, server).index()
    project = opened(root, server, "chunks.context=headings")
    project.index()
    assert not project.table("text_units")["context"].str.contains("Kestrel|年度报告").any()
    assert project._current().store.read("situations").height == 0


def test_long_documents_are_shown_in_windows(root, monkeypatch, server):
    monkeypatch.setattr("graphkb.ingest.situate.WINDOW", 100)
    project = opened(root, server, "chunks.context=headings")
    project.index()
    units, documents = project.table("text_units"), project.table("documents")
    due = units_to_situate(units, TABLES["situations"].empty())
    prompts = dict(situating_prompts(root, documents, units, due["id"].to_list()))
    assert set(prompts) == set(due["id"])
    for unit in due.iter_rows(named=True):
        document = prompts[unit["id"]].user.partition("<part>")[0]
        assert unit["text"] in document
        assert count_tokens(document) < 130


def test_a_reply_without_words_is_no_sentence():
    with pytest.raises(ValueError, match="one sentence"):
        read_sentence(' "…" ')
    assert read_sentence("“本段讲\n价格。”") == "本段讲 价格。"


@settings(max_examples=3, deadline=None, derandomize=True, database=None,
          suppress_health_check=list(HealthCheck))  # fmt: skip
@given(histories())
def test_edits_lead_to_the_tables_of_an_index_from_scratch(states: list[Files]) -> None:
    folder = Path(tempfile.mkdtemp(prefix="graphkb-law-"))
    server = ModelServer()
    server.play = lambda body: said(fixed_model.play(body))
    try:
        for name in ("changed", "fresh"):
            (folder / name / "input").mkdir(parents=True)
        for files in states:
            index(folder / "changed", files, server)
        index(folder / "fresh", states[-1], server)
        assert differences(committed(folder / "changed"), committed(folder / "fresh")) == []
        assert broken(committed(folder / "fresh")) == []
    finally:
        server.close()
        shutil.rmtree(folder)


def index(root: Path, files: Files, server: ModelServer) -> None:
    put(root, files)
    small = ["chunks.size=40", f"llm.base_url={server.url}"]
    with graphkb.open(root, [*SETTINGS, *OPTIONS, *small]) as project:
        assert project.index().incomplete == ()
