"""Corpus vocabulary: mined words, titles, user words, and where they stand."""

from __future__ import annotations

import polars as pl

from graphkb.extract.terms import mine_terms, terms_in_units
from graphkb.settings import Extract
from tests.extract.conftest import units

_NEW = "蜀信链"
_SENTENCES = [
    f"{before}{_NEW}{after}"
    for before, after in zip("在用把建看问学从向对", "上做里好时的，和与后", strict=True)
] + ["，".join(chr(code) * 2 for code in range(0x5000, 0x5200))]


def test_new_chinese_words_are_mined() -> None:
    terms = mine_terms(units(*[("报告", text) for text in _SENTENCES]), Extract())
    row = terms.filter(pl.col("term") == _NEW)
    assert row.height == 1
    assert row["frequency"][0] == 10
    assert row["document_frequency"][0] == 10


def test_mining_can_be_turned_off_and_user_words_stay() -> None:
    corpus = units(*[("报告", text) for text in _SENTENCES])
    terms = mine_terms(corpus, Extract(mine_terms=False), dictionary=["信链", "Zeta tool"])
    assert _NEW not in terms["term"].to_list()
    assert {"信链", "Zeta tool"} <= set(terms["term"].to_list())


def test_titles_with_lower_case_words_are_terms() -> None:
    corpus = units(("Gila monster", "It bites."), ("Ada Lin", "A gila monster bit her."))
    assert "Gila monster" in mine_terms(corpus, Extract())["term"].to_list()
    assert "Ada Lin" not in mine_terms(corpus, Extract())["term"].to_list()


def test_terms_do_not_depend_on_row_order() -> None:
    corpus = units(*[("报告", text) for text in _SENTENCES], ("Gila monster", "x"))
    again = mine_terms(corpus.sample(fraction=1, shuffle=True, seed=1), Extract())
    assert mine_terms(corpus, Extract()).equals(again)


def test_places_are_character_offsets_of_whole_words() -> None:
    corpus = units(("", "名字“GILA monster”和gila monsters，蜀信链上线"))
    terms = pl.DataFrame({"term": ["Gila monster", "蜀信链"]})
    rows = terms_in_units(corpus, terms)
    text = corpus["text"][0]
    assert [(t, text[a:b]) for _, t, a, b in rows.iter_rows()] == [
        ("Gila monster", "GILA monster"),
        ("蜀信链", "蜀信链"),
    ]


def test_no_terms_and_no_units_give_empty_frames() -> None:
    assert mine_terms(units(), Extract()).height == 0
    assert terms_in_units(units(("", "text")), pl.DataFrame({"term": []})).height == 0
