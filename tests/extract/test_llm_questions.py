"""What is asked of a model about a text unit, and about which units."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from graphkb.errors import SettingsError
from graphkb.extract.llm import halves
from graphkb.extract.questions import Questions, Unit
from graphkb.extract.worth import threshold, worth, worth_reading
from graphkb.settings import Extract
from graphkb.text.tokens import count_tokens

TEXT = "Ada Lin has led the Osprey project of Bluestone Ltd in Bergen since May 2019. " * 6
ZH = "陈明自2019年起在杭州主持青石公司的鱼鹰项目，负责水表的研发。" * 6


def unit(text: str = TEXT, language: str = "en", context: str = "Osprey › Team") -> Unit:
    return Unit("u", text, context, language)


@pytest.mark.parametrize(("text", "language"), [(TEXT, "en"), (ZH, "zh")])
def test_a_prompt_for_a_unit_of_about_130_tokens_is_at_most_550(text: str, language: str) -> None:
    assert 110 <= count_tokens(text) <= 150
    asked = Questions(Path("/nowhere"), Extract()).first(unit(text, language), 0, len(text))
    assert sum(count_tokens(said) for _, said in asked.messages) <= 550


@pytest.mark.parametrize(("text", "language"), [(TEXT * 8, "en"), (ZH * 8, "zh")])
def test_a_reply_may_be_several_times_as_long_as_the_text_and_no_longer(
    text: str, language: str
) -> None:
    questions = Questions(Path("/nowhere"), Extract())
    asked = questions.first(unit(text, language), 0, len(text))
    assert 3 * count_tokens(text) <= asked.max_tokens <= 8 * count_tokens(text)
    assert questions.more(unit(text, language), asked, "…").max_tokens == asked.max_tokens
    assert questions.first(unit(text, language), 0, 9).max_tokens == 1000


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_system_message_is_the_same_for_all_units_and_speaks_of_json_and_data(
    language: str,
) -> None:
    questions = Questions(Path("/nowhere"), Extract())
    one = questions.first(unit("one text", language), 0, 8)
    two = questions.first(unit("another", language, "Title"), 0, 7)
    assert one.system == two.system
    assert "JSON" in one.system
    assert "<document>" in one.system
    assert one.user == "<document>\nOsprey › Team\n\none text\n</document>"
    assert one.role == "extraction"


def test_types_and_claims_are_those_of_the_settings() -> None:
    plain = Questions(Path("/nowhere"), Extract())
    own = Questions(Path("/nowhere"), Extract(entity_types=["SHIP", "人物"], claims=False))
    assert "ORGANIZATION" in plain.first(unit(), 0, 9).system
    asked = own.first(unit(), 0, 9)
    assert "SHIP, 人物" in asked.system
    assert "PERSON, ORGANIZATION" not in asked.system
    assert "claims" not in asked.system
    assert asked.schema is not None
    assert "claims" not in asked.schema["properties"]
    assert own.fingerprint != plain.fingerprint


def test_other_languages_are_asked_in_english() -> None:
    questions = Questions(Path("/nowhere"), Extract())
    english = questions.first(unit(), 0, 9).system
    assert questions.first(unit(language="und"), 0, 9).system == english
    assert questions.first(unit(language="zh"), 0, 9).system != english


def test_a_project_may_have_prompts_of_its_own_but_no_document_in_the_system_part(
    tmp_path: Path,
) -> None:
    prompts = tmp_path / "prompts" / "en"
    prompts.mkdir(parents=True)
    (prompts / "extract.md").write_text(
        "List $entity_types as JSON.\n---\nHere:\n$document", "utf-8"
    )
    asked = Questions(tmp_path, Extract(entity_types=["SHIP"])).first(unit("x"), 0, 1)
    assert asked.system == "List SHIP as JSON."
    assert asked.user.startswith("Here:\n<document>")
    (prompts / "extract.md").write_text("List $document.\n---\n$document", "utf-8")
    with pytest.raises(SettingsError, match=r"prompts/en/extract\.md: \$document stands above"):
        Questions(tmp_path, Extract())
    (prompts / "extract.md").write_text("$documents\n---\n$document", "utf-8")
    with pytest.raises(SettingsError, match=r"unknown variable \$documents"):
        Questions(tmp_path, Extract())


def test_signs_of_model_servers_in_a_text_are_defused() -> None:
    text = "<|im_end|> </s> <eos> [INST] <|> a < b </document>"
    asked = Questions(Path("/nowhere"), Extract()).first(unit(text, context=""), 0, len(text))
    inside = asked.user.removeprefix("<document>\n").removesuffix("\n</document>")
    assert inside == "‹|im_end|> ‹/s> ‹eos> [INST] <|> a < b ‹/document>"


def test_halves_are_cut_at_the_sentence_end_nearest_the_middle_and_never_too_short() -> None:
    english = "This is the first sentence, it is long. This is the second one. It ends here so."
    (a, b), (c, d) = halves(english, 0, len(english))
    assert (a, d) == (0, len(english))
    assert b == c
    assert english[a:b] == "This is the first sentence, it is long. "
    (_, cut), _ = halves(ZH, 0, len(ZH))
    assert ZH[:cut].count("。") == 3
    assert ZH[cut - 1] == "。"
    assert halves("short", 0, 5) == []
    assert halves("x" * 500, 0, 500) == []  # nowhere to cut


def test_prose_that_names_much_is_worth_more_than_tables_and_empty_talk() -> None:
    names = {"Ada Lin", "Osprey", "Bluestone Ltd", "Bergen"}
    assert worth(TEXT, "prose", names) > worth(TEXT[:80], "prose", names)
    assert worth(TEXT, "prose", names) > worth(TEXT, "prose", set(list(names)[:1]))
    assert worth("It rained. " * 60, "prose", names) == 0
    assert worth("| Ada Lin | Osprey | Bergen | Bluestone |\n" * 9, "prose", names) == 0
    assert worth(TEXT, "table", names) == 0
    assert worth(ZH, "prose", {"陈明", "青石公司", "杭州"}) > 0.1


def test_a_larger_share_has_a_lower_threshold_and_reads_what_a_smaller_one_does() -> None:
    shares = [0.0, 0.02, 0.1, 0.25, 0.3, 0.5, 0.77, 0.9, 0.99, 1.0]
    found = [threshold(share) for share in shares]
    assert found == sorted(found, reverse=True)
    assert len(set(found)) == len(found)


def test_whether_a_unit_is_read_does_not_depend_on_others() -> None:
    units = pl.DataFrame(
        {"id": ["a", "b", "c"], "text": [TEXT, TEXT[:160], "It rained."], "kind": ["prose"] * 3}
    )
    mentions = pl.DataFrame(
        [(unit_id, 0, 9, name) for unit_id in "ab" for name in ("Ada Lin", "Osprey", "Bergen")],
        schema=["text_unit_id", "char_start", "char_end", "surface"], orient="row",
    )  # fmt: skip
    for share in (0.0, 0.3, 0.6, 0.9, 1.0):
        together = worth_reading(units, mentions, share).to_list()
        alone = [
            unit_id for row in units.iter_slices(1)
            for unit_id in worth_reading(row, mentions, share).to_list()
        ]  # fmt: skip
        assert together == alone
    assert worth_reading(units, mentions, 0.0).to_list() == []
    assert worth_reading(units, mentions, 1.0).to_list() == ["a", "b", "c"]
