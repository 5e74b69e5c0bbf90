"""Imported evidence falls on whatever text units there are, and leaves with its documents."""

from __future__ import annotations

import polars as pl
import pytest
from graphrag_output import CHINESE, ENGLISH, make_output

from graphkb.extract.imported import (
    ImportedExtraction,
    covered_units,
    imported_evidence,
    merged,
    text_hash,
)
from graphkb.importing.evidence import make_evidence
from graphkb.importing.graphrag import read_graphrag
from graphkb.ingest.chunk import cut_documents
from graphkb.settings_input import Chunks
from graphkb.tables import TABLES, rows

TEXTS = {f"doc-{n}": text for n, text in enumerate([*ENGLISH.values(), *CHINESE.values()])}


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> dict[str, pl.DataFrame]:
    graph = read_graphrag(make_output(2).write(tmp_path_factory.mktemp("rag")))
    return make_evidence(graph, TEXTS).frames


def documents(texts: dict[str, str]) -> pl.DataFrame:
    made = ({"id": n, "title": n, "text": t, "media_type": "text/plain"} for n, t in texts.items())
    return rows("documents", made)


def extracted(
    frames: dict[str, pl.DataFrame], texts: dict[str, str], size: int = 600, overlap: int = 50
) -> tuple[pl.DataFrame, ImportedExtraction]:
    read = documents(texts)
    units = cut_documents(read, Chunks(size=size, overlap=overlap))
    return units, imported_evidence(frames, read, units)


@pytest.mark.parametrize("size", [12, 30, 600])
def test_every_unit_of_a_known_document_is_covered_whatever_its_size(
    frames: dict[str, pl.DataFrame], size: int
) -> None:
    units, found = extracted(frames, TEXTS, size, size // 4)
    assert found.unit_ids.to_list() == sorted(units["id"])
    for row in found.extraction.mentions.join(
        units.select(pl.col("id").alias("text_unit_id"), "text"), on="text_unit_id"
    ).iter_rows(named=True):
        assert row["text"][row["char_start"] : row["char_end"]] == row["surface"]


@pytest.mark.parametrize("size", [12, 30, 600])
def test_weights_claims_and_descriptions_count_once_whatever_the_size(
    frames: dict[str, pl.DataFrame], size: int
) -> None:
    _, found = extracted(frames, TEXTS, size, size // 4)
    weight = found.extraction.relationships["weight"].sum()
    assert weight == pytest.approx(frames["relationships"]["weight"].sum())
    assert found.extraction.claims.height == 2
    told = found.entities.filter(pl.col("description") != "")
    assert sorted(told["name"]) == sorted(frames["descriptions"]["name"])
    seen = found.extraction.mentions.select("text_unit_id", "name").unique()
    assert found.entities.height == seen.height


def test_rows_are_tables_in_order(frames: dict[str, pl.DataFrame]) -> None:
    _, found = extracted(frames, TEXTS, 30, 5)
    made = {
        "mention_evidence": found.extraction.mentions,
        "relationship_evidence": found.extraction.relationships,
        "claim_evidence": found.extraction.claims,
        "entity_evidence": found.entities,
    }
    for name, frame in made.items():
        assert frame.equals(TABLES[name].conform(frame)), name
        assert not frame.select(TABLES[name].key).is_duplicated().any(), name
        assert not frame["text_unit_id"].null_count()


def test_a_changed_document_has_no_imported_evidence(frames: dict[str, pl.DataFrame]) -> None:
    texts = {**TEXTS, "doc-3": TEXTS["doc-3"].replace("杭州", "北京")}
    units, found = extracted(frames, texts)
    changed = units.filter(pl.col("document_id") == "doc-3")["id"]
    assert not set(found.unit_ids) & set(changed)
    assert found.unit_ids.len() == units.height - changed.len()


def test_a_renamed_document_and_its_copy_both_have_it(frames: dict[str, pl.DataFrame]) -> None:
    renamed = {"a": TEXTS["doc-0"], "b": TEXTS["doc-0"]}
    units, found = extracted(frames, renamed)
    assert found.unit_ids.len() == 2
    by_unit = found.extraction.relationships.group_by("text_unit_id").len()["len"].to_list()
    assert by_unit == [3, 3]
    assert units.height == 2


def test_a_description_goes_with_any_document_it_was_written_from(
    frames: dict[str, pl.DataFrame],
) -> None:
    texts = {name: text for name, text in TEXTS.items() if name != "doc-2"}
    _, found = extracted(frames, texts)
    described = set(found.entities.filter(pl.col("description") != "")["name"])
    assert "Osprey project" in described  # only doc-0 speaks of it
    assert "Ada Lin" not in described  # doc-2 spoke of her too
    assert "Ada Lin" in set(found.extraction.mentions["name"])


def test_the_words_of_a_relationship_fall_back_to_its_sentence(
    frames: dict[str, pl.DataFrame],
) -> None:
    texts = {name: text for name, text in TEXTS.items() if name != "doc-2"}
    _, found = extracted(frames, texts)
    said = dict(found.extraction.relationships.select("target", "description").iter_rows())
    assert said["Bluestone"] == "Ada Lin leads the Osprey project at Bluestone."
    assert said["Osprey project"] == "Ada Lin is in charge of the Osprey project."


def test_a_unit_that_the_other_tool_read_in_part_is_not_covered(
    frames: dict[str, pl.DataFrame],
) -> None:
    passages = frames["passages"]
    first = text_hash(TEXTS["doc-1"])
    part = {**frames, "passages": passages.filter(
        (pl.col("document") != first) | (pl.col("char_start") > 0)
    )}  # fmt: skip
    units, found = extracted(part, TEXTS, 12, 2)
    place = units.filter(pl.col("document_id") == "doc-1").select("id", "char_start", "char_end")
    covered = set(found.unit_ids)
    for unit, start, end in place.iter_rows():
        assert (unit in covered) == (end - max(start, 100) >= 0.9 * (end - start))


def test_a_corpus_without_known_documents_has_nothing(frames: dict[str, pl.DataFrame]) -> None:
    _, found = extracted(frames, {"x": "陈明 is elsewhere."})
    assert found.unit_ids.len() == 0
    assert found.extraction.mentions.height == 0
    assert found.entities.height == 0
    empty = documents({})
    assert not covered_units(frames, empty, TABLES["text_units"].empty()).height


def test_spans_that_touch_are_joined() -> None:
    assert merged([]) == []
    assert merged([(3, 4), (0, 2), (1, 3), (6, 9), (7, 8)]) == [(0, 4), (6, 9)]
