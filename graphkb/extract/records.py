"""What a model reports of a text unit, as records, before anything of it is believed."""

from __future__ import annotations

import html
import re
import unicodedata
from dataclasses import dataclass, replace

MAX_NAME = 200
#: Of a relationship whose weight is not given: what models mostly say of what they list.
NO_WEIGHT = 8.0
_MAX_PHRASE = 80
_QUOTES = "\"'`´‘’“”„«»「」『』＂＇"
_NO_NAME = frozenset("none null nil n/a na unknown undefined nan 无 空 未知".split())
_NUMBER = re.compile(r"[-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?", re.IGNORECASE)


@dataclass(frozen=True)
class EntityRecord:
    """A name, its type and what is said of it. ``raw`` is how the reply writes the record where
    it is not JSON."""

    name: str
    type: str = ""
    description: str = ""
    raw: str = ""


@dataclass(frozen=True)
class RelationshipRecord:
    """Two names and what joins them; ``weight`` from 1 to 10, 8 where none is given."""

    source: str
    target: str
    type: str = ""
    description: str = ""
    weight: float = NO_WEIGHT
    raw: str = ""


@dataclass(frozen=True)
class ClaimRecord:
    """A fact about a subject, all as the model wrote it."""

    subject: str
    type: str = ""
    description: str = ""
    status: str = ""
    start_date: str = ""
    end_date: str = ""
    object: str = ""
    raw: str = ""


Record = EntityRecord | RelationshipRecord | ClaimRecord


@dataclass(frozen=True)
class Records:
    """The records of a reply. ``repaired`` counts those that were mended, ``dropped`` those that
    could not be: entities, relationships, claims and dropped add up to what the reply lists.

    ``raw`` is the JSON text they were read from, empty for other replies.
    """

    entities: tuple[EntityRecord, ...] = ()
    relationships: tuple[RelationshipRecord, ...] = ()
    claims: tuple[ClaimRecord, ...] = ()
    repaired: int = 0
    dropped: int = 0
    raw: str = ""

    def __len__(self) -> int:
        return len(self.entities) + len(self.relationships) + len(self.claims)

    def __add__(self, other: Records) -> Records:
        """Both lists, this one first; equal records stay doubled."""
        return Records(
            self.entities + other.entities,
            self.relationships + other.relationships,
            self.claims + other.claims,
            self.repaired + other.repaired,
            self.dropped + other.dropped,
        )

    def without_echo(self, document: str) -> Records:
        """Without the records that only repeat text of the document, which are no findings."""
        text = _bare(document)
        if self.raw and _bare(self.raw) in text:
            return replace(NOTHING, dropped=self.dropped + len(self))
        found = replace(
            self,
            entities=tuple(r for r in self.entities if not _repeats(r, text)),
            relationships=tuple(r for r in self.relationships if not _repeats(r, text)),
            claims=tuple(r for r in self.claims if not _repeats(r, text)),
        )
        return replace(found, dropped=self.dropped + len(self) - len(found))


def _bare(text: str) -> str:
    """Letters and digits only: marks are what a reply and its parser change."""
    return "".join(filter(str.isalnum, text))


def _repeats(record: Record, bare_text: str) -> bool:
    return bool(record.raw) and _bare(record.raw) in bare_text


NOTHING = Records()


def cleaned(value: object) -> str:
    """A field as one line of text: HTML entities decoded, white space folded."""
    if value is None:
        return ""
    text = str(value)
    return " ".join((html.unescape(text) if "&" in text else text).split())


def cleaned_name(value: object) -> str:
    """A name without the quotes around it; empty for what is no name: nothing but quotes, None,
    or longer than any name.

    >>> cleaned_name(" “Ada\\nLin” "), cleaned_name('"'), cleaned_name("None")
    ('Ada Lin', '', '')
    """
    name = cleaned(value)
    while len(name) > 1 and name[0] in _QUOTES and name[-1] in _QUOTES:
        name = name[1:-1].strip()
    if not name.strip(_QUOTES + " ") or name.lower() in _NO_NAME or len(name) > MAX_NAME:
        return ""
    return name


def cleaned_phrase(value: object) -> str:
    """A relation or type as a short phrase."""
    return cleaned(value).strip(_QUOTES + " ")[:_MAX_PHRASE].strip()


def number_in(value: object) -> float | None:
    """The number a field starts with, quotes and width aside; None without one."""
    if isinstance(value, bool) or value is None:
        return None
    text = unicodedata.normalize("NFKC", str(value)).strip(_QUOTES + " ")
    found = _NUMBER.match(text)
    return float(found.group()) if found else None


def weight_in(value: object) -> float:
    """A weight from 1 to 10; 1 for what is no number.

    >>> [weight_in(v) for v in ("'7'", "９/10", "high", -3, 1e9, float("nan"))]
    [7.0, 9.0, 1.0, 1.0, 10.0, 1.0]
    """
    number = number_in(value)
    return 1.0 if number is None else min(10.0, max(1.0, number))
