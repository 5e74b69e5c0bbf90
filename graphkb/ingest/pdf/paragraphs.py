"""Lines to Markdown: paragraphs are rebuilt, words made whole, headings guessed from the font."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise

from graphkb.ingest.pdf.shapes import Line, Table, joint
from graphkb.text.language import HAN

_ENDS = re.compile(r"[.!?:;。！？：；…][\"”’)）」』]*$")
_ITEM = re.compile(
    r"(?:[•●○▪■◆‣]|[-–*]\s|[(（]?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,4})[.)）]\s"
    rf"|[(（]?[一二三四五六七八九十]{{1,3}}[)）、.．]|第[一二三四五六七八九十百\d]+[章节条款]|\d+(?:\.\d+)+\s*[A-Z{HAN}])"
)
_HYPHENS = "-‐\u00ad"
_HELD = re.compile(r"\w[-‐–]$|[\w.]@$|://\S*[/.=_-]$")
_BROKEN = re.compile(rf"([A-Za-zÀ-ÿ]+)[{_HYPHENS}]$")
_LOWER = re.compile(r"[a-zß-ÿ]+")
_FIRST = re.compile(rf"[{HAN}\u3040-\u30ff]|[^\s{HAN}\u3040-\u30ff]+")
_WORD = re.compile(r"[A-Za-zÀ-ÿ]+(?:-[A-Za-zÀ-ÿ]+)*")
_KEPT = frozenset(
    "self non well cross high low multi semi anti co ex all half full long short two three four "
    "one first second on off in over under cost user real third post pre".split()
)
_LONGEST_HEADING = 120
_LEAST_HEADING_SIZE = 1.15
_MOST_LEVELS = 3
_MOST_HEADING_LINES = 3
_CLEAR_BREAK = 0.25
_WIDE_GAP = 2.0
_FULL = 5.0
_WORD_OF_HEADING = re.compile(rf"[A-Za-z{HAN}]{{2}}|[{HAN}]")


@dataclass
class Fonts:
    """Font sizes of a document by the characters set in them, and its words."""

    sizes: Counter[float] = field(default_factory=Counter)
    bold: int = 0
    total: int = 0
    words: Counter[str] = field(default_factory=Counter)

    def add(self, line: Line) -> None:
        """Counts one line."""
        text = line.text
        self.sizes[_rounded(line.size)] += len(text)
        self.total += len(text)
        self.bold += len(text) * line.bold
        self.words.update(word.casefold() for word in _WORD.findall(text))

    @property
    def body(self) -> float:
        """The font size of most characters, in points."""
        return max(self.sizes, key=lambda size: (self.sizes[size], -size)) if self.sizes else 0.0

    def ranks(self) -> dict[float, int]:
        """Rank, from 1, of the font sizes that are clearly larger than the body's."""
        larger = sorted(
            (s for s in self.sizes if s >= _LEAST_HEADING_SIZE * self.body), reverse=True
        )
        return {size: rank for rank, size in enumerate(larger, 1)}


def _rounded(size: float) -> float:
    return round(size * 2) / 2


@dataclass(frozen=True)
class Block:
    """One block; ``open`` where a paragraph at a column's end may go on in the next column.

    ``first`` says that it begins a column; ``rank`` orders headings, 1 for the largest font, and
    is 0 where the block is none.
    """

    text: str
    kind: str
    open: bool = False
    first: bool = False
    rank: int = 0


def blocks_of(zone: Sequence[Line | Table], fonts: Fonts, ranks: dict[float, int]) -> list[Block]:
    """The blocks of a zone: headings, paragraphs and tables in order."""
    blocks: list[Block] = []
    stretch: list[Line] = []

    def close() -> None:
        if stretch:
            right = _right_edge(stretch)
            for lines in _paragraphs(stretch, right):
                blocks.append(_block(lines, right, fonts, ranks))
            stretch.clear()

    for item in zone:
        if isinstance(item, Table):
            close()
            blocks.append(Block(item.markdown(), "rows" if item.continues else "table"))
        else:
            stretch.append(item)
    close()
    last = len(blocks) - 1
    return [
        replace(block, first=at == 0, open=block.open and at == last)
        for at, block in enumerate(blocks)
    ]


def _right_edge(lines: Sequence[Line]) -> float:
    """Where full lines end: the ninth decile, as single lines may stick out."""
    ends = sorted(line.box.x1 for line in lines)
    return ends[min(len(ends) - 1, int(0.9 * len(ends)))]


def _paragraphs(lines: Sequence[Line], right: float) -> Iterable[list[Line]]:
    left = sorted(line.box.x0 for line in lines)[len(lines) // 4]
    steps = sorted(
        below.box.bottom - above.box.bottom
        for above, below in pairwise(lines)
        if below.box.bottom > above.box.bottom
    )
    pitch = steps[len(steps) // 6] if steps else 0.0
    paragraph = [lines[0]]
    for above, below in pairwise(lines):
        if _starts_new(above, below, left, right, pitch):
            yield paragraph
            paragraph = []
        paragraph.append(below)
    yield paragraph


def _starts_new(above: Line, below: Line, left: float, right: float, pitch: float) -> bool:
    size = max(above.size, below.size)
    step = below.box.bottom - above.box.bottom
    if step > 1.35 * max(pitch, size) or step < -size:
        return True
    if abs(_rounded(above.size) - _rounded(below.size)) > 0.08 * size:
        return True
    if above.bold != below.bold:
        return True
    if _ITEM.match(below.text):
        return True
    if _is_spread(above) or _is_spread(below):
        return True
    if below.runs[0].starts_bold and _ENDS.search(above.text):
        return True
    indent = below.box.x0 - above.box.x0
    if 0.8 * size < indent < 5 * size and below.box.x0 > left + 0.8 * size:
        return bool(_ENDS.search(above.text))
    if _is_short(above, below, right - _CLEAR_BREAK * (right - left)):
        return True
    return _is_short(above, below, right) and bool(_ENDS.search(above.text))


def _is_spread(line: Line) -> bool:
    """Whether a line has a gap that no justified text has: a form, a row of a small table."""
    return any(b.box.x0 - a.box.x1 > _WIDE_GAP * line.size for a, b in pairwise(line.runs))


def _is_short(above: Line, below: Line, right: float) -> bool:
    """Whether the first word below would have fitted the line above."""
    text = below.text
    first = _FIRST.match(text)
    width = below.box.width * (first.end() if first else 1) / max(len(text), 1)
    return above.box.x1 + width + 0.5 * above.size < right


def _block(lines: list[Line], right: float, fonts: Fonts, ranks: dict[float, int]) -> Block:
    text = join_lines([line.text for line in lines], fonts.words)
    rank = _rank(lines, text, right, fonts, ranks)
    if rank:
        return Block(text.rstrip(":：").rstrip(), "heading", rank=rank)
    full = lines[-1].box.x1 > right - _FULL * lines[-1].size
    return Block(text, "prose", open=full and not _ENDS.search(text))


def _rank(lines: list[Line], text: str, right: float, fonts: Fonts, ranks: dict[float, int]) -> int:
    """The heading rank of a paragraph, 0 where it is none.

    A larger font makes a heading; so does bold where a single short line stands alone and less
    than a fifth of the document is bold.
    """
    if len(text) > _LONGEST_HEADING or len(lines) > _MOST_HEADING_LINES:
        return 0
    if any(_is_spread(line) for line in lines):
        return 0
    if not _WORD_OF_HEADING.search(text) or re.search(r"[.,;。，；]$", text):
        return 0
    size = _rounded(lines[0].size)
    if size in ranks:
        return ranks[size]
    alone = len(lines) <= 2 and all(line.bold for line in lines) and size >= 0.95 * fonts.body
    if alone and fonts.bold < 0.2 * fonts.total and lines[-1].box.x1 < right + 2 * size:
        return len(ranks) + 1
    return 0


def with_levels(blocks: Iterable[Block]) -> list[Block]:
    """The blocks with the marks of their level before headings: those in use, from 1 to 3."""
    found = list(blocks)
    used = sorted({block.rank for block in found if block.rank})
    marks = {rank: "#" * min(level, _MOST_LEVELS) for level, rank in enumerate(used, 1)}
    return [
        replace(block, text=f"{marks[block.rank]} {block.text}") if block.rank else block
        for block in found
    ]


def join_lines(lines: Iterable[str], words: Counter[str] | None = None) -> str:
    """Lines as running text: no space between Chinese lines, words cut by a hyphen made whole.

    ``words`` (casefolded) decide between ``self-locking`` and ``selflocking``.

    >>> join_lines(["The equip-", "ment of the", "self-", "locking nut"])
    'The equipment of the self-locking nut'
    >>> join_lines(["全世界无产者，", "联合起来"])
    '全世界无产者，联合起来'
    """
    text = ""
    for line in lines:
        text = _joined(text, line, words or Counter())
    return text.replace("\u00ad", "")


def _joined(text: str, line: str, words: Counter[str]) -> str:
    broken, rest = _BROKEN.search(text), _LOWER.match(line)
    if not broken or not rest:
        if _HELD.search(text[-200:]) and line[:1].isalnum():
            return text + line
        return text + joint(text, line) + line
    whole = (broken.group(1) + rest.group()).casefold()
    parted = f"{broken.group(1)}-{rest.group()}".casefold()
    keeps = broken.group(1).casefold() in _KEPT or text[: broken.start(1)].endswith("-")
    if words[whole] != words[parted]:
        keeps = words[parted] > words[whole]
    return text[:-1] + ("-" if keeps else "") + line
