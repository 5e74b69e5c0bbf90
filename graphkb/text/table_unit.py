"""What the figures of a table are counted in, where a line above it says so: 单位：万元."""

from __future__ import annotations

import re

from graphkb.text.language import HAN
from graphkb.text.table_rows import row_cells

# Lines between a table and what it counts in: its title, its number, its heading.
_MOST_ABOVE, _LONGEST = 3, 160
# Cells of a row that says it.
_MOST_BESIDE = 3
_ENDS = tuple(".。!！?？;；")
_MARKS = re.compile(r"^(?:#{1,6}|[-*+•>])\s+|[*_`]{1,3}")
_BRACKETED = re.compile(r"[(（\[【]([^()（）\[\]【】]{1,80})[)）\]】]")

_LABEL = re.compile(
    r"(?:(?:金额|计量|货币|数据|记账本位币)?单位|币种)\s*[:：为]\s*\S.*"
    r"|(?:units?|currency|unit of measure(?:ment)?)\s*[:：]\s*\S.*",
    re.IGNORECASE,
)
_LABEL_INSIDE = re.compile(
    rf"(?<![{HAN}])(?:金额|计量|货币|数据|表中)?(?:单位|币种)(?:均?为|\s*[:：])\s*[^\s,，。;；()（）]+"
    r"(?:\s+币种\s*[:：]\s*[^\s,，。;；()（）]+)?"
    r"|以[^,，。;；()（）]{1,12}(?:元|吨|人|美元|欧元|港元|日元|英镑)(?:列示|计算?|为单位)"
)
_HAN_UNIT = re.compile(
    r"(?:(?:以|按)?(?:人民币|美元|港币|欧元)?[十百千万亿]{0,2}"
    r"(?:元|美元|欧元|港元|港币|日元|英镑|吨|公斤|千克|人|人次|户|个|件|台|套|辆|平方米|公顷|亩|度|千瓦时|立方米|米|公里|%|％)"
    r"(?:人民币)?)(?:/[^\s()（）]{1,4})?(?:计)?"
)
_AMOUNTS = (
    r"(?:(?:all|the|these|table)\s+)*(?:amounts?|figures?|values?|numbers?|data|sums?|dollars?)"
    r"(?:\s+(?:below|above|in (?:this|the) table))?"
)
_SAID = re.compile(
    rf"{_AMOUNTS}\s+(?:(?:are|is|shown|stated|expressed|given|reported|presented)\s+)*in\s+[^.。]+",
    re.IGNORECASE,
)
_MAGNITUDE = r"(?:thousands?|millions?|billions?|trillions?|crores?|lakhs?|hundreds?)"
_IN = re.compile(
    rf"\bin (?:{_MAGNITUDE}\b(?: of [A-Za-z.$€£¥ ]{{2,24}}\b)?|[A-Z]{{3}} {_MAGNITUDE}\b)",
    re.IGNORECASE,
)
_AT_END = re.compile(
    r"\b(?:(?:units?|currency)\s*[:：]|(?:all )?(?:amounts?|figures?|values?)(?: are)? in\b)"
    r"\s*([^:：.。]{1,60})\Z",
    re.IGNORECASE,
)
# A sentence that is about the table, not about mills in thousands of villages.
_OF_TABLE = re.compile(r"\b(?:tables?|amounts?|figures?)\b", re.IGNORECASE)
# Words of which one makes a unit of what stands in brackets, and those that may stand beside it.
_TELLING = frozenset(
    "thousand thousands million millions billion billions trillion crore crores lakh lakhs mn bn "
    "mm usd eur gbp cny rmb jpy chf hkd inr sek nok dkk aud cad yuan dollar dollars euro euros "
    "pound pounds yen rupees rs tons tonnes ton tonne t kg kwh mwh gwh mw gw kt mt km m k persons "
    "people heads percent pct barrels litres liters hectares teu head pcs".split()
)
_FILLING = frozenset(
    "in of and the except for per share data amounts amount us unless otherwise stated noted "
    "metric short figures all unaudited audited".split()
)
_WORD = re.compile(r"[A-Za-z]+|['’]?000s?|[^\sA-Za-z]")
_SIGNS = frozenset("$ € £ ¥ ￥ % '000 ’000 '000s ’000s 000 000s".split())
_BETWEEN = frozenset(", / . - & ;".split())


def unit_of(line: str) -> str:
    """What a line above a table says that its figures are counted in, as it says it; empty where
    it says nothing of that.

    >>> [unit_of(line) for line in ("（单位：万元）", "Table 3: Sales (EUR thousand)", "Oslo (2)")]
    ['单位：万元', 'EUR thousand', '']
    >>> unit_of("**All figures in USD million.**"), unit_of("表2 产量（万吨）")
    ('All figures in USD million', '万吨')
    """
    text = _MARKS.sub("", line.strip()).strip().rstrip(".。:：")
    # Of a long line only how it ends: readers of PDF join what stands on lines of their own.
    long = len(text) > _LONGEST
    text = text[-_LONGEST:]
    whole = _BRACKETED.fullmatch(text)
    bare = whole.group(1).strip() if whole else text
    if not long and _is_unit(bare):
        return bare
    if (found := _AT_END.search(text)) and _is_unit(found.group(1).strip()):
        return found.group().strip()
    places = [_LABEL_INSIDE.search(text)]
    if not line.rstrip().endswith(_ENDS) or _OF_TABLE.search(text):
        places.append(_IN.search(text))
    places += (one for one in reversed([*_BRACKETED.finditer(text)]) if _is_unit(_inside(one)))
    for place in places:
        if place and (not long or place.end() == len(text)):
            return _inside(place)
    return ""


def _inside(found: re.Match[str]) -> str:
    """What was found, without brackets around it."""
    return (found.group(1) if found.re is _BRACKETED else found.group()).strip()


def _is_unit(text: str) -> bool:
    if _LABEL.fullmatch(text) or _SAID.fullmatch(text) or _HAN_UNIT.fullmatch(text):
        return True
    words = _WORD.findall(text.lower())
    telling = any(word in _TELLING or word in _SIGNS for word in words)
    known = _TELLING | _FILLING | _SIGNS | _BETWEEN
    return telling and all(word in known for word in words)


def unit_above(text: str, row: int) -> str | None:
    """What the figures of the row of a Markdown table at offset ``row`` of a text are counted in,
    by its table's head or the lines right above; empty where these say nothing. None where the
    text begins in the table or so close above that it may be said before.

    >>> text = "Sales\\n单位：万元\\n\\n| 产品 | 额 |\\n|---|---|\\n| 泵 | 7 |"
    >>> unit_above(text, text.index("| 泵")), unit_above("| 泵 | 7 |", 0)
    ('单位：万元', None)
    """
    end, seen, in_table = text.rfind("\n", 0, row), 0, True
    while end >= 0:
        start = text.rfind("\n", 0, end) + 1
        line = text[start:end].strip()
        end = start - 1
        if not line:
            in_table = False
            continue
        is_row = line.startswith("|") and line.endswith("|") and len(line) > 1
        if is_row and not (in_table or seen):
            return ""  # another table
        if is_row and in_table:
            if found := _of_row(line):
                return found
            continue
        if is_row:
            return ""
        in_table = False
        if found := unit_of(line):
            return found
        seen += 1
        if (
            line.startswith("#")
            or line.endswith(_ENDS)
            or len(line) > _LONGEST
            or seen >= _MOST_ABOVE
        ):
            return ""
    return None


def _of_row(line: str) -> str:
    """The unit that a row of a table's head says, beside blank cells, its title or date."""
    cells = list(dict.fromkeys(c.text for c in row_cells(line, 0, len(line)) if c.text))
    if len(cells) > _MOST_BESIDE:
        return ""
    labels = [cell for cell in cells if _LABEL.fullmatch(cell.strip("()（） "))]
    alone = cells if len(cells) == 1 else []
    return next(filter(None, map(unit_of, labels or alone)), "")
