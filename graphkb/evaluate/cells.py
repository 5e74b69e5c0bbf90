"""Questions for the cells of Markdown tables, by their row's first cell and their column's name."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from graphkb.query.sentences import table_cells
from graphkb.text.language import HAN, has_han

_PLAIN_CELL = re.compile(r"[\s\d.,:;%€$£¥+\-–—/()]*")
# What tells nothing: a tick, a formula, that there is no value.
_TICK = re.compile(
    r"yes|no|none|n/a|true|false|not applicable|tb[ad]|unknown|ditto|[是否有无√×✓✗\-–—]+|=.*"
    r"|不适用|暂无|未知|待定|同上|见.*",
    re.IGNORECASE,
)
_REMARKS = re.compile(r"备注|说明|序号|remarks?|notes?|comments?|no\.?|#", re.IGNORECASE)
# Words torn apart by a page's layout, and columns named by a year.
_TORN, _YEAR = re.compile(rf"[{HAN}] +[{HAN}]"), re.compile(r"\d{4}")
_MARKUP = re.compile(r"[`*]+")
_LONGEST_CELL, _LONGEST_KEY = 60, 40
# A first cell so short says little without its column's name: A, 甲.
_SHORT_KEY, _LONGEST_KIND = 2, 20

# Rows that hold one field of the columns, not one thing each.
_FIELD = re.compile("姓名|电话|联系电话|传真|地址|办公地址|联系地址|电子信箱|邮箱|邮编|职务")
_PERSON_COLUMN = re.compile(
    r"(?:负责人|联系人|责任人|经理|主管|经办人|审批人|创始人|姓名|作者|讲师)$"
)
_TIME_COLUMN = re.compile(r"(?:时间|日期|\bdate|\bdeadline)$", re.IGNORECASE)
_DATE_CELL = re.compile(r"\d{4}\s*(?:年|[-/.]\d).*")
_AMOUNT_CELL = re.compile(
    r"[-+¥￥$€]?\s*\d[\d,. ]*\s*"
    r"(?:[%％万亿]|[A-Za-z]|[^A-Za-z%％万亿]?[元人个家次天年月吨台套张分秒]){0,12}+"
)
_TOTAL = re.compile("合计|总计|小计|共计")
_EDITION = re.compile(rf"[{HAN}A-Za-z]{{1,8}}(?:版|型|款|套餐)")

_MONTH = "(?:Jan|Feb|Mar|Apr|May|June?|July?|Aug|Sept?|Oct|Nov|Dec)[a-z]*"
_PERIOD = re.compile(
    rf"{_MONTH}\.?(?:[ -]?'?\d{{2}}(?:\d\d)?)?|Q[1-4](?:[ -]?\d{{4}})?|H[12][ -]?\d{{4}}"
    r"|FY ?\d{2,4}",
    re.IGNORECASE,
)
_ROLE = re.compile(
    r"\b(?:landlord|foreman|manager|owner|lead|leader|head|director|contact|chair(?:man|woman)?|"
    r"author|supervisor|engineer|operator|teacher|trainer|editor|reviewer|approver)$",
    re.IGNORECASE,
)
_PERSON = re.compile(r"[A-Z][\w.'’-]*(?: [A-Z][\w.'’-]*){1,3}")
# Headers in capitals that are no names: Retail Units, Planned Date.
_MEASURE = re.compile(
    r"(?:units?|prices?|dates?|costs?|amounts?|totals?|revenues?|sales|rates?|numbers?|values?|"
    r"quantit(?:y|ies)|counts?|shares?|budgets?|hours?|days?|fees?|levels?|weights?|sizes?|types?|"
    r"status|address|time|income|profits?|margins?|volumes?|outputs?|stock)(?: \([^)]*\))?$",
    re.IGNORECASE,
)
_HEAD = re.compile(r"(.+?)(?: (?:of|per|in|for|to|on|at|by|kept|with)\b.*| ?\(.*)?$")
_SINGULAR = re.compile(r"(?:ss|us|is|gas|series|news|lens)$")
_CURRENCY = re.compile(r"(?<=[a-z]) (?=[A-Z]{3}$)")


@dataclass(frozen=True)
class CellQuestion:
    """A question for one cell, in ``en`` or ``zh``."""

    query: str
    answer: str
    language: str


def cell_questions(text: str) -> Iterator[CellQuestion]:
    """A question for each cell of the tables in a text; also where the answer is too short to be
    worth asking for, as it shows that another row's is not the only one.

    >>> rows = "| 套餐 | 月费 |\\n| --- | --- |\\n| 专业版 | 49元 |"
    >>> [(made.query, made.answer) for made in cell_questions(rows)]
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
            yield from _of_row(header, cells)


def _of_row(header: Sequence[str], cells: Sequence[str]) -> Iterator[CellQuestion]:
    key = cells[0]
    if _PLAIN_CELL.fullmatch(key) or len(key) > _LONGEST_KEY:
        return
    if _TORN.search(key) or _YEAR.match(key):
        return
    turned = _is_turned(key, header[1:])
    for column, value in zip(header[1:], cells[1:], strict=True):
        if _is_asked(column, value):
            ask = _chinese if has_han(column) or has_han(key) else _english
            yield ask(header[0], key, column, value, turned)


def _is_turned(key: str, columns: Sequence[str]) -> bool:
    """Whether columns are things and rows what is said of them: | | Petrel Core | Petrel Plus |"""
    if len(columns) < 2:
        return False
    if has_han(key):
        return all(map(_EDITION.fullmatch, columns)) and not _EDITION.fullmatch(key)
    names = (len(column.split()) > 1 and column.istitle() for column in columns)
    one_word = {column.split()[0] for column in columns if column.split()}
    return len(one_word) == 1 and all(names) and not any(map(_MEASURE.search, columns))


def _is_asked(column: str, value: str) -> bool:
    plain = _PLAIN_CELL.fullmatch(column) or _TORN.search(column) or _YEAR.search(column)
    if plain or len(column) > _LONGEST_KEY or _REMARKS.fullmatch(column):
        return False
    if not any(map(str.isalnum, value)) or _TORN.search(value) or _TICK.fullmatch(value):
        return False
    timeless = _TIME_COLUMN.search(column) and not any(map(str.isdigit, value))
    return len(value) <= _LONGEST_CELL and not timeless


def _chinese(kind: str, key: str, column: str, value: str, turned: bool) -> CellQuestion:
    if _FIELD.fullmatch(key) or turned:
        key, column = column, key
    elif len(key) < _SHORT_KEY and has_han(kind) and len(kind) <= _LONGEST_KIND // 3:
        key = f"{kind}{key}"
    if column == "姓名":
        return CellQuestion(f"{key}是谁？", value, "zh")
    if _PERSON_COLUMN.search(column):
        word = "谁"
    elif _DATE_CELL.fullmatch(value):
        word = "什么时候"
    else:
        word = "多少" if _AMOUNT_CELL.fullmatch(value) else "什么"
    if _TOTAL.fullmatch(key):
        return CellQuestion(f"{column}{key}是{word}？", value, "zh")
    return CellQuestion(f"{key}的{column}是{word}？", value, "zh")


def _english(kind: str, key: str, column: str, value: str, turned: bool) -> CellQuestion:
    of = "of"
    if turned:
        key, column, of = column, key, "for"
    elif _PERIOD.fullmatch(key):
        of = "in"
    elif len(key) <= _SHORT_KEY and kind.isalpha() and len(kind) <= _LONGEST_KIND:
        key = f"{kind.lower()} {key}"
    if column.lower() == "name":
        who = f"the {key[:1].lower()}{key[1:]}" if " " in key else key
        return CellQuestion(f"Who is {who}?", value, "en")
    thing = _CURRENCY.sub(" in ", _lowered(column))
    if _ROLE.search(thing) and _PERSON.fullmatch(value):
        return CellQuestion(f"Who is the {thing} {of} {key}?", value, "en")
    head = _HEAD.match(thing)
    last = head.group(1) if head else thing
    several = last.endswith("s") and last.islower() and not _SINGULAR.search(last)
    return CellQuestion(f"What {'are' if several else 'is'} the {thing} {of} {key}?", value, "en")


def _lowered(column: str) -> str:
    """A column's name within a sentence.

    >>> [_lowered(name) for name in ("Unit price (EUR)", "Retail Units", "Petrel Core", "SKU")]
    ['unit price (EUR)', 'retail units', 'Petrel Core', 'SKU']
    """
    words = column.split()
    if words and all(re.match("[A-Z][a-z]", word) for word in words) and _MEASURE.search(column):
        return column.lower()
    first, *others = words or [column]
    is_plain = first[1:].islower() and not any(re.match("[A-Z][a-z]", word) for word in others)
    return column[:1].lower() + column[1:] if is_plain else column
