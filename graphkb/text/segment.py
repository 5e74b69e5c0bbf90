"""Words of mixed Chinese and Latin text: search tokens and part-of-speech tags.

Chinese is cut by rjieba (the jieba dictionary and model in Rust); codes, versions and
identifiers such as E1043, C++, 5G, V2.0 and NO_PROXY are kept whole before it sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graphkb.text.language import HAN
from graphkb.text.names import fold

if TYPE_CHECKING:
    import rjieba

# Alternatives in order: a number with thousands commas, an identifier with inner separators
# (no_proxy, v2.0, bd-200a, c++, a.b.c), a run of Chinese, any other run of letters.
_WORDS = re.compile(
    rf"(?P<number>\d{{1,3}}(?:,\d{{3}})+(?:\.\d+)?)"
    r"|(?P<latin>[a-z0-9]+(?:[._\-/&'’+#@:][a-z0-9]+)*(?:\+{1,2}|\#)?)"
    rf"|(?P<han>[{HAN}\u3007]+)"
    r"|(?P<other>[^\W_]+)"
)
_INNER = re.compile(r"[._\-/&'’+#@:]")

STOP_WORDS = frozenset(
    "a an the of in on at to for from by with and or is are was were be been being it its this "
    "that these those as do does did which who whom whose what when where how why has have had "
    "there their his her he she they you i we not can could would should will about into than "
    "then".split()
) | frozenset(
    "的 了 是 在 和 与 及 或 也 就 都 而 被 把 对 为 于 以 到 从 有 个 之 其 这 那 哪 吗 呢 吧 啊 "
    "什么 怎么 如何 哪些 哪个 哪里 多少 时候 是否 可以 我 你 您 他 她 它 我们 你们 他们 请问 请 "
    "一个 以及 并 等 中 上 下 里 会 能 要".split()
)


@lru_cache(maxsize=8)
def _jieba(dictionary: tuple[str, ...]) -> rjieba.Jieba:
    import rjieba

    segmenter = rjieba.Jieba()
    for word in dictionary:
        segmenter.add_word(fold(word), 100_000, "nz")
    return segmenter


def search_tokens(text: str, dictionary: Iterable[str] = ()) -> list[str]:
    """Lower-case tokens for full-text search, in text order, the same for index and query.

    Chinese in jieba's search mode (long words also give their parts); identifiers whole and
    in parts; width, case, accents and traditional characters folded. ``dictionary`` holds the
    user's words, which are never cut apart.

    >>> search_tokens("清华大学的陈明")
    ['清华', '华大', '大学', '清华大学', '的', '陈明']
    >>> search_tokens("NO_PROXY、C++ 和 Ｅ１０４３")
    ['no_proxy', 'no', 'proxy', 'c++', '和', 'e1043']
    """
    segmenter = _jieba(tuple(dictionary))
    tokens: list[str] = []
    for match in _WORDS.finditer(fold(text)):
        word = match.group()
        if match.lastgroup == "han":
            tokens.extend(_han_tokens(word, segmenter))
        elif match.lastgroup == "number":
            tokens.append(word.replace(",", ""))
        elif match.lastgroup == "latin":
            tokens.extend(_latin_tokens(word))
        else:
            tokens.append(word)
    return tokens


def _han_tokens(run: str, segmenter: rjieba.Jieba) -> list[str]:
    """Search-mode words of one Chinese run, with character pairs where the dictionary ends.

    A word that only the hidden Markov model believes in (陈明用) and a row of single
    characters also give their overlapping pairs, so that a name is found whatever stands
    beside it.
    """
    tokens: list[str] = []
    single = ""
    for word in segmenter.cut(run):
        if len(word) == 1 and word not in STOP_WORDS:
            if single:
                tokens.append(single + word)
            single = word
        else:
            single = ""
        if len(word) > 2:
            known = segmenter.has_word(word)
            pairs = (word[i : i + 2] for i in range(len(word) - 1))
            tokens.extend(pair for pair in pairs if not known or segmenter.has_word(pair))
            if len(word) > 3:
                triples = (word[i : i + 3] for i in range(len(word) - 2))
                tokens.extend(triple for triple in triples if segmenter.has_word(triple))
        tokens.append(word)
    return tokens


def _latin_tokens(word: str) -> list[str]:
    word = word.removesuffix("'s").removesuffix("’s")
    parts = [part for part in _INNER.split(word) if part]
    if len(parts) < 2 or _INNER.sub("", word) == parts[0]:
        return [word]
    return [word, *parts]


def query_tokens(text: str, dictionary: Iterable[str] = ()) -> list[str]:
    """Distinct search tokens of a question in order, without stop-words unless all are.

    >>> query_tokens("E1043 的时候怎么办？")
    ['e1043', '怎么办']
    >>> query_tokens("的")
    ['的']
    """
    tokens = list(dict.fromkeys(search_tokens(text, dictionary)))
    return [token for token in tokens if token not in STOP_WORDS] or tokens


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import snowballstemmer

    return snowballstemmer.stemmer("english")


@lru_cache(maxsize=65_536)
def stem(token: str) -> str:
    """English words without their ending (Porter 2), everything else unchanged.

    >>> stem("delays"), stem("founder"), stem("e1043"), stem("退款")
    ('delay', 'founder', 'e1043', '退款')
    """
    return str(_stemmer().stemWord(token)) if token.isascii() and token.isalpha() else token


def tag(text: str, dictionary: Iterable[str] = ()) -> list[tuple[str, str, int, int]]:
    """Words with jieba part-of-speech flag and character span: ``(word, flag, start, end)``.

    The text is taken as it is (no folding), so that ``text[start:end] == word``.

    >>> tag("陈明在清华大学")
    [('陈明', 'nr', 0, 2), ('在', 'p', 2, 3), ('清华大学', 'nt', 3, 7)]
    """
    tagged: list[tuple[str, str, int, int]] = []
    position = 0
    for word, flag in _jieba(tuple(dictionary)).tag(text):
        tagged.append((word, flag, position, position + len(word)))
        position += len(word)
    return tagged
