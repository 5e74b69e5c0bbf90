"""Tables and lists without a text column: refused with what to set, or read as one table."""

from __future__ import annotations

import pytest

from graphkb.text.sheets import SheetMap, SheetPlace
from tests.ingest.reading import CASES, only, read, refused

PRICES = "套餐;月付(元);说明\n专业版;49;含支持|电话\n基础版;19;\n"


def test_case_b09_the_message_names_columns_and_both_settings():
    for name in ("csv/no_text_column.csv", "json/wrong_key.json"):
        (reason,) = refused(read(name, (CASES / name).read_bytes())).values()
        assert "'text' for the text; found '" in reason
        assert "set input.fields.text" in reason
        assert "input.tables to auto" in reason


def test_a_table_without_text_column_is_one_document():
    record = only(read("价格.csv", PRICES, tables="auto"))
    assert record.text == (
        "| 套餐 | 月付(元) | 说明 |\n|---|---|---|\n"
        "| 专业版 | 49 | 含支持\\|电话 |\n| 基础版 | 19 |  |"
    )
    assert (record.title, record.media_type, record.raw_data) == ("价格", "text/csv", None)


@pytest.mark.parametrize(
    "content",
    [
        PRICES,
        "Plan,Price,About\nPro,$30,For teams of up to ten people with support by mail\n",
        '科目,金额（万元）,说明\n存货,"1,200.5",年末盘点时按成本与可变现净值孰低计量的各类存货\n',
        "name,department\nAda Lin,Finance\n",
        "Valve\t12\nSeal\t7\n",
    ],
)
def test_a_table_of_figures_is_one_document_by_itself_and_it_says_so(content: str):
    reading = read("prices.csv", content)
    assert [record.text for record in reading.records] == [
        only(read("prices.csv", content, tables="auto")).text
    ]
    (note,) = reading.notes
    assert note.startswith("prices.csv: no column 'text': read whole, as one table; set input.fi")


@pytest.mark.parametrize(
    "content",
    [
        "article_id,title,content\n7,Meter,Ada Lin leads the Dipper water meter project.\n",
        "编号,标题,正文\n1,退款,退款申请提交后三个工作日内原路退回到付款账户。\n",
        "articleId,content\n7,Ada Lin leads the Dipper water meter project.\n",
        "plan,price\n",
        "second,volt\n" + "1,5.5\n" * 10_001,
    ],
    ids=["en", "zh", "camel", "no rows", "long"],
)
def test_rows_of_sentences_are_refused_for_want_of_the_text_column(content: str):
    (reason,) = refused(read("a.csv", content)).values()
    assert "set input.fields.text" in reason


def test_a_table_with_text_column_is_rows_all_the_same():
    reading = read("a.csv", "id,text\n1,Valve\n2,Seal\n", tables="auto")
    assert [record.text for record in reading.records] == ["Valve", "Seal"]


def test_a_table_without_header_gets_numbered_columns():
    assert only(read("a.tsv", "Valve\t12\nSeal\t7\t!\n", tables="auto")).text == (
        "| column 1 | column 2 | column 3 |\n|---|---|---|\n| Valve | 12 |  |\n| Seal | 7 | ! |"
    )
    # Years name columns.
    assert only(read("a.csv", "part,2023,2024\nValve,1,2\n", tables="auto")).text == (
        "| part | 2023 | 2024 |\n|---|---|---|\n| Valve | 1 | 2 |"
    )


def test_one_column_is_lines():
    assert only(read("a.csv", "部件\n阀门\n密封\n", tables="auto")).text == "部件\n阀门\n密封"
    assert [r.text for r in read("a.csv", "text\n阀门\n密封\n").records] == ["阀门", "密封"]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl"])
def test_objects_without_text_are_one_table(name):
    lines = '{"部件": "阀门", "数量": 12}\n{"部件": "密封", "颜色": ["红", "蓝"], "x": {"y": 1}}'
    content = f"[{lines.replace(chr(10), ',')}]" if name == "a.json" else lines
    assert only(read(name, content, tables="auto")).text == (
        "| 部件 | 数量 | 颜色 | x |\n|---|---|---|---|\n"
        '| 阀门 | 12 |  |  |\n| 密封 |  | 红, 蓝 | {"y": 1} |'
    )
    assert not read(name, content).records


def test_bad_lines_are_still_reported_beside_the_table():
    reading = read("a.jsonl", '{"a": 1}\nnot json\n{"a": 2}\n', tables="auto")
    assert reading.records[0].text == "a\n1\n2"
    assert list(refused(reading)) == ["a.jsonl:2"]


def test_quotes_line_breaks_and_a_byte_order_mark():
    data = '\ufeffid,title,text\n1,"阀, 门","第一行\n第二行 ""引号"""\n'
    (record,) = read("a.csv", data).records
    assert (record.own_id, record.title, record.text) == ("1", "阀, 门", '第一行\n第二行 "引号"')


def test_thousands_of_equal_column_names_are_numbered_without_delay():
    names = ",".join(["id", "text", *["值"] * 20_000])
    record = only(read("a.csv", f"{names}\n1,泵,{','.join(['x'] * 20_000)}\n"))
    assert "值 20000" in (record.raw_data or "")


@pytest.mark.parametrize(
    ("content", "rows"),
    [
        (
            '套餐,月费\n专业版,49元\n\n"企业\n版",199元\n基础版,19元\n',
            {"专业版": 2, "企业": 4, "基础版": 5},
        ),
        ("Valve,12\nSeal,7\n", {"Valve": 1, "Seal": 2}),
        ("部件\n阀门\n密封\n", {"阀门": 2, "密封": 3}),
    ],
)
def test_each_line_of_a_whole_table_is_told_its_row(content, rows):
    record = only(read("a.csv", content, tables="auto"))
    told = SheetMap(record.text, record.page_starts, record.metadata)
    for said, row in rows.items():
        at = record.text.index(said)
        assert told.place(at, at + len(said)) == SheetPlace((), row, row)


def test_rows_that_are_documents_have_none():
    reading = read("a.csv", "id,text\n1,Valve\n2,Seal\n", tables="auto")
    assert ["sheet_rows" in record.metadata for record in reading.records] == [False, False]
