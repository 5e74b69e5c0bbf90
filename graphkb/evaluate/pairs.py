"""Two facts of one document about one name, asked for together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

from graphkb.evaluate.candidates import Candidate
from graphkb.evaluate.facts import Fact
from graphkb.extract.kinds import ORGANIZATION, PERSON

PAIR = "two facts"
"""The type of such questions; their answers stand in one, parted by a semicolon."""

_PRONOUNS = {PERSON: "they", ORGANIZATION: "it"}
_PLURAL = {"was": "were", "is": "are", "has": "have", "does": "do"}
_KINDS = ("when", "where", "how many", "how much")


def paired(facts: Sequence[Fact]) -> Iterator[Candidate]:
    """Questions of two kinds about the same name in one document, joined into one.

    “When was the Tidal Trust founded?” and “How many people does the Tidal Trust employ?” give
    “When was the Tidal Trust founded, and how many people does it employ?”.
    """
    groups: dict[tuple[str, str, str], list[Fact]] = defaultdict(list)
    for fact in facts:
        if fact.subject is not None and fact.type in _KINDS and fact.subject.type in _PRONOUNS:
            key = fact.sentence.document_id, fact.subject.entity, fact.language
            groups[key].append(fact)
    for group in groups.values():
        for place, first in enumerate(group):
            other = next((fact for fact in group[place + 1 :] if fact.type != first.type), None)
            joined = _joined(first, other) if other else None
            if joined is not None and other is not None:
                yield joined
                break


def _joined(first: Fact, other: Fact) -> Candidate | None:
    assert first.subject is not None, "a group has one subject"
    name = first.subject.surface
    if name not in first.query or other.query.count(name) != 1:
        return None
    if first.answer in other.query or other.answer in first.query:
        return None
    if first.language == "zh":
        if not other.query.startswith(name):
            return None
        query = f"{first.query.rstrip('？')}，{other.query.removeprefix(name)}"
    else:
        pronoun = _PRONOUNS[first.subject.type]
        named = f"the {name}" if f"the {name}" in other.query else name
        second = other.query.replace(named, pronoun)
        for one, many in _PLURAL.items():
            second = second.replace(f"{one} they", f"{many} they")
        query = f"{first.query.rstrip('?')}, and {second[:1].lower()}{second[1:]}"
    mark = "；" if first.language == "zh" else "; "
    return Candidate(
        query=query,
        answer=f"{first.answer}{mark}{other.answer}",
        type=PAIR,
        language=first.language,
        text_unit_ids=(first.sentence.text_unit_id, other.sentence.text_unit_id),
        links=((first.query, first.answer), (other.query, other.answer)),
    )
