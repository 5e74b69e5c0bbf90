"""What stands above a text unit: its document's title and its headings."""

from __future__ import annotations

import re

SEPARATOR = " › "
_DISAMBIGUATION = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*\Z")
_COPY_NUMBER = re.compile(r"\s*[(（]\d{1,3}[)）]\s*\Z")
# What a context has that holds more than one bare name.
_MORE_THAN_A_NAME = re.compile(r"[(（›\n]|, ")
_NUMBERING = re.compile(
    r"\A\s*(?:#+\s*|第[一二三四五六七八九十百\d]+[章节篇部分条]+[、.：:\s]*"
    r"|[（(][一二三四五六七八九十\d]{1,3}[）)][、.\s]*|[一二三四五六七八九十]{1,3}、\s*"
    r"|\d+(?:\.\d+)*[、.)）]?\s+)"
)


def parts(context: str) -> list[str]:
    """Title and headings, outermost first; the headings without numbering. Only the first line
    of a context holds them.

    >>> parts("12 Monkeys › 一、经营情况 › 1.2 收入")
    ['12 Monkeys', '经营情况', '收入']
    """
    title, *headings = context.partition("\n")[0].split(SEPARATOR)
    cleaned = [title.strip(), *(_NUMBERING.sub("", part).strip() for part in headings)]
    return [part for part in cleaned if part]


def title_names(context: str) -> list[str]:
    """The document's title and the shorter name it contains, full name first.

    A number in brackets at the end tells copies apart and is no part of the name; words in
    brackets, and in English what follows a comma, tell namesakes apart.

    >>> title_names("Hello Love (song)"), title_names("Canon law (2) › History")
    (['Hello Love (song)', 'Hello Love'], ['Canon law'])
    >>> title_names("McRae, Arkansas"), title_names("苹果（公司）")
    (['McRae, Arkansas', 'McRae'], ['苹果（公司）', '苹果'])
    """
    if not _MORE_THAN_A_NAME.search(context):
        name = context.strip()
        return [name] if name else []
    above = parts(context)
    if not above:
        return []
    title = _COPY_NUMBER.sub("", above[0]) or above[0]
    names = [title]
    short = _DISAMBIGUATION.sub("", title)
    if short and short != title:
        names.append(short)
    place, comma, rest = short.partition(", ")
    if comma and place and rest and rest[0].isupper() and len(place.split()) <= 5:
        names.append(place)
    return names
