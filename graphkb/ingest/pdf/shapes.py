"""What stands where on a page: words, runs, lines and tables.

Coordinates are points with y growing downwards, in the frame in which the text is upright.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace

from graphkb.text.language import HAN

_CJK = rf"[{HAN}\u3000-\u30ff\uff00-\uffef“”‘’…—]"
_NO_SPACE = re.compile(rf"(?<={_CJK}) +(?={_CJK})")
_CJK_LETTER = re.compile(rf"[{HAN}\u3041-\u30ff]")
_ENDS_CJK = re.compile(rf"{_CJK}$")
_STARTS_CJK = re.compile(rf"{_CJK}")


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle; ``top`` is above ``bottom``, so the smaller number."""

    x0: float
    top: float
    x1: float
    bottom: float

    @property
    def width(self) -> float:
        """Extent along x in points."""
        return self.x1 - self.x0

    @property
    def height(self) -> float:
        """Extent along y in points."""
        return self.bottom - self.top

    @property
    def middle(self) -> float:
        """The y half way down."""
        return (self.top + self.bottom) / 2

    def holds(self, other: Box) -> bool:
        """Whether the centre of ``other`` lies inside."""
        across = (other.x0 + other.x1) / 2
        return self.x0 <= across <= self.x1 and self.top <= other.middle <= self.bottom

    def beside(self, other: Box) -> bool:
        """Whether both stand on one line: they share half the height of the lower one."""
        shared = min(self.bottom, other.bottom) - max(self.top, other.top)
        return shared >= 0.5 * min(self.height, other.height)


def around(boxes: Iterable[Box]) -> Box:
    """The smallest box that holds all of at least one."""
    found = list(boxes)
    return Box(
        min(box.x0 for box in found),
        min(box.top for box in found),
        max(box.x1 for box in found),
        max(box.bottom for box in found),
    )


@dataclass(frozen=True, slots=True)
class Run:
    """Text without a wide gap on one line: a word at first, then what stands close together.

    ``size`` is the font size in points; ``bold`` holds for all of it, ``starts_bold`` for its
    first word.
    """

    text: str
    box: Box
    size: float
    bold: bool = False
    starts_bold: bool = False


@dataclass(frozen=True, slots=True)
class Table:
    """Rows of equally many cells; the first ``n_header`` rows are its header.

    ``continues`` says that it is the rest of the table that ended the page before.
    """

    box: Box
    rows: tuple[tuple[str, ...], ...]
    n_header: int = 1
    continues: bool = False

    def markdown(self) -> str:
        """A pipe table, or its rows alone where it continues another.

        What breaks the form in a cell is escaped or made a space.
        """
        width = max(len(row) for row in self.rows)
        lines = [self._line(row, width) for row in self.rows]
        if self.continues:
            return "\n".join(lines)
        rule = "|" + "---|" * width
        header = lines[: self.n_header] or [self._line((), width)]
        return "\n".join([*header, rule, *lines[self.n_header :]])

    def after(self, above: Table) -> Table:
        """The table as it is below ``above``, which ends the page before.

        It continues that where it has the same columns; a header that is repeated goes.
        """
        same_place = abs(self.box.x0 - above.box.x0) < 6 and abs(self.box.x1 - above.box.x1) < 6
        if not same_place or len(self.rows[0]) != len(above.rows[0]):
            return self
        header = above.rows[: above.n_header]
        repeated = bool(header) and self.rows[: len(header)] == header
        rows = self.rows[len(header) :] if repeated else self.rows
        if not rows:
            return self
        return replace(self, rows=rows, n_header=0, continues=True)

    @staticmethod
    def _line(row: tuple[str, ...], width: int) -> str:
        cells = [" ".join(cell.split()).replace("|", "\\|") for cell in row]
        return "| " + " | ".join(cells + [""] * (width - len(cells))) + " |"


@dataclass(frozen=True, slots=True)
class Line:
    """Runs on one line from left to right."""

    runs: tuple[Run, ...]
    box: Box

    @classmethod
    def of(cls, runs: Iterable[Run]) -> Line:
        """The line of at least one run, in any order."""
        ordered = tuple(sorted(runs, key=lambda run: run.box.x0))
        return cls(ordered, around(run.box for run in ordered))

    @property
    def text(self) -> str:
        """The words with single spaces, and none between Chinese characters."""
        return join_words(run.text for run in self.runs)

    @property
    def size(self) -> float:
        """Font size of most of the text, in points."""
        longest = max(self.runs, key=lambda run: len(run.text))
        return longest.size

    @property
    def bold(self) -> bool:
        """Whether every run is bold."""
        return all(run.bold for run in self.runs)


def join_words(words: Iterable[str]) -> str:
    """Words joined by spaces, without those between Chinese characters.

    >>> join_words(["全 世", "界", "and", "the", "world"])
    '全世界 and the world'
    """
    return _NO_SPACE.sub("", " ".join(" ".join(words).split()))


def joint(first: str, second: str) -> str:
    """What belongs between the end of a line and the start of the next: a space or nothing.

    >>> joint("the", "end"), joint("全世", "界")
    (' ', '')
    """
    closed = _ENDS_CJK.search(first) and _STARTS_CJK.match(second)
    return "" if closed or not first or not second else " "


def n_words(text: str) -> float:
    """Words of a text, a Chinese or Japanese character as half of one.

    >>> n_words("two words"), n_words("四个汉字")
    (2.0, 2.0)
    """
    characters = len(_CJK_LETTER.findall(text))
    return characters / 2 + len(_CJK_LETTER.sub(" ", text).split())
