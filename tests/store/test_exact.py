"""Nearest vectors: exact in memory when few, by an index when many, the same under a filter."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
import pytest

import graphkb.store.lance as lance
from graphkb.store.exact import ExactVectors
from graphkb.store.lance import Store
from graphkb.store.narrowed import NarrowedStore
from graphkb.tables import rows

WIDTH = 32


def clustered(n: int, seed: int = 0) -> np.ndarray:
    """Unit rows around a few centres, as embeddings of texts about a few things."""
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(20, WIDTH))
    points = centres[rng.integers(0, 20, n)] + 0.6 * rng.normal(size=(n, WIDTH))
    return (points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)


def stored(folder: Path, vectors: np.ndarray) -> Store:
    store = Store(folder, {})
    frame = pl.DataFrame(
        {
            "id": [f"u{number:05}" for number in range(len(vectors))],
            "text_hash": "h",
            "language": ["zh" if number % 3 else "en" for number in range(len(vectors))],
            "vector": pl.Series(vectors).cast(pl.List(pl.Float32)),
        }
    )
    store.write("vectors", frame, WIDTH)
    return store


def test_memory_gives_what_a_scan_of_the_store_gives(tmp_path: Path) -> None:
    vectors = clustered(500)
    store = stored(tmp_path, vectors)
    for language in (None, "en", "zh", "fr"):
        for question in clustered(5, seed=1):
            exact = store.search_vector(question, 20, language)
            scanned = store._search_stored(question, 20, language)
            assert [i for i, _ in exact] == [i for i, _ in scanned]
            assert [s for _, s in exact] == pytest.approx([s for _, s in scanned], abs=1e-5)
    assert store._exact, "the vectors are in memory"


def test_equal_scores_stand_by_id_also_at_the_cut() -> None:
    same = np.ones((6, 4), np.float32) / 2
    exact = ExactVectors(list("fbdace"), ["en"] * 6, same)
    assert [i for i, _ in exact.search(same[0], 3)] == ["a", "b", "c"]
    assert [i for i, _ in exact.search(same[0], 3, "en", {"f", "c", "e", "x"})] == ["c", "e", "f"]
    assert exact.search(same[0], 3, "en", set()) == []


def test_a_filter_gives_the_best_of_what_it_lets_through(tmp_path: Path) -> None:
    store = stored(tmp_path, clustered(3000))
    everything = store.read("vectors", ("id",))["id"].to_list()
    question = clustered(1, seed=2)[0]
    whole = store.search_vector(question, 3000)
    for meant in (everything[::2], everything[:5], []):
        narrowed = NarrowedStore(store, frozenset(meant), frozenset(), len(everything))
        expected = [hit for hit in whole if hit[0] in set(meant)][:10]
        assert narrowed.search_vector(question, 10) == expected


def test_new_vectors_are_found_at_once(tmp_path: Path) -> None:
    vectors = clustered(200)
    store = stored(tmp_path, vectors)
    assert store.search_vector(vectors[7], 1)[0][0] == "u00007"
    vectors[7] = -vectors[7]
    frame = store.read("vectors").sort("id")
    store.write("vectors", frame.with_columns(pl.Series("vector", vectors.tolist())), WIDTH)
    assert store.search_vector(vectors[7], 1)[0][0] == "u00007"


def test_many_vectors_are_found_by_an_index_that_keeps_up_with_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lance, "VECTOR_INDEX_ROWS", 2_000)
    vectors = clustered(2_500)
    store = stored(tmp_path, vectors)
    store.index("vectors")
    assert store.check_indexes("vectors") == ["vector"]
    questions = clustered(20, seed=3)
    assert recall(store, vectors, questions) >= 0.95
    fresh = clustered(100, seed=4)
    frame = store.read("vectors").sort("id")
    added = pl.DataFrame(
        {
            "id": [f"v{number:05}" for number in range(100)],
            "text_hash": "h",
            "language": "en",
            "vector": pl.Series(fresh).cast(pl.List(pl.Float32)),
        }
    )
    store.write("vectors", pl.concat([frame[100:], added.select(frame.columns)]), WIDTH)
    assert store.check_indexes("vectors") == ["vector"]
    assert store.search_vector(fresh[3], 1)[0][0] == "v00003"
    assert not store._exact, "nothing was read into memory"
    assert all(i >= "u00100" for i, _ in store.search_vector(vectors[5], 50))


def recall(store: Store, vectors: np.ndarray, questions: np.ndarray, k: int = 20) -> float:
    """Share of the ``k`` nearest by comparison of all that the store gives."""
    shares = []
    for question in questions:
        nearest = np.argsort(-(vectors @ question), kind="stable")[:k]
        found = {i for i, _ in store.search_vector(question, k)}
        shares.append(len(found & {f"u{number:05}" for number in nearest}) / k)
    return float(np.mean(shares))


def test_rows_looked_up_again_come_from_memory_and_are_the_same(tmp_path: Path) -> None:
    store = Store(tmp_path, {})
    titles = {"a": "青石", "b": "Bluestone", "c": "O'Brien"}
    frame = rows("documents", [{"id": i, "title": t, "path": i} for i, t in titles.items()])
    store.write("documents", frame)
    asked = ["c", "a", "a", "missing"]
    first = store.where("documents", "id", asked, ("title", "id")).sort("id")
    again = store.where("documents", "id", asked, ("title", "id")).sort("id")
    assert again.equals(first)
    assert again["title"].to_list() == ["青石", "O'Brien"]
    assert store.where("documents", "id", ["missing"], ("title", "id")).is_empty()
    changed = frame.with_columns(pl.col("title") + "!")
    store.write("documents", changed)
    for _ in range(3):
        assert store.where("documents", "id", ["b"], ("title",))["title"].to_list() == [
            "Bluestone!"
        ]
