"""Vectors and the change law: what is embedded is what changed, and the result is from scratch."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pytest
from faults.harness import Embeddings, indexed, options
from law import committed, differences
from test_change_law import CHINESE, ENGLISH, put

import graphkb


@pytest.fixture
def server() -> Iterator[Embeddings]:
    server = Embeddings()
    yield server
    server.close()


def test_vectors_are_those_of_an_index_from_scratch_and_only_new_texts_are_embedded(
    tmp_path: Path, server: Embeddings
) -> None:
    kept = {f"{n}.md": f"# Part {n}\n\n{ENGLISH[n]} {CHINESE[n]}\n" for n in range(6)}
    before = {**kept, "old.txt": ENGLISH[8], "moved.md": f"# Moved\n\n{CHINESE[8]}\n"}
    after = {**kept, "new.txt": ENGLISH[9], "x/moved.md": before["moved.md"]}
    after["0.md"] = kept["0.md"].replace("Lisbon", "Porto")
    changed, fresh = tmp_path / "changed", tmp_path / "fresh"
    for root in (changed, fresh):
        (root / "input").mkdir(parents=True)
    put(changed, before)
    indexed(changed, server)
    server.asked.clear()
    put(changed, after)
    found = indexed(changed, server)
    assert sum(map(len, server.asked)) == 2  # 0.md and new.txt
    put(fresh, after)
    expected = indexed(fresh, server)
    assert differences(found, expected) == []
    assert found["vectors"].equals(expected["vectors"])
    assert found["vectors"].select("id").equals(found["text_units"].select("id"))
    server.asked.clear()
    put(changed, before)
    again = indexed(changed, server)
    assert server.asked == [], "texts that were embedded before are in the cache"
    assert again["vectors"].height == again["text_units"].height


def test_another_model_makes_all_vectors_again_and_nothing_else(
    tmp_path: Path, server: Embeddings
) -> None:
    (tmp_path / "input").mkdir()
    put(tmp_path, {"a.txt": ENGLISH[0], "b.txt": CHINESE[0]})
    before = indexed(tmp_path, server)
    other = [*options(server), "embed.model=other"]
    result = graphkb.open(tmp_path, other).index()
    assert any("vectors" in warning for warning in result.warnings)
    assert set(result.seconds) <= {"read_documents", "embed_units", "commit"}
    after = committed(tmp_path)
    assert differences(after, before) == []
    assert after["vectors"].height == before["vectors"].height == 2
    assert isinstance(after["vectors"]["vector"].dtype, pl.List)
