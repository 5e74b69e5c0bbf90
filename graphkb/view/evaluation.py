"""An evaluation as a Markdown table that also reads well on a terminal."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from graphkb.evaluate.run import Evaluation
from graphkb.view.terminal import one_line


def evaluation_lines(evaluation: Evaluation) -> list[str]:
    """How much was measured, the table, and fusion against its best leg."""
    judged = evaluation.n_questions - len(evaluation.excluded)
    lines = [f"{judged} questions, documents ranked by their best passage", ""]
    lines += markdown_table(evaluation).split("\n")
    comparison = evaluation.comparison
    if comparison:
        lines += [
            "",
            (
                f"fusion {comparison.fusion:.3f} against its best leg ({comparison.best_leg}) "
                f"{comparison.best:.3f}: {comparison.difference:+.3f} MRR"
            ),
        ]
    return lines


def miss_lines(evaluation: Evaluation) -> list[str]:
    """By method, the questions with evidence missing from the last cut-off, and what is missing."""
    last = evaluation.ks[-1]
    lines = []
    for result in evaluation.methods:
        missed = [question for question in result.questions if question.missed(last)]
        lines += ["", f"{result.method}, evidence missing from the first {last}:"]
        for question in missed:
            lines.append(f"  {question.id}: {one_line(question.query)}")
            for item in question.missed(last):
                rank = question.ranks[item]
                place = f"rank {rank}" if rank else "not found"
                lines.append(f"    {place}: {one_line(item)}")
    return lines


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
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
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
