"""An evaluation as one HTML page: tables and charts in it, nothing loaded from anywhere.

Charts are inline SVG. Every text from a question or document is escaped; the page has no script.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence

from graphkb.evaluate.misses import Miss
from graphkb.evaluate.results import Evaluation, MethodResult
from graphkb.view.evaluation import LOST, bounds, main_metrics, outside_line
from graphkb.view.terminal import printable

_COLOURS = ("#2f6db3", "#c2571a", "#3b8a4a", "#8452a8", "#8a6d1d", "#5b6770")
_STYLE = """
:root{color-scheme:light dark}
body{font:15px/1.5 system-ui,"Noto Sans CJK SC","PingFang SC","Microsoft YaHei",sans-serif;
max-width:64em;margin:2em auto;padding:0 1em}
table{border-collapse:collapse;margin:.6em 0}
th,td{padding:.2em .7em;text-align:right;border-bottom:1px solid #8884;vertical-align:top}
th:first-child,td:first-child,.text{text-align:left}
svg{max-width:100%;height:auto}
svg text{font-size:12px;fill:currentColor}
.dim{opacity:.7}
details{margin:.4em 0}
summary{cursor:pointer}
"""
_WIDTH, _LABEL, _BAR, _GAP = 720, 130, 14, 12
# Shorter, since they head columns.
_LOST = {**LOST, "fused out": "fusion ranked it out", "cut": "below the cut"}


def evaluation_html(evaluation: Evaluation, misses: Sequence[Miss], title: str) -> str:
    """The whole page."""
    judged = len(evaluation.judged)
    last = evaluation.ks[-1]
    parts = [
        f"<h1>{_text(title)}</h1>",
        f"<p>{judged} questions; documents ranked by their best passage; whiskers and brackets "
        "are 95 % bootstrap intervals over the questions.</p>",
        _means_chart(evaluation),
        _means_table(evaluation),
        _fusion(evaluation),
        "<h2>Recall by cut-off</h2>",
        _recall_chart(evaluation),
    ]
    for by in dict.fromkeys(group.by for group in evaluation.groups):
        parts += [f"<h2>By {_text(by)}</h2>", _group_chart(evaluation, by)]
        parts.append(_group_table(evaluation, by))
    parts += [f"<h2>Where evidence was lost (first {last})</h2>", _lost_table(evaluation, misses)]
    parts += [_miss(miss) for miss in misses]
    parts += ["<h2>Questions</h2>", _question_table(evaluation)]
    parts += _left_out(evaluation)
    body = "\n".join(part for part in parts if part)
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{_text(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{body}\n</body></html>\n"
    )


def _text(value: object) -> str:
    return html.escape(printable(str(value)))


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], text: Sequence[int] = (0,)) -> str:
    """Cells are HTML already; columns in ``text`` stand left."""

    def cells(tag: str, row: Sequence[str]) -> str:
        marks = (' class="text"' if place in text else "" for place in range(len(row)))
        pairs = zip(marks, row, strict=True)
        return "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in pairs)

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f"<table><thead><tr>{cells('th', header)}</tr></thead><tbody>{body}</tbody></table>"


def _means_table(evaluation: Evaluation) -> str:
    columns = main_metrics(evaluation)
    rows = [
        [
            _text(result.method),
            *(
                f'{result.mean[name]:.3f} <span class="dim">{bounds(found, "")}</span>'
                for name, found in ((name, result.interval(name)) for name in columns)
            ),
            f"{result.p50_ms:.1f}",
            f"{result.p95_ms:.1f}",
        ]
        for result in evaluation.methods
    ]
    return _table(["method", *columns, "p50 ms", "p95 ms"], rows)


def _fusion(evaluation: Evaluation) -> str:
    found = evaluation.comparison
    if found is None:
        return ""
    paired = f" {bounds(found.paired)}" if found.paired else ""
    return (
        f"<p>Fusion {found.fusion:.3f} MRR against its best leg ({_text(found.best_leg)}) "
        f"{found.best:.3f}: {found.difference:+.3f}{paired}.</p>"
    )


Bar = tuple[str, float, float | None, float | None, int]
"""Label, value in [0, 1], low and high end of its interval or None, number of its colour."""


def _bars(name: str, groups: Sequence[tuple[str, Sequence[Bar]]]) -> str:
    """Horizontal bars in groups, with whiskers."""
    width = _WIDTH - _LABEL - 60
    shapes = []
    y = 0
    for heading, bars in groups:
        y += _BAR + _GAP // 2
        shapes.append(f'<text x="0" y="{y - 3}" font-weight="600">{_text(heading)}</text>')
        for label, value, low, high, colour in bars:
            fill = _COLOURS[colour % len(_COLOURS)]
            middle = y + _BAR / 2
            shapes.append(
                f'<text x="{_LABEL - 8}" y="{y + 11}" text-anchor="end">{_text(label)}</text>'
                f'<rect x="{_LABEL}" y="{y}" width="{value * width:.1f}" height="{_BAR - 2}" '
                f'fill="{fill}"/>'
                f'<text x="{_WIDTH - 44}" y="{y + 11}">{value:.3f}</text>'
            )
            if low is not None and high is not None:
                shapes.append(
                    f'<path d="M{_LABEL + low * width:.1f} {middle}H{_LABEL + high * width:.1f}" '
                    'stroke="currentColor" stroke-width="1.5"/>'
                )
            y += _BAR
        y += _GAP
    return (
        f'<svg viewBox="0 0 {_WIDTH} {y}" width="{_WIDTH}" height="{y}" role="img" '
        f'aria-label="{_text(name)}">{"".join(shapes)}</svg>'
    )


def _means_chart(evaluation: Evaluation) -> str:
    groups = []
    for metric in main_metrics(evaluation):
        bars = []
        for colour, result in enumerate(evaluation.methods):
            found = result.interval(metric)
            bars.append((result.method, result.mean[metric], found.low, found.high, colour))
        groups.append((metric, bars))
    return _bars("means by method", groups)


def _group_chart(evaluation: Evaluation, by: str) -> str:
    metric = main_metrics(evaluation)[0]
    groups = [
        (
            f"{metric}, {by} {group.value} ({group.n})",
            [
                (method, means[metric], None, None, colour)
                for colour, (method, means) in enumerate(group.means.items())
            ],
        )
        for group in evaluation.groups
        if group.by == by
    ]
    return _bars(f"recall by {by}", groups)


def _group_table(evaluation: Evaluation, by: str) -> str:
    columns = main_metrics(evaluation)
    rows = [
        [_text(group.value), _text(method), str(group.n), *(f"{means[c]:.3f}" for c in columns)]
        for group in evaluation.groups
        if group.by == by
        for method, means in group.means.items()
    ]
    return _table([_text(by), "method", "questions", *columns], rows, (0, 1))


def _recall_chart(evaluation: Evaluation) -> str:
    """Recall against k, one line a method, over every k that was measured."""
    height, left, bottom = 220, 44, 24
    width = _WIDTH - left - 140
    ks = evaluation.ks
    span = max(ks[-1] - ks[0], 1)

    def x(k: int) -> float:
        return left + width * ((k - ks[0]) / span if len(ks) > 1 else 0.5)

    def y(value: float) -> float:
        return 8 + (height - bottom - 8) * (1 - value)

    shapes = []
    for mark in (0.0, 0.25, 0.5, 0.75, 1.0):
        shapes.append(
            f'<path d="M{left} {y(mark):.1f}h{width}" stroke="#8884"/>'
            f'<text x="{left - 6}" y="{y(mark) + 4:.1f}" text-anchor="end">{mark:g}</text>'
        )
    shapes += [f'<text x="{x(k):.1f}" y="{height - 6}" text-anchor="middle">{k}</text>' for k in ks]
    for colour, result in enumerate(evaluation.methods):
        fill = _COLOURS[colour % len(_COLOURS)]
        places = [(x(k), y(result.mean[f"recall@{k}"])) for k in ks]
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        shapes.append(f'<polyline points="{points}" fill="none" stroke="{fill}" stroke-width="2"/>')
        shapes += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="3" fill="{fill}"/>' for a, b in places]
        row = 20 + 18 * colour
        shapes.append(
            f'<rect x="{_WIDTH - 120}" y="{row - 9}" width="10" height="10" fill="{fill}"/>'
            f'<text x="{_WIDTH - 104}" y="{row}">{_text(result.method)}</text>'
        )
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" height="{height}" role="img" '
        f'aria-label="recall by cut-off">{"".join(shapes)}</svg>'
    )


def _lost_table(evaluation: Evaluation, misses: Sequence[Miss]) -> str:
    rows = []
    for result in evaluation.methods:
        places: list[str] = [
            lost.place for m in misses if m.method == result.method for lost in m.lost
        ]
        rows.append([_text(result.method), *(str(places.count(place)) for place in _LOST)])
    return _table(["method", *_LOST.values()], rows)


def _miss(miss: Miss) -> str:
    rows = [
        [
            _text(lost.item),
            _LOST[lost.place],
            str(lost.rank or "–"),
            _text(", ".join(f"{leg} {rank or '–'}" for leg, rank in lost.legs.items())),
        ]
        for lost in miss.lost
    ]
    rows += [[_text(item), "found", str(rank), ""] for item, rank in miss.found.items()]
    top = "".join(
        f"<li><b>{_text(name)}</b>: {_text(' · '.join(titles) or 'nothing')}</li>"
        for name, titles in miss.top.items()
    )
    return (
        f"<details><summary>{_text(miss.method)} · {_text(miss.id)}: {_text(miss.query)}</summary>"
        f"{_table(['document', 'where', 'rank', 'ranks by leg'], rows, (0, 1, 3))}"
        f"<ul>{top}</ul></details>"
    )


def _question_table(evaluation: Evaluation) -> str:
    metric = main_metrics(evaluation)[0]
    judged = set(evaluation.judged)
    values = {r.method: _values(r, metric) for r in evaluation.methods}
    rows = [
        [
            _text(asked.id),
            _text(asked.query),
            _text(", ".join(asked.relevant.values())),
            *(f"{found[asked.id]:.2f}" for found in values.values()),
        ]
        for asked in evaluation.questions
        if asked.id in judged
    ]
    header = ["id", "question", "relevant", *(f"{_text(name)} {metric}" for name in values)]
    return _table(header, rows, (0, 1, 2))


def _values(result: MethodResult, metric: str) -> dict[str, float]:
    return {q.id: q.metrics[metric] for q in result.questions if q.metrics}


def _left_out(evaluation: Evaluation) -> list[str]:
    said = [f"{item.where}: {item.reason}" for item in (*evaluation.refused, *evaluation.unmatched)]
    said += [f"{method}: {reason}" for method, reason in evaluation.skipped.items()]
    if evaluation.excluded:
        said.append(f"without relevant documents: {', '.join(evaluation.excluded)}")
    if outside := outside_line(evaluation):
        said.append(outside)
    if not said:
        return []
    return ["<h2>Left out</h2>", f"<ul>{''.join(f'<li>{_text(line)}</li>' for line in said)}</ul>"]
