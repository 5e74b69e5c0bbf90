"""Counts of one and unknown prices read as people say them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from graphkb.forecast import PlannedCalls
from graphkb.preview import Preview
from graphkb.types import StepUsage
from graphkb.view.counts import counts_line
from graphkb.view.summary import preview_lines, usage_lines


def preview(count: int, price: float | None) -> Preview:
    """A preview in which everything counted is ``count``."""
    return Preview(
        added=(), changed=(), removed=(), renamed=(), settings_change="", text_units=count,
        text_units_total=count, tokens=90, communities=count, communities_total=count,
        embed_texts=count, embed_tokens=90,
        calls=(PlannedCalls("extract", "m", count, 0, 90, 40, price),), prompts=(),
        model_calls=count, price=price, refused=(), warnings=(),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("count", "line"),
    [
        (1, "1 document · 1 text unit · 1 entity · 1 community · 1 report"),
        (2, "2 documents · 2 text units · 2 entities · 2 communities · 2 reports"),
        (0, "0 documents · 0 text units · 0 entities · 0 communities · 0 reports"),
    ],
)
def test_counts_of_one_are_singular(count: int, line: str) -> None:
    names = ("documents", "text_units", "entities", "communities", "community_reports")
    assert counts_line(dict.fromkeys(names, count)) == line


@pytest.mark.parametrize(("count", "words"), [(1, "1 call, 0 cached, 1 retry"),
                                              (2, "2 calls, 0 cached, 2 retries")])  # fmt: skip
def test_calls_of_one_are_singular(count: int, words: str) -> None:
    (line,) = usage_lines([StepUsage("answer", "m", calls=count, retries=count)])
    assert line.startswith(f"answer by m: {words}, ")


def test_a_preview_of_one_of_everything() -> None:
    lines = preview_lines(preview(1, None))
    assert lines[-4:] == [
        "to do     1 of 1 text unit (90 tokens), about 1 of 1 community",
        "          1 text to embed (90 tokens)",
        "model     extract by m: 1 call, 0 cached, 90 tokens in, about 40 out, price not known",
        "          in all 1 call, price not known",
    ]
    assert preview_lines(preview(2, 0.5))[-1] == "          in all 2 calls, about 0.5 USD"


def test_calls_that_are_asked_again_are_counted_as_the_least() -> None:
    found = preview(3, None)
    (step,) = found.calls
    lines = preview_lines(replace(found, calls=(replace(step, at_least=True),)))
    assert lines[-2:] == [
        "model     extract by m: at least 3 calls, 0 cached, at least 90 tokens in, "
        "about 40 out, price not known",
        "          in all at least 3 calls, price not known",
    ]
