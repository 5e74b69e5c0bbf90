"""The graph leg: linking, walking, expanding, trusting, in both languages."""

from __future__ import annotations

import json
from pathlib import Path

import polars as pl
import pytest

from graphkb.extract.offline import extract_units
from graphkb.extract.resolve import resolve_entities
from graphkb.extract.terms import mine_terms
from graphkb.graph.build import build_graph
from graphkb.search.bridge import stem
from graphkb.search.fuse import fuse
from graphkb.search.graph import GraphIndex, GraphOptions
from graphkb.settings import Extract
from graphkb.tables import TABLES

ONE = Extract(workers=1)

PAGES = [
    ("Aschenbrödel", "Aschenbrödel is a ballet composed by Johann Strauss II."),
    ("Johann Strauss II", "Johann Strauss II was a composer born in Vienna."),
    ("Vienna", "Vienna is the capital of Austria on the Danube."),
    ("Jaws (film)", "Jaws is a film directed by Steven Spielberg. It stars Roy Scheider."),
    ("Steven Spielberg", "Steven Spielberg was born in Cincinnati."),
    ("Film director", "A film director controls the making of a film."),
    ("Place of birth", "The place of birth is where a person was born."),
    ("Zimbabwe", "Zimbabwe lies in Africa. Victoria Falls is a waterfall in Zimbabwe."),
    ("Bubye River", "The Bubye River is found in Zimbabwe."),
    ("Tall trees", "A waterfall of leaves fell in the forest."),
    ("呐喊", "《呐喊》是鲁迅的小说集。"),
    ("鲁迅", "鲁迅，本名周树人，浙江绍兴人。"),
    ("绍兴", "绍兴是浙江的城市，以黄酒闻名。"),
    ("杭州", "杭州是浙江的省会，以西湖闻名。"),
]


def _index(
    pages: list[tuple[str, str]],
    options: GraphOptions | None = None,
    facts: list[tuple[int, str, str, str]] | None = None,
) -> GraphIndex:
    """``facts`` are typed relationships: page, source, type, target."""
    units = pl.DataFrame(
        {
            "id": [f"{i:03d}" for i in range(len(pages))],
            "context": [title for title, _ in pages],
            "text": [text for _, text in pages],
        },
        schema={"id": pl.String, "context": pl.String, "text": pl.String},
    )
    made = extract_units(units, mine_terms(units, ONE), ONE)
    rows = [
        (f"{page:03d}", source, target, "", kind, 0.8, True, 0, 1)
        for page, source, kind, target in facts or []
    ]
    schema = TABLES["relationship_evidence"].schema
    related = pl.concat([made.relationships, pl.DataFrame(rows, schema=schema, orient="row")])
    found = resolve_entities(made.mentions, related, made.claims, units)
    return GraphIndex(
        build_graph(found.entities, found.mentions, found.relationships, units), options
    )


@pytest.fixture(scope="module")
def index() -> GraphIndex:
    return _index(PAGES)


def _titles(index: GraphIndex, query: str, **legs: list[tuple[str, float]]) -> list[str]:
    return [PAGES[int(unit)][0] for unit, _ in index.search(query, **legs).hits]


def _seeds(index: GraphIndex, query: str) -> dict[str, str]:
    return {seed.surface: seed.how for seed in index.link(query)}


@pytest.mark.parametrize(
    ("query", "surface", "how"),
    [
        ("Who composed Aschenbrodel?", "Aschenbrodel", "exact"),
        ("What is JAWS about?", "JAWS", "alias"),
        ("Who is Steven Spielberg's mother?", "Steven Spielberg", "exact"),
        ("Where was Johann Strauss born?", "Johann Strauss", "fuzzy"),
        ("鲁迅是哪里人？", "鲁迅", "exact"),
        ("魯迅的出生地", "魯迅", "exact"),
        ("《呐喊》的作者", "呐喊", "exact"),
    ],
)
def test_names_are_linked_in_both_languages(
    index: GraphIndex, query: str, surface: str, how: str
) -> None:
    assert _seeds(index, query)[surface] == how


def test_generic_words_do_not_lead(index: GraphIndex) -> None:
    seeds = index.link("What is the place of birth of the film director of Jaws?")
    assert seeds[0].surface == "Jaws"
    assert all(seed.weight < seeds[0].weight / 2 for seed in seeds[1:])
    assert _seeds(index, "where is it and what is that of the") == {}


def test_names_typed_without_capitals_are_found(index: GraphIndex) -> None:
    question = "where was the director of steven spielberg born"
    assert index.link(question)[0].surface == "steven spielberg"
    assert index.search(question).trust > index.search("where was the director born").trust


def test_seeds_name_entities_of_the_arrays(index: GraphIndex) -> None:
    seed = index.link("鲁迅")[0]
    assert index.arrays["entity_ids"][seed.entity].decode() == seed.entity_id
    assert 0 < seed.weight <= 1


def test_units_without_a_document_column_are_documents_of_their_own(index: GraphIndex) -> None:
    assert index.documents(["000", "003", "nowhere"]) == {"000": 0, "003": 3}


def test_two_hops_are_followed_in_english(index: GraphIndex) -> None:
    found = _titles(index, "Where was the director of film Jaws born?")
    assert found[:2] == ["Jaws (film)", "Steven Spielberg"]
    found = _titles(index, "In which city was the composer of Aschenbrodel born?")
    assert set(found[:3]) == {"Aschenbrödel", "Johann Strauss II", "Vienna"}


def test_two_hops_are_followed_in_chinese(index: GraphIndex) -> None:
    found = _titles(index, "《呐喊》作者的家乡以什么闻名？")
    assert found[0] == "呐喊"
    assert found.index("鲁迅") < found.index("绍兴")
    assert "杭州" not in found or found.index("绍兴") < found.index("杭州")


def test_a_bridge_leads_to_passages_with_the_other_words(index: GraphIndex) -> None:
    question = "What is the waterfall in the country where the Bubye River is found?"
    found = _titles(index, question)
    assert found[:2] == ["Bubye River", "Zimbabwe"]
    assert "Tall trees" not in found[:2]
    titles = [bridge for bridge, _ in index.search(question).bridges]
    assert titles


def test_expansion_raises_what_fitting_sentences_lead_to() -> None:
    question = "Who directed Jaws?"
    off = _index(PAGES, GraphOptions(expansion=0.0)).search(question)
    on = _index(PAGES).search(question)
    assert off.bridges == []
    assert dict(on.hits)["004"] > dict(off.hits)["004"]


def test_without_names_the_other_legs_start_the_walk(index: GraphIndex) -> None:
    question = "who wrote about hometowns and wine"
    assert index.search(question).hits == []
    run = index.search(question, lexical=[("011", 3.0)], dense=[("008", 0.8)])
    assert run.seeds == []
    assert {"008", "011"} <= {hit for hit, _ in run.hits}
    assert index.search(question, dense=[("008", 0.8)]).hits[0][0] == "008"
    assert index.search(question, lexical=[("011", 3.0), ("gone", 1.0)]).hits[0][0] == "011"


@pytest.mark.parametrize(
    ("question", "doubtful"),
    [
        ("Was he born in Cincinnati?", True),
        ("浙江的省会", True),
        ("Who composed Aschenbrodel?", False),
        ("《呐喊》的作者", False),
    ],
)
def test_only_doubtful_names_let_other_legs_start_the_walk(question: str, doubtful: bool) -> None:
    lexical = [("008", 3.0)]
    none, much = (
        _index(PAGES, GraphOptions(doubt=doubt)).search(question, lexical=lexical)
        for doubt in (0.0, 1.0)
    )
    assert none.seeds
    assert (none.trust < 1.0) == doubtful
    assert (dict(much.hits).get("008", 0.0) > dict(none.hits).get("008", 0.0)) == doubtful


def test_nearness_in_meaning_raises_what_a_bridge_leads_to() -> None:
    question = "Who directed Jaws?"
    dense = [("004", 0.9), ("006", 0.8)]
    off = _index(PAGES, GraphOptions(near=0.0)).search(question, dense=dense)
    on = _index(PAGES).search(question, dense=dense)
    share = [dict(run.hits)["004"] / run.hits[0][1] for run in (off, on)]
    assert share[1] > share[0]


def test_a_rare_bridge_leads_on_without_the_words_of_the_question() -> None:
    pages = [
        *PAGES,
        ("Duel", "Duel is a road film by Dennis Weaver. It was shot by Jack Marta."),
        ("Plainsong", "Nothing of it is kept. Jack Marta is thanked in it."),
    ]
    off = _index(pages, GraphOptions(expansion=0.0)).search("Who shot Duel?")
    on = _index(pages).search("Who shot Duel?")
    assert dict(on.hits)["015"] > dict(off.hits)["015"]


def test_trust_is_full_for_titles_and_none_for_nothing(index: GraphIndex) -> None:
    assert index.search("Who composed Aschenbrodel?").trust == 1.0
    assert index.search("完全无关的问题吗").trust <= 0.5
    assert index.search("").trust <= 0.5


def test_a_plain_word_that_titles_a_passage_is_doubted_where_another_holds_more() -> None:
    pages = [
        ("Alloy", "An alloy is a mixture of metals."),
        ("Steel", "Steel is an alloy made of iron and carbon, used for bridges and ships."),
        ("Steven Spielberg", "Steven Spielberg was born in Cincinnati."),
        ("合金", "合金是几种金属的混合物。"),
    ]
    pages += [(f"Town {n}", f"Town {n} lies on a river.") for n in range(20)]
    index = _index(pages)
    assert index.search("Which alloy is made of iron and carbon?").trust < 0.5
    assert index.search("What is an alloy?").trust > 0.5
    assert index.search("Where was Steven Spielberg born, of iron and carbon?").trust > 0.9


def test_the_capital_of_a_first_word_is_no_name() -> None:
    pages = [("Heads", "Heads is a band."), ("Injuries", "An injury of the head hurts.")]
    pages += [(f"Town {n}", f"Town {n} lies on a river.") for n in range(20)]
    index = _index(pages)
    assert "fuzzy" not in _seeds(index, "Head injury that hurts most").values()
    assert "fuzzy" in _seeds(index, "The injury that hurts Head most").values()


def test_coverage_is_the_share_one_passage_holds(index: GraphIndex) -> None:
    assert index.search("杭州 浙江 省会 西湖").coverage == pytest.approx(1.0)
    assert index.search("杭州 Danube").coverage < 0.9
    assert index.search("zzzz").coverage == 0.0


def test_hits_are_best_first_and_limited(index: GraphIndex) -> None:
    hits = index.search("鲁迅和 Jaws", top_k=3).hits
    assert len(hits) == 3
    assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)


def test_stems_join_noun_and_verb() -> None:
    assert stem("director") == stem("directed")
    assert stem("performer") == stem("performed")
    assert stem("art") != stem("artist")


def test_typed_relationships_lead_on_where_their_words_are_asked_for() -> None:
    pages = [
        ("Osprey", "Cy Young, Di Sand and Bo Chen stand behind Osprey."),
        ("Cy Young", "Cy Young was born in Lisbon."),
        ("Bo Chen", "Bo Chen was born in Porto."),
        ("Ed West", "Ed West financed nothing and was born in Faro."),
    ]
    question = "Where was the person born who financed Osprey?"

    def order(index: GraphIndex) -> list[str]:
        return [pages[int(unit)][0] for unit, _ in index.search(question).hits]

    assert order(_index(pages))[:2] == ["Osprey", "Cy Young"]
    facts = [(0, "Osprey", "financed by", "Bo Chen"), (0, "Cy Young", "painted", "Osprey")]
    assert order(_index(pages, facts=facts))[:2] == ["Osprey", "Bo Chen"]


def test_plain_words_that_name_an_entity_are_still_asked_for() -> None:
    pages = [
        ("Henry Worrall", "Henry Worrall died in Kansas."),
        ("Congressional districts", "Congressional districts are parts of a state."),
        ("Weather", "It often rains in Kansas."),
        ("Kansas's congressional districts", "Kansas has four congressional districts."),
        ("Roads", "Many roads of Kansas are straight."),
    ]
    index = _index(pages)
    question = "The state where Henry Worrall died has how many congressional districts?"
    assert {seed.surface for seed in index.link(question)} >= {"congressional districts"}
    hits = [pages[int(unit)][0] for unit, _ in index.search(question).hits]
    assert hits.index("Kansas's congressional districts") < hits.index("Weather")
    assert hits.index("Kansas's congressional districts") < hits.index("Roads")


def test_an_empty_graph_answers_with_nothing() -> None:
    run = _index([]).search("anything 任何")
    assert (run.hits, run.seeds, run.trust) == ([], [], 0.0)


def test_fusion_does_not_hurt_chinese_fact_questions() -> None:
    """Questions that one passage answers: fused order is as good as the best leg's."""
    from rank_bm25 import BM25Okapi

    from graphkb.text.segment import query_tokens, search_tokens

    path = Path(__file__).with_name("encyclopaedia.jsonl")
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    pages = [(row["title"], text) for row in rows for text in row["text"]]
    starts = [sum(len(row["text"]) for row in rows[:i]) for i in range(len(rows))]
    asked = [
        (question, f"{start + answer:03d}")
        for row, start in zip(rows, starts, strict=True)
        for question, answer in row["questions"]
    ]
    index = _index(pages)
    bm25 = BM25Okapi([search_tokens(f"{title}\n{text}") for title, text in pages])
    sums = {"lexical": 0.0, "fused": 0.0}
    for question, wanted in asked:
        scores = bm25.get_scores(query_tokens(question))
        order = sorted(range(len(pages)), key=lambda i: (-scores[i], i))
        lexical = [(f"{i:03d}", float(scores[i])) for i in order if scores[i] > 0]
        run = index.search(question, lexical=lexical)
        fused = fuse(
            {"lexical": lexical, "graph": run.hits}, trust=run.trust, coverage=run.coverage
        )
        for leg, ids in (("lexical", [i for i, _ in lexical]), ("fused", [h.id for h in fused])):
            sums[leg] += 1 / (ids.index(wanted) + 1) if wanted in ids else 0.0
    assert sums["fused"] / len(asked) >= sums["lexical"] / len(asked) - 0.005
    assert sums["fused"] / len(asked) > 0.9
