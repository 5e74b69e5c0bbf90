"""Sentences that say one thing of one name, as questions with known answers: the common part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from graphkb.extract.kinds import ORGANIZATION, PERSON
from graphkb.text.sentences import sentence_spans


@dataclass(frozen=True)
class Name:
    """A name in a sentence: its span there, its entity and type."""

    start: int
    end: int
    surface: str
    entity: str
    type: str


@dataclass(frozen=True)
class Sentence:
    """A sentence with the names in it, in order, and where it stands. ``title`` is its document's
    where that tells it from the others, else empty."""

    text: str
    names: tuple[Name, ...]
    text_unit_id: str
    document_id: str
    title: str = ""


@dataclass(frozen=True)
class Fact:
    """A question with its answer, taken from one sentence.

    ``type`` says what is asked for. ``subject`` is the entity that the sentence begins with;
    ``predicate`` what it says of it, where the subject is what is asked for: so that another
    question can describe the subject instead of naming it.
    """

    query: str
    answer: str
    type: str
    language: str
    subject: Name | None
    predicate: str
    sentence: Sentence


KINDS = (PERSON, ORGANIZATION)


def sentences_of(
    text: str, names: Sequence[Name], text_unit_id: str, document_id: str, title: str = ""
) -> list[Sentence]:
    """The prose sentences of a text unit; ``names`` have spans in ``text``. Overlapping names are
    thinned to the longest."""
    found = []
    for start, end in sentence_spans(text):
        sentence = text[start:end]
        if sentence.lstrip().startswith(("#", "|", ">", "```")):
            continue
        lead = len(sentence) - len(sentence.lstrip("-*•· \t"))
        inside = [name for name in names if start + lead <= name.start and name.end <= end]
        kept: list[Name] = []
        for name in sorted(inside, key=lambda n: (n.start - n.end, n.start)):
            if all(name.end <= other.start or other.end <= name.start for other in kept):
                kept.append(name)
        begin = start + lead
        moved = tuple(
            Name(n.start - begin, n.end - begin, n.surface, n.entity, n.type)
            for n in sorted(kept, key=lambda n: n.start)
        )
        found.append(Sentence(text[begin:end].rstrip(), moved, text_unit_id, document_id, title))
    return found
