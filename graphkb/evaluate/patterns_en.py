"""English sentences as questions: what somebody did, when and where, what something is, why it was
so, how much it is, and how two names are connected."""

from __future__ import annotations

import re
from collections.abc import Iterator

from graphkb.evaluate.facts import Fact, Name, Sentence
from graphkb.evaluate.facts_en import JOINED as _JOINED
from graphkb.evaluate.facts_en import POINTING, clause_of
from graphkb.evaluate.verbs_en import BASES
from graphkb.extract.kinds import GEO, ORGANIZATION, PERSON

MONTH = "(?:January|February|March|April|May|June|July|August|September|October|November|December)"
_YEAR = r"(?:1[5-9]|20)\d\d"
DATE = rf"(?:\d{{1,2}} {MONTH} {_YEAR}|{MONTH} \d{{1,2}}, {_YEAR}|{MONTH} {_YEAR}|{_YEAR})"
_WHEN = re.compile(rf" (in|on) ({DATE})$")
_SINCE = re.compile(rf"^(has|have) (been .+) since ({DATE})$")
_DATED = re.compile(rf"^(In|On) ({DATE}),? (?=[A-Z])")
_AMOUNT = (
    r"(?:about |around |nearly |over |more than |at least |up to )?"
    r"(?:(?:[A-Z]{3}|US\$|[$€£¥])\s?\d[\d,.]*(?: (?:million|billion|thousand))?"
    r"|\d[\d,.]*(?: (?:million|billion|thousand))?"
    r"(?: ?(?:%|percent|per cent|°C|kW|MW|kWh|MWh|km|mm|cm|kg|bar|GB|MB|TB)"
    r"| (?:euros?|dollars?|pounds?|yuan|metres|meters|kilometres|days|weeks|months|years|hours|"
    r"minutes|seconds|tonnes|litres)))"
)
_HOW_MUCH = re.compile(
    rf"^(?:[Tt]he )?([A-Za-z][\w'’\-]*(?: [\w'’\-]+){{0,6}}?) (is|was|are|were) "
    rf"(?:set at |fixed at )?({_AMOUNT})((?: (?:in|at|for|per|a|from|on) .{{2,40}})?)$"
)
_COUNTED = re.compile(
    r"^(\d[\d,]*|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve) "
    r"((?:[a-z\-]+ ){0,2}[a-z\-]+[^s\W]s)((?: (?:in|at|for|from|on|to) .{2,40})?)$"
)
_NOT_ONE = re.compile(
    r"^(?:there|this|that|these|those|it|he|she|they|we|you|what|one|all)\b", re.I
)
_IS_A = re.compile(r"^(is|was|are|were) ((?:an?|the|one of the) .+)$")
_THAT = re.compile(r" (?:that|where|so that|with|from|in which|since|as) ")
# What is said of a person, whatever type the name was given.
_PERSON = re.compile(
    r"(?:an?|the|one of the) (?:[\w'’\-]+ ){0,4}?(?:"
    + "|".join(
        "member actor actress politician player writer author singer musician composer director "
        "producer artist painter poet scientist engineer professor lawyer judge officer soldier "
        "footballer brother sister son daughter king queen bishop priest citizen businessman "
        "businesswoman founder co-founder chairman president governor senator manager coach "
        "partner physician teacher journalist historian screenwriter filmmaker novelist "
        "playwright songwriter rapper pianist guitarist drummer dancer comedian photographer "
        "sculptor architect designer editor critic translator philosopher mathematician "
        "physicist chemist biologist economist theologian scholar emperor empress prince princess "
        "duke duchess earl baron count nobleman noblewoman sheriff abbot abbess monk nun pope "
        "cardinal general admiral captain colonel commander minister mayor ambassador diplomat "
        "attorney activist merchant banker entrepreneur explorer missionary athlete boxer "
        "wrestler cyclist swimmer golfer cricketer champion wife husband widow father mother "
        "uncle aunt nephew niece cousin grandson granddaughter".split()
    )
    + r")s?\b"
)
_CUT_OFF = re.compile(r" (?:written|directed|produced|starring|based|located|situated|known|made)$")
_UNFINISHED = re.compile(r" (?:at|by|of|in|to|for|on|between|under|over|through|the|an?)$")
_GOES_ON = re.compile(r"(?<!ed)(?<!ing) and (?=(?:is|was|has|had|[a-z]+(?:ed|s)) )")
_WHICH = re.compile(r"^(?:is|was) an? ((?:[a-z\-]+ ){0,3}[a-z\-]+) that (.+)$")
_BE = re.compile(r"^(is|was|are|were|can|could|must|may|will|has|have|had|should) (not )?(.+)$")
_CAUSE = re.compile(r"^(.+?),? (?:because(?! of\b)|because of|due to|owing to) (.{8,120})$")
_VERB_LIKE = re.compile(r"(?:is|was|are|were|has|had|[a-z]{3,}(?:ed|es|s))\b|" + "|".join(
    rf"{past}\b" for past in BASES if not past.endswith("ed")
))  # fmt: skip
_LONGEST_ANSWER, _LONGEST_CLAUSE = 14, 26


def english_patterns(sentence: Sentence) -> Iterator[Fact]:
    """Further questions that the sentence answers, beside :func:`facts_en.english_facts`."""
    yield from _how_much(sentence)
    text = sentence.text
    dated = _DATED.match(text)
    subject = _subject(sentence, dated.end() if dated else 0)
    if subject is None:
        return
    name, named, rest = subject
    yield from _why(sentence, name, named)
    clause = clause_of(rest)
    if not 2 <= len(clause.split()) <= _LONGEST_CLAUSE or "*" in clause:
        return
    if POINTING.search(_THAT.split(clause)[0]) or not is_told(name):
        return
    for query, answer, kind in (
        *_did(sentence, named, clause, dated.groups() if dated else ("", "")),
        *_since(named, clause),
        *_is(name, named, clause),
        *_connected(sentence, name, clause),
    ):
        yield Fact(query, answer, kind, "en", name, "", sentence)


def is_told(name: Name) -> bool:
    """Whether a name tells whom or what it means: a surname alone may be anybody's."""
    return " " in name.surface or name.type != PERSON


def _subject(sentence: Sentence, start: int) -> tuple[Name, str, str] | None:
    """The name, or two joined by "and", that the sentence speaks of from ``start`` on, as it is
    written there, and what follows."""
    names = [name for name in sentence.names if name.start >= start]
    if not names:
        return None
    name, text = names[0], sentence.text
    before = text[start : name.start].strip(' "“*').lower()
    if before not in ("", "the"):
        return None
    named, rest = f"{before} {name.surface}".strip(), text[name.end :].lstrip("*")
    if len(names) > 1 and rest.strip(" *") and text[name.end : names[1].start] == " and ":
        named, rest = f"{named} and {names[1].surface}", text[names[1].end :]
    return (name, named, rest.strip()) if rest.startswith(" ") else None


def _did(
    sentence: Sentence, named: str, clause: str, dated: tuple[str, ...]
) -> Iterator[tuple[str, str, str]]:
    """When, where and what somebody did, and how many or how much."""
    verb, _, said = clause.partition(" ")
    base = BASES.get(verb)
    if not base or _JOINED.search(f" {said} "):
        return
    found = _WHEN.search(f" {said}")
    if found:
        dated, said = found.groups(), said[: found.start() - 1] if found.start() else ""
    preposition, date = dated
    act = f"did {named} {base}"
    if date and said:
        yield f"When {act} {said}?", date, "when"
    behind = f" {preposition.lower()} {date}" if date else ""
    for place in sentence.names[1:]:
        end = f" in {place.surface}"
        if place.type == GEO and said.endswith(end):
            said = said.removesuffix(end)
            yield f"Where {act} {said}{behind}?", place.surface, "where"
            behind = end + behind
            break
    if counted := _COUNTED.match(said):
        yield f"How many {counted[2]} {act}{counted[3]}{behind}?", counted[1], "how many"
    elif re.fullmatch(_AMOUNT, said):
        yield f"How much {act}{behind}?", said, "how much"
    for thing in sentence.names[1:]:
        if said.removeprefix("the ") == thing.surface and (behind or len(said.split()) > 1):
            word = "Who" if thing.type == PERSON else "What"
            yield f"{word} {act}{behind}?", said, "what"


def _since(named: str, clause: str) -> Iterator[tuple[str, str, str]]:
    if found := _SINCE.match(clause):
        yield f"Since when {found[1]} {named} {found[2]}?", found[3], "when"


def _is(name: Name, named: str, clause: str) -> Iterator[tuple[str, str, str]]:
    """What or who something is, and which thing of a kind it is."""
    if which := _WHICH.match(clause):
        kind, said = which.groups()
        if len(said.split()) > 2 and not POINTING.search(said) and " and " not in said:
            yield f"Which {kind} {said}?", name.surface, "which"
    if found := _IS_A.match(clause):
        verb, said = found.groups()
        what = _CUT_OFF.sub("", _GOES_ON.split(_THAT.split(said)[0])[0])
        person = name.type == PERSON or _PERSON.match(what)
        if person and " " not in name.surface:
            return
        broken = POINTING.search(what) or _UNFINISHED.search(what)
        if 2 < len(what.split()) <= _LONGEST_ANSWER and not broken:
            word = "Who" if person else "What"
            yield f"{word} {verb} {named}?", what, "definition"


def _connected(sentence: Sentence, name: Name, clause: str) -> Iterator[tuple[str, str, str]]:
    """How the subject and another person or organization have to do with each other."""
    if name.type not in (PERSON, ORGANIZATION) or not _VERB_LIKE.match(clause):
        return
    others = [n for n in sentence.names[1:] if n.type in (PERSON, ORGANIZATION) and is_told(n)]
    for other in others[:1]:
        end = clause.find(other.surface) + len(other.surface)
        said = clause[:end]
        short = 1 < len(said.split()) <= _LONGEST_ANSWER and not _JOINED.search(said)
        if end > len(other.surface) and short:
            yield f"How is {name.surface} connected with {other.surface}?", said, "relation"


def _why(sentence: Sentence, name: Name, named: str) -> Iterator[Fact]:
    found = _CAUSE.match(sentence.text.rstrip(" ."))
    place = found.group(1).find(named) if found else -1
    if found is None or place < 0 or place > 4 or not is_told(name):
        return
    act, cause = found.group(1)[place + len(named) :].strip(), found.group(2)
    verb, _, said = act.partition(" ")
    if be := _BE.match(act):
        query = f"Why {be[1]} {named} {be[2] or ''}{be[3]}?"
    elif verb in BASES and said:
        query = f"Why did {named} {BASES[verb]} {said}?"
    else:
        return
    whole = not POINTING.search(act) and not re.search(r"[;()]", f"{act}{cause}")
    if whole and len(act.split()) > 1:
        yield Fact(query, cause, "why", "en", name, "", sentence)


def _how_much(sentence: Sentence) -> Iterator[Fact]:
    text = sentence.text.strip(" -*").rstrip(" .")
    found = _HOW_MUCH.match(text)
    if found is None or _NOT_ONE.match(text) or POINTING.search(found.group(1)):
        return
    thing, verb, amount, tail = found.groups()
    if any(map(str.isdigit, thing)):
        return
    told = (n for n in sentence.names if n.type in (PERSON, ORGANIZATION, GEO) and is_told(n))
    named = next((n for n in told if n.surface in thing), None)
    article = "the " if text.startswith("The ") else ""
    thing = thing if named and thing.startswith(named.surface) else thing[:1].lower() + thing[1:]
    query = anchored(sentence, f"what {verb} {article}{thing}{tail}?", bool(named))
    if query:
        yield Fact(query, amount, "how much", "en", None, "", sentence)


def anchored(sentence: Sentence, query: str, names_it: bool) -> str:
    """The question with the document's title where no name in it tells what it is about; empty
    where the title does not tell either."""
    if names_it:
        return query[:1].upper() + query[1:]
    return f"According to “{sentence.title}”, {query}" if sentence.title else ""
