"""The map stage: evidence of each unit depends on that unit alone."""

from __future__ import annotations

import polars as pl

from graphkb.extract import offline
from graphkb.extract.offline import extract_units
from graphkb.extract.terms import mine_terms
from graphkb.settings import Extract
from graphkb.tables import TABLES
from tests.extract.conftest import units

ONE = Extract(workers=1)


def test_frames_have_the_table_schemas_and_unique_keys(mixed: pl.DataFrame) -> None:
    made = extract_units(mixed, mine_terms(mixed, ONE), ONE)
    for name, frame in [
        ("mention_evidence", made.mentions),
        ("relationship_evidence", made.relationships),
        ("claim_evidence", made.claims),
    ]:
        assert dict(frame.schema) == TABLES[name].schema
        assert frame.height > 0
        assert not frame.select(TABLES[name].key).is_duplicated().any()


def test_offsets_point_at_the_surface(mixed: pl.DataFrame) -> None:
    made = extract_units(mixed, mine_terms(mixed, ONE), ONE)
    texts = dict(mixed.select("id", "text").iter_rows())
    inside = made.mentions.filter(pl.col("char_start") >= 0)
    for row in inside.iter_rows(named=True):
        assert texts[row["text_unit_id"]][row["char_start"] : row["char_end"]] == row["surface"]


def test_names_relations_and_claims_in_both_languages(mixed: pl.DataFrame) -> None:
    made = extract_units(mixed, mine_terms(mixed, ONE), ONE)
    names = set(made.mentions["name"])
    assert {"Ada Lin", "Bluestone Ltd", "Vienna", "C++", "曹操", "刘备", "许昌"} <= names
    pairs = set(made.relationships.select("source", "target").iter_rows())
    assert ("Ada Lin", "Vienna") in pairs
    assert ("曹操", "刘备") in pairs
    aliases = dict(
        made.mentions.filter(pl.col("alias_of").is_not_null())
        .select("name", "alias_of")
        .iter_rows()
    )
    assert aliases["世卫组织"] == "世界卫生组织"
    assert aliases["Ada Marie Lin"] == "Ada Lin"
    assert "1970-05-03" in made.claims["start_date"].to_list()
    assert (
        extract_units(mixed, pl.DataFrame({"term": []}), Extract(claims=False)).claims.height == 0
    )


def test_first_named_entity_is_related_strongest() -> None:
    corpus = units(("Jaws", "It was made by Ada Lin with Bob Ray and Carl Poe in Vienna."))
    made = extract_units(corpus, pl.DataFrame({"term": []}), ONE)
    weights = dict(
        made.relationships.filter(pl.col("source") == "Jaws").select("target", "weight").iter_rows()
    )
    assert weights["Ada Lin"] > weights["Bob Ray"] > weights["Vienna"] > 0


def test_a_unit_gives_the_same_whatever_stands_beside_it(mixed: pl.DataFrame) -> None:
    terms = mine_terms(mixed, ONE)
    whole = extract_units(mixed, terms, ONE)
    alone = extract_units(mixed.filter(pl.col("id") == "u2"), terms, ONE)
    same = whole.mentions.filter(pl.col("text_unit_id") == "u2")
    assert same.equals(alone.mentions)


def test_processes_and_row_order_change_nothing(mixed: pl.DataFrame, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    terms = mine_terms(mixed, ONE)
    once = extract_units(mixed, terms, ONE)
    monkeypatch.setattr(offline, "_PARALLEL_FROM", 1)
    monkeypatch.setattr(offline, "_CHUNK", 2)
    calls: list[tuple[int, int]] = []
    twice = extract_units(
        mixed.reverse(), terms, Extract(workers=2), lambda done, total: calls.append((done, total))
    )
    assert once.mentions.equals(twice.mentions)
    assert once.relationships.equals(twice.relationships)
    assert once.claims.equals(twice.claims)
    assert calls == [(2, 4), (4, 4)]


def test_empty_and_odd_units_are_survived() -> None:
    corpus = units(
        ("", ""), ("标题", "\n\n"), ("T", "\x00 \ud83d? ..."[:1] + "．。！"), ("A" * 500, "A.")
    )
    made = extract_units(corpus, pl.DataFrame({"term": []}), ONE)
    assert "标题" in made.mentions["name"].to_list()
