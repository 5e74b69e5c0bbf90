"""The local method: entities of the question, what stands around them, and hybrid text.

After GraphRAG's local search (Edge et al., 2024, and microsoft/graphrag): the question is
mapped to entities, which fan out to relationships, claims, community reports and text units,
each within its share of the token budget.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from graphkb.query.ask import Ask
from graphkb.query.evidence import widest_evidence
from graphkb.query.hybrid import UNITS, passages_of
from graphkb.query.narrowed import matching_entities, matching_relationships, reports_of
from graphkb.query.pack import fit, passage_cost, row_cost
from graphkb.search.hybrid import Retrieval
from graphkb.search.join import retrieve_all
from graphkb.search.rows import (
    claim_rows,
    communities_of,
    entities_mentioned,
    entity_rows,
    relationship_rows,
)
from graphkb.search.snapshot import Snapshot
from graphkb.types import Context, Step

# Share of an entity's score that a mention in the best text units gives, beside being named.
_MENTION_SHARE = 0.3

Rows = list[Mapping[str, Any]]


def local_context(snapshot: Snapshot, ask: Ask) -> Context:
    """Entities, relationships, claims, reports and text units around the question."""
    options = snapshot.settings.local_search
    retrieved = retrieve_all(snapshot, ask.search, ask.also, UNITS, None, ask.reranking)
    found = retrieved.joined
    unit_ids = [unit.text_unit_id for unit in found.units]
    entity_scores = _entities_of(snapshot, found, options.top_k_entities)
    entities = matching_entities(snapshot, _entity_rows(snapshot, entity_scores))
    relationships = matching_relationships(
        snapshot, _relationship_rows(snapshot, entities, options.top_k_relationships)
    )
    claims = _claim_rows(snapshot, entities, unit_ids)
    reports = _report_rows(snapshot, entity_scores)

    budget = options.max_context_tokens
    passages = passages_of(snapshot, found)
    texts, text_tokens = fit(
        passages, int(budget * options.text_unit_prop), passage_cost, at_least=1
    )
    kept_reports, report_tokens = fit(reports, int(budget * options.community_prop), row_cost)
    rest = budget - text_tokens - report_tokens
    kept_entities, entity_tokens = fit(entities, rest, row_cost)
    kept_edges, edge_tokens = fit(relationships, rest - entity_tokens, row_cost)
    kept_claims, claim_tokens = fit(claims, rest - entity_tokens - edge_tokens, row_cost)
    named = ", ".join(str(row["title"]) for row in kept_entities[:5])
    step = Step(
        "expand",
        f"{len(kept_entities)} entities ({named}), {len(kept_edges)} relationships, "
        f"{len(kept_claims)} claims, {len(kept_reports)} reports, {len(texts)} text units",
        0.0,
    )
    evidence = widest_evidence(snapshot, texts, retrieved.each)
    return Context(
        method="local",
        passages=tuple(texts),
        evidence=evidence.value,
        foreign=evidence.foreign,
        missing=evidence.missing,
        n_tokens=text_tokens + report_tokens + entity_tokens + edge_tokens + claim_tokens,
        entities=tuple(kept_entities),
        relationships=tuple(kept_edges),
        claims=tuple(kept_claims),
        reports=tuple(kept_reports),
        trace=(*found.trace, step, Step("evidence", evidence.reason, 0.0)),
        warnings=found.warnings,
    )


def _entities_of(snapshot: Snapshot, found: Retrieval, top_k: int) -> dict[str, float]:
    """Entity ids with a score: named in the question, or mentioned in its best text units."""
    scores: dict[str, float] = {}
    best = max((weight for _, weight in found.seeds), default=0.0)
    for entity_id, weight in found.seeds:
        scores[entity_id] = max(scores.get(entity_id, 0.0), weight / best if best else 0.0)
    arrays = snapshot.graph.arrays
    # Sums of floats depend on their order: by id, whatever the ranks.
    for unit in sorted(found.units[:5], key=lambda unit: unit.text_unit_id):
        for place in snapshot.graph.positions((unit.text_unit_id,)):
            for entity_id in entities_mentioned(arrays, place):
                scores[entity_id] = scores.get(entity_id, 0.0) + _MENTION_SHARE * (1 / unit.rank)
    ranked = sorted(scores.items(), key=lambda item: (-item[1], item[0]))
    return dict(ranked[:top_k])


def _entity_rows(snapshot: Snapshot, scores: Mapping[str, float]) -> Rows:
    rows = entity_rows(snapshot.graph.arrays, scores)
    return sorted(
        ({**row, "score": scores[row["id"]]} for row in rows),
        key=lambda row: (-float(row["score"]), row["id"]),
    )


def _relationship_rows(snapshot: Snapshot, entities: Sequence[Any], per_entity: int) -> Rows:
    """Relationships between the entities first, then the strongest to the outside."""
    ids = [row["id"] for row in entities]
    return [*relationship_rows(snapshot.graph.arrays, ids, per_entity * max(len(ids), 1))]


def _claim_rows(snapshot: Snapshot, entities: Sequence[Any], unit_ids: Sequence[str]) -> Rows:
    """Claims of the text units about the entities, in the order of the units."""
    titles = {row["title"] for row in entities}
    rows = claim_rows(snapshot.graph.arrays, unit_ids)
    about = [row for row in rows if row["subject_id"] in titles]
    return [{key: value for key, value in row.items() if key != "id"} for row in about]


def _report_rows(snapshot: Snapshot, scores: Mapping[str, float]) -> Rows:
    """Reports of the entities' leaf communities, the best-scored community first."""
    weight: dict[int, float] = {}
    for entity_id, community in sorted(communities_of(snapshot.graph.arrays, scores).items()):
        weight[community] = weight.get(community, 0.0) + scores[entity_id]
    if not weight:
        return []
    columns = ("community", "level", "title", "summary", "rank")
    rows = reports_of(snapshot, weight, columns).to_dicts()
    return sorted(rows, key=lambda row: (-weight[row["community"]], row["community"]))
