"""What must hold for the units of any document."""

from __future__ import annotations

import re

import polars as pl
from hypothesis import example, given, settings
from hypothesis import strategies as st

from graphkb.ingest.chunk import counted, cut_documents, cut_uncounted
from graphkb.settings_input import Chunks
from graphkb.tables import TABLES
from graphkb.text.tokens import count_tokens

PIECES = [
    "陈明负责水表项目。", "总部设在临江市，", "Ada Lin leads Dipper. ", "Dr. Smith left! ", "word ",
    "\n", "\n\n", "# 标题\n", "## Part two\n", "### 细节 ###\n", "Title\n=====\n", "Sub\n---\n",
    "- item\n", "| a | b |\n", "|---|---|\n", "| 阀门 | 12 |\n", "```\n",
    "# not a heading\n", "~~~\n",
    "👩‍🔬👨🏽‍💻", "🇨🇳🇫🇷", "e\u0301", "𠮷㐂", "\u3000", "\t", "<|endoftext|>",
    "https://a.example/x?y=1&z=2 ",
    "x" * 50, "字" * 40, "；", "…", "\u200b", "\u1100\u1161\u11a8",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=60).map("".join)
media_types = st.sampled_from(["text/plain", "text/markdown", "text/csv"])
limits = st.integers(4, 120).flatmap(
    lambda size: st.tuples(st.just(size), st.integers(0, size - 1))
)


def frame(text: str, media_type: str = "text/markdown", title: str = "T") -> pl.DataFrame:
    row = {"id": "d", "title": title, "text": text, "media_type": media_type}
    return pl.DataFrame([{**row, "page_starts": []}])


def cut(text: str, media_type: str = "text/markdown", size: int = 1200, overlap: int = 100, **more):
    return cut_documents(frame(text, media_type), Chunks(size=size, overlap=overlap, **more))


def clean(text: str) -> str:
    return text.encode("utf-8", "ignore").decode().replace("\r", "")


@settings(max_examples=400, deadline=None)
@given(texts, media_types, limits)
@example("abc\n" * 50, "text/plain", (50, 49))
@example("äöü😀" * 60, "text/plain", (4, 0))
def test_units_cover_the_text_within_the_limit(text, media_type, limit):
    text = clean(text)
    size, overlap = limit
    units = cut(text, media_type, size, overlap)
    covered = set()
    before = None
    for unit in units.iter_rows(named=True):
        start, end = unit["char_start"], unit["char_end"]
        assert unit["text"] == text[start:end]
        assert unit["text"] == unit["text"].strip() != ""
        assert unit["n_tokens"] == count_tokens(unit["text"])
        assert unit["n_tokens"] <= size
        if before is not None:
            assert end > before[1]
            assert start > before[0]
        before = start, end
        covered.update(range(start, end))
    missed = [text[at] for at in range(len(text)) if at not in covered and not text[at].isspace()]
    assert missed == []
    assert units["id"].n_unique() == units.height
    assert units.schema == TABLES["text_units"].schema


@settings(max_examples=100, deadline=None)
@given(texts, limits, st.integers(1, 5), st.lists(st.integers(0, 400), max_size=4))
def test_rows_and_pages_lose_nothing(text, limit, table_rows, pages):
    text = clean(text)
    starts = sorted({0, *(at for at in pages if at < len(text))})
    row = frame(text).with_columns(pl.Series("page_starts", [starts]))
    options = Chunks(
        size=limit[0], overlap=0, table_rows=table_rows, by_page=True, parents=limit[0]
    )
    units = cut_documents(row, options)
    assert "".join("".join(units["text"]).split()) == "".join(text.split())
    assert units["n_tokens"].max() is None or units["n_tokens"].max() <= limit[0]
    if not re.search("[#|`~=-]", text):  # a heading, a table or code may stand on two pages
        assert (units["page_start"] == units["page_end"]).all()


@settings(max_examples=100, deadline=None)
@given(texts, media_types, limits)
def test_units_without_overlap_join_to_the_text(text, media_type, limit):
    text = clean(text)
    units = cut(text, media_type, limit[0], 0)
    assert "".join("".join(units["text"]).split()) == "".join(text.split())


@settings(max_examples=100, deadline=None)
@given(texts, media_types)
def test_units_depend_on_nothing_but_their_document(text, media_type):
    other = frame("Other text.").with_columns(pl.lit("other").alias("id"))
    both = pl.concat([other, frame(clean(text), media_type)])
    alone = cut_documents(frame(clean(text), media_type), Chunks())
    together = cut_documents(both, Chunks()).filter(pl.col("document_id") == "d")
    assert together.drop("human_readable_id").equals(alone.drop("human_readable_id"))


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="陈明负责水表👩‍🔬aé", min_size=1, max_size=200))
def test_a_text_that_fits_is_one_unit(text):
    units = cut(text, "text/plain")
    assert units["text"].to_list() == ([text.strip()] if text.strip() else [])


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(texts, media_types), min_size=1, max_size=4), limits, st.booleans())
def test_units_that_are_counted_later_are_those_that_are_counted_at_once(given, limit, by_parents):
    size, overlap = limit
    options = Chunks(size=size, overlap=overlap, parents=4 * size if by_parents else 0)
    documents = pl.concat(frame(clean(text), media_type) for text, media_type in given)
    documents = documents.with_columns(id=pl.format("d{}", pl.int_range(pl.len())))
    at_once = cut_documents(documents, options)
    later = [cut_uncounted(documents[place], options) for place in range(documents.height)]
    columns = at_once.drop("human_readable_id").columns
    assert counted(pl.concat(later)).select(columns).equals(at_once.select(columns))
