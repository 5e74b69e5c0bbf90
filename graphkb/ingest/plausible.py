"""How likely decoded text is text at all: the share of its characters that are in common use.

A wrong multi-byte decoding gives valid but rare characters, so a short list of the most used
ones tells right from wrong already on a sentence.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter

# The most frequent characters of modern Chinese, then the traditional forms of those that
# differ; together about two thirds of any running text.
_SIMPLIFIED = (
    "的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你对生能而子那得于着下自之年"
    "过发后作里用道行所然家种事成方多经么去法学如都同现当没动面起看定天分还进好小部其些主样理"
    "心她本前开但因只从想实日军者意无力它与长把机十民第公此已工使情明性知全三又关点正业外将两"
    "高间由问很最重并物手应战向头文体政美相见被利什二等产或新己制身果加西斯月话合回特代内信表"
    "化老给世位次度门任常先海通教儿原东声提立及比员解水名真论处走义各入几口认条平系气题活尔更"
    "别打女变四神总何电数安少报才结反受目太量再感建务做接必场件计管期市直德资命山金指克许统区"
    "保至队形社便空决治展马科司五基眼书非则听白却界达光放强即像难且权思王象完设式色路记南品住"
    "告类求据程北边死张该交规万取拉格望觉术领共确传师观清今切院让识候带导争运城县省首席负责项"
    "目购青石室厂价值服务系统使用户请查询文件数据网络错误配置版本安装支持技术开发测试管理"
)
_TRADITIONAL = (
    "這個們來為國說時會對發後過裡裏種經麼學現當沒動還進樣開從實軍無與長機關點業將兩間問戰頭"
    "體見產話給門兒東聲員論處義幾認條係氣題爾別變總電數報結務場計資許統區隊決馬書則聽卻達強難"
    "權設記類據邊張該規萬覺術領確傳師觀讓識候帶導爭運應點縣負責項購廠價值服請查詢網絡錯誤裝"
    "於並內眾車風買賣錢飛魚鳥龍語讀寫議員檔檢測試開發軟體資訊臺灣臨總設陳"
)
_JAPANESE = "日本人大年出会社国的者前後気間行見時分事自場合同様用新語学生私東京円使方今何話"
_KOREAN = (
    "이다는의에가을하고지로은사어기한인시도있나대리스자해서일부정아보수니전그를게라들주만구상조원"
    "장여과제공성국동비요경무마연소중적되위발생안것관면학문세신내때등분모오우더까했으며회업개명"
)
_COMMON = {
    "zh": frozenset(_SIMPLIFIED + _TRADITIONAL),
    "ja": frozenset(_JAPANESE + _SIMPLIFIED[:120]),
    "ko": frozenset(_KOREAN),
}
_LANGUAGE = {
    "gb18030": "zh", "cp950": "zh", "big5hkscs": "zh", "cp932": "ja", "euc_jp": "ja",
    "cp949": "ko", "utf-16-le": "zh", "utf-16-be": "zh",
}  # fmt: skip
_PUNCTUATION = frozenset("，。、；：？！“”‘’（）《》【】「」『』…—·　％～")
_LATIN_SIGNS = frozenset("‘’“”–—…•·°€£©®™§«»±¿¡ªº²³½¼¾×\u00a0")


def plausibility(text: str, encoding: str) -> float:
    """Share of the characters beyond ASCII that are in common use there, from 0 to 1.

    ``encoding`` says which language to expect; one without an entry is an alphabet, where
    letters count that stand beside ASCII letters or each other. Text without any character
    beyond ASCII scores 0.
    """
    counts = Counter(re.findall(r"[^\x00-\x7f]", text))
    total = sum(counts.values())
    if not total:
        return 0.0
    language = _LANGUAGE.get(encoding)
    if language is None:
        return _alphabet(text, counts, total)
    good = 0.0
    for character, count in counts.items():
        good += count * _weight(character, language)
    score = good / total
    controls = len(re.findall(r"[\x00-\x08\x0e-\x1f\x7f]", text))
    if encoding.startswith("utf-16"):
        # Any two bytes are some character, so UTF-16 has to be better than just plausible.
        score -= 0.1
    return max(0.0, score - 5 * controls / len(text))


def _weight(character: str, language: str) -> float:
    if character in _COMMON[language]:
        return 1.0
    code = ord(character)
    if language == "ja" and 0x3041 <= code <= 0x30FE:
        return 0.9
    if character in _PUNCTUATION:
        return 0.7
    if 0xFF61 <= code <= 0xFF9F:
        return -1.0
    if unicodedata.category(character) in {"Co", "Cn", "Cc", "Cs"}:
        return -2.0
    return 0.0


def _alphabet(text: str, counts: Counter[str], total: int) -> float:
    """Letters of one script that stand in words count fully, common signs too, others not."""
    signs = sum(count for character, count in counts.items() if character in _LATIN_SIGNS)
    letters = sum(count for character, count in counts.items() if character.isalpha())
    mixed_case = len(re.findall(r"[a-zß-ÿ][À-ÖØ-Þ]", text))
    runs = re.findall(r"[À-ÿ]{4,}", text)
    odd = mixed_case + sum(len(run) for run in runs)
    return max(0.0, (letters + signs - odd) / total)
