"""Lines of plain text that are headings though nothing marks them as such."""

from __future__ import annotations

import re
from collections.abc import Sequence

from graphkb.text.language import has_han
from graphkb.text.table_head import is_caption

_LONGEST, _LONGEST_HAN = 80, 40
# Lines below it, blank ones aside, of which one must be a sentence or a row.
_BELOW = 3
# Headings that stand directly below each other.
_ABOVE = 3
_ENDS = tuple('.。!！?？;；…:：,，、)）”"')
_NUMBERING = re.compile(
    r"(?:第?[\d一二三四五六七八九十]{1,3}(?:[.、．章节条)）]|(?:\.\d{1,2})+\.?)|[(（][\d一二三四五六七八九十]{1,3}[)）]"
    r"|(?:chapter|section|part|appendix)\s+[\dIVXA-D]+\b[.:]?)\s*",
    re.IGNORECASE,
)
_ITEM = re.compile(r"[-*+•·>|\[{<`~=_\\]|https?:|\d{1,3}\s")
_LABELLED = re.compile(r"\S\s*[:：=]\s*\S")
_PERIOD = re.compile(
    r"\b(?:fy|q[1-4]|h[12])\b|(?:19|20)\d\d|第?[一二三四1-4]季度?|\d{1,2}月", re.IGNORECASE
)
# A line with a verb says something, even without a full stop.
_VERB = re.compile(
    r"\b(?:is|are|was|were|be|been|has|have|had|does|do|did|will|would|can|could|may|must|should|"
    r"shall)\b|[是为有由于在被将把]",
    re.IGNORECASE,
)


def is_headline(lines: Sequence[str], at: int) -> bool:
    """Whether a line is the heading of what stands below it: short, no sentence, without figures
    but for its number and the period it is about, and above a sentence or a table.

    >>> lines = ["Letter of the chairman", "Ada Lin leads the company.", "三、股东情况", "共9户。"]
    >>> [is_headline(lines, at) for at in range(4)]
    [True, False, True, False]
    """
    if not _is_short_title(lines[at].strip()):
        return False
    # Below a line that is none it is the end of what that says, or one of a list of scraps.
    above = [line.strip() for line in reversed(lines[max(0, at - _ABOVE) : at])]
    first = next((line for line in above if not _is_short_title(line)), "")
    if first and not first.endswith(_ENDS) and not first.startswith("#"):
        return False
    below = [line.strip() for line in lines[at + 1 : at + 1 + 2 * _BELOW] if line.strip()][:_BELOW]
    for line in below:
        if line[0].islower():
            return False
        if line.startswith("|") or line.endswith(_ENDS):
            return True
        if not _is_short_title(line):
            return False
    return False


def _is_short_title(line: str) -> bool:
    if is_caption(line):
        return True
    if not line or line.endswith(_ENDS) or line.startswith("#"):
        return False
    numbering = _NUMBERING.match(line)
    text = line[numbering.end() :] if numbering else line
    if not text or _ITEM.match(text) or _LABELLED.search(text) or _VERB.search(text):
        return False
    if any(sign.isdecimal() for sign in _PERIOD.sub("", text)):
        return False
    if has_han(text):
        return len(text) <= _LONGEST_HAN and not any(sign in text for sign in "，。；")
    return len(text) <= _LONGEST and text[0].isupper()
