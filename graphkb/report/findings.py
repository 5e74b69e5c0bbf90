"""Findings of an offline report: the strongest relationships and entities, with quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from graphkb.report.corpus import Corpus, Integers
from graphkb.report.sentences import Sentences, same_words, shingles
from graphkb.report.wording import Wording, presentable, sources

# Relationships looked at for each finding, and sentences quoted in one.
_CANDIDATES = 4
_QUOTES = 2
_LABEL_LENGTH = 100

# A relationship counts this much less for each finding that already names one of its ends.
_REPEATED_END = 0.5
_SAME = 0.75

# "Isaac Schwartz – Schwartz" is hardly a finding.
_SAME_NAME = 0.05

_MARKUP = re.compile(r"^[#>|*\-+\s]+|\*\*|`")


@dataclass(frozen=True)
class Finding:
    """One finding: a line, quotes with references, and the text units they stand in."""

    summary: str
    explanation: str
    text_unit_ids: tuple[str, ...]


class FindingWriter:
    """Writes findings of many communities over one corpus; keeps what a relationship quotes."""

    def __init__(self, corpus: Corpus, sentences: Sentences) -> None:
        self._corpus = corpus
        self._sentences = sentences
        columns = corpus.columns
        self._titles, self._phrases = columns.titles, columns.phrases
        self._unit_texts, self._unit_ids = columns.unit_texts, columns.unit_ids
        self._numbers = columns.unit_numbers
        self._all_ends, self._strength = columns.ends, columns.strength
        self._quoted: dict[int, list[int]] = {}

    def write(
        self, community: int, labels: Integers, limit: int, wording: Wording
    ) -> list[Finding]:
        """Up to ``limit`` findings: strongest relationships, spread over entities, then entities.

        ``labels`` are the communities of the entities at the community's level. No sentence
        stands in two findings. Where nothing can be quoted, relationship descriptions stand in.
        """
        used: list[frozenset[str]] = []
        findings: list[Finding] = []
        named: set[int] = set()
        readable = (
            place
            for place in self._corpus.inner[community]
            if all(presentable(self._titles[node]) for node in self._ends(place))
        )
        strongest = list(islice(readable, _CANDIDATES * limit))
        gains = {place: self._gain(place) for place in strongest}
        while gains and len(findings) < limit:
            most = max(gains.values())
            best = min(place for place, gain in gains.items() if gain == most)
            del gains[best]
            finding = self._about_relationship(best, used, wording)
            if finding:
                findings.append(finding)
                named.update(self._ends(best))
                for place in gains:
                    shared = sum(node in self._ends(best) for node in self._ends(place))
                    gains[place] *= _REPEATED_END**shared
        for node in self._corpus.members[community][: 2 * limit]:
            if len(findings) >= limit:
                break
            if node not in named and presentable(self._titles[node]):
                finding = self._about_entity(node, community, labels, used)
                if finding:
                    findings.append(finding)
        return findings or self._stated(strongest, limit, wording)

    def _ends(self, place: int) -> tuple[int, int]:
        return self._all_ends[place]

    def _gain(self, place: int) -> float:
        source, target = (self._titles[node].lower() for node in self._ends(place))
        same = source in target or target in source
        return self._strength[place] * (_SAME_NAME if same else 1.0)

    def _about_relationship(
        self, place: int, used: list[frozenset[str]], wording: Wording
    ) -> Finding | None:
        quotes = self._unused(self._quotes_of(place), used)
        if not quotes:
            return None
        units = self._corpus.relationship_units[place]
        said = label(_whole_words(self._phrase(place), [self._unit_texts[unit] for unit in units]))
        summary = self._pair(place, wording)
        return self._finding(summary + wording.colon + said if said else summary, quotes)

    def _stated(self, places: list[int], limit: int, wording: Wording) -> list[Finding]:
        """Findings from relationship descriptions alone, such as table rows."""
        findings: list[Finding] = []
        for place in places:
            units = self._corpus.relationship_units[place]
            phrase = self._phrase(place)
            if phrase and units and len(findings) < limit:
                reference = sources([self._numbers[unit] for unit in units])
                ids = tuple(self._unit_ids[unit] for unit in units)
                findings.append(Finding(self._pair(place, wording), f"{phrase} {reference}", ids))
        return findings

    def _phrase(self, place: int) -> str:
        return self._phrases[place].split("\n", 1)[0].strip()

    def _pair(self, place: int, wording: Wording) -> str:
        source, target = (self._titles[node] for node in self._ends(place))
        return wording.pair.format(source=source, target=target)

    def _about_entity(
        self, node: int, community: int, labels: Integers, used: list[frozenset[str]]
    ) -> Finding | None:
        candidates = [
            place
            for place in self._sentences.by_community[community]
            if node in self._sentences.entities[place] and labels[node] == community
        ]
        quotes = self._unused(candidates, used)
        return self._finding(self._titles[node], quotes) if quotes else None

    def _quotes_of(self, place: int) -> list[int]:
        """Sentences of the relationship's text units that name both ends, else one, best first."""
        if place not in self._quoted:
            ends = set(self._ends(place))
            found = []
            for unit in self._corpus.relationship_units[place]:
                for sentence in self._sentences.by_unit[unit]:
                    shared = len(ends.intersection(self._sentences.entities[sentence]))
                    if shared:
                        quality = float(self._sentences.quality[sentence])
                        found.append((-shared, -quality, sentence))
            best = min(found)[0] if found else 0
            self._quoted[place] = [row[2] for row in sorted(found) if row[0] == best]
        return self._quoted[place]

    def _unused(self, candidates: list[int], used: list[frozenset[str]]) -> list[int]:
        """Up to two sentences that repeat nothing said before, in document order."""
        taken: list[int] = []
        for place in candidates:
            words = shingles(self._sentences.texts[place])
            if not self._repeats(words, used):
                used.append(words)
                taken.append(place)
            if len(taken) == _QUOTES:
                break
        return sorted(taken)

    def _repeats(self, words: frozenset[str], used: list[frozenset[str]]) -> bool:
        return any(same_words(words, other) >= _SAME for other in used)

    def _finding(self, summary: str, quotes: list[int]) -> Finding:
        units = [int(self._sentences.unit[quote]) for quote in quotes]
        explanation = " ".join(
            f"{self._sentences.texts[quote]} {sources([self._numbers[unit]])}"
            for quote, unit in zip(quotes, units, strict=True)
        )
        ids = tuple(dict.fromkeys(self._unit_ids[unit] for unit in units))
        return Finding(summary, explanation, ids)


def _whole_words(phrase: str, texts: list[str]) -> str:
    """The phrase without a last word that was cut in two, as the text it is from shows."""
    for text in texts:
        end = text.find(phrase) + len(phrase)
        if phrase in text and end < len(text) and text[end].isalnum() and " " in phrase:
            return phrase.rsplit(" ", 1)[0] + "…" if text[end].isascii() else phrase
    return phrase


def label(phrase: str) -> str:
    """A connecting phrase as a label: without markup, on one line, cut at a word; "" for tables.

    >>> label("## **Ada Lin** leads the Harbor Project")
    'Ada Lin leads the Harbor Project'
    """
    text = " ".join(_MARKUP.sub("", phrase).split())
    if "|" in text or "<" in text:
        return ""
    if len(text) <= _LABEL_LENGTH:
        return text
    cut = text[:_LABEL_LENGTH]
    return (cut.rsplit(" ", 1)[0] if cut.rfind(" ") > _LABEL_LENGTH // 2 else cut) + "…"
