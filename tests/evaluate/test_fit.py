"""Fusion is fitted in memory, and only a gain that holds on held-out questions is recommended."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

from graphkb.errors import InputError
from graphkb.evaluate.fit import candidate_fusions, fit_runs
from graphkb.evaluate.legs import Fusion, Gathered, LegRuns, gather_runs
from graphkb.evaluate.questions import Question
from graphkb.evaluate.run import document_names
from graphkb.project import Project
from graphkb.settings import Search
from graphkb.settings_edit import setting_lines
from graphkb.view.evaluation_reports import fit_lines

UNITS = [f"单元{n}" for n in range(10)]


def runs(n: int, good: str, seed: int = 1) -> Gathered:
    """Questions that the leg ``good`` answers at rank 1, and the other leg anywhere."""
    generator = random.Random(seed)
    made = []
    for number in range(n):
        right = generator.choice(UNITS)
        rest = [unit for unit in UNITS if unit != right]
        sure = [right, *generator.sample(rest, 9)]
        chance = generator.sample(UNITS, 10)
        other = {"lexical": "graph", "graph": "lexical"}[good]
        made.append(
            LegRuns(
                f"q{number}",
                {leg: [(unit, 1.0 - place / 10) for place, unit in enumerate(order)]
                 for leg, order in ((good, sure), (other, chance))},
                0.0, 1.0, {}, {unit: unit for unit in UNITS}, (right,),
            )
        )  # fmt: skip
    return Gathered(tuple(made), ("lexical", "graph"), {})


WRONG = Search(weights={"lexical": 1.0, "graph": 0.0})


def test_a_real_gain_is_found_and_recommended():
    found = fit_runs(runs(40, "graph"), WRONG)
    assert found.verdict == "real"
    before, after, gain = found.metrics["mrr"]
    assert after == 1.0
    assert gain is not None
    assert gain.mean == pytest.approx(1 - before, abs=0.05)
    assert found.best.weights is not None
    assert found.best.weights["graph"] > found.best.weights["lexical"]
    lines = fit_lines(found)
    assert lines[-3:] == setting_lines(found.settings)[-3:]
    assert "recommended: the gain holds on questions that were not fitted on" in lines


def test_settings_that_are_best_already_stay():
    found = fit_runs(runs(40, "lexical"), WRONG)
    assert found.verdict == "same"
    assert found.best == found.current
    assert not [line for line in fit_lines(found) if line.startswith("search:")]


def test_chance_is_not_taken_for_a_gain():
    made = runs(40, "graph")
    generator = random.Random(5)
    noise = [
        LegRuns(
            question.id,
            {
                leg: [(u, 1 - p / 10) for p, u in enumerate(generator.sample(UNITS, 10))]
                for leg in made.legs
            },
            0.0,
            1.0,
            {},
            question.keys,
            question.relevant,
        )
        for question in made.runs
    ]
    found = fit_runs(Gathered(tuple(noise), made.legs, {}), WRONG)
    _, _, gain = found.metrics[found.objective]
    assert found.verdict == "not sure"
    assert gain is not None
    assert gain.low <= 0


def test_too_few_questions_recommend_nothing():
    found = fit_runs(runs(19, "graph"), WRONG)
    assert found.verdict == "too few"
    assert found.metrics["mrr"][2] is None
    assert any("19 questions are too few" in line for line in fit_lines(found))
    with pytest.raises(InputError, match="no question has a relevant document"):
        fit_runs(Gathered((), ("lexical",), {}), WRONG)


def test_every_way_is_tried_once_the_one_in_force_first():
    current = Fusion("rrf", 60, None)
    tried = candidate_fusions(("lexical", "dense", "graph"), current)
    assert tried[0] == current
    assert len({str(fusion) for fusion in tried}) == len(tried) == 110


def test_fusing_in_memory_gives_what_search_gives(knowledge: Project):
    snapshot = knowledge._with_text()
    names = document_names(knowledge)
    asked = [
        Question("1", "Who leads the Osprey project?", ("osprey.md",)),
        Question("2", "青石公司成立于什么时候？", ("公司.md",)),
        Question("3", "E-4107", ("errors.md",)),
        Question("4", "青石公司2021年第三季度的员工数", ("2021年第三季度报告.md",)),
    ]
    gathered = gather_runs(snapshot, asked, names)
    assert gathered.legs == ("lexical", "graph")
    assert list(gathered.skipped) == ["dense"]
    for question, found in zip(asked, gathered.runs, strict=True):
        hits = knowledge.search(question.query, top_k=100)
        wanted = list(dict.fromkeys(hit.document_id for hit in hits))
        assert found.ranked(Fusion("alpha", 60, None)) == wanted
    *others, dated = gathered.runs
    assert set(dated.periods.values()) == {-1.0, 0.0, 1.0}
    assert [run.periods for run in others] == [{}] * 3


def test_the_period_asked_for_counts_in_memory_too():
    runs = {"lexical": [("a", 2.0), ("b", 1.9), ("c", 1.0)]}
    keys = {unit: unit.upper() for unit in "abc"}
    question = LegRuns("1", runs, 0.0, 1.0, {}, keys, ("B",), {"a": -1.0, "b": 1.0})
    fusion = Fusion("alpha", 60, None)
    assert question.ranked(fusion)[0] == "B"
    assert replace(question, periods={}).ranked(fusion)[0] == "A"
