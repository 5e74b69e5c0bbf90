"""What of a capitalised or Chinese span is a name: without what the question puts around it.

“Explain Petrel Fleet”, “CEO of Petrel”, “Dr. Lin”, “Petrel Ltd” and 青石谷集团 name Petrel Fleet,
Petrel, Lin, Petrel and 青石谷. A span is cut only where the whole of it stands nowhere, so
that “Show Boat” and “Schindler's List” stay names where they are known.
"""

from __future__ import annotations

import re

from graphkb.extract.latin import starts_name
from graphkb.text.language import has_han

# Words that open an instruction, and those of a question that is written with capitals.
_IMPERATIVES = (
    "please explain describe summarize summarise compare list define show give find tell outline "
    "identify name discuss detail contrast translate check"
)
_ASKING = (
    "is are was were be do does did has have had can could would should who whom whose what which "
    "when where why how me us about between"
)
_OPENER = re.compile(rf"(?:(?:{'|'.join(_IMPERATIVES.split())})\s+)+", re.IGNORECASE)
_CUT = re.compile(rf"\b(?:{'|'.join(map(str.capitalize, _ASKING.split()))})\b")
_POSSESSIVE = re.compile(r"['’]s?\s+")

_HONORIFICS = frozenset("mr mrs ms miss mx dr prof professor sir madam dame lord lady".split())
_LEGAL = frozenset(
    "ltd limited llc llp inc incorporated gmbh plc ag corp corporation co company bv nv oy aps "
    "pty kg srl spa pte".split()
)
_ROLES = frozenset(
    "ceo cfo cto coo cmo cio chief executive financial finance technology technical operating "
    "marketing officer managing director vice president chair chairman chairwoman chairperson "
    "head manager founder co-founder cofounder founders owner secretary treasurer".split()
)
# What a question asks for; a name of nothing by itself.
_ASKED = frozenset("city country year place person people date month day team".split())
_SMALL = frozenset("of the a an and for at in".split())
_HAN_LEGAL = re.compile(r"(?:股份|集团|控股|有限|责任)*(?:公司|集团)\Z|股份\Z")


def name_parts(name: str, before: str = "") -> list[str]:
    """The names in a span that has ``before`` it in the question; none where it is all roles,
    legal forms or what is asked for.

    >>> name_parts("Chief Executive Officer of Kelsound Energy Ltd"), name_parts("CEO")
    (['Kelsound Energy'], [])
    >>> name_parts("Please Tell Me Who Is Dr. Ada Lin"), name_parts("Kelsound's Porto")
    (['Ada Lin'], ['Kelsound', 'Porto'])
    >>> name_parts("青石谷软件股份有限公司")
    ['青石谷软件']
    """
    if has_han(name):
        return [without_legal_form(name) or name]
    pieces = [name]
    if all(map(starts_name, before.split())):  # "Who directed The Man Who Was Thursday"
        opener = _OPENER.match(name)
        pieces = _CUT.split(name[opener.end() :] if opener else name)
    shorter = [_core(part) for piece in pieces for part in _POSSESSIVE.split(piece)]
    return [part for part in shorter if part]


def without_legal_form(name: str) -> str:
    """
    >>> without_legal_form("青石谷集团股份有限公司"), without_legal_form("有限公司")
    ('青石谷', '')
    """
    return _HAN_LEGAL.sub("", name)


def _core(piece: str) -> str:
    """``piece`` without honorifics, roles and legal forms at its ends."""
    words = piece.split()
    plain = [word.lower().strip(".,").replace(".", "") for word in words]
    first, last = 0, len(words)
    while first < last and plain[first] in _HONORIFICS | _ROLES | _SMALL:
        first += 1
    while last > first and plain[last - 1] in _LEGAL | _ROLES | _SMALL:
        last -= 1
    if all(word in _ASKED for word in plain[first:last]):
        return ""
    return " ".join(words[first:last]).rstrip(",")
