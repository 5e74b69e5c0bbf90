from __future__ import annotations

import json
import random
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graphkb.ingest.assemble import assemble_documents
from graphkb.ingest.duplicates import THRESHOLD, near_duplicates
from graphkb.ingest.read import file_hash, list_files, read_file, sources_frame
from graphkb.settings_input import Input

_chance = random.Random(7)
WORDS = [f"word{_chance.randrange(900)}" for _ in range(400)]
HAN = [chr(_chance.randrange(0x4E00, 0x4E00 + 900)) for _ in range(400)]


def text_of(tokens: list[str]) -> str:
    return ("" if max(map(len, tokens)) == 1 else " ").join(tokens)


def similarity(one: list[str], other: list[str], run: int = 4) -> float:
    """Jaccard similarity of the sets of runs of tokens, counted out."""
    a, b = (
        {tuple(tokens[i : i + run]) for i in range(len(tokens) - run + 1)}
        for tokens in (one, other)
    )
    return len(a & b) / len(a | b)


@pytest.mark.parametrize("tokens", [WORDS, HAN], ids=["en", "zh"])
def test_a_text_with_a_few_changes_is_found_with_its_similarity(tokens):
    changed = [*tokens]
    changed[50], changed[300] = "x", "y"
    other = tokens[::-1]
    (found,) = near_duplicates([text_of(t) for t in (tokens, other, changed)])
    assert (found.copy, found.first) == (2, 0)
    assert found.similarity == pytest.approx(similarity(tokens, changed), abs=1e-6)


@given(st.lists(st.integers(0, 399), max_size=14), st.booleans())
@settings(max_examples=60, deadline=None)
def test_found_is_what_counting_finds(places, chinese):
    tokens = HAN if chinese else WORDS
    changed = [*tokens]
    for place in places:
        changed[place] = "改" if chinese else "q"
    found = near_duplicates([text_of(tokens), text_of(changed)])
    assert bool(found) == (similarity(tokens, changed) >= THRESHOLD)


def test_short_texts_and_other_texts_are_left_alone():
    assert near_duplicates(["a short note"] * 3 + ["", text_of(WORDS), text_of(HAN)]) == []


def test_every_copy_names_the_first_that_is_no_copy():
    drift = [[*WORDS] for _ in range(4)]
    for number, tokens in enumerate(drift):
        for place in range(4 * number):
            tokens[20 * place] = "q"
    found = near_duplicates([text_of(tokens) for tokens in drift])
    assert found
    firsts = {pair.first for pair in found}
    assert firsts.isdisjoint(pair.copy for pair in found)
    assert all(similarity(drift[pair.copy], drift[pair.first]) >= THRESHOLD for pair in found)


@pytest.fixture
def alike(tmp_path: Path) -> pl.DataFrame:
    """Two versions of a report, a copy of one, another text, and rows much alike."""
    rows = [{"text": f"{text_of(WORDS)} {number}"} for number in range(3)]
    files = {
        "a.md": text_of(HAN),
        "b.md": text_of([*HAN[:200], "改", *HAN[201:]]),
        "c.md": text_of([*HAN[:200], "改", *HAN[201:]]),
        "d.md": text_of(WORDS[::-1]),
        "rows.jsonl": "\n".join(json.dumps(row) for row in rows),
    }
    for name, text in files.items():
        (tmp_path / name).write_text(text, "utf-8")
    found = list_files(tmp_path, Input())
    return pl.concat(
        [sources_frame(file, file_hash(file), read_file(file, Input())) for file in found]
    )


def test_near_duplicates_are_warned_of(alike):
    assembled = assemble_documents(alike)
    paths = ["a.md", "b.md", "d.md", *["rows.jsonl"] * 3]
    assert assembled.documents["path"].to_list() == paths
    (warning,) = assembled.warnings
    assert warning == "b.md: 98 % the same as a.md; input.duplicates: near would index it once"


def test_near_duplicates_are_indexed_once_where_that_is_set(alike):
    assembled = assemble_documents(alike.sample(fraction=1, shuffle=True, seed=2), "near")
    assert assembled.documents["path"].to_list() == ["a.md", "d.md", *["rows.jsonl"] * 3]
    metadata = json.loads(assembled.documents["metadata"][0])
    assert metadata["duplicate_paths"] == ["b.md", "c.md"]
    assert assembled.warnings == ("b.md: 98 % the same as a.md, indexed once",)
    assert assembled.documents.equals(assemble_documents(alike, "near").documents)


def test_off_keeps_every_copy_as_a_document(alike):
    assembled = assemble_documents(alike, "off")
    assert assembled.documents["path"].to_list() == alike["path"].to_list()
    assert assembled.documents["id"].n_unique() == alike.height
    assert (assembled.duplicates, assembled.warnings) == ([], ())
