"""Records of a model to evidence: only what the text bears out, each with its place.

Rules, each counted in ``dropped``: a name must stand in the unit's text or in its context, by
:meth:`graphkb.extract.locate.Located.spans`. An end of a relationship that is no reported entity
means the longest one it holds, where it is a phrase (``Hong Kong theatres``); else it becomes an
entity of type ``UNKNOWN`` when it stands there, which any other type outweighs later; else the
relationship goes. A relationship of a name with itself goes. A claim's subject must stand; an
object that does not is left out.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from graphkb.extract import aliases, kinds, latin
from graphkb.extract.claims import claim_of, iso_date
from graphkb.extract.context import parts, title_names
from graphkb.extract.locate import Located, Span
from graphkb.extract.questions import Unit
from graphkb.extract.records import ClaimRecord, EntityRecord, Records, RelationshipRecord
from graphkb.extract.unit import RELATED, Evidence
from graphkb.text.language import has_han
from graphkb.text.names import fold, name_key
from graphkb.text.sentences import sentence_spans

UNKNOWN = "UNKNOWN"
CLAIM = "CLAIM"
_WORD = re.compile(r"[^\W_]+")
_TYPES = {
    "人物": kinds.PERSON, "人": kinds.PERSON, "人名": kinds.PERSON,
    "组织": kinds.ORGANIZATION, "机构": kinds.ORGANIZATION, "公司": kinds.ORGANIZATION,
    "ORGANISATION": kinds.ORGANIZATION, "COMPANY": kinds.ORGANIZATION,
    "地点": kinds.GEO, "地名": kinds.GEO, "位置": kinds.GEO,
    "LOCATION": kinds.GEO, "PLACE": kinds.GEO,
    "事件": kinds.EVENT, "作品": kinds.WORK, "产品": kinds.PRODUCT,
    "概念": kinds.TERM, "术语": kinds.TERM, "CONCEPT": kinds.TERM,
}  # fmt: skip
_STATUS = {
    "TRUE": "TRUE", "真": "TRUE", "是": "TRUE",
    "FALSE": "FALSE", "假": "FALSE", "否": "FALSE",
    "SUSPECTED": "SUSPECTED", "疑似": "SUSPECTED", "存疑": "SUSPECTED",
}  # fmt: skip


@dataclass
class Verified:
    """Evidence rows of one unit, descriptions of its names (text_unit_id, name, type,
    description), and how many records were used and left out."""

    evidence: Evidence = field(default_factory=Evidence)
    descriptions: list[tuple[str, str, str, str]] = field(default_factory=list)
    used: int = 0
    dropped: int = 0


@dataclass
class _Name:
    """A name that stands in the unit: where, and what the model says of it."""

    name: str
    type: str
    spans: list[Span]
    above: bool
    descriptions: list[str] = field(default_factory=list)
    held: list[float] = field(default_factory=list)


def verify(unit: Unit, records: Records, own_types: bool = False, claims: bool = True) -> Verified:
    """What of ``records`` the unit bears out. ``own_types``: the user named the entity types, so
    they are kept as they are. Without ``claims`` those of the reply are not used."""
    if not claims:
        records = replace(records, claims=())
    listed = len(records) + records.dropped
    records = records.without_echo(unit.text)
    verifier = _Verifier(unit, own_types)
    for entity in records.entities:
        verifier.entity(entity)
    for relationship in records.relationships:
        verifier.relationship(relationship)
    for claim in records.claims:
        verifier.claim(claim)
    verified = verifier.finish()
    verified.dropped += records.dropped
    verified.used = listed - verified.dropped
    return verified


class _Verifier:
    def __init__(self, unit: Unit, own_types: bool) -> None:
        self.unit, self.own_types = unit, own_types
        self.located, self.above = Located(unit.text), Located(unit.context)
        self.headings = {name_key(part) for part in parts(unit.context)}
        self.headings.update(map(name_key, title_names(unit.context)))
        self.names: dict[str, _Name] = {}
        self.reported: list[str] = []
        self.sentences = sentence_spans(unit.text) or [(0, len(unit.text))]
        self.words = [set(_words(unit.text[a:b])) for a, b in self.sentences]
        self.relationships: dict[tuple[str, str, str, int], tuple[float, list[str]]] = {}
        self.claims: dict[tuple[str, str, int], tuple[ClaimRecord, list[str]]] = {}
        self.result = Verified()

    def entity(self, record: EntityRecord) -> None:
        name = self._name(record.name, self._type(record.type))
        if name is None:
            self.result.dropped += 1
            return
        self.reported.append(name_key(record.name))
        if record.description and record.description not in name.descriptions:
            name.descriptions.append(record.description)

    def relationship(self, record: RelationshipRecord) -> None:
        source = self._end(record.source, record.target)
        target = self._end(record.target, record.source)
        if source is None or target is None or source is target:
            self.result.dropped += 1
            return
        said = record.description or _fact(source.name, record.type, target.name)
        place = self._sentence(source, target, f"{record.type} {said}")
        key = (source.name, target.name, record.type or RELATED, place)
        weight, descriptions = self.relationships.setdefault(key, (0.0, []))
        if said not in descriptions:
            descriptions.append(said)
        self.relationships[key] = (max(weight, record.weight / 10), descriptions)

    def claim(self, record: ClaimRecord) -> None:
        subject = self._name(record.subject, UNKNOWN)
        if subject is None:
            self.result.dropped += 1
            return
        other = self._name(record.object, UNKNOWN) if record.object else None
        place = self._sentence(subject, other or subject, record.description)
        kind = record.type.upper() or CLAIM
        _, descriptions = self.claims.setdefault((subject.name, kind, place), (record, []))
        if record.description not in descriptions:
            descriptions.append(record.description)

    def finish(self) -> Verified:
        self._add_mentions()
        unit, evidence = self.unit, self.result.evidence
        for (source, target, kind, place), (weight, said) in self.relationships.items():
            row = (unit.id, source, target, "; ".join(said), kind, weight, True)
            evidence.relationships.append((*row, *self.sentences[place]))
        for (subject, kind, place), (record, said) in self.claims.items():
            other = self._name(record.object, UNKNOWN) if record.object else None
            start, end = self.sentences[place]
            source = unit.text[start:end]
            dates = _dates(record, source)
            evidence.claims.append(
                (
                    unit.id,
                    subject,
                    other.name if other else None,
                    kind,
                    "; ".join(said),
                    _STATUS.get(record.status.upper(), "TRUE"),
                    *dates,
                    source,
                    start,
                    end,
                )
            )
        for name in self.names.values():
            if name.descriptions:
                said_of = " ".join(name.descriptions)
                self.result.descriptions.append((unit.id, name.name, name.type, said_of))
        return self.result

    def _end(self, name: str, other: str) -> _Name | None:
        """What an end of a relationship means; ``other`` is its other end."""
        key = name_key(name)
        if key not in self.names and not _is_name(name):
            phrase = Located(name)
            held = [k for k in self.reported if k != name_key(other) and phrase.holds(k)]
            if held:
                return self.names[max(held, key=len)]
        return self._name(name, UNKNOWN)

    def _name(self, name: str, kind: str) -> _Name | None:
        """The name's entry, made when it stands in the unit; None when it does not."""
        key = name_key(name)
        known = self.names.get(key)
        if known is None:
            spans = self.located.spans(name)
            above = key in self.headings or (not spans and bool(self.above.spans(name)))
            if not spans and not above:
                return None
            known = _Name(self._spelling(name, key, spans), kind, spans, above)
            self.names[key] = known
        elif known.type == UNKNOWN:
            known.type = kind
        return known

    def _spelling(self, name: str, key: str, spans: list[Span]) -> str:
        """As the text spells it first, where that is the same name."""
        written = (" ".join(self.unit.text[a:b].split()) for a, b in spans)
        return next((surface for surface in written if name_key(surface) == key), name)

    def _type(self, given: str) -> str:
        kind = given.upper()
        return (kind if self.own_types else _TYPES.get(kind, kind)) or UNKNOWN

    def _sentence(self, source: _Name, target: _Name, said: str) -> int:
        """The sentence that holds both names, else one of them, and most of the words."""
        words = set(_words(said)) or {""}
        one, other = self._held(source), self._held(target)
        fits = [
            one[place] + other[place] + len(words & inside) / len(words)
            for place, inside in enumerate(self.words)
        ]
        return fits.index(max(fits))

    def _held(self, name: _Name) -> list[float]:
        """By sentence: 1 where it writes the name; what stands above holds for each a little."""
        if not name.held:
            least = 0.5 if name.above else 0.0
            name.held = [
                1.0 if any(start <= a and b <= end for a, b in name.spans) else least
                for start, end in self.sentences
            ]
        return name.held

    def _add_mentions(self) -> None:
        unit, rows = self.unit, self.result.evidence.mentions
        second = self._second_names()
        titles = self._add_titles()
        for key, name in self.names.items():
            if name.above and key not in titles:
                rows.append((unit.id, -1, -1, name.name, name.name, name.type, None))
            for start, end in name.spans:
                full = second.get((start, end))
                surface = unit.text[start:end]
                rows.append((unit.id, start, end, surface, name.name, name.type, full))

    def _add_titles(self) -> set[str]:
        """The document's title and its shorter forms, which stand for it whatever the model
        lists; their keys. The type is the model's, else the one that the title's form shows."""
        titles = title_names(self.unit.context)
        if not titles:
            return set()
        keys = [name_key(title) for title in titles]
        reported = [self.names[key].type for key in keys if key in self.names]
        kind = next((kind for kind in reported if kind != UNKNOWN), "")
        kind = kind or kinds.type_of_title(titles[0], self._first_prose())
        rows = self.result.evidence.mentions
        for title in titles:
            full = titles[0] if title != titles[0] else None
            rows.append((self.unit.id, -1, -1, title, title, kind, full))
        return set(keys)

    def _first_prose(self) -> str:
        texts = (self.unit.text[a:b] for a, b in self.sentences)
        return next((text for text in texts if text[:1] not in "#|" and len(text) > 3), "")

    def _second_names(self) -> dict[Span, str]:
        """Spans of names that the text itself gives to another one, with that one."""
        owner = {span: name.name for name in self.names.values() for span in name.spans}
        found: dict[Span, str] = {}
        for start, end in self.sentences:
            inside = [(a - start, b - start) for a, b in owner if start <= a and b <= end]
            for full, short in aliases.alias_pairs(self.unit.text[start:end], sorted(inside)):
                span = (short[0] + start, short[1] + start)
                name = owner[full[0] + start, full[1] + start]
                if owner.get(span, name) != name:
                    found[span] = name
        return found


def _is_name(phrase: str) -> bool:
    """Whether a phrase is written as a name from its first to its last word.

    >>> _is_name("University of Kansas"), _is_name("Kansas farmers"), _is_name("武汉大学")
    (True, False, True)
    """
    if has_han(phrase):
        return kinds.guess_type(phrase) != kinds.TERM
    start = len(phrase) - len(phrase.removeprefix("the ").removeprefix("The "))
    return (start, len(phrase)) in latin.name_spans(phrase)


def _words(text: str) -> list[str]:
    """Latin words and single Chinese characters, folded."""
    folded = fold(text)
    words: list[str] = _WORD.findall(folded)
    if not has_han(folded):
        return words
    return [part for word in words for part in (word if has_han(word) else (word,))]


def _fact(source: str, relation: str, target: str) -> str:
    """A relationship in words."""
    gap = "" if has_han(source + target) and has_han(relation or target) else " "
    return gap.join(part for part in (source, relation, target) if part)


def _dates(record: ClaimRecord, source: str) -> tuple[str | None, str | None]:
    """ISO dates of a claim: those it gives, else those of its sentence."""
    start, end = iso_date(record.start_date), iso_date(record.end_date)
    if start or end:
        return start or end, end or start
    found = claim_of(record.description) or claim_of(source)
    return (found.start_date, found.end_date) if found else (None, None)
