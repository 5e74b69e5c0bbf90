"""Where the names that a model gave stand in the text it read, and how the text spells them.

GraphRAG writes names in capitals, and models change them: "WORLD HEALTH ORGANIZATION (WHO)",
"ALICE CHEN" where the passage has only "Dr Chen" or "WHO".
"""

from __future__ import annotations

import html
import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from graphkb.extract.locate import Located, Span
from graphkb.extract.records import cleaned_name
from graphkb.text.names import name_key

_BRACKETED = re.compile(r"\A(.+?)\s*[(（]([^()（）]+)[)）]\s*\Z")
_SMALL_WORDS = frozenset("of the a an and for in on at de la le van von der".split())
_SHORTEST_WORD = 3


@dataclass(frozen=True)
class Passage:
    """A piece of a text with what stands around it: names may reach over its ``start`` or
    ``end``, offsets in ``located``."""

    located: Located
    start: int
    end: int

    def find(
        self,
        name: str,
        aliases: Sequence[str] = (),
        person: bool = False,
        others: Collection[str] = (),
    ) -> list[Span]:
        """The spans that spell the name or an alias, in order. Where there are none: those of
        its initials, or of a person's last or first name where none of ``others``, the other
        names of the passage, has that word.

        >>> passage = Passage(Located("Dr Chen left the WHO."), 0, 21)
        >>> [passage.located.text[a:b] for a, b in passage.find("ALICE CHEN", person=True)]
        ['Chen']
        >>> [passage.located.text[a:b] for a, b in passage.find("WORLD HEALTH ORGANIZATION")]
        ['WHO']
        """
        forms = [form for given in (name, *aliases) for form in _forms(given)]
        found = {span for form in forms for span in self._spans(form)}
        if found:
            return sorted(found)
        words = [word for word in name_key(name).split() if word not in _SMALL_WORDS]
        if len(words) < 2 or not all(word[0].isascii() for word in words):
            return []
        return self._initials(words) or (self._one_word(words, others) if person else [])

    def _spans(self, form: str) -> list[Span]:
        return [s for s in self.located.spans(form) if s[0] < self.end and s[1] > self.start]

    def _initials(self, words: list[str]) -> list[Span]:
        if len(words) < 3:
            return []
        initials = re.escape("".join(word[0] for word in words).upper())
        found = re.compile(rf"(?<!\w){initials}(?!\w)").finditer(
            self.located.text, self.start, self.end
        )
        return [match.span() for match in found]

    def _one_word(self, words: list[str], others: Collection[str]) -> list[Span]:
        taken = {word for other in others for word in name_key(other).split()}
        for word in (words[-1], words[0]):
            if len(word) >= _SHORTEST_WORD and word not in taken:
                spans = self._spans(word)
                if spans and all(self.located.text[start].isupper() for start, _ in spans):
                    return spans
        return []


def spelling(name: str, aliases: Sequence[str], surfaces: Sequence[str]) -> str:
    """How the text spells a name: its commonest surface, else the name as it was given.

    >>> spelling("ADA LIN", [], ["Ada Lin", "Lin"]), spelling("ADA LIN", [], ["Lin"])
    ('Ada Lin', 'ADA LIN')
    """
    for form in [form for given in (name, *aliases) for form in _forms(given)]:
        key = name_key(form)
        fitting = Counter(" ".join(s.split()) for s in surfaces if name_key(s) == key)
        if fitting:
            return min(fitting, key=lambda surface: (-fitting[surface], surface))
    return cleaned_name(name) or name


def _forms(name: str) -> Iterator[str]:
    """The name, and the two names of ``X (Y)``."""
    name = html.unescape(name).strip()
    yield name
    parts = _BRACKETED.match(name)
    if parts:
        yield from (part.strip() for part in parts.groups())
