"""One more document leaves nearly all communities and reports as they are, byte for byte."""

from __future__ import annotations

import random
from pathlib import Path

import graphkb
from graphkb.view.summary import index_lines

FIRST = "Ada Bo Carla Dag Edith Femi Gwen Hugo Iris Jonas Kira Luis Mona Nils Olga Piet".split()
LAST = "Petrel Osprey Kestrel Heron Plover Avocet Dunlin Curlew Godwit Siskin Linnet".split()
PLACES = "Lisbon Porto Leeds Bergen Turku Gdansk Trieste Varna Cadiz Ghent".split()


def document(number: int) -> str:
    """A few people of a neighbourhood that its dozen neighbours in number share."""
    chance = random.Random(number)
    near = [f"{FIRST[(number // 12 + i) % 16]} {LAST[(number // 12 * 3 + i) % 11]}"
            for i in range(5)]  # fmt: skip
    one, two, three = chance.sample(near, 3)
    place = PLACES[(number // 12) % 10]
    return (
        f"{one} met {two} in {place}. {two} wrote to {three} about {place} in 19{number % 90 + 10}."
    )


def test_one_document_more_leaves_communities_and_reports_as_they_are(project: Path) -> None:
    for number in range(300):
        (project / "input" / f"{number}.txt").write_text(document(number), "utf-8")
    kb = graphkb.open(project, ["embed.when=off"])
    first = kb.index()
    assert first.reused == {}
    before = {name: kb.table(name) for name in ("communities", "community_reports")}
    (project / "input" / "more.txt").write_text(
        "Ada Petrel met Vera Newcomer in Lisbon. Vera Newcomer wrote to Hugo Heron.", "utf-8"
    )
    second = kb.index()
    assert second.counts["communities"] > 30
    assert second.reused["communities"] >= 0.95
    assert second.reused["reports"] >= 0.9
    for word, name in (("communities", "communities"), ("reports", "community_reports")):
        old = {repr(row) for row in before[name].drop("relationship_ids", "text_unit_ids",
                                                      strict=False).to_dicts()}  # fmt: skip
        new = kb.table(name).drop("relationship_ids", "text_unit_ids", strict=False).to_dicts()
        assert abs(sum(repr(row) in old for row in new) / len(new) - second.reused[word]) < 1e-9
    assert any(line.startswith("kept as they were: ") for line in index_lines(second))
    assert set(kb.index().reused.values()) == {1.0}
