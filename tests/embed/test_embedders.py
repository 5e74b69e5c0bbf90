"""The built-in embedding model for real, and the cache of vectors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from graphkb.embed.builtin import BuiltinEmbedder
from graphkb.embed.cache import VectorCache, vector_key
from graphkb.errors import StoreError


def test_the_built_in_model_finds_the_related_text_in_both_languages() -> None:
    model = BuiltinEmbedder()
    texts = ["银行流水余额不连续时提示错误", "The turbine valve failed in the storm", "退款规则"]
    vectors = model.embed_passages(texts)
    assert vectors.shape == (3, 384)
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(3), abs=1e-3)
    for question, best in [
        ("怎么申请退款？", 2), ("why did the valve break?", 1), ("bank statement error", 0),
    ]:  # fmt: skip
        assert int(np.argmax(vectors @ model.embed_query(question))) == best
    assert model.embed_passages([]).shape == (0, 384)


def test_the_cache_keeps_vectors_by_model_and_text(tmp_path: Path) -> None:
    cache = VectorCache(tmp_path)
    model = BuiltinEmbedder()
    key, other = vector_key(model, "", "青石"), vector_key(model, "", "bluestone")
    assert len({key, other, vector_key(model, "p: ", "青石")}) == 3
    cache.put([key], np.array([[1, 2]], np.float32))
    cache.close()
    again = VectorCache(tmp_path)
    found = again.get([key, other])
    again.close()
    assert list(found) == [key]
    assert found[key].tolist() == [1, 2]


def test_a_corrupt_cache_names_the_file_and_the_way_out(tmp_path: Path) -> None:
    (tmp_path / "vectors.sqlite").write_bytes(b"this is no database" * 100)
    with pytest.raises(StoreError, match=r"vectors\.sqlite.*doctor"):
        VectorCache(tmp_path)
