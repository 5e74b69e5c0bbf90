"""An answer cut into statements, each with the citation marks that stand for it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from graphkb.query.marks import MARK, MARKS
from graphkb.text.headings import HEADING_MARKS
from graphkb.text.segment import STOP_WORDS, search_tokens
from graphkb.text.sentences import sentence_spans

# A part of a sentence between two marks with fewer words than this is no statement of its own.
_LEAST_WORDS = 3
_FENCE = re.compile(r"^\s*(?:```|~~~)")
# Of a line without outer white space: a heading, or the rule of a table.
_NO_STATEMENT = re.compile(HEADING_MARKS + r"|[\s|:\-]+\Z")
_OPENS = (":", "：", "?", "？")


@dataclass(frozen=True)
class Claimed:
    """A statement, its citation numbers, and where it ends in the text (a mark can be put
    there). ``line`` is the number of its line, from 0."""

    text: str
    numbers: tuple[int, ...]
    end: int
    line: int


def statements_of(text: str) -> list[Claimed]:
    """The statements of an answer whose marks are ``[n]``, in order.

    A mark stands for what comes before it in its sentence, back to the mark before; for the
    whole sentence where that is too short to be a statement; and for the sentence after it in
    a line that begins with a mark. A line of marks alone belongs to the line before. Headings,
    code, lines that only introduce others and questions are no statements, unless they have
    marks.

    >>> [(s.text, s.numbers) for s in statements_of("Ada leads it [1][2]. Bob left.[3] So what?")]
    [('Ada leads it.', (1, 2)), ('Bob left.', (3,))]
    """
    found: list[Claimed] = []
    position, fenced = 0, False
    for number, line in enumerate(text.splitlines(keepends=True)):
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced and found and MARKS.fullmatch(line.strip()):
            numbers = (*found[-1].numbers, *map(int, MARK.findall(line)))
            found[-1] = replace(found[-1], numbers=tuple(dict.fromkeys(numbers)))
        elif not fenced:
            found += _of_line(line, position, number)
        position += len(line)
    return found


def _of_line(line: str, offset: int, number: int) -> Iterator[Claimed]:
    plain, places, marks = _without_marks(line)
    spans = sentence_spans(plain)
    # A sentence of hundreds of marks with nothing between them is one statement, not hundreds.
    seen: set[tuple[int, str, tuple[int, ...]]] = set()
    owned: dict[int, list[tuple[int, list[int]]]] = {}
    for at, numbers in marks:
        owned.setdefault(_owner(spans, at, marks[0][0] == 0), []).append((at, numbers))
    for place, (start, end) in enumerate(spans):
        groups = owned.get(place, [])
        sentence = plain[start:end]
        if not groups:
            if not _states_nothing(line, sentence) and _says(sentence):
                yield Claimed(_trimmed(sentence), (), offset + places[end - 1] + 1, number)
            continue
        before = start
        for index, (at, numbers) in enumerate(groups):
            last = index == len(groups) - 1
            part = plain[before : end if last else max(min(at, end), start)]
            cited = tuple(dict.fromkeys(numbers))
            whole = part if _says(part) else sentence
            if (place, whole, cited) not in seen:
                seen.add((place, whole, cited))
                yield Claimed(_trimmed(whole), cited, offset + places[end - 1] + 1, number)
            before = max(min(at, end), start)


def _states_nothing(line: str, sentence: str) -> bool:
    """Whether this is a heading, the rule of a table, a question, or opens a list."""
    opens = sentence.rstrip().rstrip("*_ ").endswith(_OPENS)
    return opens or _NO_STATEMENT.match(line.strip()) is not None


def _without_marks(line: str) -> tuple[str, list[int], list[tuple[int, list[int]]]]:
    """The line without marks and the spaces before them, the place of each character in the
    line, and (place in what is left, numbers) of each group of marks."""
    pieces: list[str] = []
    places: list[int] = []
    marks: list[tuple[int, list[int]]] = []
    position = 0
    for match in MARKS.finditer(line):
        kept = line[position : match.start()].rstrip(" \t")
        pieces.append(kept)
        places += range(position, position + len(kept))
        marks.append((len(places), [int(n) for n in MARK.findall(match.group())]))
        position = match.end()
    pieces.append(line[position:])
    places += range(position, len(line))
    return "".join(pieces), places, marks


def _owner(spans: list[tuple[int, int]], at: int, leading: bool) -> int:
    """The sentence a mark stands for."""
    if leading:
        after = [place for place, (start, end) in enumerate(spans) if at < end]
        return after[0] if after else len(spans) - 1
    before = [place for place, (start, _) in enumerate(spans) if start < at]
    return before[-1] if before else 0


def _says(text: str) -> bool:
    words = [token for token in search_tokens(text) if token not in STOP_WORDS]
    return len(words) >= _LEAST_WORDS


def _trimmed(text: str) -> str:
    return re.sub(r"^\s*(?:[-*+•]|\d{1,2}[.)、])\s+", "", text).strip(" \t\n,，;；")
