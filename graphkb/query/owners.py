"""Whose something is that a Chinese question asks for: 腾讯 in 腾讯的董事长是谁.

Names of companies are often made of common words (东方材料, 苹果), or known to the dictionary as
brands, so that nothing tells them from other words but what is asked of them: only an
organisation has a chairman and a head office.
"""

from __future__ import annotations

import re

from graphkb.text.language import HAN, has_han
from graphkb.text.segment import is_word, tag

Span = tuple[int, int]

_ASKING = r"(?:请问|想问一下|谁是|哪位是|哪个是|什么是|查一下|告诉我)?[,，：: ]*"
_LATIN_NAME = r"[A-Z][\w&'’.\-]*(?: [A-Z][\w&'’.\-]*)*"
_OWNER = re.compile(rf"^{_ASKING}([{HAN}A-Za-z0-9]{{2,15}}?|(?a:{_LATIN_NAME})) ?的")
# What only an organisation has: those who lead it, where it sits; and what it earns.
_ROLE = (
    "(?:名誉|副|执行|现任|前任)?(?:董事长|总经理|总裁|首席[执财技运信]行?[务术营息]?官|法定代表人|"
    "法人代表|创始人|创办人|董事会|监事会|监事|控股股东|实际控制人|大股东|股东|总部|注册地址?|注册资本)"
)
_FIGURE = "(?:营业(?:总?收入|额|利润)|营收|净利润|市值|股价|股票代码|主营业务)"
_YEAR = r"(?:(?:19|20)\d\d年(?:\d{1,2}月份?|[上下]半年|第?[一二三四]季度)?)?"
_WITH_DE = re.compile(
    rf"^{_ASKING}{_YEAR}的?([{HAN}A-Za-z0-9]{{2,12}}?) ?{_YEAR}的{_YEAR}的?(?:({_ROLE})|{_FIGURE})"
)
_WITHOUT_DE = re.compile(rf"^{_ASKING}([{HAN}]{{2,12}}?){_ROLE}(?:是|在|位于|有|叫|为|$|[?？])")
_LATIN = re.compile(rf"^{_ASKING}({_LATIN_NAME})(?= ?的)", re.ASCII)
_JOINT = re.compile("[和与及跟、]|以及")
# An organisation without its name: 公司, 工厂, 上海的分公司.
_GENERAL = re.compile(
    r"(?:公司|工厂|集团|企业|部门?|机构|单位|厂|店|门店|组织|团队|项目组?|小组|中心|学校|医院|银行|大学|客户|供应商|"
    r"厂商|厂家|对手|伙伴|行业|市场|商户|产品|业务|会议|合同)\Z"
)
_TIME = re.compile(r"(?:[年月季日度期]|年初|年末|年底|现在|目前|当前|最近|以前|过去|将来|未来)\Z")
# Flags of words that names are not made of beside others: pronouns, prepositions, particles.
_BUILT = ("r", "p", "c", "d", "u", "y", "f", "m", "q", "t")
_BRANDS = ("nz", "nt", "nr", "ns")
# The trade at the end of a company's name.
_TRADE = re.compile(
    r"..(?:科技|汽车|保险|软件|资本|证券|基金|电子|钢铁|航空|机械|重工|装备|材料|电器|电气|啤酒|食品|乳业|酒业|药业|医药|"
    r"制药|化工|化学|能源|电力|石油|石化|矿业|集运|航运|物流|快递|地产|置业|控股|股份|实业|传媒|网络|通信|移动|联通|"
    r"电信|半导体|光电|新材|纺织|服饰|家居|建材|水泥|重机|机电|动力|轮胎|玻璃|造船|船舶|铁路|生物|环保)\Z"
)
# The sides of a contract, and other stand-ins.
_SIDE = re.compile(r"[甲乙丙双我贵对各本该]方|[甲乙丙]公司|乙方|各地|全国|全球|国内|海外|境外\Z")
# Words before a role that say which of several.
_WHICH = frozenset(
    "现任 前任 历任 首任 上任 新任 原任 第一 第二 最新 新 老 前 原 现 当时 全体 各位 主要".split()
)


def owner_of(question: str) -> str:
    """What stands before the first 的 of a question, be it a name or not.

    >>> owner_of("请问青松机械的董事长是谁？"), owner_of("Acme Foods 的总部在哪里？")
    ('青松机械', 'Acme Foods')
    """
    found = _OWNER.match(question)
    return found.group(1) if found else ""


def owning_organisations(question: str) -> list[Span]:
    """Where the organisations are named that a question asks something of; none for those
    without a name (公司, 我们).

    >>> [owning_organisations(f"{one}的董事长是谁？") for one in ("腾讯", "这家公司", "我们")]
    [[(0, 2)], [], []]
    >>> owning_organisations("海川装备和腾讯的总部在哪里？")
    [(0, 4), (5, 7)]
    """
    if not has_han(question):
        return []
    if latin := _LATIN.match(question):
        return [latin.span(1)]
    found = _WITH_DE.match(question)
    if found and (names := _names(found, by_itself=found.group(2) is not None)):
        return names
    found = _WITHOUT_DE.match(question)
    return _names(found, by_itself=False) if found else []


def _names(found: re.Match[str], by_itself: bool) -> list[Span]:
    """The spans of the names that the first group of a match lists."""
    start, end = found.span(1)
    joints = [joint.span() for joint in _JOINT.finditer(found.string, start, end)]
    starts = [start, *(after for _, after in joints)]
    ends = [*(before for before, _ in joints), end]
    parts = list(zip(starts, ends, strict=True))
    if any(last - first < 2 for first, last in parts):
        parts = [(start, end)]
    return [(a, b) for a, b in parts if _is_name(found.string[a:b], by_itself)]


def _is_name(owner: str, by_itself: bool) -> bool:
    """Whether words can be a name; not ``by_itself`` only those that are one anywhere: with a
    brand or a trade. What a figure is of may be a part of a company (线上渠道), or a region."""
    words = [(word, flag) for word, flag, _, _ in tag(owner)]
    if any(flag.startswith(_BUILT) and len(words) > 1 and len(word) < 3 for word, flag in words):
        return False
    last, flag = words[-1]
    plain = last in _WHICH or flag.startswith("r") or _TIME.search(owner) or _SIDE.match(owner)
    brand = any(flag in _BRANDS or not is_word(word) for word, flag in words)
    if plain or "的" in owner or (_GENERAL.search(owner) and not (brand and len(words) > 1)):
        return False
    return by_itself or _TRADE.search(owner) is not None or (brand and flag != "ns")
