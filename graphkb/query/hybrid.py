"""The hybrid method: fused text units, the baseline every other method falls back to."""

from __future__ import annotations

from graphkb.query.ask import Ask
from graphkb.query.evidence import widest_evidence
from graphkb.query.pack import fit, passage_cost
from graphkb.search.hybrid import Retrieval
from graphkb.search.join import retrieve_all
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.types import Context, Passage, Step

UNITS = 12
"""Text units an answer is made from; more adds noise."""


def hybrid_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Fused text units within ``local_search.max_context_tokens``."""
    retrieved = retrieve_all(snapshot, ask.search, ask.also, UNITS)
    found = retrieved.joined
    budget = snapshot.settings.local_search.max_context_tokens
    kept, n_tokens = fit(passages_of(snapshot, found), budget, passage_cost, at_least=1)
    evidence = widest_evidence(snapshot, kept, retrieved.each)
    return Context(
        method="hybrid",
        passages=tuple(kept),
        evidence=evidence.value,
        foreign=evidence.foreign,
        n_tokens=n_tokens,
        trace=(*found.trace, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )


def passages_of(snapshot: Snapshot, found: Retrieval) -> list[Passage]:
    """The retrieved text units with text and place, best first."""
    scores = {unit.text_unit_id: unit.score for unit in found.units}
    return [passage_of(row, scores[row["id"]]) for row in snapshot.units(scores)]
