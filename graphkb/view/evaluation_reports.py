"""Fitted fusion, calibrated refusal and measured answers as lines for a terminal."""

from __future__ import annotations

from graphkb.evaluate.answers import MEANINGS, AnswerEvaluation
from graphkb.evaluate.calibrate import (
    LEAST_ANSWERABLE,
    LEAST_UNANSWERABLE,
    Calibration,
    MethodCalibration,
    Rate,
)
from graphkb.evaluate.fit import LEAST_QUESTIONS, Fit
from graphkb.settings_edit import setting_lines
from graphkb.view.evaluation import aligned, bounds
from graphkb.view.terminal import one_line

# Questions of a kind that are named.
_NAMED = 10
# Share of wrong answers from which a threshold does little.
_MANY = 0.5


def fit_lines(found: Fit) -> list[str]:
    """What was tried, the gain on questions that were not fitted on, and what follows."""
    rows = [["metric", "in force", "best (fitted on all)", "gain on held-out", "95 % interval"]]
    for name, (before, after, gain) in found.metrics.items():
        held_out = [f"{gain.mean:+.3f}", bounds(gain)] if gain else ["–", "–"]
        rows.append([name, f"{before:.3f}", f"{after:.3f}", *held_out])
    lines = [
        f"{found.n} questions, {found.tried} ways of joining the legs, chosen by {found.objective}",
        f"in force: {found.current}",
        f"best: {found.best}",
        "",
        *aligned(rows).split("\n"),
        "",
    ]
    if len(found.chosen) > 1:
        chosen = "; ".join(map(str, found.chosen))
        lines.append(f"the parts of the file do not agree on the best: {chosen}")
    lines.append(_verdict(found))
    if found.verdict == "real":
        lines += ["", *setting_lines(found.settings)]
    return lines


def _verdict(found: Fit) -> str:
    if found.verdict == "too few":
        return (
            f"no recommendation: {found.n} questions are too few to tell a gain from chance; "
            f"give at least {LEAST_QUESTIONS} (graphkb questions makes some)"
        )
    if found.verdict == "same":
        return "no recommendation: nothing did better than the settings in force"
    if found.verdict == "not sure":
        return (
            "no recommendation: on questions that were not fitted on the gain is not above chance; "
            "keep the settings, or measure on more questions"
        )
    return "recommended: the gain holds on questions that were not fitted on"


def calibration_lines(found: Calibration) -> list[str]:
    """By method: how well evidence parts the questions, and the threshold with both error rates."""
    rows = [["method", "AUC", "threshold", "false refusals", "wrong answers"]]
    for method in found.methods:
        rows.append(_row("now: ", method, now=True))
        rows.append(_row("", method, now=False))
    lines = [
        f"{found.n_answerable} answerable and {found.n_unanswerable} unanswerable questions; "
        f"at most {found.rate:.0%} false refusals; rates on held-out questions, 95 % intervals",
        "",
        *aligned(rows).split("\n"),
        "",
    ]
    if found.same:
        lines.append(f"same evidence as {found.methods[0].method}: {', '.join(found.same)}")
    for method in found.methods:
        wrong = [key for key, value in method.evidence.items() if value < method.threshold]
        if wrong:
            more = " …" if len(wrong) > _NAMED else ""
            lines.append(f"{method.method} would refuse: {', '.join(wrong[:_NAMED])}{more}")
    first = found.methods[0]
    if first.wrong_answers.share > _MANY:
        lines.append(
            f"at this rate {first.wrong_answers.share:.0%} of the unanswerable questions are "
            "answered: evidence does not part them well; --false-refusals allows more refusals"
        )
    if not found.enough:
        lines.append(
            f"no recommendation: give at least {LEAST_ANSWERABLE} answerable and "
            f"{LEAST_UNANSWERABLE} unanswerable questions"
        )
        return lines
    if found.verdict == "same":
        return [*lines, "no recommendation: no threshold did better than those in force"]
    return [*lines, "recommended:", "", *setting_lines(found.settings)]


def _row(prefix: str, found: MethodCalibration, now: bool) -> list[str]:
    threshold = found.threshold_now if now else found.threshold
    refused = found.false_refusals_now if now else found.false_refusals
    wrong = found.wrong_answers_now if now else found.wrong_answers
    auc = "" if now else f"{found.auc:.3f} {bounds(found.auc_interval, '')}"
    return [f"{prefix}{found.method}", auc, f"{threshold:.3f}", _rate(refused), _rate(wrong)]


def _rate(rate: Rate) -> str:
    return f"{rate.share:.1%} ({rate.interval.low:.1%}–{rate.interval.high:.1%})"


def answer_lines(found: AnswerEvaluation) -> list[str]:
    """By method, each measure with its interval and meaning, then the answers that need a look."""
    lines: list[str] = []
    for method in found.methods:
        rows = [["measure", "value", "95 % interval", "of", "meaning"]]
        for name, share in method.shares.items():
            value = [f"{share.mean:.3f}", bounds(share.interval, ""), str(share.n)]
            rows.append([name, *value, MEANINGS[name]])
        lines += [f"{method.method}, {len(method.questions)} questions:"]
        lines += aligned(rows, left=(0, 4)).split("\n")
        kinds = {
            "refused though answerable": [
                q for q in method.questions if q.refused and not q.unanswerable
            ],
            "answered though unanswerable": [
                q for q in method.questions if q.unanswerable and not q.refused
            ],
            "with statements that their sources do not bear out": [
                q for q in method.questions if q.support.supported < q.support.checked
            ],
        }
        for what, questions in kinds.items():
            if questions:
                lines += ["", f"{what}: {len(questions)}"]
                lines += [f"  {q.id}: {one_line(q.query)}" for q in questions[:_NAMED]]
        lines.append("")
    return lines[:-1]
