"""English sentences as questions: the subject, a place, a date or a number is asked for."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Name, Sentence
from graphkb.extract.kinds import GEO, ORGANIZATION, PERSON

ASKED = (PERSON, ORGANIZATION)
"""Types of names that a question may ask for."""

# An organization by the last word of its name.
_KINDS = {
    "team": "team", "bank": "bank", "university": "university", "committee": "committee",
    "college": "college", "hospital": "hospital", "ministry": "ministry", "school": "school",
    "department": "department", "council": "council", "party": "party", "club": "club",
    "ltd": "company", "inc": "company", "works": "company", "energy": "company", "plc": "company",
    "gmbh": "company", "limited": "company", "corporation": "company", "company": "company",
    "group": "group", "museum": "museum", "foundation": "foundation", "trust": "trust",
}  # fmt: skip

# Words that point outside the sentence: such a question cannot be understood alone.
POINTING = re.compile(
    r"\b(?:he|she|it|they|him|her|them|his|hers|its|their|this|these|those|that|here|there|we|us|"
    r"our|i|me|my|you|your|also|then|later|former|latter|above|below|same|such|another|other|"
    r"both|each|however|therefore|today|yesterday|tomorrow|now|document|text|passage|section)\b",
    re.IGNORECASE,
)
_VERB = re.compile(
    r"(?:is the|was the|are the|has|had|leads?|led|owns?|makes?|made|won|wrote|built|bought|sold|"
    r"runs?|ran|holds?|held|chairs?|(?:is|was) (?!an?\b|born|not)[a-z]+ed\b|[a-z]{3,}(?:ed|es|s))\b"
)
_CLAUSE_END = re.compile(
    r"[;:()—]|, | [–-] |\.$|[.?!]\s*$| (?:who|which|but|because|while|when|if) "
)
_DATE = re.compile(
    r" (?:in|on) ((?:\d{1,2} )?(?:(?:January|February|March|April|May|June|July|August|September|"
    r"October|November|December) )?(?:\d{1,2}, )?(?:1[5-9]|20)\d\d)$"
)
_COUNT = re.compile(
    r"(has|employs|operates|owns|runs) (\d[\d,]*|two|three|four|five|six|seven|eight|nine|ten|"
    r"eleven|twelve) ((?:[a-z\-]+ ){0,3}(?:[a-z\-]+[^s\W]s|people|children|men|women|staff))$"
)
_MADE_BY = re.compile(
    r"(?:is|was|are|were) (?:.* )?(directed|written|produced|founded|built|owned|published|"
    r"designed|composed|performed|created|developed|invented|acquired|painted|recorded|sung) by "
    r"(.+)$"
)
_PAST = {"written": "wrote", "sung": "sang"}
_BASE = {"has": "have", "employs": "employ", "operates": "operate", "owns": "own", "runs": "run"}
_PASSIVE = re.compile(r"(was|were) ([a-z]+(?:ed|en|orn|ilt|ade|ound|old|eld)\b.*)$")
JOINED = re.compile(r" (?:and|or|before|after|until|since) ")
_LEAST_WORDS, _MOST_WORDS = 2, 20


def asked(name: Name) -> str:
    """The words that ask for a person or an organization."""
    return "Who" if name.type == PERSON else f"Which {kind_of(name)}"


def described(name: Name, predicate: str) -> str:
    """A person or an organization by what is said of it."""
    who = "the person who" if name.type == PERSON else f"the {kind_of(name)} that"
    return f"{who} {predicate}"


def kind_of(name: Name) -> str:
    """What an organization is, as far as its name says: company, team, …, else organization."""
    last = name.surface.rsplit(maxsplit=1)[-1].strip(".").lower()
    return _KINDS.get(last, "organization")


def english_facts(sentence: Sentence) -> Iterator[Fact]:
    """Questions that the sentence answers about the name it begins with."""
    if not sentence.names:
        return
    subject = sentence.names[0]
    if sentence.text[: subject.start].strip(' "“*').lower() not in ("", "the"):
        return
    rest = sentence.text[subject.end :]
    if not rest.startswith(" "):
        return
    clause = clause_of(rest.strip())
    words = len(clause.split())
    if not _LEAST_WORDS <= words <= _MOST_WORDS or POINTING.search(clause) or "*" in clause:
        return
    named = subject.surface
    article = "the " if sentence.text[: subject.start].strip().lower() == "the" else ""
    # A surname alone may be anybody's.
    told = " " in named or (subject.type != PERSON and " born " not in f" {clause} ")
    found: list[tuple[str, str, str, str]] = []
    if subject.type in ASKED and _VERB.match(clause) and _is_anchored(sentence, clause):
        found.append((f"{asked(subject)} {clause}?", named, "who", clause))
    if told and (passive := _PASSIVE.match(clause)):
        verb, said = passive.groups()
        # Of two things that are said, the date or place belongs to the last.
        said = "" if JOINED.search(said) else said
        if date := _DATE.search(said):
            query = f"When {verb} {article}{named} {said[: date.start()]}?"
            found.append((query, date.group(1), "when", ""))
        for place in sentence.names[1:]:
            if place.type == GEO and said.endswith(f" in {place.surface}"):
                query = (
                    f"Where {verb} {article}{named} {said.removesuffix(f' in {place.surface}')}?"
                )
                found.append((query, place.surface, "where", ""))
    if told and (count := _COUNT.match(clause)):
        verb, number, things = count.groups()
        query = f"How many {things} does {article}{named} {_BASE[verb]}?"
        found.append((query, number, "how many", ""))
    for query, answer, kind, predicate in found:
        yield Fact(query, answer, kind, "en", subject, predicate, sentence)
    yield from _made_by(sentence, clause, f"{article}{named}")


def _made_by(sentence: Sentence, clause: str, thing: str) -> Iterator[Fact]:
    """Who directed, wrote or founded the thing that the sentence begins with."""
    made = _MADE_BY.match(clause)
    if made is None:
        return
    verb = _PAST.get(made.group(1), made.group(1))
    for name in sentence.names[1:]:
        if name.type in ASKED and name.surface == made.group(2).strip('"“”'):
            query = f"{asked(name)} {verb} {thing}?"
            yield Fact(query, name.surface, "who", "en", name, f"{verb} {thing}", sentence)


def clause_of(rest: str) -> str:
    """The first clause of what stands behind a subject."""
    end = _CLAUSE_END.search(rest)
    return (rest[: end.start()] if end else rest).strip(' .,;:"”')


def _is_anchored(sentence: Sentence, clause: str) -> bool:
    """Whether the clause names something else, by which it can be found."""
    return any(name.surface in clause for name in sentence.names[1:])
