from __future__ import annotations

import json
from collections.abc import Sequence

import polars as pl
import pytest

from graphkb.errors import NotIndexedError, UsageError
from graphkb.evaluate.misses import find_misses
from graphkb.evaluate.questions import Question, QuestionSet
from graphkb.evaluate.results import evaluation_from
from graphkb.evaluate.run import percentile, run_evaluation
from graphkb.types import Hit, Hits, Refused
from graphkb.view.evaluation import (
    absent_lines,
    aligned,
    evaluation_lines,
    markdown_table,
    miss_lines,
    outside_line,
)
from graphkb.view.evaluation_html import evaluation_html

DOCUMENTS = ["d1", "d2", "d3", "d4"]


def hits(*documents: str) -> Hits:
    """Hits of two units a document, the second one right behind the first."""
    found = []
    for document in documents:
        for unit in (0, 1):
            found.append(
                Hit(
                    len(found) + 1, 1 / (len(found) + 1), f"{document}-{unit}", document,
                    f"标题 {document}", f"{document}.md", "", None, 0, 2, "正文", {},
                )
            )  # fmt: skip
    return Hits(found, warnings=("dense left out",) if documents == ("d4",) else ())


RANKINGS = {
    "lexical": {"一": ["d1", "d2"], "二": ["d3", "d4", "d2"], "三": ["d4"]},
    "graph": {"一": ["d2", "d1"], "二": ["d4", "d1"], "三": []},
    "hybrid": {"一": ["d1", "d2"], "二": ["d4", "d3", "d2"], "三": ["d1"]},
}


class ThreeMethods:
    """Rankings by method and question; dense is not there yet."""

    search_methods: Sequence[str] = ("hybrid", "lexical", "dense", "graph")

    def __init__(self) -> None:
        self.asked: list[tuple[str, int | None, str]] = []

    def table(self, name: str) -> pl.DataFrame:
        assert name == "documents"
        copies = json.dumps({"duplicate_paths": ["副本/d2.md"]})
        rows = [
            (key, f"{key}.md", f"标题 {key}", "text", copies if key == "d2" else None)
            for key in DOCUMENTS
        ]
        schema = ["id", "path", "title", "text", "metadata"]
        return pl.DataFrame(rows, schema=schema, orient="row")

    def search(self, question: str, top_k: int | None = None, method: str = "hybrid") -> Hits:
        self.asked.append((question, top_k, method))
        if method == "dense":
            raise NotIndexedError("no vectors yet; run graphkb index")
        return hits(*RANKINGS[method][question])


QUESTIONS = QuestionSet(
    (
        Question("q1", "一", ("标题 d1", "副本/d2.md")),
        Question("q2", "二", ("d3", "没有")),
        Question("q3", "三", ()),
    ),
    (Refused("queries.jsonl:4", "not JSON"),),
)


def test_documents_rank_by_their_first_unit():
    evaluation = run_evaluation(ThreeMethods(), QUESTIONS, ks=(1, 2))
    hybrid, lexical, graph = evaluation.methods
    assert [result.method for result in evaluation.methods] == ["hybrid", "lexical", "graph"]
    # q1: d1 at 1, d2 at 2. q2: d3 at 1, 没有 never. q3 is not judged.
    assert lexical.mean["recall@1"] == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert lexical.mean["recall@2"] == pytest.approx((1 + 1 / 2) / 2)
    assert lexical.mean["all@2"] == pytest.approx(1 / 2)
    assert lexical.mean["mrr"] == 1
    assert hybrid.mean["mrr"] == pytest.approx((1 + 1 / 2) / 2)
    assert graph.mean["mrr"] == pytest.approx((1 + 0) / 2)
    second = lexical.questions[1]
    assert second.ranks == {"d3": 1, "没有": None}
    assert second.missed(2) == ("没有",)
    assert second.retrieved == ("标题 d3", "标题 d4")
    assert lexical.questions[2].metrics == {}
    assert lexical.questions[2].warnings == ("dense left out",)


def test_what_is_left_out_is_reported():
    evaluation = run_evaluation(ThreeMethods(), QUESTIONS, ks=(2, 1, 2))
    assert evaluation.ks == (1, 2)
    assert evaluation.n_questions == 3
    assert evaluation.excluded == ("q3",)
    assert evaluation.refused == QUESTIONS.refused
    assert evaluation.unmatched == (
        Refused("question q2", "no document has the id, path or title '没有'"),
    )
    assert evaluation.skipped == {"dense": "no vectors yet; run graphkb index"}


def test_fusion_is_compared_with_its_best_leg():
    comparison = run_evaluation(ThreeMethods(), QUESTIONS).comparison
    assert comparison is not None
    assert (comparison.best_leg, comparison.best, comparison.fusion) == ("lexical", 1.0, 0.75)
    assert comparison.difference == -0.25
    assert run_evaluation(ThreeMethods(), QUESTIONS, ["lexical"]).comparison is None


def test_asks_deep_enough_for_long_documents_and_says_where_it_is():
    project, seen = ThreeMethods(), []
    run_evaluation(project, QUESTIONS, ["lexical"], (1, 8), lambda *step: seen.append(step))
    # The first question is asked twice: once to load what the method needs.
    assert project.asked == [(text, 80, "lexical") for text in ("一", "一", "二", "三")]
    assert seen == [("lexical", done, 3) for done in range(4)]


def test_methods_must_be_known_and_one_must_run():
    with pytest.raises(UsageError, match="unknown search method 'lexicl'; known: hybrid, lexical"):
        run_evaluation(ThreeMethods(), QUESTIONS, ["lexicl"])
    with pytest.raises(NotIndexedError, match="no vectors yet"):
        run_evaluation(ThreeMethods(), QUESTIONS, ["dense"])


def test_to_dict_is_json_with_every_question():
    data = json.loads(json.dumps(run_evaluation(ThreeMethods(), QUESTIONS).to_dict()))
    assert data["comparison"]["difference"] == -0.25
    assert data["methods"][1]["questions"][1]["ranks"] == {"d3": 1, "没有": None}
    assert data["skipped"] == {"dense": "no vectors yet; run graphkb index"}


def test_percentiles_by_nearest_rank():
    assert percentile([4, 1, 3, 2], 50) == 2
    assert percentile([4, 1, 3, 2], 95) == 4
    assert percentile([7], 50) == 7
    assert percentile(list(range(1, 101)), 95) == 95


def test_tables_have_intervals_and_the_breakdown():
    evaluation = run_evaluation(ThreeMethods(), QUESTIONS, ["hybrid", "lexical"], (1, 2))
    lines = markdown_table(evaluation).split("\n")
    header = "| method | recall@1 | recall@2 | all@2 | ndcg@2 | mrr | p50 ms | p95 ms |"
    assert " ".join(lines[0].split()) == header
    assert lines[3].startswith("| lexical |    0.500 |    0.750 | 0.500 |")
    assert len({len(line) for line in lines}) == 1
    text = evaluation_lines(evaluation)
    assert text[0] == "2 questions, documents ranked by their best passage"
    assert "95 % intervals (bootstrap over the 2 questions; fewer than 10 say little):" in text
    intervals = [" ".join(line.split()) for line in text]
    assert any(line.startswith("| lexical | 0.500–1.000 | 0.000–1.000 |") for line in intervals)
    assert text[-3] == (
        "fusion 0.750 against its best leg (lexical) 1.000: -0.250 MRR (2 questions, too few to "
        "tell from chance; give at least 10)"
    )


def test_the_breakdown_is_by_hops_language_and_type():
    asked = QuestionSet(
        (
            Question("q1", "一", ("d1", "d2"), type="人物"),
            Question("q2", "二", ("d3",), hops=3, language="en"),
        )
    )
    groups = run_evaluation(ThreeMethods(), asked, ["lexical"], (1,)).groups
    assert [(group.by, group.value, group.n) for group in groups] == [
        ("hops", "2", 1), ("hops", "3", 1), ("language", "en", 1), ("language", "zh", 1),
        ("type", "none", 1), ("type", "人物", 1),
    ]  # fmt: skip
    assert groups[0].means["lexical"]["recall@1"] == 0.5
    assert groups[1].means["lexical"]["recall@1"] == 1


def test_misses_say_where_evidence_was_lost():
    project = ThreeMethods()
    asked = QuestionSet((Question("q2", "二", ("d3", "d1", "没有")),))
    evaluation = run_evaluation(project, asked, ["hybrid"], (1,))
    project.asked.clear()
    (miss,) = find_misses(project, evaluation)
    assert {method for _, _, method in project.asked} == {"lexical", "dense", "graph"}
    assert [(lost.item, lost.place, lost.rank, dict(lost.legs)) for lost in miss.lost] == [
        ("d3", "cut", 2, {"lexical": 1, "graph": None}),
        ("d1", "fused out", None, {"lexical": None, "graph": 2}),
        ("没有", "absent", None, {"lexical": None, "graph": None}),
    ]
    assert miss_lines([], 1) == ["", "no evidence is missing from the first 1"]
    assert miss_lines([miss], 1) == [
        "",
        "hybrid, evidence missing from the first 1: 1 questions",
        "  q2: 二",
        "    missing: d3: found, below the cut (rank 2); ranks by leg: lexical 1, graph none",
        "    missing: d1: a leg put it forward, fusion ranked it out; ranks by leg: lexical none, "
        "graph 2",
        "    missing: 没有: not in the knowledge base",
        "    hybrid first: 标题 d4",
        "    lexical first: 标题 d3 · 标题 d4 · 标题 d2",
        "    graph first: 标题 d4 · 标题 d1",
    ]


def test_what_the_filter_keeps_out_is_named():
    asked = QuestionSet((Question("q2", "二", ("标题 d3", "d1", "没有")),))
    project = ThreeMethods()
    evaluation = run_evaluation(project, asked, ["hybrid"], (1,), inside={"d1", "d4"})
    assert evaluation.questions[0].outside == ("标题 d3",)
    (miss,) = find_misses(project, evaluation)
    places = {lost.item: lost.place for lost in miss.lost}
    assert places == {"标题 d3": "outside", "d1": "fused out", "没有": "absent"}
    assert "    missing: 标题 d3: outside the filter (rank 2)" in miss_lines([miss], 1)
    said = "1 relevant documents of 1 questions lie outside the filter and count as not found: "
    assert outside_line(evaluation) == f"{said}q2: 标题 d3"
    assert f"{said}q2: 标题 d3" in evaluation_html(evaluation, [miss], "x")
    again = evaluation_from(json.loads(json.dumps(evaluation.to_dict())))
    assert again.questions == evaluation.questions
    assert outside_line(run_evaluation(project, asked, ["hybrid"], (1,))) == ""


@pytest.mark.parametrize(
    ("relevant", "line"),
    [
        ([("d3",), ("d1",)], ""),
        ([("没有",), ("d1",)], "1 of 2 questions names a document that is not there: it counts"),
        ([("没有",), ("x",)], "2 of 2 questions name a document that is not there: they count"),
        (
            [("没有", "d1"), ("x", "y")],
            "2 of 2 questions name a document that is not there: what is not there counts",
        ),
    ],
)
def test_questions_about_absent_documents_are_counted(relevant: list[tuple[str, ...]], line: str):
    asked = [Question(f"q{n}", "一", names) for n, names in enumerate(relevant, 1)]
    questions = QuestionSet((*asked, Question("q9", "二", ())))
    evaluation = run_evaluation(ThreeMethods(), questions, ["hybrid"], (1,))
    assert absent_lines(evaluation) == (["", f"{line} as 0"] if line else [])
    assert evaluation_lines(evaluation)[-2:] == ["", f"{line} as 0"] or not line


def test_an_unseen_document_is_in_no_leg():
    asked = QuestionSet((Question("q1", "一", ("d4",)),))
    evaluation = run_evaluation(ThreeMethods(), asked, ["hybrid", "lexical"], (2,))
    misses = find_misses(ThreeMethods(), evaluation)
    assert [(miss.method, miss.lost[0].place) for miss in misses] == [
        ("hybrid", "unseen"), ("lexical", "unseen"),
    ]  # fmt: skip


def test_aligned_is_markdown():
    rows = [["set", "bar", "how"], ["a", "0.5", "x"]]
    assert aligned(rows, left=(0, 2)) == (
        "| set | bar | how |\n| --- | --: | --- |\n| a   | 0.5 | x   |"
    )
    assert aligned([["a", "p"], ["b", "–"]]) == "| a  |  p |\n| -- | -: |\n| b  |  – |"
    assert aligned(rows).endswith("| a   | 0.5 |   x |")
