"""Further questions by rules, where a question compares two things or names one that the
documents know in two languages.

``sub_questions``  a comparison asked of each side alone (step back from the comparison to the
                   facts it rests on; Zheng et al. 2023): what is said of A seldom stands beside
                   what is said of B.
``other_names``    the question with names as the documents' other language writes them, from the
                   pairs that the documents give (青石公司 (Bluestone)).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphkb.search.snapshot import Snapshot
from graphkb.text.language import detect_language, has_han, question_language

# The two sides stand at the end: “Which film came out first, A or B?”
_LAST = re.compile(
    r"^(?P<head>.+?)[,:—–]\s*(?P<a>[^,;?]+(?:, [A-Z0-9][^,;?]*)?)\s+or\s+(?P<b>[^;?]+?)"
    r"(?P<tail>\s*\??\s*)$"
)
# They follow a word that calls for two: “out of A and B”, “between A and B”.
_AMONG = re.compile(
    r"^(?P<head>(?:.*\b(?:out of|between|among|either|both|compared|of)|Compare)\s+)"
    r"(?P<a>[A-Z0-9\"“].*?),? (?:and|or) (?P<b>[A-Z0-9\"“].*?)"
    r"(?P<tail>\s*[?.]?\s*$|,? (?:is|are|was|were|has|have|had|did|do|does|use|who|which|came)"
    r"\b.*)$"
)
# A question of yes and no, or of one of the two: “Are A and B both in Norway?”, “Was A or B first?”
_BOTH = re.compile(
    r"^(?P<head>(?:Are|Were|Do|Did|Does|Have|Had|Is|Was|Which of)\s+(?:both\s+)?(?:the\s+)?"
    r"(?:[a-z]+(?: of [a-z]+)?,?\s+)?)(?P<a>[A-Z0-9\"“].*?),? (?:and|or) (?P<b>[A-Z0-9\"“].*?)"
    r"(?P<tail>,? (?:both|from|the same|in|located|of the same|share|have|has|had|born|died|"
    r"directed|made|based|originate|come|older|younger|first|last|earlier|later|larger|bigger|smaller|"
    r"longer|higher|lower)\b.*)$"
)
_TWO = re.compile(
    r"\b(?:both|same|share|either|neither|between|out of|which of|compared?|first|last|later|"
    r"earlier|older|younger|larger|bigger|smaller|longer|higher|lower|better|more|less|differ\w*)\b",
    re.IGNORECASE,
)
_COMPARES = re.compile(r"\b(?:which|who|whose|what|when|where)\b", re.IGNORECASE)
_AND_ZH = r"(?:和|与|跟|同|及|以及|还是|或者?|、|，还是)"
_CUE_ZH = (
    r"(?:相比|比较|当中|之间|两者|二者|这两|中?哪[个家一部座种方位者所支本款届名]|中?谁|都|是不是|是否|"
    r"的(?:区别|差别|差异|异同)|有(?:什么|何|哪些)(?:区别|不同|差别|差异)|更)"
)
_PAIR_ZH = re.compile(
    rf"(?P<a>[^，。？！；、和与跟及\s]{{2,20}}?){_AND_ZH}(?P<b>[^，。？！；、和与跟及\s]{{2,20}}?)"
    rf"(?P<tail>，?(?:在[^，。？]{{0,6}})?{_CUE_ZH}.*)$"
)
_LISTED_ZH = re.compile(r"(?P<side>[^，。？！；、\s]{2,20})、$")
_TITLES_ZH = re.compile(
    rf"(?P<a>《[^《》]+》(?:的[^，。？和与]{{1,6}})?){_AND_ZH}(?P<b>《[^《》]+》)(?P<tail>.*)$"
)
_BOTH_ZH = re.compile(rf"{_CUE_ZH}|分别|各自|同")
_PERIOD = (
    r"(?:(?:\d{4}年)?(?:第?[一二三四1-4]季度|[上下]半年度?|\d{1,2}月|年底|年末|全年)"
    r"|\d{4}年(?:底|末|度)?)"
)
_PERIODS_ZH = re.compile(rf"(?P<a>{_PERIOD}){_AND_ZH}(?P<b>{_PERIOD})(?P<tail>.*)$")
# What must stand behind two sides, so that “在甲和乙之间跑的船是哪座厂造的” compares nothing.
_MORE_ZH = re.compile(
    r"更|较|最|先|早|晚|大|小|高|低|多少|长|短|老|年轻|远|近|快|慢|好|强|同|都|是否|是不是|一样|区别|差|异"
)
_CALLED_FOR_ZH = {_TITLES_ZH: _BOTH_ZH, _PAIR_ZH: _MORE_ZH}
_LEADS_ZH = re.compile(r"^(?:请问|请|比较一下|对比一下|比较|对比|在|那么?)+")
_TRAILS_ZH = re.compile(r"(?<=.{2})(?:[两二][^，。]{1,3}[里中]?|相?比|[之当]?中)$")
_YEAR = re.compile(r"^\d{4}年")

_LONGEST_SIDE = 80
#: Seeds of less weight may be plain words.
_SURE = 0.3
_NAMES = 3


def sub_questions(question: str) -> list[str]:
    """The question asked of each side of its comparison alone; empty when it compares nothing.

    >>> sub_questions("Which film came out first, Dying God or 3 Dots?")
    ['Which film came out first, Dying God?', 'Which film came out first, 3 Dots?']
    >>> sub_questions("青石公司和蓝岭公司哪个成立更早？")
    ['青石公司哪个成立更早？', '蓝岭公司哪个成立更早？']
    >>> sub_questions("Who leads Bluestone?")
    []
    """
    text = " ".join(question.split())
    found = _chinese(text) if has_han(text) else _english(text)
    if found is None:
        return []
    head, sides, tail = found
    plain = [side.strip(" \"“”'") for side in sides]
    if len(set(plain)) < 2 or any(not 1 < len(side) <= _LONGEST_SIDE for side in plain):
        return []
    return [f"{head}{side}{tail}" for side in sides]


_Parts = tuple[str, tuple[str, ...], str]
"""What stands before the two sides, the sides, and what stands behind them."""


def _english(text: str) -> _Parts | None:
    for pattern in (_LAST, _AMONG, _BOTH):
        match = pattern.match(text)
        called_for = (_COMPARES if pattern is _LAST else _TWO).search(text)
        if match is None or not called_for:
            continue
        head, tail = match["head"], match["tail"]
        return f"{head}, " if pattern is _LAST else head, (match["a"], match["b"]), tail
    return None


def _chinese(text: str) -> _Parts | None:
    for pattern in (_TITLES_ZH, _PERIODS_ZH, _PAIR_ZH):
        match = pattern.search(text)
        called_for = _CALLED_FOR_ZH.get(pattern)
        if match is None or (called_for and not called_for.search(match["tail"])):
            continue
        head, a, b = text[: match.start()], match["a"], match["b"]
        if pattern is _PAIR_ZH and (lead := _LEADS_ZH.match(a)):
            head, a = head + lead.group(), a[lead.end() :]
        b = _TRAILS_ZH.sub("", b)
        if pattern is _PAIR_ZH and "的" in b and "的" not in a:
            a += b[b.index("的") :]
        if pattern is _PERIODS_ZH and (year := _YEAR.match(a)) and not _YEAR.match(b):
            b = year.group() + b
        sides: tuple[str, ...] = (a, b)
        while pattern is _PAIR_ZH and (before := _LISTED_ZH.search(head)):
            head, sides = head[: before.start()], (before["side"], *sides)
        return head, sides, match["tail"]
    return None


def graph_starts_from_each(snapshot: Snapshot, asked: Sequence[str]) -> bool:
    """Whether each of the sub-questions names an entity of its own: then the graph leg starts
    from all sides of the question anyway, and asking them alone finds nothing more."""
    named = [
        {seed.entity for seed in snapshot.graph.link(text) if seed.weight >= _SURE}
        for text in asked
    ]
    shared = set.intersection(*named) if named else set()
    return bool(named) and all(entities - shared for entities in named)


def other_names(snapshot: Snapshot, question: str) -> list[str]:
    """The question with the names that the documents' other language has for what it names;
    empty where all documents are in the question's language or no name has a second one."""
    asked = question_language(question)
    others = {code for code in snapshot.languages if code != asked}
    if not others & {"en", "zh"} or asked not in ("en", "zh"):
        return []
    seeds = [seed for seed in snapshot.graph.link(question) if seed.surface in question]
    ids = [seed.entity_id for seed in seeds[:_NAMES]]
    columns = ("id", "title", "aliases")
    found = snapshot.store.where("entities", "id", ids, columns).to_dicts()
    rows = {row["id"]: row for row in found}
    worded = question
    for seed in seeds[:_NAMES]:
        row = rows.get(seed.entity_id)
        names = [row["title"], *row["aliases"]] if row else []
        there = [n for n in names if detect_language(n) in others and n not in question]
        if there and has_han(seed.surface) != has_han(there[0]):
            worded = worded.replace(seed.surface, f" {there[0]} ", 1)
    return [" ".join(worded.split())] if worded != question else []
