"""The passage–entity graph's arrays."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

from graphkb.extract.offline import extract_units
from graphkb.extract.resolve import Resolution, resolve_entities
from graphkb.extract.terms import mine_terms
from graphkb.graph.build import build_graph
from graphkb.graph.lookup import hash64
from graphkb.settings import Extract
from graphkb.tables import TABLES
from graphkb.text.names import name_key
from graphkb.text.segment import search_tokens

ONE = Extract(workers=1)
UNITS = pl.DataFrame(
    {
        "id": ["u3", "u1", "u0", "u2"],
        "context": ["曹操", "Jaws (film)", "Ada Lin", "许昌"],
        "text": [
            "曹操在许昌与刘备煮酒论英雄。",
            "Jaws was directed by Ada Lin.",
            "Ada Lin was born in Vienna. Ada Lin lives.",
            "许昌是河南的城市。",
        ],
    }
)


@pytest.fixture(scope="module")
def resolved() -> Resolution:
    made = extract_units(UNITS, mine_terms(UNITS, ONE), ONE)
    return resolve_entities(made.mentions, made.relationships, made.claims, UNITS)


@pytest.fixture(scope="module")
def arrays(resolved: Resolution) -> dict[str, np.ndarray]:
    return build_graph(resolved.entities, resolved.mentions, resolved.relationships, UNITS)


def test_adjacency_is_symmetric_sorted_and_has_no_loop(arrays: dict[str, np.ndarray]) -> None:
    indptr, indices, weights = arrays["indptr"], arrays["indices"], arrays["weights"]
    n = len(arrays["unit_ids"]) + len(arrays["entity_ids"])
    assert len(indptr) == n + 1
    assert (weights > 0).all()
    dense = np.zeros((n, n))
    for node in range(n):
        row = indices[indptr[node] : indptr[node + 1]]
        assert (np.diff(row) > 0).all()
        dense[node, row] = weights[indptr[node] : indptr[node + 1]]
    assert np.array_equal(dense, dense.T)
    assert np.allclose(arrays["strength"], dense.sum(1))
    assert (np.diag(dense) == 0).all()


def test_row_order_changes_no_byte(resolved: Resolution, arrays: dict[str, np.ndarray]) -> None:
    shuffled = [
        frame.sample(fraction=1, shuffle=True, seed=5)
        for frame in (resolved.entities, resolved.mentions, resolved.relationships, UNITS)
    ]
    again = build_graph(*shuffled)
    assert list(again) == list(arrays)
    for name, values in arrays.items():
        assert values.tobytes() == again[name].tobytes(), name


def test_given_search_texts_equal_own_tokens(
    resolved: Resolution, arrays: dict[str, np.ndarray]
) -> None:
    tokens = [
        " ".join(search_tokens(f"{context}\n{text}"))
        for context, text in UNITS.select("context", "text").iter_rows()
    ]
    given = pl.DataFrame({"id": UNITS["id"], "tokens": tokens})
    again = build_graph(resolved.entities, resolved.mentions, resolved.relationships, UNITS, given)
    assert np.array_equal(arrays["token_units"], again["token_units"])
    assert np.array_equal(arrays["token_hashes"], again["token_hashes"])


def test_titles_lead_from_entity_to_unit_and_back(
    resolved: Resolution, arrays: dict[str, np.ndarray]
) -> None:
    ids = [bytes(i).decode() for i in arrays["entity_ids"]]
    title_of = dict(resolved.entities.select("id", "title").iter_rows())
    assert [title_of[ids[e]] for e in arrays["title_entity"]] == [
        "Ada Lin",
        "Jaws (film)",
        "许昌",
        "曹操",
    ]
    entity = int(arrays["title_entity"][3])
    start, end = arrays["titled_indptr"][entity : entity + 2]
    assert arrays["titled_units"][start:end].tolist() == [3]


def test_a_title_spelled_otherwise_than_its_entity_is_still_its_title() -> None:
    units = pl.DataFrame({"id": ["u0"], "context": ["ADA LIN"], "text": ["Ada Lin. Ada Lin."]})
    mentions = pl.DataFrame(
        [("u0", -1, -1, "ADA LIN", "ADA LIN", "PERSON", None),
         ("u0", 0, 7, "Ada Lin", "Ada Lin", "PERSON", None)],
        schema=TABLES["mention_evidence"].schema, orient="row",
    )  # fmt: skip
    relationships = TABLES["relationship_evidence"].empty()
    found = resolve_entities(mentions, relationships, TABLES["claim_evidence"].empty(), units)
    entities = found.entities.with_columns(
        title=pl.lit("Ada Lin"), aliases=pl.lit([], pl.List(pl.String))
    )
    made = build_graph(entities, found.mentions, found.relationships, units)
    assert made["title_entity"].tolist() == [0]


def test_typed_relationships_are_kept_by_unit_with_their_words(resolved: Resolution) -> None:
    evidence = pl.DataFrame(
        [("u1", "Ada Lin", "Jaws (film)", "", "directed", 0.9, True, 0, 9),
         ("u0", "Ada Lin", "Vienna", "", "RELATED", 0.9, True, 0, 9)],
        schema=TABLES["relationship_evidence"].schema, orient="row",
    )  # fmt: skip
    made = extract_units(UNITS, mine_terms(UNITS, ONE), ONE)
    found = resolve_entities(made.mentions, evidence, made.claims, UNITS)
    arrays = build_graph(found.entities, found.mentions, found.relationships, UNITS)
    assert arrays["fact_indptr"].tolist() == [0, 0, 1, 1, 1]
    names = [bytes(name).decode() for name in arrays["entity_ids"]]
    titles = dict(found.entities.select("id", "title").iter_rows())
    assert titles[names[arrays["fact_sources"][0]]] == "Ada Lin"
    assert titles[names[arrays["fact_targets"][0]]] == "Jaws (film)"
    assert arrays["fact_text"].tobytes().decode() == "Ada Lin directed Jaws (film)"


def test_short_forms_of_titles_are_keys(arrays: dict[str, np.ndarray]) -> None:
    for name in ("Jaws (film)", "Jaws", "曹操", "ADA LIN"):
        assert np.uint64(hash64(name_key(name))) in arrays["key_hashes"]


def test_texts_and_counts_round_trip(arrays: dict[str, np.ndarray]) -> None:
    start, end = arrays["text_indptr"][3:5]
    assert arrays["text"][start:end].tobytes().decode() == "曹操在许昌与刘备煮酒论英雄。"
    place = np.searchsorted(arrays["token_hashes"], np.uint64(hash64("lin")))
    start, end = arrays["token_indptr"][place : place + 2]
    assert arrays["token_units"][start:end].tolist() == [0, 1]
    assert arrays["token_counts"][start:end].tolist() == [3, 1]


def test_no_entities_and_no_units_build_an_empty_graph(resolved: Resolution) -> None:
    empty = build_graph(
        resolved.entities.clear(), resolved.mentions.clear(), resolved.relationships.clear(), UNITS
    )
    assert empty["indptr"].tolist() == [0] * 5
    assert (empty["title_entity"] == -1).all()
    nothing = build_graph(
        resolved.entities.clear(),
        resolved.mentions.clear(),
        resolved.relationships.clear(),
        UNITS.clear(),
    )
    assert nothing["indptr"].tolist() == [0]
