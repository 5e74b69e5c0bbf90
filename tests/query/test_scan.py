"""Scanning all text for a name finds what a search with one regular expression finds."""

from __future__ import annotations

import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graphkb.query import scan
from graphkb.query.scan import EDGE, is_in
from graphkb.query.spellings import code_pattern, text_pattern


def array(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), np.uint8)


@pytest.mark.parametrize(
    ("text", "spelling", "held"),
    [
        ("We met in room-17, upstairs.", "Room 17", True),
        ("We met in Room 170.", "Room 17", False),
        ("The classroom 17 is shut.", "Room 17", False),
        ("会议在青石谷科技三楼。", "青石谷科技", True),
        ("会议在青石谷三楼。", "青石谷科技", False),
        ("型号 bd200A 已停产", "BD200A", True),
        ("型号 XBD200A 已停产", "BD200A", False),
        ("第17号楼", "17号", True),
        ("第117号楼", "17号", False),
        ("", "Room 17", False),
    ],
)
def test_a_name_is_found_as_a_word_of_its_own_in_any_case(
    text: str, spelling: str, held: bool
) -> None:
    assert is_in(array(text), text_pattern(spelling)) is held


def test_case_counts_where_it_is_asked_to() -> None:
    text = array("The Petrel flies.")
    assert is_in(text, f"{EDGE}petrel")
    assert not is_in(text, f"{EDGE}petrel", any_case=False)


@given(
    st.text(st.sampled_from("aB1-_. 室工"), max_size=60),
    st.text(st.sampled_from("aB1- 室工"), min_size=1, max_size=4).filter(str.strip),
    st.integers(1, 20),
)
def test_pieces_hold_what_the_whole_holds(text: str, name: str, chunk: int) -> None:
    known, scan._CHUNK = scan._CHUNK, chunk
    try:
        for pattern in (text_pattern(name), code_pattern(name)):
            whole = re.search(pattern.encode(), text.encode(), re.IGNORECASE)
            assert is_in(array(text), pattern) is (whole is not None)
    finally:
        scan._CHUNK = known
