"""What benchmarks/retrieval.py measures with: the subset, the other engines, parts switched off."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from ablation import VARIANTS, ablate, ablation_table
from engines import ENGINES, OtherEngines, plain_words, search_words
from retrieval import report
from sets import write_subset

import graphkb
from graphkb.evaluate.questions import read_questions
from graphkb.evaluate.run import run_evaluation
from graphkb.progress import shown_progress

DOCUMENTS = {
    "valves": "Ada Lin leads the valve team at Bluestone. Bluestone builds tidal turbines.",
    "seals": "Northern Seals supplied the rubber rings of the turbine T-07 in 2021.",
    "召回": "衡锐召回了216台HZ-320支架，密封圈由南澍橡塑供应。",
    "南澍橡塑": "南澍橡塑科技公司落户浦汀市，总经理为邱砚秋。",
}
QUESTIONS = [
    {"id": "en", "query": "Who leads the valve team?", "relevant": ["valves"]},
    {"id": "zh", "query": "HZ-320的密封圈由谁供应？", "relevant": ["召回", "南澍橡塑"]},
]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An indexed project with vectors and its questions."""
    folder = tmp_path_factory.mktemp("bench")
    (folder / "input").mkdir()
    rows = ({"id": key, "title": key, "text": text} for key, text in DOCUMENTS.items())
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    (folder / "input" / "corpus.jsonl").write_text(lines, "utf-8")
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in QUESTIONS)
    (folder / "queries.jsonl").write_text(lines, "utf-8")
    with contextlib.closing(graphkb.open(folder, ["embed.when=now"])) as project:
        project.index()
    return folder


@pytest.fixture
def engines(root: Path) -> Iterator[OtherEngines]:
    with contextlib.closing(graphkb.open(root)) as project:
        yield OtherEngines(project)


def test_words_of_both_jieba_modes() -> None:
    assert "人民" in search_words("中华人民共和国 HZ-320")
    assert "hz-320" in search_words("中华人民共和国 HZ-320")
    assert plain_words("中华人民共和国，The VALVE") == ["中华人民共和国", "the", "valve"]


def test_every_installed_engine_finds_the_passage_that_has_the_words(
    engines: OtherEngines,
) -> None:
    assert {"rank-bm25, jieba words", "LanceDB hybrid (RRF), same vectors"} <= set(
        engines.search_methods
    )
    assert set(engines.search_methods) | engines.missing.keys() == ENGINES.keys()
    for name in engines.search_methods:
        assert engines.search("Who leads the valve team?", 3, name)[0].title == "valves", name
        assert engines.search("HZ-320支架的密封圈", 3, name)[0].title == "召回", name


def test_the_table_shows_both_sides_and_what_was_left_out(
    root: Path, engines: OtherEngines
) -> None:
    questions = read_questions(root / "queries.jsonl")
    ours = run_evaluation(engines.project, questions, ["hybrid", "lexical"], (1, 2, 5, 8))
    others = run_evaluation(engines, questions, ["rank-bm25, jieba words"], (1, 2, 5, 8))
    table = report("zh_multihop", ours, others)
    assert "| graphkb hybrid " in table
    assert "| rank-bm25, jieba words " in table
    assert "fusion against its best leg" in table


def test_the_subset_has_what_questions_need_and_is_the_same_each_time(tmp_path: Path) -> None:
    source = tmp_path / "set"
    (source / "input").mkdir(parents=True)
    rows = [json.dumps({"title": f"passage {i}", "text": "…"}) for i in range(1000)]
    (source / "input" / "corpus.jsonl").write_text("\n".join(rows), "utf-8")
    question = {"query": "?", "relevant": ["passage 3", "passage 999"]}
    (source / "queries.jsonl").write_text(json.dumps(question), "utf-8")
    chosen = []
    for name in ("one", "two"):
        write_subset(source, tmp_path / name)
        chosen.append((tmp_path / name / "input" / "corpus.jsonl").read_text("utf-8"))
    assert chosen[0] == chosen[1]
    titles = [json.loads(line)["title"] for line in chosen[0].splitlines()]
    assert len(titles) == len(set(titles)) == 780
    assert {"passage 3", "passage 999"} <= set(titles)


def test_every_variant_runs_and_the_table_shows_differences(root: Path) -> None:
    questions = read_questions(root / "queries.jsonl")
    queried = [name for name, variant in VARIANTS.items() if not variant.rebuild]
    with shown_progress() as progress:
        found = ablate(root, questions, {}, progress, [*queried, "no mined terms"])
    assert found.variants.keys() == {*queried, "no mined terms"}
    table = ablation_table({"small": found}, "mrr")
    assert f"| {'**defaults**':<{max(map(len, queried))}} " in table
    assert not root.with_name(f"{root.name}-variant").exists()
