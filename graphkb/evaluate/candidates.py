"""Questions that the documents answer, by patterns: sentences, table cells, headings, chains."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from graphkb.evaluate import facts_en, facts_zh
from graphkb.evaluate.cells import cell_questions
from graphkb.evaluate.facts import Fact
from graphkb.evaluate.wellformed import reads_well
from graphkb.text.headings import HEADING_MARKS
from graphkb.text.language import has_han, question_language
from graphkb.text.names import name_key
from graphkb.text.sentences import sentence_spans

TABLE = "table"
"""The type of questions for the cell of a table."""


@dataclass(frozen=True)
class Candidate:
    """A question with its answer and the text units that hold it, in the order of the chain.

    ``links`` are the questions it was put together from, with their answers: each must be as
    unambiguous as the whole.
    """

    query: str
    answer: str
    type: str
    language: str
    text_unit_ids: tuple[str, ...]
    links: tuple[tuple[str, str], ...] = ()

    @property
    def hops(self) -> int:
        """Text units that must be read together."""
        return len(set(self.text_unit_ids))


def of_fact(fact: Fact) -> Candidate:
    """The question of one sentence."""
    unit = fact.sentence.text_unit_id
    return Candidate(fact.query, fact.answer, fact.type, fact.language, (unit,))


def table_questions(text: str, text_unit_id: str) -> Iterator[Candidate]:
    """A question for each cell of the Markdown tables in a text unit."""
    for made in cell_questions(text):
        yield Candidate(made.query, made.answer, TABLE, made.language, (text_unit_id,))


def tells(candidate: Candidate) -> bool:
    """Whether the question is a sentence and its answer more than one character: the cell of a
    table may be less, and yet show that another row answers otherwise."""
    whole = candidate.type != TABLE or len(candidate.answer) > 1
    return whole and reads_well(candidate.query, candidate.language)


_ASKING = re.compile(r"(?:how to|如何|怎样|怎么|为什么|为何) ?\S.{3,}", re.IGNORECASE)
_HEADING = re.compile(HEADING_MARKS + r"(?:\d+(?:\.\d+)*[.、]?\s+)?(.*?)\s*#*$")


def heading_questions(text: str, text_unit_id: str) -> Iterator[Candidate]:
    """Headings that ask something, answered by the first sentence under them.

    >>> found = heading_questions("## 如何导出凭证\\n\\n点击导出按钮。再选格式。", "u")
    >>> [(c.query, c.answer) for c in found]
    [('如何导出凭证？', '点击导出按钮。')]
    """
    lines = text.splitlines(keepends=True)
    for place, line in enumerate(lines):
        heading = _HEADING.match(line.strip())
        if heading is None:
            continue
        asked = heading.group(1).strip("*")
        if not asked.endswith(("?", "？")) and not _ASKING.fullmatch(asked):
            continue
        below = "".join(lines[place + 1 :])
        spans = sentence_spans(below)
        answer = below[slice(*spans[0])].strip("-* \n") if spans else ""
        if len(answer) > 5 and not answer.startswith(("#", "|")):
            mark = "？" if has_han(asked) else "?"
            query = asked.rstrip("?？") + mark
            yield Candidate(query, answer, "heading", question_language(query), (text_unit_id,))


_DESCRIPTION = {"en": 90, "zh": 22}
"""Longest predicates that describe a name, in characters."""


def chained(facts: Sequence[Fact]) -> Iterator[Candidate]:
    """Two facts as one question: the name that one asks about is described by the other.

    “Where was Ada Lin born?” and “Ada Lin leads the Osprey project” give “Where was the person
    who leads the Osprey project born?”, with both text units to be read.
    """
    describing: dict[str, list[Fact]] = defaultdict(list)
    for fact in facts:
        if (
            fact.predicate
            and fact.subject is not None
            and len(fact.predicate) <= _DESCRIPTION[fact.language]
        ):
            describing[fact.subject.entity].append(fact)
    for asked in facts:
        for name in _named(asked):
            for fact in describing.get(name[0], ()):
                joined = _joined(asked, name[1], fact)
                if joined is not None:
                    yield joined


def _named(fact: Fact) -> list[tuple[str, str]]:
    """Entity and surface of the names that stand in the question."""
    inside = [(n.entity, n.surface) for n in fact.sentence.names if n.surface in fact.query]
    return list(dict.fromkeys(inside))


def _joined(asked: Fact, surface: str, fact: Fact) -> Candidate | None:
    units = (fact.sentence.text_unit_id, asked.sentence.text_unit_id)
    subject = fact.subject
    repeats = asked.answer in fact.predicate or fact.answer == asked.answer
    if subject is None or units[0] == units[1] or asked.language != fact.language or repeats:
        return None
    if asked.query.count(surface) != 1 or surface in fact.predicate:
        return None
    if asked.language == "zh":
        if not asked.query.startswith(surface) and f"{surface}的" not in asked.query:
            return None
        description = facts_zh.described(subject, fact.predicate)
    else:
        description = facts_en.described(subject, fact.predicate)
        surface = f"the {surface}" if f"the {surface}" in asked.query else surface
    return Candidate(
        query=asked.query.replace(surface, description),
        answer=asked.answer,
        type=f"{asked.type}, chained",
        language=asked.language,
        text_unit_ids=units,
        links=((fact.query, fact.answer), (asked.query, asked.answer)),
    )


def without_rivals(candidates: Iterable[Candidate]) -> list[Candidate]:
    """Candidates whose question is asked once, or always with the same answer; the first of each,
    in order."""
    answers: dict[str, set[str]] = defaultdict(set)
    first: dict[str, Candidate] = {}
    for candidate in candidates:
        key = name_key(candidate.query)
        answers[key].add(name_key(candidate.answer))
        first.setdefault(key, candidate)
    return [candidate for key, candidate in first.items() if len(answers[key]) == 1]
