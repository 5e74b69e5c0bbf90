"""Source code: how it is read and cut."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

from graphkb.code import languages
from graphkb.code.languages import BY_SUFFIX
from graphkb.ingest.chunk import cut_documents
from graphkb.ingest.chunkers import CHUNKERS
from graphkb.ingest.chunkers.code import cut_code
from graphkb.ingest.chunkers.piece import Budget, Piece
from graphkb.ingest.read import read_file
from graphkb.ingest.records import FileReading, SourceFile
from graphkb.settings_input import Chunks, Input
from graphkb.tables import TABLES
from graphkb.text.tokens import count_tokens

LARGE = '''"""订单的计价。Prices of orders."""
import os

from app import store

RATE = 0.13


# 一笔订单
class Order(store.Row):
    """An order."""

    fields = ("id", "lines")

    @property
    def total(self):
        """合计"""
        return sum(line.price * line.count for line in self.lines if line.price and line.count)

    def tax(self):
        # 税率见 RATE
        return self.total * RATE + sum(line.extra for line in self.lines if line.extra is not None)

    def show(self):
        return f"{self.id}: {self.total} {self.tax()} {len(self.lines)} {self.fields} {os.name}"


def first(orders):
    return orders[0]


def last(orders):
    return orders[-1]
'''


def read(tmp_path: Path, name: str, data: bytes | str, **options: object) -> FileReading:
    path = tmp_path / Path(name).name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return read_file(SourceFile(name, path, path.stat().st_size), Input(**options))  # type: ignore[arg-type]


def check(text: str, pieces: list[Piece], budget: Budget) -> None:
    """Every visible character once, in order, within the budget."""
    covered = set()
    for piece in pieces:
        span = set(range(piece.start, piece.end))
        assert not covered & span
        covered |= span
        assert piece.kind == "code"
        assert piece.n_tokens == count_tokens(text[piece.start : piece.end]) <= budget.size
        assert text[piece.start : piece.end].strip() == text[piece.start : piece.end]
    assert {i for i, c in enumerate(text) if not c.isspace()} <= covered
    assert [piece.start for piece in pieces] == sorted(piece.start for piece in pieces)


def test_a_large_class_is_cut_into_its_methods_and_small_functions_go_together() -> None:
    budget = Budget(80, 10)
    pieces = cut_code(LARGE, budget, "python")
    check(LARGE, pieces, budget)
    shown = {piece.heading_path: LARGE[piece.start : piece.end] for piece in pieces}
    assert shown["Order", "total"].startswith("@property\n    def total")
    assert shown["Order", "tax"].startswith("def tax(self):\n        # 税率见 RATE")
    assert shown["Order", "show"].endswith('{os.name}"')
    headers = {piece.heading_path: piece.header for piece in pieces}
    assert headers["Order", "tax"] == "class Order(store.Row)"
    assert any("# 一笔订单\nclass Order" in text for text in shown.values())


def test_small_neighbours_go_together_under_what_holds_both() -> None:
    text = "".join(f"def f{n}(x):\n    return x + {n}\n\n" for n in range(30))
    budget = Budget(240, 0)
    pieces = cut_code(text, budget, "python")
    check(text, pieces, budget)
    assert 5 < len(pieces) < 15
    assert {piece.heading_path for piece in pieces} == {()}


def test_a_class_that_fits_is_one_unit() -> None:
    pieces = cut_code(LARGE, Budget(600, 50), "python")
    whole = [p for p in pieces if p.heading_path == ("Order",)]
    assert len(whole) == 1
    assert LARGE[whole[0].start : whole[0].end].startswith("# 一笔订单\nclass Order")
    assert LARGE[whole[0].start : whole[0].end].endswith('{os.name}"')


def test_a_function_too_large_is_cut_between_lines_with_its_signature_above() -> None:
    body = "".join(
        f"    value_{n} = compute({n}, '数值')\n" + "\n" * (n % 5 == 0) for n in range(60)
    )
    text = f"def 长函数(a, b=1):\n{body}    return value_1\n"
    budget = Budget(100, 20)
    pieces = cut_code(text, budget, "python")
    check(text, pieces, budget)
    assert len(pieces) > 5
    assert {p.heading_path for p in pieces} == {("长函数",)}
    assert pieces[0].header == ""
    assert {p.header for p in pieces[1:]} == {"def 长函数(a, b=1)"}
    assert all(text[p.end] == "\n" for p in pieces)


@pytest.mark.parametrize("language", ["", *sorted({known.name for known in BY_SUFFIX.values()})])
@pytest.mark.parametrize("size", [1, 7, 40, 600])
def test_any_text_is_cut_whole_whatever_the_language(language: str, size: int) -> None:
    budget = Budget(size, size // 4)
    broken = LARGE[:500] + "}}}) (((\n" + LARGE[300:700][::-1]
    for text in (LARGE, broken, "x" * 500, "\n\n", "class A:\n", "你好，世界。" * 30, "{" * 200):
        check(text, cut_code(text, budget, language), budget)


def test_the_context_says_path_class_and_signature(tmp_path: Path) -> None:
    (record,) = read(tmp_path, "shop/计价/order.py", LARGE).records
    assert (record.title, record.media_type) == ("shop/计价/order.py", "text/x-python")
    row = {"id": "d", "title": record.title, "text": record.text, "media_type": record.media_type}
    documents = pl.DataFrame(
        [{**dict.fromkeys(TABLES["documents"].schema), **row, "page_starts": []}],
        schema=TABLES["documents"].schema,
    )
    units = cut_documents(documents, Chunks(size=80, overlap=10))
    contexts = units["context"].to_list()
    assert "shop/计价/order.py › Order › tax\nclass Order(store.Row)" in contexts
    assert set(units["kind"]) == {"code"}


def test_every_language_is_read_and_has_its_way_of_cutting(tmp_path: Path) -> None:
    for suffix, language in BY_SUFFIX.items():
        (record,) = read(tmp_path, f"a/x{suffix}", "x = 1 // 一\n").records
        assert record.media_type in CHUNKERS
        if suffix != ".h":
            assert record.media_type == language.media_type
    (record,) = read(tmp_path, "q.sql", "select 1;\n\nselect 2;\n").records
    assert [p.kind for p in CHUNKERS[record.media_type](record.text, Budget(600, 0))] == ["code"]


def test_a_header_that_is_cpp_is_read_as_such(tmp_path: Path) -> None:
    (plain,) = read(tmp_path, "a.h", "struct a { int x; };\n").records
    (classes,) = read(tmp_path, "b.h", "class A { public: void f(); };\n").records
    assert (plain.media_type, classes.media_type) == ("text/x-c", "text/x-cpp")


def test_an_empty_file_of_code_is_no_trouble(tmp_path: Path) -> None:
    assert read(tmp_path, "pkg/__init__.py", b"") == FileReading()
    assert read(tmp_path, "pkg/__init__.py", b"\n\n") == FileReading()


def test_minified_code_is_left_out_with_the_reason(tmp_path: Path) -> None:
    text = "var a=1;" * 1000
    (refused,) = read(tmp_path, "js/bundle.js", text).refused
    assert refused.reason.startswith("minified code (a line of 8,000 characters); left out")
    assert read(tmp_path, "js/bundle.js", text, gitignore=False).records


def test_without_the_extra_code_is_plain_text_and_a_note_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tree_sitter_go", None)
    languages.parser_of.cache_clear()
    try:
        reading = read(tmp_path, "net/client.go", "package net\nfunc f() {}\n")
    finally:
        monkeypatch.undo()
        languages.parser_of.cache_clear()
    assert [record.media_type for record in reading.records] == ["text/plain"]
    assert reading.notes == (
        "net/client.go: read as plain text, without its functions and classes: "
        'pip install "graphkb[code]"',
    )
