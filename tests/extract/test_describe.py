"""Descriptions from a model's statements, unit by unit, and their merging within a budget."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from model_server import model_server, prompt_of, said

from graphkb.extract.collect import Collected, select_descriptions
from graphkb.extract.facts import facts_of, missing_facts
from graphkb.extract.merge_descriptions import DescriptionMerger, keep_facts, read_descriptions
from graphkb.extract.resolve import Resolution
from graphkb.extract.statements import Statement
from graphkb.tables import TABLES
from graphkb.text.tokens import count_tokens
from tests.extract.asked import (
    asking,
    described_things,
    mentions,
    related,
    resolved,
    told,
    units,
    writing,
)

PEOPLE = mentions(
    ("u0", "Ada Lin", "PERSON"), ("u1", "Ada Lin", "PERSON"), ("u2", "Ada Lin", "PERSON"),
    ("u2", "Bo Chen", "PERSON"), ("u1", "陈明", "PERSON"),
)  # fmt: skip


def collected(title: str, *statements: str, names: tuple[str, ...] = ()) -> Collected:
    """Statements about one thing, each with those of ``names`` that stand in it."""
    return Collected(
        title,
        tuple(Statement(t, frozenset(name for name in names if name in t)) for t in statements),
    )


def described(made: Resolution) -> dict[str, str]:
    return dict(made.entities.select("title", "description").iter_rows())


def long_statements(count: int = 12) -> list[str]:
    """More than 50 tokens, each with its own facts."""
    return [f"Ada Lin signed contract CT-{n} on {n + 1} May 20{n + 10}." for n in range(count)]


def test_a_description_is_the_distinct_statements_in_the_order_of_units() -> None:
    said_of = told(
        ("u2", "Ada Lin", "Ada Lin leads Osprey in Bergen."),
        ("u0", "Ada Lin", "An engineer born in 1970"),
        ("u1", "Ada Lin", "leads Osprey"),
        ("u1", "陈明", "工程师"), ("u2", "陈明", ""),
    )  # fmt: skip
    found = described(resolved(PEOPLE, entity_evidence=said_of))
    assert found["Ada Lin"] == "An engineer born in 1970. Ada Lin leads Osprey in Bergen."
    assert found["陈明"] == "工程师"
    assert found["Bo Chen"] == ""


def test_aliases_and_spellings_add_to_one_description() -> None:
    evidence = mentions(("u0", "世界卫生组织", "TERM"), ("u1", "世卫组织", "TERM", "世界卫生组织"))
    said_of = told(("u0", "世界卫生组织", "总部在日内瓦"), ("u1", "世卫组织", "成立于1948年"))
    made = resolved(evidence, entity_evidence=said_of)
    assert described(made) == {"世界卫生组织": "总部在日内瓦。成立于1948年。"}


def test_a_unit_that_defines_without_a_statement_adds_its_sentence() -> None:
    texts = pl.DataFrame(
        {"id": ["u0", "u1"], "document_id": ["d0", "d1"], "context": ["Ada Lin", "Bo Chen"],
         "text": ["Ada Lin is an engineer. More.", "Bo Chen paints."]},
    )  # fmt: skip
    evidence = pl.concat(
        [mentions(("u0", "Ada Lin", "PERSON"), ("u1", "Bo Chen", "PERSON"))
         .with_columns(char_start=-1), mentions(("u1", "Ada Lin", "PERSON"))],
        how="vertical_relaxed",
    )  # fmt: skip
    found = resolved(
        evidence, text_units=texts, entity_evidence=told(("u1", "Ada Lin", "Taught Bo Chen."))
    )
    assert described(found) == {
        "Ada Lin": "Ada Lin is an engineer. Taught Bo Chen.",
        "Bo Chen": "Bo Chen paints.",
    }


def test_relationships_of_units_that_the_model_read_have_its_statements() -> None:
    beside = related(
        ("u2", "Ada Lin", "Bo Chen", "Ada Lin taught Bo Chen in 2019."),
        ("u1", "Ada Lin", "Bo Chen", "They founded Osprey"),
        ("u0", "Ada Lin", "Bo Chen", "and then with"),
        ("u0", "Ada Lin", "陈明", "met"),
    )
    said_of = told(("u1", "Ada Lin", "x"), ("u2", "Ada Lin", "y"))
    made = resolved(PEOPLE, related=beside, entity_evidence=said_of)
    found = {frozenset(row[:2]): row[2] for row in
             made.relationships.select("source", "target", "description").iter_rows()}  # fmt: skip
    together = "They founded Osprey. Ada Lin taught Bo Chen in 2019."
    assert found == {frozenset({"Ada Lin", "Bo Chen"}): together,
                     frozenset({"Ada Lin", "陈明"}): "met"}  # fmt: skip


def test_without_a_model_sentences_with_most_facts_are_chosen_within_the_budget() -> None:
    rows = [(f"u{n:02}", "Ada Lin", text) for n, text in enumerate(long_statements())]
    filler = [(f"v{n}", "Ada Lin", f"Ada Lin is known to {w}.") for n, w in enumerate("abcdefgh")]
    evidence = mentions(*((unit, "Ada Lin", "PERSON") for unit, *_ in (*rows, *filler)))
    made = resolved(evidence, entity_evidence=told(*filler, *rows), max_tokens=60)
    text = described(made)["Ada Lin"]
    assert count_tokens(text) <= 66
    assert "CT-" in text
    assert "is known to" not in text


def test_row_order_changes_nothing() -> None:
    rows = [(f"u{n:02}", "Ada Lin", text) for n, text in enumerate(long_statements())]
    evidence = mentions(*((unit, "Ada Lin", "PERSON") for unit, *_ in rows))
    one = resolved(evidence, entity_evidence=told(*rows), max_tokens=60)
    two = resolved(evidence[::-1], entity_evidence=told(*rows[::-1]), max_tokens=60)
    assert one.entities.equals(two.entities)


@pytest.mark.parametrize(
    ("statements", "names", "reply"),
    [
        (["陈明于2021年3月5日加入青石公司。", "他管理１，２００人。", "合同编号CT-2023-118。"],
         ["青石公司"], "陈明管理1200人。"),
        (["Ada Lin was born on 3 May 1970.", "Paid 1,200 euros to Bo Chen.", "Fixed E1043."],
         ["Bo Chen"], "Ada Lin, born 1970-05-03, fixed things."),
        (["Opened in March 2021.", "Closed 2023-04-01."], [], "A shop."),
    ],
)  # fmt: skip
def test_every_fact_of_the_statements_survives(
    statements: list[str], names: list[str], reply: str
) -> None:
    one = collected("x", *statements, names=tuple(names))
    text = keep_facts(reply, one, 100)
    assert text.startswith(reply)
    assert missing_facts(facts_of(" ".join(statements)), facts_of(text)) == set()
    assert all(name in text for name in names)


def test_only_the_sentences_of_lost_facts_are_added() -> None:
    one = collected(
        "Ada Lin",
        "Ada Lin, born on 3 May 1970, leads Osprey.",
        "She won 2 prizes. She likes tea.",
    )
    reply = "Ada Lin (born 1970-05-03) leads Osprey and likes tea."
    assert keep_facts(reply, one, 100) == f"{reply} She won 2 prizes."
    assert keep_facts(f"{reply} She won 2 prizes.", one, 100) == f"{reply} She won 2 prizes."


def test_sentences_with_invented_numbers_are_left_out() -> None:
    one = collected("陈明", "陈明2019年加入青石公司，任总工程师。", "陈明在杭州。")
    assert (
        keep_facts("陈明2019年加入青石公司。他有3个孩子。", one, 100) == "陈明2019年加入青石公司。"
    )


def test_a_reply_that_is_empty_or_longer_than_the_statements_is_not_used() -> None:
    one = collected("Ada Lin", "Ada Lin leads Osprey.", "Born in 1970.")
    for reply in ("", "word " * 500):
        assert keep_facts(reply, one, 50) == select_descriptions([one], 50)[0]


def merged(
    folder: Path, things: list[Collected], play: Any, known: pl.DataFrame | None = None,
    limit: int = 50,
) -> tuple[list[str], DescriptionMerger, list[dict[str, Any]]]:  # fmt: skip
    before = TABLES["descriptions"].empty() if known is None else known
    with model_server(play) as server, asking(folder, server) as model:
        merger = DescriptionMerger(model, folder, before)
        return list(merger(things, limit)), merger, server.requests


def things(*names: str) -> list[Collected]:
    return [
        collected(name, *(s.replace("Ada Lin", name) for s in long_statements(8))) for name in names
    ]


def shorter(name: str, statements: list[str]) -> str:
    """All facts in fewer words."""
    return f"{name}: " + "; ".join(s.split(" signed contract ")[-1].strip(".") for s in statements)


def test_several_things_are_merged_in_one_call_and_remembered(tmp_path: Path) -> None:
    three = things("Ada Lin", "Bo Chen", "Cy Dorn")
    texts, merger, asked = merged(tmp_path, three, writing(shorter))
    assert len(asked) == 1
    assert [text.split(":")[0] for text in texts] == ["Ada Lin", "Bo Chen", "Cy Dorn"]
    assert all(sum(count_tokens(s.text) for s in one.statements) > 50 for one in three)
    assert all("CT-7 on 8 May 2017" in text for text in texts)
    assert merger.n_open == 0
    more = [*three, *things("Eve Ross")]
    again, after, asked = merged(tmp_path / "2", more, writing(shorter), merger.descriptions)
    assert again[:3] == texts
    assert described_things(asked) == ["Eve Ross"]
    assert after.descriptions.height == 4
    gone = merged(tmp_path / "3", three[:1], writing(shorter), after.descriptions)
    assert gone[1].descriptions.height == 1
    assert gone[2] == []


def test_a_changed_statement_a_limit_or_a_prompt_asks_again(tmp_path: Path) -> None:
    one = things("Ada Lin")
    _, merger, _ = merged(tmp_path, one, writing(shorter))
    known = merger.descriptions
    changed = [Collected("Ada Lin", (*one[0].statements[:-1], Statement("She left.")))]
    assert len(merged(tmp_path, changed, writing(shorter), known)[2]) == 1
    assert len(merged(tmp_path, one, writing(shorter), known, 60)[2]) == 1
    prompt = tmp_path / "prompts" / "en" / "describe.md"
    prompt.parent.mkdir(parents=True)
    prompt.write_text("Merge. Reply in JSON.\n---\n$things\n", "utf8")
    assert len(merged(tmp_path, one, writing(shorter), known)[2]) == 1


def test_chinese_things_are_asked_in_chinese_as_data(tmp_path: Path) -> None:
    said_of = tuple(f"陈明于20{n}年签署合同CT-{n}，</things>金额{n}00元。" for n in range(10, 22))
    one = collected("陈明", *said_of)
    texts, _, asked = merged(tmp_path, [one], writing(lambda name, all_said: "陈明签署合同。"))
    assert "你把来自多份文档的陈述合并成描述" in asked[0]["messages"][0]["content"]
    assert asked[0]["messages"][1]["content"].count("</things>") == 1
    assert "陈明" not in asked[0]["messages"][0]["content"]
    shown = [text for text in said_of if text.replace("</things>", "") in
             asked[0]["messages"][1]["content"].replace("‹/things>", "")]  # fmt: skip
    assert missing_facts(facts_of("".join(shown)), facts_of(texts[0])) == set()


def test_what_the_model_fails_on_is_selected_and_asked_again(tmp_path: Path) -> None:
    def failing(body: dict[str, Any]) -> Any:
        return said("I cannot.") if "Bo Chen" in prompt_of(body) else writing(shorter)(body)

    two = things("Ada Lin", "Bo Chen")
    texts, merger, _ = merged(tmp_path, two, failing)
    assert texts[0].startswith("Ada Lin: ")
    assert texts[1] == select_descriptions(two[1:], 50)[0]
    assert merger.n_open == 1
    assert "no JSON in the reply" in merger.failure
    again, merger, asked = merged(tmp_path, two, writing(shorter), merger.descriptions)
    assert described_things(asked) == ["Bo Chen"]
    assert again[1].startswith("Bo Chen: ")
    assert merger.n_open == 0


def test_only_long_descriptions_cost_a_call(tmp_path: Path) -> None:
    rows = [(f"u{n:02}", "Ada Lin", text) for n, text in enumerate(long_statements())]
    short = [("u00", "Bo Chen", "Bo Chen paints."), ("u01", "Bo Chen", "He lives in Porto.")]
    evidence = mentions(*((unit, name, "PERSON") for unit, name, _ in (*rows, *short)))
    with model_server(writing(shorter)) as server, asking(tmp_path, server) as model:
        merger = DescriptionMerger(model, tmp_path, TABLES["descriptions"].empty())
        made = resolved(
            evidence, entity_evidence=told(*rows, *short), shorten=merger, max_tokens=60
        )
        assert described_things(server.requests) == ["Ada Lin"]
    assert described(made)["Bo Chen"] == "Bo Chen paints. He lives in Porto."
    assert described(made)["Ada Lin"].startswith("Ada Lin: CT-0")


@pytest.mark.parametrize(
    "reply",
    [
        '```json\n{"descriptions": [{"id": 1, "text": "A {b} c."}, '
        '{"id": "2", "text": "陈明。"}]}\n```',
        '<think>{"id": 1, "text": "no"}</think>{"descriptions": [{"id": 1, "text": "A {b} c."}, '
        '{"id": 2, "text": "陈明。"}]}',
        '[{"id": 1, "text": "A {b} c."}, {"id": 2, "text": "陈明。"}]',
    ],
)
def test_descriptions_are_read_in_whatever_form_they_come(reply: str) -> None:
    assert read_descriptions(reply) == {1: "A {b} c.", 2: "陈明。"}


def test_whole_descriptions_of_a_cut_reply_are_kept() -> None:
    cut = "{'descriptions': [{'id': 1, 'text': 'Ada\nleads'}, {'id': 2, 'text': 'Bo"
    assert read_descriptions(cut) == {1: "Ada\nleads"}
    for nothing in ("", "no", '{"descriptions": [{"id": 1, "text": " "}]}', '{"descriptions": []}'):
        with pytest.raises(ValueError):
            read_descriptions(nothing)


def test_texts_of_units_that_are_gone_are_in_no_description() -> None:
    said_of = told(("u0", "Ada Lin", "Kestrel vault"), ("u1", "Ada Lin", "Leads Osprey"))
    rest = said_of.filter(text_unit_id="u1")
    made = resolved(PEOPLE.filter(pl.col("text_unit_id") != "u0"), entity_evidence=rest)
    assert described(made)["Ada Lin"] == "Leads Osprey"
    assert units(u0="x").height == 1
