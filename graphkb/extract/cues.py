"""Entity types from the words around a name: ``X, chief engineer of``, ``born in X``, ``位于X``."""

from __future__ import annotations

import re

from graphkb.extract.kinds import (
    COUNTRIES,
    GEO,
    ORGANIZATION,
    PERSON,
    PRODUCT,
    type_from_definition,
)

_BEFORE = 48
_ROLE = (
    r"(?:engineer|officer|director|manager|chair|chairman|chairwoman|chairperson|president|partner|"
    r"head|author|editor|founder|professor|minister|secretary|captain|mayor|executive|teacher|"
    r"doctor|lawyer|researcher|scientist|analyst|apprentice|fitter|electrician|developer|architect|"
    r"designer|journalist|writer|actor|actress|singer|coach|master|skipper|owner|spokes\w+)"
)
_PERSON_SHAPE = re.compile(
    r"[^\W\d_a-z][\w'’.\-]+(?: (?:de|da|di|du|van|von|der|bin|al|[^\W\d_a-z]\.?|"
    r"[^\W\d_a-z][\w'’\-]+))* [^\W\d_a-z][\w'’\-]+"
)
_MARKS = r"[*_”\"’)]*"
_PERSON_AFTER = re.compile(
    rf"{_MARKS}(?:,? (?:who |also |then |first |later |still )?(?:said|says|was born|grew up|"
    rf"studied|moved to|lives in|lived in|wrote|writes|chairs|chaired|leads|married|died|graduated|"
    rf"holds an? (?:doctorate|degree)|comes from|came from|joined|retired|resigned|answered|asked|"
    rf"explained|laughed|replied|knows|remembers|thanked|is responsible for|designed|invented|"
    rf"directed|manages|reports to)\b| \(born\b"
    rf"|, (?:(?:the|a|an|then|now|its|their) )?(?:[\w\-]+ ){{0,4}}{_ROLE}\b)",
)
_PERSON_BEFORE = re.compile(
    rf"(?:\b(?:directed|written|founded|managed|led|chaired|composed|edited|designed|signed|"
    rf"married|introduced|starring|stars) (?:by |to )?|\breports to |\b(?:son|daughter|wife|"
    rf"husband|widow|brother|sister|father|mother) of |\b{_ROLE},? |"
    rf"\b(?:Author|Editor|Owner|Chair|Contact|Present|Apologies|Interviewer):\**\s*)\Z"
)
_ORGANIZATION_BEFORE = re.compile(
    r"\b(?:(?:managing|executive|finance|technical) director (?:of|at)|"
    r"chief \w+ (?:officer )?(?:of|at)|chair(?:man|woman)? of|employees? (?:of|at)|"
    r"joined|joining|works? (?:for|at)|worked (?:for|at)|"
    r"shareholders of|shares (?:of|in)|subsidiary of|acquired(?: by)?|invested in|bought from|"
    r"(?:made|laid|built|supplied|operated|owned) by|manager at|fitter at|customers? of) \Z"
)
_ORGANIZATION_AFTER = re.compile(
    rf"{_MARKS}(?:, (?:a|an|the) (?:[\w\-]+ ){{0,3}}(?:company|firm|bank|maker|supplier|"
    rf"operator|agency|investor|manufacturer)\b|(?:['’]s)? (?:employs|has \d+ employees|hired|"
    rf"acquired|board of directors)\b)"
)
_GEO_BEFORE = re.compile(
    r"\b(?:(?:born|based|headquartered|located|situated|raised|grew up|lives?|lived|living|"
    r"died|buried|educated|settled|stationed|office|offices|base|hall|works|site|plant|factory|"
    r"laborator(?:y|ies)|quay|port|school|house|studied|worked|served|built|opened|opening) in|"
    r"moved (?:back )?to|arrived (?:in|at)|"
    r"(?:city|town|village|port|harbour|island|county|native|mayor|region) of|"
    r"comes from|came from|travel(?:s|led)? to|sail(?:s|ed)? (?:to|from)|brought to) \Z"
)
_GEO_AFTER = re.compile(
    rf"{_MARKS}(?:, (?:{'|'.join(sorted(c.title() for c in COUNTRIES if len(c) > 3))})\b"
    rf"| (?:office|harbour|airport|base|region)\b)"
)
_PRODUCT_AFTER = re.compile(
    rf"{_MARKS} (?:platform|software|gateways?|app|controllers?|console|database|engine)\b"
)
_PLACE_SHAPE = re.compile(r"[^\W\d_a-z][^\W\d_]+(?:[ \-][^\W\d_a-z][^\W\d_]+){0,2}")
_IS = re.compile(rf"{_MARKS} (?=(?:is|was|are|were) (?:an?|the|one of)\b)")
_ZH_GEO = re.compile(r"(?:位于|总部设在|总部在|常驻|出生于|毕业前在|坐落在)\Z")


def type_in_context(sentence: str, start: int, end: int) -> str | None:
    """Type that the words next to the name ``sentence[start:end]`` give it; None when none do.

    >>> text = "Joel Penhallow, managing director of Dunmarrow, was born in Tromsø."
    >>> [type_in_context(text, *text_span) for text_span in ((0, 14), (37, 46), (60, 66))]
    ['PERSON', 'ORGANIZATION', 'GEO']
    """
    name = sentence[start:end]
    before = sentence[max(0, start - _BEFORE) : start].rstrip('*_“"')
    is_a = _IS.match(sentence, end)
    if is_a:
        kind = type_from_definition(sentence[is_a.end() : is_a.end() + 120])
        if kind:
            return kind
    if not name.isascii() and _ZH_GEO.search(before):
        return GEO
    person = _PERSON_SHAPE.fullmatch(name) is not None
    if person and (_PERSON_AFTER.match(sentence, end) or _PERSON_BEFORE.search(before)):
        return PERSON
    if _ORGANIZATION_AFTER.match(sentence, end):
        return ORGANIZATION
    placed = _GEO_BEFORE.search(before) or _GEO_AFTER.match(sentence, end)
    if placed and _PLACE_SHAPE.fullmatch(name) and not name.isupper():
        return GEO
    if _PRODUCT_AFTER.match(sentence, end):
        return PRODUCT
    if not name.islower() and _ORGANIZATION_BEFORE.search(before):
        return ORGANIZATION
    return None
