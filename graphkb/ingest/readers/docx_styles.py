"""What a Word document's styles and numbering make of a paragraph."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field

from graphkb.ingest.readers.office import Element, OfficePackage, child, children, number, value

_HEADING = re.compile(r"(?:heading|标题|標題)\s*([1-9])", re.IGNORECASE)
_TITLE = re.compile(r"title|标题|標題", re.IGNORECASE)
_CONTENTS = re.compile(r"(?:toc|目录|目錄)\s*(?:[1-9]|heading|标题)", re.IGNORECASE)
# Styles of deeper lists, which are lists of their own as far as their numbering says.
_DEEPER_LIST = re.compile(
    r"(?:list (?:bullet|number)|列表(?:项目符号|编号)) ([2-5])", re.IGNORECASE
)
_DEEPEST_CHAIN = 20
_LEVELS = 9


@dataclass(frozen=True)
class Style:
    """A paragraph style as far as it tells structure; ``based_on`` fills what it leaves open.

    ``outline`` is 0 for the highest heading level and 9 for body text.
    """

    name: str
    based_on: str
    outline: int | None
    numbering: tuple[str, int] | None


class Styles:
    """Heading level, list and role of a paragraph, its own properties before its style's."""

    def __init__(self, root: Element | None) -> None:
        self._styles: dict[str, Style] = {}
        self._default = ""
        for node in children(root):
            if node.tag == "w:style" and node.get("w:type", "paragraph") == "paragraph":
                name = node.get("w:styleId", "")
                self._styles[name] = Style(
                    value(node, "w:name") or name,
                    value(node, "w:basedOn") or "",
                    _outline(child(node, "w:pPr")),
                    _numbering(child(node, "w:pPr")),
                )
                if node.get("w:default") in {"1", "true"}:
                    self._default = name

    def chain(self, paragraph: Element) -> list[tuple[str, Style]]:
        """The paragraph's style and those it is based on, with their ids."""
        name = value(paragraph, "w:pPr", "w:pStyle") or self._default
        found: list[tuple[str, Style]] = []
        while name in self._styles and len(found) < _DEEPEST_CHAIN:
            found.append((name, self._styles[name]))
            name = self._styles[name].based_on
        return found

    def heading_level(self, paragraph: Element) -> int | None:
        """1 to 9, or None for what is no heading; a style named as the title is level 1."""
        own = _outline(child(paragraph, "w:pPr"))
        if own is not None:
            return own + 1 if own < _LEVELS else None
        for _, style in self.chain(paragraph):
            match = _HEADING.fullmatch(style.name)
            if match:
                return int(match[1])
            if style.outline is not None:
                return style.outline + 1 if style.outline < _LEVELS else None
            if _TITLE.fullmatch(style.name):
                return 1
        return None

    def list_depth(self, paragraph: Element) -> int:
        """How deep the paragraph's style says its list is, from 0."""
        matches = (_DEEPER_LIST.fullmatch(style.name) for _, style in self.chain(paragraph))
        return next((int(match[1]) - 1 for match in matches if match), 0)

    def is_title(self, paragraph: Element) -> bool:
        """True where the paragraph has the style of the document's title."""
        return any(_TITLE.fullmatch(style.name) for _, style in self.chain(paragraph))

    def is_contents(self, paragraph: Element) -> bool:
        """True for a line of a table of contents."""
        return any(_CONTENTS.match(style.name) for _, style in self.chain(paragraph)[:1])


def _outline(properties: Element | None) -> int | None:
    level = value(properties, "w:outlineLvl")
    return number(level, _LEVELS) if level is not None else None


def _numbering(properties: Element | None) -> tuple[str, int] | None:
    """(numId, level) of a paragraph's or style's properties; level -1 where it is left open."""
    numbering = child(properties, "w:numPr")
    name = value(numbering, "w:numId")
    if name is None:
        return None
    return name, number(value(numbering, "w:ilvl"), -1)


@dataclass(frozen=True)
class Level:
    """One level of a list: how its numbers are written and where they start."""

    format: str
    label: str
    start: int
    style: str


@dataclass
class Definition:
    """A list's levels and how far each has counted; counters are shared by all its lists.

    ``defines`` is the list style whose levels these are, ``link`` the one they are taken from.
    """

    levels: dict[int, Level]
    defines: str
    link: str
    counts: dict[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Label:
    """What stands before a list paragraph: a bullet or number, and how deep."""

    text: str
    level: int
    is_bullet: bool


class Numbering:
    """Labels of numbered paragraphs, counted as the document goes on."""

    def __init__(self, package: OfficePackage, part: str | None, styles: Styles) -> None:
        self._styles = styles
        self._definitions: dict[str, Definition] = {}
        self._lists: dict[str, str] = {}
        self._restarts: dict[str, dict[int, int]] = {}
        for node in children(package.optional(part)):
            if node.tag == "w:abstractNum":
                levels = {
                    number(level.get("w:ilvl")): _level(level)
                    for level in node
                    if level.tag == "w:lvl"
                }
                defines = value(node, "w:styleLink") or ""
                link = value(node, "w:numStyleLink") or ""
                name = node.get("w:abstractNumId", "")
                self._definitions[name] = Definition(levels, defines, link)
            elif node.tag == "w:num":
                name = node.get("w:numId", "")
                self._lists[name] = value(node, "w:abstractNumId") or ""
                self._restarts[name] = {
                    number(one.get("w:ilvl")): number(value(one, "w:startOverride"), 1)
                    for one in node
                    if one.tag == "w:lvlOverride" and child(one, "w:startOverride") is not None
                }

    def label(self, paragraph: Element) -> Label | None:
        """The paragraph's label, which counts it; None where it is not numbered."""
        found = self._place(paragraph)
        if found is None:
            return None
        name, definition, at = found
        level = definition.levels.get(at)
        if level is None:
            return None
        counts = definition.counts
        restart = self._restarts.get(name, {}).pop(at, None)
        if restart is not None:
            counts[at] = restart
        else:
            counts[at] = counts.get(at, level.start - 1) + 1
        for deeper in [one for one in counts if one > at]:
            del counts[deeper]
        depth = max(at, self._styles.list_depth(paragraph))
        if level.format == "bullet" or not re.search(r"%[1-9]|\w", level.label):
            return Label("", depth, True)
        text = re.sub(r"%([1-9])", lambda match: self._number(definition, int(match[1]) - 1),
                      level.label)  # fmt: skip
        return Label(text.strip(), depth, False) if text.strip() else None

    def _place(self, paragraph: Element) -> tuple[str, Definition, int] | None:
        found, style_name = _numbering(child(paragraph, "w:pPr")), ""
        if found is None:
            numbered = ((name, style.numbering) for name, style in self._styles.chain(paragraph))
            style_name, found = next((one for one in numbered if one[1]), ("", None))
        if found is None or found[0] not in self._lists:
            return None
        name, at = found
        definition = self._definitions.get(self._lists[name])
        if definition is not None and definition.link and not definition.levels:
            definition = self._linked(definition.link)
        if definition is None:
            return None
        if at < 0:
            at = next((place for place, level in definition.levels.items()
                       if style_name and level.style == style_name), 0)  # fmt: skip
        return name, definition, at

    def _linked(self, link: str) -> Definition | None:
        """The definition that carries the levels of a list style."""
        return next((one for one in self._definitions.values() if one.defines == link), None)

    @staticmethod
    def _number(definition: Definition, at: int) -> str:
        level = definition.levels.get(at)
        if level is None:
            return ""
        return _FORMATS.get(level.format, str)(definition.counts.get(at, level.start))


def _level(node: Element) -> Level:
    return Level(
        value(node, "w:numFmt") or "decimal",
        value(node, "w:lvlText") or "",
        number(value(node, "w:start"), 1),
        value(node, "w:pStyle") or "",
    )


def _roman(count: int) -> str:
    sizes = (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1)
    signs = "M CM D CD C XC L XL X IX V IV I".split()
    text = ""
    for size, sign in zip(sizes, signs, strict=True):
        times, count = divmod(max(count, 0) % 10_000, size)
        text += sign * times
    return text


def _letters(count: int) -> str:
    """A, B, …, Z, AA, BB, … as Word counts."""
    repeats, place = divmod(max(count, 1) - 1, 26)
    return chr(ord("A") + place) * min(repeats + 1, 10)


def chinese_number(count: int, digits: str = "零一二三四五六七八九", units: str = "十百千") -> str:
    """A number below 10,000 in Chinese; larger ones in digits.

    >>> [chinese_number(count) for count in (3, 10, 12, 20, 105, 110, 2010)]
    ['三', '十', '十二', '二十', '一百零五', '一百一十', '二千零一十']
    """
    if not 0 < count < 10_000:
        return str(count)
    text, gap = "", False
    for place in range(3, -1, -1):
        digit = count // 10**place % 10
        if digit == 0:
            gap = bool(text)
            continue
        text += digits[0] * gap + digits[digit] + (units[place - 1] if place else "")
        gap = False
    is_teen = 10 <= count < 20 and digits[1] == "一"
    return text[1:] if is_teen else text


def _circled(count: int) -> str:
    return chr(0x2460 + count - 1) if 1 <= count <= 20 else str(count)


def _legal(count: int) -> str:
    return chinese_number(count, "零壹贰叁肆伍陆柒捌玖", "拾佰仟")


_FORMATS: dict[str, Callable[[int], str]] = {
    "none": lambda count: "",
    "decimalZero": lambda count: f"{count:02}",
    "upperRoman": _roman,
    "lowerRoman": lambda count: _roman(count).lower(),
    "upperLetter": _letters,
    "lowerLetter": lambda count: _letters(count).lower(),
    "chineseCounting": chinese_number,
    "chineseCountingThousand": chinese_number,
    "taiwaneseCounting": chinese_number,
    "taiwaneseCountingThousand": chinese_number,
    "japaneseCounting": chinese_number,
    "chineseLegalSimplified": _legal,
    "decimalEnclosedCircle": _circled,
    "decimalEnclosedCircleChinese": _circled,
    "ideographTraditional": lambda count: "甲乙丙丁戊己庚辛壬癸"[(max(count, 1) - 1) % 10],
}
