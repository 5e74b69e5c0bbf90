"""The row of a table that is highest or lowest in what a question names: 哪个月用电量最高？

Of a long table only some rows are found by their words, so the whole of it is compared.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from graphkb.query.candidates import Candidate, Quote, all_candidates, stems_of
from graphkb.query.extractive import share_held, wanted_stems
from graphkb.query.of_period import told_by
from graphkb.query.sentences import Sentence, table_cells
from graphkb.search.snapshot import Snapshot, passage_of
from graphkb.text.periods import is_of_periods, named_periods, periods
from graphkb.text.table_rows import is_number
from graphkb.types import Context, Passage

# Characters of a document's text that are looked through for the rest of a table.
_MOST = 200_000
_HIGH = r"highest|(?<!at )most|largest|biggest|greatest|maximum|peak(?:ed)?|strongest|busiest|best"
_LOW = r"lowest|(?<!at )least|smallest|fewest|minimum|weakest|worst"
_ENGLISH = (
    re.compile(
        rf"\b(?:which|what|when)\b(?: \w+){{0,3}}? (?P<kind>month|quarter|year)s?\b"
        rf".*?\b(?:(?P<high>{_HIGH})|(?:{_LOW}))\b",
        re.IGNORECASE,
    ),
    re.compile(
        rf"\b(?:(?P<high>{_HIGH})|(?:{_LOW}))(?: (?!per\b|each\b)\w+)? (?P<kind>month|quarter)s?\b",
        re.IGNORECASE,
    ),
)
_WHICH = "(?:哪[一]?个?|什么|几)"
_CHINESE = (
    re.compile(f"{_WHICH}(?P<kind>月|季度|年).*?最(?:(?P<high>[高多大好])|[低少小差])"),
    re.compile(
        "最(?:(?P<high>[高多大好])|[低少小差])的?(?:月份?|季度|年份?)?"
        f"(?:是|为|出现在|发生在)?在?{_WHICH}(?P<kind>月|季度|年)"
    ),
    re.compile("最(?:(?P<high>[高多大好])|[低少小差])的(?P<kind>月|季度|年)份?"),
)
_HIGHEST = re.compile(rf"\b(?:{_HIGH})\b|最[高多大好]", re.IGNORECASE)
_LOWEST = re.compile(rf"\b(?:{_LOW})\b|最[低少小差]", re.IGNORECASE)
_EXTREME = re.compile(rf"\b(?:{_HIGH}|{_LOW})\b|最[高多大好低少小差]", re.IGNORECASE)
# What of the other words of the question the rows of a table and what stands above them must hold.
_LEAST_HELD = 0.5
# The second, the first three: not the one row.
_SEVERAL = re.compile(
    r"\b(?:second|third|fourth|2nd|3rd|top|next)\b|第[二三四五]|前[二三四五两\d]|倒数",
    re.IGNORECASE,
)
_KINDS = {"month": "M", "quarter": "Q", "year": "Y", "月": "M", "季度": "Q", "年": "Y"}
# A number whose separators can mean one thing only.
_VALUE = re.compile(
    r"[-+(]*\s*[$¥￥€£]?\s*(?P<number>(?:\d{1,3}(?:[,\s]\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?)"
    r"\s*[%％]?\s*\)?"
)
# Longer questions ask for more than one row.
_LONGEST = 400

_UNTOLD = {
    "en": "Which column is meant cannot be told from the question: {names}.",
    "zh": "从问题看不出指的是哪一列：{names}。",
}
_JOINED = {"en": ", ", "zh": "、"}


@dataclass(frozen=True)
class _Table:
    """The rows of a table that are of the asked periods, and the places of its columns of numbers
    that the question may mean."""

    rows: tuple[Quote, ...]
    columns: tuple[int, ...]


def extreme_rows(snapshot: Snapshot, question: str, passages: Sequence[Passage]) -> list[Quote]:
    """The row that is highest or lowest in the column that the question names, with those that
    are so, too; none where the question asks for no such row or none can be told."""
    asked, table = _asked(question), _table(snapshot, question, passages)
    if asked is None or table is None or len(table.columns) != 1:
        return []
    [column] = table.columns
    numbers = [row for row in table.rows if is_number(table_cells(row.text)[column])]
    values = [(_value(row, column), row) for row in numbers]
    known = [(value, row) for value, row in values if value is not None]
    if len(known) < len(values) or not known:
        return []
    best = (max if asked.highest else min)(value for value, _ in known)
    return [row for value, row in known if value == best]


def unclear_column(snapshot: Snapshot, question: str, context: Context, language: str) -> str:
    """A sentence that says that the question names no one column of the table whose highest or
    lowest row it asks for; empty where it does, or asks for none."""
    table = None if context.foreign else _table(snapshot, question, context.passages)
    if table is None or len(table.columns) == 1:
        return ""
    names = _JOINED[language].join(table.rows[0].header[place] for place in table.columns)
    return _UNTOLD[language].format(names=names)


@dataclass(frozen=True)
class _Asked:
    kind: str
    highest: bool


def _asked(question: str) -> _Asked | None:
    """
    >>> _asked("Which month had the most visitors?"), _asked("电费最低的是哪个月？")
    (_Asked(kind='M', highest=True), _Asked(kind='M', highest=False))
    """
    if len(question) > _LONGEST or _SEVERAL.search(question):
        return None
    if _HIGHEST.search(question) and _LOWEST.search(question):
        return None  # two rows are asked for
    for pattern in (*_ENGLISH, *_CHINESE):
        if found := pattern.search(question):
            return _Asked(_KINDS[found["kind"].lower()], found["high"] is not None)
    return None


def _table(snapshot: Snapshot, question: str, passages: Sequence[Passage]) -> _Table | None:
    """The table of the best row of the asked kind of period; None where there is none."""
    asked = _asked(question)
    if asked is None:
        return None
    found, _ = all_candidates(snapshot, question, passages)
    rows = [one for one in found if not one.other and _is_of(one.quote, asked.kind)]
    if not rows:
        return None
    extreme = stems_of(" ".join(_EXTREME.findall(question)), snapshot.dictionary)
    idf = {
        word: weight
        for word, weight in wanted_stems(snapshot, question).items()
        if not is_of_periods(word) and word not in extreme
    }

    def held(one: Candidate) -> float:
        return one.about * share_held(idf, one.own | one.context)

    best = max(rows, key=lambda row: row.prior * held(row))
    rivals = (one for one in found if not one.quote.header and _EXTREME.search(one.quote.text))
    # What is said in words is more than what has to be compared.
    if held(best) < _LEAST_HELD or any(held(one) >= held(best) for one in rivals):
        return None
    whole = _whole(snapshot, question, best.quote)
    table = tuple(row for row in whole if _is_of(row, asked.kind))
    if len(table) < 2:
        return None
    columns = list(_number_columns(table, asked.kind))
    names = {
        place: stems_of(table[0].header[place], snapshot.dictionary) & idf.keys()
        for place in columns
    }
    share = {place: sum(idf[word] for word in names[place]) for place in columns}
    top = max(share.values(), default=0.0)
    meant = [place for place in columns if share[place] == top]
    return _Table(table, tuple(meant)) if meant else None


def _whole(snapshot: Snapshot, question: str, row: Quote) -> Iterator[Quote]:
    """All rows of a row's table that are not of another period than the question names."""
    passage = row.passage
    texts = snapshot.store.where("documents", "id", [passage.document_id], ("text",))["text"]
    text = texts[0] if len(texts) else ""
    if not text or len(text) > _MOST:
        return
    start, end = _span(text, row.start)
    units = _units(snapshot, passage.document_id, row.score)
    # The lines right above tell the year of the table.
    above = max(0, text.rfind("\n", 0, max(start - 200, 0)))
    wider = replace(passage, text=text[above:end], char_start=above, char_end=end, columns=())
    found, _ = all_candidates(snapshot, question, [wider])
    for one in found:
        same = one.quote.start >= start and len(one.quote.header) == len(row.header)
        if same and not one.other and (unit := _unit_of(units, one.quote.start)):
            yield replace(one.quote, passage=unit)


def _units(snapshot: Snapshot, document_id: str, score: float) -> list[Passage]:
    """The text units of a document that a filter lets through."""
    ids = snapshot.store.where("text_units", "document_id", [document_id], ("id",))["id"].to_list()
    if snapshot.selection is not None:
        ids = [one for one in ids if one in snapshot.selection.unit_ids]
    return [passage_of(row, score) for row in snapshot.units(ids)]


def _unit_of(units: Sequence[Passage], start: int) -> Passage | None:
    """The text unit that a row stands in."""
    return next((unit for unit in units if unit.char_start <= start < unit.char_end), None)


def _span(text: str, at: int) -> tuple[int, int]:
    """Where the lines begin and end that are one table with the line at ``at``."""
    start = text.rfind("\n", 0, at) + 1
    while start:
        before = text.rfind("\n", 0, start - 1) + 1
        if not table_cells(text[before : start - 1]):
            break
        start = before
    end = at
    while end < len(text):
        stop = text.find("\n", end)
        stop = len(text) if stop < 0 else stop
        if not table_cells(text[end:stop]):
            break
        end = stop + 1
    return start, min(end, len(text))


def _is_of(row: Quote, kind: str) -> bool:
    """Whether a row is of one month, quarter or year."""
    if not row.header or len(table_cells(row.text)) != len(row.header):
        return False
    told = told_by(Sentence(0, len(row.text), row.text, "", row.header))
    if kind == "Y":
        return len(periods(told).years) == 1 and not named_periods(told).parts - {"Y"}
    return len([part for part in named_periods(told).parts if part.startswith(kind)]) == 1


def _number_columns(rows: Sequence[Quote], kind: str) -> Iterator[int]:
    """The columns of numbers, without that of the periods."""
    for place, name in enumerate(rows[0].header):
        cells = [table_cells(row.text)[place] for row in rows]
        filled = [cell for cell in cells if cell]
        numbers = [cell for cell in filled if is_number(cell)]
        told = [_is_of(replace(row, text=f"| {c} |", header=(name,)), kind)
                for row, c in zip(rows, cells, strict=True)]  # fmt: skip
        if name and 2 * len(numbers) > len(filled) and not all(told):
            yield place


def _value(row: Quote, column: int) -> float | None:
    """
    >>> from graphkb.types import Passage
    >>> p = Passage("text_unit", "", 1.0, "u", "d", "", "", "", None, 0, 0)
    >>> def value(cell): return _value(Quote(p, 0, 0, f"| May | {cell} |", 0.0), 1)
    >>> list(map(value, ("1,250", "(3)", "—", "4.5%", "−1e5", "￥1 000.5", "1.250,5", "1.2.3")))
    [1250.0, -3.0, None, 4.5, -100000.0, 1000.5, None, None]
    """
    cell = table_cells(row.text)[column].strip().replace("−", "-")
    found = _VALUE.fullmatch(cell)
    if found is None or not is_number(cell):
        return None
    value = float(re.sub(r"[,\s]", "", found["number"]))
    return -value if cell.startswith(("(", "-")) else value
