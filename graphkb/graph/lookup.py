"""Arrays by which a question finds units and entities: hashes, sorted, with their postings."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from graphkb.extract.context import title_names
from graphkb.text.names import name_key
from graphkb.text.segment import search_tokens

Arrays = dict[str, npt.NDArray[Any]]

_ROWS_AT_ONCE = 50_000
_WORD = re.compile(r"[^\W_]+")


def hash64(text: str) -> int:
    """The first 64 bits of BLAKE2b: the same on every machine and in every process."""
    return int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "little")


def find_hash(hashes: npt.NDArray[Any], text: str) -> int | None:
    """Where the hash of a text stands among sorted ones, or None."""
    code = np.uint64(hash64(text))
    place = int(hashes.searchsorted(code))
    return place if place < len(hashes) and hashes[place] == code else None


def token_range(arrays: Mapping[str, npt.NDArray[Any]], token: str) -> slice:
    """Where the units (and counts) of a search token stand in ``token_units``; nothing for one
    that no unit holds."""
    place = find_hash(arrays["token_hashes"], token)
    if place is None:
        return slice(0, 0)
    return slice(*arrays["token_indptr"][place : place + 2].tolist())


def find_ids(known: npt.NDArray[Any], ids: Sequence[str]) -> list[tuple[int, int]]:
    """Of the ids that stand among sorted ones (bytes), the place in ``ids`` and where they stand.

    >>> find_ids(np.array([b"a", b"c"]), ["c", "b", "a"])
    [(0, 1), (2, 0)]
    """
    if not ids or not known.size:
        return []
    names = np.array([one.encode() for one in ids], dtype="S")
    places = np.minimum(known.searchsorted(names), known.size - 1)
    there = np.flatnonzero(known[places] == names)
    return list(zip(there.tolist(), places[there].tolist(), strict=True))


def hash_all(texts: Iterable[str]) -> npt.NDArray[np.uint64]:
    """:func:`hash64` of every text, in order."""
    digests = [blake2b(text.encode(), digest_size=8).digest() for text in texts]
    return np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)


def pointers(owners: npt.NDArray[np.integer], n: int) -> npt.NDArray[np.int64]:
    """CSR row pointers [n + 1] of entries whose sorted row numbers are ``owners``.

    >>> pointers(np.array([0, 0, 2]), 3).tolist()
    [0, 2, 2, 3]
    """
    counts = np.bincount(owners, minlength=n) if len(owners) else np.zeros(n, dtype=np.int64)
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def name_keys(entities: pl.DataFrame) -> pl.DataFrame:
    """Names of entities by key: key, name, entity, weight, size (entities that share the key).

    A title has weight 1, an alias 0.9; the short forms of a title that has brackets or a place
    (``Midway, Iowa``) 0.8. ``entities`` must be sorted; ``entity`` is the row number.
    """
    schema = {"key": pl.String, "name": pl.String, "entity": pl.Int64, "weight": pl.Float64}
    rows: list[tuple[str, str, int, float]] = []
    titles, several = entities["title"].to_list(), entities["aliases"].to_list()
    for entity, (title, aliases) in enumerate(zip(titles, several, strict=True)):
        best: dict[str, tuple[str, float]] = {name_key(title): (title, 1.0)}
        for alias in aliases or ():
            best.setdefault(name_key(alias), (alias, 0.9))
        for short in title_names(title)[1:]:
            best.setdefault(name_key(short), (short, 0.8))
        rows += [(key, name, entity, weight) for key, (name, weight) in best.items() if key]
    # By columns polars takes them many times faster than by rows.
    columns = map(list, zip(*rows, strict=True)) if rows else ([] for _ in schema)
    frame = pl.DataFrame(dict(zip(schema, columns, strict=True)), schema=schema)
    return frame.with_columns(pl.len().over("key").alias("size")).sort("key", "entity")


def key_arrays(keys: pl.DataFrame) -> Arrays:
    """Exact look-up by name key: hashes sorted; equal hashes side by side, by entity."""
    hashes = hash_all(keys["key"].to_list())
    entity = keys["entity"].to_numpy()
    order = np.lexsort((entity, hashes))
    return {
        "key_hashes": hashes[order],
        "key_entities": entity[order].astype(np.int32),
        "key_weights": keys["weight"].to_numpy()[order].astype(np.float32),
    }


def word_arrays(keys: pl.DataFrame, n_entities: int) -> Arrays:
    """Fuzzy look-up: entities by each word of their title, and how many words that has."""
    titles = keys.filter(pl.col("weight") == 1.0).sort("entity")
    words: list[str] = []
    owners: list[int] = []
    counts = np.zeros(n_entities, dtype=np.int16)
    for key, entity in titles.select("key", "entity").iter_rows():
        parts = sorted(set(_WORD.findall(key)))
        counts[entity] = len(parts)
        words += parts
        owners += [entity] * len(parts)
    hashes, indptr, postings = _postings(hash_all(words), np.array(owners, dtype=np.int64))
    return {
        "word_hashes": hashes,
        "word_indptr": indptr,
        "word_entities": postings.astype(np.int32),
        "entity_words": counts,
    }


def text_arrays(texts: pl.Series) -> Arrays:
    """All texts as one row of UTF-8 bytes, with where each begins."""
    data = [text.encode() for text in texts.to_list()]
    sizes = np.array([len(item) for item in data], dtype=np.int64)
    return {
        "text_indptr": np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64),
        "text": np.frombuffer(b"".join(data), dtype=np.uint8),
    }


def token_arrays(units: pl.DataFrame, search_texts: pl.DataFrame | None) -> Arrays:
    """Inverted index of the units' search tokens (context and text): units and counts by token.

    ``search_texts`` (table of that name) spares tokenising; ``units`` must be sorted by id.
    """
    if search_texts is None:
        tokens = [
            " ".join(search_tokens(f"{context or ''}\n{text}"))
            for context, text in units.select("context", "text").iter_rows()
        ]
        texts = pl.Series("tokens", tokens, dtype=pl.String)
    else:
        texts = units.select("id").join(search_texts, on="id", how="left", maintain_order="left")[
            "tokens"
        ]
    parts: list[pl.DataFrame] = []
    for start in range(0, len(texts), _ROWS_AT_ONCE):
        rows = texts.slice(start, _ROWS_AT_ONCE).fill_null("").str.split(" ").to_frame()
        rows = rows.with_columns(
            pl.int_range(start, start + pl.len(), dtype=pl.Int64).alias("unit")
        )
        counted = (
            rows.explode("tokens").filter(pl.col("tokens") != "").group_by("tokens", "unit").len()
        )
        distinct = counted["tokens"].unique().to_list()
        mapped = pl.DataFrame({"tokens": distinct, "hash": hash_all(distinct)})
        parts.append(counted.join(mapped, on="tokens").select("hash", "unit", "len"))
    schema = {"hash": pl.UInt64, "unit": pl.Int64, "len": pl.UInt32}
    found = pl.concat(parts) if parts else pl.DataFrame(schema=schema)
    found = found.sort("hash", "unit")
    lengths = np.bincount(
        found["unit"].to_numpy(), weights=found["len"].to_numpy(), minlength=len(texts)
    )
    hashes, starts = np.unique(found["hash"].to_numpy(), return_index=True)
    return {
        "token_hashes": hashes,
        "token_indptr": np.append(starts, found.height).astype(np.int64),
        "token_units": found["unit"].to_numpy().astype(np.int32),
        "token_counts": np.minimum(found["len"].to_numpy(), 255).astype(np.uint8),
        "unit_lengths": lengths.astype(np.int32),
    }


def _postings(
    hashes: npt.NDArray[np.uint64], owners: npt.NDArray[np.int64]
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Distinct hashes sorted, row pointers, and the owners of each sorted."""
    order = np.lexsort((owners, hashes))
    distinct, starts = np.unique(hashes[order], return_index=True)
    return distinct, np.append(starts, hashes.size).astype(np.int64), owners[order]
