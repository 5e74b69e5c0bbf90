"""Speed of questions on some 100,000 text units, offline, no model, default settings.

    python benchmarks/large.py [--data ../shared/bench] [--copies 16]

2wiki is indexed with its vectors, and its tables are laid side by side: every copy has text units,
claims and reports of its own, with some words left out and the vectors moved a little. The
thousand commonest entities are the same in all copies, so that hubs have as many mentions and
relationships as a collection of this size gives them.
"""

from __future__ import annotations

import argparse
import contextlib
from dataclasses import replace
from pathlib import Path

import numpy as np
import polars as pl
from retrieval import HERE, copy_input, set_folder, work_folder
from speed import embedding_times, latency

import graphkb
from graphkb.evaluate.questions import read_questions
from graphkb.graph.build import build_graph
from graphkb.graph.rows import TABLES as ROW_TABLES
from graphkb.graph.rows import row_arrays
from graphkb.progress import shown_progress
from graphkb.search.vocabulary import build_vocabulary
from graphkb.store.arrays import write_arrays
from graphkb.store.lance import Store
from graphkb.store.manifest import read_manifest, write_manifest
from graphkb.view.evaluation import aligned

SHARED_ENTITIES = 1_000
# Share of words that a copy leaves out, and how far its vectors move.
_LEFT_OUT, _MOVED = 0.15, 0.03
# Columns that hold ids of a copy's own rows.
_OWN = {
    "documents": ("id",), "text_units": ("id", "document_id"), "search_texts": ("id",),
    "relationships": ("id",), "mentions": ("text_unit_id",), "covariates": ("id", "text_unit_id"),
    "community_reports": ("id",), "vectors": ("id",), "entities": (), "nodes": (), "terms": (),
}  # fmt: skip
# Columns that name entities.
_ENTITIES = {
    "entities": ("id",), "nodes": ("entity_id",), "mentions": ("entity_id",),
    "relationships": ("source_id", "target_id"),
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=HERE.parent.parent / "shared" / "bench")
    parser.add_argument("--work", type=Path, help="keep the indexes here")
    parser.add_argument("--copies", type=int, default=16)
    options = parser.parse_args()
    source = set_folder(options.data, "2wiki")
    with work_folder(options.work) as work:
        root, large = work / "2wiki", work / f"2wiki-{options.copies}"
        copy_input(source, root)
        with contextlib.closing(graphkb.open(root)) as project, shown_progress() as progress:
            project.index(progress, embed="now")
        if not (large / "output").exists():
            lay_side_by_side(root / "output", large / "output", options.copies)
        questions = [item.query for item in read_questions(source / "queries.jsonl").questions]
        with contextlib.closing(graphkb.open(large)) as project:
            n_units = project.table("text_units").height
            results = embedding_times(project, questions)
            for name in (*project.search_methods, "local"):
                results |= latency(project, name, questions)
    names = sorted({key.rsplit(" ", 2)[0] for key in results})
    rows = [[f"warm, {n_units:,} text units", "p50 ms", "p95 ms"]]
    rows += [[n, *(f"{results[f'{n} p{percent} ms']:.1f}" for percent in (50, 95))] for n in names]
    print(aligned(rows))


def lay_side_by_side(source: Path, output: Path, copies: int) -> None:
    """A version of ``copies`` times the text units, at ``output``."""
    manifest = read_manifest(source)
    assert manifest is not None
    stored = Store(source, manifest.tables, manifest.folder)
    tables = {name: stored.read(name) for name in _OWN}
    common = tables["entities"].sort("frequency", "id", descending=True).head(SHARED_ENTITIES)
    shared = common["id"].to_list()
    random = np.random.default_rng(1)
    output.mkdir(parents=True)
    made = Store(output, {}, manifest.folder)
    frames = {}
    for name, frame in tables.items():
        numbers = range(copies if name != "terms" else 1)
        frames[name] = pl.concat(_copy(name, frame, n, shared, random) for n in numbers)
        dimension = manifest.embedding["dimension"] if name == "vectors" else None
        made.write(name, frames[name], dimension)
        made.index(name)
    arrays = build_graph(
        frames["entities"],
        frames["mentions"],
        frames["relationships"],
        frames["text_units"],
        frames["search_texts"],
    )
    arrays |= row_arrays(*(frames[name] for name in ROW_TABLES))
    graph = write_arrays(output, arrays | build_vocabulary(frames["search_texts"]))
    counts = {**manifest.counts, **{name: frame.height for name, frame in frames.items()}}
    write_manifest(output, replace(manifest, tables=made.tables, counts=counts, graph=graph))


def _copy(
    name: str, frame: pl.DataFrame, number: int, shared: list[str], random: np.random.Generator
) -> pl.DataFrame:
    if not number:
        return frame

    def own(column: str) -> pl.Expr:
        return pl.col(column) + f"-{number}"

    def entity(column: str) -> pl.Expr:
        common = pl.col(column).is_in(shared)
        return pl.when(common).then(pl.col(column)).otherwise(own(column)).alias(column)

    named = _ENTITIES.get(name, ())
    if name in ("entities", "nodes"):
        frame = frame.filter(~pl.col(named[0]).is_in(shared))
    frame = frame.with_columns(*map(own, _OWN[name]), *map(entity, named))
    if name == "entities":
        frame = frame.with_columns(pl.col("title") + f" {number}")
    if name == "relationships":
        frame = frame.with_columns(pl.col("text_unit_ids").list.eval(pl.element() + f"-{number}"))
    if name in ("nodes", "community_reports"):
        moved = pl.col("community") + number * 1_000_000
        frame = frame.with_columns(
            pl.when(pl.col("community") < 0).then("community").otherwise(moved).alias("community")
        )
    if name == "search_texts":
        thinned = [_thinned(tokens, random) for tokens in frame["tokens"]]
        frame = frame.with_columns(pl.Series("tokens", thinned))
    if name == "vectors":
        vectors = np.array(frame["vector"].to_list())
        vectors += random.normal(0, _MOVED, vectors.shape)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        moved_vectors = pl.Series("vector", vectors.astype(np.float32)).cast(pl.List(pl.Float32))
        frame = frame.with_columns(moved_vectors)
    return frame


def _thinned(tokens: str, random: np.random.Generator) -> str:
    words = np.array(tokens.split(" "))
    return " ".join(words[random.random(len(words)) > _LEFT_OUT].tolist())


if __name__ == "__main__":
    main()
