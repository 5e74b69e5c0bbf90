"""Why a document was, or was not, returned: for a terminal and for a notebook."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator

from graphkb.explanation import Explanation, LegView
from graphkb.view.answer import STYLE, place, within
from graphkb.view.counts import noun
from graphkb.view.terminal import one_line

_TEXT = 240


def explanation_lines(
    found: Explanation,
    bold: Callable[[str], str] = str,
    dim: Callable[[str], str] = str,
) -> list[str]:
    """The explanation as it is read: the outcome, then what led to it, then the advice."""
    return [
        bold(one_line(place(found.title, ""))) + dim(f"  {one_line(_where(found))}"),
        dim(f"“{_shortened(found.text)}”"),
        "",
        bold(outcome(found)),
        *(
            line
            for title, rows in _sections(found)
            for line in ("", f"{bold(title)}:", *(f"  {row}" for row in rows))
        ),
        "",
        f"{bold('Advice')}: {found.advice}",
    ]


def _where(found: Explanation) -> str:
    """Path, pages or sheet where there are any, text unit."""
    return ", ".join(filter(None, (found.path, within(found), f"text unit {found.text_unit_id}")))


def _sections(found: Explanation) -> tuple[tuple[str, Iterator[str]], ...]:
    return (
        ("Words of the question", word_rows(found)),
        ("Legs", leg_rows(found)),
        ("Named in the question", named_rows(found)),
        ("Way through the graph", path_rows(found)),
    )


def outcome(found: Explanation) -> str:
    """One line: returned or not, the places on the way, and where it was cut."""
    said = "Returned" if found.returned else "Not returned"
    parts = [found.reason]
    if found.fused_rank is not None and found.fused_score is not None:
        parts.append(
            f"fused place {found.fused_rank} of {found.n_fused}, score {found.fused_score:.4g}"
        )
    if found.rerank_rank is not None and found.rerank_score is not None:
        parts.append(f"reranked to {found.rerank_rank}, score {found.rerank_score:.4g}")
    if not found.returned and found.last_score is not None:
        parts.append(f"the last hit has {found.last_score:.4g}")
    cut = f" (cut by {found.cut})" if found.cut else ""
    return f"{said}{cut}: {'; '.join(parts)}"


def word_rows(found: Explanation) -> Iterator[str]:
    """A row a word: whether it is there, its idf, how many text units hold it."""
    for word in found.words:
        held = "in the text unit" if word.in_unit else "elsewhere in the document"
        there = held if word.in_document else "missing"
        yield (
            f"{'+' if word.in_document else '-'} {one_line(word.token)}  {there}  "
            f"idf {word.idf:.2f}, in {_units(word.text_units)}"
        )
    if not found.words:
        yield "none"


def leg_rows(found: Explanation) -> Iterator[str]:
    """A row a leg: rank, score and weight there."""
    for leg in found.legs:
        other = leg.text_unit_id if leg.text_unit_id != found.text_unit_id else ""
        beside = f"  (text unit {other})" if other else ""
        yield f"{leg.leg:<9} {leg_text(leg)}{beside}"


def leg_text(leg: LegView) -> str:
    """What a leg says of the document."""
    if leg.problem:
        return leg.problem
    score = "nothing connects it to the question" if leg.score is None else f"score {leg.score:.4g}"
    last = "" if leg.lowest is None else f" (the last has {leg.lowest:.4g})"
    if leg.rank is not None:
        said = f"place {leg.rank} of {leg.candidates}, {score}"
    else:
        said = f"not among its {leg.candidates} candidates{last}: {score}"
    return said if leg.weight is None else f"{said}; weight {leg.weight:.2f}"


def named_rows(found: Explanation) -> Iterator[str]:
    """A row an entity that the question names."""
    for one in found.named:
        here = "in the document" if one.in_document else "not in the document"
        yield (
            f"“{one_line(one.surface)}” → {one_line(one.entity)}  {one.how}, "
            f"weight {one.weight:.2f}, in {_units(one.text_units)}, {here}"
        )
    if not found.named:
        yield "no entity of the graph"


def path_rows(found: Explanation) -> Iterator[str]:
    """The way from a named entity to the text unit, a row a step."""
    for link in found.links:
        phrase = _shortened(link.phrase) if link.phrase else "related"
        yield f"{one_line(link.source)} —{phrase}→ {one_line(link.target)}"
    if not found.links:
        yield "none within a few steps" if found.named else "none: the question names no entity"


def explanation_html(found: Explanation) -> str:
    """The explanation for a notebook."""
    title = html.escape(place(found.title, ""))
    where = html.escape(_where(found))
    parts = "".join(
        f"<details open><summary>{name}</summary><ul>"
        + "".join(f"<li>{html.escape(row)}</li>" for row in rows)
        + "</ul></details>"
        for name, rows in _sections(found)
    )
    return (
        f'{STYLE}<div class="graphkb"><b>{title}</b> <span class="dim">{where}</span>'
        f"<blockquote>{html.escape(_shortened(found.text))}</blockquote>"
        f"<div><b>{html.escape(outcome(found))}</b></div>{parts}"
        f"<div><b>Advice</b>: {html.escape(found.advice)}</div></div>"
    )


def _units(count: int) -> str:
    return f"{count} {noun(count, 'text units')}"


def _shortened(text: str) -> str:
    line = one_line(" ".join(text.split()))
    return line if len(line) <= _TEXT else f"{line[: _TEXT - 1]}…"
