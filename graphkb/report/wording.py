"""The few words reports add to what they quote, and the language of a community."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from graphkb.text.language import detect_language

_NAME_LENGTH = 60


@dataclass(frozen=True)
class Wording:
    """Templates of one language. ``gap`` stands between two sentences."""

    comma: str
    last: str
    gap: str
    colon: str
    pair: str
    rating: str
    members: str

    def names(self, names: Sequence[str]) -> str:
        """Names as one would write them: "A, B and C"."""
        if len(names) < 2:
            return "".join(names)
        return self.comma.join(names[:-1]) + self.last + names[-1]


WORDINGS: dict[str, Wording] = {
    "en": Wording(
        comma=", ",
        last=" and ",
        gap=" ",
        colon=": ",
        pair="{source} – {target}",
        rating=(
            "Importance {rank} of 10 "
            "(entities: {entities}; text units: {units}; share of PageRank: {share} %)."
        ),
        members="{names} are mentioned together.",
    ),
    "zh": Wording(
        comma="、",
        last="与",
        gap="",
        colon="：",
        pair="{source}—{target}",
        rating=(
            "重要度 {rank}/10：{entities} 个实体见于 {units} 个文本单元，"
            "占全图 PageRank 的 {share}%。"
        ),
        members="{names}一同出现。",
    ),
}


def wording_of(language: str) -> Wording:
    """The language's wording; English for languages that have none."""
    return WORDINGS.get(language, WORDINGS["en"])


def main_language(languages: Iterable[str], names: Iterable[str]) -> str:
    """The language that most text units are in, ties by code; of the names where none is known.

    >>> main_language(["zh", "und", "en", "zh"], []), main_language(["und"], ["陈明", "杭州"])
    ('zh', 'zh')
    """
    counts = Counter(languages)
    counts.pop("und", None)
    if counts:
        return min(counts, key=lambda code: (-counts[code], code))
    return detect_language(" ".join(names))


def presentable(name: str) -> bool:
    """Whether a name can stand in a title: it has letters and is no whole sentence.

    >>> presentable("Ada Lin"), presentable("---"), presentable("2026-02-02")
    (True, False, False)
    """
    return len(name) <= _NAME_LENGTH and any(map(str.isalpha, name))


def sources(numbers: Sequence[int]) -> str:
    """A reference to text units by their short numbers, as GraphRAG writes it: at most five.

    >>> sources([3, 1, 3]), sources([1, 2, 3, 4, 5, 6])
    ('[Data: Sources (3, 1)]', '[Data: Sources (1, 2, 3, 4, 5, +more)]')
    """
    distinct = list(dict.fromkeys(numbers))
    shown = [str(number) for number in distinct[:5]] + ["+more"] * (len(distinct) > 5)
    return f"[Data: Sources ({', '.join(shown)})]"
