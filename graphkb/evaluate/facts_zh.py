"""Chinese sentences as questions: the question word stands where the answer stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Name, Sentence
from graphkb.extract.kinds import ORGANIZATION, PERSON
from graphkb.text.language import HAN
from graphkb.text.segment import tag

ASKED = {PERSON: "谁", ORGANIZATION: "哪家机构"}
DESCRIBED = {PERSON: "{}的人", ORGANIZATION: "{}的机构"}

# Words that point outside the clause: such a question cannot be understood alone.
POINTING = re.compile(
    r"他|她|它|其(?!他|中)|该|此|这|那|本(?:公司|文|轮|次|季|年|月|届|期|集团)|我们|咱|您|你|上述|"
    r"以上|以下|同时|也|还|又|则|并|当天|当日|今天|昨天|今年|去年|明年|前者|后者|如下|均|都|另"
)
_CLAUSE = re.compile(r"[^，。；！？：,;!?:\n]+")
_DATE = re.compile(r"(?:1[5-9]|20)\d\d\s*年(?:\s*\d{1,2}\s*月(?:\s*\d{1,2}\s*[日号])?)?")
_NUMBER = re.compile(
    r"\d[\d,]*(?:\.\d+)?\s*(?:万|亿|多|余)*\s*(元|人|名|家|个|席|小时|分钟|天|次|台|套|座|公里|吨|户|项)"
)
_ORGANIZATION = re.compile(
    rf"[{HAN}A-Za-z0-9]{{2,14}}?(?:公司|集团|银行|大学|医院|研究院|研究所|基金会|协会|委员会)"
)
_TELLING = re.compile(r"[A-Za-z]{2,}|\d{2,}|[《“\"][^》”\"]{2,}[》”\"]")
_LONG_NOUN = 4
_LEAST_REST = {"什么时候": 3, "哪一年": 3, "多少": 4}
_ABOUT = ("近", "超", "约", "逾", "至", "“", "截至")
_ODD = re.compile(r'[*\\$|"_]')
_OPEN_ENDS = ("中", "时", "后", "前", "的", "上", "下", "期间", "以来", "以及", "和", "与")
# What somebody says, plans or keeps doing is no fact to ask for.
_SAID = re.compile(
    r"表示|认为|指出|强调|介绍|称|说|将|要|一直|不断|继续|坚持|积极|在.{0,30}(?:中|下|上)$"
)
_SHORT = frozenset("是为由在有于任占持将曾从对向获兼管写")
_IS = frozenset(("是", "就是", "正是", "曾是", "不是"))
_LEAST, _MOST = 5, 45


def chinese_facts(sentence: Sentence) -> Iterator[Fact]:
    """Questions that the clauses of the sentence answer."""
    for match in _CLAUSE.finditer(sentence.text):
        clause = match.group().strip(' *“”"')
        start = sentence.text.index(clause, match.start()) if clause else match.start()
        if not _LEAST <= len(clause) <= _MOST or POINTING.search(clause) or _is_broken(clause):
            continue
        names = [n for n in sentence.names if start <= n.start and n.end <= start + len(clause)]
        if not names or names[0].start != start:
            leading = _leading_organization(clause, start)
            if leading is None:
                continue
            names = [leading, *(name for name in names if name.start >= leading.end)]
        yield from _of_clause(sentence, clause, start, names)


def _of_clause(sentence: Sentence, clause: str, start: int, names: list[Name]) -> Iterator[Fact]:
    subject = names[0]
    rest = clause[len(subject.surface) :]
    acts = _begins_with_verb(clause, len(subject.surface))
    told = acts and not _SAID.match(rest)
    if subject.type in ASKED and told and (len(names) > 1 or _is_anchored(rest)):
        query = f"{ASKED[subject.type]}{rest}？"
        yield Fact(query, subject.surface, "who", "zh", subject, rest, sentence)
    last = names[-1]
    before = clause[: last.start - start]
    is_last = last.end - start == len(clause) and last.entity != subject.entity
    if is_last and last.type in ASKED and before.endswith(("是", "为")) and "的" in before:
        query = f"{before}{ASKED[last.type]}？"
        yield Fact(query, last.surface, "who", "zh", subject, "", sentence)
    if not acts:
        return
    if date := _DATE.search(clause):
        asked = "什么时候" if "月" in date.group() else "哪一年"
        if query := _asked(clause, date.start(), date.end(), asked, subject):
            yield Fact(query, date.group(), "when", "zh", subject, "", sentence)
        return
    numbers = list(_NUMBER.finditer(clause))
    if len(numbers) == 1:
        (number,) = numbers
        if query := _asked(clause, number.start(), number.start(1), "多少", subject):
            yield Fact(query, number.group(), "how many", "zh", subject, "", sentence)


def _asked(clause: str, start: int, end: int, word: str, subject: Name) -> str:
    """The clause with a question word for what it says at ``start``; empty where that makes no
    sentence: inside a title, behind a word such as 近, or where little else is said."""
    before, after = clause[:start].rstrip(), clause[end:].lstrip()
    inside = before.count("《") > before.count("》") or before.endswith(_ABOUT)
    rest = len(before) + len(after) - len(subject.surface)
    if inside or after.startswith(("度", "至", "-", "—", "~")) or rest < _LEAST_REST[word]:
        return ""
    return f"{before}{word}{after}？"


def _is_broken(clause: str) -> bool:
    """Whether a clause is half a sentence, or holds formulas, marks or half a bracket."""
    halves = any(
        clause.count(one) != clause.count(other) for one, other in ("“”", "《》", "（）", "()")
    )
    return halves or _ODD.search(clause) is not None or clause.endswith(_OPEN_ENDS)


def _leading_organization(clause: str, start: int) -> Name | None:
    """The organization that a clause begins with, by its last characters."""
    found = _ORGANIZATION.match(clause)
    if found is None:
        return None
    surface = found.group()
    flags = [flag for _, flag, place, _ in tag(clause) if place < len(surface)]
    if not all(flag.startswith(("n", "j", "b", "eng")) for flag in flags):
        return None
    return Name(start, start + len(surface), surface, f"name:{surface}", ORGANIZATION)


def _is_anchored(rest: str) -> bool:
    """Whether a clause holds something it can be found by: a code, a quote, a long compound."""
    if _TELLING.search(rest):
        return True
    length = 0
    for word, flag, _, _ in tag(rest):
        length = length + len(word) if flag.startswith("n") else 0
        if length >= _LONG_NOUN:
            return True
    return False


def _begins_with_verb(clause: str, place: int) -> bool:
    """Whether what follows ``place`` begins with a verb, or an adverb or preposition before one."""
    for word, flag, start, end in tag(clause):
        if start < place < end:
            # A name that the segmenter has taken one character more for: 陈明于.
            return end == place + 1 and word[-1] in _SHORT
        if start >= place:
            cut = word.endswith("是") and word not in _IS
            acts = flag.startswith(("v", "p", "d")) and not cut
            # Another single character is more often the end of a name cut short.
            return acts and (len(word) > 1 or word in _SHORT)
    return False
