"""The hybrid method: fused text units, the baseline every other method falls back to."""

from __future__ import annotations

from graphkb.query.ask import Ask
from graphkb.query.evidence import measure_evidence
from graphkb.query.pack import fit, passage_cost
from graphkb.search.hybrid import retrieve
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.types import Context, Step

# Text units an answer is made from; more adds noise to an extractive answer.
_UNITS = 12


def hybrid_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Fused text units within ``local_search.max_context_tokens``."""
    question = ask.search
    found = retrieve(snapshot, question, _UNITS)
    rows = snapshot.units(unit.text_unit_id for unit in found.units)
    scores = {unit.text_unit_id: unit.score for unit in found.units}
    passages = [passage_of(row, scores[row["id"]]) for row in rows]
    budget = snapshot.settings.local_search.max_context_tokens
    kept, n_tokens = fit(passages, budget, passage_cost, at_least=1)
    evidence = measure_evidence(snapshot, question, kept, found)
    return Context(
        method="hybrid",
        passages=tuple(kept),
        evidence=evidence.value,
        foreign=evidence.foreign,
        n_tokens=n_tokens,
        trace=(*found.trace, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )
