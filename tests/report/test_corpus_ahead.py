"""What is read of the tables before entities and relationships are described."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl
import pytest

from graphkb.report.corpus import CorpusAhead
from graphkb.report.offline import OfflineReports
from graphkb.settings import Report

if TYPE_CHECKING:
    from conftest import World


@pytest.fixture(params=["english", "chinese"])
def world(request: pytest.FixtureRequest) -> World:
    made: World = request.getfixturevalue(request.param)
    number = pl.int_range(pl.len(), dtype=pl.Int64).alias("human_readable_id")
    described = pl.format("{} is here. 说明 {}", "title", number).alias("description")
    return replace(
        made,
        entities=made.entities.with_columns(number, described),
        relationships=made.relationships.with_columns(number),
    )


def undescribed(world: World) -> World:
    bare = [pl.lit("").alias("description"), pl.lit(None, pl.Int64).alias("human_readable_id")]
    return replace(
        world,
        entities=world.entities.with_columns(bare),
        relationships=world.relationships.with_columns(bare),
    )


def test_the_corpus_is_that_of_the_described_tables(world: World) -> None:
    described = CorpusAhead(*undescribed(world).frames()).described(*world.frames())
    whole = world.corpus()
    assert described is not None
    for field in fields(whole):
        one, two = getattr(described, field.name), getattr(whole, field.name)
        if isinstance(two, pl.DataFrame):
            assert one.equals(two.select(one.columns)), field.name
        elif isinstance(two, tuple):
            assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))
        elif isinstance(two, np.ndarray):
            assert np.array_equal(one, two), field.name
        else:
            assert one == two, field.name
    reports = [OfflineReports(corpus, Report()) for corpus in (described, whole)]
    assert reports[0].evidence_hashes == reports[1].evidence_hashes
    first, second = (written.write(written.communities) for written in reports)
    assert first.height
    assert first.equals(second)


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("relationships", pl.col("weight") + 1.0),
        ("entities", pl.col("title") + "!"),
        ("mentions", pl.col("char_start") + 1),
        ("text_units", pl.col("human_readable_id") + 1),
    ],
)
def test_tables_with_other_changes_are_read_again(
    world: World, table: str, change: pl.Expr
) -> None:
    ahead = CorpusAhead(*undescribed(world).frames())
    moved = replace(world, **{table: getattr(world, table).with_columns(change)})
    assert ahead.described(*moved.frames()) is None
