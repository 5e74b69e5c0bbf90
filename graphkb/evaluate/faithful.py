"""Is an answer borne out by what it cites: by words, numbers and names, or by a model."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from graphkb.errors import ModelFailure
from graphkb.llm.model import Model, Prompt
from graphkb.llm.prompts import data_block, load_prompt, prompt_language
from graphkb.llm.verdicts import read_numbered_verdicts, verdict_schema
from graphkb.query.statements import Claimed, statements_of
from graphkb.query.support import Evidence, Idf, Statement, fit
from graphkb.text.language import detect_language, question_language
from graphkb.types import Answer, Citation, Passage

STEP = "judge"
VERDICTS = ("supported", "partly", "unsupported")
SCHEMA = verdict_schema("statement", VERDICTS)
_WORDS = {
    "支持": "supported",
    "部分支持": "partly",
    "不支持": "unsupported",
    "not supported": "unsupported",
}
_VERDICT = re.compile(
    r"(?<![\w.])(\d+)\W{0,20}(?:(?:verdict|result|判断|结论)\W{0,10})?"
    r"(unsupported|not supported|partly|supported|部分支持|不支持|支持)(?![A-Za-z])",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Support:
    """Statements of one answer. ``cited`` have a mark, ``supported`` of those are borne out by
    what they cite; ``foreign`` were not counted, as words of two languages cannot be compared.
    ``marks`` are citation marks, ``known`` of them point to a source of the answer whose quote
    stands in its document.
    """

    statements: int
    cited: int
    supported: int
    foreign: int
    marks: int
    known: int

    @property
    def checked(self) -> int:
        """Cited statements that could be compared."""
        return self.cited - self.foreign


def check_support(
    answer: Answer, documents: Mapping[str, str], dictionary: Sequence[str], idf: Idf
) -> Support:
    """Statements and citations of an answer, compared by words, numbers and names.

    ``documents`` maps the ids of cited documents to their text; ``idf`` weighs words by rarity.
    See :mod:`graphkb.query.support` for what this comparison can see.
    """
    claims = statements_of(answer.text)
    passages = {c.number: passage_of_citation(answer, c) for c in answer.citations}
    evidence = {number: Evidence(passage, dictionary) for number, passage in passages.items()}
    supported = foreign = 0
    for claim in claims:
        sources = [evidence[number] for number in claim.numbers if number in evidence]
        if not claim.numbers:
            continue
        found = fit(Statement(claim.text, dictionary, idf), sources, answer.question)
        foreign += found.foreign
        supported += found.holds and not found.foreign
    marks = [number for claim in claims for number in claim.numbers]
    sound = {c.number for c in answer.citations if _stands(c, documents)}
    return Support(
        statements=len(claims),
        cited=sum(bool(claim.numbers) for claim in claims),
        supported=supported,
        foreign=foreign,
        marks=len(marks),
        known=sum(number in sound for number in marks),
    )


def _stands(citation: Citation, documents: Mapping[str, str]) -> bool:
    """Whether the quote is what stands at its place in the document."""
    text = documents.get(citation.document_id)
    return text is not None and text[citation.char_start : citation.char_end] == citation.quote


def passage_of_citation(answer: Answer, citation: Citation) -> Passage:
    """The passage that a citation was made from, else one that holds its quote alone."""
    for passage in answer.context.passages:
        inside = passage.char_start <= citation.char_start and (
            citation.char_end <= passage.char_end
        )
        if passage.document_id == citation.document_id and inside:
            return passage
    return Passage(
        kind="text_unit",
        text=citation.quote,
        score=0.0,
        text_unit_id=citation.text_unit_id,
        document_id=citation.document_id,
        title=citation.title,
        path=citation.path,
        heading=citation.heading,
        page=citation.page,
        char_start=citation.char_start,
        char_end=citation.char_end,
    )


@dataclass(frozen=True)
class Judged:
    """A model's verdicts on the cited statements of an answer: how many of each. ``missing`` got
    none."""

    supported: int
    partly: int
    unsupported: int
    missing: int

    @property
    def n(self) -> int:
        """Statements with a verdict."""
        return self.supported + self.partly + self.unsupported


def judge_answers(
    model: Model, root: Path, answers: Sequence[Answer]
) -> list[Judged | ModelFailure | None]:
    """The model's word on each answer, one call an answer; None for one without citations.

    The model is shown the cited statements, numbered, and the passages they cite. Raises
    ModelUnusableError when no call can succeed.
    """
    claims = [[c for c in statements_of(answer.text) if c.numbers] for answer in answers]
    places = [place for place, found in enumerate(claims) if found and answers[place].citations]
    prompts = [_prompt(root, answers[place], claims[place]) for place in places]
    outcomes: list[Judged | ModelFailure | None] = [None] * len(answers)
    for place, said in zip(places, model.ask_many(prompts, read_verdicts), strict=True):
        outcomes[place] = (
            said if isinstance(said, ModelFailure) else _counted(said.value, len(claims[place]))
        )
    return outcomes


def _prompt(root: Path, answer: Answer, claims: Sequence[Claimed]) -> Prompt:
    listed = "\n".join(f"{number}. {claim.text}" for number, claim in enumerate(claims, 1))
    shown = dict.fromkeys(passage_of_citation(answer, c) for c in answer.citations)
    sources = "\n\n".join(f"{passage.title}\n{passage.text}" for passage in shown)
    asked = question_language(answer.question)
    language = prompt_language(asked if asked != "und" else detect_language(answer.text))
    system, user = load_prompt(
        root,
        language,
        "judge_faithfulness",
        sources=data_block("sources", sources),
        statements=data_block("statements", listed),
    )
    return Prompt(STEP, system, user, schema=SCHEMA)


def _counted(verdicts: Mapping[int, str], n: int) -> Judged:
    found = [verdicts.get(number, "") for number in range(1, n + 1)]
    counts = [found.count(verdict) for verdict in VERDICTS]
    return Judged(counts[0], counts[1], counts[2], n - sum(counts))


def read_verdicts(text: str) -> dict[int, str]:
    """Verdicts by the number of their statement. Raises ValueError for a reply without any.

    >>> read_verdicts('{"verdicts": [{"statement": 1, "verdict": "partly"}]}')
    {1: 'partly'}
    >>> read_verdicts("1：不支持\\n2：支持")
    {1: 'unsupported', 2: 'supported'}
    """
    example = {"statement": 1, "verdict": "supported"}
    return read_numbered_verdicts(text, _VERDICT, _WORDS, example)
