"""Which sentences are quoted: no headings, of the thing that is named, of the month asked for."""

from __future__ import annotations

import pytest
from query.gathering import make_snapshot

from graphkb.query.about import direct_name, introduced_names
from graphkb.query.answer import answer_question
from graphkb.query.ask import Ask
from graphkb.query.headlines import is_headline
from graphkb.query.sentences import sentences_of
from graphkb.search.snapshot import Snapshot
from graphkb.types import Answer

MONTHS = (
    "January February March April May June July August September October November December"
).split()
DATES = [(month, day) for month in (8, 11, 12) for day in (5, 6, 11)]


def table(names: str, rows: list[str]) -> str:
    rule = "---".join("|" * (names.count("|") + 2))
    return "\n".join((f"| {names} |", rule, *(f"| {row} |" for row in rows)))


TEXTS = {
    "beta.txt": (
        "Beta Holdings runs ferries between Oslo and Kiel.\n\nThe chairman of the company is Bo "
        "Lindqvist. He was elected by the board in May 2019. The chief financial officer is Carla "
        "Weiss.\n"
    ),
    "acme.txt": (
        "Acme Industries makes pumps in Bergen.\n\nIts factory has 400 workers. Pumps are sold in "
        "nine countries.\n"
    ),
    "news.md": (
        "# Deals of the week\n\nGamma Foods bought a bakery. Its chairman, Ingrid Solberg, called "
        "it a step north. Acme Industries was a guest at the fair.\n"
    ),
    "sites.md": "# Sites\n\n"
    + table("Company | Director | Town", ["Delta Glass | Paolo Ricci | Vaasa"]),
    "letter.txt": (
        "Report to shareholders\n\nLetter of the chief executive\n\nThe year was hard for all of "
        "us.\nNet sales sank by 4 percent.\n\nManagement\n\nThe chief executive is Henrik Aalto.\n"
    ),
    "lumora-annual-2022.txt": (
        "Lumora Oy - Annual Report 2022 Letter of the managing director Net sales were EUR 97 "
        "million in 2022. The managing director is Mirela Popa.\n"
    ),
    "青松.txt": "青松机械在宁波生产水泵。\n\n公司有四百名员工，产品销往九个国家。\n",
    "白鹭.txt": (
        "白鹭航运经营宁波至上海的航线。\n\n公司的董事长是何俊杰，2019年由董事会选举产生。"
        "财务总监为吴倩。\n"
    ),
    "致辞.txt": (
        "致股东的报告\n\n总经理致辞\n\n过去一年对大家都不容易。\n\n"
        "管理层\n\n公司总经理由贺东明担任。\n"
    ),
    "visitors.md": "# Visitors of the museum\n\n"
    + table(
        "Year | Month | Visitors",
        [f"{y} | {m} | {y * 2 + m * 7}" for y in (2023, 2024) for m in range(1, 13)],
    ),
    "steel.md": "# Steel output of the mill\n\n"
    + table("Month | Tons of steel", [f"2024/{m} | {300 + m}" for m in range(1, 13)]),
    "rain.md": "# Rain in Bergen\n\n"
    + table("Month | Rain (mm)", [f"{MONTHS[m - 1]} | {100 + m}" for m in range(1, 13)]),
    "水泥.md": "# 水泥产量\n\n"
    + table("月份 | 水泥产量（吨）", [f"{m}月 | {500 + m}" for m in range(1, 13)]),
    "发货.md": "# 发货记录\n\n"
    + table(
        "发货日期 | 客户 | 箱数",
        [f"2024-{m:02}-{d:02} | 苍鹭贸易 | {m * 10 + d}" for m, d in DATES],
    ),
    "paper.md": "# Deliveries of paper\n\n"
    + table(
        "Date | Customer | Boxes",
        [f"{d} {MONTHS[m - 1][:3]} 2024 | Heron Ltd | {m * 10 + d}" for m, d in DATES],
    ),
    "周报2024-11-04.md": "# 生产周报 2024-11-04\n\n- 本周产量为12,480件，合格率98.6%。\n",
    "周报2024-11-11.md": "# 生产周报 2024-11-11\n\n- 本周产量为13,105件，合格率99.1%。\n",
}


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> Snapshot:
    return make_snapshot(tmp_path_factory.mktemp("texts"), more=TEXTS)


def answered(snapshot: Snapshot, asked: str) -> Answer:
    return answer_question(snapshot, Ask.plain(asked), "local")


def quoted(answer: Answer) -> list[str]:
    """The quoted lines of an answer, without their citation marks."""
    lines = answer.text.splitlines()
    return [line[2:].rpartition(" [")[0] for line in lines if line.startswith("- ")]


@pytest.mark.parametrize(
    ("asked", "first", "heading"),
    [
        ("Who is the chief executive?", "The chief executive is Henrik Aalto.", "Letter of"),
        (
            "Who was the managing director of Lumora in 2022?",
            "The managing director is Mirela Popa.",
            "Letter of",
        ),
        ("总经理是谁？", "公司总经理由贺东明担任。", "总经理致辞"),
    ],
)
def test_a_sentence_is_quoted_and_not_the_heading_with_its_words(texts, asked, first, heading):
    found = quoted(answered(texts, asked))
    assert found[0] == first
    assert not any(line.startswith(heading) for line in found)


def test_headings_of_plain_text_are_what_stands_above_its_sentences():
    rows = "| Item | Loss |\n|---|---|\n| Fire | 7 |"
    row, last = sentences_of(f"Risks in 2024\n\n{rows}\n\nOther\n\nNothing.")
    assert (row.text, row.heading) == ("| Fire | 7 |", "\nRisks in 2024")
    assert (last.text, last.heading) == ("Nothing.", "\nOther")
    (row,) = sentences_of(f"# 风险\n\n单位：万元\n\n{rows}")
    assert row.heading == "风险\n单位：万元"


@pytest.mark.parametrize(
    "text",
    [
        "Flour 200 g\nSugar 100 g\nMix both well.",
        "The plant in Turku\nand the one in Gdansk closed.",
        "Project lead: Nadia Ferreira\nShe started in May.",
        "Ada Lin is the lead\nShe started in May.",
        "- Red lamp\n- Green lamp\nLamps are tested.",
        "公司位于宁波\n员工四百人。",
        "Sugar\nFlour\nEggs\nMilk",
        "The lamp of the\nRed Hall\nis lit.",
    ],
)
def test_lines_that_say_something_are_no_headings(text):
    lines = text.split("\n")
    assert not any(is_headline(lines, at) for at in range(len(lines)))


def test_many_short_lines_are_looked_at_in_bounded_time():
    lines = ["Red Hall"] * 5000
    assert not is_headline(lines, 2500)


@pytest.mark.parametrize(
    ("asked", "lines"),
    [
        ("Who is the chairman of Acme Industries?", ["Bo Lindqvist", "Ingrid"]),
        ("Who is the chief financial officer of Acme Industries?", ["Carla Weiss"]),
        ("Who is the director of Acme Industries?", ["Paolo Ricci"]),
        ("青松机械的董事长是谁？", ["何俊杰"]),
        ("青松机械的财务总监是谁？", ["吴倩"]),
    ],
)
def test_nobody_of_another_company_is_quoted(texts, asked, lines):
    answer = answered(texts, asked)
    assert not any(name in line for name in lines for line in quoted(answer))
    assert any("may not answer it" in warning for warning in answer.warnings)


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("Who is the chairman of Beta Holdings?", "Bo Lindqvist"),
        ("Who is the chairman of Gamma Foods?", "Ingrid Solberg"),
        ("Who is the director of Delta Glass?", "Paolo Ricci"),
        ("白鹭航运的董事长是谁？", "何俊杰"),
        ("谁是白鹭航运的财务总监？", "吴倩"),
        ("青松机械有多少员工？", "四百名员工"),
    ],
)
def test_what_is_told_of_the_company_itself_is_quoted(texts, asked, told):
    answer = answered(texts, asked)
    assert told in "\n".join(quoted(answer))
    assert not answer.warnings


@pytest.mark.parametrize(
    ("asked", "name"),
    [
        ("Who is the CEO of Beta Holdings in 2022?", "Beta Holdings"),
        ("Who founded the company that bought the ferries of Beta Holdings?", None),
        ("Is Acme Industries or Beta Holdings older?", None),
        ("青松机械的财务总监是谁？", "青松机械"),
        ("给青松机械供应电机的那家工厂，其创办人的父亲叫什么名字？", None),
    ],
)
def test_only_short_questions_lead_straight_to_a_name(texts, asked, name):
    found = direct_name(texts, asked)
    assert (found.text if found else None) == name


def test_names_that_a_sentence_introduces():
    assert introduced_names("It was sold to Bo Lindqvist in May.", ()) == {"lindqvist"}
    assert introduced_names("它由何俊杰创办。", ()) == {"俊杰"}


@pytest.mark.parametrize(
    ("asked", "rows"),
    [
        ("How many visitors did the museum have in November 2024?",
         ["Year: 2024; Month: 11; Visitors: 4125"]),
        ("How many visitors were there in Nov 2023?", ["Year: 2023; Month: 11; Visitors: 4123"]),
        ("How many tons of steel did the mill make in September 2024?",
         ["Month: 2024/9; Tons of steel: 309"]),
        ("How many tons of steel were made in 2024-11?", ["Month: 2024/11; Tons of steel: 311"]),
        ("How much rain fell in Bergen in November?", ["Month: November; Rain (mm): 111"]),
        ("11月的水泥产量是多少？", ["月份: 11月; 水泥产量（吨）: 511"]),
        ("2024年11月给苍鹭贸易发了多少箱？",
         [f"发货日期: 2024-11-{d:02}; 客户: 苍鹭贸易; 箱数: {110 + d}" for d in (5, 6, 11)]),
        ("2024年11月5日给苍鹭贸易发了多少箱？",
         ["发货日期: 2024-11-05; 客户: 苍鹭贸易; 箱数: 115"]),
        ("How many boxes were delivered to Heron Ltd on 6 November 2024?",
         ["Date: 6 Nov 2024; Customer: Heron Ltd; Boxes: 116"]),
        ("How many boxes were delivered to Heron Ltd on Dec 11, 2024?",
         ["Date: 11 Dec 2024; Customer: Heron Ltd; Boxes: 131"]),
        ("2024年11月4日那一周的合格率是多少？", ["本周产量为12,480件，合格率98.6%。"]),
        ("2024年11月11日那一周的合格率是多少？", ["本周产量为13,105件，合格率99.1%。"]),
    ],
)  # fmt: skip
def test_rows_and_reports_of_the_month_or_day_asked_for_are_quoted(texts, asked, rows):
    assert quoted(answered(texts, asked)) == rows
