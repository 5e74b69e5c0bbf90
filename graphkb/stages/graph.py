"""Text units to evidence, entities, communities, reports, search tokens and graph arrays."""

from __future__ import annotations

from functools import partial

import polars as pl

from graphkb.store.arrays import write_arrays
from graphkb.tables import TABLES, content_hash
from graphkb.work import Work


def _new_units(work: Work, stage: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Text units that a map stage must run on, and the ids of those whose rows are kept."""
    units = work.table("text_units")
    if stage in work.fresh:
        return units, units.clear().select("id")
    columns = ["id", "text", "context", "language", "kind"]
    before = work.committed("text_units").select(columns)
    kept = units.join(before, on=columns, how="semi").select("id")
    return units.join(kept, on="id", how="anti"), kept


def mine_terms(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract import terms

    work.progress("terms", 0, 0)
    return {
        "terms": terms.mine_terms(work.table("text_units"), work.settings.extract, work.dictionary)
    }


def extract_evidence(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract.offline import extract_units

    stage = "extract_evidence"
    names = ("mention_evidence", "relationship_evidence", "claim_evidence")
    new, kept = _new_units(work, stage)
    terms = work.table("terms")
    if kept.height and "terms" in work.changed:
        # A unit depends on the terms it holds: run it again when one of them came or went.
        moved = _moved_terms(work.committed("terms")["term"], terms["term"])
        if moved:
            units = work.table("text_units").join(kept, on="id", how="semi")
            hit = units.filter(pl.col("text").str.contains_any(moved, ascii_case_insensitive=True))
            kept = kept.join(hit.select("id"), on="id", how="anti")
            new = pl.concat([new, hit])
    new = new.sort("id")
    work.progress("extract", 0, new.height)
    extraction = extract_units(new, terms, work.settings.extract, partial(work.progress, "extract"))
    made = (extraction.mentions, extraction.relationships, extraction.claims)
    result = {}
    for name, frame in zip(names, made, strict=True):
        old = work.kept(stage, name).join(kept, left_on="text_unit_id", right_on="id", how="semi")
        result[name] = pl.concat([old, TABLES[name].conform(frame)])
    return result


def _moved_terms(before: pl.Series, after: pl.Series) -> list[str]:
    """Terms that came or went, and those that differ from one of them in case only: of such the
    texts' spelling decides which is found."""
    moved = {term.lower() for term in set(before).symmetric_difference(after)}
    return sorted(term for term in {*before, *after} if term.lower() in moved)


def resolve_entities(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.extract import resolve

    work.progress("resolve", 0, 0)
    resolution = resolve.resolve_entities(
        work.table("mention_evidence"),
        work.table("relationship_evidence"),
        work.table("claim_evidence"),
        work.table("text_units"),
        work.settings.extract,
    )
    if not resolution.entities.height:
        work.warnings.append("no entities were found: search works, the graph is empty")
    return {
        "entities": resolution.entities,
        "mentions": resolution.mentions,
        "relationships": resolution.relationships,
        "covariates": resolution.covariates,
    }


def find_communities(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.graph import communities
    from graphkb.graph.pagerank import rank_entities

    work.progress("communities", 0, 0)
    entities, relationships = work.table("entities"), work.table("relationships")
    previous = work.kept("find_communities", "communities")
    found = communities.find_communities(
        entities, relationships, work.settings.cluster, previous if previous.height else None
    )
    nodes = (
        rank_entities(entities, relationships)
        .join(found.leaf, on="entity_id", how="left")
        .with_columns(
            pl.col("community").fill_null(-1),
            pl.lit(None, pl.Float64).alias("x"),
            pl.lit(None, pl.Float64).alias("y"),
        )
    )
    return {"communities": found.communities, "nodes": nodes}


def write_reports(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.report import offline

    work.progress("reports", 0, 0)
    previous = work.kept("write_reports", "community_reports")
    reports = offline.write_reports(
        work.table("communities"),
        work.table("entities"),
        work.table("nodes"),
        work.table("relationships"),
        work.table("mentions"),
        work.table("text_units"),
        work.settings.report,
        previous if previous.height else None,
    )
    return {"community_reports": reports}


def tokenize_units(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.text.segment import search_tokens

    new, kept = _new_units(work, "tokenize_units")
    work.progress("tokens", 0, new.height)
    tokens = [
        " ".join(search_tokens(f"{context}\n{text}", work.dictionary))
        for context, text in zip(new["context"], new["text"], strict=True)
    ]
    work.progress("tokens", new.height, new.height)
    made = pl.DataFrame({"id": new["id"], "tokens": tokens}, schema=TABLES["search_texts"].schema)
    old = work.kept("tokenize_units", "search_texts").join(kept, on="id", how="semi")
    return {"search_texts": pl.concat([old, made])}


def build_graph(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.graph import build
    from graphkb.search.vocabulary import build_vocabulary

    work.progress("graph", 0, 0)
    arrays = build.build_graph(
        work.table("entities"),
        work.table("mentions"),
        work.table("relationships"),
        work.table("text_units"),
        work.table("search_texts"),
    )
    arrays.update(build_vocabulary(work.table("search_texts")))
    pins = (f"{key}={version}" for key, version in sorted(work.store.tables.items()))
    name = content_hash(work.store.folder, *pins)
    work.graph = write_arrays(work.store.output, name[:16], arrays)
    return {}
