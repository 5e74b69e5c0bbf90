"""What a question asks for decides between sentences that share its words."""

from __future__ import annotations

import pytest

from graphkb.query.asked_kind import asked_kinds, holds_kind


@pytest.mark.parametrize(
    ("question", "kinds"),
    [
        ("Where is Bluestone?", ("place",)),
        ("In which city was Ada Lin born?", ("place",)),
        ("Who leads Osprey, and since when?", ("date", "person")),
        ("How many people work there?", ("number",)),
        ("What is a valve?", ()),
        ("青石公司在哪里？", ("place",)),
        ("谁在什么时候成立了青石公司？", ("date", "person")),
        ("青石公司有多少人？", ("number",)),
        ("什么是阀门？", ()),
    ],
)
def test_kinds_that_are_asked_for(question: str, kinds: tuple[str, ...]) -> None:
    assert asked_kinds(question) == kinds


@pytest.mark.parametrize(
    ("text", "kind", "held"),
    [
        ("Bluestone works in Bergen.", "place", True),
        ("Bluestone works in turbines.", "place", False),
        ("Ada Lin leads it.", "person", True),
        ("The project is led well.", "person", False),
        ("It opened in 2014.", "date", True),
        ("青石公司在杭州。", "place", True),
        ("陈明是工程师。", "place", False),
        ("陈明是工程师。", "person", True),
        ("公司成立于2014年3月。", "date", True),
    ],
)
def test_sentences_that_hold_them(text: str, kind: str, held: bool) -> None:
    assert holds_kind(text, kind) == held
