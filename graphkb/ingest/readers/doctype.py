"""Document types that declare entities of their own (XML 1.0, sections 2.8 and 4.2)."""

from __future__ import annotations

import re

_QUOTED = r"\"[^\"]*+\"|'[^']*+'"
_COMMENT = r"<!--(?s:.){0,5000}?-->"
_DOCTYPE = re.compile(
    rf"(\A(?:\ufeff|\xef\xbb\xbf)?\s*+(?:<\?[^>]*+>\s*+|{_COMMENT}\s*+)*+"
    rf"<!DOCTYPE(?:[^\[>\"']|{_QUOTED})*+)\[((?:{_COMMENT}|{_QUOTED}|[^\]\"'])*+)\]\s*+>",
    re.IGNORECASE,
)
_ENTITY = re.compile(rf"{_COMMENT}|<!ENTITY\s+([\w.:-]+)\s+(?:({_QUOTED})|(?:SYSTEM|PUBLIC)\b)")
_PREDEFINED = frozenset({"amp", "lt", "gt", "quot", "apos"})
# Longer ones are hardly words, and many of them would swell a text.
_LONGEST = 1000


def with_own_entities(text: str) -> str:
    """The page without its document type's own declarations; entities they declare stand for
    their text.

    Nothing is fetched: entities kept in other files are empty, as are those of more than 1,000
    characters and those inside an entity, so that a text grows by a bounded factor.
    """
    found = _DOCTYPE.match(text)
    if found is None:
        return text
    declared = {
        name: value[1:-1] if len(value) <= _LONGEST else ""
        for name, value in reversed(_ENTITY.findall(found[2]))  # the first declaration counts
        if name and name not in _PREDEFINED
    }
    body = text[found.end() :]
    if declared:
        reference = re.compile("&(" + "|".join(map(re.escape, declared)) + ");")
        values = {name: reference.sub("", value) for name, value in declared.items()}
        body = reference.sub(lambda match: values[match[1]], body)
    return f"{found[1].rstrip()}>{body}"
