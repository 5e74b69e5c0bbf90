"""Words that a Chinese question asks with and that say nothing of what it is about: 谁, 何时, and
几 or 哪 before a measure word."""

from __future__ import annotations

import re
from collections.abc import Iterable

MEASURES = (
    "小时|分钟|秒钟|点钟|公里|千米|厘米|毫米|平方|立方|公斤|千克|年级|星期|个|天|日|年|月|周|岁|点|号|元|"
    "块|角|折|台|辆|架|艘|列|部|套|条|件|只|头|匹|棵|座|栋|幢|层|间|家|户|所|处|位|名|人(?!民)|口|次|回|遍|趟|轮|"
    "届|期|批|种|类|项|份|张|页|本|篇|章|节|段|句|字|行|级|档|步|组|队|班|倍|成|度|吨|斤|克|米|升|亩|瓶|"
    "箱|盒|袋|根|支|把|双|对|片|块|门|万|亿|百|千"
)
"""Alternatives of a pattern: what is counted in, behind 几 and 多少."""

# In 近几年 and 十几个 the word says some, in 茶几 it is another.
_HOW_MANY = rf"(?<![十百千万近这那好前后去来上头茶])几(?={MEASURES})(?!度(?!电|角))"
_WEEKDAY = r"(?<=星期)几|(?<=[周拜])几"
_WHICH = rf"哪[一几]?(?:位|家|名|种|项|款|类|儿)|哪[一几](?={MEASURES})|哪(?=[年月日天])"
_WHAT = r"(?<![任如有为])何(?:时|地|人|年|月|日|处(?![理置罚分方境]))|几时"
_ASKING = re.compile(rf"谁|{_HOW_MANY}|{_WEEKDAY}|{_WHICH}|{_WHAT}")
_MEASURE = re.compile(MEASURES)

_COUNTING = "几一哪"

_QUOTES = "《》 “” ‘’ 「」 『』 〈〉 \"\" ''".split()


def asked_parts(question: str, start: int, end: int, names: Iterable[str] = ()) -> list[str]:
    """The run of Chinese from ``start`` to ``end`` without the words that it asks with; a measure
    word stands alone. A run in quotes, or with one of the ``names`` in it, stays whole.

    >>> [asked_parts(text, 0, len(text)) for text in ("婚假有几天", "几何由谁讲", "近几年")]
    [['婚假有', '天'], ['几何由', '讲'], ['近几年']]
    >>> asked_parts("《谁是卧底》", 1, 5), asked_parts("谁是卧底", 0, 4, ["谁是卧底"])
    (['谁是卧底'], ['谁是卧底'])
    >>> asked_parts("谁批准几批货", 0, 6)
    ['批准', '批', '货']
    """
    run = question[start:end]
    found = list(_ASKING.finditer(run))
    quoted = question[max(start - 1, 0) : start] + question[end : end + 1] in _QUOTES
    if not found or quoted or any(name in run for name in names):
        return [run]
    parts: list[str] = []
    position = 0
    for match in found:
        parts.append(run[position : match.start()])
        position = match.end()
        # 批 counts in 几批, and begins a verb in 谁批准.
        measure = _MEASURE.match(run, position) if match.group()[-1] in _COUNTING else None
        if measure:
            parts.append(measure.group())
            position = measure.end()
    return [part for part in (*parts, run[position:]) if part]
