"""Names in Chinese text: book-title marks, quotations, part of speech, and suffixes."""

from __future__ import annotations

import re

from graphkb.extract.kinds import WORK
from graphkb.text.language import HAN
from graphkb.text.names import simplify
from graphkb.text.segment import tag

_WORK = re.compile(r"《([^《》\n]{1,60})》")
_QUOTED = re.compile(r"[“「『]([^“”「」『』\n，。！？；]{2,16})[”」』]")
_PROPER = frozenset({"nr", "nrt", "nrfg", "ns", "nt", "nz"})
_INSIDE = frozenset({"n", "vn", "j", "b", "eng", "ng", "an", "m", "f", "s"}) | _PROPER
_HEAD = re.compile(
    r"(?:公司|集团|大学|学院|中学|小学|医院|银行|研究院|研究所|委员会|协会|学会|联合会|基金会|总局|管理局|"
    r"法院|检察院|出版社|电视台|俱乐部|政府|联盟|中心|实验室|省|市|县|区|镇|乡|村|岛|山|河|江|湖|大会|会议|"
    r"论坛|峰会|博览会|奥运会|运动会|平台|系统|大模型|模型|白皮书|报告|战役|战争|起义|事件|项目|工程|计划)\Z"
)
_FORMAL = re.compile(r"(?:有限公司|委员会|集团|协会|联合会|研究院)\Z")
_SURNAMES = frozenset(
    "赵钱孙李周吴郑王冯陈褚卫蒋沈韩杨朱秦尤许何吕施张孔曹严华金魏陶姜戚谢邹喻柏窦章苏潘葛范彭郎鲁韦昌马"
    "苗方俞任袁柳鲍史唐费廉岑薛雷贺倪汤滕殷罗毕郝邬安常乐于傅皮卞齐康伍余元卜顾孟黄穆萧尹姚邵汪祁毛"
    "米贝明臧计成戴谈宋庞熊纪舒屈项祝董梁杜阮蓝闵席季麻强贾路娄江童颜郭梅盛林刁钟徐邱骆高夏蔡田"
    "樊胡凌霍虞万支柯管卢莫房丁宣邓洪包石崔吉龚程邢裴陆荣翁荀羊惠曲封储段富巫乌焦牧山谷车侯宓班秋仲"
    "伊宫宁仇甘武符刘景詹束龙叶司黎白蒲赖卓池乔翟谭申桑桂牛边燕冀尚温庄柴瞿连习向古易廖耿满匡文欧"
    "聂关游权岳帅楚闫涂肖佟覃艾商诸司上欧夏东皇尉公令慕"
)
_MAX_WORDS = 6
_HAN_ONLY = re.compile(f"[{HAN}]")

Span = tuple[int, int, str]
"""Start, end and jieba flag (or an entity type in capitals)."""


def name_spans(text: str) -> list[Span]:
    """Names of one Chinese sentence, sorted by place, longest first, with the names inside.

    >>> text = "陈明在清华大学读《三国演义》。"
    >>> [(text[a:b], flag) for a, b, flag in name_spans(text)]
    [('陈明', 'nr'), ('清华大学', 'nt'), ('三国演义', 'WORK')]
    """
    spans: dict[tuple[int, int], str] = {}
    for match in _WORK.finditer(text):
        spans[match.span(1)] = WORK
    for match in _QUOTED.finditer(text):
        if _HAN_ONLY.search(match.group(1)) or match.group(1).isalnum():
            spans.setdefault(match.span(1), "")
    for start, end, flag in _tagged_spans(text):
        spans.setdefault((start, end), flag)
    return sorted((a, b, flag) for (a, b), flag in spans.items() if text[a:b].strip())


def _tagged_spans(text: str) -> list[Span]:
    """Proper nouns, and runs of nouns from a proper noun to a head word (… 大学, … 平台)."""
    simplified = simplify(text)
    words = tag(simplified if len(simplified) == len(text) else text)
    spans: list[Span] = []
    for i, (word, flag, start, end) in enumerate(words):
        if flag not in _PROPER or (flag == "nr" and not _is_person(word)):
            continue
        if len(word) > 1 and _HAN_ONLY.search(word):
            spans.append((start, end, flag))
        last = _head_index(words, i)
        if last > i:
            spans.append((start, words[last][3], "nt" if flag == "nt" else ""))
    return spans


def _is_person(word: str) -> bool:
    """True when a word tagged as a person's name begins with a surname and has a name's length."""
    return 2 <= len(word) <= 4 and word[0] in _SURNAMES


def _head_index(words: list[tuple[str, str, int, int]], first: int) -> int:
    """Index of the last head word that a run of nouns from ``first`` reaches, or ``first``."""
    found = first
    formal_only = False
    for j in range(first + 1, min(first + _MAX_WORDS, len(words))):
        word, flag, _, _ = words[j]
        if flag == "v" and j == first + 1 and len(word) == 2:
            formal_only = True  # 中国/联合/网络通信/股份有限公司
        elif flag not in _INSIDE or not word.strip():
            break
        elif (_FORMAL if formal_only else _HEAD).search(word):
            found = j
    return found
