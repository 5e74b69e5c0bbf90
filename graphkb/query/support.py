"""Does a source support a statement, and which of its sentences do so best.

Cheap and deterministic: words in common, weighted by rarity, and numbers and names that the
source does not hold. It finds invented numbers, mixed-up names and sources about something else;
it does not understand negation. Between languages words say nothing, so only numbers are
compared there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from graphkb.query.facts import missing_names, missing_numbers, numbers_in
from graphkb.query.sentences import is_quotable
from graphkb.text.language import detect_language
from graphkb.text.segment import STOP_WORDS, search_tokens, stem
from graphkb.text.sentences import sentence_spans
from graphkb.types import Passage

Idf = Callable[[Iterable[str]], Mapping[str, float]]
"""Weight of each token, by its rarity."""

# Share of a statement's words that its sources must hold. Over netop_zh and 2wiki, another text
# unit of the collection holds as much by chance in 1 to 2 of 100 pairs, and a sentence with half
# of its words changed falls below in 1 to 2 of 100.
SUPPORTED = 0.3
# Share from which a source clearly says what a statement without a citation says.
CLEARLY = 0.6
# What a source must hold of a statement to count beside another that holds the rest.
PART = 0.15
# Sentences of one quote, and what a further sentence must add to the first.
_SENTENCES, _MORE = 3, 0.1


@dataclass(frozen=True)
class Fit:
    """``score`` is the share of the statement's words that the sources hold; ``holds`` says
    whether they support it; ``foreign`` when they are in another language."""

    score: float
    holds: bool
    foreign: bool = False


class Statement:
    """A statement of an answer, without its marks."""

    def __init__(self, text: str, dictionary: Sequence[str], idf: Idf) -> None:
        self.text = text
        tokens = (t for t in search_tokens(text, dictionary) if t not in STOP_WORDS)
        weights = idf(list(dict.fromkeys(tokens)))
        self.words: dict[str, float] = {}
        for token, weight in weights.items():
            self.words[stem(token)] = max(weight, self.words.get(stem(token), 0.0))
        self.language = detect_language(text)

    def share(self, stems: Iterable[str]) -> float:
        """Share of the statement's words, by weight, among these stems."""
        total = sum(self.words.values())
        found = set(stems)
        return sum(w for word, w in self.words.items() if word in found) / total if total else 0.0


class Evidence:
    """A passage as evidence: its words and sentences, looked up once."""

    def __init__(self, passage: Passage, dictionary: Sequence[str]) -> None:
        self.passage, self.dictionary = passage, dictionary

    @cached_property
    def text(self) -> str:
        """All that the passage says, its title and headings included."""
        return f"{self.passage.title}\n{self.passage.heading}\n{self.passage.text}"

    @cached_property
    def above(self) -> frozenset[str]:
        """Stems of title and headings: what the sentences are about."""
        return self._stems(f"{self.passage.title}\n{self.passage.heading}")

    @cached_property
    def words(self) -> frozenset[str]:
        """Stems of everything."""
        return self.above | self._stems(self.passage.text)

    @cached_property
    def sentences(self) -> list[tuple[int, int, frozenset[str]]]:
        """Spans in the passage's text, with stems; headings and table rules are none."""
        text = self.passage.text
        spans = [(a, b) for a, b in sentence_spans(text) if is_quotable(text[a:b])]
        return [(a, b, self._stems(text[a:b])) for a, b in spans]

    @cached_property
    def language(self) -> str:
        return detect_language(self.passage.text)

    def _stems(self, text: str) -> frozenset[str]:
        return frozenset(stem(token) for token in search_tokens(text, self.dictionary))

    def best_span(self, statement: Statement) -> tuple[int, int]:
        """The one to three neighbouring sentences that share most with the statement, as a span
        in the passage's text; the first when none shares anything."""
        if not self.sentences:
            return 0, len(self.passage.text)
        best, best_score = (0, 1), -1.0
        for first in range(len(self.sentences)):
            stems: set[str] = set(self.above)
            for last in range(first, min(first + _SENTENCES, len(self.sentences))):
                stems |= self.sentences[last][2]
                score = statement.share(stems) - _MORE * (last - first)
                if score > best_score + 1e-9:
                    best, best_score = (first, last + 1), score
        return self.sentences[best[0]][0], self.sentences[best[1] - 1][1]


def are_foreign(statement: Statement, source: Evidence) -> bool:
    """Whether one is Chinese and the other English: their words cannot be compared."""
    return {statement.language, source.language} == {"zh", "en"}


def fit(statement: Statement, sources: Sequence[Evidence], question: str = "") -> Fit:
    """How well the sources, taken together, support a statement.

    Names that the question gives may stand in a statement without standing in its source.
    """
    if not sources:
        return Fit(0.0, False)
    words = frozenset(word for source in sources for word in source.words)
    text = "\n".join(source.text for source in sources)
    score = statement.share(words)
    pair = {statement.language, *(source.language for source in sources)}
    if {"zh", "en"} <= pair and statement.language != sources[0].language:
        numbers = numbers_in(statement.text)
        wrong = len(missing_numbers(statement.text, text)) == len(numbers) > 0
        return Fit(score, not wrong, foreign=True)
    if missing_numbers(statement.text, text):
        return Fit(score, False)
    if missing_names(statement.text, f"{text}\n{question}"):
        return Fit(score, False)
    return Fit(score, score >= SUPPORTED)
