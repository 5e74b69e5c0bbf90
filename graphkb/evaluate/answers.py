"""Measures whole answers: refusals, citations, support, and agreement with the right answer."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from graphkb.errors import ModelFailure
from graphkb.evaluate.faithful import Judged, Support, check_support, judge_answers
from graphkb.evaluate.matching import Match, match_answer
from graphkb.evaluate.questions import Question, QuestionSet
from graphkb.evaluate.resample import Interval, mean_interval, share_interval
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer, Progress, no_progress

if TYPE_CHECKING:
    from graphkb.llm.model import Model

DEFAULT_METHODS = ("auto",)


class Answering(Protocol):
    """What measuring answers needs of a project."""

    def query(self, question: str, method: str = "auto") -> Answer: ...


@dataclass(frozen=True)
class AnswerResult:
    """One question's answer. ``match`` is None where the file has no answer or it was refused;
    ``judged`` where no model judged it."""

    id: str
    query: str
    text: str
    method: str
    refused: bool
    unanswerable: bool
    support: Support
    match: Match | None
    judged: Judged | None
    seconds: float
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True)
class Share:
    """A mean with its 95 % interval over ``n`` questions or statements."""

    mean: float
    interval: Interval
    n: int


@dataclass(frozen=True)
class AnswersOfMethod:
    """``shares`` maps each measure that could be taken to its value, see :data:`MEANINGS`."""

    method: str
    shares: Mapping[str, Share]
    questions: tuple[AnswerResult, ...]


@dataclass(frozen=True)
class AnswerEvaluation:
    """Answers by query method. ``judge`` names the model that judged support, empty without."""

    methods: tuple[AnswersOfMethod, ...]
    judge: str = ""
    failures: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


MEANINGS: dict[str, str] = {
    "false refusals": "answerable questions that were refused",
    "right refusals": "unanswerable questions that were refused",
    "cited": "statements with a citation",
    "citations exist": "citations whose quote stands in the document they name",
    "supported": "cited statements that their sources bear out, by words, numbers and names",
    "supported (model)": "cited statements that the model finds borne out, partly counting half",
    "exact": "answers that are a right one and nothing else",
    "contains": "answers that hold a right one word for word",
    "f1": "tokens in common with a right answer (Chinese by characters)",
}


def evaluate_answers(
    project: Answering,
    snapshot: Snapshot,
    question_set: QuestionSet,
    methods: Sequence[str] = (),
    model: Model | None = None,
    progress: Progress = no_progress,
) -> AnswerEvaluation:
    """Asks every question by each query method and measures the answers.

    ``model`` judges support beside the comparison by words; an answer that it cannot judge is
    named in ``failures``. A refused answer counts 0 where the file has a right one, as nothing was
    said. Raises UsageError for an unknown method.
    """
    failures: dict[str, str] = {}
    found = []
    for method in dict.fromkeys(methods or DEFAULT_METHODS):
        answers = []
        for done, question in enumerate(question_set.questions, 1):
            started = time.perf_counter()
            answer = project.query(question.query, method)
            answers.append((answer, time.perf_counter() - started))
            progress(f"answers, {method}", done, len(question_set.questions))
        verdicts = _verdicts(model, snapshot, [answer for answer, _ in answers])
        results = []
        pairs = zip(question_set.questions, answers, verdicts, strict=True)
        for question, (answer, seconds), verdict in pairs:
            if isinstance(verdict, ModelFailure):
                failures[f"{method}, question {question.id}"] = str(verdict)
            judged = verdict if isinstance(verdict, Judged) else None
            results.append(_result(snapshot, question, answer, judged, seconds))
        found.append(AnswersOfMethod(method, _shares(results), tuple(results)))
    return AnswerEvaluation(tuple(found), model.name("answer") if model else "", failures)


def _verdicts(
    model: Model | None, snapshot: Snapshot, answers: Sequence[Answer]
) -> list[Judged | ModelFailure | None]:
    if model is None:
        return [None] * len(answers)
    return judge_answers(model, snapshot.root, answers)


def _result(
    snapshot: Snapshot, question: Question, answer: Answer, judged: Judged | None, seconds: float
) -> AnswerResult:
    ids = [citation.document_id for citation in answer.citations]
    rows = snapshot.store.where("documents", "id", ids, ("id", "text"))
    documents = dict(zip(rows["id"], rows["text"], strict=True))
    # What stands round the quotes of an answer without a model is not said by it.
    quotes = "\n".join(citation.quote for citation in answer.citations)
    said = "" if answer.refused else answer.text if answer.model else quotes
    nothing = Support(0, 0, 0, 0, 0, 0)
    support = check_support(answer, documents, snapshot.dictionary, snapshot.vocabulary.idf)
    return AnswerResult(
        id=question.id,
        query=question.query,
        text=answer.text,
        method=answer.method,
        refused=answer.refused,
        unanswerable=question.unanswerable,
        support=nothing if answer.refused else support,
        match=match_answer(said, question.answers) if question.answers else None,
        judged=None if answer.refused else judged,
        seconds=seconds,
        warnings=answer.warnings,
    )


def _shares(results: Sequence[AnswerResult]) -> dict[str, Share]:
    answerable = [r for r in results if not r.unanswerable]
    unanswerable = [r for r in results if r.unanswerable]
    supports = [r.support for r in results]
    shares = {
        "false refusals": _counted(sum(r.refused for r in answerable), len(answerable)),
        "right refusals": _counted(sum(r.refused for r in unanswerable), len(unanswerable)),
        "cited": _ratio([(s.cited, s.statements) for s in supports]),
        "citations exist": _ratio([(s.known, s.marks) for s in supports]),
        "supported": _ratio([(s.supported, s.checked) for s in supports]),
        "supported (model)": _ratio(
            [(r.judged.supported + r.judged.partly / 2, r.judged.n) for r in results if r.judged]
        ),
    }
    matches = [r.match for r in results if r.match is not None and not r.unanswerable]
    for name in ("exact", "contains", "f1"):
        shares[name] = _mean([float(getattr(match, name)) for match in matches])
    return {name: share for name, share in shares.items() if share is not None}


def _counted(count: int, n: int) -> Share | None:
    return Share(count / n, share_interval(count, n), n) if n else None


def _ratio(pairs: Sequence[tuple[float, int]]) -> Share | None:
    """Share over all statements; its interval is over answers, whose statements go together."""
    kept = [(part, whole) for part, whole in pairs if whole]
    if not kept:
        return None
    n = sum(whole for _, whole in kept)
    mean = math.fsum(part for part, _ in kept) / n
    interval = mean_interval([part / whole for part, whole in kept])
    return Share(mean, Interval(min(interval.low, mean), max(interval.high, mean)), n)


def _mean(values: Sequence[float]) -> Share | None:
    if not values:
        return None
    return Share(math.fsum(values) / len(values), mean_interval(values), len(values))
