"""Where a name stands in a text, however either of them is spelled."""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cached_property, lru_cache

from graphkb.text.language import HAN
from graphkb.text.names import fold, name_key
from graphkb.text.sentences import cover_spans

Span = tuple[int, int]

_HAN = re.compile(f"[{HAN}]")
_ENTITY = re.compile(r"&(?:#\d{1,7}|#x[0-9a-f]{1,6}|[a-z]{2,8});", re.IGNORECASE)
_BRACKETED = re.compile(r"\s*[(（\[【][^()（）\[\]【】]*[)）\]】]\s*\Z")
_DOTTED = re.compile(r"\.(?=\w)")
_WORD = re.compile(r"\S+")
_SENTENCE_ENDS = tuple(".!?。！？…；\"'”’」』）)")
_MAX_GAP = 3
# Stand in a folded text for a character that folds to nothing, and for one that does not fold to
# one sign or needs a look at its neighbours.
_NOTHING, _OTHER = "\0", "\1"
_RUN = re.compile(f"[^ {_NOTHING}]+(?: [^ {_NOTHING}]+)*")
_LOOSE_DOT = re.compile(r"(?<!\d)\.|\.(?!\d)")


class Located:
    """A text folded for looking names up, with the place of every folded character.

    Width, case, accents, script, separators and quotes make no difference, nor do HTML entities.

    >>> located = Located("Ａｄａ  Lin's water_meters; 武漢大學")
    >>> [located.text[a:b] for a, b in located.spans("ADA LIN") + located.spans("Water Meter")]
    ['Ａｄａ  Lin', 'water_meters']
    >>> located.spans("武汉大学")
    [(25, 29)]
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._folded, self._starts, self._ends = _fold_places(text)

    def spans(self, name: str) -> list[Span]:
        """Spans of all places where the name stands, in order; empty when it stands nowhere.

        Tried in turn, until one is found: the name, also in the plural; without a bracket at its
        end; in the singular; with its or the text's initials written out; its words in order
        within a few words of each other.
        """
        key = name_key(name)
        for form in _forms(name, key):
            found = [span for span in self._find(form) if self._is_one(span, name)] if form else []
            if found:
                return self._written_alike(found, name)
        return self._initials(name_key(_DOTTED.sub(". ", name))) or self._scattered(key)

    def holds(self, name: str) -> bool:
        """Whether the name itself stands in the text, or its plural."""
        return bool(self._find(_folded(name)))

    def _find(self, form: str) -> list[Span]:
        found: list[Span] = []
        start = self._folded.find(form)
        while start >= 0:
            end = self._whole(start, start + len(form))
            if end:
                found.append(self._span(start, end))
            start = self._folded.find(form, start + 1)
        return found

    def _whole(self, start: int, end: int) -> int:
        """The end of the word or words in ``[start, end)``, a plural's s included; 0 when they
        are cut out of longer ones."""
        if not self._ends_before(start):
            return 0
        for ending in ("", "s", "es"):
            stop = end + len(ending)
            if self._folded[end:stop] == ending and self._ends_before(stop):
                return stop
        return 0

    def _ends_before(self, place: int) -> bool:
        """Whether a word may end before ``place``: any Chinese character, or a possessive."""
        left, right = self._folded[max(0, place - 1) : place], self._folded[place : place + 1]
        if not (left.isalnum() and right.isalnum()) or _HAN.match(left) or _HAN.match(right):
            return True
        return self.text[self._ends[place - 1] : self._starts[place]] in ("'", "’")

    @cached_property
    def _sentence_starts(self) -> list[int]:
        """Where sentences begin; a line's end alone ends none, it may be anywhere."""
        places = [start for start, _ in cover_spans(self.text)[1:]]
        return [place for place in places if self.text[:place].rstrip()[-1:] in _SENTENCE_ENDS]

    def _is_one(self, span: Span, name: str) -> bool:
        """Whether a span lies in one sentence, or is written with the name's own marks."""
        start, end = span
        after = bisect_right(self._sentence_starts, start)
        crosses = after < len(self._sentence_starts) and self._sentence_starts[after] < end
        return not crosses or self.text[start:end].casefold() == name.casefold()

    def _written_alike(self, spans: list[Span], name: str) -> list[Span]:
        """Without plain words where a capital tells names from them: Will, not will."""
        if name == name.lower():
            return spans
        named = [(a, b) for a, b in spans if self.text[a:b] != self.text[a:b].lower()]
        return named or spans

    def _span(self, start: int, end: int) -> Span:
        return self._starts[start], self._ends[end - 1]

    @cached_property
    def _words(self) -> list[tuple[str, int, int]]:
        return [(m.group(), m.start(), m.end()) for m in _WORD.finditer(self._folded)]

    def _initials(self, key: str) -> list[Span]:
        """``j r r tolkien`` where the text writes the names out, and the other way round."""
        wanted = key.split()
        if len(wanted) < 2 or not wanted[-1][1:]:
            return []
        words = self._words
        found = []
        for place in range(len(words) - len(wanted) + 1):
            part = words[place : place + len(wanted)]
            pairs = [(word, name) for (word, _, _), name in zip(part, wanted, strict=True)]
            if all(_same_or_initial(*pair) for pair in pairs) and pairs[-1][0] == pairs[-1][1]:
                found.append(self._span(part[0][1], part[-1][2]))
        return [span for span in found if self._is_one(span, key)]

    def _scattered(self, key: str) -> list[Span]:
        """``ada lin`` in ``Ada Marie Lin``: at least two words, in order, with small gaps."""
        wanted = key.split()
        if len(wanted) < 2 or _HAN.search(key):
            return []
        words = self._words
        for first, (word, start, _) in enumerate(words):
            if word != wanted[0]:
                continue
            place, left = first, wanted[1:]
            while left:
                reach = range(place + 1, min(place + 2 + _MAX_GAP, len(words)))
                place = next((i for i in reach if words[i][0] == left[0]), -1)
                if place < 0:
                    break
                left = left[1:]
            else:
                span = self._span(start, words[place][2])
                if self._is_one(span, key):
                    return [span]
        return []


def _forms(name: str, key: str) -> Iterable[str]:
    """Spellings of a name to look for, the given one first, each folded as the text is."""
    yield from dict.fromkeys((_folded(name), _folded(key)))
    short = _BRACKETED.sub("", name)
    if short and short != name:
        yield _folded(name_key(short))
    if len(key) > 3 and key.endswith("s") and not key.endswith("ss"):
        yield key[:-1]
        if key.endswith("ies"):
            yield key[:-3] + "y"
    if len(key) > 3 and key.endswith("y"):
        yield key[:-1] + "ies"


def _same_or_initial(word: str, name: str) -> bool:
    if word == name:
        return True
    short, long = sorted((word, name), key=len)
    return len(short) == 1 and long.startswith(short) and long.isalpha()


@lru_cache(maxsize=8_192)
def _folded_character(character: str) -> str:
    """What :func:`name_key` makes of a character; a space for a separator, nothing for a quote."""
    if character == ".":
        return "."
    key = name_key(f"a{character}a")
    return key[1:-1] if key.startswith("a") and key.endswith("a") else fold(character)


@lru_cache(maxsize=16_384)
def _folded(name: str) -> str:
    """A name as the text is folded; names come again in relationships and in other units."""
    signs = _signs(name)
    if signs is None:
        return fold_each(name)[0]
    return " ".join(filter(None, signs.replace(_NOTHING, "").split(" ")))


class _Signs(dict[int, str]):
    """Character codes to the one sign that each folds to, or to :data:`_NOTHING`; to
    :data:`_OTHER` where it is not so simple."""

    def __missing__(self, code: int) -> str:
        character = chr(code)
        folded = character if character == "." else _folded_character(character)
        plain = len(folded) <= 1 and not _HAN.match(folded) and folded not in (_NOTHING, _OTHER)
        dotted = folded == "." and character != "."
        sign = self[code] = (folded or _NOTHING) if plain and not dotted else _OTHER
        return sign


_SIGNS = _Signs()


def _signs(text: str) -> str | None:
    """The sign of each character; None for a text where that is not so simple."""
    signs = text.translate(_SIGNS)
    if _OTHER in signs or ("&" in text and _ENTITY.search(text)):
        return None
    return _LOOSE_DOT.sub(_NOTHING, signs) if "." in signs else signs


def _fold_places(text: str) -> tuple[str, list[int], list[int]]:
    """The text as :func:`name_key` folds a name, and where each character begins and ends."""
    signs = _signs(text)
    if signs is None:
        return fold_each(text)
    folded: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    end = 0
    for run in _RUN.finditer(signs):
        start = run.start()
        if folded and " " in signs[end:start]:
            folded.append(" ")
            starts.append(start)
            ends.append(start)
        end = run.end()
        folded.append(run.group())
        starts.extend(range(start, end))
        ends.extend(range(start + 1, end + 1))
    return "".join(folded), starts, ends


def fold_each(text: str) -> tuple[str, list[int], list[int]]:
    """As :func:`_fold_places`, character by character, for any text. (No name begins or ends with
    a space, so where spaces stand is of no matter.)"""
    signs: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    entities = {m.start(): m for m in _ENTITY.finditer(text)} if "&" in text else {}
    gap = False
    after = 0
    for start, character in enumerate(text):
        if start < after:
            continue
        after = start + 1
        if character == ".":
            if not (text[start - 1 : start].isdigit() and text[after : after + 1].isdigit()):
                continue
            folded = "."
        elif start in entities:
            after = entities[start].end()
            folded = "".join(map(_folded_character, html.unescape(entities[start].group())))
        else:
            folded = _folded_character(character)
        for sign in folded:
            if sign == " ":
                gap = True
                continue
            if gap and signs and not _HAN.match(sign) and not _HAN.match(signs[-1]):
                signs.append(" ")
                starts.append(start)
                ends.append(start)
            gap = False
            signs.append(sign)
            starts.append(start)
            ends.append(after)
    return "".join(signs), starts, ends
