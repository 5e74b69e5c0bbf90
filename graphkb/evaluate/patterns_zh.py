"""Chinese sentences as questions: what something is, where, how much, why, who does what, and how
two names have to do with each other."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Name, Sentence
from graphkb.evaluate.facts_zh import ASKED, POINTING, asked, clauses_of
from graphkb.extract.kinds import PERSON
from graphkb.text.language import HAN
from graphkb.text.segment import tag

_IS = re.compile(r"^是(?P<what>[^是]{4,30})$")
# What somebody finds, rather than what something is.
_OPINION = re.compile(
    r"重要|关键|必要|核心|最|不|之一|基础|保障|体现|难得|真正|首要|目标|责任|重点|方向|趋势|"
    r"焦点|热点|主力|优势|引擎|动力|支柱|底座|抓手|路径|的$|^为|^由|^对|^在"
)
_PERSON = re.compile("(?:人|员|师|长|手|者|主任|经理|教授|总裁|董事|代表|冠军|主席)$")
_PLACED = re.compile(
    rf"^(?P<verb>位于|坐落于|坐落在|地处|总部设在|总部位于|总部在|出生于|生于|成立于|诞生于)(?P<place>[{HAN}A-Za-z]{{2,16}})$"
)
_SCHOOL = re.compile(r"^毕业于(?P<place>.{2,14}(?:大学|学院|中学|学校))$")
_POST = re.compile(r"^(?:现|曾|一直)?(?:担任|任)(?P<post>.{2,20})$")
_UNIT = (
    r"(?:%|％|个百分点|万元|亿元|元|美元|人|名|家|个|席|小时|分钟|秒|天|日|周|个月|年|次|台|套|座|公里|米|"
    r"厘米|毫米|吨|千克|公斤|户|项|件|条|张|GB|MB|TB|Mbps|kW|MW)"
)
_NUMBER = rf"\d[\d,]*(?:\.\d+)?\s*(?:万|亿|千|百|多|余)*\s*{_UNIT}"
_HOW_MUCH = re.compile(
    rf"^(?P<thing>[^，。；：、\d]{{2,24}}?)\s*(?P<verb>为|是|达到|高达|达|共计|合计|总计|约为|增至|降至|升至|"
    rf"提高到|不超过|不低于|同比增长|同比下降|环比增长|环比下降)\s*(?P<about>约|近|超过|超|逾)?\s*(?P<number>{_NUMBER})$"
)
_ANY = frozenset(
    "金额 数量 总额 总数 比例 占比 价格 费用 成本 收入 规模 面积 时间 期限 增速 总量 人数".split()
)
_EQUAL = frozenset("为 是 约为".split())
_REASON = re.compile(
    r"^(?P<what>[^，。；：]{4,40}?)的?(?P<kind>(?:主要|根本|直接)?原因)(?:是|在于|为)(?P<why>[^。；]{4,60})[。；]?$"
)
_BECAUSE = re.compile(
    r"^(?:由于|因为)(?P<why>[^，。；]{4,40})，(?P<what>[^，。；]{5,40})[。；]?$"
    r"|^(?P<so>[^，。；]{5,40})，(?:主要)?(?:是)?(?:因为|由于)(?P<cause>[^。；]{4,60})[。；]?$"
)
_DOES = (
    r"(?:负责|主持|领投|独家投资|研发|维护|运营|承担|设计|主办|承办|提供|创办|创立|牵头|审批|审核|管理|"
    r"签署|承建|收购|生产|执笔|主讲|指挥|接任|出任)"
)
# Words that the tagger takes for verbs and times.
_ALSO_NOUNS = frozenset("收入 支出 预算 日期 投入 产出 负债 补助 亏损 盈利 折旧 摊销 损失".split())
_NOUNS = ("n", "vn", "eng", "j", "l", "x", "an", "k")


def chinese_patterns(sentence: Sentence) -> Iterator[Fact]:
    """Further questions that the sentence answers, beside :func:`facts_zh.chinese_facts`."""
    yield from _why(sentence)
    for clause, start, names in clauses_of(sentence):
        yield from _how_much(sentence, clause, start)
        yield from _by_whom(sentence, clause, start)
        if not names:
            continue
        subject = names[0]
        rest = clause[len(subject.surface) :]
        for query, answer, kind in (
            *_is(subject, rest), *_placed(subject, rest), *_related(names, clause, start)
        ):  # fmt: skip
            yield Fact(query, answer, kind, "zh", subject, "", sentence)


def _is(subject: Name, rest: str) -> Iterator[tuple[str, str, str]]:
    if found := _IS.match(rest):
        what = found["what"]
        if not _OPINION.search(what) and ends_in_noun(what):
            person = subject.type == PERSON or (_PERSON.search(what) and len(subject.surface) < 5)
            word = "谁" if person else "什么"
            yield f"{subject.surface}是{word}？", what, "definition"
    if subject.type == PERSON and (post := _POST.match(rest)) and ends_in_noun(post["post"]):
        yield f"{subject.surface}担任什么职务？", post["post"], "what"


def _placed(subject: Name, rest: str) -> Iterator[tuple[str, str, str]]:
    if found := _PLACED.match(rest):
        if any(flag == "ns" for _, flag, _, _ in tag(found["place"])):
            verb = found["verb"].replace("总部", "的总部")
            yield f"{subject.surface}{verb}哪里？", found["place"], "where"
    elif found := _SCHOOL.match(rest):
        yield f"{subject.surface}毕业于哪所学校？", found["place"], "where"


def _related(names: list[Name], clause: str, start: int) -> Iterator[tuple[str, str, str]]:
    """甲是乙的丙."""
    subject, others = names[0], [name for name in names[1:] if name.type in ASKED]
    for other in others[:1]:
        between = clause[len(subject.surface) : other.start - start]
        behind = clause[other.end - start :]
        if between == "是" and behind.startswith("的") and ends_in_noun(behind):
            query = f"{subject.surface}和{other.surface}是什么关系？"
            yield query, f"{other.surface}{behind}", "relation"


def _how_much(sentence: Sentence, clause: str, start: int) -> Iterator[Fact]:
    found = _HOW_MUCH.match(clause)
    if found is None:
        return
    thing, verb = found["thing"].removeprefix("本").strip(), found["verb"]
    if len(thing) < 2 or thing.startswith(("其中", "与", "较", "比")) or not ends_in_noun(thing):
        return
    asked_for = "是多少" if verb in _EQUAL else f"{verb}多少"
    own = any(n.start == start and n.type in ASKED for n in sentence.names)
    # A document speaks of more than one 金额.
    if not own and thing in _ANY:
        return
    if query := anchored(sentence, f"{thing}{asked_for}？", own):
        yield Fact(query, found["number"], "how much", "zh", None, "", sentence)


def _by_whom(sentence: Sentence, clause: str, start: int) -> Iterator[Fact]:
    """甲由乙负责."""
    for name in sentence.names:
        first, last = name.start - start, name.end - start
        if name.type not in ASKED or first < 3 or last > len(clause):
            continue
        before, behind = clause[:first], clause[last:]
        if before.endswith("由") and re.match(_DOES, behind) and len(behind) < 14:
            own = any(n.start == start for n in sentence.names)
            if query := anchored(sentence, f"{before}{asked(name)}{behind}？", own):
                yield Fact(query, name.surface, "who", "zh", name, "", sentence)


def _why(sentence: Sentence) -> Iterator[Fact]:
    text = sentence.text.strip()
    named = any(name.start == 0 for name in sentence.names)
    if found := _REASON.match(text):
        query, why = f"{found['what']}的{found['kind']}是什么？", found["why"]
    elif found := _BECAUSE.match(text):
        what, why = found["what"] or found["so"], found["why"] or found["cause"]
        named = any(what.startswith(name.surface) for name in sentence.names)
        query = f"为什么{what}？"
    else:
        return
    if POINTING.search(query) or re.search(r"[*|$\\]", text):
        return
    if query := anchored(sentence, query, named):
        yield Fact(query, why, "why", "zh", None, "", sentence)


def anchored(sentence: Sentence, query: str, names_it: bool) -> str:
    """The question with the document's title where no name in it tells what it is about; empty
    where the title does not tell either."""
    if names_it:
        return query
    return f"根据《{sentence.title}》，{query}" if sentence.title else ""


def ends_in_noun(text: str) -> bool:
    """Whether the last word of a Chinese text names something."""
    words = tag(text)
    return bool(words) and (words[-1][1].startswith(_NOUNS) or words[-1][0] in _ALSO_NOUNS)
