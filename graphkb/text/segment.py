"""Words of mixed Chinese and Latin text: search tokens and part-of-speech tags.

Chinese is cut by rjieba (the jieba dictionary and model in Rust); codes, versions and
identifiers such as E1043, C++, 5G, V2.0 and NO_PROXY are kept whole before it sees them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from graphkb.text.han_years import fold_years
from graphkb.text.language import HAN, has_han
from graphkb.text.names import fold, fold_script
from graphkb.text.question_words import asked_parts

if TYPE_CHECKING:
    import rjieba

# Alternatives in order: a number with thousands commas, an identifier with inner separators
# (no_proxy, v2.0, bd-200a, c++, a.b.c), a run of Chinese, any other run of letters.
_NUMBER = r"\d{1,3}(?:,\d{3})+(?:\.\d+)?"
_LATIN = r"[A-Za-z0-9]+(?:[._\-/&'’+#@:][A-Za-z0-9]+)*(?:\+{1,2}|\#)?"
_WORDS = re.compile(
    rf"(?P<number>{_NUMBER})|(?P<latin>{_LATIN})|(?P<han>[{HAN}\u3007]+)|(?P<other>[^\W_]+)"
)
# All that ASCII text has of it.
_ASCII_WORDS = re.compile(rf"{_NUMBER}|{_LATIN}")
_INNER = re.compile(r"[._\-/&'’+#@:]")
# Written with a space as often as without: GB/T 19001-2016, ISO9001, RFC 2616, IEEE 802.11.
_STANDARD = re.compile(
    r"(?<![A-Za-z0-9])((?:GB|JB|YD|HG|SY|DL|YY|HJ|JT|SJ|QB|NY|LY|TB|CJ|JC|SH|YB|YS|AQ|GA|DB\d\d)"
    r"(?:/[TZ])?|GBZ|GBJ|JGJ|CJJ|ISO(?:/IEC)?|IEC|IEEE|EN|DIN|ASTM|ANSI|RFC|NIST|JIS|BS|ITU-T)"
    r" ?(\d+(?:[.\-:]\d+)*)"
)
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
_CODE = re.compile(r"(?=[a-z0-9\-/]*[a-z])(?=[a-z0-9\-/]*\d)[a-z0-9]+[\-/][a-z0-9]+\Z")
# Humps of a name such as McDonald or YouTube are no words of their own.
_LONG_HUMP = 4

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


@lru_cache(maxsize=8)
def _mixed_words(dictionary: tuple[str, ...]) -> dict[str, tuple[tuple[int, str], ...]]:
    """The user's words that are not Chinese alone, by the first piece that is not: where that
    piece stands in the word, and the word."""
    found: dict[str, set[tuple[int, str]]] = {}
    for word in dictionary:
        folded = fold(word)
        pieces = [match for match in _WORDS.finditer(folded) if match.lastgroup != "han"]
        if pieces and pieces[0].group() != folded:
            found.setdefault(pieces[0].group(), set()).add((pieces[0].start(), folded))
    return {piece: tuple(sorted(places)) for piece, places in found.items()}


def search_tokens(text: str, dictionary: Iterable[str] = ()) -> list[str]:
    """Lower-case tokens for full-text search, the same for index and query, in text order but
    for numbers of standards, which stand at the end as one token each.

    Chinese in jieba's search mode (long words also give their parts); identifiers, codes and
    versions whole and in parts; width, case, accents, traditional characters and years in
    Chinese numerals folded.
    ``dictionary`` holds the user's words, which are never cut apart; of those with Latin letters
    or several words (5G消息, zeta tool) the parts are there, too.

    >>> search_tokens("清华大学的陈明")
    ['清华', '华大', '大学', '清华大学', '的', '陈明']
    >>> search_tokens("NO_PROXY、C++ 和 Ｅ１０４３")
    ['no_proxy', 'no', 'proxy', 'c++', '和', 'e1043']
    >>> search_tokens("getUserName BD-200A")
    ['getusername', 'get', 'user', 'name', 'bd-200a', 'bd200a', 'bd', '200a']
    >>> search_tokens("ISO9001")
    ['iso', '9001', 'iso9001']
    >>> search_tokens("二〇二四年")
    ['2024', '年']
    >>> search_tokens("发送5G消息", ["5G消息"])
    ['发送', '5g消息', '5g', '消息']
    """
    words = tuple(dictionary)
    if _mixed_words(words):
        return list(_tokens(text, words, asked=False))
    # The same without what only questions and words of several kinds need.
    plain = fold_years(fold_script(text))
    standards = _STANDARD.findall(plain)
    found: list[str] = []
    if plain.isascii():
        for written in _ASCII_WORDS.findall(_spaced(plain) if standards else plain):
            if "," in written:
                found.append(written.replace(",", ""))
            else:
                found += _latin_tokens(written)
        return found + ["".join(parts).casefold() for parts in standards]
    for number, latin, han, other in _WORDS.findall(_spaced(plain) if standards else plain):
        if latin:
            found += _latin_tokens(latin)
        elif han:
            found += _han_tokens(han, _jieba(words))
        else:
            found.append(number.replace(",", "") or other.casefold())
    return found + ["".join(parts).casefold() for parts in standards]


def _spaced(text: str) -> str:
    """A space between the name of each standard and its number."""
    return _STANDARD.sub(r"\1 \2", text)


def _tokens(text: str, dictionary: tuple[str, ...], asked: bool) -> Iterator[str]:
    """Tokens of :func:`search_tokens`; those that are ``asked`` for without single characters
    of codes, and without stop-words unless they are written as a name (WHO, the IT department)."""
    mixed = _mixed_words(dictionary)
    plain = _spaced(fold_years(fold_script(text)))
    named = asked and (has_han(plain) or " " not in plain.strip() or not plain.isupper())
    for match in _WORDS.finditer(plain):
        written = match.group()
        word = written.casefold()
        found: Sequence[str]
        if match.lastgroup == "han":
            parts = asked_parts(plain, *match.span(), dictionary) if asked else (word,)
            found = [token for part in parts for token in _han_tokens(part, _jieba(dictionary))]
        else:
            if mixed and word in mixed:
                yield from _words_at(plain, match.start(), mixed[word])
            if match.lastgroup == "number":
                found = [word.replace(",", "")]
            else:
                found = _latin_tokens(written) if match.lastgroup == "latin" else [word]
        if not asked:
            yield from found
            continue
        is_name = named and len(written) > 1 and written.isupper()
        for place, token in enumerate(found):
            if (token not in STOP_WORDS or is_name) and not (
                place and len(token) == 1 and token.isascii()
            ):
                yield token
    for standard in _STANDARD.finditer(plain):
        yield "".join(standard.groups()).casefold()


def _words_at(text: str, position: int, places: Iterable[tuple[int, str]]) -> Iterator[str]:
    """Words of the dictionary that stand whole around ``position``, each as one token."""
    for offset, word in places:
        start, end = position - offset, position - offset + len(word)
        if start < 0 or text[start:end].casefold() != word:
            continue
        around = text[max(start - 1, 0) : start], text[end : end + 1]
        if not any(c.isascii() and c.isalnum() for c in around):
            yield "_".join(word.split())


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


@lru_cache(maxsize=65_536)
def _latin_tokens(written: str) -> tuple[str, ...]:
    """A word, its parts between separators or humps, and a code also without its hyphen."""
    if written.isalnum():
        return (written.casefold(), *_humps(written))
    written = written.removesuffix("'s").removesuffix("’s")
    word = written.casefold()
    parts = [part for part in _INNER.split(word) if part]
    if len(parts) < 2 or _INNER.sub("", word) == parts[0]:
        return (word, *_humps(written))
    joined = [re.sub(r"[\-/]", "", word)] if _CODE.match(word) else []
    humps = [hump for part in _INNER.split(written) for hump in _humps(part)]
    return (word, *joined, *parts, *humps)


def _humps(written: str) -> list[str]:
    """Words of an identifier in camel case, at least two; none for names such as McDonald.

    >>> _humps("maxRetries"), _humps("OrderService"), _humps("McDonald"), _humps("iPhone")
    (['max', 'retries'], ['order', 'service'], [], [])
    """
    if written[1:].islower() or written.isupper() or not written.isalnum():
        return []
    humps = _HUMP.findall(written)
    if len(humps) < 2:
        return []
    is_code = len(humps[0]) > 1 and (written[0].islower() or len(humps) > 2)
    if not is_code and min(map(len, humps)) < _LONG_HUMP:
        return []
    return [hump.casefold() for hump in humps if len(hump) > 1]


def query_tokens(text: str, dictionary: Iterable[str] = ()) -> list[str]:
    """Distinct search tokens of a question in order, without stop-words and without single
    characters of codes. Of English stop-words alone, as in the name of a band, all stay.

    >>> query_tokens("E1043 的时候怎么办？")
    ['e1043', '怎么办']
    >>> query_tokens("婚假有几天？"), query_tokens("《谁是卧底》是谁导演的？")
    (['婚假', '天'], ['谁', '卧底', '导演'])
    >>> query_tokens("WHO 的总部"), query_tokens("the"), query_tokens("The Who")
    (['who', '总部'], [], ['the', 'who'])
    """
    words = tuple(dictionary)
    if kept := list(dict.fromkeys(_tokens(text, words, asked=True))):
        return kept
    all_of_it = [token for token in search_tokens(text, words) if token.isascii()]
    return list(dict.fromkeys(all_of_it)) if len(all_of_it) > 1 else []


@lru_cache(maxsize=1)
def _stemmer() -> Any:
    import Stemmer

    return Stemmer.Stemmer("english")


@lru_cache(maxsize=65_536)
def stem(token: str) -> str:
    """English words without their ending (Porter 2), everything else unchanged.

    >>> stem("delays"), stem("founder"), stem("e1043"), stem("退款")
    ('delay', 'founder', 'e1043', '退款')
    """
    return str(_stemmer().stemWord(token)) if token.isascii() and token.isalpha() else token


def is_word(word: str) -> bool:
    """Whether jieba's dictionary has the word, so that it was not made up by its model.

    >>> is_word("工厂"), is_word("邝砚秋")
    (True, False)
    """
    return bool(_jieba(()).has_word(word))


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
