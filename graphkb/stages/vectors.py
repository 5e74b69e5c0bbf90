"""Text units to vectors: pruned before the first commit, completed before the second."""

from __future__ import annotations

import numpy as np
import polars as pl

from graphkb.tables import TABLES, content_hash
from graphkb.work import Stage, Work

EMBED = Stage("embed_units", ("text_units",), ("vectors",), ("embed",), lambda work: {})


def _passages(units: pl.DataFrame) -> pl.DataFrame:
    """What is embedded for each text unit: its context, a line end, its text; and its hash."""
    texts = [f"{c}\n{t}" if c else t for c, t in zip(units["context"], units["text"], strict=True)]
    return pl.DataFrame(
        {
            "id": units["id"],
            "passage": texts,
            "text_hash": [content_hash(text) for text in texts],
            "language": units["language"],
        },
        schema=dict.fromkeys(("id", "passage", "text_hash", "language"), pl.String),
    )


def prune_vectors(work: Work) -> None:
    """Before the first commit: drop vectors of units that are gone, changed or of another model."""
    old = work.table("vectors")
    if not old.height:
        return
    options = work.settings.embed
    same_model = work.embedding.get("fingerprint") == EMBED.fingerprint(work)
    if options.when == "off" or not same_model:
        if not same_model and options.when != "off":
            work.warnings.append("the embedding settings changed: all vectors are made again")
        work.embedding = {}
        kept = old.clear()
    elif "text_units" in work.changed:
        passages = _passages(work.table("text_units")).select("id", "text_hash")
        kept = old.join(passages, on=["id", "text_hash"], how="semi")
    else:
        return
    if work.store.write("vectors", kept, work.embedding.get("dimension") or _width(old)):
        work.changed.add("vectors")
    work.loaded["vectors"] = kept


def _width(vectors: pl.DataFrame) -> int:
    return len(vectors["vector"][0]) if vectors.height else 1


def passages_to_embed(work: Work, new: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    """Texts whose vector is neither stored nor cached, of new and of kept text units."""
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache, vector_key

    options = work.settings.embed
    if options.when == "off":
        return []
    same_model = work.embedding.get("fingerprint") == EMBED.fingerprint(work)
    stored = work.table("vectors") if same_model else TABLES["vectors"].empty()
    missing = pl.concat(
        [_passages(new), _passages(kept).join(stored, on=["id", "text_hash"], how="anti")]
    )
    embedder = make_embedder(options)
    texts = {vector_key(embedder, options.passage_prefix, t): t for t in missing["passage"]}
    if (work.root / "cache" / VectorCache.file_name).is_file():
        cache = VectorCache(work.root / "cache")
        known = cache.get(list(texts))
        cache.close()
        texts = {key: text for key, text in texts.items() if key not in known}
    return list(texts.values())


def embed_units(work: Work) -> bool:
    """Embed text units that have no vector yet; False when none is missing."""
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache, vector_key

    prune_vectors(work)
    options = work.settings.embed
    old = work.table("vectors")
    if old.height == work.table("text_units").height and work.embedding:
        return False
    passages = _passages(work.table("text_units"))
    missing = passages.join(old, on=["id", "text_hash"], how="anti")
    if not missing.height:
        return False
    embedder = make_embedder(options)
    cache = VectorCache(work.root / "cache")
    keys = [vector_key(embedder, options.passage_prefix, text) for text in missing["passage"]]
    known = cache.get(keys)
    todo = [(k, t) for k, t in zip(keys, missing["passage"], strict=True) if k not in known]
    # Texts of like length together: a batch costs what its longest text costs.
    todo = sorted(dict(todo).items(), key=lambda item: (len(item[1]), item[0]))
    done = missing.height - len(todo)
    work.progress("embed", done, missing.height)
    for start in range(0, len(todo), options.batch_size):
        batch = todo[start : start + options.batch_size]
        vectors = embedder.embed_passages([text for _, text in batch])
        cache.put([key for key, _ in batch], vectors)
        known.update(zip((key for key, _ in batch), vectors, strict=True))
        work.progress("embed", min(done + start + len(batch), missing.height), missing.height)
    cache.close()
    made = missing.select("id", "text_hash", "language").with_columns(
        pl.Series("vector", np.stack([known[key] for key in keys])).cast(pl.List(pl.Float32))
    )
    dimension = _width(made)
    frame = pl.concat([old, made.select(old.columns)])
    if work.store.write("vectors", frame, dimension):
        work.changed.add("vectors")
    work.loaded["vectors"] = TABLES["vectors"].conform(frame)
    work.embedding = {
        "provider": embedder.provider,
        "model": embedder.model,
        "dimension": dimension,
        "fingerprint": EMBED.fingerprint(work),
    }
    return True
