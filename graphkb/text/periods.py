"""Years and parts of years that a text names: what a report is about, and what is asked for.

Figures of one company recur in every report with other numbers, so words alone cannot tell the
report that a question means from the one of another year.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from graphkb.text.han_years import fold_years
from graphkb.text.names import fold

_YEAR = r"(?:1[89]\d\d|20\d\d)"
_MONTH_NAMES = (
    "january|february|march|april|may|june|july|august|september|october|november|december"
)
_SHORT_MONTHS = "jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec"
_PART = r"(?:q[1-4]|h[12])"
_JOINT = r"[\s./-]*"
_DATE = rf"({_YEAR})(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])"
# Names of files write periods in one piece: report_2024q3, 2023H1, 2024年Q1; Q3_2024, Q1-FY2024;
# 20241104; 23年三季度, but not 近10年年报.
_YEAR_PART = re.compile(
    rf"(?<![\da-z.,])(?:fy\s?)?({_YEAR})(?:年度?|财年)?{_JOINT}({_PART})(?![\da-z])"
)
_PART_YEAR = re.compile(rf"(?<![\da-z])({_PART})[\s./-]+(?:fy\s?)?({_YEAR})(?![\da-z年]|[.,]\d)")
_DATE_IN_ONE = re.compile(rf"(?<![\da-z.,]){_DATE}(?![\da-z%元万亿]|[.,]\d)")
_YEAR_IN_TWO = re.compile(
    r"(?<![\da-z.,近过前后约满第达共续])([0-3]\d)(?=年(?:第?[一二三四1-4]季|[上下]半年|半年度?报|"
    r"前[二两三]个?季度|全年|年?度?报|中报|q[1-4]|h[12]|度|(?:1[0-2]|0?[1-9]|十[一二]?|[一二三四五六七八九])月))"
)
# A year that can be nothing else: 2022年, 2022版, 2022 edition, in 2022, FY2022, Q1 2022, annual
# report 2022.
_SURE_YEAR = re.compile(
    rf"(?<!\d)({_YEAR})\s*(?=年|财年|会计年度|版(?![权面]))"
    rf"|(?<![\da-z.,])({_YEAR})[\s-]*(?=(?:edition|version)\b)"
    rf"|\b(?:in|of|since|until|during|before|after|by|for|year|fy|report|"
    rf"q[1-4]|h[12]|quarter|half|{_MONTH_NAMES}|(?:{_SHORT_MONTHS})\.?)[\s,]*({_YEAR})"
    r"(?![\d.,%]*\d)"
    rf"|(?<![\da-z.,])({_YEAR})(?=[-/](?:1[0-2]|0?[1-9])[-/](?:3[01]|[12]\d|0?[1-9])(?!\d))",
    re.ASCII,
)
_ANY_YEAR = re.compile(rf"(?<![\da-z.,])({_YEAR})(?![a-z]|[\d.,%]*\d)")
_RANGE = re.compile(rf"({_YEAR})\s*年?\s*(?:[-–—~至到]|to)\s*({_YEAR})(?!\d)")
_MOST_YEARS = 30

_ORDINALS = {
    "一": 1, "二": 2, "三": 3, "四": 4, "1": 1, "2": 2, "3": 3, "4": 4,
    "first": 1, "second": 2, "third": 3, "fourth": 4,
}  # fmt: skip
_QUARTER = re.compile(
    r"第?\s*([一二三四1-4])\s*季(?:度|报)|\bq([1-4])\b|\b(first|second|third|fourth)[ -]quarter",
    re.ASCII,
)
# 第一和第三季度, the first and third quarters
_QUARTERS = re.compile(
    r"第?([一二三四])[、和与及]第?([一二三四])季度"
    r"|\b(first|second|third) (?:and|to) (second|third|fourth) quarters"
)
_HALF = re.compile(
    r"(上半年|半年度?报|半年度|中期报告|中报)|(下半年)"
    r"|\b(first half|h1|half[ -]year(?:ly)?|interim report)\b|\b(second half|h2)\b",
    re.ASCII,
)
_WHOLE = re.compile(
    r"(?<!半)年度?报(?!告期)|(?<!半)年度(?=财务|业绩)|全年|\bannual report|\bfull[ -]year"
)
_MONTH = re.compile(
    r"(?<!\d)(1[0-2]|0?[1-9])月|(十[一二]?|[一二三四五六七八九])月"
    rf"|\b({_MONTH_NAMES})\b(?=[\s\d,]*{_YEAR})|(?<!\d){_YEAR}[-/.](1[0-2]|0[1-9])(?!\d)"
    rf"|\b(?:in|during)\s({_MONTH_NAMES})\b"
)
_MONTHS = {
    **{name: at for at, name in enumerate("一 二 三 四 五 六 七 八 九 十 十一 十二".split(), 1)},
    **{name: at for at, name in enumerate(_MONTH_NAMES.split("|"), 1)},
}
_SHORT_MONTH = re.compile(rf"\b({_SHORT_MONTHS})\b\.?(?=[\s\d,]*{_YEAR})")
_DAY_NUMBER = r"(?:3[01]|[12]\d|0?[1-9])"
# 11月5日, 2024-11-05, November 5th, 5 Nov
_DAYS = re.compile(
    rf"(?<!\d)(1[0-2]|0?[1-9])月\s*({_DAY_NUMBER})[日号]"
    rf"|(?<!\d){_YEAR}[-/.](1[0-2]|0?[1-9])[-/.]({_DAY_NUMBER})(?!\d)"
    rf"|\b({_MONTH_NAMES}|{_SHORT_MONTHS})\b\.?\s+({_DAY_NUMBER})(?:st|nd|rd|th)?\b(?![.:]\d)"
)
_DAY_FIRST = re.compile(
    rf"(?<![\d.:])({_DAY_NUMBER})(?:st|nd|rd|th)?\s+(?:of\s+)?({_MONTH_NAMES}|{_SHORT_MONTHS})\b"
)
_LONGEST_MONTH = 20
_MONTH_CELL = re.compile(rf"({_MONTH_NAMES}|{_SHORT_MONTHS})\.?")
MONTH_WORDS = (*_MONTH_NAMES.split("|"), *_SHORT_MONTHS.replace("sept?", "sep|sept").split("|"))
"""English names of months and their short forms."""
_PERIOD_WORD = re.compile(
    rf"\d{{1,4}}[年月日号]?|{_YEAR}(?:[-/.]\d{{1,2}}){{1,2}}|[年月日号]|年份|月份|q[1-4]|(?:{_MONTH_NAMES}|{_SHORT_MONTHS})"
)
_MONTH_NUMBER = re.compile(r"0?[1-9]|1[0-2]")
_ANY_MONTH = rf"(?:{_MONTH_NAMES}|{_SHORT_MONTHS})"
_TWO_DIGITS = r"(?:1[0-2]|0[1-9])"
# What a cell may hold as a month with its year: 2024/11, 11-2024, Nov-24, 2024 November, 2024M11;
# and what it means only in a column of times: 2024.11, 11.2024, 202411; of months: 24/11.
_YEAR_MONTH = re.compile(
    rf"(?P<year>{_YEAR})\s*(?:[-/年]\s*(?P<month>(?:1[0-2]|0?[1-9]))月?|m(?P<m>{_TWO_DIGITS}|[1-9])"
    rf"|[-/,.\s]*(?P<name>{_ANY_MONTH})\.?)"
)
_MONTH_YEAR = re.compile(
    rf"(?:(?P<month>1[0-2]|0?[1-9])\s*[-/]\s*(?P<year>{_YEAR})"
    rf"|(?P<name>{_ANY_MONTH})\.?[-/,\s]*(?:(?P<whole>{_YEAR})|(?:(?<=[-/\s])|')'?(?P<short>\d\d)))"
)
_TIME_MONTHS = (
    re.compile(rf"(?P<year>{_YEAR})\.?(?P<month>{_TWO_DIGITS})|(?P<y>{_YEAR})\.(?P<m>[1-9])"),
    re.compile(rf"(?P<month>1[0-2]|0?[1-9])\.(?P<year>{_YEAR})"),
)
_SHORT_YEAR_MONTH = re.compile(r"(?P<short>1[3-9]|[23]\d)[-/.](?P<month>1[0-2]|0?[1-9])")
# The same in prose, where numbers may be versions, prices, codes and ratios.
_WHEN = r"\b(?:in|during|since|until|from|for|of|by|to|and|between)\s+|(?<=[在于到至从自和与])"
_NOT_AMOUNT = r"(?![\d%]|[-/.,:]\d|\s*(?:[元万亿吨%]|percent\b|(?:usd|eur|gbp|kg)\b))"
_MONTHS_IN_PROSE = (
    re.compile(
        rf"(?<![\da-z])(?P<year>{_YEAR})(?:\s?m(?P<m>{_TWO_DIGITS})"
        rf"|(?:[-/]|\s+(?!may\b|mar\b|march\b(?!的)))(?P<name>{_ANY_MONTH}))(?![\da-z])"
    ),
    re.compile(
        rf"(?<![\da-z])(?P<name>{_ANY_MONTH})\.?(?:[-/](?P<year>{_YEAR})|\s?'(?P<short>\d\d))"
        r"(?![\da-z])"
    ),
    re.compile(
        rf"(?:{_WHEN}|^(?=\S+$|\S+的))(?P<name>{_SHORT_MONTHS}|may)-(?P<short>\d\d)(?![\da-z-])"
    ),
    re.compile(rf"(?:{_WHEN}|^)(?P<month>1[0-2]|0?[1-9])[-/](?P<year>{_YEAR}){_NOT_AMOUNT}"),
    re.compile(rf"(?:{_WHEN}|^)(?P<year>{_YEAR})\.(?P<month>{_TWO_DIGITS}){_NOT_AMOUNT}"),
)
# 1-3月, March and May 2022, between March and May 2022, Q1-Q3, 前三季度, 1月至3月
_MONTH_RANGE = re.compile(
    r"(?<!\d)(1[0-2]|0?[1-9])月?\s*(?:[-–—~至到])\s*(1[0-2]|0?[1-9])月"
    rf"|\b({_MONTH_NAMES})\s*(?:-|–|to|and|through|until)\s*({_MONTH_NAMES})\b"
    rf"(?=[\s\d,]*{_YEAR})"
)
_QUARTER_RANGE = re.compile(
    r"\bq([1-4])\s*(?:-|–|to|through)\s*q?([1-4])\b|第?([一二三四])(?:季度)?(?:至|到)第?([一二三四])季度",
    re.ASCII,
)
_FIRST_QUARTERS = re.compile(r"前([二三两])个?季度|\bfirst (two|three) quarters\b|前(九)个月")
_FISCAL = re.compile(r"(?<!\d)(20\d\d|19\d\d)\s*[-/]\s*(\d\d)(?![\d\-/.月])")
_SHORT_FISCAL = re.compile(r"\bfy\s?'?(\d\d)\b|\b([1-4])q'?(\d\d)\b|\bq([1-4])[ ']?(\d\d)\b")
_INSIDE = {f"Q{q}": {f"M{month}" for month in range(3 * q - 2, 3 * q + 1)} for q in (1, 2, 3, 4)}
_INSIDE |= {
    "H1": {"Q1", "Q2", *_INSIDE["Q1"], *_INSIDE["Q2"]},
    "H2": {"Q3", "Q4", *_INSIDE["Q3"], *_INSIDE["Q4"]},
}
_INSIDE["Y"] = {"H1", "H2", *_INSIDE["H1"], *_INSIDE["H2"]}
_QUARTERS_OF = ("Q1", "Q2", "Q3", "Q4")


@dataclass(frozen=True)
class Periods:
    """``years``; those of them that are ``sure``, for a bare number may be something else; and
    ``parts`` of a year: M1 to M12, Q1 to Q4, H1, H2, or Y for a report on a whole one."""

    years: frozenset[int] = frozenset()
    sure: frozenset[int] = frozenset()
    parts: frozenset[str] = frozenset()

    def __bool__(self) -> bool:
        return bool(self.years or self.parts)


@lru_cache(maxsize=20_000)
def periods(text: str) -> Periods:
    """:func:`named_periods` of a short text, kept."""
    return named_periods(text)


def named_periods(text: str) -> Periods:
    """The periods that ``text`` names.

    >>> found = periods("2022 年半年度报告摘要"); sorted(found.years), sorted(found.parts)
    ([2022], ['H1'])
    >>> found = periods("revenue in Q3 2021"); sorted(found.years), sorted(found.parts)
    ([2021], ['Q3'])
    """
    folded = _spelled(fold_years(fold(text)))
    years = {int(match[1]) for match in _ANY_YEAR.finditer(folded)}
    sure = {int(next(filter(None, match.groups()))) for match in _SURE_YEAR.finditer(folded)}
    for match in _FISCAL.finditer(folded):
        first = int(match[1])
        if (first + 1) % 100 == int(match[2]):
            sure |= {first, first + 1}
    for match in _SHORT_FISCAL.finditer(folded):
        sure.add(2000 + int(match[1] or match[3] or match[5]))
    for match in _RANGE.finditer(folded):
        first, last = int(match[1]), int(match[2])
        if 0 < last - first <= _MOST_YEARS:
            sure |= set(range(first, last + 1))
    return Periods(frozenset(years | sure), frozenset(sure), frozenset(_parts(folded)))


@lru_cache(maxsize=20_000)
def named_days(text: str) -> frozenset[tuple[int, int]]:
    """Month and day of the dates that a short text names, with or without a year.

    >>> sorted(named_days("2024年11月5日, 2024/12/1 and Nov 3rd")), named_days("11月")
    ([(11, 3), (11, 5), (12, 1)], frozenset())
    """
    folded = _DATE_IN_ONE.sub(r"\1年\2月\3日", fold(text).replace("_", " "))
    found = {(match[2], match[1]) for match in _DAY_FIRST.finditer(folded)}
    for match in _DAYS.finditer(folded):
        month, day = (part for part in match.groups() if part)
        found.add((month, day))
    return frozenset((_month(month), int(day)) for month, day in found)


def names_part(text: str) -> bool:
    """Whether a short text names a part of a year or a date."""
    return bool(periods(text).parts or named_days(text))


def is_of_periods(token: str) -> bool:
    """Whether a word of a text with dates is a part of them.

    >>> [is_of_periods(word) for word in ("11", "nov", "november", "月", "11月", "sales")]
    [True, True, True, True, True, False]
    """
    return _PERIOD_WORD.fullmatch(token) is not None


def spelled_month(cell: str, *, is_month: bool, is_time: bool = False) -> str:
    """A cell that holds nothing but a month as ``11月``, with its year where it has one; under a
    name of months (``is_month``) a bare number, too, and under one of times (``is_time``) numbers
    that may be amounts elsewhere. Other cells as they are.

    >>> spelled_month("Nov", is_month=False), spelled_month("2024/9", is_month=False)
    ('11月', '2024年9月')
    >>> spelled_month("11", is_month=True), spelled_month("11", is_month=False)
    ('11月', '11')
    >>> spelled_month("Nov-24", is_month=False), spelled_month("202411", is_month=False)
    ('2024年11月', '202411')
    >>> spelled_month("202411", is_month=False, is_time=True)
    '2024年11月'
    """
    folded = fold(cell).strip()
    if not folded or len(folded) > _LONGEST_MONTH:
        return cell
    forms = [_YEAR_MONTH, _MONTH_YEAR]
    if is_month or is_time:
        forms += _TIME_MONTHS
    for form in forms:
        if match := form.fullmatch(folded):
            return _year_and_month(match)
    if match := _SHORT_YEAR_MONTH.fullmatch(folded) if is_month or is_time else None:
        return _year_and_month(match) if is_month else f"{int(match['month'])}月"
    if _MONTH_CELL.fullmatch(folded) or (is_month and _MONTH_NUMBER.fullmatch(folded)):
        return f"{_month(folded.rstrip('.'))}月"
    return cell


def _year_and_month(match: re.Match[str]) -> str:
    found = {name: value for name, value in match.groupdict().items() if value}
    year = found.get("year") or found.get("whole") or found.get("y") or f"20{found.get('short')}"
    month = found.get("month") or found.get("m") or found["name"]
    return f"{year}年{_month(month)}月"


def _spelled(folded: str) -> str:
    """``folded`` with periods that are written in one piece taken apart."""
    if not any(sign.isdecimal() for sign in folded):
        return folded
    spelled = folded.replace("_", " ")
    spelled = _DATE_IN_ONE.sub(r"\1年\2月\3日", spelled)
    for form in _MONTHS_IN_PROSE:
        spelled = form.sub(_in_prose, spelled)
    spelled = _YEAR_IN_TWO.sub(r"20\1", spelled)
    spelled = _YEAR_PART.sub(r"\1年 \2 ", spelled)
    return _PART_YEAR.sub(r"\1 \2年 ", spelled)


def _in_prose(match: re.Match[str]) -> str:
    """A month as ``2024年11月`` behind the word that says it is one."""
    first = min(match.start(name) for name, value in match.groupdict().items() if value)
    return f"{match.string[match.start() : first]}{_year_and_month(match)}"


def _parts(folded: str) -> set[str]:
    parts = set()
    for match in (*_QUARTER.finditer(folded), *_QUARTERS.finditer(folded)):
        parts |= {f"Q{_ORDINALS[found]}" for found in match.groups() if found}
    for match in _SHORT_FISCAL.finditer(folded):
        if quarter := match[2] or match[4]:
            parts.add(f"Q{quarter}")
    for match in _QUARTER_RANGE.finditer(folded):
        first, last = (_ORDINALS[found] for found in match.groups() if found)
        parts |= {f"Q{quarter}" for quarter in range(first, last + 1)}
    for match in _FIRST_QUARTERS.finditer(folded):
        last = 2 if match[1] in ("二", "两") or match[2] == "two" else 3
        parts |= {f"Q{quarter}" for quarter in range(1, last + 1)}
    for match in _HALF.finditer(folded):
        parts.add("H1" if match[1] or match[3] else "H2")
    if _WHOLE.search(folded):
        parts.add("Y")
    months = {
        _month(found) for match in _MONTH.finditer(folded) for found in match.groups() if found
    }
    months |= {_month(match[1]) for match in _SHORT_MONTH.finditer(folded)}
    for match in _MONTH_RANGE.finditer(folded):
        first, last = (_month(found) for found in match.groups() if found)
        months |= set(range(first, last + 1))
    parts |= {f"M{month}" for month in months}
    parts |= {whole for whole in _QUARTERS_OF if _INSIDE[whole] <= parts}
    return parts


def _month(name: str) -> int:
    if name.isdecimal():
        return int(name)
    known = _MONTHS.get(name)
    return known or next(at for full, at in _MONTHS.items() if full.startswith(name[:3]))


def agreement(asked: Periods, told: Periods) -> float:
    """How well what a text is about fits what is asked for, in [-1, 1]: 1 the same period, 0.5
    the same year and another extent, 0 not known, -1 another period.

    >>> report = periods("2022年第一季度报告")
    >>> [agreement(periods(q), report) for q in ("2022年第一季度的存货", "2022年的存货", "存货")]
    [1.0, 0.5, 0.0]
    >>> agreement(periods("2021年的存货"), report)
    -1.0
    """
    if not asked or not told:
        return 0.0
    if asked.years and told.years and not asked.years & told.years:
        return -1.0 if asked.sure else 0.0
    same_year = bool(asked.years & told.years)
    if not asked.parts or not told.parts:
        level = asked.parts == told.parts
        return (1.0 if level else 0.5) if same_year else 0.0
    if asked.parts & told.parts:
        return 1.0 if same_year else 0.5
    if any(_holds(one, other) or _holds(other, one) for one in asked.parts for other in told.parts):
        return 0.5 if same_year else 0.0
    return -1.0


def closeness(asked: str, told: str) -> int:
    """Whether ``told`` is about the month, quarter or day that ``asked`` names: 1 where it is, -1
    where it is about another one, 0 where that cannot be told.

    >>> [closeness("sales in November 2024", cell) for cell in ("2024-11-05", "2024-08-11", "9")]
    [1, -1, 0]
    >>> [closeness("11月5日的产量", cell) for cell in ("2024年11月5日", "2024/11/6", "11月", "8月")]
    [1, -1, 0, -1]
    """
    wanted, said = periods(asked), periods(told)
    days = named_days(asked)
    if not (wanted.parts or days):
        return 0
    if wanted.years and said.years and not wanted.years & said.years:
        return -1
    if days and (others := named_days(told)):
        return 1 if days & others else -1
    months = frozenset(f"M{month}" for month, _ in named_days(told)) | said.parts
    if days:
        near = agreement(
            Periods(parts=frozenset(f"M{month}" for month, _ in days)), Periods(parts=months)
        )
        return -1 if near < 0 else 0
    near = agreement(Periods(parts=wanted.parts), Periods(parts=months))
    within = any(_holds(whole, part) for whole in wanted.parts for part in months)
    return 1 if near > 0 or within else -1 if near < 0 else 0


def _holds(whole: str, part: str) -> bool:
    return part in _INSIDE.get(whole, ())
