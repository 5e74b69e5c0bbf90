"""Questions that are no sentence, as the clause they were made from was cut wrongly or is none."""

from __future__ import annotations

import re

_BRACKETS = ("“”", "《》", "（）", "()", "[]", "「」")
_WHO_ZH = r"^(?:哪[家个所][^，？]{1,5}?|谁)\s*"
_BROKEN = {
    "zh": re.compile(
        # A name cut short: what follows belongs to it, or only says in what way.
        rf"{_WHO_ZH}(?:正是|正以|基于|作为|围绕|随着|为了|针对|有关|部分|相关|各|所属|旗下|下属|及|等|、)"
        # 自主研发的平台 is a thing, not what somebody does.
        rf"|{_WHO_ZH}(?:自主|联合|共同|重点)?(?:研发|打造|开发|建设|推出|发布|建立|制定|生产|设计|提供|运营|"
        r"举办|组织|承建)的"
    ),
    "en": re.compile(
        r"^(?:Who|Which \w+) (?:located|situated|based|founded|known|named|called|built|born|"
        r"formed|headquartered|written|directed) (?:at|in|by|as|on)\b"
    ),
}


def reads_well(query: str, language: str) -> bool:
    """Whether a question has all of its quotes and brackets, and a verb that somebody can do.

    >>> reads_well("哪家机构研发了云账？", "zh"), reads_well("哪家机构自主研发的云账？", "zh")
    (True, False)
    >>> [reads_well(f"Which team {said} in Neath?", "en") for said in ("is based", "based")]
    [True, False]
    >>> reads_well('When did Adams release "1989?', "en")
    False
    """
    halves = any(query.count(pair[0]) != query.count(pair[1]) for pair in _BRACKETS)
    if halves or query.count('"') % 2 or "\\" in query:
        return False
    broken = _BROKEN.get(language)
    return broken is None or not broken.search(query)
