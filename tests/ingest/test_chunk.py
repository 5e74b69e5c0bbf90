from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import polars as pl
import pytest

from graphkb.ingest.chunk import cut_documents, waits_for_tokenizer
from graphkb.settings_input import Chunks
from graphkb.text.tokens import count_tokens

CASES = Path(__file__).parents[1] / "data" / "cases"
ROW = "青石公司成立于2009年总部设在临江市陈明是青石公司的首席工程师"


def cut(text, media_type="text/markdown", title="T", page_starts=(), **options):
    row = {"id": "d", "title": title, "text": text, "media_type": media_type}
    frame = pl.DataFrame([{**row, "page_starts": list(page_starts)}])
    units = cut_documents(frame, Chunks(**{"size": 1200, "overlap": 100, **options}))
    assert all(
        text[unit["char_start"] : unit["char_end"]] == unit["text"]
        for unit in units.iter_rows(named=True)
    )
    return units


@pytest.mark.parametrize("overlap", [25, 30, 40, 49])
@pytest.mark.parametrize("media_type", ["text/plain", "text/markdown"])
def test_case_c02_always_progress(overlap, media_type):
    text = "abc\n" * 50
    units = cut(text, media_type, size=50, overlap=overlap)
    ends = units["char_end"].to_list()
    assert ends == sorted(set(ends))
    assert ends[-1] == len(text) - 1


def test_case_c03_the_last_unit_is_not_inside_the_one_before():
    units = cut("a b c d e f g h i j", "text/plain", size=8, overlap=4)
    assert units["text"].to_list() == ["a b c d e f g h", "e f g h i j"]
    assert cut("a b c d e f g h", "text/plain", size=8, overlap=4).height == 1


@pytest.mark.parametrize("size", [17, 50, 101])
@pytest.mark.parametrize("overlap", [0, 7])
@pytest.mark.parametrize("text", [ROW * 100, (CASES / "enc/emoji_zwj.txt").read_text("utf-8")])
def test_case_c04_no_character_is_cut(text, size, overlap):
    units = cut(text, "text/plain", size=size, overlap=overlap)
    assert "\ufffd" not in "".join(units["text"])
    assert units["n_tokens"].max() <= size
    assert not any(unit.startswith(("\u200d", "\U0001f3fd")) for unit in units["text"])
    if not overlap:
        assert "".join("".join(units["text"]).split()) == "".join(text.split())


def test_case_c05_offsets_hold_for_tiny_units():
    units = cut("äöü😀" * 60, "text/plain", size=3, overlap=0)
    assert "".join(units["text"]) == "äöü😀" * 60
    assert units["n_tokens"].max() <= 3


def test_case_c11_urls_stay_within_the_limit():
    line = "详细说明见此处的网址：https://example.com/" + "a1b2c3d4" * 12 + "\n"
    units = cut(line * 60, "text/plain", size=300, overlap=30)
    assert units["n_tokens"].max() <= 300
    assert [count_tokens(text) for text in units["text"]] == units["n_tokens"].to_list()


def test_case_a09_special_tokens_are_ordinary_text():
    (text,) = cut("Ada <|endoftext|> Lin")["text"]
    assert text == "Ada <|endoftext|> Lin"


def test_sections_give_their_path_and_small_ones_go_together():
    body = "Ada Lin leads the project in Riverton. " * 132
    text = f"# Manual\n\n## A\n\n{body}\n\n## B\n\nshort\n\n## C\n\nshort\n\n# Other\n\n{body}"
    units = cut(text, title="Manual")
    assert units["heading_path"].to_list() == [["Manual", "A"], ["Manual"], ["Other"]]
    assert units["context"].to_list() == ["Manual › A", "Manual", "Manual › Other"]
    assert units["text"][0].startswith("# Manual\n\n## A\n")
    assert units["text"][1] == "## B\n\nshort\n\n## C\n\nshort"
    assert cut(text, context="none")["context"].to_list() == ["", "", ""]


def test_parents_are_neighbours_under_one_heading_within_their_size():
    body = "Ada Lin leads the project in Riverton. " * 40
    text = f"# M\n\n## A\n\n{body}\n\n## B\n\n{body}\n\n# N\n\n## C\n\n{body}"
    assert cut(text, size=200)["parent_id"].to_list() == [None] * cut(text, size=200).height
    units = cut(text, size=200, overlap=0, parents=800)
    parents = units.group_by("parent_id", maintain_order=True).agg(
        pl.col("n_tokens").sum(), pl.col("index"), pl.col("heading_path").list.first().n_unique()
    )
    assert parents.height == 2
    assert parents["n_tokens"].max() <= 800
    assert parents["heading_path"].to_list() == [1, 1]
    assert parents["index"].explode().to_list() == list(range(units.height))
    assert cut(text, size=200, overlap=0, parents=200)["parent_id"].n_unique() == units.height


@pytest.mark.parametrize("text", ["第一页的内容。" * 9, "# 标题\n\n" + "第一页的内容。" * 9])
def test_by_page_no_unit_reaches_over_a_page(text):
    second = "Second page. " * 8 + "\n\n| a | b |\n|---|---|\n| x | 1 |\n"
    starts = (0, len(text), len(text) + len(second))
    units = cut(text + second + "Third page.", page_starts=starts, by_page=True)
    assert units["page_start"].to_list() == units["page_end"].to_list() == [1, 2, 3]
    headings = units["heading_path"].to_list()
    assert headings == ([["标题"]] * 3 if text.startswith("#") else [[]] * 3)
    whole = cut(text + second + "Third page.", page_starts=starts)
    assert (whole.height, whole["page_end"].to_list()) == (1, [3])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"size": 100, "overlap": 100}, "overlap 100 must be smaller than size 100"),
        ({"size": 100, "overlap": 150}, "overlap 150 must be smaller than size 100"),
        ({"size": 0, "overlap": 0}, "greater than or equal to 1"),
        ({"size": -5, "overlap": 0}, "greater than or equal to 1"),
        ({"size": 100, "overlap": -1}, "greater than or equal to 0"),
        ({"size": 100, "overlap": 0, "parents": 50},
         "parents 50 must be 0 or not be smaller than size 100"),
    ],
)  # fmt: skip
def test_case_c01_sizes_that_do_not_fit_are_errors_with_both_values(options, message):
    with pytest.raises(ValueError, match=message):
        Chunks(**options)


def test_headings_inside_code_are_code_and_code_is_kept_whole():
    code = "```python\n# not a heading\n" + "value = compute(value)\n" * 30 + "```"
    prose = "陈明负责水表项目。" * 60
    units = cut(f"# T\n\n{prose}\n\n{code}\n\n{prose}", size=300, overlap=0)
    assert all(path == ["T"] for path in units["heading_path"].to_list())
    assert sum(code in text for text in units["text"]) == 1
    assert cut(code)["kind"].to_list() == ["code"]


def test_an_unclosed_fence_is_text():
    units = cut("```\n# Heading\n\n" + "字。" * 900)
    assert units["heading_path"].to_list()[-1] == ["Heading"]


def test_setext_and_chinese_headings_without_a_space():
    units = cut("第一\n====\n\n" + "字。" * 900 + "\n\n##概述\n\n" + "句。" * 900)
    assert units["heading_path"].to_list()[0] == ["第一"]
    assert units["heading_path"].to_list()[-1] == ["第一", "概述"]


def test_overlap_is_whole_sentences_of_the_same_section():
    sentences = [f"Sentence number {number} stands here." for number in range(60)]
    units = cut("# A\n\n" + " ".join(sentences) + "\n\n# B\n\n" + " ".join(sentences), size=200,
                overlap=30)  # fmt: skip
    texts = [unit for unit in units.iter_rows(named=True) if unit["heading_path"] == ["A"]]
    for before, after in pairwise(texts):
        shared = before["char_end"] - after["char_start"]
        assert before["text"][-shared:].startswith("Sentence number")
        assert 0 < count_tokens(before["text"][-shared:]) <= 30
    assert next(u for u in units.iter_rows(named=True) if u["heading_path"] == ["B"])[
        "text"
    ].startswith("# B")


def test_long_text_is_cut_evenly_at_paragraphs():
    paragraph = "Ada Lin leads the project in Riverton. " * 20
    units = cut("\n\n".join([paragraph.strip()] * 9), "text/plain")
    assert units["n_tokens"].min() > 600
    assert all(text.endswith(".") for text in units["text"])
    assert all(text.startswith("Ada") for text in units["text"])


def test_every_unit_knows_the_pages_it_stands_on():
    pages = ["First page. " * 8, "第二页的内容。" * 8, "", "Fourth page. " * 8]
    starts = [sum(map(len, pages[:n])) for n in range(4)]
    units = cut("".join(pages), page_starts=starts, size=60, overlap=0)
    text = "".join(pages)
    for unit in units.iter_rows(named=True):
        for column, offset in (("page_start", "char_start"), ("page_end", "char_end")):
            at = unit[offset] - (offset == "char_end")
            page = max(n for n in range(4) if starts[n] <= at) + 1
            assert unit[column] == page, text[unit["char_start"] : unit["char_end"]]
    assert units["page_end"].max() == 4
    assert cut("No pages.")["page_start"].to_list() == [None]


def test_only_what_has_sections_or_may_be_too_long_waits_for_the_tokenizer():
    texts = [
        "Ada Lin leads Osprey.",
        "陈明在杭州。",
        "# 团队\n陈明",
        "a\n---\nb",
        "x | y",
        "长" * 40,
    ]
    frame = pl.DataFrame({"text": texts})
    waits = frame.select(waits_for_tokenizer(Chunks(size=100, overlap=0))).to_series()
    assert waits.to_list() == [False, False, True, True, True, True]
