"""How many text units hold a token: the same from the inverted index and from the texts."""

from __future__ import annotations

import numpy as np
import polars as pl

from graphkb.graph.lookup import token_arrays
from graphkb.search.vocabulary import Vocabulary, build_vocabulary, vocabulary_of


def test_the_inverted_index_gives_the_vocabulary_of_its_texts():
    texts = ["熵流 引擎 engine engine", "engine 杭州 e1043", "", "杭州 熵流"]
    units = pl.DataFrame({"id": ["a", "b", "c", "d"], "text": [""] * 4, "context": [""] * 4})
    search_texts = pl.DataFrame({"id": ["a", "b", "c", "d"], "tokens": texts})
    found = vocabulary_of(token_arrays(units, search_texts))
    expected = build_vocabulary(search_texts)
    assert found.keys() == expected.keys()
    for name, array in expected.items():
        assert found[name].dtype == array.dtype
        assert np.array_equal(found[name], array), name
    assert Vocabulary(found).document_frequency("engine") == 2
