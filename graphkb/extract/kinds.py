"""Entity types from how a name is written, its part-of-speech flag and the words about it."""

from __future__ import annotations

import re

from graphkb.extract.han_words import NO_PLACES
from graphkb.text.language import has_han

PERSON, ORGANIZATION, GEO = "PERSON", "ORGANIZATION", "GEO"
EVENT, WORK, PRODUCT, CODE, TERM = "EVENT", "WORK", "PRODUCT", "CODE", "TERM"
DOCUMENT = "DOCUMENT"

_SUFFIXES: tuple[tuple[str, re.Pattern[str]], ...] = (
    (
        ORGANIZATION,
        re.compile(
            r"(?:公司|集团|大学|学院|中学|小学|医院|银行|研究院|研究所|委员会|协会|学会|联合会|基金会|"
            r"总局|管理局|法院|检察院|出版社|电视台|报社|俱乐部|乐队|球队|部队|政府|党委|联盟|工作室|"
            r"[^一两三几]部|厅|局|中心|实验室|有限公司|资本|创投|证券|保险|事务所|团队|小组|交易所|"
            r"接口组|权限组|端组|研发组|运维组|项目组|工作组|专家组)\Z"
            r"|\b(?:Inc|Corp|Corporation|Company|Co|Ltd|LLC|GmbH|University|College|School|Institute|"
            r"Association|Society|Committee|Council|Party|Club|Bank|Group|Agency|Ministry|Department|"
            r"Foundation|Union|Army|Navy|Orchestra|Band|Records|Press|Museum|Hospital|F\.?C|"
            r"Federation|League|Commission|Church|Airlines|Studios?|Entertainment|Pictures)\.?\Z"
            r"|\w\.? (?:Energy|Works|Capital|Ferries|Offshore|Cables?|Teams?|Grid|Rubber|"
            r"Elastomers|Ventures|Partners|Holdings|Industries|Systems|Technologies|Software|Motors|Insurance|"
            r"Laborator(?:y|ies)|Labs|Bureau|Authority|Administration|Parliament|Senate|Theatre|"
            r"Cinemas|Productions|Bros|Brothers|Broadcasting|Operations|Logistics|Shipping|Steel|"
            r"Pharmaceuticals|Electronics|Telecom|Regiment|Brigade|Squadron)\Z"
            r"|\A(?:University|Ministry|Department|Bank|Institute|Church|Society) of\b"
        ),
    ),
    (
        GEO,
        re.compile(
            r"(?:省|市|县|区|镇|乡|村|州|国|岛|山|河|江|湖|海|洋|半岛|群岛|山脉|高原|盆地|平原|机场|港|路|街|车站)\Z"
            r"|\b(?:City|County|Island|Islands|River|Lake|Mountain|Mountains|Sea|Ocean|Bay|Valley|"
            r"Township|District|Province|Republic|Kingdom|Airport|Street|Park|Peninsula|Region|"
            r"Empire|States|Station|Narrows|Firth|Strait|Beach|Hills|Harbour|Harbor|Square|Glacier|"
            r"Canyon|Falls|Heights|Village|Desert)\Z"
            r"|\A(?:Mount|Lake|Republic|Kingdom|Gulf|Cape|Port|Fort) "
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
            r"municipality|township|district|region|community|suburb|census|site|port|harbour|strait|peninsula)\b"
            r"|城市|县|镇|村|国家|省份|河流|山脉|岛屿|湖泊|地区|位于"
        ),
    ),
    (
        PRODUCT,
        re.compile(r"\b(?:workboat|vessel|ship|software|platform|app|device)\b|软件|应用"),
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
_DOCUMENT = re.compile(
    r"\b(?:Profile|Notes|Price List|Charter|Report|Minutes|Runbook|Summary|Glossary|Guide|Manual|"
    r"Handbook|Policy|Press Release|Specification|Checklist|FAQ|Agenda|Memo)\b|\APost-mortem\b"
    r"|(?:指南|手册|说明|说明书|公告|通知|规则|办法|复盘|报告|白皮书|制度|纪要|常见错误|简介)\Z",
    re.IGNORECASE,
)
_SENTENCE_MARKS = re.compile(r"[：:，,；;、。\s]")
_PHRASE = re.compile(r"\w: |与")
_LONGEST_HAN = 20
_FLAGS = {"nr": PERSON, "nrt": PERSON, "nrfg": PERSON, "ns": GEO, "nt": ORGANIZATION}
COUNTRIES = frozenset(
    (
        "china india japan france germany italy spain russia england scotland wales ireland "
        "britain canada australia brazil mexico egypt greece turkey iran iraq israel poland "
        "sweden norway denmark finland austria hungary switzerland belgium netherlands portugal "
        "ukraine romania argentina chile peru cuba nigeria kenya ethiopia pakistan vietnam "
        "thailand indonesia malaysia philippines korea taiwan singapore africa europe asia "
        "america antarctica london paris berlin rome madrid moscow beijing tokyo vienna us usa "
        "uk afghanistan albania algeria armenia bangladesh bolivia bosnia bulgaria cambodia "
        "cameroon colombia croatia cyprus ecuador estonia georgia ghana guatemala haiti iceland "
        "jamaica jordan kazakhstan latvia lebanon libya lithuania luxembourg malta mongolia "
        "morocco nepal paraguay qatar senegal serbia slovakia slovenia sudan syria tanzania "
        "tunisia uganda uruguay uzbekistan venezuela zambia zimbabwe alabama alaska arizona "
        "arkansas california colorado connecticut florida hawaii idaho illinois indiana iowa "
        "kansas kentucky louisiana maine maryland massachusetts michigan minnesota mississippi "
        "missouri montana nebraska nevada ohio oklahoma oregon pennsylvania tennessee texas utah "
        "vermont wisconsin wyoming"
    ).split()
) | {"south africa", "new zealand", "sri lanka", "saudi arabia", "hong kong", "new york"}


def guess_type(name: str, flag: str = "") -> str:
    """Type of a name from its form: suffix, gazetteer, honorific, jieba flag; else ``TERM``.

    >>> guess_type("武汉大学"), guess_type("Kansas City"), guess_type("陈明", "nr")
    ('ORGANIZATION', 'GEO', 'PERSON')
    """
    if name.lower() in COUNTRIES:
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
    if name in NO_PLACES or _PHRASE.search(name) or (len(name) > _LONGEST_HAN and has_han(name)):
        return TERM  # a heading or a sentence, whatever word it ends with
    if not (name.isascii() and name.isalpha()):  # "Company" alone says nothing
        head = name.partition(" of ")[0]
        for kind, pattern in _SUFFIXES:
            if pattern.search(head) or pattern.match(name):
                return kind
    if flag in _FLAGS:
        return _FLAGS[flag]
    return PERSON if _HONORIFIC.match(name) else TERM


def type_of_title(title: str, definition: str) -> str:
    """Type of what a document is named after, ``DOCUMENT`` when it is named after itself.

    ``definition`` is the document's first sentence of prose.

    >>> type_of_title("Jaws", "Jaws is a film."), type_of_title("数据导出指南", "第一步，登录。")
    ('WORK', 'DOCUMENT')
    """
    if has_han(title) and len(title) > 8 and _SENTENCE_MARKS.search(title):
        return DOCUMENT
    if _DOCUMENT.search(title) and not _DISAMBIGUATION.search(title):
        return DOCUMENT
    named = title.lower() in definition.lower()
    if has_han(title) and not named:
        return DOCUMENT
    kind = guess_type(title)
    if kind == CODE and title.count("-") >= 2 and title[0].islower():
        return DOCUMENT
    if kind != TERM:
        return kind
    words = re.findall(r"\w+", title)
    named = named or len(words) < 3 or words[0] in re.findall(r"\w+", definition)[:4]
    if title == title.title() and len(words) < 5:  # Liz Ann Garbus is Elizabeth Garbus
        named = named or words[-1] in definition[:120]
    return (type_from_definition(definition) or TERM) if named else DOCUMENT


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
