"""Whole answers are measured, and the refusal threshold is found, in both languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from graphkb.errors import InputError, ModelFailure, UsageError
from graphkb.evaluate.answers import evaluate_answers
from graphkb.evaluate.calibrate import (
    Calibration,
    _calibrated,
    area_under_curve,
    choose_threshold,
)
from graphkb.evaluate.faithful import Judged, check_support, judge_answers, read_verdicts
from graphkb.evaluate.matching import match_answer
from graphkb.evaluate.questions import Question, QuestionSet
from graphkb.llm.model import make_model
from graphkb.project import Project
from graphkb.settings import LanguageModel
from graphkb.view.evaluation_reports import answer_lines, calibration_lines
from tests.model_server import model_server, prompt_of, said

ASKED = QuestionSet(
    (
        Question("1", "Who leads the Osprey project?", ("osprey.md",), ("Ada Lin",)),
        Question("2", "谁负责北斗水表项目？", ("公司.md",), ("陈明",)),
        Question("3", "What is the meaning of E-4107?", ("errors.md",), ("Brake pressure lost",)),
        Question("4", "火星上有多少家咖啡馆？", (), (), unanswerable=True),
        Question("5", "How high is Mount Kosciuszko?", (), (), unanswerable=True),
    )
)


@pytest.mark.parametrize(
    ("answer", "right", "exact", "contains"),
    [
        ("The Osprey", ["osprey"], 1, 1),
        ("It is １,200 元.", ["1200元"], 0, 1),
        ("陈明。", ["王芳", "陳明"], 1, 1),
        ("青石公司在杭州", ["苏州"], 0, 0),
        ("", ["x"], 0, 0),
        ("a cat", ["a"], 0, 0),
    ],
)
def test_answers_are_matched_in_both_languages(
    answer: str, right: list[str], exact: float, contains: float
):
    found = match_answer(answer, right)
    assert (found.exact, found.contains) == (exact, contains)
    assert 0 <= found.f1 <= 1


def test_f1_counts_characters_in_chinese():
    assert match_answer("陈明经理", ["陈明"]).f1 == pytest.approx(2 * 0.5 * 1 / 1.5)


def test_extractive_answers_are_cited_supported_and_refused(knowledge: Project):
    found = evaluate_answers(knowledge, knowledge._with_text(), ASKED, ["hybrid"])
    (method,) = found.methods
    shares = {name: share.mean for name, share in method.shares.items()}
    assert shares["false refusals"] == 0
    assert shares["right refusals"] == 1
    assert shares["cited"] == shares["citations exist"] == shares["supported"] == 1
    assert shares["contains"] == 1
    assert method.shares["contains"].n == 3
    assert "supported (model)" not in shares
    assert any(line.startswith("| false refusals") for line in answer_lines(found))


def test_an_invented_number_and_a_moved_quote_are_seen(knowledge: Project):
    snapshot = knowledge._with_text()
    answer = knowledge.query("How many employees does Bluestone have?", "hybrid")
    ids = [citation.document_id for citation in answer.citations]
    rows = snapshot.store.where("documents", "id", ids, ("id", "text"))
    documents = dict(zip(rows["id"], rows["text"], strict=True))

    def checked(text: str, shift: int = 0):
        moved = tuple(replace(c, char_start=c.char_start + shift) for c in answer.citations)
        changed = replace(answer, text=text, citations=moved)
        return check_support(changed, documents, (), lambda tokens: dict.fromkeys(tokens, 1.0))

    right = checked("Bluestone has 320 employees. [1] It is a fine place to work.")
    assert (right.statements, right.cited, right.supported, right.known) == (2, 1, 1, 1)
    assert checked("Bluestone has 950 employees. [1]").supported == 0
    assert checked("青石公司有950名员工在这里。[1]").checked == 0, "two languages are not compared"
    assert checked("Bluestone has 320 employees. [9]").known == 0
    assert checked("Bluestone has 320 employees. [1]", shift=1).known == 0


def test_the_model_judges_each_cited_statement(knowledge: Project, tmp_path: Path):
    answers = [knowledge.query(q.query, "hybrid") for q in ASKED.questions[:2]]
    refused = knowledge.query("How high is Mount Kosciuszko?", "hybrid")
    verdicts = {"en": '{"verdicts": [{"statement": 1, "verdict": "partly"}]}', "zh": "无法判断"}

    def play(body: dict[str, object]):
        return said(verdicts["zh" if "你核对" in prompt_of(body) else "en"])

    with model_server(play) as server:
        options = LanguageModel(model="m", base_url=server.url, api_key="k", max_retries=0)
        model = make_model(tmp_path, options)
        assert model is not None
        english, chinese, nothing = judge_answers(model, tmp_path, [*answers, refused])
        model.close()
    assert isinstance(english, Judged)
    assert (english.supported, english.partly, english.unsupported) == (0, 1, 0)
    assert isinstance(chinese, ModelFailure)
    assert nothing is None
    shown = [prompt_of(body) for body in server.requests]
    assert any("<sources>" in text and "Ada Lin" in text for text in shown)
    with pytest.raises(ValueError, match="no verdicts"):
        read_verdicts("<think>1: supported</think> hm")


def test_thresholds_and_area_by_hand():
    assert choose_threshold([0.2, 0.5, 0.6, 0.8], [0.1, 0.3], 0.25) == 0.4
    assert choose_threshold([0.2, 0.5], [0.3], 0.0) == 0.1
    assert choose_threshold([0.5, 0.5], [0.9], 0.05) == 0.25
    area, interval = area_under_curve([0.9, 0.8, 0.7], [0.1, 0.2])
    assert area == interval.low == interval.high == 1.0


def test_the_threshold_is_calibrated(knowledge: Project):
    found = knowledge.calibrate(ASKED, ["hybrid", "local"])
    (method,) = found.methods
    assert found.same == ("local",)
    assert (found.n_answerable, found.n_unanswerable, found.enough) == (3, 2, False)
    assert method.auc == 1
    low = max(method.evidence[key] for key in "45")
    assert low < method.threshold <= min(method.evidence[key] for key in "123")
    assert method.wrong_answers.n == 2
    assert any("no recommendation: give at least 20" in line for line in calibration_lines(found))
    with pytest.raises(InputError, match="no unanswerable questions"):
        knowledge.calibrate(QuestionSet(ASKED.questions[:2]))
    with pytest.raises(UsageError, match="unknown query method 'hybird'"):
        knowledge.calibrate(ASKED, ["hybird"])


def calibrated(now: float, with_answer: Sequence[float], without: Sequence[float]) -> Calibration:
    method = _calibrated("hybrid", {}, with_answer, without, 0.05, now, 42)
    return Calibration(0.05, len(with_answer), len(without), True, (method,), (), {"drift": 0.3})


def test_a_threshold_without_gain_is_not_recommended():
    answerable = [0.6 + place / 100 for place in range(20)]
    unanswerable = [place / 40 for place in range(10)]
    same = calibrated(0.4, answerable, unanswerable)
    assert same.methods[0].threshold != 0.4
    assert same.verdict == "same"
    end = "no recommendation: no threshold did better than those in force"
    assert calibration_lines(same)[-1] == end
    for now in (0.1, 0.7):
        found = calibrated(now, answerable, unanswerable)
        assert found.verdict == "gain"
        threshold = found.methods[0].threshold
        assert found.settings == {
            "answer.refusal_threshold": threshold,
            "answer.refusal_by_method": {"drift": 0.3},
        }
        assert "recommended:" in calibration_lines(found)


def test_calibration_leaves_out_what_the_filter_does(knowledge: Project):
    narrowed = knowledge.where("path != '公司.md'")
    found = narrowed.calibrate(ASKED, ["hybrid"])
    assert (found.n_answerable, found.n_unanswerable) == (2, 2)


def test_thresholds_by_method_are_what_answers_follow(knowledge: Project):
    overrides = ["embed.when=off", "answer.refusal_by_method={hybrid: 1.0}"]
    with Project(knowledge.root, overrides) as strict:
        assert strict.settings.answer.threshold("local") == 0.4
        assert strict.query("Who designed the Petrel gateway near a lake?", "hybrid").refused
        assert not strict.query("Who designed the Petrel gateway near a lake?", "local").refused
