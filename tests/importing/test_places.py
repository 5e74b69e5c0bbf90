"""Text units of another tool are found in their document, whatever it did to their edges."""

from __future__ import annotations

import polars as pl
import pytest

from graphkb.importing.places import place_units, visible

ENGLISH = "One line here.\nTwo lines here.\n\nOne line here.\nThe end."
CHINESE = "青石公司在杭州。陈明是工程师。\n王芳在北京。"


def place(document: str, *pieces: str) -> list[tuple[int, int]]:
    units = pl.DataFrame(
        {
            "id": [str(number) for number in range(len(pieces))],
            "text": pieces,
            "document_ids": [["d"]] * len(pieces),
        },
        schema_overrides={"text": pl.String},
    )
    found = place_units(units, {"d": document})
    return found.select("char_start", "char_end").rows()


@pytest.mark.parametrize("text", [ENGLISH, CHINESE])
def test_pieces_with_overlap_are_found_in_order(text: str) -> None:
    pieces = [text[start : start + 12] for start in range(0, len(text), 8)]
    spans = place(text, *pieces)
    assert [text[a:b] for a, b in spans] == [piece.strip() for piece in pieces]
    assert [a for a, _ in spans] == sorted(a for a, _ in spans)


def test_a_repeated_piece_is_the_one_after_the_piece_before() -> None:
    spans = place(ENGLISH, "One line here.", "Two lines", "One line here.")
    assert spans[0][0] == 0
    assert spans[2][0] == ENGLISH.rindex("One")


def test_a_character_cut_in_two_is_passed_over() -> None:
    start, end = place(CHINESE, "\ufffd公司在杭州。陈明是\ufffd\ufffd")[0]
    assert CHINESE[start:end] == "公司在杭州。陈明是"


def test_white_space_may_differ() -> None:
    spans = place(ENGLISH, "Two lines\r\nhere. One  line", "here.\r\nThe end.")
    assert [ENGLISH[a:b] for a, b in spans] == ["Two lines here.\n\nOne line", "here.\nThe end."]


def test_metadata_before_a_piece_is_passed_over() -> None:
    start, end = place(ENGLISH, "title: a.txt\ntag: note\nTwo lines here.")[0]
    assert ENGLISH[start:end] == "Two lines here."


def test_what_stands_nowhere_gets_no_row() -> None:
    assert place(ENGLISH, "Three lines here.", "\ufffd", " ") == []


def test_a_unit_of_several_documents_is_looked_for_in_each() -> None:
    units = pl.DataFrame({"id": ["u"], "text": ["Two"], "document_ids": [["a", "b", "gone"]]})
    found = place_units(units, {"a": "One", "b": "One Two"})
    assert found.rows() == [("u", "b", 4, 7)]


def test_visible_keeps_the_place_of_every_character() -> None:
    text, offsets = visible(f"\u3000{CHINESE}\n")
    assert text == "".join(CHINESE.split())
    assert offsets[0] == 1
