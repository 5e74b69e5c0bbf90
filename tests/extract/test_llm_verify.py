"""What a model reports against what the text says."""

from __future__ import annotations

import pytest

from graphkb.extract.locate import Located
from graphkb.extract.parse import parse_reply
from graphkb.extract.questions import Unit
from graphkb.extract.records import ClaimRecord, EntityRecord, Records, RelationshipRecord
from graphkb.extract.verify import Verified, verify

TEXT = (
    "Bluestone Ltd was founded in 2009 in Riverton. Ada Lin is its chief engineer; "
    "Ada Lin leads the Dipper project. In 2021 Bluestone Ltd bought Farsail Instruments."
)
ZH = "青石公司成立于2009年，总部设在临江市。陈明是青石公司的首席工程师。青石公司收购了远帆仪器。"


def unit(text: str = TEXT, context: str = "", language: str = "en") -> Unit:
    return Unit("u", text, context, language)


def checked(
    *records: EntityRecord | RelationshipRecord | ClaimRecord,
    text: str = TEXT,
    context: str = "",
) -> Verified:
    found = Records(
        tuple(r for r in records if isinstance(r, EntityRecord)),
        tuple(r for r in records if isinstance(r, RelationshipRecord)),
        tuple(r for r in records if isinstance(r, ClaimRecord)),
    )
    return verify(unit(text, context), found)


def entity(name: str, kind: str = "PERSON", description: str = "") -> EntityRecord:
    return EntityRecord(name, kind, description)


def surfaces(found: Verified) -> list[str]:
    return [row[3] for row in found.evidence.mentions]


def test_every_occurrence_of_a_name_is_a_mention_with_its_span() -> None:
    found = checked(entity("ADA LIN"))
    assert surfaces(found) == ["Ada Lin", "Ada Lin"]
    for _, start, end, surface, name, kind, alias in found.evidence.mentions:
        assert TEXT[start:end] == surface == name
        assert (kind, alias) == ("PERSON", None)


@pytest.mark.parametrize(
    ("text", "name", "surface"),
    [
        ("Met Ada  Lin.", "ADA LIN", "Ada  Lin"),
        ("Met Ａｄａ Ｌｉｎ.", "Ada Lin", "Ａｄａ Ｌｉｎ"),
        ("The water_meters broke.", "Water Meter", "water_meters"),
        ("Within 5 business days", "5_business_days", "5 business days"),
        ("He joined Yahoo! Inc. early", "yahoo! inc", "Yahoo! Inc"),
        ("the Ada\nLin prize", "Ada Lin", "Ada\nLin"),
        ("J. R. R. Tolkien wrote it.", "John Ronald Reuel Tolkien", "J. R. R. Tolkien"),
        ("John Ronald Reuel Tolkien wrote it.", "J.R.R. Tolkien", "John Ronald Reuel Tolkien"),
        ("Ada Marie Lin came.", "Ada Lin", "Ada Marie Lin"),
        ("in the U.S. Navy", "US Navy", "U.S. Navy"),
        ("by O&#39;Brien &amp; Sons", "O'BRIEN & SONS", "O&#39;Brien &amp; Sons"),
        ("Ada Lin's plan", "Ada Lin", "Ada Lin"),
        ("cities grew", "City", "cities"),
        ("Hello Love is a song", "Hello Love (song)", "Hello Love"),
        ("他在武漢大學讀書", "武汉大学", "武漢大學"),
        ("《三国演义》很长", "三国 演义", "三国演义"),
        ("Café Müller", "cafe muller", "Café Müller"),
    ],
)
def test_other_spellings_of_a_name_are_found(text: str, name: str, surface: str) -> None:
    assert [text[a:b] for a, b in Located(text).spans(name)] == [surface]


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("Her therapist came.", "the rapist"),
        ("Bluestones Ltd", "Blue"),
        ("Ada met Bo and Cy and Di, and Lin.", "Ada Lin"),
        ("He met Ada. Lin came later.", "Ada Lin"),
        ("陈明明来了", "陈小明"),
        ("Nobody", "Wait, that should be BLUESTONE"),
        ("", "Ada"),
    ],
)
def test_what_is_not_written_is_not_found(text: str, name: str) -> None:
    assert Located(text).spans(name) == []


def test_a_name_is_not_the_plain_word_where_both_are_written() -> None:
    text = "Will said that he will go."
    assert [text[a:b] for a, b in Located(text).spans("Will")] == ["Will"]


def test_names_that_stand_nowhere_are_dropped_and_counted() -> None:
    found = checked(entity("Ada Lin"), entity("DR GHOST"), entity("Wait, that is BLUESTONE"))
    assert {row[4] for row in found.evidence.mentions} == {"Ada Lin"}
    assert (found.used, found.dropped) == (1, 2)


def test_a_name_that_stands_only_above_has_no_span() -> None:
    found = checked(entity("Osprey", "PRODUCT"), text="It is in Bergen.", context="Plan › Osprey")
    assert ("u", -1, -1, "Osprey", "Osprey", "PRODUCT", None) in found.evidence.mentions


def test_the_title_is_always_named_with_the_type_the_model_gives() -> None:
    found = checked(entity("Ada Lin"), context="Hello Love (song) › Facts")
    above = [row[3:] for row in found.evidence.mentions if row[1] < 0]
    assert above == [
        ("Hello Love (song)", "Hello Love (song)", "WORK", None),
        ("Hello Love", "Hello Love", "WORK", "Hello Love (song)"),
    ]
    found = checked(entity("Bluestone Ltd", "BUSINESS"), context="Bluestone Ltd")
    assert {row[5] for row in found.evidence.mentions} == {"BUSINESS"}


def test_spellings_of_one_name_are_one_entity_with_all_that_is_said() -> None:
    found = checked(entity("Ada Lin", "", "an engineer"), entity("ADA_LIN", "person", "a leader"))
    assert found.descriptions == [("u", "Ada Lin", "PERSON", "an engineer a leader")]


def test_a_relationship_stands_in_the_sentence_that_holds_both_ends() -> None:
    found = checked(
        entity("Ada Lin"), entity("Dipper"),
        RelationshipRecord("ADA LIN", "DIPPER", "leads", "", 9),
    )  # fmt: skip
    ((_, source, target, description, kind, weight, directed, start, end),) = (
        found.evidence.relationships
    )
    assert (source, target, kind, weight, directed) == ("Ada Lin", "Dipper", "leads", 0.9, True)
    assert description == "Ada Lin leads Dipper"
    assert "leads the Dipper project" in TEXT[start:end]
    assert "2021" not in TEXT[start:end]


def test_a_relationship_across_sentences_stands_where_its_words_are() -> None:
    text = "Ada Lin came in May. She leads the Dipper project. It rained."
    found = checked(RelationshipRecord("Ada Lin", "Dipper", "leads the project"), text=text)
    start, end = found.evidence.relationships[0][-2:]
    assert text[start:end] == "She leads the Dipper project."


def test_ends_that_are_no_reported_entities_follow_one_rule() -> None:
    found = checked(
        entity("Ada Lin"), entity("Bluestone Ltd", "ORGANIZATION"),
        RelationshipRecord("Ada Lin", "Farsail Instruments", "knows"),  # stands: UNKNOWN
        RelationshipRecord("Ada Lin", "work at Bluestone Ltd", "does"),  # holds a reported one
        RelationshipRecord("Ada Lin", "DR GHOST", "met"),  # stands nowhere
        RelationshipRecord("Ada Lin", "ADA LIN", "knows herself"),
    )  # fmt: skip
    assert [(row[1], row[2]) for row in found.evidence.relationships] == [
        ("Ada Lin", "Farsail Instruments"), ("Ada Lin", "Bluestone Ltd"),
    ]  # fmt: skip
    types = {row[4]: row[5] for row in found.evidence.mentions}
    assert types["Farsail Instruments"] == "UNKNOWN"
    assert "work at Bluestone Ltd" not in types
    assert found.dropped == 2


def test_an_unknown_end_takes_the_type_it_is_given_elsewhere() -> None:
    found = checked(
        RelationshipRecord("Ada Lin", "Dipper", "leads"), entity("Dipper", "PRODUCT"),
        entity("Ada Lin"),
    )  # fmt: skip
    assert {row[4]: row[5] for row in found.evidence.mentions} == {
        "Ada Lin": "PERSON", "Dipper": "PRODUCT",
    }  # fmt: skip


def test_the_same_fact_said_twice_is_one_row_with_the_higher_weight() -> None:
    fact = ("Ada Lin", "Dipper", "leads")
    found = checked(RelationshipRecord(*fact, "x", 2.0), RelationshipRecord(*fact, "y", 7.0))
    ((row),) = found.evidence.relationships
    assert (row[3], row[5]) == ("x; y", 0.7)


def test_claims_need_a_subject_and_get_iso_dates_a_status_and_their_sentence() -> None:
    found = checked(
        ClaimRecord("BLUESTONE LTD", "Founding", "founded in Riverton", "真", "2009年", "",
                    "Riverton"),
        ClaimRecord("Bluestone Ltd", "purchase", "bought Farsail", "maybe", "1 May 2021"),
        ClaimRecord("Nobody Known", "x", "y"),
    )  # fmt: skip
    first, second = found.evidence.claims
    assert first[1:8] == (
        "Bluestone Ltd", "Riverton", "FOUNDING", "founded in Riverton", "TRUE", "2009", "2009",
    )  # fmt: skip
    assert first[8] == "Bluestone Ltd was founded in 2009 in Riverton."
    assert TEXT[first[9] : first[10]] == first[8]
    assert (second[2], second[5:8]) == (None, ("TRUE", "2021-05-01", "2021-05-01"))
    assert found.dropped == 1
    left_out = verify(unit(), Records(claims=(ClaimRecord("Ada Lin", "x", "y"),)), claims=False)
    assert left_out.evidence.claims == []


def test_chinese_records_get_places_sentences_and_common_types() -> None:
    found = verify(
        unit(ZH, "公司简介", "zh"),
        parse_reply(
            '{"entities": [["陳明", "人物", "首席工程师"], ["青石公司", "组织", ""]], '
            '"relationships": [["陈明", "任首席工程师", "青石公司", "8"]], '
            '"claims": [["青石公司", "收购", "收购了远帆仪器", "TRUE", "2021年"]]}'
        ),
    )
    kinds = {row[4]: row[5] for row in found.evidence.mentions}
    assert kinds == {"公司简介": "DOCUMENT", "陈明": "PERSON", "青石公司": "ORGANIZATION"}
    assert sum(row[4] == "青石公司" for row in found.evidence.mentions) == 3
    (row,) = found.evidence.relationships
    assert row[3] == "陈明任首席工程师青石公司"
    assert ZH[row[7] : row[8]] == "陈明是青石公司的首席工程师。"
    assert found.evidence.claims[0][6] == "2021"


def test_types_that_the_user_named_are_kept() -> None:
    records = Records((entity("Ada Lin", "人物"),))
    assert verify(unit(), records, own_types=True).evidence.mentions[0][5] == "人物"
    assert verify(unit(), records).evidence.mentions[0][5] == "PERSON"


def test_second_names_that_the_text_gives_are_joined_to_their_full_name() -> None:
    text = "The World Health Organization (WHO) met. WHO left."
    found = checked(
        entity("World Health Organization", "ORGANIZATION"), entity("WHO", "ORGANIZATION"),
        text=text,
    )  # fmt: skip
    given = {(row[3], row[6]) for row in found.evidence.mentions}
    assert ("WHO", "World Health Organization") in given


def test_f19_records_that_the_document_itself_holds_are_no_findings() -> None:
    text = f'{TEXT}\nThe guide says: ("entity"<|>NAME<|>TYPE<|>TEXT)## then <|COMPLETE|>.'
    found = verify(unit(text), parse_reply(text))
    assert found.evidence.mentions == []
    assert (found.used, found.dropped) == (0, 1)
    reported = verify(unit(text), parse_reply('("entity"<|>NAME<|>TERM<|>a name)##'))
    assert [row[4] for row in reported.evidence.mentions] == ["NAME"]


def test_json_that_the_document_itself_holds_is_no_finding() -> None:
    text = f'{TEXT} Example: {{"entities": [["Riverton", "GEO", "a town"]]}}'
    assert verify(unit(text), parse_reply(text)).used == 0
