"""Server-sent events, however their bytes arrive."""

from __future__ import annotations

import pytest

from graphkb.llm.events import EventReader

STREAM = (
    b': note\r\n\r\nevent: message\r\ndata: {"a": 1}\r\n\r\ndata:'
    + "分水沟".encode()
    + b"\ndata: second\n\nid: 7\n\ndata: [DONE]\r\r"
)
EVENTS = ['{"a": 1}', "分水沟\nsecond"]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1000])
def test_events_are_whole_whatever_the_pieces(size: int) -> None:
    reader = EventReader()
    found = [
        event
        for start in range(0, len(STREAM), size)
        for event in reader.feed(STREAM[start : start + size])
    ]
    assert found[:2] == EVENTS
    assert list(reader.feed(b"\n")) in ([], ["[DONE]"])


def test_a_line_without_an_end_is_refused() -> None:
    reader = EventReader()
    assert list(reader.feed(b"data: " + b"x" * 7_000_000)) == []
    with pytest.raises(ValueError, match="does not end"):
        list(reader.feed(b"x" * 2_000_000))
