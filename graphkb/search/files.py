"""Text units of the files that a question names come before others.

What a file is called stands in none of its texts, so no leg finds it by its name.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from graphkb.search.file_names import NamedFiles, may_name_a_file
from graphkb.search.selection import Selection, narrow_to
from graphkb.search.sheets import row_spans
from graphkb.search.snapshot import Snapshot
from graphkb.text.asked_page import LAST
from graphkb.text.segment import query_tokens

if TYPE_CHECKING:
    from graphkb.search.hybrid import RankedUnit

# What others keep of their score beside a file that is named; less sure is a name without suffix.
_OTHERS, _OTHERS_UNSURE = 0.5, 0.75
# Beyond so many documents the names of files are read only for questions that seem to name one.
_MANY = 20_000
# Text units of one question that a file puts forward.
_MOST = 200
# Words that ask for the whole of a file.
_ABOUT_ALL = re.compile(
    r"\b(?:what|which|does|do|did|is|are|was|about|say|says|said|tells?|in|it|there|the|a|an|of|to|"
    r"me|please|can|you|give|show|contents?|contains?|inside|summar(?:y|i[sz]e)|overview|describe|"
    r"explain|briefly|main|key|points?|topics?|compare|and|with|both)\b"
    r"|总结|概括|概述|归纳|摘要|介绍|简要|一下|请|帮我|讲|说|写|谈|了|什么|哪些|有|的|是|主要|内容|里面|里|中|"
    r"关于|这份|这个|要点|大意|都|比较|对比|和|与|两份|两个",
    re.IGNORECASE,
)


def named_files(snapshot: Snapshot, question: str) -> NamedFiles | None:
    """The files of the version that a question names, or None, also where the settings have no
    regard to them."""
    whole = snapshot.whole or snapshot
    many = whole.manifest.counts.get("documents", 0) > _MANY
    if not snapshot.settings.search.files or (many and not may_name_a_file(question)):
        return None
    return whole.file_names.named_in(question)


def without_files(snapshot: Snapshot, question: str) -> str:
    """The question without the names of files, or as it is where there is nothing else in it."""
    named = named_files(snapshot, question)
    return (named.rest if named else "") or question


def asks_for_all(question: str) -> bool:
    """Whether a question names nothing but what it wants to know all of.

    >>> asks_for_all("What does say?"), asks_for_all("总结一下"), asks_for_all("存货是多少？")
    (True, True, False)
    """
    return not query_tokens(_ABOUT_ALL.sub(" ", question))


def units_of(snapshot: Snapshot, named: NamedFiles) -> list[str]:
    """The ids of the files' text units that a filter lets through, in the order of the text; of
    the pages or rows that are asked for alone, where any is on those."""
    whole = snapshot.whole or snapshot
    columns = (
        "id", "document_id", "index", "page_start", "page_end", "char_start", "char_end"
    )  # fmt: skip
    found = whole.store.where("text_units", "document_id", sorted(named.document_ids), columns)
    if named.pages and (on_pages := _on_pages(found, named.pages)).height:
        found = on_pages
    if named.rows and (in_rows := _in_rows(snapshot, named, found)).height:
        found = in_rows
    ids: list[str] = found.sort("document_id", "index")["id"].to_list()
    among = snapshot.selection
    return ids if among is None else [unit for unit in ids if unit in among.unit_ids]


def _on_pages(units: pl.DataFrame, pages: Sequence[int]) -> pl.DataFrame:
    """The text units of files that are on one of their ``pages``, or on their last one."""
    last = pl.col("page_end").max().over("document_id")
    wanted = (last if page == LAST else pl.lit(page) for page in pages)
    return units.filter(
        pl.any_horizontal(
            (pl.col("page_start") <= page) & (pl.col("page_end") >= page) for page in wanted
        )
    )


def _in_rows(snapshot: Snapshot, named: NamedFiles, units: pl.DataFrame) -> pl.DataFrame:
    """The text units that one of the rows asked for is in."""
    spans = row_spans(snapshot, named.document_ids, named.rows, named.rest)
    start, end = pl.col("char_start"), pl.col("char_end")
    among = (
        (pl.col("document_id") == document) & (start < last) & (end > first)
        for document, found in spans.items()
        for first, last in found
    )
    return units.filter(pl.any_horizontal(*among, pl.lit(False)))


def prefer_files(
    snapshot: Snapshot,
    named: NamedFiles,
    others: Sequence[RankedUnit],
    run: Callable[[Snapshot, str], Sequence[RankedUnit]],
    make: Callable[[str, float], RankedUnit],
) -> tuple[list[RankedUnit], int]:
    """``others`` joined with the text units of the files, best first, and how many these are.

    ``run`` finds within the files for the rest of the question; ``make`` makes a unit that no leg
    found, of its id and score. Where the question asks for all of a file, or no leg finds anything
    in it, its text units come in their order. Their scores are scaled to the best of all; others
    keep half of theirs, three quarters where the name is not sure.
    """
    ids = units_of(snapshot, named)
    if not ids:
        return list(others), 0
    whole = snapshot.whole or snapshot
    own: Sequence[RankedUnit] = ()
    if not asks_for_all(named.rest):
        total = int(whole.manifest.counts.get("text_units", 0))
        selection = Selection("", len(named.document_ids), frozenset(ids), total)
        own = run(narrow_to(whole, selection), named.rest)
    own = own or [make(unit, 1.0 / place) for place, unit in enumerate(ids[:_MOST], 1)]
    best = max((unit.score for unit in own), default=0.0) or 1.0
    top = max((unit.score for unit in others), default=0.0) or 1.0
    kept = _OTHERS if named.sure else _OTHERS_UNSURE
    beside = {unit.text_unit_id for unit in own}
    found = {unit.text_unit_id: unit.via for unit in others}
    joined = [
        *(
            replace(unit, score=top * unit.score / best, via=found.get(unit.text_unit_id, unit.via))
            for unit in own
        ),
        *(
            replace(unit, score=kept * unit.score)
            for unit in others
            if unit.text_unit_id not in beside
        ),
    ]
    joined.sort(key=lambda unit: -unit.score)
    return [replace(unit, rank=rank) for rank, unit in enumerate(joined, 1)], len(own)
