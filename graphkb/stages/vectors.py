"""Text units to vectors: pruned before the first commit, completed before the second.

Vectors of another model stay in use until those of the new one are complete.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from contextlib import closing
from typing import TYPE_CHECKING

import polars as pl

from graphkb.errors import EmbeddingError
from graphkb.tables import TABLES, content_hash
from graphkb.text.table_rows import indexed_text
from graphkb.text.tokens import truncate_tokens
from graphkb.work import Stage, Work

if TYPE_CHECKING:
    from graphkb.embed import Embedder, Vectors
    from graphkb.embed.cache import VectorCache

_NAMED = 3
# Multiples of it fall evenly between 0 and 1.
_GOLDEN = (5**0.5 - 1) / 2


def _model_of_vectors(work: Work) -> tuple[str, ...]:
    """What can change a text's vector; where the endpoint is and its key cannot."""
    options = work.settings.embed
    if options.provider == "builtin":
        return ("builtin",)
    from graphkb.embed.prefixes import passage_prefix

    prefix = passage_prefix(options.passage_prefix, options.model)
    return (options.provider, options.model, prefix)


EMBED = Stage(
    "embed_units", ("text_units",), ("vectors",), (), lambda work: {}, also=_model_of_vectors
)


def _passages(work: Work, units: pl.DataFrame) -> pl.DataFrame:
    """What is embedded for each text unit: the text it is found by, not longer than
    ``embed.max_text_tokens``; its hash; and whether it was ``shortened``."""
    limit = work.settings.embed.max_text_tokens
    whole = [indexed_text(*row) for row in units.select("context", "text", "kind").iter_rows()]
    # No token is shorter than a byte, so most texts need no counting.
    cut = [
        truncate_tokens(text, limit) if limit and len(text.encode()) > limit else text
        for text in whole
    ]
    return pl.DataFrame(
        {
            "id": units["id"],
            "passage": cut,
            "text_hash": [content_hash(text) for text in cut],
            "language": units["language"],
            "shortened": [text != long for text, long in zip(cut, whole, strict=True)],
        },
        schema=dict.fromkeys(("id", "passage", "text_hash", "language"), pl.String)
        | {"shortened": pl.Boolean},
    )


def _same_model(work: Work) -> bool:
    return work.embedding.get("fingerprint") == EMBED.fingerprint(work)


def _reusable(work: Work) -> pl.DataFrame:
    """Stored vectors that the model of the settings made."""
    return work.table("vectors") if _same_model(work) else TABLES["vectors"].empty()


def prune_vectors(work: Work) -> None:
    """Before the first commit: drop vectors of units that are gone or changed, and all of them
    when there are to be none."""
    old = work.table("vectors")
    if not old.height:
        return
    if work.settings.embed.when == "off":
        work.embedding = {}
        kept = old.clear()
    elif "text_units" in work.changed or not _same_model(work):
        passages = _passages(work, work.table("text_units")).select("id", "text_hash")
        kept = old.join(passages, on=["id", "text_hash"], how="semi")
        if kept.height == old.height:
            return
    else:
        return
    if work.store.write("vectors", kept, work.embedding.get("dimension") or _width(old)):
        work.changed.add("vectors")
    work.loaded["vectors"] = kept


def _width(vectors: pl.DataFrame) -> int:
    return len(vectors["vector"][0]) if vectors.height else 1


def passages_to_embed(work: Work, new: pl.DataFrame, kept: pl.DataFrame) -> list[str]:
    """Texts whose vector is neither stored nor cached, of new and of kept text units."""
    options = work.settings.embed
    if options.when == "off":
        return []
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache, vector_key

    passages = _passages(work, kept).join(_reusable(work), on=["id", "text_hash"], how="anti")
    missing = pl.concat([_passages(work, new), passages])
    embedder = make_embedder(options)
    texts = {vector_key(embedder, embedder.passage_prefix, t): t for t in missing["passage"]}
    if (work.root / "cache" / VectorCache.file_name).is_file():
        with closing(VectorCache(work.root / "cache")) as cache:
            known = cache.get(list(texts))
        texts = {key: text for key, text in texts.items() if key not in known}
    return list(texts.values())


def embed_units(work: Work) -> bool:
    """Embed text units that have no vector yet; False when none was made.

    A text that the model cannot embed is left without a vector, with a warning, and tried again
    in the next run. Raises EmbeddingError when the endpoint fails; the stored vectors stay.
    """
    prune_vectors(work)
    passages = _passages(work, work.table("text_units"))
    old = _reusable(work).join(passages, on=["id", "text_hash"], how="semi")
    missing = passages.join(old, on=["id", "text_hash"], how="anti")
    if not missing.height:
        return False
    from graphkb.embed import make_embedder
    from graphkb.embed.cache import VectorCache

    outdated = work.embedding if work.embedding and not _same_model(work) else None
    embedder = make_embedder(work.settings.embed)
    with closing(VectorCache(work.root / "cache")) as cache:
        filling = _Filling(work, embedder, cache, _width(old) if old.height else 0)
        try:
            made = filling.vectors_of(missing)
            if old.height and made.height and _width(made) != _width(old):
                work.warnings.append(
                    f"{embedder.model} now makes vectors of {_width(made)} numbers, those "
                    f"stored have {_width(old)}: all vectors are made again"
                )
                old, made = old.clear(), filling.vectors_of(passages)
        except EmbeddingError as error:
            if outdated is None:
                raise
            stay = f"the vectors of {outdated['provider']}/{outdated['model']} stay in use"
            raise type(error)(f"{error}; {stay}") from error
    filling.warn()
    if not made.height:
        return False
    if outdated is not None:
        work.warnings.append("the embedding settings changed: all vectors were made again")
    frame = pl.concat([old, made.select(old.columns)])
    dimension = _width(frame)
    if work.store.write("vectors", frame, dimension):
        work.changed.add("vectors")
    work.loaded["vectors"] = TABLES["vectors"].conform(frame)
    work.embedding = {
        "provider": embedder.provider,
        "model": embedder.model,
        "dimension": dimension,
        "fingerprint": EMBED.fingerprint(work),
        "base_url": work.settings.embed.base_url,
        "query_prefix": embedder.query_prefix,
        "without": passages.height - frame.height,
    }
    return True


def _by_turns(keys: list[str], size: int) -> list[str]:
    """Keys in runs of ``size`` that stay as they are, spread evenly over the whole order.

    >>> _by_turns(list("aabbccdde"), 2)
    ['a', 'a', 'c', 'c', 'b', 'b', 'd', 'd', 'e']
    """
    runs = [keys[at : at + size] for at in range(0, len(keys), size)]
    # The last may be shorter: elsewhere it would shift those behind it.
    places = sorted(range(len(runs) - 1), key=lambda place: place * _GOLDEN % 1)
    return [key for place in (*places, len(runs) - 1) for key in runs[place]] if keys else []


class _Filling:
    """Gets vectors from the cache and the embedder, keeps each new one as it comes, and remembers
    which texts were in trouble. ``width`` is that of the stored vectors, 0 where there are none."""

    def __init__(self, work: Work, embedder: Embedder, cache: VectorCache, width: int) -> None:
        self._work, self._embedder, self._cache, self._width = work, embedder, cache, width
        self._ids: dict[str, str] = {}
        self._shortened: set[str] = set()
        self._halved: set[str] = set()
        self._refused: dict[str, str] = {}

    def vectors_of(self, passages: pl.DataFrame) -> pl.DataFrame:
        """id, text_hash, language and vector of the passages that have one."""
        import numpy as np

        from graphkb.embed.cache import vector_key

        prefix = self._embedder.passage_prefix
        keys = [vector_key(self._embedder, prefix, text) for text in passages["passage"]]
        texts = dict(zip(keys, passages["passage"], strict=True))
        self._ids.update(zip(passages["id"], keys, strict=True))
        self._shortened.update(passages.filter("shortened")["id"])
        known = self._cache.get(list(texts))
        while todo := self._todo(texts, known):
            self._embed(todo, texts, known)
        has = [key in known and key not in self._refused for key in keys]
        stacked = [known[key] for key, there in zip(keys, has, strict=True) if there]
        frame = passages.filter(pl.Series(has, dtype=pl.Boolean))
        vectors = pl.Series("vector", np.stack(stacked)) if stacked else pl.Series("vector", [])
        return frame.select(
            "id", "text_hash", "language", vectors.cast(pl.List(pl.Float32)).alias("vector")
        )

    def _todo(self, texts: Mapping[str, str], known: Mapping[str, Vectors]) -> list[str]:
        """Keys of the texts to embed, those of like length side by side: a batch costs what its
        longest text costs. Batches of short and long texts take turns, so that the time left can
        be told by those that are done."""
        width = self._embedder.dimension or self._width
        open_keys = sorted(texts.keys() - self._refused.keys(), key=lambda k: (len(texts[k]), k))
        todo = [key for key in open_keys if key not in known or len(known[key]) != width > 0]
        # Cached vectors are not trusted before the endpoint has shown what it makes now.
        return _by_turns(todo, self._work.settings.embed.batch_size) or (
            [] if width else open_keys[:1]
        )

    def _embed(self, todo: list[str], texts: Mapping[str, str], known: dict[str, Vectors]) -> None:
        done = len(texts) - len(todo)
        self._work.progress("embed", done, len(texts))
        for made in self._embedder.embed_many([texts[key] for key in todo]):
            keys = [todo[place] for place in made.places]
            self._cache.put(keys, made.vectors)
            known.update(zip(keys, made.vectors, strict=True))
            self._halved.update(todo[place] for place in made.halved)
            self._refused.update((todo[place], reason) for place, reason in made.refused.items())
            done += len(made.places) + len(made.refused)
            self._work.progress("embed", done, len(texts))

    def warn(self) -> None:
        """Say what was shortened, what was cut in parts and what has no vector, and where."""
        limit = self._work.settings.embed.max_text_tokens
        if self._shortened:
            self._say(self._shortened, f"shortened to {limit} tokens before embedding")
        if halved := {i for i, key in self._ids.items() if key in self._halved}:
            self._say(halved, "too long for the embedding model, their vector is that of parts")
        if refused := {i for i, key in self._ids.items() if key in self._refused}:
            reason = next(iter(self._refused.values()))
            self._say(
                refused, f"without a vector ({reason}); words find them, the next run tries again"
            )

    def _say(self, ids: Collection[str], what: str) -> None:
        units = self._work.table("text_units").filter(pl.col("id").is_in(list(ids)))
        documents = self._work.table("documents").join(
            units, left_on="id", right_on="document_id", how="semi"
        )
        paths = documents["path"].unique().sort().to_list()
        more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
        many = "text unit" if len(ids) == 1 else "text units"
        named = f"{', '.join(paths[:_NAMED])}{more}"
        self._work.warnings.append(f"{len(ids)} {many} of {named}: {what}")
