"""What a question names: people, things and places, codes, numbered things, years."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from graphkb.extract import han, latin
from graphkb.query.owners import owning_organisations
from graphkb.text.language import HAN, has_han
from graphkb.text.periods import is_of_periods
from graphkb.text.segment import STOP_WORDS, is_word, tag

Kind = Literal["name", "code", "numbered", "year"]

# E1043, INC-2025-014, INC 2025-014, rate_limit_check.
_CODE = re.compile(
    r"\b[A-Z]{2,6} \d{2,}(?:-\d+)+(?![\w-])|"
    r"(?<![\w.\-])(?=[\w.\-/]*[A-Za-z])(?:(?=[\w.\-/]*\d)[A-Za-z0-9]+(?:[._\-/][A-Za-z0-9]+)*"
    r"|[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+)(?![A-Za-z0-9])",
    re.ASCII,
)
_ORDINAL = re.compile(r"\d+(?:st|nd|rd|th|s|[AaPp]m|[KkMG]?[Bb]|[KMkmG]|x)|\d+(?:/\d+)+", re.ASCII)
# Room 17, Supplier No. 3.
_ENGLISH = re.compile(r"\b([A-Za-z]{3,})(?: [Nn]o\.?| #)? ?(?<![A-Za-z])(\d{1,5})\b(?![.,]?\d|%)")
_NUMERAL = "0-9０-９零〇一二三四五六七八九十百"
# 第三届, E轮, 9号线; “三期” of something and “一期” are names, too.
_CHINESE = re.compile(
    rf"第?(?:[A-Za-z]|[{_NUMERAL}]+)(?:轮|届|章|号线|号楼|号井|号机|栋)|第[{_NUMERAL}]+期"
)
# 浦渔0388
_HAN_NUMBER = re.compile(
    rf"([{HAN}]{{2}})-?(\d{{2,5}})(?![\d.%％年月日元万亿千百个人位家件台套条次天倍张米公吨度分小秒名户部页项种多])"
)
_YEAR = re.compile(r"(?<![\d.\-])((?:1[89]|20)\d\d)(?=年|\b)(?![.\-]\d|[%％元])")
# 2009年岚川市: the tagger takes 年 for a part of the name.
_DATED = re.compile("[0-9][年月日号届]")
_NOUNS = frozenset({"n", "nr", "ns", "nt", "nz", "nrt", "x", "j", "ng", "zg"})
_PROPER = frozenset({"nr", "ns", "nt", "nrt", "nrfg"})
_UNKNOWN = _PROPER | {"nz", "n", "j"}
# Everyday words that the dictionary takes for names.
_NO_NAMES = frozenset("城市 汤圆 哥哥 外国 上市 科普 全自动".split())
# Words that make a name of what stands before them, and tell whose it is (蓝鲸/科技).
_HEADS = frozenset(
    "科技 汽车 银行 保险 软件 资本 医院 大学 学院 中学 煤矿 证券 基金 电子 钢铁 航空 机械".split()
)
# What asks for things of a kind, which is no name then.
_WHICH = re.compile("(?:哪些|哪种|哪几[个种项]|哪类|什么|何种|多少[个种项]?|几[个种项])\\Z")
# Words in Latin letters that make a question no Chinese one, and the longest name in one.
_LATIN_WORD = re.compile("[A-Za-z]+")
_HAN_RUN = re.compile(f"[{HAN}]{{2,}}")
_LATIN_WORDS, _LONGEST_RUN = 3, 12
# First letters of the flags of what may stand behind a surname.
_BEHIND = "nageivj"
# What closes or opens a question, taken for a part of the name beside it: 张三/是, 文/是.
_CLOSED = re.compile(r"[是的吗呢吧]+\Z|\A[是的]+")
# Characters that build phrases, not names: 那/座, 有/个, 拿/过.
_BUILT = re.compile(
    "[那哪这有个过上下里内中外前后时要会能可更最之与和或为被把给替对向从由到进出来去做换改管盖每某各只又再还也不没人方]"
)
_RARE = frozenset({"nr", "g", "zg", "ng", "ns"})
# Words before a number that name no series: Windows of time, measures, months.
_PLAIN = (
    STOP_WORDS
    | latin.FUNCTION_WORDS
    | frozenset(
        "last next past top least over under around almost nearly year years per than only "
        "exactly approximately version costs cost pay paid spring summer autumn winter".split()
    )
)


@dataclass(frozen=True)
class AskedName:
    """A name as it is written in the question. Of a numbered thing ``series`` is what is counted
    (Room) and ``number`` which one (17). Not ``sure`` is a short Chinese word that the
    dictionary does not know: a name, or two words that were taken for one."""

    text: str
    kind: Kind
    sure: bool = True
    series: str = ""
    number: str = ""


def asked_names(question: str) -> list[AskedName]:
    """The names of a question in their order, none inside another.

    >>> [(n.text, n.kind) for n in asked_names("Who gave Room 17 to Ada Lin under INC-25-014?")]
    [('Room 17', 'numbered'), ('Ada Lin', 'name'), ('INC-25-014', 'code')]
    >>> [(n.text, n.kind) for n in asked_names("青石谷E轮是谁领投的？")]
    [('E轮', 'numbered')]
    """
    found: dict[tuple[int, int], AskedName] = {}
    for start, end, name in (*_codes(question), *_numbered(question), *_names(question)):
        if not any(start < b and a < end for a, b in found):
            found[start, end] = name
    for match in _YEAR.finditer(question):
        start, end = match.span(1)
        if not any(start < b and a < end for a, b in found):
            found[start, end] = AskedName(match.group(1), "year")
    return [found[place] for place in sorted(found)]


def _codes(question: str) -> Iterator[tuple[int, int, AskedName]]:
    for match in _CODE.finditer(question):
        if not _ORDINAL.fullmatch(match.group()) and len(match.group()) > 2:
            yield *match.span(), AskedName(match.group(), "code")


def _numbered(question: str) -> Iterator[tuple[int, int, AskedName]]:
    for match in _ENGLISH.finditer(question):
        series, number = match.groups()
        if series.lower() not in _PLAIN and not _YEAR.fullmatch(number):
            yield *match.span(), AskedName(match.group(), "numbered", True, series, number)
    for match in _CHINESE.finditer(question):
        yield *match.span(), AskedName(match.group(), "numbered")
    if not has_han(question):
        return
    flags = {end: flag for _, flag, _, end in tag(question)}
    for match in _HAN_NUMBER.finditer(question):
        series, number = match.groups()
        if flags.get(match.end(1), "x") in _NOUNS:
            yield *match.span(), AskedName(match.group(), "numbered", True, series, number)


def _names(question: str) -> Iterator[tuple[int, int, AskedName]]:
    """Capitalised, quoted and Chinese names, the longest first."""
    spans = {*latin.quoted_spans(question), *latin.name_spans(question)}
    doubtful: set[tuple[int, int]] = set()
    if has_han(question):
        found = [
            (start + (_DATED.match(question, start - 1) is not None), end)
            for start, end, flag in han.name_spans(question)
            if flag != "nz" and not _DATED.search(question, start, end)
        ]
        found += owning_organisations(question)
        found += _han_runs(question)
        doubtful.update(span for span in _han_words(question) if span not in found)
        spans |= {*found, *doubtful}
        spans = {span for span in spans if not _is_asked_for(question, *span)}
    # Of "Austar and Traveland" the two sides are spans of their own.
    spans -= {(a, b) for a, b in spans if any(a == c and d < b for c, d in spans)
              and re.search(r" (?:and|&) ", question[a:b])}  # fmt: skip
    for start, end in sorted(spans, key=lambda span: (span[0] - span[1], span)):
        text, doubted = question[start:end], (start, end) in doubtful
        if all(map(is_of_periods, text.lower().split())):
            continue
        if not is_word(text):
            text = _CLOSED.sub("", text)
            start = question.index(text, start)
            end = start + len(text)
        if len(text) < 2:
            continue
        sure = not doubted or len(text) > 2 or is_word(text)
        if text not in _NO_NAMES:
            yield start, end, AskedName(text, "name", sure)


def _han_runs(question: str) -> list[tuple[int, int]]:
    """The Chinese in a question that is written in Latin letters: it names something."""
    if len(_LATIN_WORD.findall(question)) < _LATIN_WORDS:
        return []
    runs = [match.span() for match in _HAN_RUN.finditer(question)]
    return runs if sum(end - start for start, end in runs) <= _LONGEST_RUN else []


def _is_asked_for(question: str, start: int, end: int) -> bool:
    """Whether a word of the dictionary is what a question asks for: 荣耀 in 哪些荣耀."""
    return _WHICH.search(question, 0, start) is not None and is_word(question[start:end])


def _han_words(question: str) -> Iterator[tuple[int, int]]:
    """Words that no dictionary knows (邝砚秋), names that it does (马尔代夫), and a surname or
    another rare character with what stands behind it (屠呦呦)."""
    words = tag(question)
    for place, (word, flag, start, end) in enumerate(words):
        if not has_han(word):
            continue
        if len(word) > 1:
            known = is_word(word)
            built = not known and _BUILT.search(word)
            if flag in (_PROPER if known else _UNKNOWN) and not built:
                yield start, end
                if place + 1 < len(words) and words[place + 1][0] in _HEADS:
                    yield start, words[place + 1][3]
        elif flag in _RARE and place + 1 < len(words):
            following, other, first, last = words[place + 1]
            pair = word + following
            if first == end and other[0] in _BEHIND and has_han(pair) and not _BUILT.search(pair):
                after = words[place + 2] if place + 2 < len(words) else ("", "", 0, 0)
                twin = after[0] == following and len(following) == 1
                yield start, after[3] if twin else min(last, first + 2)
