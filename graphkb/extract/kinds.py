"""Entity types from how a name is written, its part-of-speech flag and the words about it."""

from __future__ import annotations

import re

PERSON, ORGANIZATION, GEO = "PERSON", "ORGANIZATION", "GEO"
EVENT, WORK, PRODUCT, CODE, TERM = "EVENT", "WORK", "PRODUCT", "CODE", "TERM"

_SUFFIXES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        ORGANIZATION,
        re.compile(
            r"(?:公司|集团|大学|学院|中学|小学|医院|银行|研究院|研究所|委员会|协会|学会|联合会|基金会|"
            r"总局|管理局|法院|检察院|出版社|电视台|报社|俱乐部|乐队|球队|部队|政府|党委|联盟|工作室|"
            r"[^一两三几]部|厅|局|中心|实验室|有限公司)\Z"
            r"|\b(?:Inc|Corp|Corporation|Company|Co|Ltd|LLC|GmbH|University|College|School|Institute|"
            r"Association|Society|Committee|Council|Party|Club|Bank|Group|Agency|Ministry|Department|"
            r"Foundation|Union|Army|Navy|Orchestra|Band|Records|Press|Museum|Hospital|F\.?C|"
            r"Federation|League|Commission|Church|Airlines|Studios?|Entertainment|Pictures)\.?\Z"
            r"|\A(?:University|Ministry|Department|Bank|Institute|Church|Society) of\b"
        ),
    ),
    (
        GEO,
        re.compile(
            r"(?:省|市|县|区|镇|乡|村|州|国|岛|山|河|江|湖|海|洋|半岛|群岛|山脉|高原|盆地|平原|机场|港|路|街|车站)\Z"
            r"|\b(?:City|County|Island|Islands|River|Lake|Mountain|Mountains|Sea|Ocean|Bay|Valley|"
            r"Township|District|Province|Republic|Kingdom|Airport|Street|Park|Peninsula|Region|"
            r"Empire|States|Station)\Z|\A(?:Mount|Lake|Republic|Kingdom|Gulf|Cape|Port|Fort) "
        ),
    ),
    (
        EVENT,
        re.compile(
            r"(?:战争|之战|战役|起义|革命|大会|会议|论坛|峰会|奥运会|运动会|博览会|锦标赛|大赛|节|事变|运动)\Z"
            r"|\b(?:War|Battle|Revolution|Olympics|Games|Championship|Championships|Cup|Conference|"
            r"Festival|Election|Elections|Treaty|Massacre|Protests)\Z"
            r"|\A(?:Battle|Siege|Treaty|War) of\b"
        ),
    ),
)
_DISAMBIGUATION = re.compile(r"[(（]([^()（）]+)[)）]\s*\Z")
_ROLES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        WORK,
        re.compile(
            r"\b(?:film|movie|album|song|single|novel|book|play|series|magazine|newspaper|opera|poem|"
            r"painting|episode|game|musical|documentary)s?\b|电影|影片|专辑|歌曲|小说|电视剧|著作|杂志|游戏"
        ),
    ),
    (
        PERSON,
        re.compile(
            r"\b(?:actor|actress|singer|director|writer|author|politician|player|footballer|musician|"
            r"painter|composer|poet|king|queen|emperor|prince|princess|bishop|general|officer|"
            r"scientist|mathematician|physicist|lawyer|producer|artist|journalist|daughter|son|wife|"
            r"businessman|engineer|philosopher|historian|born)\b"
            r"|演员|歌手|导演|作家|政治家|运动员|球员|音乐家|画家|诗人|皇帝|科学家|工程师|将军|企业家|出生"
        ),
    ),
    (
        ORGANIZATION,
        re.compile(
            r"\b(?:company|band|organi[sz]ation|university|school|club|team|agency|party|label|"
            r"institution|association|airline|network|group)\b|公司|乐队|组织|机构|大学|学校|企业|球队"
        ),
    ),
    (
        GEO,
        re.compile(
            r"\b(?:city|town|village|county|country|state|province|river|mountain|island|lake|"
            r"municipality|township|district|region|community|suburb|census)\b"
            r"|城市|县|镇|村|国家|省份|河流|山脉|岛屿|湖泊|地区|位于"
        ),
    ),
    (
        EVENT,
        re.compile(r"\b(?:battle|war|election|tournament|festival|season)\b|战役|战争|比赛|会议"),
    ),
)
_DEFINITION = re.compile(
    r"\b(?:is|was|are|were)\b\s+(?:an?|the|one of)?\s*([^.;,(]{0,90})|[是为](.{0,40})"
)
_PHRASE_END = re.compile(
    r"\b(?:who|which|that|from|of|in|for|by|at|about|known|directed|written|based|located|and)\b"
)
_CODE = re.compile(r"(?=.*[\d_+#])[A-Za-z0-9_+#.\-]+\Z")
_HONORIFIC = re.compile(
    r"\A(?:Mr|Mrs|Ms|Dr|Sir|Lord|Lady|King|Queen|Prince|Princess|Saint|St|Pope)\.? [A-Z]"
)
_FLAGS = {"nr": PERSON, "nrt": PERSON, "nrfg": PERSON, "ns": GEO, "nt": ORGANIZATION}
_COUNTRIES = frozenset(
    (
        "china india japan france germany italy spain russia england scotland wales ireland "
        "britain canada australia brazil mexico egypt greece turkey iran iraq israel poland "
        "sweden norway denmark finland austria hungary switzerland belgium netherlands portugal "
        "ukraine romania argentina chile peru cuba nigeria kenya ethiopia pakistan vietnam "
        "thailand indonesia malaysia philippines korea taiwan singapore africa europe asia "
        "america antarctica london paris berlin rome madrid moscow beijing tokyo vienna us usa "
        "uk"
    ).split()
)


def guess_type(name: str, flag: str = "") -> str:
    """Type of a name from its form: suffix, gazetteer, honorific, jieba flag; else ``TERM``.

    >>> guess_type("武汉大学"), guess_type("Kansas City"), guess_type("陈明", "nr")
    ('ORGANIZATION', 'GEO', 'PERSON')
    """
    if name.lower() in _COUNTRIES:
        return GEO
    if _CODE.match(name):
        return CODE
    if flag in _FLAGS and flag != "ns":
        return _FLAGS[flag]
    bracket = _DISAMBIGUATION.search(name)
    if bracket:
        role = _role(bracket.group(1))
        if role:
            return role
    for kind, pattern in _SUFFIXES:
        if pattern.search(name):
            return kind
    if flag in _FLAGS:
        return _FLAGS[flag]
    return PERSON if _HONORIFIC.match(name) else TERM


def type_from_definition(sentence: str) -> str | None:
    """Type that a defining sentence gives its subject; None when it says nothing known.

    >>> type_from_definition("Jaws is a film."), type_from_definition("鲁迅是中国作家。")
    ('WORK', 'PERSON')
    >>> type_from_definition("Frank Tuttle was a Hollywood film director from Boston.")
    'PERSON'
    """
    for match in _DEFINITION.finditer(sentence):
        role = _role(_PHRASE_END.split(match.group(1) or match.group(2) or "")[0])
        if role:
            return role
    return None


def _role(words: str) -> str | None:
    """The type whose keyword stands last in ``words``, where a noun phrase has its head."""
    found = [(match.start(), kind) for kind, pattern in _ROLES for match in pattern.finditer(words)]
    return max(found)[1] if found else None
