"""The hybrid method: fused text units, the baseline every other method falls back to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from graphkb.query.ask import Ask
from graphkb.query.evidence import widest_evidence
from graphkb.query.pack import fit, passage_cost
from graphkb.search.assemble import widen_units
from graphkb.search.hybrid import Retrieval
from graphkb.search.join import retrieve_all
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.table_rows import has_rule
from graphkb.types import Citation, Context, Passage, Step

UNITS = 12
"""Text units an answer is made from; more adds noise."""


def hybrid_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Fused text units within ``local_search.max_context_tokens``."""
    retrieved = retrieve_all(snapshot, ask.search, ask.also, UNITS, None, ask.reranking)
    found = retrieved.joined
    budget = snapshot.settings.local_search.max_context_tokens
    kept, n_tokens = fit(passages_of(snapshot, found), budget, passage_cost, at_least=1)
    evidence = widest_evidence(snapshot, kept, retrieved.each)
    return Context(
        method="hybrid",
        passages=tuple(kept),
        evidence=evidence.value,
        foreign=evidence.foreign,
        missing=evidence.missing,
        n_tokens=n_tokens,
        trace=(*found.trace, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )


def placed_citations(
    citations: Sequence[Citation], passages: Sequence[Passage]
) -> tuple[Citation, ...]:
    """Citations that name the text unit their quote begins in: where a passage was widened, that
    may be another one than was found."""
    parts = [(passage.document_id, part) for passage in passages for part in passage.parts]
    placed = []
    for citation in citations:
        own = [part for document, part in parts if document == citation.document_id]
        holding = [p for p in own if p.char_start <= citation.char_start < p.char_end]
        # Text units may overlap: the one that was found, else the first that holds all of it.
        holding.sort(key=lambda part: (
            part.text_unit_id != citation.text_unit_id, part.char_end < citation.char_end
        ))  # fmt: skip
        if holding:
            citation = replace(
                citation,
                text_unit_id=holding[0].text_unit_id,
                heading=holding[0].heading,
            )
        placed.append(citation)
    return tuple(placed)


def passages_of(snapshot: Snapshot, found: Retrieval) -> list[Passage]:
    """The retrieved text units with text and place, best first; with the text around them where
    ``search.expand`` asks for it, and then none that stands in an earlier one's."""
    scores = {unit.text_unit_id: unit.score for unit in found.units}
    rows = snapshot.units(scores)
    wider = widen_units(snapshot, rows)
    held: set[str] = set()
    passages = []
    for row in rows:
        if row["id"] in held:
            continue
        passage = passage_of(row, scores[row["id"]])
        if around := wider.get(row["id"]):
            held.update(part.text_unit_id for part in around.parts)
            passage = replace(
                passage,
                text=around.text,
                char_start=around.char_start,
                char_end=around.char_end,
                page=around.page,
                page_end=around.page_end,
                page_breaks=around.page_breaks,
                parts=around.parts,
                columns=() if has_rule(around.text) else passage.columns,
            )
        passages.append(passage)
    return passages
