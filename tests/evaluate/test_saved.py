"""Runs are kept, read back and compared; exported for other tools and as a page."""

from __future__ import annotations

import html.parser
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphkb.errors import InputError, UsageError
from graphkb.evaluate.compare import compare_runs
from graphkb.evaluate.metrics import evaluate
from graphkb.evaluate.misses import Lost, Miss
from graphkb.evaluate.results import Asked, Evaluation, MethodResult, QuestionResult
from graphkb.evaluate.run import metric_names
from graphkb.evaluate.saved import SavedRun, check_name, list_runs, load_run, save_run
from graphkb.evaluate.trec import write_trec
from graphkb.view.evaluation import run_comparison_lines
from graphkb.view.evaluation_html import evaluation_html

KS = (1, 2)


def evaluation(rankings: dict[str, Sequence[str]], method: str = "hybrid") -> Evaluation:
    """An evaluation in which question ``n`` is answered by document ``文档 n``."""
    relevant = {key: f"文档 {key}" for key in rankings}
    metrics = evaluate({k: [v] for k, v in relevant.items()}, rankings, metric_names(KS))
    questions = tuple(
        QuestionResult(
            key, f"问题<{key}>", metrics.per_question[key], {"标题": None}, ("甲",), 1.0, (),
            tuple(ranked), {"标题": {"lexical": 1}},
        )
        for key, ranked in rankings.items()
    )  # fmt: skip
    asked = tuple(
        Asked(key, f"问题<{key}>", {relevant[key]: "标题"}, 1 + int(key) % 2, "zh", "")
        for key in rankings
    )
    result = MethodResult(method, metrics.mean, 1.0, 2.0, questions)
    return Evaluation(KS, 100, len(rankings), (result,), questions=asked)


GOOD = {str(n): [f"文档 {n}", "x"] for n in range(12)}
POOR = {**GOOD, **{str(n): ["x", f"文档 {n}"] for n in range(10)}}


def test_a_saved_run_is_read_back_whole(tmp_path: Path):
    run = SavedRun("调整前", evaluation(GOOD), 3, {"search": {"fusion": "alpha"}})
    path = save_run(tmp_path, run)
    assert path == tmp_path / "eval" / "调整前.json"
    assert load_run(tmp_path, "调整前") == run
    assert load_run(tmp_path, str(path)) == run
    printed = tmp_path / "printed.json"
    printed.write_text(json.dumps(run.evaluation.to_dict(), ensure_ascii=False), "utf8")
    assert load_run(tmp_path, str(printed)).evaluation == run.evaluation
    assert list_runs(tmp_path) == ["调整前"]
    assert [file.name for file in path.parent.iterdir()] == ["调整前.json"], "no half file"


def test_what_is_no_run_is_named(tmp_path: Path):
    with pytest.raises(UsageError, match=r"saved runs: none yet; make one with graphkb eval"):
        load_run(tmp_path, "none")
    with pytest.raises(UsageError, match=r"run name '\.\./x'"):
        save_run(tmp_path, SavedRun("../x", evaluation(GOOD)))
    with pytest.raises(UsageError, match=r"run name '': use up to 80 letters"):
        save_run(tmp_path, SavedRun("", evaluation(GOOD)))
    with pytest.raises(UsageError, match=r"80 letters, .* \(240 bytes\)"):
        check_name(tmp_path, "𠀀" * 80)
    assert list(tmp_path.iterdir()) == []
    other = tmp_path / "other.json"
    printed = evaluation(GOOD).to_dict()
    no_number = json.dumps(printed).replace('"mrr": 1.0', '"mrr": NaN')
    no_methods = json.dumps(printed | {"methods": []})
    one_question = json.loads(json.dumps(printed))
    one_question["methods"].append(one_question["methods"][0] | {"questions": []})
    for text in (
        "[1]", "{", '{"evaluation": {}, "format": 1, "name": "x"}', "3", f'{{"ks": {"9" * 5000}}}',
        json.dumps({"evaluation": printed, "format": 1, "name": "x", "version": float("inf")}),
        no_number, no_methods, json.dumps(one_question),
    ):  # fmt: skip
        other.write_text(text)
        with pytest.raises(InputError, match=r"other\.json: (not a|cannot be read as a) saved"):
            load_run(tmp_path, str(other))
    other.write_text('{"evaluation": {}, "format": 9, "name": "x"}')
    with pytest.raises(InputError, match="format 9 of another graphkb version"):
        load_run(tmp_path, str(other))


def test_a_sure_loss_is_worse_and_the_questions_are_named():
    found = compare_runs(SavedRun("甲", evaluation(GOOD)), SavedRun("乙", evaluation(POOR)))
    (method,) = found.methods
    assert found.is_worse
    assert found.n == 12
    assert method.metrics["mrr"].mean == pytest.approx(-0.5 * 10 / 12)
    assert [change.id for change in method.lost] == sorted(str(n) for n in range(10))
    assert method.won == ()
    back = compare_runs(SavedRun("乙", evaluation(POOR)), SavedRun("甲", evaluation(GOOD)))
    assert not back.is_worse
    assert len(back.methods[0].won) == 10
    lines = run_comparison_lines(found)
    assert lines[0] == "甲 → 乙, 12 questions in both"
    assert "lost 10 questions, by ndcg@2:" in lines
    assert lines[-1] == "verdict on hybrid: worse: the loss is more than chance explains"


def test_what_changed_comes_first_and_the_rest_is_counted():
    moved = {**GOOD, "0": ["x", "文档 0"], "1": ["x", "y"]}
    found = compare_runs(SavedRun("甲", evaluation(GOOD)), SavedRun("乙", evaluation(moved)))
    lines = run_comparison_lines(found)
    assert lines[2:7] == [
        "hybrid:",
        "lost 2 questions, by ndcg@2:",
        "  1.000 → 0.000  1: 问题<1>",
        "  1.000 → 0.631  0: 问题<0>",
        "unchanged 10 questions, by ndcg@2",
    ]
    assert not any("→" in line and "2: 问题<2>" in line for line in lines)
    everything = run_comparison_lines(found, everything=True)
    assert "unchanged 10 questions, by ndcg@2:" in everything
    assert "  1.000 → 1.000  2: 问题<2>" in everything
    kept = found.to_dict()["methods"][0]
    assert sorted(row["id"] for row in kept["unchanged"]) == sorted(set(GOOD) - {"0", "1"})


def test_metrics_and_methods_without_a_change_are_one_line():
    swapped = {**GOOD, "0": ["x", "文档 0"]}
    two = evaluation(GOOD)
    same = replace(two.methods[0], method="lexical")
    before = replace(two, methods=(*two.methods, same))
    after = replace(evaluation(swapped), methods=(*evaluation(swapped).methods, same))
    found = compare_runs(SavedRun("a", before), SavedRun("b", after))
    assert "recall@2" in found.methods[0].same
    lines = run_comparison_lines(found)
    (folded,) = [line for line in lines if line.startswith("unchanged: ")]
    assert "recall@2 1.000" in folded
    assert "mrr" not in folded
    assert "lost 1 question, by ndcg@2:" in lines
    assert not any(line.startswith("| recall@2 ") for line in lines)
    assert "unchanged in all 12 questions and every metric: lexical" in lines
    assert "lexical:" not in lines
    everything = run_comparison_lines(found, everything=True)
    assert "lexical:" in everything
    assert sum(line.startswith("| recall@2 ") for line in everything) == 2


def test_what_rounding_makes_is_no_change():
    one = evaluation(GOOD)
    result = one.methods[0]
    first = result.questions[0]
    nearly = {name: value - 1e-13 for name, value in first.metrics.items()}
    rounded = replace(result, questions=(replace(first, metrics=nearly), *result.questions[1:]))
    found = compare_runs(SavedRun("a", one), SavedRun("b", replace(one, methods=(rounded,))))
    assert found.methods[0].lost == ()
    assert len(found.methods[0].unchanged) == 12


def test_one_lost_question_may_be_chance():
    poorer = {**GOOD, "0": ["x", "文档 0"]}
    found = compare_runs(SavedRun("a", evaluation(GOOD)), SavedRun("b", evaluation(poorer)))
    assert not found.is_worse


@pytest.mark.parametrize("n", [1, 3, 9])
def test_too_few_questions_tell_nothing(n: int):
    few = {str(key): GOOD[str(key)] for key in range(n)}
    lost = {key: ["x", f"文档 {key}"] for key in few}
    found = compare_runs(SavedRun("甲", evaluation(few)), SavedRun("乙", evaluation(lost)))
    assert (found.verdict, found.is_worse) == ("too few", False)
    lines = run_comparison_lines(found)
    end = f"{n} questions are too few to tell from chance; give at least 10"
    assert lines[-1] == f"verdict on hybrid: none: {end}"
    (mrr,) = [line for line in lines if line.startswith("| mrr ")]
    assert mrr.split()[-4:] == ["–", "|", "–", "|"]


def test_only_questions_of_both_runs_are_compared():
    fewer = {key: GOOD[key] for key in ("3", "4")}
    found = compare_runs(SavedRun("a", evaluation(GOOD)), SavedRun("b", evaluation(fewer)))
    assert (found.n, len(found.only_before), found.only_after) == (2, 10, ())
    single = compare_runs(
        SavedRun("a", evaluation(GOOD)), SavedRun("b", evaluation(GOOD, "lexical"))
    )
    assert (single.methods[0].before, single.methods[0].after) == ("hybrid", "lexical")
    other = evaluation({"77": ["x"]})
    with pytest.raises(UsageError, match="no judged question in common"):
        compare_runs(SavedRun("a", evaluation(GOOD)), SavedRun("b", other))
    two = replace(other, methods=(*other.methods, replace(other.methods[0], method="graph")))
    with pytest.raises(UsageError, match="no method is in both"):
        compare_runs(SavedRun("a", evaluation({"77": ["x"]}, "dense")), SavedRun("b", two))


def test_trec_files_hold_what_was_measured(tmp_path: Path):
    found = evaluation(POOR)
    written = write_trec(tmp_path / "trec" / "甲", found)
    assert [path.name for path in written] == ["甲.qrels", "甲.hybrid.run"]
    qrels: dict[str, list[str]] = {}
    for line in written[0].read_text("utf8").splitlines():
        question, zero, document, grade = line.split(" ")
        assert (zero, grade) == ("0", "1")
        qrels.setdefault(question, []).append(document)
    ranked: dict[str, list[tuple[float, str]]] = {}
    for line in written[1].read_text("utf8").splitlines():
        question, q0, document, _, score, tag = line.split(" ")
        assert (q0, tag) == ("Q0", "hybrid")
        ranked.setdefault(question, []).append((-float(score), document))
    run = {
        question: [document for _, document in sorted(rows)] for question, rows in ranked.items()
    }
    assert qrels["0"] == ["文档%200"]
    again = evaluate(qrels, run, metric_names(KS)).mean
    assert again == pytest.approx(dict(found.methods[0].mean))


class _Checked(html.parser.HTMLParser):
    """Keeps the tags, and what is open at the end."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)
        if tag not in ("meta",):
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: object) -> None:
        self.tags.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_the_page_is_whole_and_loads_nothing():
    lost = Lost("<img src=x onerror=alert(1)>", "cut", 3, {"lexical": None})
    miss = Miss("hybrid", "0", "</summary><script>1</script>", (lost,), {}, {"hybrid": ("题目",)})
    page = evaluation_html(evaluation(POOR), [miss], "报告 & <b>")
    parser = _Checked()
    parser.feed(page)
    assert parser.open == []
    assert not {"script", "img", "link", "iframe", "b onerror"} & set(parser.tags)
    assert parser.tags.count("svg") == 3, "means, recall by cut-off, by hops"
    assert not re.search(r"""(?:src|href)\s*=|url\(|https?://""", page.replace("src=x", ""))
    assert "<title>报告 &amp; &lt;b&gt;</title>" in page
    assert "问题&lt;0&gt;" in page
    assert "&lt;img src=x" in page
