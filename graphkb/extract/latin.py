"""Names in text of Latin, Greek and Cyrillic script: capitalised spans, quotations and codes.

Chinese, Japanese and Korean characters end a span, so the functions may be run on mixed text.
"""

from __future__ import annotations

import re

_LETTER = r"[^\W_\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff66-\uff9f]"
_TOKEN = re.compile(rf"{_LETTER}+(?:['’.\-&/_+]{_LETTER}+)*(?:\+\+|#|\.(?=\s*[A-Z,]))?")
_QUOTED = re.compile(r"[\"“]\s?([^\"“”\n]{2,60}?)\s?[\"”]|(?<![\w'])'([A-Z][^'\n]{1,50})'(?!\w)")
_CODE = re.compile(
    rf"(?<![\w.\-])(?:[A-Za-z]+(?:_[A-Za-z0-9]+)+"
    rf"|[A-Z]{{1,6}}(?:-[A-Z]{{1,6}}){{0,2}}-?\d{{2,}}[A-Za-z0-9]*(?:-[A-Z0-9]+)*"
    rf"|\d{{1,2}}[A-Z][A-Za-z]?(?:-[A-Z]\w*)?|[A-Za-z]\+\+|[A-Z]#)(?!{_LETTER})"
)
_MONTHS = (
    "january february march april may june july august september october november december "
    "monday tuesday wednesday thursday friday saturday sunday"
).split()
_DATE = re.compile(rf"(?:\d{{1,2}}\s+)?(?:{'|'.join(_MONTHS)})(?:\s+\d+)*\Z", re.IGNORECASE)

# Q2 2024, 2024 H1, FY2024, March 2024, 5 March 2024: a period at an end of a name is none of it;
# a year alone may be (World Cup 2022, 2024 Summer Olympics).
_YEAR = r"(?:19|20)\d\d"
_MONTH = rf"(?:{'|'.join(_MONTHS[:12])}|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\.?"
_PERIOD = (
    rf"(?:[QH][1-4] {_YEAR}|{_YEAR} ?[QH][1-4]|[QH][1-4]{_YEAR}|FY ?\d{{2,4}}|{_MONTH} {_YEAR})"
)
_PERIOD_BEFORE = re.compile(rf"(?:{_PERIOD} )+", re.IGNORECASE)
_YEAR_BEFORE, _PART_BEFORE = re.compile(rf"\b{_YEAR} \Z"), re.compile("[QH][1-4] ")
_PERIOD_BEHIND = re.compile(rf"(?: (?:\d{{1,2}} )?{_PERIOD})+\Z", re.IGNORECASE)
_FEAST = re.compile(r"(?:Christmas|Easter|Spring|Summer|Autumn|Winter|Q[1-4]) \d{2,4}")
_CURRENCIES = frozenset("GBP USD EUR CNY RMB JPY HKD CHF AUD CAD SEK NOK DKK INR KRW TWD".split())
_UNITS = frozenset("MW KW GW MWh kWh GWh MB GB KB TB MHz GHz kHz DPI Mbps Gbps UTC".split())
_ARTICLES = frozenset({"the", "a", "an", "this"})

_KEEPS_DOT = re.compile(r"(?:\b[A-Z]|[JS]r|Inc|Co|Ltd)\.\Z")

_USED_AS_NAME = re.compile(
    r"['’]s\b|\s*[(（]|,? (?:is|was|are|were|has|had|also|became|died|lived|played|served|won)\b"
)

#: Lower-case words that may stand inside a name.
CONNECTORS = frozenset(
    (
        "of the de la le du des van von der den and & for del da di al el ibn bin y e zu ter "
        "dos und et"
    ).split()
)
#: Words that begin sentences, so that a capital says nothing; never a name by themselves.
FUNCTION_WORDS = frozenset(
    (
        "a an the of in on at to for from by with and or nor but as that this these those it "
        "its his her their our my your he she they we you i who whom whose which what when "
        "where why how is are was were be been being do does did has have had not no than then "
        "there here into about after before during between over under however although though "
        "while since despite also many most some several one two three four five six first "
        "second third other another both such each every any all if because thus therefore "
        "hence later early earlier following according additionally furthermore moreover among "
        "within until unlike like once upon only just still even more less much very often "
        "sometimes today currently originally besides besides whether so yet too again "
        "meanwhile instead note see name list part is're can could may might shall should will "
        "would must nobody nothing anyone someone everyone everything let mr mrs ms dr"
    ).split()
) | frozenset(_MONTHS)
#: Verbs that open an instruction; before a name they are not part of it.
_IMPERATIVES = frozenset(
    "ask call check close confirm contact inform open order press read reduce report restart run "
    "select send set start stop tell use wait write add remove install replace notify".split()
)
_JOINS = frozenset({"and", "&", "for"})

Token = tuple[int, int, str]


def starts_name(word: str) -> bool:
    """True when the word is written like a name: a capital first, or a digit then a capital."""
    return word[0].isupper() or (word[0].isdigit() and any(c.isupper() for c in word))


def name_spans(sentence: str) -> list[tuple[int, int]]:
    """Spans of capitalised names in one sentence, sorted, with the parts of compound names.

    ``University of Kansas`` also gives ``Kansas``; lists joined by ``and`` give their members.
    Dates, single capital letters, and a sentence's first word where nothing else says that it
    is a name, are left out.

    >>> text = "He met Ada Lin and Bob in the University of Kansas."
    >>> [text[a:b] for a, b in name_spans(text)]
    ['Ada Lin', 'Bob', 'University of Kansas', 'Kansas']
    """
    if _is_capitals(sentence):
        return []
    tokens = [(m.start(), m.end(), m.group()) for m in _TOKEN.finditer(sentence)]
    spans: set[tuple[int, int]] = set()
    position = 0
    while position < len(tokens):
        if not starts_name(tokens[position][2]):
            position += 1
            continue
        last = _run_end(sentence, tokens, position)
        for group in _with_parts(tokens[position : last + 1]):
            span = _trimmed(sentence, group) if group else None
            if span is not None:
                spans.add(span)
        position = last + 1
    starts = [token[0] for i, token in enumerate(tokens) if _is_opener(sentence, token, i == 0)]
    for start in starts:
        opening = {span for span in spans if span[0] == start}
        if len(opening) == 1:
            spans -= {span for span in opening if not _opens(sentence, *span)}
    return sorted(spans)


def _is_capitals(sentence: str) -> bool:
    """True for a heading in capitals, where a capital says nothing; not for acronyms."""
    words = re.findall(r"[^\W\d_]+", sentence)
    longest = max(map(len, words), default=0)
    return sentence.isupper() and (longest > 5 or (longest == 5 and len(words) > 2))


def _is_opener(sentence: str, token: Token, first: bool) -> bool:
    """True for the first word of a sentence and of a table cell of several words."""
    if "|" not in sentence:
        return first
    before, after = sentence[: token[0]].rstrip(" *_"), sentence[token[1] :].lstrip(" *_")
    return before.endswith("|") and not after.startswith("|")


def _opens(sentence: str, start: int, end: int) -> bool:
    """Whether a span that opens a sentence is a name: several words, a code, or used as one."""
    word = sentence[start:end]
    if " " in word or not word.isalpha() or word.isupper():
        return True
    return _USED_AS_NAME.match(sentence, end) is not None or word in sentence[end:]


def _run_end(sentence: str, tokens: list[Token], first: int) -> int:
    """Index of the last name word of the run that starts at ``first``."""
    last = position = first
    while position + 1 < len(tokens):
        word = tokens[position + 1][2]
        gap = sentence[tokens[position][1] : tokens[position + 1][0]]
        if gap.strip() or "\n" in gap:
            break
        number = word[0].isdigit() and len(word) <= 4 and position == last
        if starts_name(word) or number:
            last = position + 1
        elif not (word.lower() in CONNECTORS and position + 1 - last <= 2):
            break
        position += 1
    return last


def _with_parts(run: list[Token]) -> list[list[Token]]:
    """The run, or the sides of each ``and`` and ``for``; with each, what stands around ``of``.

    Sides of one word each stay together too, as in ``Tom and Jerry``.
    """
    joins = [i for i, token in enumerate(run) if token[2].lower() in _JOINS]
    if joins:
        sides = [run[i + 1 : j] for i, j in zip([-1, *joins], [*joins, len(run)], strict=True)]
        groups = [group for side in sides for group in _with_parts(side)]
        return [*groups, run] if all(len(side) == 1 for side in sides) else groups
    groups = [run]
    for i, token in enumerate(run):
        if token[2].lower() == "of" and 0 < i < len(run) - 1:
            groups.append(run[i + 1 :])
            if i > 1:  # "Battle" of "Battle of Mine Creek" names nothing
                groups.append(run[:i])
    return groups


def _trimmed(sentence: str, group: list[Token]) -> tuple[int, int] | None:
    """The span of a group without function words at its ends; None when nothing is left."""
    first, last = 0, len(group)
    while first < last and (
        group[first][2].lower() in FUNCTION_WORDS
        or (first and group[first][2].isdigit() and group[first - 1][2].lower() not in _ARTICLES)
    ):
        first += 1  # "In 2017 Ada Lin", but "The 1920 Summer Olympics"
    verb = last - first > 1 and group[first][2].lower() in _IMPERATIVES
    if verb and _opens_cell(sentence, group):
        first += 1  # "Ask Marine Operations"
    while last > first and not (starts_name(group[last - 1][2]) or group[last - 1][2][0].isdigit()):
        last -= 1
    if first == last:
        return None
    start, end = group[first][0], group[last - 1][1]
    if sentence[end - 1] == "." and not _KEEPS_DOT.search(sentence, start, end):
        end -= 1
    text = sentence[start:end]
    if text.endswith(("'s", "’s")):
        end -= 2
        text = text[:-2]
    start, end = _without_periods(sentence, start, end)
    text = sentence[start:end]
    if len(text) < 2 or _DATE.fullmatch(text) or not any(c.isalpha() for c in text):
        return None
    if text in _UNITS or text.split()[0] in _CURRENCIES or _FEAST.fullmatch(text):
        return None
    return start, end


def _without_periods(sentence: str, start: int, end: int) -> tuple[int, int]:
    """The span of a name without the months and quarters at its ends; what a word such as "of"
    joins to it is a part of it (Winter Storm of January 2000)."""
    before = _PERIOD_BEFORE.match(sentence, start, end)
    if before is None and _YEAR_BEFORE.search(sentence, 0, start):
        before = _PART_BEFORE.match(sentence, start, end)
    if before:
        start = before.end()
    behind = _PERIOD_BEHIND.search(sentence, start, end)
    if behind is None:
        return start, end
    last = sentence[start : behind.start()].rpartition(" ")[2].lower()
    if last in CONNECTORS:
        return start, end
    cut = behind.start() - (len(last) + 1 if last in FUNCTION_WORDS else 0)
    return start, max(start, cut)


def _opens_cell(sentence: str, group: list[Token]) -> bool:
    """True where a group begins a sentence, a list item, a table cell or a part after ``;``."""
    before = sentence[: group[0][0]].rstrip(" *_#>-")
    return not before or before[-1] in "|;.:!?"


def quoted_spans(text: str) -> list[tuple[int, int]]:
    """Spans inside quotation marks that are written like titles, without the marks.

    >>> text = 'She sang "Thinking Out Loud" and said "that is all".'
    >>> [text[a:b] for a, b in quoted_spans(text)]
    ['Thinking Out Loud']
    """
    spans = []
    for match in _QUOTED.finditer(text):
        group = 1 if match.group(1) is not None else 2
        start, end = match.span(group)
        while end > start and text[end - 1] in ",.;:!? ":
            end -= 1
        words = _TOKEN.findall(text[start:end])
        if " / " in text[start:end]:
            continue  # a credit line, a path
        if 1 <= len(words) <= 10 and sum(map(starts_name, words)) * 2 >= len(words):
            spans.append((start, end))
    return spans


def code_spans(text: str) -> list[tuple[int, int]]:
    """Spans of identifiers: error codes, environment variables, versions such as 5G, C++.

    >>> text = "E1043 出现时检查 NO_PROXY 和 rate_limit_check，C++ 与 5G 也一样。"
    >>> [text[a:b] for a, b in code_spans(text)]
    ['E1043', 'NO_PROXY', 'rate_limit_check', 'C++', '5G']
    """
    return [match.span() for match in _CODE.finditer(text)]
