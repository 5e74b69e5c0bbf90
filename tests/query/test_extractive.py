"""Answers of quotes over tables: rows under their own columns, and the row that is named."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot

from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.extractive import choose_quotes
from graphkb.query.sentences import sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Passage

CITIES = ("Porto", "Vaasa", "Lund")


def table(names: str, rows: list[str]) -> str:
    rule = "---".join("|" * (names.count("|") + 2))
    return "\n".join((f"| {names} |", rule, *(f"| {row} |" for row in rows)))


ROOMS = [f"Room {n} | {n % 4} | {(n * 7 + 2) % 30 + 3}" for n in range(1, 31)]
HALLS = [f"{n}号厅 | {n % 4} | {(n * 7 + 2) % 30 + 3}" for n in range(1, 31)]
PLANS = ["Pro Max | 99 EUR | 60", "Basic | 19 EUR | 3", "Pro | 49 EUR | 12"]
DATED = [
    f"Supplier {n:02} | {CITIES[n % 3]} | 20{10 + n % 10}-12-{1 + n % 28:02} | {n * 2.5}%"
    for n in range(1, 41)
]
TABLES = {
    "book.md": "# Salaries\n\n"
    + table("Employee | Salary", ["Noor Haddad | 5200", "Piotr Zych | 4100"])
    + "\n\n# Debtors\n\n"
    + table("Customer | Overdue", ["Blue Heron Ltd | 9100", "Kite GmbH | 700"]),
    "账册.md": "# 账册\n\n"
    + table("员工 | 薪资", ["周宁 | 5200", "许安 | 4100"])
    + "\n\n"
    + table("客户 | 欠款", ["苍鹭贸易 | 9100", "风筝科技 | 700"]),
    "rooms.md": "# Rooms\n\n" + table("Room | Floor | Seats", ROOMS),
    "厅.md": "# 展厅\n\n" + table("展厅 | 楼层 | 座位", HALLS),
    "suppliers.md": "# Suppliers\n\n" + table("Supplier | City | Since | Rating", DATED),
    "plans.md": "# Plans\n\n"
    + table("Plan | Price | Users", PLANS)
    + "\n\n## 套餐\n\n"
    + table("套餐 | 价格 | 人数", ["专业版 | 49 元 | 12", "基础版 | 10 元 | 3"]),
    "orders.md": "# Orders\n\n" + table("Order | Boxes", ["17 | 3", "3 | 17", "8 | 5"]),
}  # fmt: skip


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("tables"), more=TABLES)


def quotes(snapshot: Snapshot, asked: str) -> list[str]:
    """The quoted lines of an answer, without their citation marks."""
    lines = answer_question(snapshot, Ask.plain(asked), "local").text.splitlines()
    return [line[2:].rpartition(" [")[0] for line in lines if line.startswith("- ")]


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("What is known about Blue Heron Ltd?", "Customer: Blue Heron Ltd; Overdue: 9100"),
        ("What is the salary of Piotr Zych?", "Employee: Piotr Zych; Salary: 4100"),
        ("苍鹭贸易的欠款是多少？", "客户: 苍鹭贸易; 欠款: 9100"),
        ("许安的薪资是多少？", "员工: 许安; 薪资: 4100"),
    ],
)
def test_a_row_is_quoted_under_the_columns_of_its_own_table(
    tables: Snapshot, asked: str, row: str
) -> None:
    assert quotes(tables, asked)[0] == row


@pytest.mark.parametrize(
    ("asked", "row"),
    [
        ("How many seats has Room 17?", "Room: Room 17; Floor: 1; Seats: 4"),
        ("17号厅有多少座位？", "展厅: 17号厅; 楼层: 1; 座位: 4"),
        (
            "What is the rating of Supplier 12?",
            "Supplier: Supplier 12; City: Porto; Since: 2012-12-13; Rating: 30.0%",
        ),
        ("What does the Pro plan cost?", "Plan: Pro; Price: 49 EUR; Users: 12"),
        ("专业版套餐的价格是多少？", "套餐: 专业版; 价格: 49 元; 人数: 12"),
        ("How many boxes are in order 17?", "Order: 17; Boxes: 3"),
    ],
)
def test_only_the_row_that_the_question_names_is_quoted(
    tables: Snapshot, asked: str, row: str
) -> None:
    assert quotes(tables, asked) == [row]


def test_rows_that_the_question_does_not_tell_apart_come_together(tables: Snapshot) -> None:
    rows = quotes(tables, "Which suppliers are in Vaasa?")
    assert len(rows) == 6
    assert all("City: Vaasa" in row for row in rows)
    assert quotes(tables, "有哪些套餐？") == [
        "套餐: 专业版; 价格: 49 元; 人数: 12",
        "套餐: 基础版; 价格: 10 元; 人数: 3",
    ]


@pytest.mark.parametrize(
    ("asked", "column"),
    [
        ("What is the rating of Supplier 77?", "Supplier"),
        ("How many boxes are in order 99?", "Order"),
        ("99号厅有多少座位？", "展厅"),
    ],
)
def test_rows_of_other_numbers_are_no_answer(tables: Snapshot, asked: str, column: str) -> None:
    assert not [row for row in quotes(tables, asked) if row.startswith(column)]


@pytest.mark.parametrize("between", ["\n\n", "\n", "\n\n## 欠款\n\n", "\nDebtors, end of May:\n"])
def test_a_table_ends_where_the_next_begins(between: str) -> None:
    text = (
        table("Employee | Salary", ["Noor | 5200"]) + between + table("客户 | 欠款", ["苍鹭 | 91"])
    )
    rows = [(s.text, s.header) for s in sentences_of(text) if s.text.startswith("|")]
    assert rows == [
        ("| Noor | 5200 |", ("Employee", "Salary")),
        ("| 苍鹭 | 91 |", ("客户", "欠款")),
    ]


def test_rows_without_a_header_have_no_column_names() -> None:
    rows = list(sentences_of("| Noor | 5200 |\n| 许安 | 4100 |\n\n| Kite | 700 |", ["Who", "Pay"]))
    assert [row.header for row in rows] == [("Who", "Pay"), ("Who", "Pay"), ()]
    assert [row.header for row in sentences_of("| Noor | 5200 |\n| 许安 | 4100 |")] == [(), ()]


def test_a_cell_with_sentences_does_not_part_its_row_or_end_the_table() -> None:
    rows = ["Kestrel | Paid late. Ask twice.", "苍鹭 | 逾期。已催款；未回。", "a\\|b | Fine"]
    found = list(sentences_of(table("Firm | Note", rows)))
    assert [row.text for row in found] == [f"| {row} |" for row in rows]
    assert {row.header for row in found} == {("Firm", "Note")}


def test_comments_of_pages_are_no_sentences() -> None:
    text = (
        "<!-- Media -->\n<!-- Note! 脚注。 -->\n营收<!-- ? -->为3549亿元。\nIt grew <!-- x\ny -->"
    )
    assert [(text[s.start : s.end], s.text) for s in sentences_of(text)] == [
        ("营收<!-- ? -->为3549亿元。", "营收<!-- ? -->为3549亿元。"),
        ("It grew", "It grew"),
    ]


@pytest.mark.parametrize(
    ("question", "expected"),
    [("Which risks do the documents name?", "storms"), ("文档主要提到哪些风险？", "风暴")],
)
def test_words_that_are_ignored_choose_no_sentence(
    tables: Snapshot, question: str, expected: str
) -> None:
    text = (
        "The documents of 2024 are in a cupboard. The risks are storms.\n"
        "文档主要放在柜子里。风险是风暴。"
    )
    passage = Passage("text_unit", text, 1.0, "u", "d", "", "a.md", "", None, 0, len(text))
    frame = {"documents", "name", "文档", "主要", "提到"}
    chosen = choose_quotes(tables, question, [passage], 1, frame)
    assert [expected in quote.text for quote in chosen] == [True]
    # A question of nothing else is still answered.
    assert choose_quotes(tables, "documents", [passage], 1, frame)


@pytest.mark.parametrize(
    ("text", "question", "expected"),
    [
        ("The door code of the Riga office is 4471", "What is the door code of Riga?", "4471"),
        ("仓库门禁密码是 7720", "仓库门禁密码是多少？", "7720"),
        ("WiFi password: sunflower88\nGuest network: Harbour", "What is the WiFi password?", "88"),
        ("无线密码：向日葵88\n访客网络：海港", "无线密码是多少？", "88"),
    ],
)
def test_a_first_line_that_says_something_is_no_title(
    tables: Snapshot, text: str, question: str, expected: str
) -> None:
    passage = Passage("text_unit", text, 1.0, "u", "d", "door", "door.txt", "", None, 0, len(text))
    (quote, *_) = choose_quotes(tables, question, [passage], 3)
    assert expected in quote.text


@pytest.mark.parametrize("text", ["Door codes\n\nRiga has 4471.", "门禁密码\n\n里加的密码是4471。"])
def test_a_first_line_above_others_is_a_title(tables: Snapshot, text: str) -> None:
    passage = Passage("text_unit", text, 1.0, "u", "d", "x", "x.txt", "", None, 0, len(text))
    quotes = choose_quotes(tables, "Riga door codes 里加门禁密码", [passage], 3)
    assert ["4471" in quote.text for quote in quotes] == [True]
