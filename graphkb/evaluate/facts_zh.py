"""Chinese sentences as questions: the question word stands where the answer stood."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Name, Sentence
from graphkb.extract.kinds import ORGANIZATION, PERSON, TERM
from graphkb.text.language import HAN
from graphkb.text.segment import tag

ASKED = (PERSON, ORGANIZATION)
"""Types of names that a question may ask for."""

# An organization by the end of its name: the words that ask for it, and what it is.
_KINDS = (
    (re.compile("银行$"), "哪家银行", "银行"),
    (re.compile("(?:会议|大会|论坛|峰会|博览会|年会|全会)$"), "哪个会议", "会议"),
    (re.compile("(?:大学|学院)$"), "哪所大学", "大学"),
    (re.compile("(?:中学|小学|学校)$"), "哪所学校", "学校"),
    (re.compile("医院$"), "哪家医院", "医院"),
    (re.compile("(?:研究院|研究所|实验室)$"), "哪家研究机构", "研究机构"),
    (re.compile("(?:[^全内外总]部|[处科]室|事业部)$"), "哪个部门", "部门"),
    (re.compile("(?:团队|小组|[^集]组|队)$"), "哪个团队", "团队"),
    (re.compile("中心$"), "哪个中心", "中心"),
    (re.compile("集团$"), "哪家集团", "集团"),
    (re.compile("(?:公司|科技|软件|资本|创投|证券|保险|基金)$"), "哪家公司", "公司"),
)

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
# Formulas and marks, and words that a page's layout has torn apart.
_ODD = re.compile(rf'[*\\$|"_]|[{HAN}] [{HAN}]')
_OPEN_ENDS = ("之初", "中", "时", "后", "前", "的", "上", "下", "期间", "以来", "以及", "和", "与")
# What somebody says, plans or keeps doing is no fact to ask for.
_SAID = re.compile(
    r"表示|认为|指出|强调|介绍|称|说|将|要|一直|不断|继续|坚持|积极|在.{0,30}(?:中|下|上)$"
    r"|深入|全面|始终|持续|注重|作为|带领|充分|大力|努力|切实|牢记|涌现|认真|着力|加快|推动|促进|助力|"
    r"坚决|围绕|聚焦|一边|贯彻|高度|进一步|有力|有效|主动|紧紧|不仅|率先|通过|结合|"
    r"携手|应邀|旨在|依托|凭借|紧跟|首先|面向|立足|针对|按照|根据|以.{0,12}为|在短时间|制作的|研发的|.*(?:表示|介绍|认为|指出|强调)$"
)
# What one does that others do not.
_DEED = re.compile(
    "(?:曾|现|独家|共同|正在|已)?(?:是|就是|负责|担任|任|领投|投资|收购|创办|创立|成立|研发|开发|设计|发明|运营|主持|"
    "编写|发现|承建|维护|管理|生产|提供|出版|发布|签署|获得|荣获|毕业|出生|位于|有)(?!的)"
)
# Names that many have.
_GENERAL = frozenset(
    "党组织 公司 本公司 集团 中心 部门 政府 企业 学校 医院 团队 委员会 银行 董事会 监事会 股东大会 "
    "机构 大学 小组 项目组 工作组".split()
)
# What a name that was cut wrongly begins with.
_CUT = tuple("是由在为与和被把对")
_SHORT = frozenset("是为由在有于任占持将曾从对向获兼管写")
_IS = frozenset(("是", "就是", "正是", "曾是", "不是"))
_LEAST, _MOST = 5, 45


def asked(name: Name) -> str:
    """The words that ask for a person or an organization.

    >>> asked(Name(0, 4, "澜湾银行", "e", "ORGANIZATION")), asked(Name(0, 2, "陈明", "e", "PERSON"))
    ('哪家银行', '谁')
    """
    if name.type == PERSON:
        return "谁"
    return next((word for end, word, _ in _KINDS if end.search(name.surface)), "哪家机构")


def described(name: Name, predicate: str) -> str:
    """A person or an organization by what is said of it."""
    if name.type == PERSON:
        return f"{predicate}的人"
    what = next((kind for end, _, kind in _KINDS if end.search(name.surface)), "机构")
    return f"{predicate}的{what}"


def chinese_facts(sentence: Sentence) -> Iterator[Fact]:
    """Questions that the clauses of the sentence answer."""
    for clause, start, names in clauses_of(sentence):
        if names:
            yield from _of_clause(sentence, clause, start, names)


def clauses_of(sentence: Sentence) -> Iterator[tuple[str, int, list[Name]]]:
    """Clauses that can be understood alone, with their places; and the names of each, where it
    begins with one."""
    for match in _CLAUSE.finditer(sentence.text):
        clause = match.group().strip(' *“”"')
        start = sentence.text.index(clause, match.start()) if clause else match.start()
        if not _LEAST <= len(clause) <= _MOST or POINTING.search(clause) or _is_broken(clause):
            continue
        names = [n for n in sentence.names if start <= n.start and n.end <= start + len(clause)]
        if not names or names[0].start != start:
            leading = _leading_organization(clause, start)
            behind = [name for name in names if leading and name.start >= leading.end]
            names = [leading, *behind] if leading else []
        yield clause, start, names


def _of_clause(sentence: Sentence, clause: str, start: int, names: list[Name]) -> Iterator[Fact]:
    subject = names[0]
    rest = clause[len(subject.surface) :]
    acts = _begins_with_verb(clause, len(subject.surface))
    told = acts and not _SAID.match(rest)
    anchored = (
        any(name.type != TERM for name in names[1:])
        or _TELLING.search(rest)
        or (_DEED.match(rest) and _is_anchored(rest))
    )
    told = told and "(" not in rest and subject.surface not in _GENERAL
    told = told and not subject.surface.startswith(_CUT)
    if subject.type in ASKED and told and anchored:
        query = f"{asked(subject)}{rest}？"
        told_by = rest if _DEED.match(rest) and not re.search(r"[\dA-Za-z]$", rest) else ""
        yield Fact(query, subject.surface, "who", "zh", subject, told_by, sentence)
    last = names[-1]
    before = clause[: last.start - start]
    is_last = last.end - start == len(clause) and last.entity != subject.entity
    if is_last and last.type in ASKED and before.endswith(("是", "为")) and "的" in before:
        query = f"{before}{asked(last)}？"
        yield Fact(query, last.surface, "who", "zh", subject, "", sentence)
    if not acts or subject.type == TERM or subject.surface in _GENERAL:
        return
    if date := _DATE.search(clause):
        word = "什么时候" if "月" in date.group() else "哪一年"
        if query := _asked(clause, date.start(), date.end(), word, subject):
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
    # One of a list is asked for, and the others would stand in the question.
    listed = word == "多少" and ("、" in before + after or re.search(r"\d", after))
    follows = after.startswith(("度", "至", "-", "—", "~"))
    # 2022 年冬奥会: the date belongs to the noun behind it.
    first = tag(after)[:1] if word != "多少" and not _DEED.match(after) else []
    named = any(flag.startswith(("n", "vn", "j", "b", "eng")) for _, flag, _, _ in first)
    if inside or listed or follows or named or rest < _LEAST_REST[word]:
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
            # After a preposition alone nothing is said.
            if flag == "p" and not any(f == "v" and at >= end for _, f, at, _ in tag(clause)):
                return False
            # Another single character is more often the end of a name cut short.
            return acts and (len(word) > 1 or word in _SHORT)
    return False
