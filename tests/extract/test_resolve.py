"""The reduce stage: which names are one entity."""

from __future__ import annotations

import polars as pl
import pytest

from graphkb.extract.offline import extract_units
from graphkb.extract.resolve import Resolution, resolve_entities
from graphkb.extract.terms import mine_terms
from graphkb.settings import Extract
from graphkb.tables import TABLES
from tests.extract.conftest import units

ONE = Extract(workers=1)


def _mentions(*rows: tuple[str, str, str | None]) -> pl.DataFrame:
    """Mention evidence of (unit, name, alias_of), each at its own place."""
    records = [
        (unit, 10 * i, 10 * i + 5, name, name, "TERM", alias)
        for i, (unit, name, alias) in enumerate(rows)
    ]
    return pl.DataFrame(records, schema=TABLES["mention_evidence"].schema, orient="row")


def _related(*rows: tuple[str, str, float]) -> pl.DataFrame:
    records = [("u0", a, b, f"{a}-{b}", "RELATED", w, False, 0, 9) for a, b, w in rows]
    return pl.DataFrame(records, schema=TABLES["relationship_evidence"].schema, orient="row")


def _resolve(mentions: pl.DataFrame, related: pl.DataFrame | None = None) -> Resolution:
    return resolve_entities(
        mentions,
        _related() if related is None else related,
        TABLES["claim_evidence"].empty(),
        units(("", "text")),
    )


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("武漢大學", "武汉大学"),
        ("ＢＤ－200", "BD-200"),
        ("Café Noir", "CAFE NOIR"),
        ("The U.S. Navy", "US Navy"),
        ("《三国演义》", "三国演义"),
        ("King Norodom Suramarit", "Norodom Suramarit"),
        ("陈忠岳先生", "陈忠岳"),
        ("Microsoft Corp", "Microsoft"),
        ("青石科技有限公司", "青石科技"),
    ],
)
def test_spellings_of_one_name_are_one_entity(one: str, other: str) -> None:
    made = _resolve(_mentions(("u0", one, None), ("u0", other, None), ("u0", "Zeta", None)))
    assert made.entities.height == 2
    assert made.entities.filter(pl.col("title") != "Zeta")["frequency"].to_list() == [1]


@pytest.mark.parametrize(
    ("one", "other"), [("C", "C++"), ("山东有限公司", "山东"), ("陈明", "陈鸣"), ("v2.0", "v20")]
)
def test_different_names_stay_apart(one: str, other: str) -> None:
    assert _resolve(_mentions(("u0", one, None), ("u1", other, None))).entities.height == 2


def test_an_alias_of_one_entity_joins_it_and_is_recorded() -> None:
    made = _resolve(
        _mentions(
            ("u0", "世界卫生组织", None),
            ("u0", "世卫组织", "世界卫生组织"),
            ("u1", "世卫组织", None),
        )
    )
    assert made.entities["title"].to_list() == ["世界卫生组织"]
    assert made.entities["aliases"].to_list() == [["世卫组织"]]
    assert made.entities["frequency"].to_list() == [2]
    assert made.merges["rule"].to_list() == ["alias"]


def test_an_alias_of_two_entities_joins_neither() -> None:
    made = _resolve(
        _mentions(
            ("u0", "Midway, Iowa", None),
            ("u0", "Midway", "Midway, Iowa"),
            ("u1", "Midway, Ohio", None),
            ("u1", "Midway", "Midway, Ohio"),
        )
    )
    assert sorted(made.entities["title"]) == ["Midway", "Midway, Iowa", "Midway, Ohio"]
    aliases = dict(made.entities.select("title", "aliases").iter_rows())
    assert aliases["Midway, Iowa"] == ["Midway"]


def test_a_title_is_not_swallowed_by_a_namesake() -> None:
    corpus = units(
        ("Casino", "A casino is a place for gambling."),
        ("Casino (film)", "Casino is a film by Martin Scorsese."),
    )
    made = extract_units(corpus, mine_terms(corpus, ONE), ONE)
    entities = resolve_entities(made.mentions, made.relationships, made.claims, corpus).entities
    assert {"Casino", "Casino (film)"} <= set(entities["title"])


def test_weights_add_up_and_never_reach_zero() -> None:
    made = _resolve(
        _mentions(("u0", "A1x", None), ("u0", "B1x", None), ("u0", "Ｃ1x", None)),
        _related(
            ("A1x", "B1x", 1.0), ("B1x", "A1x", 2.0), ("A1x", "C1x", -3.0), ("C1x", "Ｃ1x", 1.0)
        ),
    )
    weights = sorted(made.relationships["weight"])
    assert weights[1] == 3.0
    assert 0 < weights[0] < 0.001
    assert made.dropped == {"self_relationships": 1, "ordinary_words": 0}
    assert (made.relationships["source_id"] != made.relationships["target_id"]).all()


def test_row_order_changes_nothing_and_every_id_exists(mixed: pl.DataFrame) -> None:
    made = extract_units(mixed, mine_terms(mixed, ONE), ONE)
    frames = (made.mentions, made.relationships, made.claims)
    one = resolve_entities(*frames, mixed)
    two = resolve_entities(*(f.sample(fraction=1, shuffle=True, seed=7) for f in frames), mixed)
    for name in ("entities", "mentions", "relationships", "covariates", "merges"):
        assert getattr(one, name).equals(getattr(two, name)), name
    ids, titles = set(one.entities["id"]), set(one.entities["title"])
    assert set(one.mentions["entity_id"]) <= ids
    assert set(one.relationships["source_id"]) | set(one.relationships["target_id"]) <= ids
    assert set(one.covariates["subject_id"]) <= titles
    for name in ("entities", "mentions", "relationships", "covariates"):
        assert dict(getattr(one, name).schema) == TABLES[name].schema


def test_a_titled_entity_is_described_by_its_first_sentence(mixed: pl.DataFrame) -> None:
    made = extract_units(mixed, mine_terms(mixed, ONE), ONE)
    entities = resolve_entities(made.mentions, made.relationships, made.claims, mixed).entities
    described = dict(entities.select("title", "description").iter_rows())
    assert described["Bluestone Ltd"].startswith("Bluestone Ltd is a company")
    assert described["曹操"] == "曹操在许昌与刘备煮酒论英雄。"


def test_nothing_gives_nothing() -> None:
    made = _resolve(_mentions())
    assert made.entities.height == made.relationships.height == made.covariates.height == 0
