"""Text units and entities to terms, communities, search tokens and graph arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import polars as pl

from graphkb.settings import uses_model
from graphkb.stages.imported import depends_on_imported, imported_partition
from graphkb.tables import TABLES
from graphkb.work import Work

_STEP = 100


def new_units(work: Work, stage: str) -> tuple[pl.DataFrame, pl.DataFrame]:
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
    code = work.table("code_files")["document_id"].implode()
    units = work.table("text_units").filter(~pl.col("document_id").is_in(code))
    return {"terms": terms.mine_terms(units, work.settings.extract, work.dictionary)}


class CommunitiesAhead:
    """Finds the communities of a first index while descriptions are awaited, which they do not
    depend on, and reads what reports are made from."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self._graph: tuple[pl.DataFrame, ...] | None = None
        self._is_first = not work.store.has("communities") and not depends_on_imported(work)

    def take(
        self, entities: pl.DataFrame, relationships: pl.DataFrame, mentions: pl.DataFrame
    ) -> None:
        """The graph without descriptions."""
        if self._is_first:
            frames = {"entities": entities, "relationships": relationships, "mentions": mentions}
            self._graph = _conformed(frames)

    def steps(self) -> Iterator[None]:
        """Find them, then read."""
        if self._graph is None:
            return
        work, (entities, relationships, mentions) = self._work, self._graph
        found = _communities(work, entities, relationships)
        work.communities = (_seen(entities, relationships), found)
        yield
        if uses_model(work.settings, "report"):
            from graphkb.report.corpus import CorpusAhead

            communities, nodes = _conformed(found)
            work.corpus = CorpusAhead(
                communities, entities, nodes, relationships, mentions, work.table("text_units")
            )
            yield


def _conformed(frames: Mapping[str, pl.DataFrame]) -> tuple[pl.DataFrame, ...]:
    return tuple(TABLES[name].conform(frame) for name, frame in frames.items())


def _seen(entities: pl.DataFrame, relationships: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """What communities are found from."""
    ends = relationships.select("id", "source_id", "target_id", "weight")
    return entities.select("id", "title"), ends


def find_communities(work: Work) -> dict[str, pl.DataFrame]:
    work.progress("communities", 0, 0)
    entities, relationships = work.table("entities"), work.table("relationships")
    if work.communities is not None:
        seen, found = work.communities
        work.communities = None
        both = zip(seen, _seen(entities, relationships), strict=True)
        if all(ahead.equals(now) for ahead, now in both):
            return found
    return _communities(work, entities, relationships)


def _communities(
    work: Work, entities: pl.DataFrame, relationships: pl.DataFrame
) -> dict[str, pl.DataFrame]:
    from graphkb.graph import communities
    from graphkb.graph.pagerank import rank_entities

    previous = work.kept("find_communities", "communities")
    start = previous if previous.height else imported_partition(work.root, entities)
    found = communities.find_communities(entities, relationships, work.settings.cluster, start)
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


def tokenize_ahead(work: Work) -> Iterator[None]:
    """Cut new text units into words for :func:`tokenize_units`, a few at a time."""
    from graphkb.text.segment import search_tokens
    from graphkb.text.table_rows import indexed_text

    new, _ = new_units(work, "tokenize_units")
    for number, (unit_id, *row) in enumerate(
        new.select("id", "context", "text", "kind").iter_rows(), 1
    ):
        if unit_id not in work.tokens:
            work.tokens[unit_id] = " ".join(search_tokens(indexed_text(*row), work.dictionary))
            if number % _STEP == 0:
                yield


def tokenize_units(work: Work) -> dict[str, pl.DataFrame]:
    new, kept = new_units(work, "tokenize_units")
    work.progress("tokens", 0, new.height)
    for _ in tokenize_ahead(work):
        pass
    tokens = [work.tokens.pop(unit_id) for unit_id in new["id"]]
    work.progress("tokens", new.height, new.height)
    made = pl.DataFrame({"id": new["id"], "tokens": tokens}, schema=TABLES["search_texts"].schema)
    if "tokenize_units" in work.fresh:
        # Also where no row differs the full-text index may have to be another (text.stemming).
        work.changed.add("search_texts")
    old = work.kept("tokenize_units", "search_texts").join(kept, on="id", how="semi")
    return {"search_texts": pl.concat([old, made])}


def build_graph(work: Work) -> dict[str, pl.DataFrame]:
    from graphkb.graph import build, rows
    from graphkb.search.vocabulary import vocabulary_of
    from graphkb.store.arrays import write_arrays

    work.progress("graph", 0, 0)
    arrays = build.build_graph(
        work.table("entities"),
        work.table("mentions"),
        work.table("relationships"),
        work.table("text_units"),
        work.table("search_texts"),
    )
    arrays.update(rows.row_arrays(*map(work.table, rows.TABLES)))
    arrays.update(vocabulary_of(arrays))
    work.graph = write_arrays(work.store.output, arrays)
    return {}


def graph_is_damaged(work: Work) -> bool:
    """Whether graph arrays are lost or cut, which is said, or were written by a graphkb that did
    not describe them."""
    from graphkb.store.arrays import are_described, array_damage

    output, folder = work.store.output, work.graph
    if damage := array_damage(output, folder):
        work.warnings.append(f"{damage}: the graph arrays were built again")
    return bool(damage) or not are_described(output, folder)
