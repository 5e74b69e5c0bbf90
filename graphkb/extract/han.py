"""Names in Chinese text: book-title marks, quotations, part of speech, and suffixes."""

from __future__ import annotations

import re

from graphkb.extract import han_words
from graphkb.extract.kinds import ORGANIZATION, WORK
from graphkb.text.language import HAN
from graphkb.text.names import simplify
from graphkb.text.segment import _jieba, tag

_WORK = re.compile(r"《([^《》\n]{1,60})》")
_MENU = re.compile(r"[—→>/]")  # 设置—成员 is a path of menus
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
    "樊胡凌霍虞万支柯管卢莫房丁宣邓洪包石崔吉龚程邢裴陆荣翁荀羊惠曲封储段富巫乌焦牧车侯宓班秋仲"
    "伊宫宁仇甘武符刘景詹束龙叶司黎白蒲赖卓池乔翟谭申桑桂牛边燕冀尚温庄柴瞿连习向古易廖耿满匡文欧"
    "聂关游权岳帅楚闫涂肖佟覃艾商"
)
_MAX_WORDS = 6
_HAN_ONLY = re.compile(f"[{HAN}]")

_BOLD = re.compile(r"\*\*([^*\n，。：:；]{3,14})\*\*")
_BOLD_GROUP = re.compile(r"(?:部|组|中心|团队|委员会)\Z")
_GROUP = re.compile(r"(?:[^一两三几总全内外]部|组|团队)\Z|\A[部组]\Z")
_GEO_TAIL = re.compile(r"[省市县区镇乡村州国岛山河江湖海港路街]\Z")
_ABSTRACT = re.compile(r"[度化性率]\Z")
_NO_PERSON_TAIL = re.compile(r"[度性化感们氏家县村镇乡港府]\Z")
_VILLAGE = re.compile(r"[县村镇乡港]\Z")
_BEFORE_PLACE = re.compile(r"(?:位于|总部设在|总部在|常驻|来自|前往|抵达|出生于)\Z")
_MAX_BEFORE_TAIL = 3

Word = tuple[str, str, int, int]
Span = tuple[int, int, str]
"""Start, end and jieba flag (or an entity type in capitals)."""


def name_spans(text: str, around: str = "") -> list[Span]:
    """Names of one Chinese sentence, sorted by place, longest first, with the names inside.

    ``around`` is the text that the sentence stands in; what recurs there decides where the
    names that no dictionary knows end.

    >>> text = "陈明在清华大学读《三国演义》。"
    >>> [(text[a:b], flag) for a, b, flag in name_spans(text)]
    [('陈明', 'nr'), ('清华大学', 'nt'), ('三国演义', 'WORK')]
    >>> text = "由栖岩资本领投，林知夏，副总裁"
    >>> [(text[a:b], flag) for a, b, flag in name_spans(text)]
    [('栖岩', ''), ('栖岩资本', 'ORGANIZATION'), ('林知夏', 'nr')]
    """
    spans: dict[tuple[int, int], str] = {}
    for match in _WORK.finditer(text):
        spans[match.span(1)] = WORK
    for match in _QUOTED.finditer(text):
        quoted = match.group(1)
        if (_HAN_ONLY.search(quoted) or quoted.isalnum()) and not _MENU.search(quoted):
            spans.setdefault(match.span(1), "")
    for match in _BOLD.finditer(text):
        if _BOLD_GROUP.search(match.group(1)):
            spans.setdefault(match.span(1), ORGANIZATION)
    for start, end, flag in _tagged_spans(text, around or text):
        spans.setdefault((start, end), flag)
    return sorted((a, b, flag) for (a, b), flag in spans.items() if text[a:b].strip())


def _tagged_spans(text: str, around: str) -> list[Span]:
    """Proper nouns, and runs of nouns from a proper noun to a head word (… 大学, … 平台)."""
    simplified = simplify(text)
    same = len(simplified) == len(text)
    words = _mended(tag(simplified if same else text), simplify(around) if same else around)
    spans: list[Span] = []
    for i, (word, flag, start, end) in enumerate(words):
        tail = _tail_start(words, i)
        if tail < i:
            spans.append((words[tail][2], words[_group_end(words, i)][3], ORGANIZATION))
        if flag not in _PROPER or word in han_words.NO_PLACES:
            continue
        if flag.startswith("nr") and _VILLAGE.search(word):
            flag = "ns"  # 曹县 and 张家港 begin with surnames
        if flag.startswith("nr") and not _is_person(words, i):
            continue
        if flag == "ns" and _ABSTRACT.search(word):
            continue
        if flag == "nt" and word in han_words.NO_ORGANIZATIONS:
            continue
        if len(word) > 1 and _HAN_ONLY.search(word):
            doubtful = flag.startswith("nr") and _is_doubtful(words, i)
            spans.append((start, end, "" if doubtful else _seen_flag(word, flag, text[:start])))
        last = _head_index(words, i)
        if last > i:
            spans.append((start, words[last][3], "nt" if flag == "nt" else ""))
    return spans


def _known(word: str) -> bool:
    """Whether the dictionary, not only the model of unknown words, has the word."""
    return bool(_jieba(()).has_word(word))


def _seen_flag(word: str, flag: str, before: str) -> str:
    """``flag``, without the tagger's guess that an unknown word is a place."""
    if flag != "ns" or _GEO_TAIL.search(word) or _BEFORE_PLACE.search(before) or _known(word):
        return flag
    return ""


def _mended(words: list[Word], around: str) -> list[Word]:
    """``words`` with the names that the tagger cut too short or too long put right."""
    mended: list[Word] = []
    skip = False
    for i, (word, flag, start, end) in enumerate(words):
        if skip:
            skip = False
            continue
        if flag in _PROPER and len(word) > 2 and not _known(word):
            if word[0] in han_words.LEADING and word[:2] not in han_words.COMPOUND_SURNAMES:
                mended.append((word[0], "p", start, start + 1))
                word, start = word[1:], start + 1
                flag = "ns" if flag == "nr" and word[0] not in _SURNAMES else flag
            if flag == "nr" and len(word) > 2 and word[-1] in han_words.TRAILING:
                mended.append((word[:-1], flag, start, end - 1))
                mended.append((word[-1], "p", end - 1, end))
                continue
        if flag == "nr" and len(word) == 2 and _goes_on(words, i, around):
            word, end, skip = word + words[i + 1][0], words[i + 1][3], True
        mended.append((word, flag, start, end))
    return mended


def _goes_on(words: list[Word], i: int, around: str) -> bool:
    """True when a person's name of two characters takes the single one after it: 郑望/舒.

    Wherever the two stand in the text that one follows, several times or before a word that
    follows persons.
    """
    if i + 1 >= len(words) or words[i][0][0] not in _SURNAMES:
        return False
    short, rest = words[i][0], words[i + 1][0]
    if len(rest) != 1 or not _HAN_ONLY.match(rest) or rest in han_words.TRAILING:
        return False
    times = around.count(short + rest)
    if times != around.count(short):
        return False
    if times >= 2:
        return True
    following = words[i + 2][0] if i + 2 < len(words) else "，"
    cued = following[0] in "，、（(* " or following in han_words.SAYS | han_words.TITLES
    return cued and words[i + 1][1] not in {"c", "p", "v", "d", "uj", "ul", "m", "f", "q", "r"}


def _is_person(words: list[Word], i: int) -> bool:
    """True when a word tagged as a person's name begins with a surname and has a name's length."""
    word = words[i][0]
    if word in han_words.NO_PERSONS or not 2 <= len(word) <= 4:
        return False
    if word[:2] in han_words.COMPOUND_SURNAMES:
        return len(word) > 2
    if word[0] in han_words.LEADING and len(word) == 2 and not _known(word):
        return False  # 向/云账
    return word[0] in _SURNAMES and len(word) < 4 and not _NO_PERSON_TAIL.search(word)


def _is_doubtful(words: list[Word], i: int) -> bool:
    """True for dictionary words with a surname that begins many words (高清, 荣誉, 文天祥).

    Beside a title or a word for speaking they are persons all the same.
    """
    word = words[i][0]
    if word[0] not in han_words.WORDY_SURNAMES or not _known(word):
        return False
    beside = {other[0] for other in words[max(0, i - 1) : i + 2]}
    return not beside & (han_words.SAYS | han_words.TITLES)


def _tail_start(words: list[Word], i: int) -> int:
    """Index of the first word of the organisation that word ``i`` ends, or ``i``.

    栖岩/资本: what no dictionary knows, and single nouns beside it, up to the next function
    word, verb or mark.
    """
    if not words[i][0].endswith(han_words.ORGANIZATION_TAILS) or words[i][1] in {"x", "nr"}:
        return i
    first = i
    unknown = False
    for j in range(i - 1, max(-1, i - 1 - _MAX_BEFORE_TAIL), -1):
        word, flag, _, _ = words[j]
        place = flag == "ns" and _known(word)
        name = flag in _PROPER and not place and word not in han_words.NO_PLACES
        single = len(word) == 1 and flag in {"n", "ng", "zg", "g", "a", "nr", "ns", "nz"}
        if not (name or place or single or flag in {"n", "nz"}) or not _HAN_ONLY.match(word):
            break
        if word in han_words.BREAKS or word[0] in han_words.LEADING or _is_person(words, j):
            break
        unknown = unknown or (name and not _known(word)) or (single and name)
        if flag == "n" and not single and unknown and len(words[first][0]) > 1:
            break  # 股东/北汀/创投: an everyday noun before a whole name, not 青石/谷/软件
        first = j
    return first if unknown else i


def _group_end(words: list[Word], i: int) -> int:
    """Index of the group inside the organisation that word ``i`` ends (…银行/接口/组), or ``i``."""
    for j in range(i + 1, min(i + 4, len(words))):
        if _GROUP.search(words[j][0]):
            return j
        if words[j][1][0] not in "nv" or words[j][0] in han_words.BREAKS:
            break
    return i


def _head_index(words: list[Word], first: int) -> int:
    """Index of the last head word that a run of nouns from ``first`` reaches, or ``first``."""
    found = first
    formal_only = False
    for j in range(first + 1, min(first + _MAX_WORDS, len(words))):
        word, flag, _, _ = words[j]
        if word in han_words.BREAKS or (len(word) > 2 and word[0] in "按由向与从对把被给将"):
            break
        if flag == "v" and j == first + 1 and len(word) == 2:
            formal_only = True  # 中国/联合/网络通信/股份有限公司
        elif flag not in _INSIDE or not word.strip():
            break
        elif (_FORMAL if formal_only else _HEAD).search(word):
            found = j
    return found
