"""Types, second names and claims, in both languages."""

from __future__ import annotations

import pytest

from graphkb.extract import context
from graphkb.extract.aliases import alias_pairs
from graphkb.extract.claims import claim_of
from graphkb.extract.kinds import guess_type, type_from_definition


@pytest.mark.parametrize(
    ("name", "flag", "kind"),
    [
        ("武汉大学", "", "ORGANIZATION"),
        ("University of Kansas", "", "ORGANIZATION"),
        ("湖北省", "", "GEO"),
        ("Mount Fuji", "", "GEO"),
        ("赤壁之战", "", "EVENT"),
        ("1920 Summer Olympics", "", "EVENT"),
        ("刘备", "nr", "PERSON"),
        ("Dr. Lin", "", "PERSON"),
        ("Jaws (film)", "", "WORK"),
        ("E1043", "", "CODE"),
        ("gravity", "", "TERM"),
    ],
)
def test_type_follows_form(name: str, flag: str, kind: str) -> None:
    assert guess_type(name, flag) == kind


def test_definition_names_the_head_of_its_phrase() -> None:
    assert type_from_definition("He was an American film director.") == "PERSON"
    assert type_from_definition("It is a film about a director.") == "WORK"
    assert type_from_definition("《呐喊》是鲁迅的小说。") == "WORK"
    assert type_from_definition("Nothing is known.") is None


def _pairs(text: str, *names: str) -> list[tuple[str, str]]:
    spans = [(text.index(name), text.index(name) + len(name)) for name in names]
    return [(text[slice(*a)], text[slice(*b)]) for a, b in alias_pairs(text, spans)]


def test_second_names_in_both_languages() -> None:
    text = "中国信息通信研究院（以下简称“信通院”）发布报告"
    assert _pairs(text, "中国信息通信研究院") == [("中国信息通信研究院", "信通院")]
    text = "国际电信联盟(ITU)在日内瓦"
    assert _pairs(text, "国际电信联盟") == [("国际电信联盟", "ITU")]
    text = "Onika Maraj, known professionally as Nicki Minaj, sings."
    assert _pairs(text, "Onika Maraj", "Nicki Minaj") == [("Onika Maraj", "Nicki Minaj")]


def test_brackets_that_are_no_second_name() -> None:
    assert _pairs("The World Bank (USA) met", "World Bank") == []
    assert _pairs("中国联通（以下简称“公司”）", "中国联通") == []


def test_claims_have_iso_dates_and_a_status() -> None:
    claim = claim_of("他于1898年1月至1899年3月5日任职。")
    assert claim is not None
    assert claim.start_date == "1898"[:4] + "-01"
    claim = claim_of("It opened on May 12, 1990.")
    assert claim is not None
    assert (claim.type, claim.start_date) == ("DATE", "1990-05-12")
    claim = claim_of("据称投资3.5亿元")
    assert claim is not None
    assert (claim.type, claim.status) == ("QUANTITY", "SUSPECTED")
    assert claim_of("The weather is nice.") is None
    assert claim_of("今天天气很好。") is None


def test_impossible_dates_are_no_dates() -> None:
    assert claim_of("编号 2020-99-99 的文件") is None


def test_title_names_give_the_shorter_name_last() -> None:
    assert context.title_names("Canon law (2)") == ["Canon law"]
    assert context.title_names("Midway, Iowa › History") == ["Midway, Iowa", "Midway"]
    assert context.title_names("2018 Kansas election") == ["2018 Kansas election"]
    assert context.title_names("苹果（公司）") == ["苹果（公司）", "苹果"]
    assert context.title_names("") == []
