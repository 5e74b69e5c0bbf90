"""Notebooks: words, code and results, in the order of the cells."""

from __future__ import annotations

import json

import pytest

from tests.ingest.reading import only, read, refused


def notebook(*cells: dict, **metadata) -> str:
    stated = {"kernelspec": {"display_name": "Python 3", "language": "python"}, **metadata}
    return json.dumps({"nbformat": 4, "metadata": stated, "cells": list(cells)})


def words(text: str) -> dict:
    return {"cell_type": "markdown", "source": text.splitlines(keepends=True)}


def code(text: str, *outputs: dict) -> dict:
    return {"cell_type": "code", "source": text, "outputs": list(outputs)}


def test_words_code_and_results_stand_in_order():
    book = notebook(
        words("# 水表分析\n\n陈明的数据。"),
        code("total = 1\nprint(total)", {"output_type": "stream", "text": ["1\n", "2\n"]}),
        {"cell_type": "raw", "source": "raw words"},
        code("total", {"output_type": "execute_result", "data": {"text/plain": "42"}}),
    )
    record = only(read("a.ipynb", book))
    assert record.text == (
        "# 水表分析\n\n陈明的数据。\n\n```python\ntotal = 1\nprint(total)\n```\n\n```\n1\n2\n```"
        "\n\nraw words\n\n```python\ntotal\n```\n\n```\n42\n```"
    )
    assert record.title == "水表分析"
    assert record.metadata == {"language": "python", "kernel": "Python 3"}
    assert record.media_type == "application/x-ipynb+json"


def test_tables_become_markdown_and_pictures_are_left_out():
    html = "<div><table><thead><tr><th>Part<th>Qty<tbody><tr><td>Valve<td>12</table></div>"
    book = notebook(
        words("![flow](data:image/png;base64,iVBORw0KGgo=) shows"),
        code("df", {"output_type": "display_data", "data": {"text/html": [html],
                                                            "text/plain": "Part Qty"}}),
        code("plot()", {"output_type": "display_data", "data": {"image/png": "iVBOR"}}),
    )  # fmt: skip
    assert only(read("a.ipynb", book)).text == (
        "![flow]() shows\n\n```python\ndf\n```\n\n| Part | Qty |\n|---|---|\n| Valve | 12 |\n\n"
        "```python\nplot()\n```"
    )


def test_errors_are_one_line_and_colours_go():
    book = notebook(
        code("x", {"output_type": "error", "ename": "NameError", "evalue": "name 'x'",
                   "traceback": ["\x1b[31mlong\x1b[0m"]}),
        code("y", {"output_type": "stream", "text": "\x1b[1;31mred\x1b[0m"}),
    )  # fmt: skip
    text = only(read("a.ipynb", book)).text
    assert "```\nNameError: name 'x'\n```" in text
    assert "```\nred\n```" in text
    assert "long" not in text


def test_long_results_are_cut_in_the_middle():
    output = {"output_type": "stream", "text": "first\n" + "x" * 9000 + "\nlast"}
    text = only(read("a.ipynb", notebook(code("run()", output)))).text
    assert "first" in text
    assert "last" in text
    assert "… (7011 characters left out)" in text
    assert len(text) < 2200


def test_fences_are_longer_than_what_they_hold():
    assert (
        "````python\ns = '''\n```\n'''\n````"
        in only(read("a.ipynb", notebook(code("s = '''\n```\n'''")))).text
    )


def test_format_3_is_read():
    book = {
        "nbformat": 3,
        "metadata": {"name": "old"},
        "worksheets": [
            {
                "cells": [
                    {"cell_type": "heading", "level": 2, "source": ["Pumps"]},
                    {"cell_type": "code", "input": ["p = 1"], "language": "python",
                     "outputs": [{"output_type": "pyout", "text": ["1"]}]},
                ]
            }
        ],
    }  # fmt: skip
    text = only(read("a.ipynb", json.dumps(book))).text
    assert text == "## Pumps\n\n```\np = 1\n```\n\n```\n1\n```"


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("{", "line 1, column 2"),
        ("[1]", "it has no cells"),
        ('{"cells": []}', "it has no cells"),
        ('{"cells": 3}', "it has no cells"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_what_is_no_notebook_says_so(content, reason):
    assert reason in refused(read("a.ipynb", content))["a.ipynb"]


def test_odd_cells_are_no_crash():
    cells = [{"cell_type": "code", "source": 3, "outputs": [None, {"data": 4}]}, words("Text"),
             {"cell_type": "heading", "level": "x", "source": "H"}]  # fmt: skip
    assert only(read("a.ipynb", notebook(*cells))).text == "Text\n\n# H"


@pytest.mark.parametrize("line", ["epoch done\n", "训练完成一轮\n"])
def test_what_is_left_out_of_long_results_is_noted(line):
    long, short = ({"output_type": "stream", "text": line * n} for n in (400, 3))
    reading = read("a.ipynb", notebook(code("x", long), code("y", short)))
    left_out = len(line) * 400 - 1 - 2000
    assert f"({left_out} characters left out)" in only(reading).text
    (note,) = reading.notes
    assert note.startswith("a.ipynb: a long result is cut to the first 1,500 and last 500 char")
    assert f"({left_out:,} left out)" in note
    (note,) = read("b.ipynb", notebook(code("x", long, long))).notes
    assert "2 long results are cut" in note
    assert not read("c.ipynb", notebook(code("y", short))).notes
