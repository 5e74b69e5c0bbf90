"""Whether extracted text can be read, and the re-decoding of Chinese read as Latin letters."""

from __future__ import annotations

import re
from collections import Counter

from graphkb.ingest.plausible import plausibility

_CID = re.compile(r"\(cid:\d+\)")
_UNREADABLE = re.compile(
    "[\u25a0\u25a1\ufffd\ufffe\uffff\ue000-\uf8ff\U000f0000-\U0010ffff\x00-\x08\x0e-\x1f\x7f-\x9f]"
)
_LATIN_BYTES = re.compile("[\x80-\xff\u0152-\u2122]")
_MOST_UNREADABLE = 0.2
_LEAST_PLAUSIBLE = 0.6
_LEAST_LANGUAGE = 0.4
_LEAST_LETTERS = 20
_VOWELS = (0.25, 0.6)
_CJK = re.compile(r"[\u3041-\u9fff\uac00-\ud7a3]")
# One for each language whose common characters are known.
_ENCODINGS = ("gb18030", "big5hkscs", "cp932", "cp949")
_BULLETS = re.compile("[\uf0a7\uf0b7\uf0d8\uf0fc\uf06c\uf06e]")


def unreadable_share(text: str) -> float:
    """Share of the visible characters that stand for nothing, from 0 to 1.

    Counted are ``(cid:n)`` as one character, replacement characters and the boxes that stand for
    them, private-use characters and controls; the bullets of symbol fonts are not.

    >>> unreadable_share("(cid:56)(cid:81)ab"), unreadable_share("水表 a")
    (0.5, 0.0)
    """
    text = "".join(_BULLETS.sub("", text).split())
    single, n_cid = _CID.subn("", text)
    total = len(single) + n_cid
    return (n_cid + len(_UNREADABLE.findall(single))) / total if total else 0.0


def is_garbled(text: str) -> bool:
    """Whether a page's text layer cannot be read: unreadable characters, or mojibake.

    >>> is_garbled("(cid:56)(cid:81)(cid:71)" * 40), is_garbled("È« ÊÀ ½ç ÎÞ ²ú Õß £¬ Áª ºÏ")
    (True, True)
    >>> is_garbled("The naïve café"), is_garbled("全世界无产者，联合起来")
    (False, False)
    """
    return unreadable_share(text) > _MOST_UNREADABLE or redecoded(text) is not None


def redecoded(text: str) -> str | None:
    """Chinese whose GBK bytes were shown as Latin letters, or None where it is none.

    >>> redecoded("È«ÊÀ½ç"), redecoded("Größe für Äpfel")
    ('全世界', None)
    """
    visible = "".join(text.split())
    high = len(_LATIN_BYTES.findall(visible))
    if high < 4 or high < 0.5 * len(visible):
        return None
    try:
        decoded = visible.encode("latin-1").decode("gbk")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return None
    return decoded if plausibility(decoded, "gb18030") >= _LEAST_PLAUSIBLE else None


def looks_scrambled(text: str) -> bool:
    """Whether text in fonts that name no characters is in no language.

    Latin letters with too few or too many vowels, or characters that are rare in Chinese,
    Japanese and Korean alike.

    >>> looks_scrambled("Wklv lv d vhfuhw phvvdjh wkdw qrergb fdq uhdg"), looks_scrambled("A")
    (True, False)
    >>> looks_scrambled("\u4ee3\u7801" * 20), looks_scrambled("\u9f98\u4dae\u35d1\u7bea" * 9)
    (False, True)
    """
    if len(_CJK.findall(text)) >= _LEAST_LETTERS:
        best = max(plausibility(text, encoding) for encoding in _ENCODINGS)
        return best < _LEAST_LANGUAGE
    letters = Counter(re.findall(r"[a-z]", text.lower()))
    total = sum(letters.values())
    if total < _LEAST_LETTERS:
        return False
    vowels = sum(letters[letter] for letter in "aeiou")
    return not _VOWELS[0] <= vowels / total <= _VOWELS[1]


def as_gbk(text: str) -> str:
    """``text`` decoded as GBK where its characters are bytes of it, else as it is.

    >>> as_gbk("ÊÀ"), as_gbk("A"), as_gbk("世")
    ('世', 'A', '世')
    """
    try:
        return text.encode("latin-1").decode("gbk")
    except (UnicodeEncodeError, UnicodeDecodeError):
        return text
