"""How many text units hold a token: what idf and the evidence of an answer are computed from."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import polars as pl
from numpy.typing import NDArray

Arrays = Mapping[str, NDArray[Any]]


def _token_hash(token: str) -> int:
    return int.from_bytes(hashlib.blake2b(token.encode(), digest_size=8).digest(), "big")


def build_vocabulary(search_texts: pl.DataFrame) -> dict[str, NDArray[Any]]:
    """Arrays ``vocabulary_hash`` (uint64, rising), ``vocabulary_df`` (int32, text units that hold
    the token) and ``vocabulary_units`` (int64 [1], number of text units)."""
    counts = (
        search_texts.select(pl.col("tokens").str.split(" ").list.unique().alias("token"))
        .explode("token")
        .filter(pl.col("token").str.len_bytes() > 0)
        .group_by("token")
        .len()
    )
    hashes = np.array([_token_hash(token) for token in counts["token"]], np.uint64)
    order = np.argsort(hashes, kind="stable")
    return {
        "vocabulary_hash": hashes[order],
        "vocabulary_df": counts["len"].to_numpy().astype(np.int32)[order],
        "vocabulary_units": np.array([search_texts.height], np.int64),
    }


def vocabulary_of(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """The arrays of :func:`build_vocabulary`, from the inverted index of the same texts
    (:func:`graphkb.graph.lookup.token_arrays`), whose hashes are those with their bytes turned."""
    hashes = arrays["token_hashes"].byteswap()
    order = np.argsort(hashes, kind="stable")
    return {
        "vocabulary_hash": hashes[order],
        "vocabulary_df": np.diff(arrays["token_indptr"]).astype(np.int32)[order],
        "vocabulary_units": np.array([len(arrays["unit_lengths"])], np.int64),
    }


class Vocabulary:
    """Document frequencies, looked up in memory-mapped arrays."""

    def __init__(self, arrays: Arrays) -> None:
        self._hash = arrays["vocabulary_hash"]
        self._df = arrays["vocabulary_df"]
        self.units = int(arrays["vocabulary_units"][0])

    def document_frequency(self, token: str) -> int:
        """Text units that hold ``token``."""
        key = np.uint64(_token_hash(token))
        place = int(np.searchsorted(self._hash, key))
        found = place < len(self._hash) and self._hash[place] == key
        return int(self._df[place]) if found else 0

    def idf(self, tokens: Iterable[str]) -> dict[str, float]:
        """ln(1 + (N - df + 0.5) / (df + 0.5)) by token, always above 0 (Robertson's, as Lucene)."""
        result: dict[str, float] = {}
        for token in tokens:
            df = self.document_frequency(token)
            result[token] = math.log(1 + (self.units - df + 0.5) / (df + 0.5))
        return result
