from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from graphkb.ingest.read import READERS, SOURCES, SourceFile, file_hash, read_file, sources_frame
from graphkb.settings_input import Fields, Input

CASES = Path(__file__).parents[1] / "data" / "cases"


def reading(path: Path, **options):
    return read_file(SourceFile(path.name, path, 0), Input(**options))


@pytest.fixture
def read(tmp_path):
    def read(name: str, content: str | bytes, **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return reading(path, **options)

    return read


def refusals(result):
    return {refused.where: refused.reason for refused in result.refused}


def test_case_a13_empty_files_are_refused():
    assert "0 bytes" in reading(CASES / "size/zero.txt").refused[0].reason
    assert "no text" in reading(CASES / "size/whitespace.txt").refused[0].reason


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("a.gif", b"GIF89a\x00", "a GIF image"),
        ("a.jar", b"PK\x03\x04\x00", "a .jar file"),
        ("a.txt", bytes(range(256)) * 8, "binary data"),
        ("a.xyz", b"text", "a .xyz file"),
    ],
)
def test_other_types_are_refused_with_what_is_read(read, name, data, word):
    (refused,) = read(name, data).refused
    assert refused.where == name
    assert word in refused.reason
    assert "; read are .txt, .md, .html, .csv, .json, .jsonl, " in refused.reason


def test_large_files_are_refused_with_the_setting(read):
    assert (
        "input.max_file_mb (0.001)"
        in read("a.txt", "x" * 2000, max_file_mb=0.001).refused[0].reason
    )


def test_frontmatter_becomes_metadata_and_leaves_the_text(read):
    (record,) = read(
        "a.md",
        "---\ntitle: 水表 手册\nupdated_at: 2024-01-05\nurl: https://a.example\ntags: [a, b]\n"
        "date: 2023/4/5\n---\n# Other\ntext",
    ).records
    assert (record.title, record.text) == ("水表 手册", "# Other\ntext")
    assert record.metadata["updated_at"] == "2024-01-05"
    assert record.metadata["tags"] == ["a", "b"]
    assert record.creation_date == "2023-04-05"


@pytest.mark.parametrize(
    "block", ["a: [1, 2", "a: &x [1]\nb: *x", "- 1\n- 2", "a: b: c", "? [1]\n: 2", "x: '"]
)
def test_broken_frontmatter_stays_text_with_a_note(read, block):
    result = read("a.md", f"---\n{block}\n---\nBody.")
    assert result.records[0].text.startswith("---\n")
    assert "frontmatter kept as text" in result.notes[0]


def test_markdown_title_is_the_first_level_1_heading_outside_code(read):
    assert read("a.md", "```\n# no\n```\n## two\n# **Yes** [it](x)\n").records[0].title == "Yes it"
    assert read("a.md", "Setext\n======\n").records[0].title == "Setext"
    assert read("name.v2.md", "## two").records[0].title == "name.v2"


def test_case_e09_html_noise_goes_and_tables_stay():
    (record,) = reading(CASES / "html/noise.html").records
    assert record.text == "Ada Lin leads—since 2019.\n\n| Part | Qty |\n|---|---|\n| Valve | 12 |"
    assert record.title == "Dipper"
    assert reading(CASES / "html_header_footer.html").records[0].text == (
        "# My First Heading\n\nMy first paragraph."
    )
    rich = reading(CASES / "html_rich_table_cells.html").records[0].text
    assert "| Teal | Pond; Marsh; Riverbank | Fly south in winter; Build nest on ground |" in rich


def test_html_keeps_lists_code_and_merged_cells(read):
    page = (
        "<ul><li>a<ol><li>b</ol><li>c</ul><pre>x\n  y</pre><table><tr><th rowspan=2>G<th colspan=2>"
        "Q<tr><th>1<th>2<tr><td>v|w<td>3<td>4</table><p>one<br>two"
    )
    assert read("a.html", page).records[0].text == (
        "- a\n  1. b\n- c\n\n```\nx\n  y\n```\n\n"
        "| G | Q 1 | Q 2 |\n|---|---|---|\n| v\\|w | 3 | 4 |\n\none\ntwo"
    )


def test_html_page_furniture_is_kept_where_there_is_nothing_else(read):
    assert read("a.html", "<nav>Only this</nav>").records[0].text == "Only this"
    page = "<article><header><p>By Ada</p></header>Text</article><header>Banner</header>"
    assert read("a.html", page).records[0].text == "By Ada\n\nText"


@pytest.mark.parametrize("tag", ["div", "table><tr><td", "ul><li", "b", "blockquote"])
def test_case_e17_deep_html_is_read(read, tag):
    closed = "".join(f"</{part}>" for part in reversed(tag.replace(">", "").split("<")))
    page = f"<{tag}>" * 3000 + "core text" + closed * 3000
    assert "core text" in read("a.html", page).records[0].text


def test_html_charset_and_meta_are_used(read):
    page = (
        '<meta charset="gb2312"><meta name=author content="陈明"><title>标题</title>'
        "<p>正文&#0;&#xD800;。"
    )
    (record,) = read("a.htm", page.encode("gbk")).records
    assert (record.title, record.text, record.metadata) == ("标题", "正文 。", {"author": "陈明"})


def test_case_a03_b09_csv(read):
    (record,) = reading(CASES / "csv/bom.csv").records
    assert (record.own_id, record.title, record.text) == ("1", "水表", "陈明负责水表。")
    reason = reading(CASES / "csv/no_text_column.csv").refused[0].reason
    assert "'text'" in reason
    assert "'id', 'headline', 'content'" in reason
    assert "input.fields.text" in reason
    fields = Fields(text="content", title="headline")
    assert reading(CASES / "csv/no_text_column.csv", fields=fields).records[0].title == "Meter"


def test_case_e13_a_field_above_the_csv_limit_is_read(read):
    (record,) = read("a.csv", "id,text\n1," + "x" * 140_000 + "\n").records
    assert len(record.text) == 140_000


@pytest.mark.parametrize("delimiter", [",", "\t", ";", "|"])
def test_csv_delimiter_quotes_and_line_numbers(read, delimiter):
    rows = [["id", "text", "year"], ["1", f'"a{delimiter}\n""b"""', "2020"], ["2", "", "2021"]]
    content = "\n".join(delimiter.join(row) for row in rows)
    result = read("a.csv", content)
    assert result.records[0].text == f'a{delimiter}\n"b"'
    assert result.records[0].metadata == {"year": "2020"}
    assert list(refusals(result)) == ["a.csv:4"]


def test_ragged_csv_rows_are_read_and_noted(read):
    result = read("a.csv", "id,text\n1,one, two\n2\n\n3,three\n")
    assert [record.text for record in result.records] == ["one, two", "three"]
    assert list(refusals(result)) == ["a.csv:3"]
    assert "2 rows differ" in result.notes[0]
    extra = read("a.csv", "text,id\none,1,x\n").records[0]
    assert extra.metadata == {"extra": ["x"]}


def test_an_unclosed_csv_quote_costs_no_rows(read):
    result = read("a.csv", 'id,text\n1,one\n2,"two\n3,three\n4,four\n')
    assert [record.own_id for record in result.records] == ["1", "2", "3", "4"]
    assert "a.csv:3: a quote is opened and never closed" in result.notes[0]


def test_case_e15_json_lines(read):
    result = reading(CASES / "json/lines.jsonl")
    assert [record.own_id for record in result.records] == ["1", "2"]
    assert list(refusals(result)) == ["lines.jsonl:3", "lines.jsonl:4"]
    other = reading(CASES / "jsonl_invalid_and_blank_lines.jsonl")
    assert [record.title for record in other.records] == ["Hello", "Goodbye", "Adios"]
    assert len(other.refused) == 2


def test_case_e15_json(read):
    result = reading(CASES / "json/list.json")
    assert [record.title for record in result.records] == ["Meter", "2"]
    assert "no key 'text'" in refusals(result)["list.json, item 3"]
    assert "found 'body'" in reading(CASES / "json/wrong_key.json").refused[0].reason
    comma = reading(CASES / "json/trailing_comma.json").refused[0]
    assert comma.where == "trailing_comma.json:1:16"
    nan = reading(CASES / "json/nan.json")
    assert nan.records[0].text == "abc"
    assert nan.notes == ("nan.json:1:26: NaN is not JSON; read as null",)


@pytest.mark.parametrize(
    ("name", "content", "titles"),
    [
        ("a.json", '{"documents": [{"text": "x", "title": "T"}]}', ["T"]),
        ("a.json", '{"text": "x", "title": "T"}\n{"text": "y"}\n', ["T", "a:2"]),
        ("a.jsonl", '[\n{"text": "x", "title": "T"}\n]', ["T"]),
        ("a.jsonl", '{"text": "x\\ud800\\u0000y", "id": 7.5}', ["7.5"]),
        ("a.jsonl", '{"Text": "x", "id": true}', ["true"]),
    ],
)
def test_json_shapes(read, name, content, titles):
    assert [record.title for record in read(name, content).records] == titles


def test_row_metadata_is_the_object_and_the_plain_values(read):
    row = {"id": "a", "text": "x", "metadata": {"k": [1]}, "year": 2020, "n": {"deep": 1}, "e": ""}
    (record,) = read("a.jsonl", json.dumps(row)).records
    assert record.metadata == {"k": [1], "year": 2020}
    assert json.loads(record.raw_data or "") == row
    (cell,) = read("a.csv", 'text,metadata\nx,"{""k"": 1}"\n').records
    assert cell.metadata == {"k": 1}


@pytest.mark.parametrize(
    "content", ["[" * 9000, '{"a":' * 900 + "1" + "}" * 900, "9" * 5000, "null"]
)
@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_hostile_json_is_refused(read, name, content):
    assert read(name, content).refused


def test_sources_frame_has_its_schema_and_stable_hashes(read, tmp_path):
    result = read("a.jsonl", '{"text": "x"}\n{"text": "y"}')
    source = SourceFile("a.jsonl", tmp_path / "a.jsonl", 1)
    frame = sources_frame(source, file_hash(source), result)
    assert dict(frame.schema) == SOURCES
    assert frame["row"].to_list() == [0, 1]
    empty = sources_frame(source, "h", read("b.txt", ""))
    assert empty.schema == frame.schema


SEEDS = [
    (path.suffix, path.read_bytes())
    for path in sorted(CASES.rglob("*"))
    if path.is_file() and path.stat().st_size < 10_000
]


@settings(
    max_examples=300,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(SEEDS),
    st.sampled_from(sorted(READERS)),
    st.lists(st.tuples(st.integers(0, 9999), st.binary(max_size=4)), max_size=8),
)
def test_mutated_files_never_raise(tmp_path, seed, suffix, edits):
    data = bytearray(seed[1])
    for at, replacement in edits:
        at %= len(data) + 1
        data[at : at + len(replacement)] = replacement
    path = tmp_path / f"file{suffix}"
    path.write_bytes(bytes(data))
    source = SourceFile(path.name, path, len(data))
    result = read_file(source, Input())
    assert result.records or result.refused
    frame = sources_frame(source, file_hash(source), result)
    assert all("\x00" not in text for text in frame["text"])


@pytest.mark.parametrize("suffix", [".pdf", ".png", ".epub", ".zip", ".tar"])
@pytest.mark.parametrize("text", ["Only words.", "只有文字。"])
def test_text_under_the_name_of_what_is_no_text_is_called_text(read, suffix, text):
    (refused,) = read(f"a{suffix}", text).refused
    assert refused.reason.startswith(f"plain text under a {suffix} name; rename it to .txt")


def test_a_pointer_of_git_lfs_is_called_one(read):
    pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:4d\nsize 12345\n"
    assert "git lfs pull" in read("图.png", pointer).refused[0].reason
