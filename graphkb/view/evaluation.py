"""An evaluation as Markdown tables that also read well on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphkb.evaluate.compare import Change, MethodComparison, RunComparison
from graphkb.evaluate.misses import Miss
from graphkb.evaluate.questions import UNMATCHED
from graphkb.evaluate.resample import LEAST_PAIRS, Difference, Interval
from graphkb.evaluate.results import Evaluation
from graphkb.view.counts import noun
from graphkb.view.terminal import one_line

# Items of a kind that are named.
_NAMED = 5


def evaluation_lines(evaluation: Evaluation) -> list[str]:
    """How much was measured, the table, its intervals, the breakdown, and fusion against its best
    leg."""
    judged = evaluation.n_questions - len(evaluation.excluded)
    lines = [f"{judged} questions, documents ranked by their best passage", ""]
    lines += markdown_table(evaluation).split("\n")
    few = "" if judged >= LEAST_PAIRS else f"; fewer than {LEAST_PAIRS} say little"
    lines += ["", f"95 % intervals (bootstrap over the {judged} questions{few}):"]
    lines += interval_table(evaluation).split("\n")
    for by in dict.fromkeys(group.by for group in evaluation.groups):
        lines += ["", f"by {by}:", *group_table(evaluation, by).split("\n")]
    comparison = evaluation.comparison
    if comparison:
        lines += [
            "",
            (
                f"fusion {comparison.fusion:.3f} against its best leg ({comparison.best_leg}) "
                f"{comparison.best:.3f}: {comparison.difference:+.3f} MRR"
                + (f" {bounds(comparison.paired)}" if comparison.paired else "")
            ),
        ]
    return lines + absent_lines(evaluation)


def absent_lines(evaluation: Evaluation) -> list[str]:
    """How many of the questions name a document that the knowledge base does not have; none where
    all are there."""
    asked = {item.where for item in evaluation.unmatched}
    if not asked:
        return []
    whole = all(
        all(key.startswith(UNMATCHED) for key in question.relevant)
        for question in evaluation.questions
        if f"question {question.id}" in asked
    )
    one = len(asked) == 1
    judged = evaluation.n_questions - len(evaluation.excluded)
    said = f"{len(asked)} of {judged} questions {'names' if one else 'name'} a document that is "
    counts = ("it counts" if one else "they count") if whole else "what is not there counts"
    return ["", f"{said}not there: {counts} as 0"]


def bounds(found: Difference | Interval, sign: str = "+") -> str:
    """An interval in brackets, with the p-value of a difference; words where the questions are too
    few."""
    if isinstance(found, Difference) and not found.is_enough:
        return f"({found.n} questions, {_TOO_FEW})"
    p = f", p {found.p:.3f}" if isinstance(found, Difference) else ""
    return f"[{found.low:{sign}.3f}, {found.high:{sign}.3f}]{p}"


_TOO_FEW = f"too few to tell from chance; give at least {LEAST_PAIRS}"


def interval_table(evaluation: Evaluation) -> str:
    """One row a method: the 95 % interval of recall, all evidence and nDCG at the last k, and of
    MRR."""
    columns = main_metrics(evaluation)
    rows = [["method", *columns]]
    for result in evaluation.methods:
        found = [result.interval(column) for column in columns]
        rows.append([result.method, *(f"{i.low:.3f}–{i.high:.3f}" for i in found)])
    return aligned(rows)


def main_metrics(evaluation: Evaluation) -> list[str]:
    """Recall, all evidence and nDCG at the last k, and MRR."""
    last = evaluation.ks[-1]
    return [f"recall@{last}", f"all@{last}", f"ndcg@{last}", "mrr"]


def group_table(evaluation: Evaluation, by: str) -> str:
    """One row a value of ``by`` and method, with the means over the questions that have it."""
    columns = main_metrics(evaluation)
    rows = [[by, "method", "questions", *columns]]
    for group in evaluation.groups:
        if group.by == by:
            for method, means in group.means.items():
                values = [f"{means[column]:.3f}" for column in columns]
                rows.append([one_line(group.value), method, str(group.n), *values])
    return aligned(rows, left=(0, 1))


LOST = {
    "absent": "not in the knowledge base",
    "outside": "outside the filter",
    "unseen": "not among the candidates",
    "fused out": "a leg put it forward, fusion ranked it out",
    "cut": "found, below the cut",
}
# Places that no leg can reach.
_UNREACHABLE = ("absent", "outside")


def outside_line(evaluation: Evaluation) -> str:
    """How many relevant documents the filter keeps out, the first of them named; empty without."""
    kept_out = [f"{q.id}: {item}" for q in evaluation.questions for item in q.outside]
    if not kept_out:
        return ""
    asked = sum(bool(question.outside) for question in evaluation.questions)
    more = ", …" if len(kept_out) > _NAMED else ""
    return (
        f"{len(kept_out)} relevant documents of {asked} questions lie outside the filter and count "
        f"as not found: {', '.join(map(one_line, kept_out[:_NAMED]))}{more}"
    )


def miss_lines(misses: Sequence[Miss], last: int) -> list[str]:
    """By method, the questions with evidence missing from the first ``last`` documents: where each
    missing document was lost, its rank in each leg, and what stood first."""
    if not misses:
        return ["", f"no evidence is missing from the first {last}"]
    lines: list[str] = []
    for method in dict.fromkeys(miss.method for miss in misses):
        own = [miss for miss in misses if miss.method == method]
        lines += ["", f"{method}, evidence missing from the first {last}: {len(own)} questions"]
        for miss in own:
            lines.append(f"  {miss.id}: {one_line(miss.query)}")
            lines += [f"    {line}" for line in _miss(miss)]
    return lines


def _miss(miss: Miss) -> list[str]:
    lines = []
    for lost in miss.lost:
        rank = f" (rank {lost.rank})" if lost.rank else ""
        seen = ", ".join(f"{leg} {place or 'none'}" for leg, place in lost.legs.items())
        known = f"; ranks by leg: {seen}" if seen and lost.place not in _UNREACHABLE else ""
        lines.append(f"missing: {one_line(lost.item)}: {LOST[lost.place]}{rank}{known}")
    lines += [f"found: {one_line(item)} at rank {place}" for item, place in miss.found.items()]
    for name, titles in miss.top.items():
        shown = " · ".join(one_line(title) for title in titles) or "nothing"
        lines.append(f"{name} first: {shown}")
    return lines


def run_comparison_lines(found: RunComparison, *, everything: bool = False) -> list[str]:
    """By method: the questions won and lost, then each metric before and after with the paired
    difference. What did not change is counted in a line, or shown like the rest where
    ``everything`` is asked for."""
    left_out = len(found.only_before) + len(found.only_after)
    more = f" ({left_out} in one run only, left out)" if left_out else ""
    lines = [f"{found.before} → {found.after}, {found.n} questions in both{more}"]
    same = [one for one in found.methods if len(one.same) == len(one.metrics)]
    for method in found.methods:
        if everything or method not in same:
            lines += ["", f"{_method_name(method)}:", *_method_lines(method, everything)]
    if same and not everything:
        names = ", ".join(map(_method_name, same))
        lines += ["", f"unchanged in all {found.n} questions and every metric: {names}"]
    verdict = {
        "worse": "worse: the loss is more than chance explains",
        "not worse": "not worse",
        "too few": f"none: {found.n} questions are {_TOO_FEW}",
    }[found.verdict]
    return [*lines, "", f"verdict on {found.methods[0].after}: {verdict}"]


def _method_name(method: MethodComparison) -> str:
    return method.after if method.before == method.after else f"{method.before} → {method.after}"


def _method_lines(method: MethodComparison, everything: bool) -> list[str]:
    lines = []
    shown = {"won": method.won, "lost": method.lost}
    shown |= {"unchanged": method.unchanged} if everything else {}
    for what, changes in shown.items():
        if changes:
            lines.append(f"{what} {_questions(len(changes))}, by {method.by}:")
            lines += [f"  {_change(change)}" for change in changes]
    if method.unchanged and not everything:
        lines.append(f"unchanged {_questions(len(method.unchanged))}, by {method.by}")
    rows = [["metric", "before", "after", "difference", "95 % interval", "p"]]
    for metric, difference in method.metrics.items():
        if metric in method.same and not everything:
            continue
        before, after = method.means[metric]
        interval, p = "–", "–"
        if difference.is_enough:
            interval = f"{difference.low:+.3f} to {difference.high:+.3f}"
            p = f"{difference.p:.3f}"
        values = [f"{before:.3f}", f"{after:.3f}", f"{difference.mean:+.3f}"]
        rows.append([metric, *values, interval, p])
    lines += ["", *aligned(rows).split("\n")]
    if method.same and not everything:
        told = ", ".join(f"{name} {method.means[name][1]:.3f}" for name in method.same)
        lines.append(f"unchanged: {told}")
    return lines


def _questions(n: int) -> str:
    return f"{n} {noun(n, 'questions')}"


def _change(change: Change) -> str:
    return f"{change.before:.3f} → {change.after:.3f}  {change.id}: {one_line(change.query)}"


def markdown_table(evaluation: Evaluation) -> str:
    """One row a method: recall at each k, all evidence and nDCG at the last k, MRR, latency."""
    last = evaluation.ks[-1]
    columns = [f"recall@{k}" for k in evaluation.ks] + [f"all@{last}", f"ndcg@{last}", "mrr"]
    rows = [["method", *columns, "p50 ms", "p95 ms"]]
    for result in evaluation.methods:
        values = [f"{result.mean[column]:.3f}" for column in columns]
        rows.append([result.method, *values, f"{result.p50_ms:.1f}", f"{result.p95_ms:.1f}"])
    return aligned(rows)


def aligned(rows: Sequence[Sequence[str]], left: Collection[int] = (0,)) -> str:
    """A Markdown table that also reads well as plain text; the first row is the header.

    Columns in ``left`` are text and stand left, the others are numbers and stand right.
    """
    # A rule of one character is none in Markdown.
    widths = [max(2, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = [
        "-" * width if place in left else "-" * (width - 1) + ":"
        for place, width in enumerate(widths)
    ]
    return "\n".join(_line(row, widths, left) for row in [rows[0], rule, *rows[1:]])


def _line(row: Sequence[str], widths: Sequence[int], left: Collection[int]) -> str:
    cells = [
        cell.ljust(width) if place in left else cell.rjust(width)
        for place, (cell, width) in enumerate(zip(row, widths, strict=True))
    ]
    return f"| {' | '.join(cells)} |"
