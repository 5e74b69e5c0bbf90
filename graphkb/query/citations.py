"""Citations: numbering sources, and checking that every ``[n]`` points to one that supports it.

A model's answer goes through :func:`check_answer`: marks are brought to one form and unknown
ones removed (:mod:`graphkb.query.marks`), each statement is compared with the sources it cites
(:mod:`graphkb.query.support`), statements without a mark get one where a source clearly says the
same, and each source is cited by the sentences that support the answer best. Numbers stay those
of the context: source n is ``passages[n - 1]`` in the prompt, the answer and the list of sources.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from graphkb.query.candidates import Quote
from graphkb.query.marks import MARK, hide_code, normalise_marks, show_code
from graphkb.query.statements import Claimed, statements_of
from graphkb.query.support import CLEARLY, PART, Evidence, Fit, Idf, Statement, are_foreign, fit
from graphkb.types import Citation, Passage

# A quote that covers the sentences of several statements is no longer than this.
_LONGEST_QUOTE = 400
# Statements beyond so many characters of an answer are not compared with the sources.
LONGEST_CHECKED = 20_000
# A statement about the sources themselves needs none.
_ABOUT_SOURCES = re.compile(
    r"\b(?:sources?|documents?|passages?|knowledge base|context|information)\b.*"
    r"\b(?:not|no|none|nothing|lacks?|n't|neither)\b|\bn(?:o|ot)\b.*\b(?:sources?|documents?)\b"
    r"|(?:来源|资料|文档|知识库|原文|材料|上下文|信息).*(?:没有|未|无法|无|不足|缺)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Checked:
    """A checked answer. ``unsupported`` are statements that their sources do not support,
    ``uncited`` those without a source; ``added`` counts citations put where there were none."""

    text: str
    citations: tuple[Citation, ...]
    unsupported: tuple[str, ...]
    uncited: tuple[str, ...]
    added: int
    warnings: tuple[str, ...]


def cite(quotes: Sequence[Quote]) -> list[Citation]:
    """One citation a quote, numbered from 1 in order."""
    return [
        citation_of(number, quote.passage, quote.start, quote.end, quote.text)
        for number, quote in enumerate(quotes, 1)
    ]


def citation_of(number: int, passage: Passage, start: int, end: int, quote: str) -> Citation:
    """What ``[number]`` points to in a passage; the span is in the document's text."""
    page, page_end = passage.pages(start, end)
    return Citation(
        number=number,
        text_unit_id=passage.text_unit_id,
        document_id=passage.document_id,
        title=passage.title,
        path=passage.path,
        heading=passage.heading,
        page=page,
        char_start=start,
        char_end=end,
        quote=quote,
        page_end=page_end,
    )


def check_citations(
    text: str, citations: Sequence[Citation], documents: Mapping[str, str]
) -> tuple[str, list[Citation], list[str]]:
    """Text, citations and warnings after holding every citation against its document.

    A mark without a source is removed and reported; a source whose span does not hold its
    quote in ``documents`` (id to text) is dropped with its mark; unused sources are dropped.
    Numbers are kept as they are. Code is not looked for: quotes of documents hold lone backticks.
    For a model's answer hide it before (:func:`~graphkb.query.marks.hide_code`).
    """
    warnings: list[str] = []
    sound: dict[int, Citation] = {}
    for citation in citations:
        document = documents.get(citation.document_id)
        if document is not None:
            found = document[citation.char_start : citation.char_end]
            if found != citation.quote:
                warnings.append(f"citation [{citation.number}] does not match its source: removed")
                continue
        sound[citation.number] = citation
    used: set[int] = set()

    def keep(match: re.Match[str]) -> str:
        number = int(match.group(1))
        if number in sound:
            used.add(number)
            return match.group()
        if number not in {citation.number for citation in citations}:
            warnings.append(f"citation [{number}] points to no source: removed")
        return ""

    checked = MARK.sub(keep, text)
    return checked, [c for n, c in sorted(sound.items()) if n in used], warnings


def check_answer(
    text: str,
    passages: Sequence[Passage],
    *,
    question: str = "",
    dictionary: Sequence[str] = (),
    idf: Idf = lambda tokens: dict.fromkeys(tokens, 1.0),
) -> Checked:
    """A model's answer with its citations checked and repaired.

    ``passages`` are the sources it was given, in their order; ``idf`` weighs words by rarity.
    Marks are repaired everywhere outside code; statements are checked in the first 20,000
    characters (:data:`LONGEST_CHECKED`), and a warning says so where there are more.
    """
    return _Check(passages, question, dictionary, idf).run(text)


@dataclass(frozen=True)
class _Span:
    """Where a source speaks of a statement, and whether it supports it; None when that cannot
    be told, because they are in different languages."""

    holds: bool | None
    share: float
    start: int
    end: int


class _Check:
    """The sources of one answer, and what has been found out about it."""

    def __init__(
        self, passages: Sequence[Passage], question: str, dictionary: Sequence[str], idf: Idf
    ) -> None:
        self.question, self.dictionary, self.idf = question, dictionary, idf
        self.sources = [Evidence(passage, dictionary) for passage in passages]
        self.spans: dict[int, list[_Span]] = {}

    def run(self, text: str) -> Checked:
        passages = [source.passage for source in self.sources]
        text, warnings = normalise_marks(text, passages, self._closest)
        text = hide_code(text)
        if len(text) > LONGEST_CHECKED:
            warnings.append(
                f"the answer has {len(text)} characters: what comes after the first "
                f"{LONGEST_CHECKED} was not compared with the sources"
            )
        unsupported: list[str] = []
        uncited: list[str] = []
        added: list[tuple[int, int]] = []
        claimed = statements_of(text[:LONGEST_CHECKED])
        for one in claimed:
            statement = self._statement(one.text)
            if numbers := self._known(one.numbers):
                if not self._hold(statement, numbers):
                    unsupported.append(one.text)
            elif number := self._clearly(statement, self._known(_beside(claimed, one))):
                added.append((one.end, number))
                self._hold(statement, (number,))
            elif not _ABOUT_SOURCES.search(one.text):
                uncited.append(one.text)
        for place, number in sorted(added, reverse=True):
            gap = " " if text[place - 1].isascii() else ""
            text = f"{text[:place]}{gap}[{number}]{text[place:]}"
        cited = sorted({int(number) for number in MARK.findall(text)})
        return Checked(
            text=show_code(text),
            citations=tuple(self._cite(number) for number in self._known(cited)),
            unsupported=tuple(show_code(one) for one in dict.fromkeys(unsupported)),
            uncited=tuple(show_code(one) for one in dict.fromkeys(uncited)),
            added=len(added),
            warnings=tuple(warnings),
        )

    def _known(self, numbers: Sequence[int]) -> list[int]:
        """The numbers that are those of sources."""
        return [number for number in numbers if 1 <= number <= len(self.sources)]

    def _statement(self, text: str) -> Statement:
        return Statement(text, self.dictionary, self.idf)

    def _closest(self, text: str, numbers: Sequence[int]) -> int:
        """Of the sources a mark may mean, the one that shares most with the text before it."""
        statement = self._statement(text.rpartition("\n")[2])
        shares = [statement.share(self.sources[number - 1].words) for number in numbers]
        return numbers[shares.index(max(shares))]

    def _hold(self, statement: Statement, numbers: Sequence[int]) -> bool:
        """Whether the cited sources support the statement together; keeps where they do."""
        sources = [self.sources[number - 1] for number in numbers]
        together = fit(statement, sources, self.question)
        for number, source in zip(numbers, sources, strict=True):
            share = statement.share(source.words)
            holds: bool | None = together.holds and share >= PART
            if together.holds and (together.foreign or are_foreign(statement, source)):
                holds = None
            span = _Span(holds, share, *source.best_span(statement))
            self.spans.setdefault(number, []).append(span)
        return together.holds

    def _clearly(self, statement: Statement, beside: Sequence[int]) -> int:
        """The source that clearly says the same as a statement without a citation; 0 if none.
        Sources cited in the same line win ties."""
        best, best_score = 0, CLEARLY
        order = [*beside, *(n for n in range(1, len(self.sources) + 1) if n not in beside)]
        for number in order:
            source = self.sources[number - 1]
            if statement.share(source.words) < best_score:
                continue
            found: Fit = fit(statement, [source], self.question)
            if found.holds and not found.foreign and (not best or found.score > best_score):
                best, best_score = number, found.score
        return best

    def _cite(self, number: int) -> Citation:
        """The citation of a source: the sentences for all statements that cite it where they
        stand close together, else those for the statement it supports best."""
        source = self.sources[number - 1]
        text, offset = source.passage.text, source.passage.char_start
        found = self.spans.get(number) or [_Span(False, 0.0, *_first_sentence(source))]
        verdicts = {span.holds for span in found}
        supported = next(verdict for verdict in (True, False, None) if verdict in verdicts)
        good = [span for span in found if span.holds is supported]
        best = max(good, key=lambda span: (span.share, -span.start))
        start, end = min(span.start for span in good), max(span.end for span in good)
        if end - start > _LONGEST_QUOTE:
            start, end = best.start, best.end
        made = citation_of(number, source.passage, offset + start, offset + end, text[start:end])
        return replace(made, support=round(best.share, 3), supported=supported)


def _first_sentence(source: Evidence) -> tuple[int, int]:
    return source.sentences[0][:2] if source.sentences else (0, len(source.passage.text))


def _beside(claimed: Sequence[Claimed], one: Claimed) -> list[int]:
    """Sources cited in the statement's own line."""
    numbers = (number for other in claimed if other.line == one.line for number in other.numbers)
    return list(dict.fromkeys(numbers))
