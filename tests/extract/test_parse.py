"""Replies of models to records: every form in which they come, and nothing lost on the way."""

from __future__ import annotations

import contextlib
import json
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.extract.parse import parse_reply, reply_schema
from graphkb.extract.records import Records, cleaned_name

CASES = Path(__file__).parents[1] / "data" / "cases" / "replies" / "extract"


def case(name: str, cut: bool = False) -> Records:
    return parse_reply((CASES / f"{name}.txt").read_text("utf-8"), cut)


def names(found: Records) -> list[str]:
    return [entity.name for entity in found.entities]


def facts(found: Records) -> list[tuple[str, str, float]]:
    return [(r.source, r.target, r.weight) for r in found.relationships]


def test_f01_placeholders_left_standing_are_read_and_counted() -> None:
    found = case("literal_placeholders")
    assert [(e.name, e.type) for e in found.entities] == [
        ("Ada Lin", "person"), ("Bluestone", "organization"),
    ]  # fmt: skip
    assert found.repaired == 2


@pytest.mark.parametrize(
    "name",
    ["no_parens", "delim_inside_paren", "newline_records", "numbered_markdown", "fenced",
     "wrong_delim", "no_complete_cut", "think_close_only", "think_then"],
)  # fmt: skip
def test_f02_delimiter_style_with_its_faults_gives_all_its_records(name: str) -> None:
    found = case(name)
    assert [(e.name, e.type, e.description) for e in found.entities] == [
        ("ADA LIN", "PERSON", "Chief engineer"),
        ("BLUESTONE", "ORGANIZATION", "A maker of meters"),
    ]
    assert set(facts(found)) == {("ADA LIN", "BLUESTONE", 8.0)}
    assert {r.description for r in found.relationships} == {"works for"}


def test_f02_weights_are_numbers_from_one_to_ten() -> None:
    found = case("bad_weights")
    assert [r.weight for r in found.relationships] == [1, 1, 9, 1, 10, 1, 7]
    assert {r.description for r in found.relationships} == {"a"}
    assert found.repaired > 0


def test_f03_a_refusal_is_no_records_and_is_shown() -> None:
    with pytest.raises(ValueError, match="I can't help with that"):
        case("refusal")


def test_f05_too_few_fields_stay_empty_and_too_many_go_to_the_description() -> None:
    found = case("field_count")
    assert [e.description for e in found.entities] == [
        "", "Maker extra", "Chief engineer", "A maker of meters",
    ]  # fmt: skip
    assert facts(found) == [("ADA LIN", "BLUESTONE", 8.0), ("ADA LIN", "BLUESTONE", 8.0)]
    assert found.repaired == 3


def test_f07_f09_odd_names_are_cleaned_or_dropped() -> None:
    found = case("odd_names")
    assert names(found) == [
        "O'BRIEN & SONS", "Ada Lin", "C:\\Temp\\a.txt", "Wait, that should be BLUESTONE",
        "5 business days", "5_business_days",
    ]  # fmt: skip
    assert found.dropped == 3  # only a quote, None, 4,000 characters


def test_f11_a_relationship_without_a_source_is_dropped() -> None:
    found = case("unknown_endpoint_selfloop")
    assert [r.target for r in found.relationships] == ["BLUESTONE", "DR GHOST", "ADA LIN"]
    assert found.dropped == 1


def test_f15_full_width_signs_are_read() -> None:
    found = case("fullwidth")
    assert [(e.name, e.type) for e in found.entities] == [("陈明", "人物")]
    assert facts(found) == [("陈明", "青石公司", 8.0)]


def test_f17_thoughts_are_no_records() -> None:
    assert "DRAFT" not in names(case("think_then"))
    with pytest.raises(ValueError, match="thoughts"):
        case("think_unclosed")


def test_f20_of_a_cut_reply_the_whole_records_are_kept() -> None:
    found = case("no_complete_cut", cut=True)
    assert len(found) == 3
    assert found.dropped == 1


def test_a_reply_that_says_there_is_nothing_is_no_error() -> None:
    assert len(case("none")) == 0
    assert len(parse_reply('{"entities": [], "relationships": []}')) == 0


@pytest.mark.parametrize(
    "reply",
    [
        '{"entities": [["Ada Lin", "PERSON", "engineer"]], '
        '"relationships": [["Ada Lin", "leads", "Osprey", "9"]]}',
        '```json\n{"entities": [["Ada Lin", "PERSON", "engineer"]], '
        '"relationships": [["Ada Lin", "leads", "Osprey", 9, ""]]}\n```\nDone.',
        "{'entities': [['Ada Lin', 'PERSON', 'engineer']], "
        "'relationships': [['Ada Lin', 'leads', 'Osprey', 9],]}",
        '{"nodes": [{"entity_name": "Ada Lin", "entity_type": "PERSON", "desc": "engineer"}], '
        '"edges": [{"head": "Ada Lin", "relation": "leads", "tail": "Osprey", "weight": "9/10"}]}',
        '{"result": {"entities": {"Ada Lin": {"type": "PERSON", "description": "engineer"}}, '
        '"relations": [["Ada Lin", "leads", "Osprey", "9"]]}}',
        '[{"entities": [["Ada Lin", "PERSON", "engineer"]], '
        '"relationships": [["Ada Lin", "leads", "Osprey", "", "9"]]}]',
        '{“entities”：[[“Ada Lin”，“PERSON”，“engineer”]]，'
        '“relationships”：[[“Ada Lin”，“leads”，“Osprey”，“９”]]}',
    ],
    ids=["asked", "fenced", "single quotes", "objects", "wrapped", "in a list", "full-width"],
)  # fmt: skip
def test_json_in_every_form_gives_the_same_records(reply: str) -> None:
    found = parse_reply(reply)
    assert [(e.name, e.type, e.description) for e in found.entities] == [
        ("Ada Lin", "PERSON", "engineer")
    ]
    assert [(r.source, r.type, r.target, r.weight) for r in found.relationships] == [
        ("Ada Lin", "leads", "Osprey", 9.0)
    ]


def test_chinese_keys_and_a_triple_in_another_order_are_read() -> None:
    found = parse_reply(
        '{"实体": [["陈明", "人物"], ["青石", "组织"]], "关系": [["陈明", "青石", "任职", "8"]]}'
    )
    assert names(found) == ["陈明", "青石"]
    assert [(r.source, r.type, r.target) for r in found.relationships] == [("陈明", "任职", "青石")]
    assert found.repaired == 1


def test_claims_are_read_with_what_is_left_out() -> None:
    found = parse_reply(
        '{"entities": [], "relationships": [], "claims": [["Ada Lin", "ROLE", "leads Osprey", '
        '"TRUE", "2019"], ["Ada Lin", "left in May"], ["", "x", "y"]]}'
    )
    assert [(c.subject, c.type, c.description, c.start_date) for c in found.claims] == [
        ("Ada Lin", "ROLE", "leads Osprey", "2019"), ("Ada Lin", "", "left in May", ""),
    ]  # fmt: skip
    assert found.dropped == 1


def test_a_record_in_a_description_is_no_record() -> None:
    found = parse_reply('{"entities": [["Guide", "WORK", "says (\\"entity\\"<|>NAME<|>T<|>x)##"]]}')
    assert names(found) == ["Guide"]


def test_json_without_the_lists_and_other_text_are_refused() -> None:
    for reply in ('{"answer": 42}', '[["", 0]]', "PWNED", "", "entities: none that I can see"):
        with pytest.raises(ValueError):
            parse_reply(reply)


@pytest.mark.parametrize(
    "reply",
    ["{}", "[]", "[[]]", '{"result": []}', '{"结果": {"数据": []}}', "```json\n[]\n```", "\n{ }\n"],
)
def test_json_of_nothing_says_that_there_is_nothing(reply: str) -> None:
    assert len(parse_reply(reply)) == 0


@pytest.mark.parametrize(
    "reply",
    ["(\n" * 20_000, "\n" * 50_000 + "x", '("entity"<|>A' + ")" * 3_000 + " " * 30_000,
     '{"entities": ' + "[" * 30_000, "entities: " + '{"a": ' * 5_000, " ## " * 20_000],
    ids=["brackets", "lines", "spaces", "nested", "objects", "marks"],
)  # fmt: skip
def test_a_model_that_loops_takes_no_time(reply: str) -> None:
    started = time.perf_counter()
    for cut in (False, True):
        with contextlib.suppress(ValueError):
            parse_reply(reply, cut)
    assert time.perf_counter() - started < 2


def test_the_schema_has_claims_only_when_they_are_wanted() -> None:
    assert set(reply_schema(claims=True)["required"]) == {"entities", "relationships", "claims"}
    assert set(reply_schema(claims=False)["properties"]) == {"entities", "relationships"}


NAMES = st.text(
    st.characters(categories=["L", "N"], exclude_characters="<>|#"), min_size=2, max_size=12
).filter(lambda name: cleaned_name(name) == name)
WORDS = st.text(st.characters(categories=["L", "N", "P", "Zs"]), max_size=40)
PLAIN = st.text(
    st.characters(categories=["L", "N", "Zs"], include_characters=",.;:!?()'-"), max_size=40
).filter(lambda text: text.count("(") == text.count(")"))
ENTITIES = st.lists(st.tuples(NAMES.map("n{}".format), NAMES, WORDS), max_size=6)
FACTS = st.lists(
    st.tuples(NAMES.map("s{}".format), WORDS, NAMES.map("t{}".format), st.integers(1, 10)),
    max_size=6,
)


@given(ENTITIES, FACTS, st.sampled_from([None, 1]), st.booleans())
def test_json_records_in_are_records_out(
    entities: list[tuple[str, str, str]],
    relationships: list[tuple[str, str, str, int]],
    indent: int | None,
    objects: bool,
) -> None:
    asked: dict[str, object] = {"entities": entities, "relationships": relationships}
    if objects:
        keys = ("source", "relation", "target", "weight")
        asked = {
            "entities": [dict(zip(("name", "type", "description"), e, strict=True))
                         for e in entities],
            "relationships": [dict(zip(keys, r, strict=True)) for r in relationships],
        }  # fmt: skip
    found = parse_reply("Here:\n" + json.dumps(asked, ensure_ascii=False, indent=indent))
    assert [e.name for e in found.entities] == [" ".join(e[0].split()) for e in entities]
    assert [(r.source, r.target, r.weight) for r in found.relationships] == [
        (source, target, weight) for source, _, target, weight in relationships
    ]
    assert found.dropped == 0


@given(
    st.lists(st.tuples(NAMES, NAMES, PLAIN), min_size=1, max_size=6),
    st.lists(st.tuples(NAMES, NAMES, PLAIN, st.integers(1, 10)), max_size=6),
    st.sampled_from(["##\n", "##", "\n", ")##\n"]),
    st.sampled_from(["<|>", "<||>", "{tuple_delimiter}", "＜｜＞"]),
)
def test_delimited_records_in_are_records_out(
    entities: list[tuple[str, str, str]],
    relationships: list[tuple[str, str, str, int]],
    end: str,
    delimiter: str,
) -> None:
    fields = [("entity", *e) for e in entities] + [("relationship", *r) for r in relationships]
    closed = end.startswith(")")
    records = [
        ("(" if closed else "") + f'"{tag}"{delimiter}' + delimiter.join(map(str, rest))
        for tag, *rest in fields
    ]
    found = parse_reply("".join(record + end for record in records))
    assert [e.name for e in found.entities] == [e[0] for e in entities]
    assert [(r.source, r.target, r.weight) for r in found.relationships] == [
        (source, target, weight) for source, target, _, weight in relationships
    ]
    assert found.dropped == 0


@given(ENTITIES.filter(lambda found: len(found) > 1), st.integers(0, 400))
def test_a_cut_reply_keeps_exactly_its_whole_records(
    entities: list[tuple[str, str, str]], place: int
) -> None:
    whole = json.dumps({"entities": entities, "relationships": []}, ensure_ascii=False)
    cut = whole[: min(len(whole) - 22, 14 + place)]
    ends = [len(json.dumps({"entities": entities[:n]}, ensure_ascii=False)) - 2
            for n in range(len(entities) + 1)]  # fmt: skip
    kept = max((n for n, end in enumerate(ends) if n and end <= len(cut)), default=0)
    try:
        found = parse_reply(cut, cut=True)
    except ValueError:
        assert kept == 0
    else:
        assert [e.name for e in found.entities] == [e[0] for e in entities[:kept]]


@pytest.mark.parametrize(
    "data",
    [
        {"entities": [["Ada Lin", "PERSON", "leads \u201cOsprey\u201d"]], "relationships": []},
        {
            "entities": [["陈明", "人物", "工程师\n住在杭州"]],
            "relationships": [["陈明", "任职", "青石", "7"]],
        },
        {"Entities": [{"name": "Ada", "type": 3, "description": None}, 7], "edges": [["a", "b"]]},
        {"result": {"entities": ["Ada", "陈明"], "claims": {"Ada": ["X", "said \\frac so"]}}},
        {"entities": "none", "relationships": None},
        {"entities": [], "note": "无"},
    ],
)
def test_a_reply_that_is_json_alone_is_read_as_one_with_words_around_it(data: object) -> None:
    found = []
    for before, after in (("", ""), ("Here it is: ", ""), ("```json\n", "\n```"), ("", " 完毕。")):
        for ascii_only in (False, True):
            text = before + json.dumps(data, ensure_ascii=ascii_only) + after
            with contextlib.suppress(ValueError):
                records = parse_reply(text)
                found.append((records.entities, records.relationships, records.claims,
                              records.repaired, records.dropped))  # fmt: skip
    assert all(one == found[0] for one in found)
    assert len(found) in (0, 8)
