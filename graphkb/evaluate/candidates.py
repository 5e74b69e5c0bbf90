"""Questions that the documents answer, by patterns: sentences, table cells, headings, chains."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphkb.evaluate import facts_en, facts_zh
from graphkb.evaluate.facts import Fact
from graphkb.query.sentences import table_cells
from graphkb.text.headings import HEADING_MARKS
from graphkb.text.language import HAN, has_han, question_language
from graphkb.text.names import name_key
from graphkb.text.sentences import sentence_spans

TABLE = "table"
"""The type of questions for the cell of a table."""


@dataclass(frozen=True)
class Candidate:
    """A question with its answer and the text units that hold it, in the order of the chain.

    ``links`` are the questions it was put together from, with their answers: each must be as
    unambiguous as the whole.
    """

    query: str
    answer: str
    type: str
    language: str
    text_unit_ids: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()

    @property
    def hops(self) -> int:
        """Text units that must be read together."""
        return len(set(self.text_unit_ids))


def of_fact(fact: Fact) -> Candidate:
    """The question of one sentence."""
    unit = fact.sentence.text_unit_id
    return Candidate(fact.query, fact.answer, fact.type, fact.language, (unit,))


_PLAIN_CELL = re.compile(r"[\s\d.,:;%€$£¥+\-–—/()]*")
_TICK = re.compile(r"yes|no|none|n/a|true|false|[是否有无√×✓✗\-–—]+", re.IGNORECASE)
# Words torn apart by a page's layout, and columns named by a year.
_TORN, _YEAR = re.compile(rf"[{HAN}] +[{HAN}]"), re.compile(r"\d{4}")
_MARKUP = re.compile(r"[`*]+")
_LONGEST_CELL, _LONGEST_KEY = 60, 40
# Rows that hold one field of the columns, not one thing each.
_FIELD = re.compile("姓名|电话|联系电话|传真|地址|办公地址|联系地址|电子信箱|邮箱|邮编|职务")
_PERSON_COLUMN = re.compile(
    r"(?:负责人|联系人|责任人|经理|主管|经办人|审批人|创始人|姓名|作者|讲师)$"
)
_DATE_CELL = re.compile(r"\d{4}\s*(?:年|[-/.]\d).*")
_AMOUNT_CELL = re.compile(
    r"[-+¥￥$€]?\s*\d[\d,. ]*\s*(?:[%％万亿]|[A-Za-z]{1,4}|.?[元人个家次天年月吨台套张分秒])*"
)


def table_questions(text: str, text_unit_id: str) -> Iterator[Candidate]:
    """A question for each cell of the Markdown tables in a text unit, by its row's first cell.

    >>> rows = "| 套餐 | 月费 |\\n| --- | --- |\\n| 专业版 | 49元 |"
    >>> [(c.query, c.answer) for c in table_questions(rows, "u")]
    [('专业版的月费是多少？', '49元')]
    """
    header: tuple[str, ...] = ()
    for line in text.splitlines():
        cells = tuple(_MARKUP.sub("", cell).strip() for cell in table_cells(line))
        if not cells:
            header = ()
        elif not header:
            header = cells
        elif len(cells) == len(header) and not set(line) <= set("|-: "):
            key = cells[0]
            if _PLAIN_CELL.fullmatch(key) or len(key) > _LONGEST_KEY:
                continue
            if _TORN.search(key) or _YEAR.match(key):
                continue
            for name, value in zip(header[1:], cells[1:], strict=True):
                if _says_something(name, value):
                    query, language = _cell_question(key, name, value)
                    yield Candidate(query, value, TABLE, language, (text_unit_id,))


def _says_something(column: str, value: str) -> bool:
    plain = _PLAIN_CELL.fullmatch(column) or _TORN.search(column) or _YEAR.search(column)
    named = bool(column) and not plain and len(column) <= _LONGEST_KEY
    named = named and any(map(str.isalnum, value)) and not _TORN.search(value)
    return named and 1 < len(value) <= _LONGEST_CELL and not _TICK.fullmatch(value)


def _cell_question(key: str, column: str, value: str) -> tuple[str, str]:
    if _FIELD.fullmatch(key):
        key, column = column, key
    if has_han(column) or has_han(key):
        if column == "姓名":
            return f"{key}是谁？", "zh"
        if _PERSON_COLUMN.search(column):
            word = "谁"
        elif _DATE_CELL.fullmatch(value):
            word = "什么时候"
        else:
            word = "多少" if _AMOUNT_CELL.fullmatch(value) else "什么"
        return f"{key}的{column}是{word}？", "zh"
    if column.lower() == "name":
        return f"Who is the {key[:1].lower()}{key[1:]}?" if " " in key else f"Who is {key}?", "en"
    first, *others = column.split()
    # "Unit price (EUR)", but "Petrel Core" and "SKU".
    is_plain = first[1:].islower() and not any(re.match("[A-Z][a-z]", word) for word in others)
    plain = column[:1].lower() + column[1:] if is_plain else column
    return f"What is the {plain} of {key}?", "en"


_ASKING = re.compile(r"(?:how to|如何|怎样|怎么|为什么|为何) ?\S.{3,}", re.IGNORECASE)
_HEADING = re.compile(HEADING_MARKS + r"(?:\d+(?:\.\d+)*[.、]?\s+)?(.*?)\s*#*$")


def heading_questions(text: str, text_unit_id: str) -> Iterator[Candidate]:
    """Headings that ask something, answered by the first sentence under them.

    >>> found = heading_questions("## 如何导出凭证\\n\\n点击导出按钮。再选格式。", "u")
    >>> [(c.query, c.answer) for c in found]
    [('如何导出凭证？', '点击导出按钮。')]
    """
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        heading = _HEADING.match(line.strip())
        if heading is None:
            continue
        asked = heading.group(1).strip("*")
        if not asked.endswith(("?", "？")) and not _ASKING.fullmatch(asked):
            continue
        below = "".join(lines[place + 1 :])
        spans = sentence_spans(below)
        answer = below[slice(*spans[0])].strip("-* \n") if spans else ""
        if len(answer) > 5 and not answer.startswith(("#", "|")):
            mark = "？" if has_han(asked) else "?"
            query = asked.rstrip("?？") + mark
            yield Candidate(query, answer, "heading", question_language(query), (text_unit_id,))


_DESCRIPTION = {"en": 90, "zh": 22}
"""Longest predicates that describe a name, in characters."""


def chained(facts: Sequence[Fact]) -> Iterator[Candidate]:
    """Two facts as one question: the name that one asks about is described by the other.

    “Where was Ada Lin born?” and “Ada Lin leads the Osprey project” give “Where was the person
    who leads the Osprey project born?”, with both text units to be read.
    """
    describing: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if (
            fact.predicate
            and fact.subject is not None
            and len(fact.predicate) <= _DESCRIPTION[fact.language]
        ):
            describing[fact.subject.entity].append(fact)
    for asked in facts:
        for name in _named(asked):
            for fact in describing.get(name[0], ()):
                joined = _joined(asked, name[1], fact)
                if joined is not None:
                    yield joined


def _named(fact: Fact) -> list[tuple[str, str]]:
    """Entity and surface of the names that stand in the question."""
    inside = [(n.entity, n.surface) for n in fact.sentence.names if n.surface in fact.query]
    return list(dict.fromkeys(inside))


def _joined(asked: Fact, surface: str, fact: Fact) -> Candidate | None:
    units = (fact.sentence.text_unit_id, asked.sentence.text_unit_id)
    subject = fact.subject
    repeats = asked.answer in fact.predicate or fact.answer == asked.answer
    if subject is None or units[0] == units[1] or asked.language != fact.language or repeats:
        return None
    if asked.query.count(surface) != 1 or surface in fact.predicate:
        return None
    if asked.language == "zh":
        if not asked.query.startswith(surface) and f"{surface}的" not in asked.query:
            return None
        description = facts_zh.described(subject, fact.predicate)
    else:
        description = facts_en.described(subject, fact.predicate)
        surface = f"the {surface}" if f"the {surface}" in asked.query else surface
    return Candidate(
        query=asked.query.replace(surface, description),
        answer=asked.answer,
        type=f"{asked.type}, chained",
        language=asked.language,
        text_unit_ids=units,
        links=((fact.query, fact.answer), (asked.query, asked.answer)),
    )


def without_rivals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates whose question is asked once, or always with the same answer; the first of each,
    in order."""
    answers: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        key = name_key(candidate.query)
        answers[key].add(name_key(candidate.answer))
        first.setdefault(key, candidate)
    return [candidate for key, candidate in first.items() if len(answers[key]) == 1]
