"""Sentences about another kind of what is asked: 产假 for 陪产假, the vice chairman for the
chairman, the chair of a committee for that of the board.

A bag of words takes one for the other, since the longer name holds the words of the shorter.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Set
from dataclasses import dataclass
from functools import lru_cache

from graphkb.text.language import has_han
from graphkb.text.segment import STOP_WORDS, is_word, stem, tag

ASKED, UNKNOWN, LESS, OTHER = 1, 0, -1, -2
"""How a sentence fits: it has what is asked; that is not told; it has another kind, which may
still be of use; it has another thing altogether."""

# What stands before a word and makes another thing of it, and what makes another kind.
_THING = frozenset("陪 非 副 vice deputy assistant non".split())
_KIND = frozenset("净 毛 子 分 母 前 原 名誉 net gross former ex acting honorary".split())
# A character that only before some words makes another kind: 前 and 分 stand in many others.
_BEFORE = {
    **dict.fromkeys("子分母", re.compile("公司|机构|集团|银行")),
    **dict.fromkeys("净毛", re.compile("利润?|利率|资产|收入|收益|亏损|额|值|现金流")),
    **dict.fromkeys(("前", "原", "名誉", "副"), re.compile(".*[长席理裁监任事记官]")),
}
# Kinds of one thing of which each excludes the others, but not what is said of all of them.
_SORTS = frozenset("paternity maternity parental adoption".split())
_LATIN = re.compile(r"[A-Za-z]+")
_MARKS = sorted(_THING | _KIND | _SORTS, key=lambda mark: (-len(mark), mark))
_LATIN_MARKS = [mark for mark in _MARKS if mark.isascii()]
_HAN_MARKS = [mark for mark in _MARKS if has_han(mark)]
_MARKED = re.compile(
    rf"\b(?:{'|'.join(filter(str.isascii, _MARKS))})\b|{'|'.join(_HAN_MARKS)}", re.IGNORECASE
)
_NOUNS = ("n", "l", "j")

_CHAIR = re.compile(r"\bchair(?:s|ed|man|men|woman|women|person)?\b|主席|董事长", re.IGNORECASE)
_BODY = re.compile(
    r"\b(?:sub-?committees?|committees?|panels?|working groups?|council)\b"
    r"|委员会|监事会|工会|小组|协会",
    re.IGNORECASE,
)
_BOARD = re.compile(
    r"\bchair(?:ed|man|men|woman|women|person)?\b[^.;]{0,30}\bboard\b(?! committee)"
    r"|\bboard\b(?! committee)[^.;]{0,30}\bchair(?:ed|man|men|woman|women|person)?\b"
    r"|\bchair(?:man|woman|person)?\b(?= of (?:the )?(?:company|group))|(?<!副)董事长|董事会主席",
    re.IGNORECASE,
)

# What asks for an earlier post, what tells of one, and the words of the question for it.
_FORMERLY = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|earlier)\b|\bwork(?:ed)? before\b"
    "|曾任|曾经?担任|曾经?在|任职|供职|就职|以前|历任",
    re.IGNORECASE,
)
_WAS = re.compile(
    r"\b(?:formerly|previously|came from|joined from|had (?:been|worked)|used to (?:work|be))\b"
    "|曾任|曾经?担任|曾经?在|任职|供职|就职|历任|先后担任|原任",
    re.IGNORECASE,
)
_POST = re.compile(
    r"\b(?:previous(?:ly)?|former(?:ly)?|earlier|work(?:ed)?|jobs?|posts?|positions?|employers?)\b"
    "|曾任|曾经|担任|任职|供职|就职|职务|职位|任|曾",
    re.IGNORECASE,
)


def may_fit(question: str, text: str) -> bool:
    """Whether :func:`kind_fit` and :func:`same_words` can say anything of a sentence: of most they
    cannot, and this costs less."""
    asks = _asks(question)
    return asks.is_marked or bool(asks.chair or asks.post or asks.named) or _is_marked(text)


def _is_marked(text: str) -> bool:
    folded = text.lower()
    for mark in _LATIN_MARKS if folded.isascii() else _MARKS:
        if mark in folded:
            return _MARKED.search(text) is not None
    return False


def kind_fit(question: str, text: str, above: str = "", *, direct: bool = False) -> int:
    """One of the four for a sentence that stands below ``above``. Only a ``direct`` question for
    the chairman has no use at all for what is said of the vice chairman.

    >>> kind_fit("陪产假有几天？", "产假为98天。"), kind_fit("陪产假有几天？", "陪产假为15天。")
    (-2, 1)
    >>> said = "The vice chairman is Bo."
    >>> [kind_fit("Who is the chairman?", said, direct=direct) for direct in (True, False)]
    [-2, -1]
    >>> kind_fit("What was the revenue?", "Net revenue was 7."), kind_fit("Who left?", "Bo did.")
    (-1, 0)
    """
    asks = _asks(question)
    if any(asked & _marks(above, head) for head, asked in asks.named):
        return ASKED
    fits = [UNKNOWN]
    if asks.is_marked or _is_marked(text):
        fits += (_fit(asked, _marks(text, head), direct) for head, asked in asks.nouns.items())
    if OTHER in fits:
        return OTHER
    if LESS in fits or _is_of_another_body(asks, text):
        return LESS
    return max(fits)


def _fit(asked: Set[str], marks: Set[str], direct: bool) -> int:
    if not marks or asked & marks:
        return ASKED if (asked & marks) - {""} else UNKNOWN
    if asked & _THING or (direct and marks & _THING) or (asked & _SORTS and marks & _SORTS):
        return OTHER
    return LESS


@dataclass(frozen=True)
class _Asks:
    """What a question asks for: its nouns, each with what stands before it, which of them have
    anything before them, and the stems by which it asks for a chair and for an earlier post."""

    nouns: Mapping[str, frozenset[str]]
    named: tuple[tuple[str, frozenset[str]], ...]
    is_marked: bool
    chair: frozenset[str]
    post: frozenset[str]
    of_body: bool


@lru_cache(maxsize=16)
def _asks(question: str) -> _Asks:
    nouns = _asked(question)
    named = tuple((head, marks - {""}) for head, marks in nouns.items() if marks - {""})
    post = _POST.findall(question) if _FORMERLY.search(question) else []
    return _Asks(
        nouns,
        named,
        _MARKED.search(question) is not None,
        frozenset(stem(word.lower()) for word in _CHAIR.findall(question)),
        frozenset(stem(word.lower()) for word in post),
        _BODY.search(question) is not None,
    )


def _asked(question: str) -> dict[str, frozenset[str]]:
    """The nouns of a question, each with what stands before it; empty where nothing does."""
    found: dict[str, frozenset[str]] = {}
    if has_han(question):
        for word, flag, _, _ in tag(question):
            marked = word[0] in _MARKS and _makes(word[0], word[1:]) and is_word(word[1:])
            head = word[1:] if marked else word
            if len(head) > 1 and has_han(head) and flag.startswith(_NOUNS):
                found[head] = frozenset(_marks(question, head))
    for word in _LATIN.findall(question):
        head = word.lower()
        if len(head) > 2 and head not in STOP_WORDS | _THING | _KIND | _SORTS:
            found[head] = frozenset(_marks(question, head))
    return found


def _marks(text: str, head: str) -> Set[str]:
    """What stands before a word wherever it stands in a text; empty text where nothing does."""
    if has_han(head):
        return _han_marks(text, head) if head in text else frozenset()
    wanted = stem(head)
    if wanted[:4] not in (folded := text.lower()):
        return frozenset()
    words = _LATIN.findall(folded)
    return {
        words[place - 1] if place and words[place - 1] in _MARKS else ""
        for place, word in enumerate(words)
        if stem(word) == wanted
    }


def _han_marks(text: str, head: str) -> Set[str]:
    before = {
        match.start(): next(filter(text[: match.start()].endswith, _HAN_MARKS), "")
        for match in re.finditer(re.escape(head), text)
    }
    before = {place: mark if _makes(mark, head) else "" for place, mark in before.items()}
    if not any(before.values()):
        return {""} if before else frozenset()
    # 前 in 目前 and 子 in 电子 are no marks: words begin where a mark does.
    starts = {start for _, _, start, _ in tag(text)}
    return {mark if place - len(mark) in starts else "" for place, mark in before.items()}


def _makes(mark: str, head: str) -> bool:
    """Whether a mark before a Chinese word makes another thing of it."""
    return mark not in _BEFORE or _BEFORE[mark].match(head) is not None


def same_words(question: str, text: str) -> frozenset[str]:
    """The stems by which the question asks for the chair of a company, or for where somebody was
    before, where a text tells of that in whatever words.

    >>> sorted(same_words("Who chairs Acme?", "The chairman of the board is Bo."))
    ['chair']
    >>> sorted(same_words("赵明曾任什么职务？", "赵明历任厂长、经理。"))
    ['曾任', '职务']
    """
    asks = _asks(question)
    found = frozenset[str]()
    if asks.chair and not asks.of_body and _BOARD.search(text):
        found |= asks.chair
    if asks.post and _WAS.search(text):
        found |= asks.post
    return found


def _is_of_another_body(asks: _Asks, text: str) -> bool:
    """Whether a sentence is about the chair of a committee, where that of a company is asked, or
    the other way round."""
    if not (asks.chair and _CHAIR.search(text)):
        return False
    if asks.of_body:
        return not _BODY.search(text)
    return bool(_BODY.search(text) and not _BOARD.search(text))


def excludes_others(question: str) -> bool:
    """Whether the question asks for a thing whose name is that of another one with a word before
    it: then nothing that is said of the other one answers it.

    >>> excludes_others("陪产假有几天？"), excludes_others("产假有几天？")
    (True, False)
    """
    return any(marks & (_THING | _SORTS) for _, marks in _asks(question).named)
