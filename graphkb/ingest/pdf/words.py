"""Glyphs to words: doubled glyphs go, ligatures open, vertical writing becomes lines."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from graphkb.ingest.pdf.shapes import Box, Run, around
from graphkb.text.language import HAN

GAP = 0.8
"""A wider gap, in font sizes, parts two runs of a line."""

_SPACE = 0.17
_FORMS = re.compile(r"[\ufb00-\ufb06\u2e80-\u2fdf\uf900-\ufaff]")
_LIGATURE_LETTERS = frozenset("ft")
_VERTICAL = re.compile(rf"[{HAN}\u3001-\u30ff\ufe10-\ufe4f\uff00-\uffef]")
_LEAST_VERTICAL = 4
_DOTS = frozenset(".·…．")
_LEAST_DOTS = 4


class Glyph(NamedTuple):
    """One character and its box; ``n`` is its place in the page's list."""

    n: int
    text: str
    x0: float
    top: float
    x1: float
    bottom: float


Style = Callable[[int], tuple[float, bool]]
"""Font size in points and boldness of the glyph with that number."""


def words_of(glyphs: Iterable[Glyph], style: Style) -> list[Run]:
    """The words of a page in the order in which they are drawn.

    A glyph that is drawn again a little beside itself (fake bold) counts once, and so does a
    word. Characters below each other, as in vertical Chinese and Japanese, are one word.
    """
    words: list[Run] = []
    for group in _vertical_first(_groups(glyphs)):
        if group[-1].text in _DOTS and not _drop_leader(group):
            continue
        text = "".join([glyph.text for glyph in group])
        if not text.isascii():
            text = _FORMS.sub(lambda form: unicodedata.normalize("NFKC", form.group()), text)
        size, bold = style(group[0].n)
        _, _, lefts, tops, rights, bottoms = zip(*group, strict=True)
        box = Box(min(lefts), min(tops), max(rights), max(bottoms))
        words.append(Run(text, box, size, bold, bold))
    return _once(_without_leaders(words))


def _without_leaders(words: list[Run]) -> list[Run]:
    """Words without rows of single dots that lead to the next column."""
    kept: list[Run] = []
    dots: list[Run] = []
    for word in words:
        if _DOTS.issuperset(word.text):
            dots.append(word)
            continue
        if len(dots) < _LEAST_DOTS:
            kept += dots
        dots = []
        kept.append(word)
    return kept + (dots if len(dots) < _LEAST_DOTS else [])


def _drop_leader(group: list[Glyph]) -> bool:
    """Takes the dots off that lead to the next column; False where nothing else is there."""
    n_dots = 0
    while n_dots < len(group) and group[-1 - n_dots].text in _DOTS:
        n_dots += 1
    if n_dots >= _LEAST_DOTS:
        del group[len(group) - n_dots :]
    return bool(group)


def _groups(glyphs: Iterable[Glyph]) -> list[list[Glyph]]:
    """Glyphs that follow each other without a gap on one line; white space parts them."""
    groups: list[list[Glyph]] = []
    group: list[Glyph] = []
    for glyph in glyphs:
        text = glyph.text
        if text <= " " or text.isspace():
            group = []
            continue
        if group:
            last = group[-1]
            if text == last.text and _repeats(last, glyph):
                continue
            if glyph[2:] == last[2:] or _continues(last, glyph):
                group.append(glyph)
                continue
        group = [glyph]
        groups.append(group)
    return groups


def _repeats(last: Glyph, glyph: Glyph) -> bool:
    """Whether the same glyph comes once more at nearly its place; a ligature's letters do not."""
    shift = abs(glyph.x0 - last.x0)
    if shift == 0 and glyph.text in _LIGATURE_LETTERS:
        return False
    height = glyph.bottom - glyph.top
    width = max(glyph.x1 - glyph.x0, 0.2 * height)
    return shift < 0.3 * width and abs(glyph.bottom - last.bottom) < 0.2 * height


def _continues(last: Glyph, glyph: Glyph) -> bool:
    _, _, _, top, x1, bottom = last
    _, _, x0, next_top, _, next_bottom = glyph
    height, next_height = bottom - top, next_bottom - next_top
    higher, lower = (height, next_height) if height > next_height else (next_height, height)
    if not -0.5 * higher < x0 - x1 < _SPACE * higher:
        return False
    shared = (bottom if bottom < next_bottom else next_bottom) - (
        top if top > next_top else next_top
    )
    return shared >= 0.5 * lower


def _vertical_first(groups: list[list[Glyph]]) -> list[list[Glyph]]:
    """Groups with each column of single characters that stand below each other made one."""
    merged: list[list[Glyph]] = []
    column: list[Glyph] = []

    def close() -> None:
        if len(column) >= _LEAST_VERTICAL:
            merged.append(list(column))
        else:
            merged.extend([glyph] for glyph in column)
        column.clear()

    for group in groups:
        single = len(group) == 1 and _VERTICAL.match(group[0].text)
        if column and not (single and _is_below(column[-1], group[0])):
            close()
        if single:
            column.append(group[0])
        else:
            merged.append(group)
    close()
    return merged


def _is_below(last: Glyph, glyph: Glyph) -> bool:
    size = max(last.x1 - last.x0, glyph.x1 - glyph.x0, 0.1)
    across = abs((glyph.x0 + glyph.x1) - (last.x0 + last.x1)) / 2
    pitch = (glyph.top + glyph.bottom - last.top - last.bottom) / 2
    return across < 0.3 * size and 0.5 * size < pitch < 1.3 * size


def is_vertical(run: Run) -> bool:
    """Whether a word's characters stand below each other."""
    return len(run.text) >= _LEAST_VERTICAL and run.box.height > 2 * run.box.width


def _once(words: list[Run]) -> list[Run]:
    """Words without those drawn again at nearly the same place."""
    seen: dict[str, list[Box]] = {}
    kept: list[Run] = []
    for word in words:
        boxes = seen.setdefault(word.text, [])
        near = 0.15 * word.box.height
        if any(
            abs(box.x0 - word.box.x0) < near and abs(box.top - word.box.top) < near for box in boxes
        ):
            continue
        boxes.append(word.box)
        kept.append(word)
    return kept


def runs_of(words: list[Run]) -> list[Run]:
    """Words of one line that stand closer than :data:`GAP` font sizes, joined.

    Words are sorted into lines by overlap in height first, so the drawing order is of no
    matter; what is bold is joined with what is not.
    """
    runs: list[Run] = []
    for line in _lines(words):
        group = [line[0]]
        for word in line[1:]:
            last = group[-1]
            gap = word.box.x0 - max(other.box.x1 for other in group[-3:])
            if gap < GAP * max(last.size, word.size) and last.box.beside(word.box):
                group.append(word)
            else:
                runs.append(_run(group))
                group = [word]
        runs.append(_run(group))
    return runs


def _run(words: list[Run]) -> Run:
    """One run of words that follow each other.

    Its size is the largest that a tenth of its characters have: small capitals and raised signs
    do not count.
    """
    if len(words) == 1:
        return words[0]
    sizes: Counter[float] = Counter()
    text = words[0].text
    sizes[words[0].size] = len(text)
    for last, word in pairwise(words):
        sizes[word.size] += len(word.text)
        near = word.box.x0 - last.box.x1 <= 0.5 * _SPACE * max(last.size, word.size)
        text += word.text if near else " " + word.text
    size = max(size for size, count in sizes.items() if count >= 0.1 * sizes.total())
    bold = all(word.bold for word in words)
    return Run(text, around(word.box for word in words), size, bold, words[0].bold)


def _lines(words: list[Run]) -> list[list[Run]]:
    """Words by line, each from left to right; a word joins the line it shares most height with."""
    lines: list[list[Run]] = []
    heads: list[Box] = []
    for word in sorted(words, key=lambda word: (word.box.middle, word.box.x0)):
        place = next(
            (
                at
                for at in range(len(heads) - 1, max(-1, len(heads) - 8), -1)
                if _same_line(heads[at], word.box)
            ),
            None,
        )
        if place is None:
            lines.append([word])
            heads.append(word.box)
        else:
            lines[place].append(word)
    return [sorted(line, key=lambda word: word.box.x0) for line in lines]


def _same_line(head: Box, box: Box) -> bool:
    """Whether the middles lie within a third of the height; superscripts reach a half."""
    shared = min(head.bottom, box.bottom) - max(head.top, box.top)
    lower, higher = sorted((head.height, box.height))
    near = abs(head.middle - box.middle)
    return near < 0.33 * higher or (lower < 0.8 * higher and shared >= 0.5 * lower)
