"""Does an answer say what it should: exact match, containment and token F1, in both languages.

After the SQuAD evaluation (Rajpurkar et al. 2016, section 6.1) and its Chinese counterpart CMRC
2018 (Cui et al. 2019): texts are folded, English articles and all punctuation dropped; tokens are
words and numbers, and single characters in Chinese.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.text.language import HAN
from graphkb.text.names import fold

_TOKEN = re.compile(rf"[{HAN}]|[^\W{HAN}_]+")
_ARTICLES = frozenset(("a", "an", "the"))
_MARK = re.compile(r"\[\d+\]")
_DIGIT_GROUP = re.compile(r"(?<=\d)[,，](?=\d{3}(?!\d))")


@dataclass(frozen=True)
class Match:
    """How far an answer agrees with the best of the right answers; each in [0, 1].

    ``exact``: nothing else is said. ``contains``: every right token stands in it, in order and in
    a row. ``f1``: harmonic mean of the shares of tokens that both have.
    """

    exact: float
    contains: float
    f1: float


def answer_tokens(text: str) -> list[str]:
    """Tokens that are compared.

    >>> answer_tokens("The Osprey, 1,200 元！"), answer_tokens("Ｂ級工程師 [2]")
    (['osprey', '1200', '元'], ['b', '级', '工', '程', '师'])
    """
    folded = _DIGIT_GROUP.sub("", fold(_MARK.sub(" ", text)))
    tokens = _TOKEN.findall(folded)
    return [token for token in tokens if token not in _ARTICLES] or tokens


def match_answer(said: str, right: Sequence[str]) -> Match:
    """The best match with any of the ``right`` answers.

    >>> match_answer("It is led by Ada Lin. [1]", ["Ada Lin"])
    Match(exact=0.0, contains=1.0, f1=0.5)
    >>> match_answer("陈明", ["陈明"])
    Match(exact=1.0, contains=1.0, f1=1.0)
    """
    tokens = answer_tokens(said)
    matches = [_match(tokens, answer_tokens(answer)) for answer in right]
    return max(matches, key=lambda match: (match.exact, match.f1, match.contains))


def _match(said: Sequence[str], right: Sequence[str]) -> Match:
    if not said or not right:
        same = float(said == right)
        return Match(same, same, same)
    shared = sum((Counter(said) & Counter(right)).values())
    precision, recall = shared / len(said), shared / len(right)
    return Match(
        exact=float(list(said) == list(right)),
        contains=float(_stands_in(right, said)),
        f1=2 * precision * recall / (precision + recall) if shared else 0.0,
    )


def _stands_in(part: Sequence[str], whole: Sequence[str]) -> bool:
    return f"\x00{chr(0).join(part)}\x00" in f"\x00{chr(0).join(whole)}\x00"
